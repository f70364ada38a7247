// SPDX-License-Identifier: BSD-3-Clause
/* What the device probe does with a device: a verified copy and a verified product,
 * each as the two halves of a trial. Collective: no. Refuses to know: ranks, records,
 * sizes. */
#ifndef FC_DEVICE_PROBE_WORK_H
#define FC_DEVICE_PROBE_WORK_H

#include "device/device.h"
#include "device/gemm_check.h"
#include "device/trial.h"

/* A borrowed device, with what timing needs. */
struct fc_bench_device {
    struct fc_device *device;
    struct fc_device_info info;
    struct fc_stream *stream;
    struct fc_event *from, *to;
};
/* On failure fc_bench_device_close is still allowed. */
enum fc_status fc_bench_device_open(struct fc_bench_device *dev,
                                    struct fc_device *device,
                                    struct fc_error *err) FC_MUST_USE;
void fc_bench_device_close(struct fc_bench_device *dev);

/* The caller sets these; the rest is the work's own. */
struct fc_copy_work {
    struct fc_bench_device *dev;
    size_t bytes; /* of each array */
    uint64_t seed;

    void *src, *dst;
};
/* Describes the trial; a sampler's memory is the caller's. */
void fc_copy_trial(struct fc_trial *trial, struct fc_copy_work *work);
/* Allocates and fills; for an `open` of the trial's owner. */
enum fc_status fc_copy_open(struct fc_trial *trial, struct fc_error *err) FC_MUST_USE;
void fc_copy_close(struct fc_copy_work *work);

/* n x n matrices that a product holds: random and whole-number inputs, C, the first C.
 */
enum { FC_PRODUCT_MATRICES = 6 };

struct fc_product_work {
    struct fc_bench_device *dev;
    enum fc_dtype dtype;
    int n;
    uint64_t seed;

    void *matrix[FC_PRODUCT_MATRICES];
    struct fc_gemm_check random, whole;
    uint64_t repetition;
};
void fc_product_trial(struct fc_trial *trial, struct fc_product_work *work);
/* Allocates, fills, and makes the first products: what is wrong with them is counted in
 * the trial's rate. */
enum fc_status fc_product_open(struct fc_trial *trial,
                               struct fc_error *err) FC_MUST_USE;
void fc_product_close(struct fc_product_work *work);

#endif
