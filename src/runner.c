// SPDX-License-Identifier: BSD-3-Clause
#include "runner.h"

#include "config.h"
#include "core/clock.h"
#include "core/journal.h"
#include "core/log.h"
#include "core/record.h"
#include "core/units.h"
#include "focus.h"
#include "judge/judge.h"
#include "leaves.h"
#include "load.h"
#include "probes.h"

#include <stdio.h>
#include <string.h>

/* The journal is rank 0's; elsewhere a line is nothing. Errors are agreed by the
 * caller. */
static enum fc_status write_line(struct fc_session *s, const char *type, json_t *body,
                                 struct fc_error *err)
{
    if (!s->run.journal) {
        json_decref(body);
        return FC_OK;
    }
    return fc_journal_line(s->run.journal, fc_line(type, body), err);
}

/* Why the probe is left out, or NULL. What is demanded is never left out in silence: it
 * is planned, and its phase says that there was nothing to measure. */
static const char *left_out(const struct fc_session *s, const struct fc_probe *probe)
{
    const struct fc_run_options *o = s->options;
    if (fc_words_has(&o->skip, probe->name))
        return "--skip";
    /* What the nodes are belongs to every run, however few probes it demands. */
    if (o->probes.count && probe != fc_probes[0])
        return fc_words_has(&o->probes, probe->name) ? NULL : "not among --probes";
    return probe->not_applicable ? probe->not_applicable(&s->run) : NULL;
}

static json_t *labels_json(const struct fc_words *labels)
{
    json_t *o = json_object();
    for (size_t i = 0; i < labels->count; i++) {
        const char *equals = strchr(labels->word[i], '=');
        json_t *value = json_string(equals + 1);
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)(equals - labels->word[i]),
                 labels->word[i]);
        if (!value || json_object_set_new(o, key, value) != 0)
            json_object_set_new(o, "unprintable", json_string("a label is no UTF-8"));
    }
    return o;
}

static json_t *run_json(const struct fc_session *s)
{
    const struct fc_rte *rte = s->run.rte;
    json_t *command = json_array();
    for (int i = 0; i < s->argc; i++)
        json_array_append_new(command, json_string(s->argv[i]));
    json_t *o = json_object();
    json_object_set_new(o, "schema", json_string(FC_JOURNAL_SCHEMA));
    json_object_set_new(o, "version", json_string(PACKAGE_VERSION));
    json_object_set_new(o, "started", json_string(fc_timestamp_now().text));
    json_object_set_new(o, "level", json_string(s->options->level));
    json_object_set_new(o, "command", command);
    json_object_set_new(o, "options", fc_options_echo(fc_run_option_table, s->options));
    json_object_set_new(o, "labels", labels_json(&s->options->labels));
    json_object_set_new(o, "launcher", json_string(s->launch.launcher));
    if (s->launch.job_id[0])
        json_object_set_new(o, "job", json_string(s->launch.job_id));
    json_object_set_new(o, "mpi", json_string(rte->library));
    json_object_set_new(o, "ranks", json_integer(rte->size));
    json_object_set_new(o, "nodes", json_integer(rte->nodes));
    json_object_set_new(o, "duplicate_hosts", json_integer(rte->duplicate_hosts));
    json_object_set_new(o, "simulated", json_boolean(s->backends->simulated));
    json_object_set_new(o, "seed", json_integer((json_int_t)s->run.seed));
    json_object_set(o, "control", s->control);
    json_t *switches = fc_leaves_line(&s->run);
    if (switches)
        json_object_set_new(o, "switches", switches);
    return o;
}

static json_t *plan_json(const struct fc_session *s)
{
    json_t *probes = json_array(), *skipped = json_array();
    double seconds = 0;
    for (const struct fc_probe *const *p = fc_probes; *p; p++) {
        const char *reason = left_out(s, *p);
        json_t *o = json_object();
        json_object_set_new(o, "name", json_string((*p)->name));
        if (reason) {
            json_object_set_new(o, "reason", json_string(reason));
            json_array_append_new(skipped, o);
            continue;
        }
        double cost = (*p)->cost_s(&s->run);
        seconds += cost;
        json_object_set_new(
            o, "demanded", json_boolean(fc_words_has(&s->options->probes, (*p)->name)));
        json_object_set_new(o, "cost_s", json_real(cost));
        json_array_append_new(probes, o);
    }
    json_t *plan = json_object();
    json_object_set_new(plan, "probes", probes);
    json_object_set_new(plan, "skipped", skipped);
    json_object_set_new(plan, "seconds", json_real(seconds));
    return plan;
}

/* What is expected comes from the profile and, before it, from the command line. */
static json_t *profile_json(const struct fc_session *s)
{
    json_t *o = json_deep_copy(s->profile);
    json_t *expect = json_object_get(o, "expect");
    if (s->options->expect_nodes)
        json_object_set_new(expect, "nodes", json_integer(s->options->expect_nodes));
    if (s->options->expect_gpus)
        json_object_set_new(expect, "gpus", json_integer(s->options->expect_gpus));
    json_object_del(o, "run"); /* its effect is in the run line's options */
    return o;
}

/* Without the config probe nobody else says which nodes there are. */
static enum fc_status write_nodes(struct fc_session *s, struct fc_error *err)
{
    const struct fc_rte *rte = s->run.rte;
    enum fc_status status = FC_OK;
    for (int node = 0; node < rte->nodes && status == FC_OK; node++) {
        json_t *o = json_object(), *ranks = json_array();
        for (int r = 0; r < rte->size; r++)
            if (rte->place[r].node == node)
                json_array_append_new(ranks, json_integer(r));
        json_object_set_new(o, "name", json_string(rte->node_name[node]));
        json_object_set_new(o, "ranks", ranks);
        json_t *leaf = fc_run_switch(&s->run, node);
        if (leaf)
            json_object_set(o, "switch", leaf);
        status = write_line(s, "node", o, err);
    }
    return status;
}

static void announce(const struct fc_session *s, const json_t *plan)
{
    char names[256] = "";
    size_t i;
    json_t *probe;
    json_array_foreach(json_object_get(plan, "probes"), i, probe)
    {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                 json_string_value(json_object_get(probe, "name")));
    }
    double seconds = json_real_value(json_object_get(plan, "seconds"));
    fc_log(FC_LOG_NORMAL, "plan: %s; about %s; %d ranks on %d nodes; writing %s", names,
           fc_format_duration((uint64_t)(seconds * 1e9)).s, s->run.rte->size,
           s->run.rte->nodes, s->dir);
}

enum fc_status fc_runner_begin(struct fc_session *s, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    fc_watchdog_phase(s->run.watchdog, "plan");
    fc_log_set_phase("plan");
    if (s->run.journal) {
        json_t *plan = plan_json(s);
        status = write_line(s, "run", run_json(s), err);
        if (status == FC_OK)
            status = write_line(s, "plan", json_incref(plan), err);
        if (status == FC_OK)
            status = write_line(s, "profile", profile_json(s), err);
        if (status == FC_OK && left_out(s, fc_probes[0]))
            status = write_nodes(s, err);
        announce(s, plan);
        json_decref(plan);
    }
    return fc_rte_agree(s->run.rte, "plan", status, err);
}

static json_t *phase_json(const char *name, const char *state, int attempt)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(name));
    json_object_set_new(o, "state", json_string(state));
    json_object_set_new(o, "time", json_string(fc_timestamp_now().text));
    json_object_set_new(o, "attempt", json_integer(attempt));
    return o;
}

static enum fc_status write_phase_end(struct fc_session *s, const char *name,
                                      int attempt, enum fc_status result,
                                      const char *reason, struct fc_error *err)
{
    json_t *o = phase_json(name, "end", attempt);
    json_object_set_new(o, "status", json_string(fc_status_name(result)));
    if (result != FC_OK) {
        json_t *text = json_string(reason);
        json_object_set_new(o, "reason", text ? text : json_string("(unprintable)"));
        if (s->run.journal)
            fc_log(FC_LOG_NORMAL, "%s: %s", fc_status_name(result), reason);
    }
    return write_line(s, "phase", o, err);
}

/* setup, run, teardown. After each step all ranks know the worst status, so that none
 * goes on alone; what the sinks hold is committed whatever happened. */
static enum fc_status run_probe(struct fc_session *s, const struct fc_probe *probe,
                                const struct fc_focus *focus, struct fc_error *err)
{
    void *state = NULL;
    struct fc_error other_err = {""};
    struct fc_load load;
    fc_load_begin(&load);
    enum fc_status status = probe->setup ? probe->setup(&s->run, &state, err) : FC_OK;
    status = fc_rte_agree(s->run.rte, "setup", status, err);
    if (status == FC_OK) {
        status = probe->run(&s->run, state, focus, err);
        status = fc_rte_agree(s->run.rte, probe->name, status, err);
    }
    if (probe->teardown)
        probe->teardown(&s->run, state);
    if (status == FC_LOST)
        return FC_LOST;
    enum fc_status kept = fc_load_end(&load, &s->run, probe->name, &other_err);
    if (kept != FC_LOST)
        kept = fc_phase_commit(&s->run, "commit", &other_err);
    if (kept == FC_OK)
        return status;
    *err = other_err;
    return kept;
}

static enum fc_status run_phase(struct fc_session *s, const struct fc_probe *probe,
                                const struct fc_focus *focus, struct fc_error *err)
{
    const char *reason = probe->not_applicable ? probe->not_applicable(&s->run) : NULL;
    fc_watchdog_phase(s->run.watchdog, probe->name);
    fc_log_set_phase(probe->name);
    if (s->run.journal)
        fc_log(FC_LOG_NORMAL, "%s, about %s", focus->attempt > 1 ? "retest" : "begin",
               fc_format_duration((uint64_t)(probe->cost_s(&s->run) * 1e9)).s);
    enum fc_status wrote =
        write_line(s, "phase", phase_json(probe->name, "begin", focus->attempt), err);
    wrote = fc_rte_agree(s->run.rte, "phase begin", wrote, err);
    if (wrote != FC_OK)
        return wrote;
    enum fc_status result = reason ? fc_fail(err, FC_UNSUPPORTED, "%s", reason)
                                   : run_probe(s, probe, focus, err);
    if (result == FC_LOST || result == FC_IO)
        return result;
    struct fc_error why = *err;
    wrote = write_phase_end(s, probe->name, focus->attempt, result, why.text, err);
    return fc_rte_agree(s->run.rte, "phase end", wrote, err);
}

/* The journal's own suspects of this probe, on all ranks; NULL when there are none. */
static enum fc_status find_suspects(struct fc_session *s, const struct fc_probe *probe,
                                    json_t **out, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    json_t *found = NULL, *mine = NULL;
    *out = NULL;
    if (s->run.journal) {
        struct fc_journal_text text;
        status = fc_journal_read(fc_journal_path(s->run.journal), &text, err);
        if (status == FC_OK) {
            status = fc_judge_suspects(&text, &found, err);
            fc_journal_text_free(&text);
        }
        size_t i;
        json_t *suspect;
        mine = json_array();
        json_array_foreach(json_object_get(found, "suspects"), i, suspect)
        {
            const struct fc_metric *metric =
                fc_metric_find(json_string_value(json_object_get(suspect, "metric")));
            if (metric && strcmp(metric->probe, probe->name) == 0)
                json_array_append(mine, suspect);
        }
        json_decref(found);
        if (status == FC_OK && json_array_size(mine)) {
            json_t *line = json_object();
            json_object_set_new(line, "attempt", json_integer(2));
            json_object_set(line, "suspects", mine);
            status = write_line(s, "suspects", line, err);
        }
    }
    status = fc_rte_agree(s->run.rte, "suspects", status, err);
    if (status == FC_OK)
        status = fc_rte_bcast_json(s->run.rte, "suspects", &mine, err);
    if (status == FC_OK && json_array_size(mine))
        *out = mine;
    else
        json_decref(mine);
    return status;
}

static enum fc_status retest(struct fc_session *s, const struct fc_probe *probe,
                             struct fc_error *err)
{
    json_t *suspects = NULL;
    enum fc_status status = find_suspects(s, probe, &suspects, err);
    if (status != FC_OK || !suspects)
        return status;
    struct fc_focus focus;
    if (s->run.journal)
        fc_log(FC_LOG_NORMAL, "%zu suspects are measured again",
               json_array_size(suspects));
    status = fc_focus_open(&s->run, suspects, 2, &focus, err);
    json_decref(suspects);
    status = fc_rte_agree(s->run.rte, "what to measure again", status, err);
    if (status == FC_OK)
        status = run_phase(s, probe, &focus, err);
    fc_focus_close(&focus);
    return status;
}

enum fc_status fc_runner_probes(struct fc_session *s, struct fc_error *err)
{
    static const struct fc_focus first = {.attempt = 1};
    enum fc_status status = FC_OK;
    for (const struct fc_probe *const *p = fc_probes; *p && status == FC_OK; p++) {
        if (left_out(s, *p))
            continue;
        status = run_phase(s, *p, &first, err);
        if (status == FC_OK && (*p)->retests)
            status = retest(s, *p, err);
    }
    return status;
}
