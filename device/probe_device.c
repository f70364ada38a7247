// SPDX-License-Identifier: BSD-3-Clause
/* The device probe: how fast this rank's device moves memory and multiplies matrices,
 * and whether what it computes is right.
 *
 * Memory: copies between two arrays far larger than the last cache, beside the same
 * copy by cache-bypassing stores. GEMM in fp32 and fp64, beside an FMA loop in
 * registers. A rate and its ceiling are taken in turn, so that the ceiling is this
 * machine's, now. The ranks of all nodes measure at the same moment, as a training step
 * would; ranks that have to share a core take turns, since a time-sliced rate says
 * nothing.
 *
 * Catches: slow or missing memory channels, memory on a wrong NUMA node, throttled or
 * shared cores, a BLAS without kernels for this CPU, and silent corruption. For that,
 * each copy's target is spoilt before and compared in full after; each product of
 * random numbers must equal the first one bit for bit, and the first is checked against
 * double-precision sums; products of integers, exact in every element, are checked
 * before and between (gemm_check.h).
 */
#include "device/probe_device.h"

#include "core/clock.h"
#include "core/rng.h"
#include "device/device.h"
#include "device/host_peak.h"
#include "device/probe_work.h"
#include "device/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

/* With less of its cores a rank is held to what the rest of them could do. */
#define CORE_SHARE_MIN 0.9

#define TURN_S 0.3

enum {
    RETEST_FACTOR = 3,
    SMALL_FROM = 4,
    N_ONE_CORE = 1024,
    N_MIN = 128,
    N_MAX = 16384,
    N_STEP = 64
};

/* What a level spends on each of the three trials. */
struct effort {
    size_t min, max;
    double tolerance;
    uint64_t budget_ns;
    double cost_s;  /* all three, with their preparation */
    double n_scale; /* larger products come nearer to the peak, and take longer */
};

static const struct effort efforts[] = {
    [FC_LEVEL_QUICK] = {5, 9, 0.02, 600 * FC_NS_PER_MS, 3.0, 1},
    [FC_LEVEL_STANDARD] = {7, 25, 0.01, 4 * FC_NS_PER_S, 15.0, 2},
    [FC_LEVEL_FULL] = {15, 51, 0.005, 8 * FC_NS_PER_S, 33.0, 2},
    [FC_LEVEL_SOAK] = {15, 51, 0.005, 8 * FC_NS_PER_S, 33.0, 2},
};

/* This rank's view of the probe's one run. */
struct bench {
    struct fc_run *run;
    const struct fc_focus *focus;
    const struct effort *effort;
    struct fc_bench_device dev;
    bool measures;         /* a first run, or a retest of this rank */
    bool active;           /* it does, and it is its turn */
    int turn, turns;       /* this rank's; all ranks' */
    bool sync;             /* agreed: measure at the same moment */
    enum fc_status status; /* why there is no device to measure */
    struct fc_error why;
};

static int sharers(const struct fc_run *run)
{
    return run->sharers > 1 ? run->sharers : 1;
}

/* Turns take time: from SMALL_FROM ranks a core on, all is made smaller in step. */
static double shrink(const struct fc_run *run)
{
    double over = (double)sharers(run) / SMALL_FROM;
    return over > 1.0 ? over : 1.0;
}

static double cost_s(const struct fc_run *run)
{
    double turns = sharers(run);
    return efforts[run->settings->level].cost_s * turns / shrink(run) +
           TURN_S * (turns - 1.0);
}

/* The same time on any number of cores. For one core OpenBLAS comes near to the peak
 * from about 1000 on, and on machines with busy neighbours nearest from about 3000 on.
 * */
static int gemm_n(double cores, double scale)
{
    int n = (int)(N_ONE_CORE * scale * cbrt(cores) / N_STEP + 0.5) * N_STEP;
    if (n < N_MIN)
        return N_MIN;
    return n < N_MAX ? n : N_MAX;
}

int fc_probe_device_n(int cores)
{
    return gemm_n(cores, efforts[FC_LEVEL_QUICK].n_scale);
}

/* An eighth of what is available at most; halved to fit, so that equal nodes with
 * slightly different room still measure the same. */
static size_t array_bytes(const struct fc_device_info *info, double smaller)
{
    uint64_t cache = info->cache_bytes, room = info->memory_bytes / 8;
    uint64_t bytes = 4 * cache > 64 * MIB ? 4 * cache : 64 * MIB;
    bytes = (uint64_t)((double)bytes / smaller) / MIB * MIB;
    while (room && bytes > MIB && 2 * bytes > room)
        bytes = bytes / 2 / MIB * MIB;
    return bytes < MIB ? MIB : bytes;
}

size_t fc_probe_device_bytes(const struct fc_device_info *info)
{
    return array_bytes(info, 1.0);
}

static int product_n(const struct bench *b)
{
    double cores = b->dev.info.threads / shrink(b->run);
    uint64_t room = b->dev.info.memory_bytes / 8;
    int n = gemm_n(cores, b->effort->n_scale);
    while (room && n > N_MIN &&
           FC_PRODUCT_MATRICES * 8 * (uint64_t)n * (uint64_t)n > room)
        n = n / 2 / N_STEP * N_STEP;
    return n < N_MIN ? N_MIN : n;
}

/* Local: what fails here is told by this rank's records. */
static void bench_open(struct bench *b, struct fc_run *run,
                       const struct fc_focus *focus)
{
    *b = (struct bench){
        .run = run,
        .focus = focus,
        .effort = &efforts[run->settings->level],
        .measures = focus->attempt == 1 || focus->mine,
        .turns = 1,
    };
    if (!b->measures)
        return;
    if (!run->device) {
        b->status = fc_fail(&b->why, FC_UNSUPPORTED, "this rank has no device");
        return;
    }
    fc_watchdog_push(run->watchdog, "device.open", FC_WAIT_LOCAL,
                     run->settings->work_ns);
    b->status = fc_bench_device_open(&b->dev, run->device, &b->why);
    fc_watchdog_pop(run->watchdog);
}

/* A core of a machine; ranks on different nodes may be on one machine in a lab. */
struct place {
    char machine[64];
    int core;
};

static struct place find_place(const struct bench *b)
{
    struct place place = {.core = b->run->device ? b->dev.info.core : -1};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file || !fgets(place.machine, sizeof place.machine, file))
        snprintf(place.machine, sizeof place.machine, "%.63s", b->run->rte->hostname);
    if (file)
        fclose(file);
    return place;
}

static bool same_core(const struct place *a, const struct place *b)
{
    return a->core == b->core && strcmp(a->machine, b->machine) == 0;
}

/* Collective: yes. */
static enum fc_status take_turns(struct bench *b, struct fc_error *err)
{
    struct fc_rte *rte = b->run->rte;
    struct place mine = find_place(b);
    int64_t turns = 0;
    struct place *all = calloc((size_t)rte->size, sizeof *all);
    if (!all) /* the others wait in the exchange */
        return fc_fail(err, FC_LOST, "out of memory for %d ranks", rte->size);
    enum fc_status status =
        fc_rte_allgather(rte, "device: cores", &mine, sizeof mine, all, err);
    for (int r = 0; status == FC_OK && r < rte->rank; r++)
        b->turn += mine.core >= 0 && same_core(&all[r], &mine);
    free(all);
    turns = b->turn + 1;
    if (status == FC_OK)
        status = fc_rte_max(rte, "device: turns", &turns, 1, err);
    b->turns = (int)turns;
    return status;
}

/* A spinning barrier would take the core from those whose turn it is, and in a retest
 * from the suspects. */
static enum fc_status agree_on_order(struct bench *b, struct fc_error *err)
{
    int64_t most = sharers(b->run);
    enum fc_status status = fc_rte_max(b->run->rte, "device: sharers", &most, 1, err);
    if (status == FC_OK && most > 1)
        status = take_turns(b, err);
    b->sync = b->turns == 1 && b->focus->attempt == 1 && b->run->rte->size > 1;
    return status;
}

static enum fc_status open_samplers(const struct bench *b, struct fc_trial *trial,
                                    struct fc_error *err)
{
    const struct effort *e = b->effort;
    size_t times = b->focus->attempt > 1 ? RETEST_FACTOR : 1;
    enum fc_status status = FC_OK;
    for (int i = 0; i < FC_TRIAL_HALVES && status == FC_OK; i++) {
        struct fc_trial_half *half = &trial->half[i];
        status = fc_sampler_open(&half->sampler, e->min * times, e->max * times,
                                 e->tolerance, e->budget_ns * times, err);
        if (status == FC_OK)
            status = fc_sampler_open(&half->alone, 1, e->max * times, 0.0, 0, err);
    }
    return status;
}

/* Opens the trial's work on this rank, under a deadline. What fails is the records' to
 * tell: the rank goes on, with nothing to measure, to the next agreement. */
static void open_work(struct bench *b, struct fc_trial *trial,
                      enum fc_status (*open)(struct fc_trial *, struct fc_error *))
{
    struct fc_error err = b->why;
    enum fc_status status = b->status;
    if (status == FC_OK)
        status = open_samplers(b, trial, &err);
    if (status == FC_OK) {
        fc_watchdog_push(b->run->watchdog, trial->half[FC_TRIAL_RATE].name,
                         FC_WAIT_LOCAL, b->run->settings->work_ns);
        status = open(trial, &err);
        fc_watchdog_pop(b->run->watchdog);
    }
    for (int i = 0; i < FC_TRIAL_HALVES; i++) {
        if (status != FC_OK)
            fc_trial_fault(&trial->half[i], status, &err);
        fc_sampler_reset(&trial->half[i].sampler);
    }
}

/* What the two records of a trial say beside their numbers. */
struct naming {
    const char *metric[FC_TRIAL_HALVES], *op[FC_TRIAL_HALVES];
    const char *dtype, *path, *ceiling, *instructions;
    const char *variant; /* not NULL: the ceiling is no limit for this rate */
    int n;
    int64_t bytes;
    double unit; /* one of the metric's unit in the sampler's */
};

static struct fc_summary scaled(const struct fc_sampler *sampler, double unit)
{
    struct fc_summary s;
    fc_sampler_summary(sampler, &s);
    double *fields[] = {&s.median, &s.min, &s.max, &s.p99, &s.mad, &s.lo, &s.hi};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i] /= unit;
    return s;
}

/* A journal knows four ways of not being ok. */
static enum fc_status record_status(enum fc_status status)
{
    switch (status) {
    case FC_OK:
    case FC_UNSUPPORTED:
    case FC_UNREADABLE:
    case FC_TIMEOUT:
        return status;
    default:
        return FC_FAILED;
    }
}

/* The best of the ceiling. Where other programs had the cores for part of the time:
 * what the ceiling would have been without them, times the part that they left. */
static void set_limit(struct fc_record *r, const struct bench *b,
                      const struct fc_trial *trial, const struct naming *naming,
                      char *basis, size_t basis_bytes)
{
    const struct fc_summary peak =
        scaled(&trial->half[FC_TRIAL_PEAK].sampler, naming->unit);
    const struct fc_summary alone =
        scaled(&trial->half[FC_TRIAL_RATE].alone, naming->unit);
    const struct fc_summary peak_alone =
        scaled(&trial->half[FC_TRIAL_PEAK].alone, naming->unit);
    const double share = r->value.median / alone.median;
    const int cores = b->dev.info.threads;
    char rest[80] = "";
    if (naming->variant || !peak.n)
        return;
    r->limit = fmax(peak.max, peak_alone.median);
    if (share < CORE_SHARE_MIN) {
        r->limit *= share;
        snprintf(rest, sizeof rest, ", times the %.0f %% of the cores that others left",
                 100.0 * share);
    }
    snprintf(basis, basis_bytes, "%s on %d core%s, %s, best of %zu%s", naming->ceiling,
             cores, cores == 1 ? "" : "s", naming->instructions, peak.n, rest);
    r->limit_basis = basis;
}

static enum fc_status add_record(struct bench *b, const struct fc_trial *trial,
                                 int which, const struct naming *naming,
                                 struct fc_error *err)
{
    const struct fc_trial_half *half = &trial->half[which];
    char basis[240];
    struct fc_record r = fc_record_new(naming->metric[which]);
    r.subject = fc_run_subject(b->run);
    r.params.op = naming->op[which];
    r.params.dtype = naming->dtype;
    r.params.n = which == FC_TRIAL_RATE ? naming->n : 0;
    r.params.memory = "host";
    r.params.variant = naming->variant;
    r.params.attempt = b->focus->attempt;
    r.bytes = naming->bytes;
    r.value = scaled(&half->sampler, naming->unit);
    r.path = naming->path;
    r.path_how = "host device";
    r.wrong = half->checks ? (int64_t)half->wrong : -1;
    r.status = record_status(half->status);
    r.reason = half->status == FC_OK ? NULL : half->why.text;
    if (which == FC_TRIAL_RATE)
        set_limit(&r, b, trial, naming, basis, sizeof basis);
    return fc_sink_add(b->run->sink, &r, err);
}

/* Runs the trial on all ranks and commits its records. Collective: yes. */
static enum fc_status run_trial(struct bench *b, struct fc_trial *trial,
                                const struct naming *naming, struct fc_error *err)
{
    enum fc_status added = FC_OK, committed;
    struct fc_error why;
    trial->active = b->active && b->status == FC_OK;
    trial->sync = b->sync;
    enum fc_status status = fc_trial_run(b->run, trial, err);
    if (status != FC_OK)
        return status;
    for (int i = 0; i < FC_TRIAL_HALVES && b->active && added == FC_OK; i++)
        added = add_record(b, trial, i, naming, &why);
    committed = fc_phase_commit(b->run, "device", err);
    if (committed != FC_OK || added == FC_OK)
        return committed;
    *err = why;
    return added;
}

static void close_samplers(struct fc_trial *trial)
{
    for (int i = 0; i < FC_TRIAL_HALVES; i++) {
        fc_sampler_close(&trial->half[i].sampler);
        fc_sampler_close(&trial->half[i].alone);
    }
}

static enum fc_status memory_trial(struct bench *b, enum fc_dtype unused,
                                   struct fc_error *err)
{
    (void)unused;
    struct fc_copy_work work = {.dev = &b->dev,
                                .bytes = array_bytes(&b->dev.info, shrink(b->run)),
                                .seed = fc_rng_at(b->run->seed, 1)};
    struct fc_trial trial;
    struct naming naming = {
        .metric = {"device.stream_peak", "device.mem_bw"},
        .op = {"stream", "copy"},
        .path = "memory",
        .ceiling = "cache-bypassing copy",
        .instructions = fc_host_stream_name(),
        .variant = work.bytes < b->dev.info.cache_bytes ? "in cache" : NULL,
        .bytes = (int64_t)work.bytes,
        .unit = 1e9,
    };
    fc_copy_trial(&trial, &work);
    if (b->active)
        open_work(b, &trial, fc_copy_open);
    enum fc_status status = run_trial(b, &trial, &naming, err);
    fc_copy_close(&work);
    close_samplers(&trial);
    return status;
}

static enum fc_status product_trial(struct bench *b, enum fc_dtype dtype,
                                    struct fc_error *err)
{
    bool fp32 = dtype == FC_DTYPE_FP32;
    struct fc_product_work work = {.dev = &b->dev,
                                   .dtype = dtype,
                                   .n = product_n(b),
                                   .seed = fc_rng_at(b->run->seed, 2)};
    struct fc_trial trial;
    struct naming naming = {
        .metric = {fp32 ? "device.fma_peak.fp32" : "device.fma_peak.fp64",
                   fp32 ? "device.gemm.fp32" : "device.gemm.fp64"},
        .op = {"fma", "gemm"},
        .dtype = fc_dtype_name(dtype),
        .path = "cores",
        .ceiling = "FMA loop",
        .instructions = fc_host_fma_names(),
        .n = work.n,
        .bytes = -1,
        .unit = 1e12,
    };
    fc_product_trial(&trial, &work);
    if (b->active)
        open_work(b, &trial, fc_product_open);
    enum fc_status status = run_trial(b, &trial, &naming, err);
    fc_product_close(&work);
    close_samplers(&trial);
    return status;
}

/* An error here is the validator's own. A lost order of collectives ends the probe at
 * once; anything else is carried to its end, since other ranks do not know of it. */
static enum fc_status run_steps(struct bench *b, struct fc_error *err)
{
    static const struct {
        enum fc_status (*run)(struct bench *, enum fc_dtype, struct fc_error *);
        enum fc_dtype dtype;
    } steps[] = {
        {memory_trial, FC_DTYPE_FP32},
        {product_trial, FC_DTYPE_FP32},
        {product_trial, FC_DTYPE_FP64},
    };
    enum fc_status first = FC_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (int turn = 0; turn < b->turns; turn++) {
            struct fc_error why;
            b->active = b->measures && b->turn == turn;
            enum fc_status status = steps[i].run(b, steps[i].dtype, &why);
            if (status != FC_OK && (first == FC_OK || status == FC_LOST)) {
                first = status;
                *err = why;
            }
            if (status == FC_LOST)
                return FC_LOST;
        }
    return first;
}

static enum fc_status run(struct fc_run *run, void *state, const struct fc_focus *focus,
                          struct fc_error *err)
{
    struct bench b;
    (void)state;
    bench_open(&b, run, focus);
    enum fc_status status = agree_on_order(&b, err);
    if (status == FC_OK)
        status = run_steps(&b, err);
    fc_bench_device_close(&b.dev);
    return status;
}

const struct fc_probe fc_probe_device = {
    .name = "device",
    .help = "memory bandwidth and verified matrix products of each rank's device "
            "beside its "
            "own measured ceilings: catches slow memory, throttled cores, silent "
            "corruption",
    .cost_s = cost_s,
    .run = run,
    .retests = true,
};
