// SPDX-License-Identifier: BSD-3-Clause
/* Was everything measured? Each thing that was planned and is not there becomes a
 * coverage entry; nothing here says that a part is bad, only that nobody knows. */
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct fc_missing missing(const struct fc_case *c, const char *what)
{
    return (struct fc_missing){
        .class = c->rule->class, .check = c->rule->id, .what = what, .node = FC_NONE};
}

void fc_rule_cut(const struct fc_case *c)
{
    struct fc_missing end = missing(c, "end of the run");
    struct fc_missing plan = missing(c, "the plan");
    if (!c->ev->end)
        fc_miss(c->out, &end,
                "the journal has no end: the run was killed, or still goes on");
    if (!c->ev->has_plan)
        fc_miss(c->out, &plan,
                "the journal has no plan, so what should be in it is not known");
}

void fc_rule_interrupted(const struct fc_case *c)
{
    const char *status = fc_ev_text(c->ev->end, "status");
    const char *reason = fc_ev_text(c->ev->end, "reason");
    struct fc_missing m = missing(c, "end of the run");
    if (c->ev->end && (!status || strcmp(status, "complete") != 0))
        fc_miss(c->out, &m, "the run was interrupted: %s",
                reason ? fc_clip(reason).s : "no reason was recorded");
}

void fc_rule_damaged(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    struct fc_missing m = missing(c, "a whole journal");
    if (ev->bad_lines)
        fc_miss(c->out, &m, "%zu line%s could not be read", ev->bad_lines,
                ev->bad_lines > 1 ? "s" : "");
    if (ev->malformed)
        fc_miss(c->out, &m, "%zu line%s or entries are not what their type says",
                ev->malformed, ev->malformed > 1 ? "s" : "");
    if (ev->cut)
        fc_miss(c->out, &m, "its last line is cut");
    if (ev->rank_conflicts)
        fc_miss(c->out, &m, "%zu rank%s claimed by more than one node",
                ev->rank_conflicts, ev->rank_conflicts > 1 ? "s are" : " is");
    if (c->expect->bad)
        fc_miss(c->out, &m, "%zu value%s of its profile cannot be used", c->expect->bad,
                c->expect->bad > 1 ? "s" : "");
}

void fc_rule_profile(const struct fc_case *c)
{
    struct fc_missing m = missing(c, "the profile");
    if (!c->ev->profile && !c->profile_given)
        fc_miss(c->out, &m,
                "the journal has no profile, so what was expected is not known");
}

/* --- probes --- */

/* True when the probe itself said that there is nothing for it to measure here. That is
 * neutral, unless the probe was asked for by name. */
static bool not_applicable(const struct fc_evidence *ev, const struct fc_ev_plan *plan)
{
    bool skipped = false;
    for (size_t i = 0; i < ev->phases; i++) {
        const struct fc_ev_phase *phase = &ev->phase[i];
        if (strcmp(phase->name, plan->name) != 0 || !phase->end)
            continue;
        if (strcmp(phase->status, "skipped") != 0)
            return false;
        skipped = true;
    }
    return skipped && !plan->demanded;
}

enum progress { NOT_BEGUN, NOT_ENDED, ENDED };

static enum progress progress_of(const struct fc_evidence *ev, const char *probe)
{
    enum progress progress = NOT_BEGUN;
    for (size_t i = 0; i < ev->phases; i++) {
        if (strcmp(ev->phase[i].name, probe) != 0)
            continue;
        if (ev->phase[i].end)
            return ENDED;
        progress = NOT_ENDED;
    }
    return progress;
}

/* Records or, for the config probe, facts, or, for pairs, rounds. */
static bool has_evidence(const struct fc_evidence *ev, const char *probe)
{
    if (strcmp(probe, "config") == 0)
        return ev->facts > 0;
    if (fc_ev_has_rounds(ev, probe))
        return true;
    bool measures = false;
    for (size_t i = 0; i < fc_metric_count(); i++)
        measures = measures || strcmp(fc_metric_at(i)->probe, probe) == 0;
    for (size_t i = 0; measures && i < ev->records; i++)
        if (strcmp(ev->record[i].probe, probe) == 0)
            return true;
    return !measures;
}

static void check_phase_ends(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->phases; i++) {
        const struct fc_ev_phase *phase = &c->ev->phase[i];
        struct fc_missing m = missing(c, phase->name);
        m.probe = phase->name;
        for (size_t k = 0; k < c->ev->plans; k++)
            if (strcmp(c->ev->plan[k].name, phase->name) == 0 &&
                not_applicable(c->ev, &c->ev->plan[k]))
                m.class = FC_CLASS_INFORMATIVE;
        if (phase->end && strcmp(phase->status, "ok") != 0)
            fc_miss(c->out, &m, "%s%s: %s",
                    phase->attempt > 1 ? "its retest ended as " : "",
                    fc_clip(phase->status).s,
                    phase->reason[0] ? fc_clip(phase->reason).s
                                     : "no reason was recorded");
    }
}

static void check_config(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    struct fc_missing m = missing(c, "facts of the node");
    m.probe = "config";
    for (size_t i = 0; i < ev->nodes; i++) {
        size_t count;
        (void)fc_ev_facts_of(ev, i, &count);
        m.node = i;
        if (count == 0 && ev->node[i].declared)
            fc_miss(c->out, &m, "the node left none");
    }
}

void fc_rule_probes(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    size_t planned = 0;
    for (size_t i = 0; i < ev->plans; i++) {
        const struct fc_ev_plan *plan = &ev->plan[i];
        struct fc_missing m = missing(c, plan->name);
        m.probe = plan->name;
        if (plan->reason) {
            m.class = plan->demanded ? c->rule->class : FC_CLASS_INFORMATIVE;
            fc_miss(c->out, &m, "skipped: %s", fc_clip(plan->reason).s);
            continue;
        }
        if (not_applicable(ev, plan))
            continue;
        planned++;
        enum progress progress = progress_of(ev, plan->name);
        if (progress == NOT_BEGUN)
            fc_miss(c->out, &m, "it was planned and never began");
        else if (progress == NOT_ENDED)
            fc_miss(c->out, &m, "it was still running when the run ended");
        else if (!has_evidence(ev, plan->name))
            fc_miss(c->out, &m, "it left no record");
        else if (strcmp(plan->name, "config") == 0)
            check_config(c);
    }
    check_phase_ends(c);
    struct fc_missing nothing = missing(c, "any probe");
    if (ev->has_plan && planned == 0)
        fc_miss(c->out, &nothing, "no probe was planned that has something to measure");
}

/* --- metrics that a probe owes --- */

static const struct {
    const char *probe, *metric;
    bool each_rank; /* else one record of the whole run will do */
} owed[] = {
    {"device", "device.mem_bw", true},
    {"device", "device.gemm.fp32", true},
    {"device", "device.gemm.fp64", true},
    {"pairs", "pair.bw", false},
    {"rdma", "rdma.write_bw", false},
    {"collectives", "collective.all_reduce.busbw", false},
    {"training", "training.step_time", false},
};

/* True when the probe came to its end: only then single metrics can be missed; before,
 * the probe as a whole is. */
static bool has_ended(const struct fc_evidence *ev, const char *probe)
{
    for (size_t i = 0; i < ev->plans; i++)
        if (!ev->plan[i].reason && strcmp(ev->plan[i].name, probe) == 0)
            return !not_applicable(ev, &ev->plan[i]) &&
                   progress_of(ev, probe) == ENDED && has_evidence(ev, probe);
    return false;
}

/* seen[i]: how many series of `metric` the i-th rank has; records of the node as a
 * whole are in whole[node]. first: only those that began with the first attempt. */
static size_t count_series(const struct fc_evidence *ev, const char *metric, bool first,
                           size_t *seen, size_t *whole)
{
    size_t all = 0;
    memset(seen, 0, (ev->ranks + 1) * sizeof *seen);
    memset(whole, 0, (ev->nodes + 1) * sizeof *whole);
    for (size_t i = 0; i < ev->series_count; i++) {
        const struct fc_ev_record *r = ev->series[i].record[0];
        if (strcmp(r->metric, metric) != 0 || (first && r->attempt > 1))
            continue;
        all++;
        size_t at = r->rank >= 0 ? fc_ev_rank_index(ev, r->rank) : FC_NONE;
        if (at != FC_NONE)
            seen[at]++;
        else if (r->node != FC_NONE)
            whole[r->node]++;
    }
    return all;
}

struct tally {
    size_t *seen, *whole;
};

static bool tally_open(const struct fc_case *c, struct tally *t)
{
    t->seen = malloc((c->ev->ranks + 1) * sizeof *t->seen);
    t->whole = malloc((c->ev->nodes + 1) * sizeof *t->whole);
    if (t->seen && t->whole)
        return true;
    c->out->status = FC_NOMEM;
    return false;
}

static void tally_close(struct tally *t)
{
    free(t->seen);
    free(t->whole);
}

void fc_rule_metrics(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    struct tally t;
    bool ok = tally_open(c, &t);
    for (size_t k = 0; ok && k < sizeof owed / sizeof *owed; k++) {
        struct fc_missing m = missing(c, owed[k].metric);
        m.probe = owed[k].probe;
        if (!has_ended(ev, owed[k].probe))
            continue;
        size_t all = count_series(ev, owed[k].metric, false, t.seen, t.whole);
        if (!owed[k].each_rank || ev->ranks == 0) {
            /* Which pairs are missing in matrix lines is another rule's. */
            if (all == 0 && !fc_ev_in_matrix(ev, owed[k].metric))
                fc_miss(c->out, &m, "no record of it");
            continue;
        }
        for (size_t i = 0; i < ev->ranks; i++) {
            m.node = ev->rank[i].node;
            if (t.seen[i] == 0 && t.whole[m.node] == 0)
                fc_miss(c->out, &m, "rank %d left no record of it", ev->rank[i].rank);
        }
    }
    tally_close(&t);
}

static bool is_owed_by_ranks(const char *metric)
{
    for (size_t k = 0; k < sizeof owed / sizeof *owed; k++)
        if (owed[k].each_rank && strcmp(owed[k].metric, metric) == 0)
            return true;
    return false;
}

struct class_most {
    const char *class;
    size_t most;
};

static int by_class(const void *a, const void *b)
{
    return strcmp(((const struct class_most *)a)->class,
                  ((const struct class_most *)b)->class);
}

/* The most series that any rank of a class has, by class. */
static size_t find_most(const struct fc_evidence *ev, const size_t *seen,
                        struct class_most *most)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->ranks; i++)
        most[i] = (struct class_most){ev->node[ev->rank[i].node].class, seen[i]};
    qsort(most, ev->ranks, sizeof *most, by_class);
    for (size_t i = 0; i < ev->ranks; i++) {
        if (count && strcmp(most[count - 1].class, most[i].class) == 0) {
            if (most[i].most > most[count - 1].most)
                most[count - 1].most = most[i].most;
        } else {
            most[count++] = most[i];
        }
    }
    return count;
}

static void compare_ranks(const struct fc_case *c, const char *metric,
                          const char *probe, struct tally *t, struct class_most *most)
{
    const struct fc_evidence *ev = c->ev;
    count_series(ev, metric, true, t->seen, t->whole);
    size_t classes = find_most(ev, t->seen, most);
    bool owed_anyway = is_owed_by_ranks(metric);
    if (!has_ended(ev, probe))
        return;
    for (size_t i = 0; i < ev->ranks; i++) {
        struct fc_missing m = missing(c, metric);
        struct class_most key = {ev->node[ev->rank[i].node].class, 0};
        const struct class_most *of =
            bsearch(&key, most, classes, sizeof *most, by_class);
        m.probe = probe[0] ? probe : NULL;
        m.node = ev->rank[i].node;
        if (of && t->seen[i] < of->most && (t->seen[i] || !owed_anyway))
            fc_miss(c->out, &m,
                    "rank %d left %zu of the %zu measurements that equal ranks have",
                    ev->rank[i].rank, t->seen[i], of->most);
    }
}

/* Metrics of groups, whose failures are told by the ranks they happen on alone, and
 * counters, told where they grew: those are no measure for the others. */
static bool is_of_group(const char *metric)
{
    return strncmp(metric, "collective.", 11) == 0 ||
           strncmp(metric, "pair.", 5) == 0 || strncmp(metric, "rdma.", 5) == 0 ||
           strcmp(metric, "training.step_time") == 0;
}

/* Metrics of ranks, one after the other: series stand by metric. */
void fc_rule_ranks(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    struct tally t;
    bool ok = tally_open(c, &t);
    struct class_most *most = malloc((ev->ranks + 1) * sizeof *most);
    if (!most)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; ok && most && i < ev->series_count;) {
        const struct fc_ev_record *r = ev->series[i].record[0];
        bool of_ranks = false;
        size_t end = i;
        for (; end < ev->series_count &&
               strcmp(ev->series[end].record[0]->metric, r->metric) == 0;
             end++)
            of_ranks = of_ranks || ev->series[end].record[0]->rank >= 0;
        if (of_ranks && !is_of_group(r->metric))
            compare_ranks(c, r->metric, r->probe, &t, most);
        i = end;
    }
    free(most);
    tally_close(&t);
}

/* --- single records --- */

static void miss_record(const struct fc_case *c, const struct fc_ev_record *r,
                        const char *reason)
{
    struct fc_missing m = missing(c, r->metric);
    m.probe = r->probe[0] ? r->probe : NULL;
    m.node = r->node;
    fc_miss(c->out, &m, "%s%s", fc_rank_prefix(r).s, reason);
}

void fc_rule_unmeasured(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_last(&c->ev->series[i]);
        char *reason = NULL;
        if (r->state != FC_EV_UNMEASURED)
            continue;
        if (asprintf(&reason, "%s: %s", fc_clip(r->status).s,
                     r->reason ? fc_clip(r->reason).s : "no reason was recorded") < 0) {
            c->out->status = FC_NOMEM;
            return;
        }
        miss_record(c, r, reason);
        free(reason);
    }
}

/* Differences of measured times: where nothing is exposed, noise goes below zero; and
 * of counters: one that stuck at its end shows no growth. */
static bool may_be_negative(const struct fc_ev_record *r)
{
    return strcmp(r->metric, "rdma.counter") == 0 ||
           strcmp(r->metric, "training.exposed_comm") == 0 ||
           strcmp(r->metric, "training.overlap") == 0;
}

void fc_rule_nan(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_last(&c->ev->series[i]);
        bool usable =
            isfinite(r->median) &&
            (may_be_negative(r) || (r->higher ? r->median >= 0 : r->median > 0));
        if (r->state == FC_EV_OK && !usable)
            miss_record(c, r,
                        isfinite(r->median)
                            ? "the value is negative or zero, which "
                              "cannot be"
                            : "it was measured, but no number came out");
    }
}
