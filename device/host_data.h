// SPDX-License-Identifier: BSD-3-Clause
/* Memory and its contents on the host, each step shared out to a crew: mapping with
 * first touch, copies, patterns. Collective: no. Refuses to know: streams, BLAS,
 * records. */
#ifndef FC_DEVICE_HOST_DATA_H
#define FC_DEVICE_HOST_DATA_H

#include "device/crew.h"
#include "device/device.h"

/* Zeroed memory whose pages were first touched by the member that fc_crew_for gives
 * them to; huge pages are asked for. NULL with errno when it cannot be mapped. */
void *fc_host_map(struct fc_crew *crew, size_t bytes);
/* NULL-safe; `bytes` as mapped. */
void fc_host_unmap(void *at, size_t bytes);

/* Copies through the cache, or past it. */
void fc_host_copy(struct fc_crew *crew, void *dst, const void *src, size_t bytes,
                  bool streamed);

/* y += alpha * x, each product and sum rounded. FC_UNSUPPORTED for other than fp32 and
 * fp64. */
enum fc_status fc_host_axpy(struct fc_crew *crew, void *y, const void *x, size_t count,
                            enum fc_dtype dtype, double alpha,
                            struct fc_error *err) FC_MUST_USE;

/* FC_UNSUPPORTED for other than fp32, fp64, bf16, int32 and int8. */
enum fc_status fc_host_fill(struct fc_crew *crew, void *dst, size_t count,
                            enum fc_dtype dtype, struct fc_pattern pattern,
                            struct fc_error *err) FC_MUST_USE;
/* Compares as bits, so that a flipped sign of a zero is found, and NaN. */
enum fc_status fc_host_compare(struct fc_crew *crew, const void *data, size_t count,
                               enum fc_dtype dtype, struct fc_pattern pattern,
                               struct fc_mismatch *out,
                               struct fc_error *err) FC_MUST_USE;

#endif
