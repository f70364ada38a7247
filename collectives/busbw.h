// SPDX-License-Identifier: BSD-3-Clause
/* Bandwidth of collectives, as nccl-tests defines it. Collective: no.
 * busbw = algbw * factor, algbw = bytes / time; all-reduce: 2(n-1)/n. */
#ifndef FC_COLLECTIVES_BUSBW_H
#define FC_COLLECTIVES_BUSBW_H

#include "collectives/comm.h"

/* Decimal GB/s; `seconds` > 0. 0 when n = 1: nothing crosses a bus. */
double fc_algbw_GBps(size_t bytes, double seconds);
double fc_busbw_GBps(enum fc_coll op, size_t bytes, double seconds, int n);

#endif
