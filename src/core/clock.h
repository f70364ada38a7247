// SPDX-License-Identifier: BSD-3-Clause
/* Time: monotonic for measuring, RFC 3339 UTC for the journal. Collective: no. */
#ifndef FC_CORE_CLOCK_H
#define FC_CORE_CLOCK_H

#include <stdint.h>

#define FC_NS_PER_S UINT64_C(1000000000)
#define FC_NS_PER_MS UINT64_C(1000000)
#define FC_NS_PER_US UINT64_C(1000)

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t fc_now_ns(void);

/* Sleeps `ns`, or less when a signal arrives. */
void fc_sleep_ns(uint64_t ns);

/* "2026-01-31T12:00:00.123Z" into `out`. */
struct fc_timestamp {
    char text[32];
};
struct fc_timestamp fc_timestamp_now(void);

/* "20260131T120000Z": the form used in folder names. */
struct fc_timestamp fc_timestamp_compact(void);

#endif
