// SPDX-License-Identifier: BSD-3-Clause
/* Matrix products on the host: C is cut into a grid of blocks, and each member of a
 * crew multiplies one by a single-threaded CBLAS call. So threads stay pinned, and how
 * many cores work is ours to say, whatever the BLAS was built with. Collective: no.
 * Refuses to know: streams, memory's place, records. */
#ifndef FC_DEVICE_HOST_BLAS_H
#define FC_DEVICE_HOST_BLAS_H

#include "device/crew.h"
#include "device/device.h"

/* Makes the BLAS single-threaded for the members' calls and writes what it is.
 * FC_UNSUPPORTED when its calls may not overlap. */
enum fc_status fc_host_blas_open(struct fc_crew *crew, char *out_name,
                                 size_t name_bytes, struct fc_error *err) FC_MUST_USE;

/* The grid rows x columns = members that cuts an m x n matrix into the squarest blocks.
 */
void fc_host_grid(int members, int m, int n, int *out_rows, int *out_columns);

/* FC_UNSUPPORTED for other than fp32 and fp64, or an empty shape. */
enum fc_status fc_host_gemm(struct fc_crew *crew, const struct fc_gemm *gemm,
                            struct fc_error *err) FC_MUST_USE;

#endif
