// SPDX-License-Identifier: BSD-3-Clause
#include "device/host_data.h"

#include "device/host_peak.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Members' parts begin at cache lines. */
enum { LINE_BYTES = 64 };

static size_t mapped_bytes(size_t bytes)
{
    size_t page = bytes >= HUGE_PAGE ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
    return bytes ? (bytes + page - 1) / page * page : page;
}

/* Maps `bytes` (a multiple of HUGE_PAGE when that large) at a multiple of HUGE_PAGE. */
static void *map(size_t bytes)
{
    bool huge = bytes >= HUGE_PAGE;
    size_t whole = bytes + (huge ? HUGE_PAGE : 0);
    char *base = whole < bytes
                     ? MAP_FAILED
                     : mmap(NULL, whole, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED || !huge)
        return base;
    size_t before = (size_t)(-(uintptr_t)base & (HUGE_PAGE - 1));
    if (before)
        (void)munmap(base, before);
    (void)munmap(base + before + bytes, HUGE_PAGE - before);
    (void)madvise(base + before, bytes, MADV_HUGEPAGE);
    return base + before;
}

static void touch(void *arg, size_t begin, size_t end)
{
    memset((char *)arg + begin, 0, end - begin);
}

void *fc_host_map(struct fc_crew *crew, size_t bytes)
{
    void *at = map(mapped_bytes(bytes));
    if (at == MAP_FAILED)
        return NULL;
    fc_crew_for(crew, bytes, LINE_BYTES, touch, at);
    return at;
}

void fc_host_unmap(void *at, size_t bytes)
{
    if (at)
        (void)munmap(at, mapped_bytes(bytes));
}

struct copy_job {
    char *dst;
    const char *src;
};

static void copy_cached(void *arg, size_t begin, size_t end)
{
    const struct copy_job *job = arg;
    memcpy(job->dst + begin, job->src + begin, end - begin);
}

static void copy_streamed(void *arg, size_t begin, size_t end)
{
    const struct copy_job *job = arg;
    fc_host_stream_copy(job->dst + begin, job->src + begin, end - begin);
}

void fc_host_copy(struct fc_crew *crew, void *dst, const void *src, size_t bytes,
                  bool streamed)
{
    struct copy_job job = {.dst = dst, .src = src};
    fc_crew_for(crew, bytes, LINE_BYTES, streamed ? copy_streamed : copy_cached, &job);
}

struct axpy_job {
    void *y;
    const void *x;
    double alpha;
};

static void axpy_fp32(void *arg, size_t begin, size_t end)
{
    const struct axpy_job *job = arg;
    float *y = job->y;
    const float *x = job->x, alpha = (float)job->alpha;
    for (size_t i = begin; i < end; i++)
        y[i] += alpha * x[i];
}

static void axpy_fp64(void *arg, size_t begin, size_t end)
{
    const struct axpy_job *job = arg;
    double *y = job->y;
    const double *x = job->x, alpha = job->alpha;
    for (size_t i = begin; i < end; i++)
        y[i] += alpha * x[i];
}

enum fc_status fc_host_axpy(struct fc_crew *crew, void *y, const void *x, size_t count,
                            enum fc_dtype dtype, double alpha, struct fc_error *err)
{
    struct axpy_job job = {.y = y, .x = x, .alpha = alpha};
    if (dtype != FC_DTYPE_FP32 && dtype != FC_DTYPE_FP64)
        return fc_fail(err, FC_UNSUPPORTED,
                       "host device: no axpy of %s, only fp32 and fp64",
                       fc_dtype_name(dtype));
    fc_crew_for(crew, count, LINE_BYTES / fc_dtype_bytes(dtype),
                dtype == FC_DTYPE_FP32 ? axpy_fp32 : axpy_fp64, &job);
    return FC_OK;
}

static enum fc_status supported(enum fc_dtype dtype, struct fc_error *err)
{
    switch (dtype) {
    case FC_DTYPE_FP32:
    case FC_DTYPE_FP64:
    case FC_DTYPE_BF16:
    case FC_DTYPE_INT32:
    case FC_DTYPE_INT8:
        return FC_OK;
    default:
        return fc_fail(err, FC_UNSUPPORTED,
                       "host device: no %s, only fp32, fp64, bf16, int32 and int8",
                       fc_dtype_name(dtype));
    }
}

struct fill_job {
    void *dst;
    struct fc_pattern pattern;
};

/* One element from a pattern's value: integers keep their low bits, as overflow would.
 */
static float to_fp32(double value)
{
    return (float)value;
}

static double to_fp64(double value)
{
    return value;
}

static int32_t to_int32(double value)
{
    return (int32_t)(uint32_t)(uint64_t)(int64_t)value;
}

static int8_t to_int8(double value)
{
    return (int8_t)(uint8_t)(uint64_t)(int64_t)value;
}

/* Fill and compare of one element type; both read the pattern and no other memory. */
#define FC_DATA_LOOPS(name, type, from_value, to_double)                               \
    static void fill_##name(void *arg, size_t begin, size_t end)                       \
    {                                                                                  \
        const struct fill_job *job = arg;                                              \
        type *x = job->dst;                                                            \
        for (size_t i = begin; i < end; i++)                                           \
            x[i] = from_value(fc_pattern_value(job->pattern, i));                      \
    }                                                                                  \
    static void compare_##name(void *arg, size_t begin, size_t end)                    \
    {                                                                                  \
        struct compare_job *job = arg;                                                 \
        const type *x = job->data;                                                     \
        struct fc_mismatch part = {.wrong = 0};                                        \
        for (size_t i = begin; i < end; i++) {                                         \
            type want = from_value(fc_pattern_value(job->pattern, i));                 \
            if (memcmp(&want, &x[i], sizeof want) != 0)                                \
                note(&part, i, to_double(want), to_double(x[i]));                      \
        }                                                                              \
        merge(job, part);                                                              \
    }

struct compare_job {
    const void *data;
    struct fc_pattern pattern;
    pthread_mutex_t lock;
    struct fc_mismatch found;
};

static void merge(struct compare_job *job, struct fc_mismatch part)
{
    if (!part.wrong)
        return;
    pthread_mutex_lock(&job->lock);
    uint64_t wrong = job->found.wrong + part.wrong;
    if (!job->found.wrong || part.first < job->found.first)
        job->found = part;
    job->found.wrong = wrong;
    pthread_mutex_unlock(&job->lock);
}

static void note(struct fc_mismatch *part, size_t i, double expected, double found)
{
    if (part->wrong++ == 0)
        *part = (struct fc_mismatch){1, i, expected, found};
}

#define FC_AS_DOUBLE(x) ((double)(x))
FC_DATA_LOOPS(fp32, float, to_fp32, FC_AS_DOUBLE)
FC_DATA_LOOPS(fp64, double, to_fp64, FC_AS_DOUBLE)
FC_DATA_LOOPS(bf16, uint16_t, fc_bf16_from, fc_bf16_value)
FC_DATA_LOOPS(int32, int32_t, to_int32, FC_AS_DOUBLE)
FC_DATA_LOOPS(int8, int8_t, to_int8, FC_AS_DOUBLE)

static const struct {
    fc_crew_part_fn fill, compare;
} loops[FC_DTYPE_COUNT] = {
    [FC_DTYPE_FP32] = {fill_fp32, compare_fp32},
    [FC_DTYPE_FP64] = {fill_fp64, compare_fp64},
    [FC_DTYPE_BF16] = {fill_bf16, compare_bf16},
    [FC_DTYPE_INT32] = {fill_int32, compare_int32},
    [FC_DTYPE_INT8] = {fill_int8, compare_int8},
};

enum fc_status fc_host_fill(struct fc_crew *crew, void *dst, size_t count,
                            enum fc_dtype dtype, struct fc_pattern pattern,
                            struct fc_error *err)
{
    struct fill_job job = {.dst = dst, .pattern = pattern};
    enum fc_status status = supported(dtype, err);
    if (status != FC_OK)
        return status;
    fc_crew_for(crew, count, LINE_BYTES / fc_dtype_bytes(dtype), loops[dtype].fill,
                &job);
    return FC_OK;
}

enum fc_status fc_host_compare(struct fc_crew *crew, const void *data, size_t count,
                               enum fc_dtype dtype, struct fc_pattern pattern,
                               struct fc_mismatch *out, struct fc_error *err)
{
    struct compare_job job = {
        .data = data, .pattern = pattern, .lock = PTHREAD_MUTEX_INITIALIZER};
    enum fc_status status = supported(dtype, err);
    if (status != FC_OK)
        return status;
    fc_crew_for(crew, count, LINE_BYTES / fc_dtype_bytes(dtype), loops[dtype].compare,
                &job);
    *out = job.found;
    return FC_OK;
}
