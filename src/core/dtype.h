// SPDX-License-Identifier: BSD-3-Clause
/* Element types, named as nccl-tests and GEMM users name them. */
#ifndef FC_CORE_DTYPE_H
#define FC_CORE_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum fc_dtype {
    FC_DTYPE_FP32,
    FC_DTYPE_FP64,
    FC_DTYPE_TF32,
    FC_DTYPE_BF16,
    FC_DTYPE_FP16,
    FC_DTYPE_FP8,
    FC_DTYPE_INT32,
    FC_DTYPE_INT8,
    FC_DTYPE_COUNT
};

/* "fp32", "bf16", …; static. */
const char *fc_dtype_name(enum fc_dtype dtype);

/* Bytes an element takes in memory (tf32 is stored as fp32). */
size_t fc_dtype_bytes(enum fc_dtype dtype);

/* FC_DTYPE_COUNT: no such name. Takes nccl-tests' names ("float", "double",
 * "bfloat16", "half") as well. */
enum fc_dtype fc_dtype_find(const char *name);

/* bfloat16 on a host that has no such type: the upper half of an fp32, rounded to the
 * nearest, ties to even; NaN stays NaN. */
static inline uint16_t fc_bf16_from(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (single != single)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float fc_bf16_to_fp32(uint16_t bf16)
{
    uint32_t bits = (uint32_t)bf16 << 16;
    float single;
    memcpy(&single, &bits, sizeof single);
    return single;
}

static inline double fc_bf16_value(uint16_t bf16)
{
    return (double)fc_bf16_to_fp32(bf16);
}

#endif
