// SPDX-License-Identifier: BSD-3-Clause
/* Training steps of several ranks, all-reduced and sharded, against weights that are
 * computed here by plain loops in double precision. Every rank checks, rank 0 prints
 * TAP. Run by tests/mpi/training.sh. */
#include "training/training.h"
#include "tap.h"
#include "training/step.h"
#include "training/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, STEPS = 4 };
#define RATE 1e-4

static struct fc_run run;
static struct fc_error err;

static void check(bool ok, const char *form, const char *name)
{
    char text[160];
    snprintf(text, sizeof text, "%s: %s", form, name);
    tap_check(run.rte, ok, text);
}

/* This rank's X^T dY of a layer, added up over the ranks and divided by them. */
static double *mean_gradient(const struct fc_step *step, size_t layer)
{
    const struct fc_model *model = step->model;
    size_t tokens = (size_t)model->tokens;
    size_t in = (size_t)model->layer[layer].in, out = (size_t)model->layer[layer].out;
    const float *x = step->x, *dy = step->dy;
    double *sum = calloc(in * out, sizeof *sum);
    for (size_t l = 0; l < layer; l++) {
        x += tokens * (size_t)model->layer[l].in;
        dy += tokens * (size_t)model->layer[l].out;
    }
    for (size_t t = 0; sum && t < tokens; t++)
        for (size_t i = 0; i < in; i++)
            for (size_t o = 0; o < out; o++)
                sum[i * out + o] += (double)x[t * in + i] * (double)dy[t * out + o];
    struct fc_coll_args args = {.op = FC_COLL_ALL_REDUCE,
                                .dtype = FC_DTYPE_FP64,
                                .redop = FC_REDOP_AVG,
                                .send = sum,
                                .recv = sum,
                                .count = in * out};
    check(sum && run.world->ops->enqueue(run.world, &args, &err) == FC_OK, "reference",
          "gradients are averaged");
    return sum;
}

/* The weights after STEPS steps from `first`, within single precision's rounding. */
static bool as_computed(const struct fc_step *step, const float *first)
{
    double worst = 0;
    for (size_t l = 0; l < LAYERS; l++) {
        size_t at = step->buckets->layer_at[l];
        size_t count = fc_layer_parameters(&step->model->layer[l]);
        double *g = mean_gradient(step, l);
        for (size_t i = 0; g && i < count; i++) {
            double want = (double)first[at + i] - STEPS * RATE * g[i];
            double moved = STEPS * RATE * fabs(g[i]);
            double off = fabs((double)step->weights[at + i] - want);
            /* half a unit in the last place of at most 1 for each step, and of g */
            worst = fmax(worst, off / (STEPS * 1.2e-7 + 1e-5 * moved));
        }
        free(g);
    }
    return worst < 1;
}

static bool same_on_all(uint64_t hash)
{
    uint64_t all[64] = {0};
    bool same =
        run.rte->size <= 64 &&
        fc_rte_allgather(run.rte, "hashes", &hash, sizeof hash, all, &err) == FC_OK;
    for (int r = 1; r < run.rte->size; r++)
        same = same && all[r] == all[0];
    return same;
}

/* Runs all forms, as the probe mixes them; the hash of the weights at the end. */
static uint64_t train(const char *form, const struct fc_model *model,
                      const struct fc_buckets *buckets, bool sharded)
{
    struct fc_step step = {.run = &run,
                           .comm = run.world,
                           .model = model,
                           .buckets = buckets,
                           .sharded = sharded};
    uint64_t layers[LAYERS], hash;
    size_t bytes = buckets->elements * sizeof(float);
    int64_t bad;
    double seconds;
    float *first = malloc(bytes);
    bool ok = fc_step_open(&step, &err) == FC_OK && first;
    check(ok, form, "opens");
    if (!ok)
        return 0;
    memcpy(first, step.weights, bytes);
    check(same_on_all(fc_weights_hash(first, model, buckets, layers, &bad)), form,
          "weights begin equal");
    if (run.rte->size > 1)
        check(!same_on_all((uint64_t)(step.x[0] * 1e6f + 2e6f)), form,
              "inputs differ by rank");
    ok = fc_step_run(&step, FC_STEP_COMPUTE, &seconds, &err) == FC_OK &&
         fc_step_run(&step, FC_STEP_COMM, &seconds, &err) == FC_OK &&
         memcmp(first, step.weights, bytes) == 0;
    check(ok, form, "computation and communication alone leave the weights alone");
    for (int i = 0; i < STEPS && ok; i++)
        ok = fc_step_run(&step, FC_STEP_WHOLE, &seconds, &err) == FC_OK && seconds > 0;
    check(ok, form, "steps run");
    hash = fc_weights_hash(step.weights, model, buckets, layers, &bad);
    check(same_on_all(hash), form, "weights end equal, bit for bit");
    check(bad < 0, form, "weights are finite");
    check(as_computed(&step, first), form, "weights are those of plain arithmetic");
    free(first);
    fc_step_close(&step);
    return hash;
}

/* --- a device that dies --- */

static const struct fc_device_ops *real;

static enum fc_status dead_gemm(struct fc_device *device, struct fc_stream *stream,
                                const struct fc_gemm *gemm, struct fc_error *e)
{
    static int calls;
    if (++calls > 2 * LAYERS)
        return fc_fail(e, FC_FAILED, "the multiplier fell off");
    return real->gemm(device, stream, gemm, e);
}

/* In a whole step's backward pass, with buckets to go: the others must not wait. */
static void die(const struct fc_model *model, const struct fc_buckets *buckets)
{
    struct fc_step step = {
        .run = &run, .comm = run.world, .model = model, .buckets = buckets};
    struct fc_device_ops ops = *run.device->ops;
    bool mine = run.rte->rank == run.rte->size - 1;
    double seconds;
    real = run.device->ops;
    ops.gemm = dead_gemm;
    bool ok = fc_step_open(&step, &err) == FC_OK;
    check(ok, "a dying device", "opens");
    if (mine)
        run.device->ops = &ops;
    for (int i = 0; i < 2 && ok; i++) {
        enum fc_status status = fc_step_run(&step, FC_STEP_WHOLE, &seconds, &err);
        check(mine ? status == FC_FAILED && strstr(err.text, "fell off")
                   : status == FC_OK,
              "a dying device", "its rank knows, the others are not kept waiting");
    }
    run.device->ops = real;
    fc_step_close(&step);
}

static void probe_sharded(void)
{
    struct fc_training_settings settings = {
        .layers = "64x96,96x64", .tokens = 24, .sharded = true, .steps = 5};
    struct fc_training_result result;
    bool ok = fc_training_run(&run, &settings, &result, &err) == FC_OK &&
              result.worst == FC_OK && !result.fault.any && result.compared == 6;
    check(ok, "sharded", "measured, and the replicas stay equal");
    check(result.ranks == run.rte->size && result.step_s.n == 5 &&
              result.comm_s.n == (run.rte->size > 1 ? 5 : 0),
          "sharded", "as many samples as wanted");
    fc_training_result_close(&result);
}

static enum fc_status open_run(struct fc_settings *settings)
{
    enum fc_status status = fc_rte_open(&run.rte, NULL, &err);
    if (status != FC_OK)
        return status;
    run.settings = settings;
    run.sharers = 1;
    run.seed = 3;
    status = fc_device_host_open(run.rte->rank, run.rte->size, &run.device, &err);
    if (status == FC_OK)
        status = run.rte->size > 1 ? fc_comm_mpi_open(0, &run.world, &err)
                                   : fc_comm_self_open(&run.world, &err);
    return status;
}

int main(void)
{
    struct fc_settings settings = {.level = FC_LEVEL_QUICK, .work_ns = 60000000000};
    struct fc_model_fit fit = {.threads = 1, .sharers = 1, .tokens = 20};
    struct fc_model model;
    struct fc_buckets buckets;
    if (open_run(&settings) != FC_OK ||
        fc_model_custom("24x40,40x9,7x56", &fit, &model, &err) != FC_OK ||
        fc_buckets_open(&model, 2000, run.rte->size, &buckets, &err) != FC_OK) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    uint64_t reduced = train("all-reduced", &model, &buckets, false);
    uint64_t sharded = train("sharded", &model, &buckets, true);
    /* With three addends and more their order may differ. */
    if (run.rte->size <= 2)
        check(reduced == sharded, "both", "the same weights, bit for bit");
    probe_sharded();
    die(&model, &buckets);
    tap_end(run.rte);
    fc_buckets_close(&buckets);
    fc_model_close(&model);
    run.world->ops->close(run.world);
    run.device->ops->close(run.device);
    fc_rte_close(run.rte);
    return 0;
}
