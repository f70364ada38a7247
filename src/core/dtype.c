// SPDX-License-Identifier: BSD-3-Clause
#include "core/dtype.h"

static const struct {
    const char *name;
    size_t bytes;
    const char *nccl; /* where nccl-tests has another name for it */
} dtypes[FC_DTYPE_COUNT] = {
    [FC_DTYPE_FP32] = {"fp32", 4, "float"}, [FC_DTYPE_FP64] = {"fp64", 8, "double"},
    [FC_DTYPE_TF32] = {"tf32", 4},          [FC_DTYPE_BF16] = {"bf16", 2, "bfloat16"},
    [FC_DTYPE_FP16] = {"fp16", 2, "half"},  [FC_DTYPE_FP8] = {"fp8", 1},
    [FC_DTYPE_INT32] = {"int32", 4},        [FC_DTYPE_INT8] = {"int8", 1},
};

const char *fc_dtype_name(enum fc_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t fc_dtype_bytes(enum fc_dtype dtype)
{
    return dtypes[dtype].bytes;
}

enum fc_dtype fc_dtype_find(const char *name)
{
    for (int i = 0; i < FC_DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0 ||
            (dtypes[i].nccl && strcmp(name, dtypes[i].nccl) == 0))
            return (enum fc_dtype)i;
    return FC_DTYPE_COUNT;
}
