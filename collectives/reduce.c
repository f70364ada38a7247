// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce.h"

#include <stdint.h>

typedef void reduce_fn(void *dst, const void *a, const void *b, size_t count);

/* The caches, not the code, should set the pace: the widest vectors that this processor
 * has, chosen when the program starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FAST                                                                           \
    __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#else
#define FAST
#endif

/* One loop each, so that the compiler makes vectors of it. `wide` is the type that the
 * operation is done in: unsigned for integers, whose overflow wraps. */
#define LOOP(name, type, expression)                                                   \
    FAST static void name(void *dst, const void *a, const void *b, size_t count)       \
    {                                                                                  \
        type *out = dst;                                                               \
        const type *left = a, *right = b;                                              \
        for (size_t i = 0; i < count; i++) {                                           \
            type x = left[i], y = right[i];                                            \
            out[i] = (type)(expression);                                               \
        }                                                                              \
    }

LOOP(sum_fp32, float, x + y)
LOOP(prod_fp32, float, x *y)
LOOP(min_fp32, float, x < y ? x : y)
LOOP(max_fp32, float, x > y ? x : y)
LOOP(sum_fp64, double, x + y)
LOOP(prod_fp64, double, x *y)
LOOP(min_fp64, double, x < y ? x : y)
LOOP(max_fp64, double, x > y ? x : y)
LOOP(sum_int32, int32_t, (uint32_t)x + (uint32_t)y)
LOOP(prod_int32, int32_t, (uint32_t)x *(uint32_t)y)
LOOP(min_int32, int32_t, x < y ? x : y)
LOOP(max_int32, int32_t, x > y ? x : y)
LOOP(sum_int8, int8_t, (unsigned)x + (unsigned)y)
LOOP(prod_int8, int8_t, (unsigned)x *(unsigned)y)
LOOP(min_int8, int8_t, x < y ? x : y)
LOOP(max_int8, int8_t, x > y ? x : y)

#define BF16(x) fc_bf16_to_fp32(x)
#define TO_BF16(value) fc_bf16_from((double)(value))
LOOP(sum_bf16, uint16_t, TO_BF16(BF16(x) + BF16(y)))
LOOP(prod_bf16, uint16_t, TO_BF16(BF16(x) * BF16(y)))
LOOP(min_bf16, uint16_t, BF16(x) < BF16(y) ? x : y)
LOOP(max_bf16, uint16_t, BF16(x) > BF16(y) ? x : y)

/* AVG is the sum until fc_reduce_divide. */
static reduce_fn *const table[FC_DTYPE_COUNT][FC_REDOP_COUNT] = {
    [FC_DTYPE_FP32] = {sum_fp32, prod_fp32, min_fp32, max_fp32, sum_fp32},
    [FC_DTYPE_FP64] = {sum_fp64, prod_fp64, min_fp64, max_fp64, sum_fp64},
    [FC_DTYPE_BF16] = {sum_bf16, prod_bf16, min_bf16, max_bf16, sum_bf16},
    [FC_DTYPE_INT32] = {sum_int32, prod_int32, min_int32, max_int32, sum_int32},
    [FC_DTYPE_INT8] = {sum_int8, prod_int8, min_int8, max_int8, sum_int8},
};

bool fc_reduce_supports(enum fc_dtype dtype)
{
    return table[dtype][FC_REDOP_SUM] != NULL;
}

void fc_reduce(enum fc_dtype dtype, enum fc_redop redop, void *dst, const void *a,
               const void *b, size_t count)
{
    table[dtype][redop](dst, a, b, count);
}

#define DIVIDE(type, expression)                                                       \
    for (size_t i = 0; i < count; i++) {                                               \
        type y = ((type *)x)[i];                                                       \
        ((type *)x)[i] = (type)(expression);                                           \
    }                                                                                  \
    break

void fc_reduce_divide(enum fc_dtype dtype, void *x, size_t count, int n)
{
    switch (dtype) {
    case FC_DTYPE_FP32:
        DIVIDE(float, y / (float)n);
    case FC_DTYPE_FP64:
        DIVIDE(double, y / (double)n);
    case FC_DTYPE_BF16:
        DIVIDE(uint16_t, TO_BF16(BF16(y) / (float)n));
    case FC_DTYPE_INT32:
        DIVIDE(int32_t, y / n);
    case FC_DTYPE_INT8:
        DIVIDE(int8_t, y / n);
    default:
        break;
    }
}
