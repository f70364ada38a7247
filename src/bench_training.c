// SPDX-License-Identifier: BSD-3-Clause
/* The training step: what a step takes, its computation and its communication alone,
 * what communication adds, and each rank's own part. */
#include "bench.h"
#include "bench_table.h"
#include "core/log.h"
#include "core/units.h"
#include "training/training.h"

#include <stdio.h>
#include <stdlib.h>

#define MS 1e3
#define PERCENT 100.0

/* Others may hang in what failed here: said before this rank waits for them. */
static void tell_failed(void *arg, const struct fc_training_result *result)
{
    (void)arg;
    fc_log(FC_LOG_QUIET, "%s", result->own_error.text);
}

static enum fc_status own_status(const struct fc_training_result *result,
                                 struct fc_error *err)
{
    bool tells = result->fault.own || result->fault.nobody;
    *err = result->own_status != FC_OK ? result->own_error : result->fault.text;
    return result->own_status != FC_OK ? result->own_status : tells ? FC_WRONG : FC_OK;
}

static void show(struct fc_bench *bench, const struct fc_bench_value *value)
{
    if (bench->object)
        json_array_append_new(bench->rows, fc_bench_value_json(value));
    else if (bench->out && value->sample.n)
        fc_bench_values_row(bench->out, value);
}

static void show_group(struct fc_bench *bench, const struct fc_training_result *r)
{
    const struct fc_bench_value values[] = {
        {"step", -1, "ms", MS, r->step_s},
        {"compute", -1, "ms", MS, r->compute_s},
        {"comm", -1, "ms", MS, r->comm_s},
        {"exposed", -1, "ms", MS, r->exposed_s},
        {"overlap", -1, "%", PERCENT, r->overlap},
        {"mfu", -1, "%", PERCENT, r->mfu},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        show(bench, &values[i]);
}

/* What a rank tells of itself. */
struct own {
    struct fc_summary compute_s, comm_s;
};

/* Collective: yes. */
static enum fc_status show_ranks(struct fc_bench *bench,
                                 const struct fc_training_result *r,
                                 struct fc_error *err)
{
    struct fc_rte *rte = bench->run->rte;
    struct own mine = {.compute_s = r->own_compute_s, .comm_s = r->own_comm_s};
    struct own *all = calloc((size_t)rte->size, sizeof *all);
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks' times", rte->size);
    enum fc_status status =
        fc_rte_allgather(rte, "ranks' times", &mine, sizeof mine, all, err);
    for (int i = 0; status == FC_OK && rte->rank == 0 && i < rte->size; i++) {
        show(bench, &(struct fc_bench_value){"compute", i, "ms", MS, all[i].compute_s});
        if (rte->size > 1)
            show(bench, &(struct fc_bench_value){"comm", i, "ms", MS, all[i].comm_s});
    }
    free(all);
    return status;
}

static void print_model(const struct fc_bench *bench,
                        const struct fc_training_result *r)
{
    if (bench->object) {
        json_object_set_new(bench->object, "model", json_string(r->model.variant));
        json_object_set_new(bench->object, "form",
                            json_string(r->sharded ? "sharded" : "ddp"));
        json_object_set_new(bench->object, "algorithm", json_string(r->algorithm));
        json_object_set_new(bench->object, "compared", json_integer(r->compared));
        json_object_set_new(bench->object, "replicas_equal",
                            json_boolean(!r->fault.any));
    } else if (bench->out) {
        fprintf(
            bench->out, "# Model: %s; %s in %zu bucket%s, %s by %s\n", r->model.variant,
            fc_format_size(r->gradient_bytes).s, r->buckets, r->buckets == 1 ? "" : "s",
            r->sharded ? "reduce-scatter and all-gather" : "all-reduce", r->algorithm);
        fprintf(bench->out,
                "# A step is as slow as its slowest rank; exposed: step less "
                "computation\n");
    }
}

static void print_foot(const struct fc_bench *bench, const struct fc_training_result *r)
{
    if (!bench->out)
        return;
    fprintf(bench->out, "# p99 / median of the step : %s\n",
            fc_bench_number(r->jitter, 2).s);
    fprintf(bench->out, "# Replicas compared bit for bit after %lld steps : %s\n",
            (long long)r->compared, r->fault.any ? "FAILED" : "OK");
}

static enum fc_status show_result(struct fc_bench *bench,
                                  const struct fc_training_result *result,
                                  struct fc_error *err)
{
    print_model(bench, result);
    if (bench->out)
        fc_bench_values_head(bench->out);
    show_group(bench, result);
    enum fc_status status = show_ranks(bench, result, err);
    if (status == FC_OK)
        print_foot(bench, result);
    return status;
}

enum fc_status fc_bench_training(struct fc_bench *bench, struct fc_error *err)
{
    const struct fc_bench_options *o = bench->options;
    struct fc_training_watch watch = {.failed = tell_failed};
    struct fc_training_settings settings = {.preset = o->preset,
                                            .layers = o->layers,
                                            .tokens = o->tokens,
                                            .bucket_bytes = o->bucket_bytes,
                                            .sharded = o->sharded,
                                            .steps = (int)o->steps,
                                            .watch = &watch};
    struct fc_training_result result = {.ranks = 0};
    const struct fc_rte *rte = bench->run->rte;
    enum fc_status status = fc_training_run(bench->run, &settings, &result, err);
    if (status == FC_OK)
        status = fc_bench_agree(bench, own_status(&result, err), err);
    if (status == FC_OK && bench->out)
        fprintf(bench->out, "# fabricheck bench training, %d rank%s on %d node%s\n#\n",
                rte->size, rte->size == 1 ? "" : "s", rte->nodes,
                rte->nodes == 1 ? "" : "s");
    if (status == FC_OK)
        status = fc_bench_devices(bench, 0, err);
    if (status == FC_OK)
        status = show_result(bench, &result, err);
    fc_training_result_close(&result);
    return status;
}
