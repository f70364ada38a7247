// SPDX-License-Identifier: BSD-3-Clause
/* The rdma probe: the verbs matrix. What any two nodes write, read and send along each
 * rail, by libibverbs and nothing above it, and how soon they answer.
 *
 * How: rounds of disjoint node pairs by the circle method over randomly relabelled
 * nodes (core/schedule.h); in each round all rails of both nodes are joined, each with
 * its own number (at the longer levels with every other as well), and measured one
 * after the other and then all together (step.h). Of one node its rails meet each
 * other. All is bounded by time, verified, and each pair's path is proven by its ports'
 * counters. Verbs calls are made by the rank's worker: one that hangs or crashes is an
 * event, and the run goes on. Which faults it catches: a slow or dead port, cable,
 * switch or direction; a rail that is down, or reaches no peer (GID, P_Key, MTU
 * unlike); data that is changed on the way; loss and congestion, by counters that grow;
 * rails that are slow together. Limit: the slower port's link, or its PCIe link where
 * that is narrower; rates that a driver makes up are none. */
#include "rdma/probe_rdma.h"

#include "core/clock.h"
#include "core/pair_steps.h"
#include "core/rng.h"
#include "core/schedule.h"
#include "rdma/report.h"
#include "rdma/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    struct fc_rdma_seats seats;
    struct fc_schedule schedule; /* of nodes; of one node its rails */
    struct fc_rdma_match *match; /* [slots] */
    struct fc_rdma_entry *entry; /* [slots] */
    struct fc_rdma_size_entry *size_entry;
    bool *active;               /* [nodes]; in a retest the suspects */
    struct fc_pair_steps steps; /* of a retest whose pairs were chosen */
};

struct walk {
    struct fc_run *run;
    struct state *state;
    const struct fc_focus *focus;
    struct fc_rdma_effort effort;
    struct fc_rdma_report report;
};

static const char *not_applicable(const struct fc_run *run)
{
    return run->rdma ? NULL : "no node has an RDMA device";
}

static uint32_t members_of(const struct fc_run *run, int rails)
{
    return (uint32_t)(run->rte->nodes > 1 ? run->rte->nodes : rails);
}

static double cost_s(const struct fc_run *run)
{
    /* Rails are not known before it begins. */
    struct fc_rdma_effort e = fc_rdma_effort(run->settings, members_of(run, 2), 1);
    return fc_rdma_effort_s(&e, 1);
}

/* --- setup --- */

static enum fc_status open_arrays(struct state *s, struct fc_run *run,
                                  struct fc_error *err)
{
    size_t slots = (size_t)s->seats.slots;
    s->match = calloc(slots, sizeof *s->match);
    s->entry = calloc(slots, sizeof *s->entry);
    s->size_entry = calloc(slots, sizeof *s->size_entry);
    s->active = calloc((size_t)run->rte->nodes, sizeof *s->active);
    if (!s->match || !s->entry || !s->size_entry || !s->active)
        return fc_fail(err, FC_NOMEM, "out of memory for the rdma probe");
    return fc_schedule_open(&s->schedule, members_of(run, s->seats.rails), run->seed,
                            err);
}

static enum fc_status setup(struct fc_run *run, void **out_state, struct fc_error *err)
{
    struct state *s = calloc(1, sizeof *s);
    enum fc_status status = FC_OK;
    *out_state = s;
    if (!s)
        status = fc_fail(err, FC_NOMEM, "out of memory for the rdma probe");
    status = fc_rte_agree(run->rte, "rdma", status, err);
    if (status == FC_OK)
        status = fc_rdma_seats_open(run, &s->seats, err);
    status = fc_rte_agree(run->rte, "rdma", status, err);
    if (status == FC_OK && members_of(run, s->seats.rails) < 2)
        return fc_fail(err, FC_UNSUPPORTED, "one port has nobody to meet");
    return status == FC_OK ? open_arrays(s, run, err) : status;
}

static void teardown(struct fc_run *run, void *state)
{
    struct state *s = state;
    (void)run;
    if (!s)
        return;
    fc_rdma_seats_close(&s->seats);
    fc_schedule_close(&s->schedule);
    fc_pair_steps_close(&s->steps);
    free(s->match);
    free(s->entry);
    free(s->size_entry);
    free(s->active);
    free(s);
}

/* --- who meets whom --- */

static bool is_used(const struct fc_rdma_seats *seats, int node, int rail)
{
    return fc_rdma_seat(seats, node, rail)->used != 0;
}

/* The node that this one is to be measured with in the round; -1: none. */
static int64_t partner_in(const struct walk *w, uint32_t round, uint32_t node)
{
    const struct state *s = w->state;
    if (w->focus->pairs)
        return fc_pair_steps_partner(&s->steps, round, node);
    int64_t peer = fc_schedule_partner(&s->schedule, round, node);
    return peer >= 0 && (s->active[node] || s->active[peer]) ? peer : -1;
}

/* Nodes meet; rail r of the lower one meets rail r + shift of the other. */
static struct fc_rdma_match match_nodes(const struct walk *w, uint32_t round, int rail,
                                        int shift)
{
    const struct state *s = w->state;
    const struct fc_rte *rte = w->run->rte;
    struct fc_rdma_match m = {.peer_node = -1, .peer_rail = -1};
    int64_t peer = partner_in(w, round, (uint32_t)rte->node);
    if (peer < 0)
        return m;
    int rails = s->seats.rails;
    bool first = rte->node < (int)peer;
    int peer_rail = (rail + (first ? shift : rails - shift)) % rails;
    if (!is_used(&s->seats, rte->node, rail) ||
        !is_used(&s->seats, (int)peer, peer_rail))
        return m;
    return (struct fc_rdma_match){(int)peer, peer_rail, first};
}

static struct fc_rdma_match match_rails(const struct state *s, uint32_t round, int rail)
{
    int64_t peer = fc_schedule_partner(&s->schedule, round, (uint32_t)rail);
    if (peer < 0 || !is_used(&s->seats, 0, rail) || !is_used(&s->seats, 0, (int)peer))
        return (struct fc_rdma_match){.peer_node = -1, .peer_rail = -1};
    return (struct fc_rdma_match){0, (int)peer, rail < (int)peer};
}

static void match_all(const struct walk *w, uint32_t round, int shift)
{
    struct state *s = w->state;
    const struct fc_rte *rte = w->run->rte;
    for (int slot = 0; slot < s->seats.slots; slot++) {
        int rail = s->seats.own[slot].rail;
        s->match[slot] = (struct fc_rdma_match){.peer_node = -1, .peer_rail = -1};
        if (rail >= 0)
            s->match[slot] = rte->nodes > 1 ? match_nodes(w, round, rail, shift)
                                            : match_rails(s, round, rail);
    }
}

/* --- the walk --- */

static enum fc_status walk_step(struct walk *w, uint32_t round, int shift, bool sizes,
                                struct fc_error *err)
{
    struct state *s = w->state;
    struct fc_rdma_step step = {
        .seats = &s->seats,
        .effort = &w->effort,
        .match = s->match,
        .apart = w->run->rte->nodes > 1,
        .round = round,
        .attempt = w->focus->attempt,
        .data_seed = fc_rng_at(w->run->seed ^ (uint64_t)w->focus->attempt << 32,
                               (uint64_t)round << 8 | (uint64_t)shift),
        .out = s->entry,
        .sizes = sizes ? s->size_entry : NULL,
    };
    match_all(w, round, shift);
    enum fc_status status = fc_rdma_step_run(&step, err);
    if (status == FC_OK)
        status = fc_rdma_report_step(&w->report, &step, err);
    return status == FC_OK ? fc_phase_commit(w->run, "RDMA step", err) : status;
}

/* True when two nodes meet in the round; equal on all ranks. */
static bool has_work(const struct walk *w, uint32_t round)
{
    const struct fc_rte *rte = w->run->rte;
    bool any = rte->nodes == 1;
    for (uint32_t n = 0; n < (uint32_t)rte->nodes && !any; n++)
        any = partner_in(w, round, n) >= 0;
    return any;
}

static enum fc_status walk(struct walk *w, struct fc_error *err)
{
    uint64_t begin = fc_now_ns();
    int shifts = w->effort.cross && w->run->rte->nodes > 1 ? w->state->seats.rails : 1;
    enum fc_status status = FC_OK;
    for (uint32_t round = 0; round < w->effort.rounds && status == FC_OK; round++) {
        if (!has_work(w, round))
            continue;
        for (int shift = 0; shift < shifts && status == FC_OK; shift++)
            status = walk_step(w, round, shift,
                               w->effort.sizes && round == 0 && shift == 0, err);
        int64_t spent = (int64_t)(fc_now_ns() - begin);
        if (status == FC_OK)
            status = fc_rte_max(w->run->rte, "rdma", &spent, 1, err);
        if (w->effort.budget_ns && (uint64_t)spent >= w->effort.budget_ns)
            break;
    }
    return status;
}

/* A first run measures all nodes; a retest those of which a rank is a suspect. */
static enum fc_status choose_active(struct walk *w, struct fc_error *err)
{
    const struct fc_rte *rte = w->run->rte;
    uint8_t mine = w->focus->attempt < 2 || w->focus->mine;
    uint8_t *all = calloc((size_t)rte->size, sizeof *all);
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks", rte->size);
    enum fc_status status =
        fc_rte_allgather(w->run->rte, "nodes to measure", &mine, sizeof mine, all, err);
    memset(w->state->active, 0, (size_t)rte->nodes * sizeof *w->state->active);
    for (int r = 0; status == FC_OK && r < rte->size; r++)
        w->state->active[rte->place[r].node] |= all[r] != 0;
    free(all);
    return status;
}

static enum fc_status probe_run(struct fc_run *run, void *state,
                                const struct fc_focus *focus, struct fc_error *err)
{
    struct state *s = state;
    struct walk w = {.run = run,
                     .state = s,
                     .focus = focus,
                     .effort =
                         fc_rdma_effort(run->settings, members_of(run, s->seats.rails),
                                        focus->attempt)};
    enum fc_status status = FC_OK;
    if (focus->pairs) {
        status = fc_pair_steps_open(focus, (uint32_t)run->rte->nodes, &s->steps, err);
        w.effort.rounds = w.effort.all = s->steps.steps;
    }
    if (status == FC_OK)
        status =
            fc_rdma_report_open(&s->seats, &w.effort, focus->attempt, &w.report, err);
    status = fc_rte_agree(run->rte, "rdma", status, err);
    if (status == FC_OK)
        status = choose_active(&w, err);
    if (status == FC_OK)
        status = walk(&w, err);
    /* Some pairs measured again are no new word on all of them. */
    if (status == FC_OK && focus->attempt < 2)
        status = fc_rdma_report_summary(&w.report, err);
    fc_rdma_report_close(&w.report);
    return status;
}

const struct fc_probe fc_probe_rdma = {
    .name = "rdma",
    .help = "what nodes write, read and send along each rail by verbs, and how soon: "
            "dead or slow ports, links, directions",
    .not_applicable = not_applicable,
    .cost_s = cost_s,
    .setup = setup,
    .run = probe_run,
    .teardown = teardown,
    .retests = true,
};
