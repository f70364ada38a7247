// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/sweep.h"

#include "core/clock.h"
#include "core/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 5,       /* samples between two agreements */
    SLICES_MAX = 20, /* operations a sample */
    SLICES_BYTES = 1 << 20,
    RANK_TERMS = 251, /* keeps sums exact in fp32 up to 67,000 ranks */
};

/* One rank's side of the point being measured. */
struct bench {
    struct fc_run *run;
    const struct fc_group *group;
    const struct fc_point *point;
    const struct fc_sweep_buffers *buffers;
    struct fc_point_result *result;
    size_t count, slices; /* elements a slice; slices of the buffer in use */
    char name[64];
    enum fc_status (*timed)(struct bench *b, struct fc_error *err);
    bool verified; /* the copy has no need of it */
    uint64_t seed;
};

/* What each rank tells the others after a batch. */
struct report {
    double sample_s[BATCH];
    int64_t wrong;
    int32_t status;
    int32_t late; /* its budget is spent */
};

static size_t slices_for(size_t bytes)
{
    size_t slices = SLICES_BYTES / (bytes ? bytes : 1);
    return slices < 1 ? 1 : slices > SLICES_MAX ? SLICES_MAX : slices;
}

size_t fc_sweep_room(size_t bytes)
{
    return bytes > SLICES_BYTES ? bytes : SLICES_BYTES;
}

static struct fc_pattern contribution(const struct bench *b)
{
    return (struct fc_pattern){.kind = FC_PATTERN_INTEGERS,
                               .seed = b->seed,
                               .scale = 1,
                               .offset = b->group->comm->rank % RANK_TERMS};
}

static struct fc_pattern expected_sum(const struct bench *b)
{
    int n = b->group->comm->size, rest = n % RANK_TERMS;
    int whole = n / RANK_TERMS;
    return (struct fc_pattern){.kind = FC_PATTERN_INTEGERS,
                               .seed = b->seed,
                               .scale = n,
                               .offset = whole * (RANK_TERMS * (RANK_TERMS - 1) / 2) +
                                         rest * (rest - 1) / 2};
}

/* Fresh contributions, and results that cannot be right by chance. */
static enum fc_status prepare(struct bench *b, struct fc_error *err)
{
    struct fc_device *dev = b->run->device;
    size_t count = b->count * b->slices;
    void *input = b->point->in_place ? b->buffers->recv : b->buffers->send;
    b->seed++;
    enum fc_status status = dev->ops->fill(dev, b->buffers->stream, input, count,
                                           b->point->dtype, contribution(b), err);
    if (status == FC_OK && !b->point->in_place) {
        struct fc_pattern cleared = {.kind = FC_PATTERN_CONSTANT, .seed = 1000003};
        status = dev->ops->fill(dev, b->buffers->stream, b->buffers->recv, count,
                                b->point->dtype, cleared, err);
    }
    return status;
}

static enum fc_status verify(struct bench *b, struct fc_error *err)
{
    struct fc_device *dev = b->run->device;
    struct fc_mismatch found = {0};
    enum fc_status status = dev->ops->compare(dev, b->buffers->stream, b->buffers->recv,
                                              b->count * b->slices, b->point->dtype,
                                              expected_sum(b), &found, err);
    if (status != FC_OK || !found.wrong)
        return status;
    b->result->own_wrong += found.wrong;
    return fc_fail(
        err, FC_WRONG, "%s: rank %d element %llu is %.9g, expected %.9g (%llu wrong)",
        b->name, b->run->rte->rank, (unsigned long long)(found.first % b->count),
        found.found, found.expected, (unsigned long long)found.wrong);
}

static enum fc_status wait_done(struct bench *b, struct fc_error *err)
{
    struct fc_comm *comm = b->group->comm;
    bool done = false;
    enum fc_status status = FC_OK;
    while (status == FC_OK && !done)
        status = comm->ops->poll(comm, &done, err);
    return status;
}

static enum fc_status run_collective(struct bench *b, struct fc_error *err)
{
    struct fc_comm *comm = b->group->comm;
    enum fc_status status = FC_OK;
    for (size_t s = 0; s < b->slices && status == FC_OK; s++) {
        char *recv = (char *)b->buffers->recv + s * b->point->bytes;
        char *send = (char *)b->buffers->send + s * b->point->bytes;
        struct fc_coll_args args = {.op = b->point->op,
                                    .dtype = b->point->dtype,
                                    .redop = b->point->redop,
                                    .send = b->point->in_place ? recv : send,
                                    .recv = recv,
                                    .count = b->count};
        status = comm->ops->enqueue(comm, &args, err);
        if (status == FC_OK)
            status = wait_done(b, err);
    }
    return status;
}

static enum fc_status run_copy(struct bench *b, struct fc_error *err)
{
    struct fc_device *dev = b->run->device;
    return dev->ops->copy(dev, b->buffers->stream, b->buffers->recv, b->buffers->send,
                          b->point->bytes, err);
}

/* One sample: prepare, barrier, timed section, verify. */
static enum fc_status sample(struct bench *b, double *out_s, struct fc_error *err)
{
    struct fc_run *run = b->run;
    struct fc_comm *comm = b->group->comm;
    enum fc_status status = FC_OK;
    if (b->verified) {
        fc_watchdog_push(run->watchdog, "fill the buffers", FC_WAIT_LOCAL,
                         run->settings->work_ns);
        status = prepare(b, err);
        fc_watchdog_pop(run->watchdog);
    }
    if (status != FC_OK)
        return status;
    fc_watchdog_push(run->watchdog, b->name, FC_WAIT_COLLECTIVE,
                     run->settings->work_ns);
    status = comm->ops->barrier_spin(comm, err);
    uint64_t start = fc_now_ns();
    if (status == FC_OK)
        status = b->timed(b, err);
    uint64_t end = fc_now_ns();
    fc_watchdog_pop(run->watchdog);
    *out_s = (double)(end - start) / 1e9 / (double)b->slices;
    if (status != FC_OK || !b->verified)
        return status;
    fc_watchdog_push(run->watchdog, "verify the results", FC_WAIT_LOCAL,
                     run->settings->work_ns);
    status = verify(b, err);
    fc_watchdog_pop(run->watchdog);
    return status;
}

static void keep_first(struct fc_point_result *result, enum fc_status status,
                       const struct fc_error *why)
{
    if (status != FC_OK && result->own_status == FC_OK) {
        result->own_status = status;
        result->own_error = *why;
    }
}

/* The operation of this rank did not work: the others may hang in it for ever. */
static bool is_dead(const struct bench *b)
{
    return b->result->own_status != FC_OK && b->result->own_status != FC_WRONG;
}

static void tell_dead(struct bench *b)
{
    if (is_dead(b) && b->point->failed)
        b->point->failed(b->point->arg);
}

/* A batch on this rank. A wrong result does not end it: the other ranks go on too. */
static void run_batch(struct bench *b, struct report *mine)
{
    for (int s = 0; s < BATCH; s++) {
        struct fc_error why = {""};
        enum fc_status status = sample(b, &mine->sample_s[s], &why);
        keep_first(b->result, status, &why);
        if (status != FC_OK && status != FC_WRONG)
            break;
    }
    mine->status = (int32_t)b->result->own_status;
    mine->wrong = (int64_t)b->result->own_wrong;
}

/* Joins the group's reports: a sample is as slow as its slowest rank. */
static void join(struct bench *b, const struct report *all, int64_t *out_stop)
{
    const struct fc_rte *rte = b->run->rte;
    struct fc_point_result *result = b->result;
    double slowest[BATCH] = {0};
    bool late = false;
    result->wrong = 0;
    result->worst = FC_OK;
    for (int r = 0; r < rte->size; r++) {
        if (b->group->node >= 0 && rte->place[r].node != b->group->node)
            continue;
        for (int s = 0; s < BATCH; s++)
            if (all[r].sample_s[s] > slowest[s])
                slowest[s] = all[r].sample_s[s];
        result->wrong += all[r].wrong;
        if (all[r].status > (int32_t)result->worst)
            result->worst = (enum fc_status)all[r].status;
        late = late || all[r].late;
    }
    bool timed = result->worst == FC_OK || result->worst == FC_WRONG;
    for (int s = 0; s < BATCH && timed; s++)
        fc_sampler_add(&result->time_s, slowest[s]);
    *out_stop = !timed || late || !fc_sampler_wants_more(&result->time_s);
}

static enum fc_status measure(struct bench *b, struct fc_error *err)
{
    struct fc_rte *rte = b->run->rte;
    struct report mine;
    struct report *all = calloc((size_t)rte->size, sizeof *all);
    enum fc_status status = FC_OK;
    uint64_t end_ns = fc_now_ns() + b->point->budget_ns;
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks' samples", rte->size);
    /* One sample is not counted: connections are made, pages and caches warmed. */
    double unused;
    struct fc_error why = {""};
    keep_first(b->result, sample(b, &unused, &why), &why);
    tell_dead(b);
    for (int64_t more = 1; more && status == FC_OK;) {
        memset(&mine, 0, sizeof mine);
        mine.status = (int32_t)b->result->own_status;
        if (!is_dead(b)) {
            run_batch(b, &mine);
            tell_dead(b);
        }
        mine.late = fc_now_ns() >= end_ns;
        status = fc_rte_allgather(rte, b->name, &mine, sizeof mine, all, err);
        if (status != FC_OK)
            break;
        int64_t stop;
        join(b, all, &stop);
        /* Groups differ in when they know enough; all go on until the last does. */
        more = !stop;
        status = fc_rte_max(rte, b->name, &more, 1, err);
    }
    free(all);
    return status;
}

static void reset(struct fc_point_result *result)
{
    fc_sampler_reset(&result->time_s);
    result->own_status = FC_OK;
    result->own_wrong = 0;
    result->wrong = 0;
    result->worst = FC_OK;
}

enum fc_status fc_sweep_point(struct fc_run *run, const struct fc_group *group,
                              const struct fc_point *point,
                              const struct fc_sweep_buffers *buffers,
                              struct fc_point_result *result, struct fc_error *err)
{
    struct bench b = {.run = run,
                      .group = group,
                      .point = point,
                      .buffers = buffers,
                      .result = result,
                      .timed = run_collective,
                      .verified = true};
    b.count = point->bytes / fc_dtype_bytes(point->dtype);
    b.slices = slices_for(point->bytes);
    b.seed = run->seed ^ (uint64_t)point->bytes << 20;
    snprintf(b.name, sizeof b.name, "all_reduce %s %s", fc_format_size(point->bytes).s,
             point->in_place ? "in place" : "out of place");
    reset(result);
    return measure(&b, err);
}

enum fc_status fc_sweep_copy(struct fc_run *run, const struct fc_group *group,
                             size_t bytes, const struct fc_sweep_buffers *buffers,
                             struct fc_point_result *result, struct fc_error *err)
{
    struct fc_point point = {
        .bytes = bytes, .budget_ns = FC_NS_PER_S / 2, .dtype = FC_DTYPE_INT8};
    struct bench b = {.run = run,
                      .group = group,
                      .point = &point,
                      .buffers = buffers,
                      .result = result,
                      .timed = run_copy,
                      .count = bytes,
                      .slices = 1};
    snprintf(b.name, sizeof b.name, "copy %s", fc_format_size(bytes).s);
    reset(result);
    return measure(&b, err);
}
