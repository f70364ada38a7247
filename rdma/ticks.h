// SPDX-License-Identifier: BSD-3-Clause
/* A clock that is cheap enough to be read at each ping: the CPU's time-stamp counter
 * where there is one, in ticks that the caller sets against fc_now_ns. Reading
 * CLOCK_MONOTONIC takes microseconds where the kernel distrusts that counter (guests).
 * Collective: no.
 */
#ifndef FC_RDMA_TICKS_H
#define FC_RDMA_TICKS_H

#include "core/clock.h"

static inline uint64_t fc_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return fc_now_ns();
#endif
}

#endif
