// SPDX-License-Identifier: BSD-3-Clause
#include "training/step.h"

#include "core/clock.h"
#include "core/rng.h"

#include <stdio.h>
#include <string.h>

/* Gradients are at most some hundreds, so weights stay finite for millions of steps,
 * and no update is lost in rounding. */
#define RATE 1e-4

enum { SEED_WEIGHTS = 11, SEED_RANKS = 1000 };

/* One run of a step: where it stands on this rank. */
struct pass {
    struct fc_step *step;
    enum fc_step_form form;
    enum fc_status status; /* the first failure */
    struct fc_error err;
    uint64_t comm_ns;
};

static void keep(struct pass *p, enum fc_status status, const struct fc_error *why)
{
    if (status == FC_OK || p->status != FC_OK)
        return;
    p->status = status;
    p->err = *why;
}

static void watch(const struct fc_step *step, const char *what, enum fc_wait kind)
{
    fc_watchdog_push(step->run->watchdog, what, kind, step->run->settings->work_ns);
}

static void unwatch(const struct fc_step *step)
{
    fc_watchdog_pop(step->run->watchdog);
}

/* --- buffers --- */

static void measure(const struct fc_model *model, size_t *out_in, size_t *out_out,
                    size_t *out_most)
{
    *out_in = *out_out = *out_most = 0;
    for (size_t i = 0; i < model->layers; i++) {
        size_t in = (size_t)model->layer[i].in, out = (size_t)model->layer[i].out;
        size_t most = in > out ? in : out;
        *out_in += in;
        *out_out += out;
        *out_most = most > *out_most ? most : *out_most;
    }
    *out_in *= (size_t)model->tokens;
    *out_out *= (size_t)model->tokens;
    *out_most *= (size_t)model->tokens;
}

uint64_t fc_step_bytes(const struct fc_model *model, const struct fc_buckets *buckets)
{
    size_t in, out, most;
    measure(model, &in, &out, &most);
    return sizeof(float) *
           (2 * (uint64_t)buckets->elements + in + out + 2 * (uint64_t)most);
}

static enum fc_status alloc(struct fc_step *step, size_t count, float **out,
                            struct fc_error *err)
{
    struct fc_device *dev = step->run->device;
    void *at = NULL;
    enum fc_status status = dev->ops->alloc(dev, count * sizeof(float), &at, err);
    if (status == FC_OK)
        *out = at;
    return status;
}

static enum fc_status fill(struct fc_step *step, float *at, size_t count, uint64_t seed,
                           struct fc_error *err)
{
    struct fc_device *dev = step->run->device;
    struct fc_pattern random = {.kind = FC_PATTERN_RANDOM, .seed = seed};
    return dev->ops->fill(dev, step->stream, at, count, FC_DTYPE_FP32, random, err);
}

static enum fc_status open_buffers(struct fc_step *step, struct fc_error *err)
{
    size_t parameters = step->buckets->elements;
    measure(step->model, &step->x_count, &step->dy_count, &step->made_count);
    enum fc_status status = alloc(step, parameters, &step->weights, err);
    if (status == FC_OK)
        status = alloc(step, parameters, &step->gradients, err);
    if (status == FC_OK)
        status = alloc(step, step->x_count, &step->x, err);
    if (status == FC_OK)
        status = alloc(step, step->dy_count, &step->dy, err);
    if (status == FC_OK)
        status = alloc(step, step->made_count, &step->made, err);
    if (status == FC_OK)
        status = alloc(step, step->made_count, &step->copied, err);
    return status;
}

enum fc_status fc_step_open(struct fc_step *step, struct fc_error *err)
{
    struct fc_device *dev = step->run->device;
    struct fc_device_info info;
    uint64_t seed = step->run->seed;
    uint64_t own = fc_rng_at(seed, SEED_RANKS + (uint64_t)step->comm->rank);
    enum fc_status status = dev->ops->info(dev, &info, err);
    if (status == FC_OK && strcmp(info.kind, "host") != 0)
        status = fc_fail(err, FC_UNSUPPORTED,
                         "training: no step on a %.15s device yet, only on the host",
                         info.kind);
    if (status != FC_OK)
        return status;
    watch(step, "training: fill the buffers", FC_WAIT_LOCAL);
    status = dev->ops->stream_open(dev, &step->stream, err);
    if (status == FC_OK)
        status = open_buffers(step, err);
    if (status == FC_OK)
        status = fill(step, step->weights, step->buckets->elements,
                      fc_rng_at(seed, SEED_WEIGHTS), err);
    if (status == FC_OK)
        status = fill(step, step->x, step->x_count, own, err);
    if (status == FC_OK)
        status = fill(step, step->dy, step->dy_count, own + 1, err);
    unwatch(step);
    return status;
}

static void release(struct fc_step *step, float **at, size_t count)
{
    struct fc_device *dev = step->run->device;
    if (*at)
        dev->ops->free(dev, *at, count * sizeof(float));
    *at = NULL;
}

void fc_step_close(struct fc_step *step)
{
    if (!step->run || !step->run->device || !step->buckets)
        return;
    release(step, &step->weights, step->buckets->elements);
    release(step, &step->gradients, step->buckets->elements);
    release(step, &step->x, step->x_count);
    release(step, &step->dy, step->dy_count);
    release(step, &step->made, step->made_count);
    release(step, &step->copied, step->made_count);
    if (step->stream)
        step->run->device->ops->stream_close(step->run->device, step->stream);
    step->stream = NULL;
}

/* --- computation --- */

static void multiply(struct pass *p, const struct fc_gemm *gemm)
{
    struct fc_step *step = p->step;
    struct fc_device *dev = step->run->device;
    struct fc_error err;
    if (p->status == FC_OK)
        keep(p, dev->ops->gemm(dev, step->stream, gemm, &err), &err);
}

/* Norms and activations: what was made is read and written once more. */
static void filler(struct pass *p, int width)
{
    struct fc_step *step = p->step;
    struct fc_device *dev = step->run->device;
    struct fc_error err;
    size_t bytes = (size_t)step->model->tokens * (size_t)width * sizeof(float);
    if (p->status == FC_OK)
        keep(p,
             dev->ops->copy(dev, step->stream, step->copied, step->made, bytes, &err),
             &err);
}

static void update(struct pass *p, float *y, const float *x, size_t count, double alpha)
{
    struct fc_step *step = p->step;
    struct fc_device *dev = step->run->device;
    struct fc_error err;
    if (p->status == FC_OK)
        keep(p,
             dev->ops->axpy(dev, step->stream, y, x, count, FC_DTYPE_FP32, alpha, &err),
             &err);
}

static void forward(struct pass *p)
{
    const struct fc_step *step = p->step;
    const struct fc_model *model = step->model;
    const float *x = step->x;
    for (size_t i = 0; i < model->layers; i++) {
        const struct fc_layer *l = &model->layer[i];
        const float *w = step->weights + step->buckets->layer_at[i];
        struct fc_gemm y = {.m = model->tokens,
                            .n = l->out,
                            .k = l->in,
                            .a = x,
                            .b = w,
                            .c = step->made};
        multiply(p, &y);
        filler(p, l->out);
        x += (size_t)model->tokens * (size_t)l->in;
    }
}

static void backward_layer(struct pass *p, size_t i, const float *x, const float *dy)
{
    const struct fc_step *step = p->step;
    const struct fc_model *model = step->model;
    const struct fc_layer *l = &model->layer[i];
    size_t at = step->buckets->layer_at[i];
    struct fc_gemm dx = {.transpose_b = true,
                         .m = model->tokens,
                         .n = l->in,
                         .k = l->out,
                         .a = dy,
                         .b = step->weights + at,
                         .c = step->made};
    struct fc_gemm dw = {.transpose_a = true,
                         .m = l->in,
                         .n = l->out,
                         .k = model->tokens,
                         .a = x,
                         .b = dy,
                         .c = step->gradients + at};
    multiply(p, &dx);
    filler(p, l->in);
    multiply(p, &dw);
}

/* --- communication --- */

static void comm_failed(struct pass *p, enum fc_status status,
                        const struct fc_error *why)
{
    struct fc_step *step = p->step;
    if (status == FC_OK)
        return;
    keep(p, status, why);
    if (!step->comm_dead && step->failed)
        step->failed(step->arg, status, why);
    step->comm_dead = true;
}

static void barrier(struct pass *p)
{
    struct fc_comm *comm = p->step->comm;
    struct fc_error err;
    if (p->step->comm_dead)
        return;
    watch(p->step, "training: barrier", FC_WAIT_COLLECTIVE);
    comm_failed(p, comm->ops->barrier_spin(comm, &err), &err);
    unwatch(p->step);
}

static void wait_comm(struct pass *p)
{
    struct fc_comm *comm = p->step->comm;
    struct fc_error err;
    for (bool done = false; !done && !p->step->comm_dead;)
        comm_failed(p, comm->ops->poll(comm, &done, &err), &err);
}

/* Alone, a bucket is waited for and timed behind a barrier of its own. */
static void enqueue(struct pass *p, const struct fc_coll_args *args, size_t bucket)
{
    struct fc_step *step = p->step;
    bool alone = p->form == FC_STEP_COMM;
    struct fc_error err;
    char name[64];
    if (alone)
        barrier(p);
    if (step->comm_dead)
        return;
    snprintf(name, sizeof name, "training: %s of bucket %zu of %zu",
             fc_coll_name(args->op), bucket + 1, step->buckets->count);
    watch(step, name, FC_WAIT_COLLECTIVE);
    uint64_t start = fc_now_ns();
    comm_failed(p, step->comm->ops->enqueue(step->comm, args, &err), &err);
    if (alone)
        wait_comm(p);
    p->comm_ns += fc_now_ns() - start;
    unwatch(step);
}

/* This rank's part of a bucket: all of it, or its shard. */
static size_t own_part(const struct fc_step *step, const struct fc_bucket *b,
                       size_t *out_at)
{
    size_t ranks = step->sharded ? (size_t)step->comm->size : 1;
    size_t part = b->elements / ranks;
    *out_at = b->at + (step->sharded ? (size_t)step->comm->rank * part : 0);
    return part;
}

static void reduce_bucket(struct pass *p, size_t bucket)
{
    const struct fc_step *step = p->step;
    const struct fc_bucket *b = &step->buckets->bucket[bucket];
    size_t at, part = own_part(step, b, &at);
    struct fc_coll_args args = {.op = step->sharded ? FC_COLL_REDUCE_SCATTER
                                                    : FC_COLL_ALL_REDUCE,
                                .dtype = FC_DTYPE_FP32,
                                .redop = FC_REDOP_AVG,
                                .send = step->gradients + b->at,
                                .recv = step->gradients + at,
                                .count = part};
    enqueue(p, &args, bucket);
}

static void gather_bucket(struct pass *p, size_t bucket)
{
    const struct fc_step *step = p->step;
    const struct fc_bucket *b = &step->buckets->bucket[bucket];
    size_t at, part = own_part(step, b, &at);
    struct fc_coll_args args = {.op = FC_COLL_ALL_GATHER,
                                .dtype = FC_DTYPE_FP32,
                                .send = step->weights + at,
                                .recv = step->weights + b->at,
                                .count = part};
    enqueue(p, &args, bucket);
}

/* --- the three forms --- */

static void backward(struct pass *p)
{
    const struct fc_step *step = p->step;
    const struct fc_model *model = step->model;
    const float *x = step->x + step->x_count, *dy = step->dy + step->dy_count;
    size_t bucket = 0;
    for (size_t i = model->layers; i-- > 0;) {
        const struct fc_layer *l = &model->layer[i];
        x -= (size_t)model->tokens * (size_t)l->in;
        dy -= (size_t)model->tokens * (size_t)l->out;
        backward_layer(p, i, x, dy);
        if (step->buckets->bucket[bucket].lowest != i)
            continue;
        unwatch(step);
        if (p->form == FC_STEP_WHOLE)
            reduce_bucket(p, bucket);
        watch(step, "training: backward", FC_WAIT_LOCAL);
        bucket++;
    }
}

static void optimize(struct pass *p)
{
    const struct fc_step *step = p->step;
    bool whole = p->form == FC_STEP_WHOLE;
    float *y = whole ? step->weights : step->gradients;
    const float *x = whole ? step->gradients : step->weights;
    for (size_t b = 0; b < step->buckets->count; b++) {
        size_t at, part = own_part(step, &step->buckets->bucket[b], &at);
        watch(step, "training: optimizer", FC_WAIT_LOCAL);
        update(p, y + at, x + at, part, -RATE);
        unwatch(step);
        if (whole && step->sharded)
            gather_bucket(p, b);
    }
}

static void compute(struct pass *p)
{
    watch(p->step, "training: forward", FC_WAIT_LOCAL);
    forward(p);
    unwatch(p->step);
    watch(p->step, "training: backward", FC_WAIT_LOCAL);
    backward(p);
    unwatch(p->step);
    if (p->form == FC_STEP_WHOLE) {
        watch(p->step, "training: gradients' communication", FC_WAIT_COLLECTIVE);
        wait_comm(p);
        unwatch(p->step);
    }
    optimize(p);
    if (p->form == FC_STEP_WHOLE && p->step->sharded) {
        watch(p->step, "training: weights' communication", FC_WAIT_COLLECTIVE);
        wait_comm(p);
        unwatch(p->step);
    }
}

static void communicate(struct pass *p)
{
    for (size_t b = 0; b < p->step->buckets->count; b++)
        reduce_bucket(p, b);
    for (size_t b = 0; b < p->step->buckets->count && p->step->sharded; b++)
        gather_bucket(p, b);
}

enum fc_status fc_step_run(struct fc_step *step, enum fc_step_form form, double *out_s,
                           struct fc_error *err)
{
    struct pass p = {.step = step, .form = form};
    barrier(&p);
    uint64_t start = fc_now_ns();
    if (form == FC_STEP_COMM)
        communicate(&p);
    else
        compute(&p);
    uint64_t ns = form == FC_STEP_COMM ? p.comm_ns : fc_now_ns() - start;
    *out_s = (double)ns / (double)FC_NS_PER_S;
    if (p.status != FC_OK)
        *err = p.err;
    return p.status;
}
