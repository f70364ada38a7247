// SPDX-License-Identifier: BSD-3-Clause
/* What the collectives probe measures at each level: series of one operation over
 * sizes. Pure. Collective: no. Refuses to know: communicators, time spent. */
#ifndef FC_COLLECTIVES_PLAN_H
#define FC_COLLECTIVES_PLAN_H

#include "collectives/comm.h"
#include "core/run.h"

/* One operation, type and reduction from min_bytes to max_bytes, in place and out of
 * place. */
struct fc_coll_series {
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop;
    uint64_t min_bytes, max_bytes;
    double factor;
    double seconds; /* for all its points */
};

enum { FC_COLL_SERIES_MAX = 64 };

/* The series of the settings' level, with its -b, -e and -f; `main` only: the
 * all-reduce that every communicator is judged by, else all. Returns how many were
 * written to out[FC_COLL_SERIES_MAX]. */
size_t fc_coll_plan(const struct fc_settings *settings, bool main,
                    struct fc_coll_series *out);

/* The size after `bytes`, or 0 after the last, which is exactly the maximum. */
uint64_t fc_coll_next_size(const struct fc_coll_series *series, uint64_t bytes);
unsigned fc_coll_count_sizes(const struct fc_coll_series *series);

#endif
