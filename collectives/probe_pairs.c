// SPDX-License-Identifier: BSD-3-Clause
/* The pairs probe: bandwidth both ways and latency between any two nodes (of one node:
 * between any two ranks), every pair once.
 *
 * How: rounds of disjoint pairs by the circle method over randomly relabelled members
 * (core/schedule.h), so that all links work at once and any prefix of rounds is a fair
 * sample. Within a round nobody waits for more than its own partner; every few rounds
 * all ranks meet, and what was measured becomes one matrix line a round in the journal.
 * Each pair is bounded by time, and its last byte is acknowledged before it ends, so
 * that a slow link costs its own round little and the next one nothing.
 * Which faults it catches: a slow or dead link, port or node (all of its pairs are
 * slow), one direction that is slow, a pair of nodes that cannot talk, data that is
 * changed on the way (the receiver, the sender and the first wrong byte are named).
 * Limit: the link rate of the slower member, where the counters prove that the bytes
 * crossed it. A retest takes three times as long a pair. It measures each suspect with
 * the nodes that were chosen for it, few pairs or one at a time (core/
 * pair_steps.h), so that load on shared links is not the reason; of one node's ranks,
 * where nothing is shared that could be avoided, all pairs with a suspect in them.
 */
#include "collectives/probe_pairs.h"

#include "collectives/pairs_rank.h"
#include "collectives/pairs_report.h"
#include "core/clock.h"
#include "core/pair_steps.h"
#include "core/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    struct fc_pairs_rank rank;
    bool *active;               /* [members] to be measured: in a retest the suspects */
    uint32_t *order;            /* [schedule.rounds] of a retest */
    struct fc_pair_steps steps; /* of a retest whose pairs were chosen */
    struct fc_pair_entry mine[FC_PAIRS_BLOCK_MAX];
};

/* One walk over the schedule. */
struct walk {
    struct fc_run *run;
    struct state *state;
    const struct fc_focus *focus;
    struct fc_pairs_plan plan;
    struct fc_pairs_report report;
    enum fc_status noted; /* whether this rank could note down what it met */
    struct fc_error why;
};

static const char *not_applicable(const struct fc_run *run)
{
    return run->rte->size < 2 ? "one rank has nobody to pair with" : NULL;
}

static double cost_s(const struct fc_run *run)
{
    struct fc_pairs_plan plan =
        fc_pairs_plan(run->settings, fc_pairs_members(run->rte), 1);
    return fc_pairs_plan_s(&plan) + 0.2;
}

/* --- setup --- */

static enum fc_status setup(struct fc_run *run, void **out_state, struct fc_error *err)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return fc_fail(err, FC_NOMEM, "out of memory for the pairs probe");
    *out_state = s;
    uint32_t members = fc_pairs_members(run->rte);
    s->active = calloc(members, sizeof *s->active);
    s->order = calloc(members + 1, sizeof *s->order);
    if (!s->active || !s->order)
        return fc_fail(err, FC_NOMEM, "out of memory for the pairs probe");
    size_t room = fc_pairs_plan(run->settings, members, 1).pair.max_bytes;
    return fc_pairs_rank_open(run, room, &s->rank, err);
}

static void teardown(struct fc_run *run, void *state)
{
    struct state *s = state;
    (void)run;
    if (!s)
        return;
    fc_pairs_rank_close(&s->rank);
    fc_pair_steps_close(&s->steps);
    free(s->order);
    free(s->active);
    free(s);
}

/* --- one pair --- */

/* A wrong or failed pair speaks for itself, at once: the partner of a failed one may
 * never come to the next agreement. */
static void add_own_record(struct walk *w, const struct fc_pair_result *result,
                           int peer_rank, const struct fc_pair_entry *entry)
{
    const struct fc_run *run = w->run;
    const struct fc_rte *rte = run->rte;
    struct fc_error err;
    struct fc_record r = fc_record_new("pair.bw");
    r.subject = fc_run_subject(run);
    r.subject.kind = "pair";
    r.subject.peer = rte->node_name[rte->place[peer_rank].node];
    r.params.op = "sendrecv";
    r.params.dtype = "fp64";
    r.params.n = 2;
    r.params.algorithm = run->world->ops->algorithm(run->world, FC_COLL_SENDRECV);
    r.params.memory = "host";
    r.params.attempt = w->focus->attempt;
    r.path = entry->path;
    r.path_how = entry->how;
    r.wrong = result->status == FC_WRONG ? (int64_t)result->wrong : -1;
    r.status = result->status;
    r.reason = result->why.text;
    enum fc_status status = fc_summarize(NULL, 0, &r.value, NULL)
                                ? fc_sink_add(run->sink, &r, &err)
                                : fc_fail(&err, FC_NOMEM, "out of memory for a record");
    if (status != FC_OK && w->noted == FC_OK) {
        w->noted = status;
        w->why = err;
    }
}

static struct fc_pair_entry entry_of(const struct fc_pair_result *result, int64_t peer,
                                     const struct fc_path *path)
{
    struct fc_pair_entry e = {.peer = peer,
                              .bw_GBps = result->bw_GBps,
                              .latency_s = result->latency_s,
                              .link_GBps = path->link_GBps,
                              .bytes = result->bytes,
                              .wrong = result->wrong,
                              .samples = result->samples,
                              .status = (int32_t)result->status};
    snprintf(e.path, sizeof e.path, "%s", path->name);
    snprintf(e.how, sizeof e.how, "%s", path->how);
    if (result->status != FC_OK)
        snprintf(e.why, sizeof e.why, "%.255s", result->why.text);
    return e;
}

static void measure_pair(struct walk *w, uint32_t round, int64_t peer,
                         struct fc_pair_entry *out)
{
    struct fc_pairs_rank *rank = &w->state->rank;
    struct fc_pair_plan plan = w->plan.pair;
    struct fc_pair_result result;
    struct fc_path path;
    plan.round = round;
    plan.data_seed = fc_rng_at(w->run->seed ^ (uint64_t)w->focus->attempt << 32, round);
    fc_pairs_rank_measure(rank, &plan, peer, &result, &path);
    *out = entry_of(&result, peer, &path);
    if (result.status != FC_OK)
        add_own_record(w, &result, rank->rank_of[peer], out);
}

/* --- the walk --- */

/* The member that this one is to be measured with in the round; -1: none. */
static int64_t partner_in(const struct walk *w, uint32_t round)
{
    const struct state *s = w->state;
    uint32_t me = (uint32_t)s->rank.me;
    if (w->focus->pairs)
        return fc_pair_steps_partner(&s->steps, round, me);
    int64_t peer = fc_schedule_partner(&s->rank.schedule, round, me);
    return peer >= 0 && (s->active[me] || s->active[peer]) ? peer : -1;
}

static void walk_round(struct walk *w, uint32_t i, struct fc_pair_entry *out)
{
    uint32_t round = fc_pairs_plan_round(&w->plan, i);
    int64_t peer = partner_in(w, round);
    memset(out, 0, sizeof *out);
    out->peer = -1;
    if (peer >= 0)
        measure_pair(w, round, peer, out);
}

/* Chosen pairs wait for each other, so that no more of them are at work than each
 * allows. */
static enum fc_status walk_block(struct walk *w, uint32_t done, uint32_t n,
                                 struct fc_error *err)
{
    struct state *s = w->state;
    enum fc_status status = FC_OK;
    for (uint32_t i = 0; i < n && status == FC_OK; i++) {
        if (i > 0 && w->focus->pairs)
            status = fc_rte_barrier(w->run->rte, "pairs before", err);
        if (s->rank.me >= 0 && status == FC_OK)
            walk_round(w, done + i, &s->mine[i]);
    }
    return status;
}

static enum fc_status walk(struct walk *w, struct fc_error *err)
{
    struct fc_rte *rte = w->run->rte;
    struct state *s = w->state;
    uint64_t begin = fc_now_ns();
    int64_t took_spent[2] = {0, 0};
    uint32_t done = 0, n = 1;
    enum fc_status status = FC_OK;
    while (n && status == FC_OK) {
        uint64_t start = fc_now_ns();
        status = walk_block(w, done, n, err);
        if (status != FC_OK)
            return status;
        took_spent[0] = (int64_t)(fc_now_ns() - start);
        took_spent[1] = (int64_t)(fc_now_ns() - begin);
        /* All know how long the slowest took: all choose the same next block. */
        status = fc_rte_max(rte, "pairs", took_spent, 2, err);
        if (status != FC_OK)
            return status;
        *err = w->why;
        status = fc_pairs_report_block(&w->report, done, n,
                                       s->rank.me >= 0 ? s->mine : NULL, w->noted, err);
        done += n;
        n = fc_pairs_plan_block(&w->plan, done, (uint64_t)took_spent[1], n,
                                (uint64_t)took_spent[0]);
    }
    return status;
}

/* A first run measures all members; a retest, those whose rank is a suspect. */
static enum fc_status choose_active(const struct walk *w, bool *out_all,
                                    struct fc_error *err)
{
    const struct fc_run *run = w->run;
    struct state *s = w->state;
    uint8_t mine = w->focus->attempt < 2 || w->focus->mine;
    uint8_t *all = calloc((size_t)run->rte->size, sizeof *all);
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks", run->rte->size);
    enum fc_status status =
        fc_rte_allgather(run->rte, "pairs to measure", &mine, sizeof mine, all, err);
    *out_all = true;
    for (uint32_t m = 0; status == FC_OK && m < s->rank.members; m++) {
        s->active[m] = all[s->rank.rank_of[m]] != 0;
        *out_all = *out_all && s->active[m];
    }
    free(all);
    return status;
}

/* All pairs that have a suspect, in the order that tells most soonest. */
static enum fc_status order_all(struct walk *w, bool *out_all, struct fc_error *err)
{
    struct state *s = w->state;
    enum fc_status status = choose_active(w, out_all, err);
    if (status != FC_OK || *out_all)
        return status;
    status = fc_pairs_plan_order(&w->plan, &s->rank.schedule, s->active, s->order, err);
    w->plan.order = s->order;
    return fc_rte_agree(w->run->rte, "order of pairs", status, err);
}

static enum fc_status probe_run(struct fc_run *run, void *state,
                                const struct fc_focus *focus, struct fc_error *err)
{
    struct state *s = state;
    struct walk w = {.run = run,
                     .state = s,
                     .focus = focus,
                     .plan =
                         fc_pairs_plan(run->settings, s->rank.members, focus->attempt)};
    bool all = false;
    enum fc_status status = FC_OK;
    if (focus->pairs) {
        status = fc_pair_steps_open(focus, s->rank.members, &s->steps, err);
        w.plan.start = 0;
        w.plan.rounds = w.plan.all = s->steps.steps;
    }
    if (status == FC_OK)
        status = fc_pairs_report_open(&w.report, run, &w.plan, focus->attempt,
                                      s->rank.members, s->rank.rank_of, err);
    status = fc_rte_agree(run->rte, "pairs", status, err);
    if (status == FC_OK && !focus->pairs)
        status = order_all(&w, &all, err);
    if (status == FC_OK)
        status = walk(&w, err);
    /* Some pairs measured again are no new word on all of them. */
    if (status == FC_OK && all)
        status = fc_pairs_report_summary(&w.report, err);
    fc_pairs_report_close(&w.report);
    return status;
}

const struct fc_probe fc_probe_pairs = {
    .name = "pairs",
    .help = "bandwidth both ways and latency between any two nodes, verified: slow or "
            "dead links, changed data",
    .not_applicable = not_applicable,
    .cost_s = cost_s,
    .setup = setup,
    .run = probe_run,
    .teardown = teardown,
    .retests = true,
};
