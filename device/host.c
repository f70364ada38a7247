// SPDX-License-Identifier: BSD-3-Clause
/* The host device: a crew of pinned threads over ordinary memory.
 *
 * Memory is mapped and first touched by the crew, each member its own part, so that
 * pages lie on the NUMA node of the core that will work on them. A copy larger than the
 * caches bypasses them, as a stream through memory should. A product is cut into a grid
 * of blocks of C; each member multiplies one by a single-threaded CBLAS call, which
 * keeps threads pinned and the number of cores ours to choose, whatever the BLAS was
 * built with.
 */
#include "device/host.h"

#include "core/clock.h"
#include "core/units.h"
#include "device/crew.h"
#include "device/host_blas.h"
#include "device/host_data.h"
#include "device/host_peak.h"
#include "device/host_system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FMA_NS (3 * FC_NS_PER_MS)

struct host {
    struct fc_device base;
    struct fc_crew *crew;
    double *rate; /* one a member, for the FMA loop */
    int shares, memory_cores, machine_cores, first_cpu;
    uint64_t cache_bytes;
    char name[128], blas[128];
};

struct fc_stream {
    char unused; /* everything completes before the call returns */
};

struct fc_event {
    uint64_t ns; /* 0: not recorded */
};

static struct host *host_of(struct fc_device *device)
{
    return (struct host *)(void *)device;
}

static uint64_t memory_bytes(const struct host *host)
{
    uint64_t all = fc_host_memory_bytes("", host->memory_cores, host->machine_cores);
    uint64_t shares = (uint64_t)host->shares;
    return all && all < shares ? 1 : all / shares; /* 0 means unknown, not none */
}

static enum fc_status host_info(struct fc_device *device, struct fc_device_info *out,
                                struct fc_error *err)
{
    const struct host *host = host_of(device);
    (void)err;
    *out = (struct fc_device_info){
        .kind = "host",
        .threads = fc_crew_size(host->crew),
        .memory_bytes = memory_bytes(host),
        .cache_bytes = host->cache_bytes,
        .core = host->first_cpu,
        .core_share = fc_crew_core_share(host->crew),
    };
    snprintf(out->name, sizeof out->name, "%s", host->name);
    snprintf(out->blas, sizeof out->blas, "%s", host->blas);
    return FC_OK;
}

static enum fc_status host_alloc(struct fc_device *device, size_t bytes, void **out,
                                 struct fc_error *err)
{
    struct host *host = host_of(device);
    uint64_t room = memory_bytes(host);
    struct fc_text want = fc_format_size(bytes), have = fc_format_size(room);
    /* Linux would promise the pages and kill someone when they are touched. */
    if (room && bytes > room)
        return fc_fail(err, FC_NOMEM,
                       "host memory: %s wanted, %s available to this rank", want.s,
                       have.s);
    void *at = fc_host_map(host->crew, bytes);
    if (!at)
        return fc_fail(err, FC_NOMEM, "host memory: cannot map %s: %s", want.s,
                       strerror(errno));
    *out = at;
    return FC_OK;
}

static void host_free(struct fc_device *device, void *at, size_t bytes)
{
    (void)device;
    fc_host_unmap(at, bytes);
}

static enum fc_status host_stream_open(struct fc_device *device, struct fc_stream **out,
                                       struct fc_error *err)
{
    (void)device;
    struct fc_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return fc_fail(err, FC_NOMEM, "host device: out of memory for a stream");
    *out = stream;
    return FC_OK;
}

static void host_stream_close(struct fc_device *device, struct fc_stream *stream)
{
    (void)device;
    free(stream);
}

static enum fc_status host_stream_poll(struct fc_device *device,
                                       struct fc_stream *stream, bool *out_done,
                                       struct fc_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    *out_done = true;
    return FC_OK;
}

static enum fc_status host_event_open(struct fc_device *device, struct fc_event **out,
                                      struct fc_error *err)
{
    (void)device;
    struct fc_event *event = calloc(1, sizeof *event);
    if (!event)
        return fc_fail(err, FC_NOMEM, "host device: out of memory for an event");
    *out = event;
    return FC_OK;
}

static void host_event_close(struct fc_device *device, struct fc_event *event)
{
    (void)device;
    free(event);
}

static enum fc_status host_event_record(struct fc_device *device,
                                        struct fc_event *event,
                                        struct fc_stream *stream, struct fc_error *err)
{
    (void)device;
    (void)stream;
    (void)err;
    event->ns = fc_now_ns();
    return FC_OK;
}

static enum fc_status host_event_elapsed(struct fc_device *device,
                                         struct fc_event *from, struct fc_event *to,
                                         double *out_ns, struct fc_error *err)
{
    (void)device;
    if (!from->ns || !to->ns)
        return fc_fail(err, FC_FAILED, "host device: an event was not recorded");
    *out_ns = (double)to->ns - (double)from->ns;
    return FC_OK;
}

static enum fc_status host_copy(struct fc_device *device, struct fc_stream *stream,
                                void *dst, const void *src, size_t bytes,
                                struct fc_error *err)
{
    struct host *host = host_of(device);
    (void)stream;
    (void)err;
    fc_host_copy(host->crew, dst, src, bytes, bytes >= host->cache_bytes);
    return FC_OK;
}

static enum fc_status host_stream_peak(struct fc_device *device, void *dst,
                                       const void *src, size_t bytes,
                                       double *out_bytes_per_s, struct fc_error *err)
{
    (void)err;
    uint64_t begin = fc_now_ns();
    fc_host_copy(host_of(device)->crew, dst, src, bytes, true);
    uint64_t end = fc_now_ns();
    *out_bytes_per_s =
        2.0 * (double)bytes * 1e9 / (double)(end > begin ? end - begin : 1);
    return FC_OK;
}

static enum fc_status host_fma_peak(struct fc_device *device, enum fc_dtype dtype,
                                    double *out_flops, struct fc_error *err)
{
    struct host *host = host_of(device);
    return fc_host_fma_peak(host->crew, dtype, FMA_NS, host->rate, out_flops, err);
}

static enum fc_status host_fill(struct fc_device *device, struct fc_stream *stream,
                                void *dst, size_t count, enum fc_dtype dtype,
                                struct fc_pattern pattern, struct fc_error *err)
{
    (void)stream;
    return fc_host_fill(host_of(device)->crew, dst, count, dtype, pattern, err);
}

static enum fc_status host_compare(struct fc_device *device, struct fc_stream *stream,
                                   const void *data, size_t count, enum fc_dtype dtype,
                                   struct fc_pattern pattern, struct fc_mismatch *out,
                                   struct fc_error *err)
{
    (void)stream;
    return fc_host_compare(host_of(device)->crew, data, count, dtype, pattern, out,
                           err);
}

static enum fc_status host_gemm(struct fc_device *device, struct fc_stream *stream,
                                const struct fc_gemm *gemm, struct fc_error *err)
{
    (void)stream;
    return fc_host_gemm(host_of(device)->crew, gemm, err);
}

static enum fc_status host_axpy(struct fc_device *device, struct fc_stream *stream,
                                void *y, const void *x, size_t count,
                                enum fc_dtype dtype, double alpha, struct fc_error *err)
{
    (void)stream;
    return fc_host_axpy(host_of(device)->crew, y, x, count, dtype, alpha, err);
}

static void host_close(struct fc_device *device)
{
    if (!device)
        return;
    struct host *host = host_of(device);
    fc_crew_close(host->crew);
    free(host->rate);
    free(host);
}

static const struct fc_device_ops host_ops = {
    .info = host_info,
    .alloc = host_alloc,
    .free = host_free,
    .stream_open = host_stream_open,
    .stream_close = host_stream_close,
    .stream_poll = host_stream_poll,
    .event_open = host_event_open,
    .event_close = host_event_close,
    .event_record = host_event_record,
    .event_elapsed = host_event_elapsed,
    .copy = host_copy,
    .fill = host_fill,
    .compare = host_compare,
    .gemm = host_gemm,
    .axpy = host_axpy,
    .fma_peak = host_fma_peak,
    .stream_peak = host_stream_peak,
    .close = host_close,
};

enum fc_status fc_host_open(const struct fc_host_cores *cores, struct fc_device **out,
                            struct fc_error *err)
{
    cpu_set_t own;
    struct host *host = calloc(1, sizeof *host);
    double *rate = calloc((size_t)cores->count, sizeof *rate);
    if (!host || !rate) {
        free(host);
        free(rate);
        return fc_fail(err, FC_NOMEM, "host device: out of memory");
    }
    host->base.ops = &host_ops;
    host->rate = rate;
    host->memory_cores = cores->memory_cores;
    host->machine_cores = fc_host_machine_cores("");
    host->first_cpu = cores->cpu[0];
    host->shares = cores->shares < 1 ? 1 : cores->shares;
    enum fc_status status = fc_crew_open(cores->cpu, cores->count, &host->crew, err);
    if (status == FC_OK)
        status = fc_host_blas_open(host->crew, host->blas, sizeof host->blas, err);
    if (status != FC_OK) {
        host_close(&host->base);
        return status;
    }
    CPU_ZERO(&own);
    for (int i = 0; i < cores->count; i++)
        if (cores->cpu[i] >= 0 && cores->cpu[i] < CPU_SETSIZE)
            CPU_SET((size_t)cores->cpu[i], &own);
    host->cache_bytes = fc_host_cache_bytes("", &own);
    fc_host_cpu_name("", host->name, sizeof host->name);
    *out = &host->base;
    return FC_OK;
}

/* Empty when the kernel knows more CPUs than a cpu_set_t holds. */
static void affinity_cores(cpu_set_t *out)
{
    cpu_set_t mask;
    CPU_ZERO(out);
    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        fc_host_cores("", &mask, out);
}

void fc_device_host_cores(int share, int shares, cpu_set_t *out)
{
    cpu_set_t cores;
    affinity_cores(&cores);
    fc_host_share(&cores, share, shares, out);
}

enum fc_status fc_device_host_open(int share, int shares, struct fc_device **out,
                                   struct fc_error *err)
{
    cpu_set_t all, own;
    int cpu[CPU_SETSIZE] = {-1}; /* unpinned */
    struct fc_host_cores cores = {.cpu = cpu, .shares = shares};
    affinity_cores(&all);
    fc_host_share(&all, share, shares, &own);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &own))
            cpu[cores.count++] = i;
    cores.count = cores.count ? cores.count : 1;
    cores.memory_cores = CPU_COUNT(&all) ? CPU_COUNT(&all) : 1;
    return fc_host_open(&cores, out, err);
}
