// SPDX-License-Identifier: BSD-3-Clause
/* A device that is slow, wrong, dead or hung, around a real one. It owns what it wraps.
 * */
#include "device_double.h"

#include "core/clock.h"
#include "device/device.h"
#include "fault.h"

#include <stdlib.h>

struct device_double {
    struct fc_device base;
    struct fc_device *real;
    struct faults faults;
};

static struct fc_device *real_of(struct fc_device *dev)
{
    return ((struct device_double *)dev)->real;
}

static void spin(uint64_t ns)
{
    for (uint64_t end = fc_now_ns() + ns; fc_now_ns() < end;)
        ;
}

/* After the real call: makes it last `by` times as long. */
static void slow_down(const struct fault *fault, uint64_t start)
{
    if (fault_is(fault, "slow"))
        spin((uint64_t)((double)(fc_now_ns() - start) * (fault->by - 1)));
}

/* Before the real call: the faults that keep it from being made. */
static enum fc_status before(const struct fault *fault, const char *op,
                             struct fc_error *err)
{
    if (fault_is(fault, "hang"))
        fault_hang();
    if (fault_is(fault, "crash"))
        abort();
    if (fault_is(fault, "dead"))
        return fc_fail(err, FC_FAILED, "%s: the device does not answer", op);
    return FC_OK;
}

static enum fc_status gemm(struct fc_device *dev, struct fc_stream *stream,
                           const struct fc_gemm *g, struct fc_error *err)
{
    struct device_double *d = (struct device_double *)dev;
    const struct fault *fault = faults_strike(&d->faults, "gemm", 0);
    uint64_t start = fc_now_ns();
    enum fc_status status = before(fault, "gemm", err);
    if (status == FC_OK)
        status = d->real->ops->gemm(d->real, stream, g, err);
    slow_down(fault, start);
    if (fault_is(fault, "wrong")) {
        /* The last byte of an element holds its sign: the value surely changes. */
        size_t middle = (size_t)g->m * (size_t)g->n / 2 * fc_dtype_bytes(g->dtype);
        ((unsigned char *)g->c)[middle + fc_dtype_bytes(g->dtype) - 2] ^= 0x55;
    }
    return status;
}

static enum fc_status copy(struct fc_device *dev, struct fc_stream *stream, void *dst,
                           const void *src, size_t bytes, struct fc_error *err)
{
    struct device_double *d = (struct device_double *)dev;
    const struct fault *fault = faults_strike(&d->faults, "copy", bytes);
    uint64_t start = fc_now_ns();
    enum fc_status status = before(fault, "copy", err);
    if (status == FC_OK)
        status = d->real->ops->copy(d->real, stream, dst, src, bytes, err);
    slow_down(fault, start);
    if (fault_is(fault, "wrong") && bytes > 8)
        ((unsigned char *)dst)[bytes / 2 | 3] ^= 0x41;
    return status;
}

static enum fc_status axpy(struct fc_device *dev, struct fc_stream *stream, void *y,
                           const void *x, size_t count, enum fc_dtype dtype,
                           double alpha, struct fc_error *err)
{
    struct device_double *d = (struct device_double *)dev;
    const struct fault *fault =
        faults_strike(&d->faults, "axpy", count * fc_dtype_bytes(dtype));
    uint64_t start = fc_now_ns();
    enum fc_status status = before(fault, "axpy", err);
    if (status == FC_OK)
        status = d->real->ops->axpy(d->real, stream, y, x, count, dtype, alpha, err);
    slow_down(fault, start);
    if (fault_is(fault, "wrong")) /* one bit of one weight, far down in its mantissa */
        ((unsigned char *)y)[count / 2 * fc_dtype_bytes(dtype) + 1] ^= 0x04;
    return status;
}

static enum fc_status info(struct fc_device *dev, struct fc_device_info *out,
                           struct fc_error *err)
{
    enum fc_status status = real_of(dev)->ops->info(real_of(dev), out, err);
    out->simulated = true;
    return status;
}

static enum fc_status alloc(struct fc_device *dev, size_t bytes, void **out,
                            struct fc_error *err)
{
    return real_of(dev)->ops->alloc(real_of(dev), bytes, out, err);
}

static void release(struct fc_device *dev, void *data, size_t bytes)
{
    real_of(dev)->ops->free(real_of(dev), data, bytes);
}

static enum fc_status stream_open(struct fc_device *dev, struct fc_stream **out,
                                  struct fc_error *err)
{
    return real_of(dev)->ops->stream_open(real_of(dev), out, err);
}

static void stream_close(struct fc_device *dev, struct fc_stream *stream)
{
    real_of(dev)->ops->stream_close(real_of(dev), stream);
}

static enum fc_status stream_poll(struct fc_device *dev, struct fc_stream *stream,
                                  bool *out_done, struct fc_error *err)
{
    return real_of(dev)->ops->stream_poll(real_of(dev), stream, out_done, err);
}

static enum fc_status event_open(struct fc_device *dev, struct fc_event **out,
                                 struct fc_error *err)
{
    return real_of(dev)->ops->event_open(real_of(dev), out, err);
}

static void event_close(struct fc_device *dev, struct fc_event *event)
{
    real_of(dev)->ops->event_close(real_of(dev), event);
}

static enum fc_status event_record(struct fc_device *dev, struct fc_event *event,
                                   struct fc_stream *stream, struct fc_error *err)
{
    return real_of(dev)->ops->event_record(real_of(dev), event, stream, err);
}

static enum fc_status event_elapsed(struct fc_device *dev, struct fc_event *from,
                                    struct fc_event *to, double *out_ns,
                                    struct fc_error *err)
{
    return real_of(dev)->ops->event_elapsed(real_of(dev), from, to, out_ns, err);
}

static enum fc_status fill(struct fc_device *dev, struct fc_stream *stream, void *dst,
                           size_t count, enum fc_dtype dtype, struct fc_pattern pattern,
                           struct fc_error *err)
{
    return real_of(dev)->ops->fill(real_of(dev), stream, dst, count, dtype, pattern,
                                   err);
}

static enum fc_status compare(struct fc_device *dev, struct fc_stream *stream,
                              const void *data, size_t count, enum fc_dtype dtype,
                              struct fc_pattern pattern, struct fc_mismatch *out,
                              struct fc_error *err)
{
    return real_of(dev)->ops->compare(real_of(dev), stream, data, count, dtype, pattern,
                                      out, err);
}

static enum fc_status fma_peak(struct fc_device *dev, enum fc_dtype dtype, double *out,
                               struct fc_error *err)
{
    return real_of(dev)->ops->fma_peak(real_of(dev), dtype, out, err);
}

static enum fc_status stream_peak(struct fc_device *dev, void *dst, const void *src,
                                  size_t bytes, double *out, struct fc_error *err)
{
    return real_of(dev)->ops->stream_peak(real_of(dev), dst, src, bytes, out, err);
}

static void close_double(struct fc_device *dev)
{
    real_of(dev)->ops->close(real_of(dev));
    free(dev);
}

static const struct fc_device_ops ops = {
    .info = info,
    .alloc = alloc,
    .free = release,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .stream_poll = stream_poll,
    .event_open = event_open,
    .event_close = event_close,
    .event_record = event_record,
    .event_elapsed = event_elapsed,
    .copy = copy,
    .fill = fill,
    .compare = compare,
    .gemm = gemm,
    .axpy = axpy,
    .fma_peak = fma_peak,
    .stream_peak = stream_peak,
    .close = close_double,
};

void device_double_wrap(struct fc_device **device, int rank)
{
    struct device_double *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->base.ops = &ops;
    d->real = *device;
    faults_read(&d->faults, rank);
    *device = &d->base;
}
