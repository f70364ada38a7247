// SPDX-License-Identifier: BSD-3-Clause
/* The judge: evidence, then every rule, then one report. */
#include "judge/judge.h"

#include "core/hostlist.h"
#include "core/record.h"
#include "core/watchdog.h"
#include "judge/nodefacts.h"
#include "judge/peers.h"
#include "judge/rules.h"
#include "judge/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_PASS, NODE_INCONCLUSIVE, NODE_FAIL };

static const char *const verdict_name[] = {
    [NODE_PASS] = "PASS", [NODE_INCONCLUSIVE] = "INCONCLUSIVE", [NODE_FAIL] = "FAIL"};

/* Everything a judgement is made of. */
struct court {
    struct fc_evidence ev;
    struct fc_expectation expect;
    struct fc_findings found;
    struct fc_peers peers;
    struct fc_pairs_shelf shelf;
    const char **crowded;          /* [nodes] */
    int *node_verdict;             /* [nodes] */
    size_t fails, warns, counting; /* findings; coverage entries that count */
    int verdict;
};

static void court_close(struct court *court)
{
    free(court->node_verdict);
    free(court->crowded);
    fc_findings_close(&court->found);
    fc_pairs_close(&court->shelf.pairs);
    fc_peers_close(&court->peers);
    fc_expectation_close(&court->expect);
    fc_evidence_close(&court->ev);
}

/* The given profile. What the run was told to expect stays demanded unless the profile
 * says otherwise. */
static json_t *effective_profile(json_t *given, const json_t *journal)
{
    static const char *const keys[] = {"nodes", "gpus", "nics", "nic_gbps"};
    json_t *profile = json_deep_copy(given);
    json_t *expect = json_object_get(profile, "expect");
    const json_t *demanded = json_object_get(journal, "expect");
    if (profile && !json_is_object(expect)) {
        json_object_set_new(profile, "expect", json_object());
        expect = json_object_get(profile, "expect");
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(demanded, keys[i]);
        if (value && !json_object_get(expect, keys[i]))
            json_object_set(expect, keys[i], value);
    }
    return profile;
}

static enum fc_status open_expectation(struct court *court, json_t *given,
                                       struct fc_error *err)
{
    if (!given)
        return fc_expectation_open(court->ev.profile, &court->expect, err);
    json_t *profile = effective_profile(given, court->ev.profile);
    if (!profile)
        return fc_fail(err, FC_NOMEM, "out of memory for the profile");
    enum fc_status status = fc_expectation_open(profile, &court->expect, err);
    json_decref(profile);
    return status;
}

static enum fc_status hear(struct court *court, bool profile_given, const char *without,
                           struct fc_error *err)
{
    struct fc_case c = {.ev = &court->ev,
                        .expect = &court->expect,
                        .profile_given = profile_given,
                        .peers = &court->peers,
                        .shelf = &court->shelf,
                        .out = &court->found};
    court->crowded = calloc(court->ev.nodes + 1, sizeof(*court->crowded));
    if (!court->crowded || !fc_nodefacts_crowded(&court->ev, court->crowded) ||
        !fc_peers_open(&court->ev, &court->expect, &court->peers))
        return fc_fail(err, FC_NOMEM, "out of memory for the judgement");
    c.crowded = court->crowded;
    for (size_t i = 0; (c.rule = fc_rule_at(i)); i++)
        if (!without || strcmp(c.rule->id, without) != 0)
            c.rule->apply(&c);
    fc_findings_sort(&court->found);
    if (court->found.status != FC_OK)
        return fc_fail(err, court->found.status, "out of memory for the judgement");
    return FC_OK;
}

static bool decide(struct court *court)
{
    const struct fc_findings *found = &court->found;
    bool all_open = false; /* something of the whole run is not known */
    court->node_verdict = calloc(court->ev.nodes + 1, sizeof *court->node_verdict);
    if (!court->node_verdict)
        return false;
    for (size_t i = 0; i < found->missings; i++) {
        const struct fc_missing *m = &found->missing[i];
        if (!fc_missing_counts(m))
            continue;
        court->counting++;
        if (m->node == FC_NONE)
            all_open = true;
        else
            court->node_verdict[m->node] = NODE_INCONCLUSIVE;
    }
    for (size_t i = 0; all_open && i < court->ev.nodes; i++)
        court->node_verdict[i] = NODE_INCONCLUSIVE;
    for (size_t i = 0; i < found->findings; i++) {
        const struct fc_finding *f = &found->finding[i];
        court->fails += f->severity == FC_SEV_FAIL;
        court->warns += f->severity == FC_SEV_WARN;
        if (f->severity == FC_SEV_FAIL && f->node != FC_NONE)
            court->node_verdict[f->node] = NODE_FAIL;
    }
    court->verdict = court->fails      ? NODE_FAIL
                     : court->counting ? NODE_INCONCLUSIVE
                                       : NODE_PASS;
    return true;
}

/* --- the report --- */

static struct fc_clip who_fails(const struct court *court, const struct fc_finding *f)
{
    if (f->node != FC_NONE)
        return fc_node_who(&court->ev, f->node, f->rank);
    if (f->odds)
        return fc_hosts(&court->ev, f->odd, f->odds);
    return fc_clip("all nodes together");
}

static json_t *reason_json(const struct court *court)
{
    const struct fc_findings *found = &court->found;
    char text[640], more[64] = "";
    size_t others = court->verdict == NODE_FAIL           ? court->fails - 1
                    : court->verdict == NODE_INCONCLUSIVE ? court->counting - 1
                                                          : court->warns;
    if (others)
        snprintf(more, sizeof more, " (and %zu more)", others);
    if (court->verdict == NODE_FAIL) {
        const struct fc_finding *f = &found->finding[0];
        snprintf(text, sizeof text, "%s: %s%s", who_fails(court, f).s,
                 fc_clip(f->message).s, more);
    } else if (court->verdict == NODE_INCONCLUSIVE) {
        const struct fc_missing *m = &found->missing[0];
        snprintf(text, sizeof text, "%s%s%s: %s%s", fc_clip(m->what).s,
                 m->node == FC_NONE ? "" : " on ",
                 m->node == FC_NONE ? "" : fc_clip(court->ev.node[m->node].name).s,
                 fc_clip(m->reason).s, more);
    } else {
        snprintf(more, sizeof more, "; %zu warning%s", others, others == 1 ? "" : "s");
        snprintf(
            text, sizeof text,
            "%zu node%s, %zu rank%s, %zu records: nothing failed and nothing that was "
            "demanded is missing%s",
            court->ev.nodes, court->ev.nodes == 1 ? "" : "s", court->ev.ranks,
            court->ev.ranks == 1 ? "" : "s", court->ev.records, others ? more : "");
    }
    return json_string(text);
}

static json_t *run_json(const struct fc_evidence *ev)
{
    static const char *const keys[] = {"version",  "started", "level",   "ranks",
                                       "nodes",    "labels",  "command", "options",
                                       "launcher", "mpi",     "control"};
    const char *status = fc_ev_text(ev->end, "status");
    json_t *run = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(ev->run, keys[i]);
        json_object_set(run, keys[i], value ? value : json_null());
    }
    bool simulated = json_is_true(json_object_get(ev->run, "simulated"));
    json_object_set_new(run, "simulated", json_boolean(simulated));
    json_object_set_new(run, "duration_s", fc_json_real(fc_ev_duration(ev)));
    json_object_set_new(run, "complete",
                        json_boolean(status && strcmp(status, "complete") == 0));
    return run;
}

/* ids[node]: those of the findings that name it. */
static json_t **finding_ids(const struct court *court)
{
    json_t **ids = calloc(court->ev.nodes + 1, sizeof(*ids));
    for (size_t i = 0; ids && i < court->ev.nodes; i++)
        ids[i] = json_array();
    for (size_t i = 0; ids && i < court->found.findings && i < FC_FINDINGS_MAX; i++) {
        const struct fc_finding *f = &court->found.finding[i];
        char id[24];
        snprintf(id, sizeof id, "F%zu", i + 1);
        if (f->node != FC_NONE)
            json_array_append_new(ids[f->node], json_string(id));
        for (size_t k = 0; k < f->odds; k++)
            if (f->odd[k] != f->node)
                json_array_append_new(ids[f->odd[k]], json_string(id));
    }
    return ids;
}

static json_t *nodes_json(const struct court *court)
{
    const struct fc_evidence *ev = &court->ev;
    json_t **ids = finding_ids(court);
    json_t **ranks = calloc(ev->nodes + 1, sizeof(*ranks));
    json_t *list = ids && ranks ? json_array() : NULL;
    for (size_t i = 0; list && i < ev->nodes; i++)
        ranks[i] = json_array();
    for (size_t i = 0; list && i < ev->ranks; i++)
        json_array_append_new(ranks[ev->rank[i].node], json_integer(ev->rank[i].rank));
    for (size_t i = 0; list && i < ev->nodes; i++) {
        json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", ev->node[i].name,
                              "verdict", verdict_name[court->node_verdict[i]], "class",
                              ev->node[i].class, "ranks", ranks[i], "findings", ids[i]);
        if (ev->node[i].differs)
            json_object_set(o, "differs", (json_t *)(uintptr_t)ev->node[i].differs);
        json_array_append_new(list, o);
    }
    if (list && json_array_size(list) != ev->nodes) {
        json_decref(list);
        list = NULL;
    }
    free(ranks);
    free(ids);
    return list;
}

static json_t *records_json(const struct fc_evidence *ev)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < ev->records; i++)
        if (json_array_append(list, ev->record[i].line) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *bad_nodes_json(const struct court *court)
{
    const char **name = malloc((court->ev.nodes + 1) * sizeof(*name));
    size_t count = 0;
    for (size_t i = 0; name && i < court->ev.nodes; i++)
        if (court->node_verdict[i] == NODE_FAIL)
            name[count++] = court->ev.node[i].name;
    char *list = name ? fc_hostlist(name, count) : NULL;
    json_t *json = list ? json_string(list) : NULL;
    free(list);
    free(name);
    return json;
}

static json_int_t omitted(size_t count)
{
    return count > FC_FINDINGS_MAX ? (json_int_t)(count - FC_FINDINGS_MAX) : 0;
}

static json_t *report_json(struct court *court)
{
    return json_pack(
        "{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o}", "schema",
        FC_REPORT_SCHEMA, "run", run_json(&court->ev), "verdict",
        verdict_name[court->verdict], "reason", reason_json(court), "bad_nodes",
        bad_nodes_json(court), "nodes", nodes_json(court), "findings",
        fc_findings_json(&court->found, &court->ev), "findings_omitted",
        omitted(court->found.findings), "coverage",
        fc_missing_json(&court->found, &court->ev), "coverage_omitted",
        omitted(court->found.missings), "probes",
        fc_summary_json(&court->ev, &court->expect, &court->shelf), "profile",
        fc_expectation_json(&court->expect), "records", records_json(&court->ev));
}

enum fc_status fc_judge_without(const struct fc_journal_text *journal, json_t *profile,
                                const char *rule, json_t **out_report,
                                struct fc_error *err)
{
    struct court court = {0};
    json_t *report = NULL;
    enum fc_status status = fc_evidence_open(journal, &court.ev, err);
    if (status != FC_OK)
        return status;
    status = open_expectation(&court, profile, err);
    if (status == FC_OK)
        status = hear(&court, profile != NULL, rule, err);
    if (status == FC_OK && (!decide(&court) || !(report = report_json(&court))))
        status = fc_fail(err, FC_NOMEM, "out of memory for the report");
    if (status == FC_OK)
        *out_report = report;
    court_close(&court);
    return status;
}

enum fc_status fc_judge(const struct fc_journal_text *journal, json_t *profile,
                        json_t **out_report, struct fc_error *err)
{
    return fc_judge_without(journal, profile, NULL, out_report, err);
}

int fc_judge_exit_status(const json_t *report)
{
    const char *verdict = fc_ev_text(report, "verdict");
    if (verdict && strcmp(verdict, "PASS") == 0)
        return FC_EXIT_PASS;
    return verdict && strcmp(verdict, "FAIL") == 0 ? FC_EXIT_FAIL
                                                   : FC_EXIT_INCONCLUSIVE;
}
