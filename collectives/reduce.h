// SPDX-License-Identifier: BSD-3-Clause
/* Reductions of two arrays on the host: what MPI does not have (bfloat16) and what the
 * node-aware communicator does in shared memory. Element by element, so that the result
 * depends on the operands and not on how an array is cut. Collective: no. */
#ifndef FC_COLLECTIVES_REDUCE_H
#define FC_COLLECTIVES_REDUCE_H

#include "collectives/comm.h"

/* True for what the two functions below can do: fp32, fp64, bf16, int32, int8. */
bool fc_reduce_supports(enum fc_dtype dtype);

/* dst[i] = a[i] redop b[i]; AVG adds. dst may be a or b. Integers wrap around. */
void fc_reduce(enum fc_dtype dtype, enum fc_redop redop, void *dst, const void *a,
               const void *b, size_t count);

/* x[i] /= n: what AVG does once all are added. Integers round towards zero. */
void fc_reduce_divide(enum fc_dtype dtype, void *x, size_t count, int n);

#endif
