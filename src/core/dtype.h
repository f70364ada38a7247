// SPDX-License-Identifier: BSD-3-Clause
/* Element types, named as nccl-tests and GEMM users name them. */
#ifndef FC_CORE_DTYPE_H
#define FC_CORE_DTYPE_H

#include <stddef.h>

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

#endif
