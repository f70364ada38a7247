// SPDX-License-Identifier: BSD-3-Clause
/* One loop body serves all widths: `acc = acc * m + a` on vector types. Where the
 * target has a fused multiply-add the compiler contracts it into one instruction
 * (-std=c17 forbids that by itself, hence the pragma); where it has none it is a
 * multiplication and an addition, which is then the machine's peak. Accumulators:
 * enough to cover latency times issue width (4 to 5 cycles, 2 a cycle), few enough to
 * stay in registers.
 */
#include "device/host_peak.h"

#include "core/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast")
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#define FC_X86 1
#else
#define FC_X86 0
#endif

enum { PASSES = 2000 };

/* Runs PASSES passes and returns the floating-point operations done. */
typedef double (*fma_fn)(double m, double a, double *out);

#define FMA_LOOP(name, attribute, type, width, accumulators)                           \
    attribute __attribute__((no_sanitize("address", "undefined"))) static double name( \
        double m_value, double a_value, double *out)                                   \
    {                                                                                  \
        typedef type vector __attribute__((vector_size(width)));                       \
        enum { LANES = (width) / sizeof(type) };                                       \
        vector acc[accumulators];                                                      \
        vector m = (vector){0} + (type)m_value, a = (vector){0} + (type)a_value;       \
        for (int i = 0; i < (accumulators); i++)                                       \
            acc[i] = a * (type)i;                                                      \
        for (int pass = 0; pass < PASSES; pass++)                                      \
            _Pragma("GCC unroll 32") for (int i = 0; i < (accumulators); i++) acc[i] = \
                acc[i] * m + a;                                                        \
        vector sum = acc[0];                                                           \
        for (int i = 1; i < (accumulators); i++)                                       \
            sum += acc[i];                                                             \
        *out = (double)sum[0];                                                         \
        return 2.0 * PASSES * (accumulators)*LANES;                                    \
    }

#if FC_X86
#define AVX512 __attribute__((target("avx512f,fma")))
#define AVX2 __attribute__((target("avx2,fma")))
FMA_LOOP(fma_avx512_fp32, AVX512, float, 64, 24)
FMA_LOOP(fma_avx512_fp64, AVX512, double, 64, 24)
FMA_LOOP(fma_avx2_fp32, AVX2, float, 32, 12)
FMA_LOOP(fma_avx2_fp64, AVX2, double, 32, 12)
FMA_LOOP(fma_base_fp32, , float, 16, 12)
FMA_LOOP(fma_base_fp64, , double, 16, 12)
#else
FMA_LOOP(fma_base_fp32, , float, 16, 24)
FMA_LOOP(fma_base_fp64, , double, 16, 24)
#endif

struct variant {
    const char *name;
    fma_fn fp32, fp64;
};

static bool has_avx2(void)
{
#if FC_X86
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static bool has_avx512(void)
{
#if FC_X86
    return has_avx2() && __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

/* The widest is not always the fastest, but one without a fused instruction never is.
 */
static int variants(struct variant out[2])
{
    int n = 0;
#if FC_X86
    if (has_avx512())
        out[n++] = (struct variant){"AVX-512F", fma_avx512_fp32, fma_avx512_fp64};
    if (has_avx2())
        out[n++] = (struct variant){"AVX2", fma_avx2_fp32, fma_avx2_fp64};
#endif
    if (n == 0)
        out[n++] = (struct variant){"128-bit vectors", fma_base_fp32, fma_base_fp64};
    return n;
}

const char *fc_host_fma_names(void)
{
    if (has_avx512())
        return "AVX-512F, AVX2";
    return has_avx2() ? "AVX2" : "128-bit vectors";
}

struct fma_job {
    fma_fn loop;
    uint64_t ns;
    double *rate;
};

/* Boxed in time, so that a slow core does not hold up the rest. */
static void fma_member(void *arg, int member, int members)
{
    const struct fma_job *job = arg;
    (void)members;
    /* volatile: the compiler may not know what it multiplies, nor drop the result */
    volatile double m = 0.9375, a = 0.0625, sink = 0.0;
    double done = 0.0, result;
    uint64_t begin = fc_now_ns(), now;
    do {
        done += job->loop(m, a, &result);
        sink = result;
        now = fc_now_ns();
    } while (now - begin < job->ns);
    (void)sink;
    job->rate[member] = done * 1e9 / (double)(now - begin);
}

enum fc_status fc_host_fma_peak(struct fc_crew *crew, enum fc_dtype dtype, uint64_t ns,
                                double *rate, double *out_flops, struct fc_error *err)
{
    struct variant variant[2];
    double best = 0.0;
    if (dtype != FC_DTYPE_FP32 && dtype != FC_DTYPE_FP64)
        return fc_fail(err, FC_UNSUPPORTED, "host device: no %s arithmetic",
                       fc_dtype_name(dtype));
    int n = variants(variant);
    for (int i = 0; i < n; i++) {
        struct fma_job job = {
            .loop = dtype == FC_DTYPE_FP32 ? variant[i].fp32 : variant[i].fp64,
            .ns = ns,
            .rate = rate,
        };
        double sum = 0.0;
        fc_crew_run(crew, fma_member, &job);
        for (int k = 0; k < fc_crew_size(crew); k++)
            sum += rate[k];
        best = sum > best ? sum : best;
    }
    *out_flops = best;
    return FC_OK;
}

#if FC_X86
const char *fc_host_stream_name(void)
{
    return "non-temporal stores";
}

/* 64 bytes a turn: one cache line's write-combining buffer is filled at once. */
void fc_host_stream_copy(void *dst, const void *src, size_t bytes)
{
    char *to = dst;
    const char *from = src;
    size_t head = (size_t)(-(uintptr_t)to & 63);
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    size_t at = head;
    for (; bytes - at >= 64; at += 64) {
        const __m128i *f = (const __m128i *)(const void *)(from + at);
        __m128i *t = (__m128i *)(void *)(to + at);
        __m128i x0 = _mm_loadu_si128(f), x1 = _mm_loadu_si128(f + 1);
        __m128i x2 = _mm_loadu_si128(f + 2), x3 = _mm_loadu_si128(f + 3);
        _mm_stream_si128(t, x0);
        _mm_stream_si128(t + 1, x1);
        _mm_stream_si128(t + 2, x2);
        _mm_stream_si128(t + 3, x3);
    }
    memcpy(to + at, from + at, bytes - at);
    _mm_sfence();
}
#else
const char *fc_host_stream_name(void)
{
    return "plain stores";
}

void fc_host_stream_copy(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}
#endif
