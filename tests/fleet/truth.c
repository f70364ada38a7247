// SPDX-License-Identifier: BSD-3-Clause
#include "truth.h"

#include <stdio.h>
#include <string.h>

enum { STRAYS_TOLD = 3 };

/* Added to each finding here: the names of the nodes that list it. */
#define ABOUT "nodes that list it"

static const char *text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

static bool is(const json_t *object, const char *key, const char *value)
{
    return strcmp(text(object, key), value) == 0;
}

static bool has(const json_t *list, const char *name)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        if (strcmp(json_string_value(entry), name) == 0)
            return true;
    }
    return false;
}

static bool accuses(const json_t *finding)
{
    return is(finding, "severity", "warn") || is(finding, "severity", "fail");
}

/* --- does a finding name a fault's part? --- */

/* The way a finding says that bytes went; "" when it says nothing. */
static const char *way_of(const json_t *finding)
{
    const json_t *subject = json_object_get(finding, "subject");
    const char *message = text(finding, "message");
    if (text(subject, "direction")[0])
        return text(subject, "direction");
    bool sends = strstr(message, "it sends"), gets = strstr(message, "receives");
    return sends && gets ? "both" : sends ? "sends" : gets ? "receives" : "";
}

static bool rail_fits(const json_t *fault, const json_t *subject)
{
    const json_t *rail = json_object_get(fault, "rail");
    const json_t *said = json_object_get(subject, "rail");
    if (!rail)
        return !said;
    return said && json_integer_value(said) == json_integer_value(rail);
}

static bool names_nic(const json_t *fault, const json_t *finding, const char *node)
{
    const json_t *subject = json_object_get(finding, "subject");
    const char *way = way_of(finding), *truth = text(fault, "direction");
    if (!is(subject, "node", node) || json_object_get(subject, "peer"))
        return false;
    if (strncmp(text(finding, "check"), "pair.", 5) != 0)
        return false;
    if (strcmp(truth, "both") != 0 && strcmp(way, truth) != 0)
        return false;
    return rail_fits(fault, subject);
}

static bool names_link(const json_t *fault, const json_t *finding, const char *node)
{
    const json_t *subject = json_object_get(finding, "subject");
    const char *peer = text(fault, "peer");
    char way[160];
    bool there = is(subject, "node", node) && is(subject, "peer", peer);
    bool back = is(subject, "node", peer) && is(subject, "peer", node);
    if (!(there || back) || !rail_fits(fault, subject))
        return false;
    bool one_way = !is(fault, "direction", "both");
    bool sends = is(fault, "direction", "sends");
    snprintf(way, sizeof way, "from %s to %s", sends ? node : peer,
             sends ? peer : node);
    return !one_way || strstr(text(finding, "message"), way);
}

/* By its name, or by the nodes that the finding is about. */
static bool names_switch(const json_t *fault, const json_t *finding)
{
    const json_t *subject = json_object_get(finding, "subject");
    const json_t *members = json_object_get(fault, "members");
    const json_t *about = json_object_get(finding, ABOUT);
    size_t i, named = 0;
    json_t *node;
    if (json_object_get(subject, "switch"))
        return is(subject, "switch", text(fault, "switch"));
    json_array_foreach(about, i, node)
    {
        named += has(members, json_string_value(node));
    }
    return named && named == json_array_size(about) &&
           named == json_array_size(members);
}

static bool names(const json_t *fault, const json_t *finding, const char *node)
{
    const json_t *subject = json_object_get(finding, "subject");
    const char *kind = text(fault, "kind");
    bool fail = is(finding, "severity", "fail");
    if (!accuses(finding))
        return false;
    if (strcmp(kind, "nic") == 0)
        return names_nic(fault, finding, node);
    if (strcmp(kind, "link") == 0 || strcmp(kind, "lossy") == 0)
        return names_link(fault, finding, node);
    if (strcmp(kind, "switch") == 0)
        return names_switch(fault, finding);
    if (strcmp(kind, "shortfall") == 0)
        return fail && is(finding, "metric", text(fault, "metric"));
    if (!is(subject, "node", node) || json_object_get(subject, "peer"))
        return false;
    if (strcmp(kind, "device") == 0)
        return is(finding, "metric", text(fault, "metric"));
    if (strcmp(kind, "wrong") == 0)
        return fail && is(finding, "check", "result.wrong");
    if (strcmp(kind, "corrupt") == 0)
        return fail && is(finding, "check", "pair.wrong") && rail_fits(fault, subject);
    return fail; /* lost */
}

/* What was not measured is no finding: the report's coverage names it. */
static bool is_missed(const json_t *fault, const json_t *report, const char *node)
{
    const json_t *list = json_object_get(report, "coverage");
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        if (is(entry, "node", node) && is(entry, "what", text(fault, "metric")))
            return !is(report, "verdict", "PASS");
    }
    return false;
}

/* --- does a finding speak of a part that is not healthy? --- */

static bool concerns(const json_t *fault, const char *node)
{
    return has(json_object_get(fault, "nodes"), node) || is(fault, "peer", node) ||
           has(json_object_get(fault, "members"), node) ||
           is(fault, "kind", "shortfall");
}

static bool is_ill(const json_t *truth, const char *node)
{
    size_t i;
    json_t *fault;
    json_array_foreach(truth, i, fault)
    {
        if (concerns(fault, node))
            return true;
    }
    return false;
}

static bool named_by_any(const json_t *truth, const json_t *finding)
{
    size_t i, k;
    json_t *fault, *node;
    json_array_foreach(truth, i, fault)
    {
        if (is(fault, "kind", "switch") || is(fault, "kind", "shortfall")) {
            if (names(fault, finding, ""))
                return true;
        }
        json_array_foreach(json_object_get(fault, "nodes"), k, node)
        {
            if (names(fault, finding, json_string_value(node)))
                return true;
        }
    }
    return false;
}

/* A finding that accuses a part which is not to blame: one of pairs that names
 * something else, and any other of a healthy node. A late rank beside a slow device is
 * the same fault's shadow. */
static bool is_stray(const json_t *truth, const json_t *finding)
{
    const json_t *subject = json_object_get(finding, "subject");
    const char *node = text(subject, "node");
    bool pairs = strncmp(text(finding, "check"), "pair.", 5) == 0;
    bool fail = is(finding, "severity", "fail");
    if (!accuses(finding) || named_by_any(truth, finding))
        return false;
    if (pairs)
        return true;
    return fail && node[0] && !is_ill(truth, node);
}

/* --- one fleet --- */

static bool find_part(const json_t *fault, const json_t *report, const char *node,
                      struct tally *t)
{
    size_t i;
    json_t *finding;
    bool found = is(fault, "kind", "missing") && is_missed(fault, report, node);
    bool condemned = found;
    json_array_foreach(json_object_get(report, "findings"), i, finding)
    {
        if (!names(fault, finding, node))
            continue;
        found = true;
        condemned = condemned || is(finding, "severity", "fail");
    }
    t->ill++;
    t->found += found;
    t->condemned += condemned;
    return found;
}

static bool find_fault(const json_t *fault, const json_t *report, bool explain,
                       struct tally *t)
{
    const json_t *nodes = json_object_get(fault, "nodes");
    bool all = true;
    size_t i;
    json_t *node;
    json_array_foreach(nodes, i, node)
    {
        bool found = find_part(fault, report, json_string_value(node), t);
        if (!found && explain)
            fprintf(stderr, "  not found: %s of %s\n", text(fault, "kind"),
                    json_string_value(node));
        all = all && found;
    }
    if (json_array_size(nodes) == 0) {
        all = find_part(fault, report, "", t);
        if (!all && explain)
            fprintf(stderr, "  not found: %s %s\n", text(fault, "kind"),
                    text(fault, "switch"));
    }
    return all;
}

/* Healthy nodes that failed, and those that were warned of. */
static void count_healthy(const json_t *truth, const json_t *report, bool explain,
                          struct tally *t)
{
    size_t i, k, strays = 0;
    json_t *node, *finding;
    json_array_foreach(json_object_get(report, "nodes"), i, node)
    {
        if (is_ill(truth, text(node, "name")))
            continue;
        bool failed = is(node, "verdict", "FAIL");
        t->healthy++;
        t->failed += failed;
        t->warned += !failed && json_array_size(json_object_get(node, "findings")) > 0;
        if (failed && explain)
            fprintf(stderr, "  healthy and FAIL: %s\n", text(node, "name"));
    }
    json_array_foreach(json_object_get(report, "findings"), k, finding)
    {
        if (explain && is_stray(truth, finding) && strays++ < STRAYS_TOLD)
            fprintf(stderr, "  stray: %s %s %.200s\n", text(finding, "severity"),
                    text(finding, "check"), text(finding, "message"));
    }
}

static void add_about(json_t *report)
{
    json_t *by_id = json_object(), *finding, *node, *id;
    size_t i, k;
    json_array_foreach(json_object_get(report, "findings"), i, finding)
    {
        json_object_set_new(finding, ABOUT, json_array());
        json_object_set(by_id, text(finding, "id"), finding);
    }
    json_array_foreach(json_object_get(report, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "findings"), k, id)
        {
            finding = json_object_get(by_id, json_string_value(id));
            json_array_append(json_object_get(finding, ABOUT),
                              json_object_get(node, "name"));
        }
    }
    json_decref(by_id);
}

void truth_compare(const json_t *truth, json_t *report, bool explain, struct tally *t)
{
    bool right = true;
    size_t i;
    json_t *entry;
    add_about(report);
    json_array_foreach(truth, i, entry)
    {
        right = find_fault(entry, report, explain, t) && right;
    }
    json_array_foreach(json_object_get(report, "findings"), i, entry)
    {
        right = right && !is_stray(truth, entry);
    }
    count_healthy(truth, report, explain, t);
    t->fleets++;
    t->right += right;
    t->pass += is(report, "verdict", "PASS");
    t->fail += is(report, "verdict", "FAIL");
    t->open += is(report, "verdict", "INCONCLUSIVE");
}
