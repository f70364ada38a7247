// SPDX-License-Identifier: BSD-3-Clause
/* The collectives probe: all-reduce (fp32, sum) over each node's ranks, then over all.
 *
 * What it measures: for a few sizes, in place and out of place, the time of one
 * operation (the slowest rank's, median of samples) and its bus bandwidth, every result
 * verified exactly on every rank.
 * Which faults it catches: wrong data (rank and first offset named), a dead or hung
 * communication path, a node whose own ranks communicate slowly (all nodes run the node
 * stage at the same time, so a slow one stands out against its peers and against its
 * limit), a fabric that is slow although every node alone is not.
 * Limit: inside one node a message must at least be copied once by each rank; that copy
 * is measured on all ranks at once, right before. Between nodes no limit is known here.
 */
#include "collectives/probe_collectives.h"

#include "collectives/busbw.h"
#include "collectives/sweep.h"
#include "core/clock.h"
#include "core/sampler.h"
#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Below this a message's time is latency, and a copy says nothing about it. */
static const size_t limit_from_bytes = 1 << 20;

struct state {
    struct fc_sweep_buffers buffers;
    struct fc_point_result result;
    double *rate; /* busbw of each sample */
};

/* What a level asks for; -b, -e and -f come first. */
static const struct {
    uint64_t min_bytes, max_bytes;
    double factor, seconds; /* of each stage */
} levels[] = {
    [FC_LEVEL_QUICK] = {1 << 10, 4 << 20, 64, 1.5},
    [FC_LEVEL_STANDARD] = {8, 64 << 20, 8, 15},
    [FC_LEVEL_FULL] = {8, 256 << 20, 4, 60},
    [FC_LEVEL_SOAK] = {8, 256 << 20, 4, 60},
};

struct sizes {
    uint64_t min_bytes, max_bytes;
    double factor, seconds;
};

static struct sizes plan_sizes(const struct fc_settings *s)
{
    struct sizes z = {levels[s->level].min_bytes, levels[s->level].max_bytes,
                      levels[s->level].factor, levels[s->level].seconds};
    if (s->min_bytes)
        z.min_bytes = s->min_bytes;
    if (s->max_bytes)
        z.max_bytes = s->max_bytes;
    if (s->factor > 1)
        z.factor = s->factor;
    if (z.max_bytes < z.min_bytes) /* only one of the two was given */
        *(s->min_bytes ? &z.max_bytes : &z.min_bytes) =
            s->min_bytes ? z.min_bytes : z.max_bytes;
    return z;
}

/* The size after `bytes`, or 0. Whole elements; the last is exactly the maximum. */
static uint64_t next_size(const struct sizes *z, uint64_t bytes)
{
    if (bytes >= z->max_bytes)
        return 0;
    double next = (double)bytes * z->factor;
    uint64_t rounded =
        next >= (double)z->max_bytes ? z->max_bytes : (uint64_t)next & ~3ULL;
    return rounded > bytes ? rounded : bytes + 4;
}

static unsigned count_sizes(const struct sizes *z)
{
    unsigned n = 0;
    for (uint64_t b = z->min_bytes; b; b = next_size(z, b))
        n++;
    return n;
}

/* Several nodes, and one at least whose ranks can talk among themselves. */
static bool has_node_stage(const struct fc_run *run)
{
    return run->rte->nodes > 1 && run->rte->size > run->rte->nodes;
}

static double cost_s(const struct fc_run *run)
{
    struct sizes z = plan_sizes(run->settings);
    return z.seconds * (has_node_stage(run) ? 2 : 1) + 1;
}

static const char *not_applicable(const struct fc_run *run)
{
    return run->rte->size < 2 ? "one rank has nobody to communicate with" : NULL;
}

static void teardown(struct fc_run *run, void *state)
{
    struct state *s = state;
    struct fc_device *dev = run->device;
    if (!s)
        return;
    if (s->buffers.send)
        dev->ops->free(dev, s->buffers.send, s->buffers.bytes);
    if (s->buffers.recv)
        dev->ops->free(dev, s->buffers.recv, s->buffers.bytes);
    if (s->buffers.stream)
        dev->ops->stream_close(dev, s->buffers.stream);
    fc_sampler_close(&s->result.time_s);
    free(s->rate);
    free(s);
}

static enum fc_status setup(struct fc_run *run, void **out_state, struct fc_error *err)
{
    struct fc_device *dev = run->device;
    struct sizes z = plan_sizes(run->settings);
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return fc_fail(err, FC_NOMEM, "out of memory for the collectives probe");
    *out_state = s;
    s->buffers.bytes = fc_sweep_room(z.max_bytes);
    s->rate = calloc(FC_SAMPLES_MAX, sizeof *s->rate);
    enum fc_status status =
        s->rate ? fc_sampler_open(&s->result.time_s, FC_SAMPLES_MIN, FC_SAMPLES_MAX,
                                  FC_SAMPLES_TOLERANCE, 0, err)
                : fc_fail(err, FC_NOMEM, "out of memory for the collectives probe");
    if (status == FC_OK)
        status = dev->ops->stream_open(dev, &s->buffers.stream, err);
    if (status == FC_OK)
        status = dev->ops->alloc(dev, s->buffers.bytes, &s->buffers.send, err);
    if (status == FC_OK)
        status = dev->ops->alloc(dev, s->buffers.bytes, &s->buffers.recv, err);
    return status;
}

struct stage {
    struct fc_group group;
    bool one_node; /* all ranks of the group share memory */
    struct fc_subject subject;
};

/* One size and placement of a stage: what the records of it need. */
struct step {
    struct fc_run *run;
    struct state *state;
    const struct stage *stage;
    const struct fc_focus *focus;
    struct fc_point point;
    double copy_s;        /* the limit's copy; NaN: none bounds the operation */
    enum fc_status noted; /* whether the records could be made */
};

static bool crowded(const struct fc_run *run)
{
    return run->sharers > 1;
}

static struct fc_record base_record(const struct step *step, const char *metric)
{
    struct fc_record r = fc_record_new(metric);
    r.subject = step->stage->subject;
    r.params.op = "all_reduce";
    r.params.redop = "sum";
    r.params.dtype = fc_dtype_name(step->point.dtype);
    r.params.in_place = step->point.in_place;
    r.params.n = step->stage->group.comm->size;
    r.params.algorithm = step->stage->group.comm->ops->algorithm(
        step->stage->group.comm, step->point.op);
    r.params.variant = crowded(step->run) ? "shared cores" : NULL;
    r.params.attempt = step->focus->attempt;
    r.params.memory = "host";
    r.bytes = (int64_t)step->point.bytes;
    return r;
}

/* What only this rank can say: its own wrong or failed operation. */
static void add_own_record(void *arg)
{
    struct step *step = arg;
    const struct fc_point_result *result = &step->state->result;
    struct fc_error err;
    struct fc_record r = base_record(step, "collective.all_reduce.time");
    r.subject = fc_run_subject(step->run);
    r.wrong = result->own_status == FC_WRONG ? (int64_t)result->own_wrong : -1;
    r.status = result->own_status;
    r.reason = result->own_error.text;
    enum fc_status status = fc_sink_add(step->run->sink, &r, &err);
    if (status != FC_OK)
        step->noted = status;
}

/* The group's two records, made by its first rank. */
static enum fc_status add_group_records(struct step *step, struct fc_error *err)
{
    const struct fc_point *point = &step->point;
    const struct fc_point_result *result = &step->state->result;
    const struct fc_sampler *time = &result->time_s;
    double *rate = step->state->rate;
    int n = step->stage->group.comm->size;
    char basis[160];
    struct fc_record r = base_record(step, "collective.all_reduce.time");
    fc_sampler_summary(time, &r.value);
    r.wrong = result->wrong;
    r.status = result->worst;
    if (r.status != FC_OK)
        r.reason = r.status == FC_WRONG ? "wrong results; see the ranks' records"
                                        : "failed on a rank; see the ranks' records";
    enum fc_status status = fc_sink_add(step->run->sink, &r, err);
    if (status != FC_OK || n < 2) /* of one rank nothing crosses a bus */
        return status;
    r.metric = "collective.all_reduce.busbw";
    for (size_t i = 0; i < time->n; i++)
        rate[i] = fc_busbw_GBps(point->op, point->bytes, time->x[i], n);
    if (!fc_summarize(rate, time->n, &r.value, NULL))
        return fc_fail(err, FC_NOMEM, "out of memory for a summary");
    if (isfinite(step->copy_s) && step->copy_s > 0) {
        r.limit = fc_busbw_GBps(point->op, point->bytes, step->copy_s, n);
        snprintf(
            basis, sizeof basis,
            "each rank copies the message once, all %d at the same time: %.3g GB/s "
            "a rank",
            n, fc_algbw_GBps(point->bytes, step->copy_s));
        r.limit_basis = basis;
    }
    return fc_sink_add(step->run->sink, &r, err);
}

/* The best time of a concurrent copy. Ranks that share a core do not copy at the same
 * time, whatever they believe: no limit then. Collective: yes. */
static enum fc_status copy_limit(struct step *step, struct fc_error *err)
{
    struct state *s = step->state;
    step->copy_s = (double)NAN;
    if (!step->stage->one_node || step->point.bytes < limit_from_bytes)
        return FC_OK;
    enum fc_status status =
        fc_sweep_copy(step->run, &step->stage->group, step->point.bytes, &s->buffers,
                      &s->result, err);
    struct fc_summary copy;
    fc_sampler_summary(&s->result.time_s, &copy);
    if (status == FC_OK && s->result.worst == FC_OK && !crowded(step->run))
        step->copy_s = copy.min;
    return status;
}

static enum fc_status measure_placement(struct step *step, struct fc_error *err)
{
    struct fc_run *run = step->run;
    struct state *s = step->state;
    char name[64];
    step->noted = FC_OK;
    enum fc_status status = fc_sweep_point(run, &step->stage->group, &step->point,
                                           &s->buffers, &s->result, err);
    if (status != FC_OK)
        return status;
    /* What this rank cannot note down must not keep it from the agreement. */
    if (step->stage->group.comm->rank == 0)
        step->noted = add_group_records(step, err);
    if (s->result.own_status == FC_WRONG)
        add_own_record(step);
    snprintf(name, sizeof name, "all_reduce %s", fc_format_size(step->point.bytes).s);
    status = fc_rte_agree(run->rte, name, step->noted, err);
    return status == FC_OK ? fc_phase_commit(run, name, err) : status;
}

static enum fc_status measure_size(struct step *step, struct fc_error *err)
{
    enum fc_status status = copy_limit(step, err);
    for (int in_place = 0; in_place < 2 && status == FC_OK; in_place++) {
        step->point.in_place = in_place;
        status = measure_placement(step, err);
    }
    return status;
}

static enum fc_status run_stage(struct fc_run *run, struct state *s,
                                const struct stage *stage, const struct fc_focus *focus,
                                struct fc_error *err)
{
    struct sizes z = plan_sizes(run->settings);
    struct step step = {.run = run,
                        .state = s,
                        .stage = stage,
                        .focus = focus,
                        .point = {.op = FC_COLL_ALL_REDUCE,
                                  .dtype = FC_DTYPE_FP32,
                                  .redop = FC_REDOP_SUM,
                                  .failed = add_own_record}};
    step.point.arg = &step;
    step.point.budget_ns =
        (uint64_t)(z.seconds / (2.0 * count_sizes(&z)) * (double)FC_NS_PER_S);
    enum fc_status status = FC_OK;
    for (uint64_t bytes = z.min_bytes; bytes && status == FC_OK;
         bytes = next_size(&z, bytes)) {
        step.point.bytes = bytes;
        status = measure_size(&step, err);
    }
    return status;
}

static enum fc_status probe_run(struct fc_run *run, void *state,
                                const struct fc_focus *focus, struct fc_error *err)
{
    struct state *s = state;
    const struct fc_rte *rte = run->rte;
    struct stage node = {.group = {run->node, rte->node}, .one_node = true};
    node.subject = fc_run_subject(run);
    node.subject.rank = -1;
    struct stage world = {.group = {run->world, -1}, .one_node = rte->nodes == 1};
    world.subject = rte->nodes == 1
                        ? node.subject
                        : (struct fc_subject){.kind = "fabric", .rank = -1, .rail = -1};
    enum fc_status status = FC_OK;
    if (has_node_stage(run))
        status = run_stage(run, s, &node, focus, err);
    if (status == FC_OK)
        status = run_stage(run, s, &world, focus, err);
    return status;
}

const struct fc_probe fc_probe_collectives = {
    .name = "collectives",
    .help =
        "all-reduce inside each node and over all ranks, verified: wrong data, dead or "
        "slow communication",
    .not_applicable = not_applicable,
    .cost_s = cost_s,
    .setup = setup,
    .run = probe_run,
    .teardown = teardown,
    .retests = true,
};
