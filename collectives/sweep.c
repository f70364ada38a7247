// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/sweep.h"

#include "collectives/verify.h"
#include "core/clock.h"
#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 5,       /* samples between two agreements */
    SLICES_MAX = 20, /* operations a sample */
    SLICES_BYTES = 1 << 20,
};

/* One rank's side of the point being measured. */
struct bench {
    struct fc_run *run;
    const struct fc_group *group;
    const struct fc_point *point;
    const struct fc_sweep_buffers *buffers;
    struct fc_point_result *result;
    struct fc_verify verify;
    size_t bytes, slices; /* of a message; messages in the buffers */
    uint64_t operations;  /* done since the path is watched */
    char name[64];
    enum fc_status (*timed)(struct bench *b, struct fc_error *err);
    bool verified;   /* the copy has no need of it */
    bool impossible; /* for the group: none of its ranks takes part */
    bool comm_dead;
};

/* What each rank tells the others after a batch. */
struct report {
    double sample_s[BATCH];
    int64_t wrong;
    int32_t status;
    int32_t late; /* its budget is spent */
};

static size_t larger(struct fc_coll_shape shape)
{
    return shape.send_blocks > shape.recv_blocks ? shape.send_blocks
                                                 : shape.recv_blocks;
}

size_t fc_point_count(enum fc_coll op, enum fc_dtype dtype, uint64_t bytes, int n)
{
    size_t block = larger(fc_coll_shape(op, n)) * fc_dtype_bytes(dtype);
    return bytes < block ? 1 : (size_t)(bytes / block);
}

uint64_t fc_point_bytes(const struct fc_point *point, int n)
{
    return larger(fc_coll_shape(point->op, n)) * point->count *
           fc_dtype_bytes(point->dtype);
}

static size_t slices_for(size_t bytes)
{
    size_t slices = SLICES_BYTES / (bytes ? bytes : 1);
    return slices < 1 ? 1 : slices > SLICES_MAX ? SLICES_MAX : slices;
}

size_t fc_sweep_room(size_t bytes)
{
    return bytes > SLICES_BYTES ? bytes : SLICES_BYTES;
}

enum fc_status fc_sweep_buffers_open(struct fc_run *run, size_t bytes,
                                     struct fc_sweep_buffers *out, struct fc_error *err)
{
    struct fc_device *dev = run->device;
    *out = (struct fc_sweep_buffers){.bytes = fc_sweep_room(bytes)};
    enum fc_status status = dev->ops->stream_open(dev, &out->stream, err);
    if (status == FC_OK)
        status = dev->ops->alloc(dev, out->bytes, &out->send, err);
    if (status == FC_OK)
        status = dev->ops->alloc(dev, out->bytes, &out->recv, err);
    return status;
}

void fc_sweep_buffers_close(struct fc_run *run, struct fc_sweep_buffers *buffers)
{
    struct fc_device *dev = run->device;
    if (buffers->send)
        dev->ops->free(dev, buffers->send, buffers->bytes);
    if (buffers->recv)
        dev->ops->free(dev, buffers->recv, buffers->bytes);
    if (buffers->stream)
        dev->ops->stream_close(dev, buffers->stream);
    *buffers = (struct fc_sweep_buffers){.send = NULL};
}

static bool in_group(const struct fc_rte *rte, enum fc_scope scope, int rank)
{
    if (scope == FC_SCOPE_NODE)
        return rte->place[rank].node == rte->node;
    return scope == FC_SCOPE_WORLD || rte->place[rank].local_rank == 0;
}

/* Fresh contributions, and results that cannot be right by chance. */
static enum fc_status prepare(struct bench *b, struct fc_error *err)
{
    b->verify.seed++;
    return fc_verify_fill(&b->verify, b->run->device, b->buffers->stream,
                          b->buffers->send, b->buffers->recv, err);
}

static enum fc_status verify(struct bench *b, struct fc_error *err)
{
    struct fc_mismatch found;
    enum fc_status status = fc_verify_check(
        &b->verify, b->run->device, b->buffers->stream, b->buffers->recv, &found, err);
    if (status != FC_OK || !found.wrong)
        return status;
    b->result->own_wrong += found.wrong;
    return fc_fail(err, FC_WRONG,
                   "%s: rank %d element %llu is %.9g, expected %.9g (%llu wrong)",
                   b->name, b->run->rte->rank, (unsigned long long)found.first,
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

/* The operation on slice `s`; comm.h says where in-place operands lie. */
static struct fc_coll_args arguments(const struct bench *b, size_t s)
{
    const struct fc_point *point = b->point;
    const struct fc_comm *comm = b->group->comm;
    struct fc_coll_shape shape = fc_coll_shape(point->op, comm->size);
    char *recv = (char *)b->buffers->recv + s * b->bytes;
    char *send = (char *)b->buffers->send + s * b->bytes;
    size_t own = (size_t)comm->rank * point->count * fc_dtype_bytes(point->dtype);
    if (point->in_place) {
        send = recv + (shape.send_blocks < shape.recv_blocks ? own : 0);
        recv += shape.recv_blocks < shape.send_blocks ? own : 0;
    }
    return (struct fc_coll_args){.op = point->op,
                                 .dtype = point->dtype,
                                 .redop = point->redop,
                                 .root = point->root,
                                 .to = (comm->rank + 1) % comm->size,
                                 .from = b->verify.from,
                                 .send = send,
                                 .recv = recv,
                                 .count = point->count};
}

static enum fc_status run_collective(struct bench *b, struct fc_error *err)
{
    struct fc_comm *comm = b->group->comm;
    enum fc_status status = FC_OK;
    for (size_t s = 0; s < b->slices && status == FC_OK; s++) {
        struct fc_coll_args args = arguments(b, s);
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
                          b->bytes, err);
}

static void keep_first(struct fc_point_result *result, enum fc_status status,
                       const struct fc_error *why)
{
    if (status != FC_OK && result->own_status == FC_OK) {
        result->own_status = status;
        result->own_error = *why;
    }
}

static void on_device(struct bench *b, const char *name,
                      enum fc_status (*step)(struct bench *, struct fc_error *))
{
    struct fc_error why = {""};
    fc_watchdog_push(b->run->watchdog, name, FC_WAIT_LOCAL, b->run->settings->work_ns);
    keep_first(b->result, step(b, &why), &why);
    fc_watchdog_pop(b->run->watchdog);
}

static bool device_ok(const struct bench *b)
{
    return b->result->own_status == FC_OK || b->result->own_status == FC_WRONG;
}

/* One sample: prepare, barrier, timed section, verify. A rank whose device fails still
 * takes part in what the others wait for; only a communicator that fails leaves them.
 */
static void sample(struct bench *b, double *out_s)
{
    struct fc_run *run = b->run;
    struct fc_comm *comm = b->group->comm;
    struct fc_error why = {""};
    if (b->verified && device_ok(b))
        on_device(b, "fill the buffers", prepare);
    fc_watchdog_push(run->watchdog, b->name, FC_WAIT_COLLECTIVE,
                     run->settings->work_ns);
    enum fc_status status = comm->ops->barrier_spin(comm, &why);
    b->comm_dead = status != FC_OK;
    uint64_t start = fc_now_ns();
    if (status == FC_OK) {
        status = b->timed(b, &why);
        b->comm_dead = status != FC_OK && b->timed == run_collective;
    }
    uint64_t end = fc_now_ns();
    fc_watchdog_pop(run->watchdog);
    keep_first(b->result, status, &why);
    b->operations += b->slices;
    *out_s = (double)(end - start) / 1e9 / (double)b->slices;
    if (b->verified && device_ok(b))
        on_device(b, "verify the results", verify);
}

/* The operation of this rank did not work: the others may hang in it for ever. */
static void tell_dead(struct bench *b)
{
    if (b->comm_dead && b->result->own_status != FC_UNSUPPORTED && b->point->failed)
        b->point->failed(b->point->arg);
}

/* A batch on this rank. A wrong result does not end it: the other ranks go on too. */
static void run_batch(struct bench *b, struct report *mine)
{
    for (int s = 0; s < BATCH && !b->comm_dead; s++)
        sample(b, &mine->sample_s[s]);
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
        if (!in_group(rte, b->group->scope, r))
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

/* The least that must have gone in and out of this node, a part of one message: what
 * every algorithm has to move (two directions count once). */
static double least_share(const struct bench *b)
{
    const struct fc_rte *rte = b->run->rte;
    double n = b->group->comm->size, local = 0;
    for (int r = 0; r < rte->size; r++)
        local += in_group(rte, b->group->scope, r) && rte->place[r].node == rte->node;
    if (b->group->scope == FC_SCOPE_NODE || b->run->one_kernel)
        local = 1; /* all of it passes between ranks of this kernel */
    double remote = n - local;
    switch (b->point->op) {
    case FC_COLL_ALL_REDUCE:
    case FC_COLL_REDUCE:
    case FC_COLL_BROADCAST:
    case FC_COLL_SENDRECV:
        return 1;
    default:
        return (local < remote ? local : remote) / n;
    }
}

static void begin_path(struct bench *b, struct fc_path_watch *watch)
{
    b->operations = 0;
    if (watch && b->timed == run_collective)
        fc_path_begin(watch);
}

static void end_path(struct bench *b, struct fc_path_watch *watch)
{
    struct fc_path *path = &b->result->own_path;
    *path = (struct fc_path){
        .name = "unknown", .how = "not watched", .link_GBps = (double)NAN};
    if (!watch || b->timed != run_collective || !b->group->comm ||
        b->group->comm->size < 2)
        return;
    double payload = least_share(b) * (double)b->bytes * (double)b->operations;
    bool one_node = b->group->scope == FC_SCOPE_NODE || b->run->rte->nodes == 1;
    fc_path_end(watch, (uint64_t)payload, fc_path_span(one_node, b->run->one_kernel),
                path);
}

/* Samples that are not counted: connections are made, pages and caches warmed. */
static void warm_up(struct bench *b)
{
    double unused;
    int times = b->point->warm_up > 1 ? b->point->warm_up : 1;
    for (int i = 0; i < times && !b->comm_dead; i++)
        sample(b, &unused);
    tell_dead(b);
}

/* Whether this rank's group can do it at all: the same on all its ranks. */
static void check_possible(struct bench *b)
{
    const struct fc_comm *comm = b->group->comm;
    struct fc_error why = {""};
    enum fc_status status = FC_OK;
    if (!comm->ops->algorithm(comm, b->point->op))
        status = fc_fail(&why, FC_UNSUPPORTED, "%s has no %s", comm->ops->name,
                         fc_coll_name(b->point->op));
    else if (b->verified)
        status = fc_verify_possible(&b->verify, &why);
    b->impossible = status != FC_OK;
    keep_first(b->result, status, &why);
}

static bool takes_part(const struct bench *b)
{
    return b->group->comm && !b->impossible && !b->comm_dead;
}

static enum fc_status measure(struct bench *b, struct fc_path_watch *watch,
                              struct fc_error *err)
{
    struct fc_rte *rte = b->run->rte;
    struct report mine;
    struct report *all = calloc((size_t)rte->size, sizeof *all);
    enum fc_status status = FC_OK;
    uint64_t end_ns = fc_now_ns() + b->point->budget_ns;
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks' samples", rte->size);
    if (takes_part(b) && b->timed == run_collective)
        check_possible(b);
    if (takes_part(b))
        warm_up(b);
    begin_path(b, watch);
    for (int64_t more = 1; more && status == FC_OK;) {
        memset(&mine, 0, sizeof mine);
        mine.status = (int32_t)b->result->own_status;
        if (takes_part(b)) {
            run_batch(b, &mine);
            tell_dead(b);
        }
        mine.late = fc_now_ns() > end_ns;
        status = fc_rte_allgather(rte, b->name, &mine, sizeof mine, all, err);
        if (status != FC_OK)
            break;
        int64_t stop;
        join(b, all, &stop);
        /* Groups differ in when they know enough; all go on until the last does. */
        more = !stop;
        status = fc_rte_max(rte, b->name, &more, 1, err);
    }
    end_path(b, watch);
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
                              struct fc_path_watch *watch,
                              struct fc_point_result *result, struct fc_error *err)
{
    int rank = group->comm ? group->comm->rank : 0;
    int size = group->comm ? group->comm->size : 1;
    struct bench b = {.run = run,
                      .group = group,
                      .point = point,
                      .buffers = buffers,
                      .result = result,
                      .timed = run_collective,
                      .verified = !point->unchecked,
                      .bytes = fc_point_bytes(point, size)};
    b.slices = slices_for(b.bytes);
    b.verify = (struct fc_verify){.op = point->op,
                                  .dtype = point->dtype,
                                  .redop = point->redop,
                                  .root = point->root,
                                  .rank = rank,
                                  .size = size,
                                  .from = (rank + size - 1) % size,
                                  .in_place = point->in_place,
                                  .count = point->count,
                                  .slices = b.slices,
                                  .seed = run->seed ^ (uint64_t)b.bytes << 20};
    snprintf(b.name, sizeof b.name, "%s %s %s", fc_coll_name(point->op),
             fc_format_size(b.bytes).s, point->in_place ? "in place" : "out of place");
    reset(result);
    enum fc_status status = measure(&b, watch, err);
    if (point->unchecked)
        result->wrong = -1;
    return status;
}

enum fc_status fc_sweep_copy(struct fc_run *run, const struct fc_group *group,
                             size_t bytes, const struct fc_sweep_buffers *buffers,
                             struct fc_point_result *result, struct fc_error *err)
{
    struct fc_point point = {.budget_ns = FC_NS_PER_S / 2};
    struct bench b = {.run = run,
                      .group = group,
                      .point = &point,
                      .buffers = buffers,
                      .result = result,
                      .timed = run_copy,
                      .bytes = bytes,
                      .slices = 1};
    snprintf(b.name, sizeof b.name, "copy %s", fc_format_size(bytes).s);
    reset(result);
    return measure(&b, NULL, err);
}
