// SPDX-License-Identifier: BSD-3-Clause
/* Bandwidth of collectives, as nccl-tests defines it. Collective: no.
 * busbw = algbw * factor, algbw = bytes / time, bytes as in fc_coll_shape. */
#ifndef FC_COLLECTIVES_BUSBW_H
#define FC_COLLECTIVES_BUSBW_H

#include "collectives/comm.h"

/* Decimal GB/s; `seconds` > 0. With n = 1 the factors with n - 1 give 0: nothing
 * crosses a bus. */
double fc_algbw_GBps(size_t bytes, double seconds);
double fc_busbw_GBps(enum fc_coll op, size_t bytes, double seconds, int n);

#endif
