// SPDX-License-Identifier: BSD-3-Clause
/* What each rank's device does by itself: copies in memory and matrix products, each
 * beside its ceiling, all ranks at the same moment; one row a rank. */
#include "bench.h"
#include "bench_table.h"
#include "core/clock.h"
#include "core/rng.h"
#include "device/probe_device.h"
#include "device/probe_work.h"
#include "device/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HALF_NS (2 * FC_NS_PER_S)

/* What the two WHATs differ in. */
struct kind {
    const char *size_unit, *rate_unit;
    double unit; /* one of rate_unit in the trial's */
    double work; /* one repetition's, in the trial's unit times seconds */
};

struct device_bench {
    struct fc_bench *bench;
    struct fc_bench_device dev;
    struct fc_trial trial;
    struct kind kind;
    uint64_t size;
    int64_t wrong; /* of all ranks and rows */
};

/* Opens the device, on all ranks or on none. Collective: yes. */
static enum fc_status open_device(struct device_bench *d, struct fc_error *err)
{
    struct fc_run *run = d->bench->run;
    fc_watchdog_push(run->watchdog, "open the device", FC_WAIT_LOCAL,
                     run->settings->work_ns);
    enum fc_status status = fc_bench_device_open(&d->dev, run->device, err);
    fc_watchdog_pop(run->watchdog);
    return fc_rte_agree(run->rte, "device", status, err);
}

static enum fc_status open_samplers(struct device_bench *d, struct fc_error *err)
{
    size_t most = (size_t)d->bench->options->iters;
    enum fc_status status = FC_OK;
    for (int i = 0; i < FC_TRIAL_HALVES && status == FC_OK; i++) {
        struct fc_trial_half *half = &d->trial.half[i];
        status = fc_sampler_open(&half->sampler,
                                 most < FC_SAMPLES_MIN ? most : FC_SAMPLES_MIN, most,
                                 FC_SAMPLES_TOLERANCE, HALF_NS, err);
        if (status == FC_OK)
            status = fc_sampler_open(&half->alone, 1, most, 0.0, 0, err);
    }
    return status;
}

/* Makes what the trial works on, on all ranks or on none. Collective: yes. */
static enum fc_status open_trial(struct device_bench *d,
                                 enum fc_status (*open)(struct fc_trial *,
                                                        struct fc_error *),
                                 struct fc_error *err)
{
    struct fc_run *run = d->bench->run;
    int64_t sharers = run->sharers;
    enum fc_status status = open_samplers(d, err);
    fc_watchdog_push(run->watchdog, d->trial.half[FC_TRIAL_RATE].name, FC_WAIT_LOCAL,
                     run->settings->work_ns);
    if (status == FC_OK)
        status = open(&d->trial, err);
    fc_watchdog_pop(run->watchdog);
    status = fc_rte_agree(run->rte, "work", status, err);
    if (status == FC_OK)
        status = fc_rte_max(run->rte, "sharers", &sharers, 1, err);
    /* Where ranks share a core, a spinning barrier would take it from those that work.
     */
    d->trial.sync = run->rte->size > 1 && sharers <= 1;
    d->trial.active = true;
    for (int i = 0; i < FC_TRIAL_HALVES; i++)
        fc_sampler_reset(&d->trial.half[i].sampler);
    return status;
}

static void close_trial(struct device_bench *d)
{
    for (int i = 0; i < FC_TRIAL_HALVES; i++) {
        fc_sampler_close(&d->trial.half[i].sampler);
        fc_sampler_close(&d->trial.half[i].alone);
    }
}

static struct fc_bench_rate read_rate(const struct device_bench *d)
{
    const struct fc_run *run = d->bench->run;
    struct fc_summary rate, peak;
    fc_sampler_summary(&d->trial.half[FC_TRIAL_RATE].sampler, &rate);
    fc_sampler_summary(&d->trial.half[FC_TRIAL_PEAK].sampler, &peak);
    return (struct fc_bench_rate){
        .rank = run->rte->rank,
        .size = d->size,
        .time_s = d->kind.work / rate.median,
        .rate = rate.median / d->kind.unit,
        .peak = peak.n ? peak.max / d->kind.unit : (double)NAN,
        .wrong = (int64_t)(d->trial.half[FC_TRIAL_RATE].wrong +
                           d->trial.half[FC_TRIAL_PEAK].wrong),
    };
}

/* Gathers and shows all ranks' rows. Collective: yes. */
static enum fc_status show_rates(struct device_bench *d, struct fc_error *err)
{
    const struct fc_bench *bench = d->bench;
    struct fc_rte *rte = bench->run->rte;
    struct fc_bench_rate mine = read_rate(d);
    struct fc_bench_rate *all = calloc((size_t)rte->size, sizeof *all);
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks' rates", rte->size);
    enum fc_status status =
        fc_rte_allgather(rte, "rates", &mine, sizeof mine, all, err);
    for (int r = 0; status == FC_OK && r < rte->size; r++) {
        all[r].node = rte->node_name[rte->place[r].node];
        all[r].dtype = bench->options->type;
        d->wrong += all[r].wrong;
        if (bench->object)
            json_array_append_new(bench->rows, fc_bench_rate_json(&all[r]));
        else if (bench->out)
            fc_bench_rates_row(bench->out, &all[r]);
    }
    if (bench->out)
        fflush(bench->out);
    free(all);
    return status;
}

/* What failed in either half; a ceiling that the device does not have is no fault. */
static enum fc_status own_status(const struct device_bench *d, struct fc_error *err)
{
    const struct fc_trial_half *rate = &d->trial.half[FC_TRIAL_RATE];
    const struct fc_trial_half *peak = &d->trial.half[FC_TRIAL_PEAK];
    bool peak_failed = peak->status != FC_OK && peak->status != FC_UNSUPPORTED;
    const struct fc_trial_half *half =
        peak_failed && peak->status > rate->status ? peak : rate;
    if (half->status != FC_OK)
        (void)fc_fail(err, half->status, "%s: %s", half->name, half->why.text);
    return half->status;
}

/* Measures and shows the trial that is open. Collective: yes. */
static enum fc_status run_trial(struct device_bench *d, struct fc_error *err)
{
    enum fc_status status = fc_trial_run(d->bench->run, &d->trial, err);
    if (status == FC_OK)
        status = fc_bench_agree(d->bench, own_status(d, err), err);
    return status == FC_OK ? show_rates(d, err) : status;
}

static enum fc_status copy_once(struct device_bench *d, struct fc_error *err)
{
    struct fc_copy_work work = {.dev = &d->dev,
                                .bytes = (size_t)d->size,
                                .seed = fc_rng_at(d->bench->run->seed, 1)};
    d->kind.work = 2.0 * (double)d->size;
    fc_copy_trial(&d->trial, &work);
    enum fc_status status = open_trial(d, fc_copy_open, err);
    if (status == FC_OK)
        status = run_trial(d, err);
    fc_copy_close(&work);
    close_trial(d);
    return status;
}

static enum fc_status product_once(struct device_bench *d, struct fc_error *err)
{
    struct fc_product_work work = {.dev = &d->dev,
                                   .dtype = d->bench->options->type,
                                   .n = (int)d->size,
                                   .seed = fc_rng_at(d->bench->run->seed, 2)};
    d->kind.work = 2.0 * pow((double)d->size, 3);
    fc_product_trial(&d->trial, &work);
    enum fc_status status = open_trial(d, fc_product_open, err);
    if (status == FC_OK)
        status = run_trial(d, err);
    fc_product_close(&work);
    close_trial(d);
    return status;
}

/* Collective: yes. */
static enum fc_status begin(struct device_bench *d, const char *what,
                            struct fc_error *err)
{
    const struct fc_bench *bench = d->bench;
    const struct fc_rte *rte = bench->run->rte;
    if (bench->out) {
        fprintf(bench->out,
                "# fabricheck bench %s, %d rank%s on %d node%s at the same moment\n",
                bench->what->name, rte->size, rte->size == 1 ? "" : "s", rte->nodes,
                rte->nodes == 1 ? "" : "s");
        fprintf(bench->out, "# %s\n", what);
        if (bench->run->sharers > 1)
            fprintf(bench->out,
                    "# %d ranks share a core: a rate is what its turns left\n",
                    bench->run->sharers);
        fprintf(bench->out, "#\n");
    }
    if (bench->object)
        json_object_set_new(bench->object, "unit", json_string(d->kind.rate_unit));
    enum fc_status status = fc_bench_devices(d->bench, 0, err);
    if (status == FC_OK)
        status = open_device(d, err);
    if (status == FC_OK && bench->out)
        fc_bench_rates_head(bench->out, d->kind.size_unit, d->kind.rate_unit);
    return status;
}

static void end(struct device_bench *d, enum fc_status status)
{
    if (status == FC_OK && d->bench->object)
        json_object_set_new(d->bench->object, "out_of_bounds", json_integer(d->wrong));
    else if (status == FC_OK && d->bench->out)
        fc_bench_table_wrong(d->bench->out, d->wrong);
    fc_bench_device_close(&d->dev);
}

/* -b and -e; without them the probe's own size, which each device has for itself. */
static enum fc_status copy_sizes(struct device_bench *d, struct fc_error *err)
{
    const struct fc_bench_options *o = d->bench->options;
    uint64_t own = fc_probe_device_bytes(&d->dev.info);
    uint64_t first = o->min_bytes ? o->min_bytes : o->max_bytes ? o->max_bytes : own;
    double last = (double)(o->max_bytes ? o->max_bytes : first);
    enum fc_status status = fc_rte_agree(
        d->bench->run->rte, "room", fc_bench_room(d->bench, (uint64_t)last, err), err);
    for (double next = (double)first; status == FC_OK && next <= last;
         next *= o->factor) {
        d->size = (uint64_t)next / sizeof(float) * sizeof(float);
        status = copy_once(d, err);
    }
    return status;
}

enum fc_status fc_bench_mem(struct fc_bench *bench, struct fc_error *err)
{
    struct device_bench d = {
        .bench = bench, .kind = {.size_unit = "(B)", .rate_unit = "GB/s", .unit = 1e9}};
    enum fc_status status =
        begin(&d,
              "copies between two arrays, read and written bytes counted; peak: the "
              "best of a cache-bypassing copy",
              err);
    if (status == FC_OK)
        status = copy_sizes(&d, err);
    end(&d, status);
    return status;
}

enum fc_status fc_bench_gemm(struct fc_bench *bench, struct fc_error *err)
{
    struct device_bench d = {
        .bench = bench,
        .kind = {.size_unit = "(n)", .rate_unit = "TFLOP/s", .unit = 1e12}};
    enum fc_status status = begin(
        &d, "products of n x n matrices; peak: the best of a multiply-add loop", err);
    d.size = (uint64_t)fc_probe_device_n(d.dev.info.threads);
    if (status == FC_OK)
        status = product_once(&d, err);
    end(&d, status);
    return status;
}
