// SPDX-License-Identifier: BSD-3-Clause
#include "core/dtype.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[FC_DTYPE_COUNT] = {
    [FC_DTYPE_FP32] = {"fp32", 4},   [FC_DTYPE_FP64] = {"fp64", 8},
    [FC_DTYPE_TF32] = {"tf32", 4},   [FC_DTYPE_BF16] = {"bf16", 2},
    [FC_DTYPE_FP16] = {"fp16", 2},   [FC_DTYPE_FP8] = {"fp8", 1},
    [FC_DTYPE_INT32] = {"int32", 4}, [FC_DTYPE_INT8] = {"int8", 1},
};

const char *fc_dtype_name(enum fc_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t fc_dtype_bytes(enum fc_dtype dtype)
{
    return dtypes[dtype].bytes;
}
