// SPDX-License-Identifier: BSD-3-Clause
/* The collectives probe: every collective over all ranks, and the all-reduce over each
 * node's ranks and over the first ranks of the nodes as well, through MPI and through
 * memory that the ranks of a node share.
 *
 * What it measures: for sizes, types, reductions and placements, the time of one
 * operation (the slowest rank's, median of samples) and its bus bandwidth, every result
 * verified exactly on every rank, and what carried the bytes. Which faults it catches:
 * wrong data (rank and first offset named), a dead or hung communication path, a node
 * whose own ranks communicate slowly (all nodes run the node stage at the same time, so
 * a slow one stands out against its peers and against its limit), a fabric that is slow
 * although every node alone is not. Limit: inside one node what a rank receives must at
 * least be copied once; that copy is measured on all ranks at once, right before.
 * Between nodes the link's rate, where the path is proven and the rate is a real
 * link's.
 */
#include "collectives/probe_collectives.h"

#include "collectives/coll_records.h"
#include "collectives/plan.h"
#include "collectives/verify.h"
#include "core/clock.h"
#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Below this a message's time is latency, and a copy says nothing about it. */
#define LIMIT_FROM_BYTES ((uint64_t)1 << 20)
#define LIMIT_SECONDS 0.25 /* a copy's samples, at the most twice that */

/* A retest takes three times the samples. */
enum { RETEST_FACTOR = 3, SAMPLES_ROOM = RETEST_FACTOR * FC_SAMPLES_MAX };

struct state {
    struct fc_sweep_buffers buffers;
    struct fc_path_watch *watch;
    struct fc_point_result result;
    double *rate; /* busbw of each sample */
};

/* Several nodes, and one at least whose ranks can talk among themselves. */
static bool has_node_stage(const struct fc_run *run)
{
    return run->rte->nodes > 1 && run->rte->size > run->rte->nodes;
}

enum { STAGES_MAX = 5 };

/* The communicators under test, the smallest first, so that a fault is named by the
 * smallest group that shows it. `out_main`: only the all-reduce. */
static int make_stages(const struct fc_run *run, struct fc_coll_stage *stage,
                       bool *out_main)
{
    struct fc_subject node = fc_run_subject(run);
    struct fc_subject all = {.kind = "fabric", .rank = -1, .rail = -1};
    struct fc_subject some = {.kind = "group", .rank = -1, .rail = -1};
    bool alone = run->rte->nodes == 1;
    int n = 0;
    node.rank = -1;
    if (has_node_stage(run)) {
        out_main[n] = true;
        stage[n++] = (struct fc_coll_stage){
            {run->node, FC_SCOPE_NODE}, .one_node = true, .subject = node};
        out_main[n] = true;
        if (run->node_aware)
            stage[n++] = (struct fc_coll_stage){
                {run->node_aware, FC_SCOPE_NODE}, .one_node = true, .subject = node};
        out_main[n] = true;
        stage[n++] = (struct fc_coll_stage){{run->leaders, FC_SCOPE_LEADERS},
                                            .subject = some,
                                            .variant = "one rank a node"};
    }
    if (run->world_aware) {
        out_main[n] = true;
        stage[n++] = (struct fc_coll_stage){{run->world_aware, FC_SCOPE_WORLD},
                                            .one_node = alone,
                                            .subject = alone ? node : all};
    }
    out_main[n] = false;
    stage[n++] = (struct fc_coll_stage){
        {run->world, FC_SCOPE_WORLD}, .one_node = alone, .subject = alone ? node : all};
    return n;
}

static uint64_t largest_message(const struct fc_settings *settings)
{
    struct fc_coll_series series[FC_COLL_SERIES_MAX];
    uint64_t largest = 0;
    size_t n = fc_coll_plan(settings, false, series);
    for (size_t i = 0; i < n; i++)
        largest = series[i].max_bytes > largest ? series[i].max_bytes : largest;
    return largest;
}

/* A block operation has at least one element a rank, however small the message. */
static uint64_t room(const struct fc_run *run)
{
    uint64_t largest = largest_message(run->settings);
    uint64_t least = (uint64_t)run->rte->size * sizeof(double);
    return largest > least ? largest : least;
}

/* The copies that limits are made of: each size from LIMIT_FROM_BYTES on, of operations
 * that have such a limit. */
static double limits_s(const struct fc_coll_stage *stage,
                       const struct fc_coll_series *series)
{
    double seconds = 0;
    for (uint64_t bytes = series->min_bytes; bytes;
         bytes = fc_coll_next_size(series, bytes))
        if (stage->one_node &&
            fc_coll_received(series->op, bytes, 2) >= LIMIT_FROM_BYTES)
            seconds += LIMIT_SECONDS;
    return seconds;
}

static double cost_s(const struct fc_run *run)
{
    struct fc_coll_stage stage[STAGES_MAX];
    struct fc_coll_series series[FC_COLL_SERIES_MAX];
    bool main[STAGES_MAX + 1];
    double seconds = 1;
    int stages = make_stages(run, stage, main);
    for (int k = 0; k < stages; k++) {
        size_t n = fc_coll_plan(run->settings, main[k], series);
        for (size_t i = 0; i < n; i++)
            seconds += series[i].seconds + limits_s(&stage[k], &series[i]);
    }
    return seconds;
}

static const char *not_applicable(const struct fc_run *run)
{
    return run->rte->size < 2 ? "one rank has nobody to communicate with" : NULL;
}

static void teardown(struct fc_run *run, void *state)
{
    struct state *s = state;
    if (!s)
        return;
    fc_sweep_buffers_close(run, &s->buffers);
    fc_path_close(s->watch);
    fc_sampler_close(&s->result.time_s);
    free(s->rate);
    free(s);
}

static enum fc_status setup(struct fc_run *run, void **out_state, struct fc_error *err)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return fc_fail(err, FC_NOMEM, "out of memory for the collectives probe");
    *out_state = s;
    s->rate = calloc(SAMPLES_ROOM, sizeof *s->rate);
    enum fc_status status =
        s->rate ? fc_sampler_open(&s->result.time_s, FC_SAMPLES_MIN, SAMPLES_ROOM,
                                  FC_SAMPLES_TOLERANCE, 0, err)
                : fc_fail(err, FC_NOMEM, "out of memory for the collectives probe");
    if (status == FC_OK)
        status = fc_path_open("", &s->watch, err);
    if (status == FC_OK)
        status = fc_sweep_buffers_open(run, room(run), &s->buffers, err);
    return status;
}

/* The best time of a concurrent copy of what each rank receives. Ranks that share a
 * core do not copy at the same time, whatever they believe: no limit then. Collective:
 * yes. */
static enum fc_status copy_limit(struct fc_coll_step *step, struct state *s,
                                 struct fc_error *err)
{
    const struct fc_coll_stage *stage = step->stage;
    int n = stage->group.comm ? stage->group.comm->size : 1;
    uint64_t bytes =
        fc_coll_received(step->point.op, fc_point_bytes(&step->point, n), n);
    step->copy_s = (double)NAN;
    /* The groups of a stage may differ in size: all copy when one of them does. */
    int64_t wanted = stage->one_node && bytes >= LIMIT_FROM_BYTES;
    enum fc_status status = fc_rte_max(step->run->rte, "limit", &wanted, 1, err);
    if (status != FC_OK || !wanted)
        return status;
    status =
        fc_sweep_copy(step->run, &stage->group, bytes, &s->buffers, &s->result, err);
    struct fc_summary copy;
    fc_sampler_summary(&s->result.time_s, &copy);
    if (status == FC_OK && s->result.worst == FC_OK && step->run->sharers <= 1 &&
        bytes >= LIMIT_FROM_BYTES)
        step->copy_s = copy.min;
    step->told = false;
    if (status == FC_OK && stage->group.comm && s->result.own_status != FC_OK)
        fc_coll_note_own(step);
    return status;
}

static enum fc_status measure_placement(struct fc_coll_step *step, struct state *s,
                                        struct fc_error *err)
{
    struct fc_run *run = step->run;
    struct fc_comm *comm = step->stage->group.comm;
    char name[64];
    step->noted = FC_OK;
    step->told = false;
    enum fc_status status = fc_sweep_point(run, &step->stage->group, &step->point,
                                           &s->buffers, s->watch, &s->result, err);
    if (status != FC_OK)
        return status;
    /* What this rank cannot note down must not keep it from the agreement. */
    if (comm && comm->rank == 0)
        step->noted = fc_coll_note_group(step, err);
    if (comm && !step->told && s->result.own_status != FC_OK &&
        s->result.own_status != FC_UNSUPPORTED)
        fc_coll_note_own(step);
    snprintf(name, sizeof name, "%s %s", fc_coll_name(step->point.op),
             fc_format_size(fc_point_bytes(&step->point, comm ? comm->size : 1)).s);
    status = fc_rte_agree(run->rte, name, step->noted, err);
    return status == FC_OK ? fc_phase_commit(run, name, err) : status;
}

static enum fc_status run_series(struct fc_run *run, struct state *s,
                                 const struct fc_coll_stage *stage,
                                 const struct fc_coll_series *series, int attempt,
                                 struct fc_error *err)
{
    const struct fc_comm *comm = stage->group.comm;
    struct fc_coll_step step = {.run = run,
                                .stage = stage,
                                .result = &s->result,
                                .rate = s->rate,
                                .attempt = attempt,
                                .point = {.op = series->op,
                                          .dtype = series->dtype,
                                          .redop = series->redop,
                                          .failed = fc_coll_note_own}};
    step.point.arg = &step;
    step.point.budget_ns =
        (uint64_t)(series->seconds / (2.0 * fc_coll_count_sizes(series)) *
                   (double)FC_NS_PER_S);
    enum fc_status status = FC_OK;
    for (uint64_t bytes = series->min_bytes; bytes && status == FC_OK;
         bytes = fc_coll_next_size(series, bytes)) {
        step.point.count =
            fc_point_count(series->op, series->dtype, bytes, comm ? comm->size : 1);
        status = copy_limit(&step, s, err);
        for (int in_place = 0; in_place < 2 && status == FC_OK; in_place++) {
            step.point.in_place = in_place;
            status = measure_placement(&step, s, err);
        }
    }
    return status;
}

/* A result that rounding may change is no test of it: not measured. The same on all
 * ranks. */
static bool is_exact(const struct fc_run *run, const struct fc_coll_series *series)
{
    struct fc_verify v = {.op = series->op,
                          .dtype = series->dtype,
                          .redop = series->redop,
                          .size = run->rte->size};
    struct fc_error unused;
    return fc_verify_possible(&v, &unused) == FC_OK;
}

static enum fc_status probe_run(struct fc_run *run, void *state,
                                const struct fc_focus *focus, struct fc_error *err)
{
    struct fc_coll_stage stage[STAGES_MAX];
    struct fc_coll_series series[FC_COLL_SERIES_MAX];
    bool main[STAGES_MAX + 1];
    enum fc_status status = FC_OK;
    int stages = make_stages(run, stage, main);
    for (int k = 0; k < stages && status == FC_OK; k++) {
        size_t n = fc_coll_plan(run->settings, main[k], series);
        for (size_t i = 0; i < n && status == FC_OK; i++)
            if (is_exact(run, &series[i]))
                status =
                    run_series(run, state, &stage[k], &series[i], focus->attempt, err);
    }
    return status;
}

const struct fc_probe fc_probe_collectives = {
    .name = "collectives",
    .help =
        "collectives inside each node, between the nodes and over all ranks, verified: "
        "wrong data, dead or slow communication",
    .not_applicable = not_applicable,
    .cost_s = cost_s,
    .setup = setup,
    .run = probe_run,
    .teardown = teardown,
    .retests = true,
};
