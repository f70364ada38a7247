// SPDX-License-Identifier: BSD-3-Clause
#include "device/probe_work.h"

#include "core/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Every so many repetitions a product of whole numbers is made and checked. */
enum { WHOLE_EVERY = 4 };

enum { A, B, WHOLE_A, WHOLE_B, C, FIRST_C };

enum fc_status fc_bench_device_open(struct fc_bench_device *dev,
                                    struct fc_device *device, struct fc_error *err)
{
    const struct fc_device_ops *ops = device->ops;
    *dev = (struct fc_bench_device){.device = device};
    enum fc_status status = ops->info(device, &dev->info, err);
    if (status == FC_OK && strcmp(dev->info.kind, "host") != 0)
        status = fc_fail(err, FC_UNSUPPORTED,
                         "results in the memory of a %s device cannot be verified",
                         dev->info.kind);
    if (status == FC_OK)
        status = ops->stream_open(device, &dev->stream, err);
    if (status == FC_OK)
        status = ops->event_open(device, &dev->from, err);
    if (status == FC_OK)
        status = ops->event_open(device, &dev->to, err);
    return status;
}

static double core_share(const struct fc_bench_device *dev)
{
    struct fc_device_info info;
    struct fc_error err;
    return dev->device->ops->info(dev->device, &info, &err) == FC_OK ? info.core_share
                                                                     : 1.0;
}

void fc_bench_device_close(struct fc_bench_device *dev)
{
    if (!dev->device)
        return;
    if (dev->to)
        dev->device->ops->event_close(dev->device, dev->to);
    if (dev->from)
        dev->device->ops->event_close(dev->device, dev->from);
    if (dev->stream)
        dev->device->ops->stream_close(dev->device, dev->stream);
    *dev = (struct fc_bench_device){.device = NULL};
}

static enum fc_status begin_timing(struct fc_bench_device *dev, struct fc_error *err)
{
    return dev->device->ops->event_record(dev->device, dev->from, dev->stream, err);
}

static enum fc_status end_timing(struct fc_bench_device *dev, double *out_s,
                                 struct fc_error *err)
{
    const struct fc_device_ops *ops = dev->device->ops;
    double ns = 0.0;
    bool done = false;
    enum fc_status status = ops->event_record(dev->device, dev->to, dev->stream, err);
    while (status == FC_OK && !done)
        status = ops->stream_poll(dev->device, dev->stream, &done, err);
    if (status == FC_OK)
        status = ops->event_elapsed(dev->device, dev->from, dev->to, &ns, err);
    if (status == FC_OK && !(ns > 0.0))
        status =
            fc_fail(err, FC_FAILED, "the device's clock says that %.0f ns passed", ns);
    if (status == FC_OK)
        *out_s = ns / 1e9;
    return status;
}

/* Copies. Elements are fp32 so that all bits of a word vary; the target is spoilt with
 * a constant that the pattern never takes. */

static struct fc_pattern copied(const struct fc_copy_work *w)
{
    return (struct fc_pattern){.kind = FC_PATTERN_RANDOM, .seed = w->seed};
}

static double copy_share(void *work)
{
    return core_share(((const struct fc_copy_work *)work)->dev);
}

static enum fc_status spoil_copy(void *work, struct fc_error *err)
{
    const struct fc_copy_work *w = work;
    struct fc_pattern spoilt = {.kind = FC_PATTERN_CONSTANT, .seed = 2};
    return w->dev->device->ops->fill(w->dev->device, w->dev->stream, w->dst,
                                     w->bytes / sizeof(float), FC_DTYPE_FP32, spoilt,
                                     err);
}

static enum fc_status measure_stream(void *work, double *out_rate, struct fc_error *err)
{
    const struct fc_copy_work *w = work;
    const struct fc_device_ops *ops = w->dev->device->ops;
    if (!ops->stream_peak)
        return fc_fail(err, FC_UNSUPPORTED, "the device has no streaming copy");
    return ops->stream_peak(w->dev->device, w->dst, w->src, w->bytes, out_rate, err);
}

static enum fc_status measure_copy(void *work, double *out_rate, struct fc_error *err)
{
    const struct fc_copy_work *w = work;
    double s = 0.0;
    enum fc_status status = begin_timing(w->dev, err);
    if (status == FC_OK)
        status = w->dev->device->ops->copy(w->dev->device, w->dev->stream, w->dst,
                                           w->src, w->bytes, err);
    if (status == FC_OK)
        status = end_timing(w->dev, &s, err);
    if (status == FC_OK)
        *out_rate = 2.0 * (double)w->bytes / s;
    return status;
}

static enum fc_status check_copy(void *work, uint64_t *out_wrong, struct fc_error *err)
{
    const struct fc_copy_work *w = work;
    struct fc_mismatch m;
    enum fc_status status = w->dev->device->ops->compare(
        w->dev->device, w->dev->stream, w->dst, w->bytes / sizeof(float), FC_DTYPE_FP32,
        copied(w), &m, err);
    if (status != FC_OK)
        return status;
    *out_wrong = m.wrong;
    if (m.wrong)
        (void)fc_fail(err, FC_WRONG,
                      "copy of %zu bytes: %" PRIu64
                      " wrong words, the first at byte %" PRIu64
                      ": expected %.9g, found %.9g",
                      w->bytes, m.wrong, m.first * sizeof(float), m.expected, m.found);
    return FC_OK;
}

void fc_copy_trial(struct fc_trial *trial, struct fc_copy_work *work)
{
    *trial = (struct fc_trial){.work = work, .core_share = copy_share};
    trial->half[FC_TRIAL_PEAK] = (struct fc_trial_half){.name = "device.stream_peak",
                                                        .prepare = spoil_copy,
                                                        .measure = measure_stream,
                                                        .check = check_copy};
    trial->half[FC_TRIAL_RATE] = (struct fc_trial_half){.name = "device.mem_bw",
                                                        .prepare = spoil_copy,
                                                        .measure = measure_copy,
                                                        .check = check_copy};
}

enum fc_status fc_copy_open(struct fc_trial *trial, struct fc_error *err)
{
    struct fc_copy_work *w = trial->work;
    const struct fc_device_ops *ops = w->dev->device->ops;
    enum fc_status status = ops->alloc(w->dev->device, w->bytes, &w->src, err);
    if (status == FC_OK)
        status = ops->alloc(w->dev->device, w->bytes, &w->dst, err);
    if (status == FC_OK)
        status = ops->fill(w->dev->device, w->dev->stream, w->src,
                           w->bytes / sizeof(float), FC_DTYPE_FP32, copied(w), err);
    return status;
}

void fc_copy_close(struct fc_copy_work *w)
{
    if (w->src)
        w->dev->device->ops->free(w->dev->device, w->src, w->bytes);
    if (w->dst)
        w->dev->device->ops->free(w->dev->device, w->dst, w->bytes);
    w->src = w->dst = NULL;
}

/* Products. */

static size_t elements(const struct fc_product_work *w)
{
    return (size_t)w->n * (size_t)w->n;
}

static double product_share(void *work)
{
    return core_share(((const struct fc_product_work *)work)->dev);
}

static enum fc_status multiply(const struct fc_product_work *w, int a, int b,
                               struct fc_error *err)
{
    struct fc_gemm gemm = {.dtype = w->dtype,
                           .m = w->n,
                           .n = w->n,
                           .k = w->n,
                           .a = w->matrix[a],
                           .b = w->matrix[b],
                           .c = w->matrix[C]};
    return w->dev->device->ops->gemm(w->dev->device, w->dev->stream, &gemm, err);
}

static void describe(const struct fc_product_work *w, const char *what,
                     const struct fc_mismatch *m, struct fc_error *err)
{
    (void)fc_fail(err, FC_WRONG,
                  "%s, n = %d, repetition %" PRIu64 ": %" PRIu64
                  " or more wrong elements, the first in row %" PRIu64
                  ", column %" PRIu64 ": expected %.17g, found %.17g",
                  what, w->n, w->repetition, m->wrong, m->first / (uint64_t)w->n,
                  m->first % (uint64_t)w->n, m->expected, m->found);
}

static enum fc_status spoil_product(void *work, struct fc_error *err)
{
    const struct fc_product_work *w = work;
    return fc_gemm_check_spoil(&w->random, w->dev->device, w->dev->stream, w->matrix[C],
                               err);
}

/* A product of whole numbers, not timed, each element exact. */
static enum fc_status check_whole(struct fc_product_work *w, uint64_t *out_wrong,
                                  struct fc_error *err)
{
    struct fc_mismatch m;
    bool done = false;
    enum fc_status status = spoil_product(w, err);
    if (status == FC_OK)
        status = multiply(w, WHOLE_A, WHOLE_B, err);
    while (status == FC_OK && !done)
        status = w->dev->device->ops->stream_poll(w->dev->device, w->dev->stream, &done,
                                                  err);
    if (status != FC_OK)
        return status;
    fc_gemm_check_product(&w->whole, w->matrix[C], &m);
    *out_wrong = m.wrong;
    if (m.wrong)
        describe(w, "product of whole numbers", &m, err);
    return FC_OK;
}

static enum fc_status measure_fma(void *work, double *out_rate, struct fc_error *err)
{
    const struct fc_product_work *w = work;
    const struct fc_device_ops *ops = w->dev->device->ops;
    if (!ops->fma_peak)
        return fc_fail(err, FC_UNSUPPORTED, "the device has no FMA loop");
    return ops->fma_peak(w->dev->device, w->dtype, out_rate, err);
}

static enum fc_status measure_product(void *work, double *out_rate,
                                      struct fc_error *err)
{
    struct fc_product_work *w = work;
    double s = 0.0, n = w->n;
    enum fc_status status = begin_timing(w->dev, err);
    if (status == FC_OK)
        status = multiply(w, A, B, err);
    if (status == FC_OK)
        status = end_timing(w->dev, &s, err);
    if (status == FC_OK)
        *out_rate = 2.0 * n * n * n / s;
    return status;
}

static enum fc_status check_product(void *work, uint64_t *out_wrong,
                                    struct fc_error *err)
{
    struct fc_product_work *w = work;
    struct fc_mismatch m;
    w->repetition++;
    fc_gemm_check_same(w->dtype, elements(w), w->matrix[FIRST_C], w->matrix[C], &m);
    *out_wrong = m.wrong;
    if (m.wrong) {
        describe(w, "same inputs, other product", &m, err);
        return FC_OK;
    }
    return w->repetition % WHOLE_EVERY ? FC_OK : check_whole(w, out_wrong, err);
}

void fc_product_trial(struct fc_trial *trial, struct fc_product_work *work)
{
    bool fp32 = work->dtype == FC_DTYPE_FP32;
    *trial = (struct fc_trial){.work = work, .core_share = product_share};
    trial->half[FC_TRIAL_PEAK] = (struct fc_trial_half){
        .name = fp32 ? "device.fma_peak fp32" : "device.fma_peak fp64",
        .measure = measure_fma,
        .brief = true};
    trial->half[FC_TRIAL_RATE] =
        (struct fc_trial_half){.name = fp32 ? "device.gemm fp32" : "device.gemm fp64",
                               .prepare = spoil_product,
                               .measure = measure_product,
                               .check = check_product};
}

static enum fc_status make_matrices(struct fc_product_work *w, struct fc_error *err)
{
    struct fc_device *device = w->dev->device;
    enum fc_status status = FC_OK;
    for (int i = 0; i < FC_PRODUCT_MATRICES && status == FC_OK; i++)
        status = device->ops->alloc(device, elements(w) * fc_dtype_bytes(w->dtype),
                                    &w->matrix[i], err);
    if (status == FC_OK)
        status = fc_gemm_check_open(&w->random, w->dtype, w->n, w->n, w->n,
                                    FC_PATTERN_RANDOM, w->seed, err);
    if (status == FC_OK)
        status = fc_gemm_check_open(&w->whole, w->dtype, w->n, w->n, w->n,
                                    FC_PATTERN_INTEGERS, w->seed, err);
    if (status == FC_OK)
        status = fc_gemm_check_fill(&w->random, device, w->dev->stream, w->matrix[A],
                                    w->matrix[B], w->matrix[C], err);
    if (status == FC_OK)
        status =
            fc_gemm_check_fill(&w->whole, device, w->dev->stream, w->matrix[WHOLE_A],
                               w->matrix[WHOLE_B], w->matrix[C], err);
    return status;
}

enum fc_status fc_product_open(struct fc_trial *trial, struct fc_error *err)
{
    struct fc_product_work *w = trial->work;
    struct fc_trial_half *rate = &trial->half[FC_TRIAL_RATE];
    struct fc_mismatch m;
    double warm_up;
    uint64_t wrong = 0;
    enum fc_status status = make_matrices(w, err);
    if (status == FC_OK)
        status = check_whole(w, &wrong, err);
    if (status != FC_OK)
        return status;
    fc_trial_checked(rate, wrong, err);
    status = spoil_product(w, err);
    if (status == FC_OK)
        status = measure_product(w, &warm_up, err);
    if (status != FC_OK)
        return status;
    fc_gemm_check_product(&w->random, w->matrix[C], &m);
    if (m.wrong)
        describe(w, "product of random numbers", &m, err);
    fc_trial_checked(rate, m.wrong, err);
    memcpy(w->matrix[FIRST_C], w->matrix[C], elements(w) * fc_dtype_bytes(w->dtype));
    return FC_OK;
}

void fc_product_close(struct fc_product_work *w)
{
    for (int i = 0; i < FC_PRODUCT_MATRICES; i++) {
        if (w->matrix[i])
            w->dev->device->ops->free(w->dev->device, w->matrix[i],
                                      elements(w) * fc_dtype_bytes(w->dtype));
        w->matrix[i] = NULL;
    }
    fc_gemm_check_close(&w->random);
    fc_gemm_check_close(&w->whole);
}
