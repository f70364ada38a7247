// SPDX-License-Identifier: BSD-3-Clause
#include "training/training.h"

#include "core/clock.h"
#include "core/sampler.h"
#include "training/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Less is noise of the clocks. */
#define SHARE_MIN 0.01

/* What a level spends on each form; at least `min` repetitions and one to warm up,
 * unless that would take OVERTIME times as long. */
static const struct effort {
    double form_s[FC_STEP_FORMS], cost_s;
    size_t min;
} efforts[] = {
    [FC_LEVEL_QUICK] = {{0.6, 0.5, 1.8}, 4, 3},
    [FC_LEVEL_STANDARD] = {{5, 5, 16}, 30, 3},
    [FC_LEVEL_FULL] = {{15, 15, 80}, 120, 3},
    [FC_LEVEL_SOAK] = {{15, 15, 80}, 120, 3},
};
enum { SAMPLES_MAX = 1000, OVERTIME = 3 };

enum sample {
    STEP,
    COMPUTE,
    COMM,
    EXPOSED,
    OVERLAP,
    MFU,
    OWN_COMPUTE,
    OWN_ALONE,
    OWN_COMM,
    OWN_STEP,
    PEAK,
    PEAK_ALONE,
    SAMPLES
};

/* What each rank tells the others after a repetition. */
struct report {
    uint64_t hash; /* first: the majority is looked for at this stride */
    double compute_s, comm_s, step_s;
    double peak; /* FLOP/s, its part of shared cores */
    int64_t bad; /* the first layer with NaN or infinity; -1 */
    int32_t status;
    int32_t late; /* how many times its time is spent */
};

struct bench {
    struct fc_run *run;
    const struct fc_training_settings *settings;
    const struct effort *effort;
    struct fc_training_result *result;
    struct fc_buckets buckets;
    struct fc_step step;
    struct fc_sampler sampler[SAMPLES];
    struct report mine, *all; /* [ranks] */
    struct fc_replicas replicas;
    struct fc_path_watch *path;
    int64_t whole_steps;
};

double fc_training_cost_s(const struct fc_run *run)
{
    return efforts[run->settings->level].cost_s;
}

static bool can(const struct fc_comm *comm, bool sharded)
{
    if (!comm)
        return false;
    if (!sharded)
        return comm->ops->algorithm(comm, FC_COLL_ALL_REDUCE) != NULL;
    return comm->ops->algorithm(comm, FC_COLL_REDUCE_SCATTER) &&
           comm->ops->algorithm(comm, FC_COLL_ALL_GATHER);
}

static void step_failed(void *arg, enum fc_status status, const struct fc_error *err);

static void describe(struct bench *b)
{
    struct fc_training_result *r = b->result;
    bool sharded = b->settings->sharded;
    bool aware = can(b->run->world_aware, sharded);
    b->step = (struct fc_step){.run = b->run,
                               .comm = aware ? b->run->world_aware : b->run->world,
                               .model = &r->model,
                               .buckets = &b->buckets,
                               .sharded = sharded,
                               .failed = step_failed,
                               .arg = b};
    r->buckets = b->buckets.count;
    r->gradient_bytes = b->buckets.elements * sizeof(float);
    r->flop = fc_model_flop(&r->model);
    r->ranks = b->run->rte->size;
    r->sharded = sharded;
    r->algorithm = b->step.comm->ops->algorithm(
        b->step.comm, sharded ? FC_COLL_REDUCE_SCATTER : FC_COLL_ALL_REDUCE);
}

static size_t most_samples(const struct bench *b)
{
    return b->settings->steps > 0 ? (size_t)b->settings->steps : SAMPLES_MAX;
}

static enum fc_status open_all(struct bench *b, struct fc_error *err)
{
    size_t ranks = (size_t)b->run->rte->size;
    size_t most = most_samples(b), times = (size_t)b->settings->times;
    size_t min = b->effort->min * (times > 1 ? times : 1);
    min = min < most ? min : most;
    enum fc_status status = FC_OK;
    b->all = calloc(ranks, sizeof *b->all);
    if (!b->all)
        return fc_fail(err, FC_NOMEM, "out of memory for %zu ranks' samples", ranks);
    for (int i = 0; i < SAMPLES && status == FC_OK; i++)
        status =
            fc_sampler_open(&b->sampler[i], min, most, FC_SAMPLES_TOLERANCE, 0, err);
    if (status == FC_OK)
        status = fc_path_open("", &b->path, err);
    if (status == FC_OK)
        status = fc_replicas_open(&b->replicas, b->run, &b->step, err);
    return status == FC_OK ? fc_step_open(&b->step, err) : status;
}

static void close_all(struct bench *b)
{
    fc_step_close(&b->step);
    for (int i = 0; i < SAMPLES; i++)
        fc_sampler_close(&b->sampler[i]);
    fc_replicas_close(&b->replicas);
    fc_path_close(b->path);
    free(b->all);
    fc_buckets_close(&b->buckets);
}

/* --- one repetition on this rank --- */

static void keep(struct bench *b, enum fc_status status, const struct fc_error *why)
{
    if (status == FC_OK || b->result->own_status != FC_OK)
        return;
    b->result->own_status = status;
    b->result->own_error = *why;
}

static void step_failed(void *arg, enum fc_status status, const struct fc_error *err)
{
    struct bench *b = arg;
    const struct fc_training_watch *watch = b->settings->watch;
    keep(b, status, err);
    if (watch && watch->failed)
        watch->failed(watch->arg, b->result);
}

/* Of its cores' time since the last call. */
static double core_share(struct bench *b)
{
    struct fc_device *dev = b->run->device;
    struct fc_device_info info;
    struct fc_error why;
    if (dev->ops->info(dev, &info, &why) != FC_OK)
        return 1.0;
    return info.core_share > SHARE_MIN ? info.core_share : SHARE_MIN;
}

static void peak(struct bench *b, bool counts)
{
    struct fc_run *run = b->run;
    struct fc_error why;
    double flops;
    if (!run->device->ops->fma_peak || b->result->own_status != FC_OK)
        return;
    (void)core_share(b);
    fc_watchdog_push(run->watchdog, "training: multiply-add peak", FC_WAIT_LOCAL,
                     run->settings->work_ns);
    enum fc_status status =
        run->device->ops->fma_peak(run->device, FC_DTYPE_FP32, &flops, &why);
    fc_watchdog_pop(run->watchdog);
    keep(b, status, &why);
    if (status != FC_OK)
        return;
    double alone = flops / core_share(b);
    b->mine.peak = alone / (run->sharers > 1 ? run->sharers : 1);
    if (counts) {
        fc_sampler_add(&b->sampler[PEAK], flops);
        fc_sampler_add(&b->sampler[PEAK_ALONE], alone);
    }
}

static void run_step(struct bench *b, enum fc_step_form form, double *out_s)
{
    struct fc_error why;
    double seconds = 0;
    keep(b, fc_step_run(&b->step, form, &seconds, &why), &why);
    *out_s = seconds;
}

/* All that other ranks wait for is done on every rank, also on one that has failed. */
static void repeat(struct bench *b, enum fc_step_form form, bool counts)
{
    b->mine = (struct report){.bad = -1};
    if (form == FC_STEP_COMM) {
        run_step(b, form, &b->mine.comm_s);
        if (counts)
            fc_sampler_add(&b->sampler[OWN_COMM], b->mine.comm_s);
    } else {
        peak(b, counts && form == FC_STEP_COMPUTE);
        (void)core_share(b);
        run_step(b, FC_STEP_COMPUTE, &b->mine.compute_s);
        double share = core_share(b);
        if (counts && form == FC_STEP_COMPUTE) {
            fc_sampler_add(&b->sampler[OWN_COMPUTE], b->mine.compute_s);
            fc_sampler_add(&b->sampler[OWN_ALONE], b->mine.compute_s * share);
        }
    }
    if (form == FC_STEP_WHOLE) {
        run_step(b, form, &b->mine.step_s);
        if (counts)
            fc_sampler_add(&b->sampler[OWN_STEP], b->mine.step_s);
        b->whole_steps++;
        b->mine.hash = fc_replicas_hash(&b->replicas, &b->mine.bad);
    }
    b->mine.status = (int32_t)b->result->own_status;
}

/* --- all ranks together --- */

static enum fc_status compare_weights(struct bench *b, struct fc_error *err)
{
    struct fc_training_result *r = b->result;
    if (r->fault.any) /* they stay so */
        return FC_OK;
    r->compared++;
    return fc_replicas_compare(&b->replicas, &b->all[0].hash,
                               sizeof *b->all / sizeof(uint64_t), b->all[0].bad,
                               b->whole_steps, &r->fault, err);
}

static void join(struct bench *b, enum fc_step_form form, bool counts)
{
    struct fc_training_result *r = b->result;
    double compute_s = 0, comm_s = 0, step_s = 0, peaks = 0;
    r->worst = FC_OK;
    for (int i = 0; i < r->ranks; i++) {
        const struct report *of = &b->all[i];
        compute_s = fmax(compute_s, of->compute_s);
        comm_s = fmax(comm_s, of->comm_s);
        step_s = fmax(step_s, of->step_s);
        peaks += of->peak;
        if (of->status > (int32_t)r->worst)
            r->worst = (enum fc_status)of->status;
    }
    if (r->worst != FC_OK || !counts)
        return;
    if (form == FC_STEP_COMPUTE)
        fc_sampler_add(&b->sampler[COMPUTE], compute_s);
    if (form == FC_STEP_COMM)
        fc_sampler_add(&b->sampler[COMM], comm_s);
    if (form != FC_STEP_WHOLE)
        return;
    fc_sampler_add(&b->sampler[STEP], step_s);
    fc_sampler_add(&b->sampler[MFU], r->flop * r->ranks / (step_s * peaks));
    if (r->comm_s.n == 0) /* one rank */
        return;
    double alone = r->comm_s.median;
    fc_sampler_add(&b->sampler[EXPOSED], step_s - compute_s);
    fc_sampler_add(&b->sampler[OVERLAP],
                   (compute_s + alone - step_s) / fmin(compute_s, alone));
}

/* All ranks see the same samples and reports, so that they answer alike. Tails want as
 * many whole steps as there is time for. */
static bool is_enough(const struct bench *b, enum fc_step_form form)
{
    static const enum sample watched[] = {COMPUTE, COMM, STEP};
    const struct fc_sampler *s = &b->sampler[watched[form]];
    int32_t late = 0;
    if (b->result->worst != FC_OK || s->n >= s->max)
        return true;
    for (int r = 0; r < b->result->ranks; r++)
        late = b->all[r].late > late ? b->all[r].late : late;
    if (s->n < 1 || b->settings->steps > 0)
        return false;
    if (s->n < s->min)
        return late >= OVERTIME;
    return late > 0 || (form != FC_STEP_WHOLE && !fc_sampler_wants_more(s));
}

static void summarize(struct bench *b)
{
    struct fc_training_result *r = b->result;
    struct fc_summary *const out[SAMPLES] = {
        [STEP] = &r->step_s,
        [COMPUTE] = &r->compute_s,
        [COMM] = &r->comm_s,
        [EXPOSED] = &r->exposed_s,
        [OVERLAP] = &r->overlap,
        [MFU] = &r->mfu,
        [OWN_COMPUTE] = &r->own_compute_s,
        [OWN_ALONE] = &r->own_alone_s,
        [OWN_COMM] = &r->own_comm_s,
        [OWN_STEP] = &r->own_step_s,
        [PEAK] = &r->own_peak,
        [PEAK_ALONE] = &r->own_peak_alone,
    };
    for (int i = 0; i < SAMPLES; i++)
        fc_sampler_summary(&b->sampler[i], out[i]);
    r->jitter = r->step_s.n ? r->step_s.p99 / r->step_s.median : (double)NAN;
}

/* The least that must have gone in and out of this node: a whole message of an
 * all-reduce; of the halves of one, a rank's shard each. */
static void prove_path(struct bench *b, uint64_t repetitions)
{
    struct fc_training_result *r = b->result;
    uint64_t each =
        r->sharded ? 2 * r->gradient_bytes / (uint64_t)r->ranks : r->gradient_bytes;
    fc_path_end(b->path, each * repetitions,
                fc_path_span(b->run->rte->nodes == 1, b->run->one_kernel),
                &r->own_path);
}

static enum fc_status run_form(struct bench *b, enum fc_step_form form,
                               struct fc_error *err)
{
    static const char *const names[] = {"training: compute", "training: communication",
                                        "training: step"};
    const struct fc_training_watch *watch = b->settings->watch;
    uint64_t start_ns = fc_now_ns();
    double times = b->settings->times > 1 ? b->settings->times : 1;
    uint64_t budget_ns =
        (uint64_t)(times * b->effort->form_s[form] * (double)FC_NS_PER_S);
    enum fc_status status = FC_OK;
    bool counts = false; /* the first repetition warms up */
    uint64_t counted = 0;
    do {
        counted += counts;
        repeat(b, form, counts);
        b->mine.late = (int32_t)((fc_now_ns() - start_ns) / budget_ns);
        status = fc_rte_allgather(b->run->rte, names[form], &b->mine, sizeof b->mine,
                                  b->all, err);
        if (status == FC_OK)
            join(b, form, counts);
        if (status == FC_OK && form == FC_STEP_WHOLE && b->result->worst == FC_OK)
            status = compare_weights(b, err);
        /* All ranks are here: what is sent from now on is the next repetitions'. */
        if (form == FC_STEP_COMM && !counts)
            fc_path_begin(b->path);
        counts = true;
    } while (status == FC_OK && !is_enough(b, form));
    if (form == FC_STEP_COMM)
        prove_path(b, counted);
    summarize(b);
    if (status == FC_OK && watch && watch->measured)
        status = watch->measured(watch->arg, form, b->result, err);
    return status;
}

static enum fc_status run_forms(struct bench *b, struct fc_error *err)
{
    enum fc_status status = run_form(b, FC_STEP_COMPUTE, err);
    if (status == FC_OK && b->result->worst == FC_OK && b->result->ranks > 1)
        status = run_form(b, FC_STEP_COMM, err);
    if (status == FC_OK && b->result->worst == FC_OK)
        status = run_form(b, FC_STEP_WHOLE, err);
    return status;
}

enum fc_status fc_training_run(struct fc_run *run,
                               const struct fc_training_settings *settings,
                               struct fc_training_result *out, struct fc_error *err)
{
    struct bench b = {.run = run,
                      .settings = settings,
                      .effort = &efforts[run->settings->level],
                      .result = out};
    memset(out, 0, sizeof *out);
    enum fc_status status = fc_plan_model(run, settings, &out->model, &b.buckets, err);
    if (status == FC_OK) {
        describe(&b);
        status = open_all(&b, err);
        status = fc_rte_agree(run->rte, "training: buffers", status, err);
    }
    if (status == FC_OK) {
        summarize(&b);
        status = run_forms(&b, err);
    }
    close_all(&b);
    return status;
}

void fc_training_result_close(struct fc_training_result *result)
{
    if (result)
        fc_model_close(&result->model);
}
