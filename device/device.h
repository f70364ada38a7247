// SPDX-License-Identifier: BSD-3-Clause
/* A device: something with memory that copies and multiplies. The host device is built
 * on a crew of pinned threads and CBLAS; the GPU device (a later back end) uses the
 * same table.
 *
 * Work is enqueued on a stream and completes in order; events mark points and give
 * time. The host device completes everything before the call returns, so its events are
 * simply timestamps. Enqueue calls may block; the caller holds a watchdog deadline
 * around them.
 *
 * Patterns: `fc_pattern` describes contents that are a pure function of (seed, index),
 * so that any device can make and check them without a copy of the expected data:
 *   RANDOM   uniform in [-1, 1), for rates;
 *   INTEGERS offset + scale * z, z a small integer in [-4, 4] (scale 0 means 1):
 *   products
 *            and partial sums are exact;
 *   CONSTANT `seed` as the value;
 *   TERMS    what ranks contribute to a reduction, and its result: see fc_pattern.
 * Collective: no. Refuses to know: ranks, MPI, records (the probe's), reports.
 */
#ifndef FC_DEVICE_DEVICE_H
#define FC_DEVICE_DEVICE_H

#include "core/dtype.h"
#include "core/status.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum fc_pattern_kind {
    FC_PATTERN_RANDOM,
    FC_PATTERN_INTEGERS,
    FC_PATTERN_CONSTANT,
    FC_PATTERN_TERMS
};

/* TERMS: scale * z plus, where it is this element's turn (index mod period == turn, or
 * period is 0), spike * k, else rest; z as in INTEGERS, k an integer in [2, 5]. So each
 * element carries the mark of one rank, and a contribution that is missing, doubled or
 * another's shows. */
struct fc_pattern {
    enum fc_pattern_kind kind;
    uint64_t seed;
    int32_t scale, offset; /* INTEGERS; TERMS has no offset, and scale 0 is 0 */
    int32_t spike, rest;   /* TERMS */
    uint32_t period, turn; /* TERMS */
    uint64_t base;         /* added to every index: data that begins inside */
};

/* The result of a comparison. */
struct fc_mismatch {
    uint64_t wrong;         /* elements that differ */
    uint64_t first;         /* index of the first, when wrong > 0 */
    double expected, found; /* its values */
};

struct fc_device_info {
    char kind[16];         /* "host", "cuda" */
    char name[128];        /* "AMD EPYC 7763 …" */
    int threads;           /* host: cores used */
    uint64_t memory_bytes; /* that may be allocated now */
    uint64_t cache_bytes;  /* last-level cache this device's cores reach */
    char blas[128];        /* library and configuration */
    int core;              /* host: the first of its cores, as Linux counts; -1 */
    /* Of the time that its threads had work since the last call of info, the least
     * share that one of them had its core; 1 when nothing or unknown. Less: others run
     * there. */
    double core_share;
    bool simulated;
};

struct fc_device;
struct fc_stream;
struct fc_event;

/* One GEMM: C = A * B, row major, A m x k, B k x n, C m x n, no padding. A transposed
 * operand is stored the other way round: A k x m, B n x k. */
struct fc_gemm {
    enum fc_dtype dtype;
    bool transpose_a, transpose_b;
    int m, n, k;
    const void *a, *b;
    void *c;
};

struct fc_device_ops {
    enum fc_status (*info)(struct fc_device *, struct fc_device_info *out,
                           struct fc_error *);
    enum fc_status (*alloc)(struct fc_device *, size_t bytes, void **out,
                            struct fc_error *);
    void (*free)(struct fc_device *, void *, size_t bytes);
    enum fc_status (*stream_open)(struct fc_device *, struct fc_stream **,
                                  struct fc_error *);
    void (*stream_close)(struct fc_device *, struct fc_stream *);
    enum fc_status (*stream_poll)(struct fc_device *, struct fc_stream *,
                                  bool *out_done, struct fc_error *);
    enum fc_status (*event_open)(struct fc_device *, struct fc_event **,
                                 struct fc_error *);
    void (*event_close)(struct fc_device *, struct fc_event *);
    enum fc_status (*event_record)(struct fc_device *, struct fc_event *,
                                   struct fc_stream *, struct fc_error *);
    /* nanoseconds between two completed events */
    enum fc_status (*event_elapsed)(struct fc_device *, struct fc_event *from,
                                    struct fc_event *to, double *out_ns,
                                    struct fc_error *);
    enum fc_status (*copy)(struct fc_device *, struct fc_stream *, void *dst,
                           const void *src, size_t bytes, struct fc_error *);
    enum fc_status (*fill)(struct fc_device *, struct fc_stream *, void *dst,
                           size_t count, enum fc_dtype, struct fc_pattern,
                           struct fc_error *);
    /* completes before it returns */
    enum fc_status (*compare)(struct fc_device *, struct fc_stream *, const void *data,
                              size_t count, enum fc_dtype, struct fc_pattern,
                              struct fc_mismatch *out, struct fc_error *);
    enum fc_status (*gemm)(struct fc_device *, struct fc_stream *,
                           const struct fc_gemm *, struct fc_error *);
    /* y[i] += alpha * x[i]: an optimizer's update; the same bits wherever it runs */
    enum fc_status (*axpy)(struct fc_device *, struct fc_stream *, void *y,
                           const void *x, size_t count, enum fc_dtype, double alpha,
                           struct fc_error *);
    /* The device's own ceilings, measured now (one short run): FLOP/s of a register FMA
     * loop; bytes/s (read + written) of a cache-bypassing copy of `bytes` from src to
     * dst.
     * NULL: not to be had. */
    enum fc_status (*fma_peak)(struct fc_device *, enum fc_dtype, double *out_flops,
                               struct fc_error *);
    enum fc_status (*stream_peak)(struct fc_device *, void *dst, const void *src,
                                  size_t bytes, double *out_bytes_per_s,
                                  struct fc_error *);
    void (*close)(struct fc_device *);
};

/* The base of every back end. */
struct fc_device {
    const struct fc_device_ops *ops;
};

/* Opens the host device on the calling thread's affinity mask. When several ranks of a
 * node have overlapping masks, rank `share` of `shares` takes its part of the cores (at
 * least one). Its memory comes from the NUMA nodes of those cores (first touch by
 * pinned threads). Ownership: the caller closes it by device->ops->close. */
enum fc_status fc_device_host_open(int share, int shares, struct fc_device **out,
                                   struct fc_error *err) FC_MUST_USE;

/* The cores (one PU a core) that fc_device_host_open would use. */
void fc_device_host_cores(int share, int shares, cpu_set_t *out);

/* The exact value of element `index` of a pattern, for verification on the host. */
double fc_pattern_value(struct fc_pattern pattern, uint64_t index);

#endif
