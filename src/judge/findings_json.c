// SPDX-License-Identifier: BSD-3-Clause
/* Findings and coverage as the report carries them. */
#include "core/hostlist.h"
#include "judge/findings.h"
#include "judge/rdma_ports.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const severity_name[] = {
    [FC_SEV_FAIL] = "fail", [FC_SEV_WARN] = "warn", [FC_SEV_INFO] = "info"};
static const char *const confidence_name[] = {
    [FC_CONF_HIGH] = "high", [FC_CONF_MEDIUM] = "medium", [FC_CONF_LOW] = "low"};
static const char *const class_name[] = {[FC_CLASS_REQUIRED] = "required",
                                         [FC_CLASS_SUBSTITUTABLE] = "substitutable",
                                         [FC_CLASS_INFORMATIVE] = "informative"};

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *odd_subject(const struct fc_finding *f, const struct fc_evidence *ev)
{
    const char **name = malloc(f->odds * sizeof *name);
    if (!name)
        return NULL;
    for (size_t i = 0; i < f->odds; i++)
        name[i] = ev->node[f->odd[i]].name;
    char *list = fc_hostlist(name, f->odds);
    json_t *subject =
        list ? json_pack("{s:s, s:s}", "kind", f->odds == 1 ? "node" : "group",
                         f->odds == 1 ? "node" : "nodes", list)
             : NULL;
    free(list);
    free(name);
    return subject;
}

static json_t *subject_json(const struct fc_finding *f, const struct fc_evidence *ev)
{
    if (f->subject)
        return json_deep_copy(f->subject);
    if (f->odds)
        return odd_subject(f, ev);
    if (f->node == FC_NONE)
        return json_pack("{s:s}", "kind", "fabric");
    json_t *subject =
        json_pack("{s:s, s:s}", "kind", "node", "node", ev->node[f->node].name);
    if (f->rank >= 0)
        json_object_set_new(subject, "rank", json_integer(f->rank));
    return subject;
}

bool fc_plain_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return false;
    return name[0] && name[0] != '-';
}

/* "srun -w node09 -N1 --ntasks-per-node=8 fabricheck run --probes device" or its
 * like for mpirun; all nodes for FC_NONE; malloc'd, NULL without memory. */
static char *command(const struct fc_evidence *ev, size_t node, const char *probe)
{
    const char *launcher = fc_ev_text(ev->run, "launcher");
    bool all = node == FC_NONE;
    size_t ranks = all ? ev->ranks : ev->node[node].ranks, nodes = all ? ev->nodes : 1;
    const char *name = all ? "" : ev->node[node].name;
    char *text = NULL;
    int n;
    if (ranks == 0)
        ranks = 1;
    if (launcher && strcmp(launcher, "none") == 0)
        n = asprintf(&text, "fabricheck run --probes %s", probe);
    else if (launcher && strcmp(launcher, "srun") == 0)
        n = asprintf(&text, "srun %s%s%s-N%zu -n%zu fabricheck run --probes %s",
                     all ? "" : "-w ", name, all ? "" : " ", nodes, ranks, probe);
    else if (all)
        n = asprintf(&text, "mpirun -np %zu fabricheck run --probes %s", ranks, probe);
    else
        n = asprintf(&text, "mpirun --host %s:%zu -np %zu fabricheck run --probes %s",
                     name, ranks, ranks, probe);
    return n >= 0 ? text : NULL;
}

/* True for what happens between all ranks; `metric` may be NULL. */
static bool needs_all(const struct fc_finding *f)
{
    const char *metric = f->metric ? f->metric : "";
    return strncmp(metric, "pair.", 5) == 0 || strncmp(metric, "training.", 9) == 0 ||
           (f->probe && strcmp(f->probe, "rdma") == 0) ||
           (f->rank >= 0 && strncmp(metric, "collective.", 11) == 0);
}

/* The command that shows it again. What one rank saw in an operation of all needs
 * all. */
static json_t *reproduce_json(const struct fc_finding *f, const struct fc_evidence *ev)
{
    size_t node = f->node;
    char *text = NULL;
    if (!f->probe || !fc_plain_name(f->probe))
        return json_null();
    if (!fc_rdma_reproduce(f, ev, &text))
        return NULL;
    if (text) {
        json_t *line = json_string(text);
        free(text);
        return line;
    }
    if (needs_all(f))
        node = FC_NONE;
    if (node != FC_NONE && !fc_plain_name(ev->node[node].name))
        return json_null();
    text = command(ev, node, f->probe);
    json_t *value = text ? json_string(text) : NULL;
    free(text);
    return value;
}

static json_t *finding_json(const struct fc_finding *f, const struct fc_evidence *ev,
                            size_t number)
{
    char id[24];
    snprintf(id, sizeof id, "F%zu", number);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:O}", "id",
                     id, "severity", severity_name[f->severity], "check", f->check,
                     "subject", subject_json(f, ev), "metric", text_or_null(f->metric),
                     "message", f->message, "confidence",
                     confidence_name[f->confidence], "cause", text_or_null(f->cause),
                     "remedy", text_or_null(f->remedy), "reproduce",
                     reproduce_json(f, ev), "evidence", f->seqs);
}

json_t *fc_findings_json(const struct fc_findings *all, const struct fc_evidence *ev)
{
    json_t *list = json_array();
    for (size_t i = 0; i < all->findings && i < FC_FINDINGS_MAX; i++)
        if (json_array_append_new(list, finding_json(&all->finding[i], ev, i + 1)) !=
            0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *one_missing_json(const struct fc_missing *m,
                                const struct fc_evidence *ev)
{
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:o, s:s}", "check", m->check, "what", m->what,
                  "reason", m->reason, "substitute", text_or_null(m->substitute),
                  "class", class_name[m->class]);
    if (m->probe)
        json_object_set_new(entry, "probe", json_string(m->probe));
    if (m->node != FC_NONE)
        json_object_set_new(entry, "node", json_string(ev->node[m->node].name));
    return entry;
}

json_t *fc_missing_json(const struct fc_findings *all, const struct fc_evidence *ev)
{
    json_t *list = json_array();
    for (size_t i = 0; i < all->missings && i < FC_FINDINGS_MAX; i++)
        if (json_array_append_new(list, one_missing_json(&all->missing[i], ev)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}
