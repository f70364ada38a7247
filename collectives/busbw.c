// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/busbw.h"

double fc_algbw_GBps(size_t bytes, double seconds)
{
    return (double)bytes / seconds / 1e9;
}

/* nccl-tests, doc/PERFORMANCE.md: what the hardware has to move, so that the value does
 * not depend on the number of ranks. */
static double factor(enum fc_coll op, int n)
{
    switch (op) {
    case FC_COLL_ALL_REDUCE:
        return 2.0 * (n - 1) / n;
    case FC_COLL_ALL_GATHER:
    case FC_COLL_REDUCE_SCATTER:
    case FC_COLL_ALLTOALL:
    case FC_COLL_GATHER:
    case FC_COLL_SCATTER:
        return (double)(n - 1) / n;
    case FC_COLL_BROADCAST:
    case FC_COLL_REDUCE:
    case FC_COLL_SENDRECV:
        return 1;
    case FC_COLL_COUNT:
        break;
    }
    return 0;
}

double fc_busbw_GBps(enum fc_coll op, size_t bytes, double seconds, int n)
{
    return fc_algbw_GBps(bytes, seconds) * factor(op, n);
}
