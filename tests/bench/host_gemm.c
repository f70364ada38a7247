// SPDX-License-Identifier: BSD-3-Clause
/* How near the host device's GEMM comes to the FMA loop's peak: both in one run, taken
 * in turn, medians, as "name value target" lines. Arguments: repeats and sizes to try;
 * without sizes those that the device probe uses on this many cores. */
#include "core/stats.h"
#include "core/units.h"
#include "device/device.h"
#include "device/gemm_check.h"
#include "device/probe_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 15, REPEATS_MAX = 200 };
#define TARGET 0.85

struct bench {
    struct fc_device *device;
    struct fc_stream *stream;
    struct fc_event *from, *to;
    struct fc_device_info info;
    void *a, *b, *c;
};

/* Rates, and what they would be if other programs had left the cores alone. */
struct rates {
    double fma[REPEATS_MAX], gemm[REPEATS_MAX];
    double fma_alone[REPEATS_MAX], gemm_alone[REPEATS_MAX];
};

static double core_share(struct bench *b)
{
    struct fc_device_info info = {.core_share = 1.0};
    struct fc_error err;
    (void)!b->device->ops->info(b->device, &info, &err);
    return info.core_share > 0.01 ? info.core_share : 0.01;
}

static enum fc_status timed_gemm(struct bench *b, const struct fc_gemm *g,
                                 double *out_ns, struct fc_error *err)
{
    const struct fc_device_ops *ops = b->device->ops;
    enum fc_status status = ops->event_record(b->device, b->from, b->stream, err);
    if (status == FC_OK)
        status = ops->gemm(b->device, b->stream, g, err);
    if (status == FC_OK)
        status = ops->event_record(b->device, b->to, b->stream, err);
    if (status == FC_OK)
        status = ops->event_elapsed(b->device, b->from, b->to, out_ns, err);
    return status;
}

static enum fc_status measure(struct bench *b, enum fc_dtype dtype, int n, int repeats,
                              struct rates *out, struct fc_error *err)
{
    struct fc_gemm g = {dtype, n, n, n, b->a, b->b, b->c};
    for (int i = -1; i < repeats; i++) { /* -1 warms up */
        double flops, ns;
        (void)core_share(b);
        enum fc_status status = b->device->ops->fma_peak(b->device, dtype, &flops, err);
        double fma_share = core_share(b);
        if (status == FC_OK)
            status = timed_gemm(b, &g, &ns, err);
        double gemm_share = core_share(b);
        if (status != FC_OK)
            return status;
        if (i < 0)
            continue;
        out->fma[i] = flops;
        out->gemm[i] = 2.0 * n * n * n * 1e9 / ns;
        out->fma_alone[i] = out->fma[i] / fma_share;
        out->gemm_alone[i] = out->gemm[i] / gemm_share;
    }
    return FC_OK;
}

/* The same shape with integers: a fast wrong product is no result. */
static enum fc_status verify(struct bench *b, enum fc_dtype dtype, int n,
                             struct fc_error *err)
{
    struct fc_gemm g = {dtype, n, n, n, b->a, b->b, b->c};
    struct fc_gemm_check check;
    struct fc_mismatch wrong;
    enum fc_status status =
        fc_gemm_check_open(&check, dtype, n, n, n, FC_PATTERN_INTEGERS, 1, err);
    if (status != FC_OK)
        return status;
    status = fc_gemm_check_fill(&check, b->device, b->stream, b->a, b->b, b->c, err);
    if (status == FC_OK)
        status = b->device->ops->gemm(b->device, b->stream, &g, err);
    if (status == FC_OK) {
        fc_gemm_check_product(&check, b->c, &wrong);
        if (wrong.wrong)
            status = fc_fail(err, FC_WRONG, "%s n=%d: %" PRIu64 " wrong elements",
                             fc_dtype_name(dtype), n, wrong.wrong);
    }
    fc_gemm_check_close(&check);
    return status;
}

static void print(const struct bench *b, enum fc_dtype dtype, int n, int repeats,
                  struct rates *r)
{
    size_t count = (size_t)repeats;
    double gemm = fc_median_in_place(r->gemm, count);
    double fma = fc_median_in_place(r->fma, count);
    double gemm_alone = fc_median_in_place(r->gemm_alone, count);
    double fma_alone = fc_median_in_place(r->fma_alone, count);
    const char *name = fc_dtype_name(dtype);
    char target[16] = "-";
    if (dtype == FC_DTYPE_FP32)
        snprintf(target, sizeof target, "%.2f", TARGET);
    printf("gemm/fma.%s.n%d.cores%d %.3f %s\n", name, n, b->info.threads, gemm / fma,
           target);
    printf(
        "# %s: GEMM %.1f, FMA loop %.1f GFLOP/s; without other programs' share of the "
        "cores: %.1f, %.1f, ratio %.3f\n",
        name, gemm / 1e9, fma / 1e9, gemm_alone / 1e9, fma_alone / 1e9,
        gemm_alone / fma_alone);
}

static enum fc_status one(struct bench *b, enum fc_dtype dtype, int n, int repeats,
                          struct fc_error *err)
{
    struct rates rates;
    size_t count = (size_t)n * (size_t)n, bytes = count * sizeof(double), made = 0;
    void **matrix[] = {&b->a, &b->b, &b->c};
    enum fc_status status = FC_OK;
    while (made < 3 && status == FC_OK) {
        status = b->device->ops->alloc(b->device, bytes, matrix[made], err);
        made += status == FC_OK;
    }
    if (status == FC_OK)
        status = verify(b, dtype, n, err);
    for (size_t i = 0; i < 2 && status == FC_OK; i++) {
        struct fc_pattern random = {.kind = FC_PATTERN_RANDOM, .seed = 10 + i};
        status = b->device->ops->fill(b->device, b->stream, *matrix[i], count, dtype,
                                      random, err);
    }
    if (status == FC_OK)
        status = measure(b, dtype, n, repeats, &rates, err);
    if (status == FC_OK)
        print(b, dtype, n, repeats, &rates);
    for (size_t i = 0; i < made; i++)
        b->device->ops->free(b->device, *matrix[i], bytes);
    return status;
}

static enum fc_status bench_open(struct bench *b, struct fc_error *err)
{
    enum fc_status status = fc_device_host_open(0, 1, &b->device, err);
    if (status != FC_OK)
        return status;
    status = b->device->ops->info(b->device, &b->info, err);
    if (status == FC_OK)
        status = b->device->ops->stream_open(b->device, &b->stream, err);
    if (status == FC_OK)
        status = b->device->ops->event_open(b->device, &b->from, err);
    if (status == FC_OK)
        status = b->device->ops->event_open(b->device, &b->to, err);
    return status;
}

static void bench_close(struct bench *b)
{
    if (!b->device)
        return;
    b->device->ops->event_close(b->device, b->to);
    b->device->ops->event_close(b->device, b->from);
    b->device->ops->stream_close(b->device, b->stream);
    b->device->ops->close(b->device);
}

static enum fc_status run(struct bench *b, int argc, char **argv, struct fc_error *err)
{
    static const enum fc_dtype dtypes[] = {FC_DTYPE_FP32, FC_DTYPE_FP64};
    int64_t repeats = REPEATS, n;
    if (argc > 1 &&
        (!fc_parse_int(argv[1], &repeats) || repeats < 1 || repeats > REPEATS_MAX))
        return fc_fail(err, FC_USAGE, "repeats: '%s' is not 1 to %d", argv[1],
                       REPEATS_MAX);
    enum fc_status status = bench_open(b, err);
    for (size_t d = 0; d < 2 && status == FC_OK; d++) {
        if (argc < 3)
            status = one(b, dtypes[d], fc_probe_device_n(b->info.threads), (int)repeats,
                         err);
        for (int i = 2; i < argc && status == FC_OK; i++) {
            if (!fc_parse_int(argv[i], &n) || n < 1 || n > 32768)
                return fc_fail(err, FC_USAGE, "n: '%s' is not 1 to 32768", argv[i]);
            status = one(b, dtypes[d], (int)n, (int)repeats, err);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    struct bench bench = {.device = NULL};
    struct fc_error err = {.text = ""};
    enum fc_status status = run(&bench, argc, argv, &err);
    if (status != FC_OK)
        fprintf(stderr, "host_gemm: %s\n", err.text);
    bench_close(&bench);
    return status == FC_OK ? 0 : 2;
}
