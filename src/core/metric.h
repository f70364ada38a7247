// SPDX-License-Identifier: BSD-3-Clause
/* The metric catalogue: every metric that a record may carry, defined once in
 * metrics.def. Collective: no. Refuses to know: floors and effects (the judge's). */
#ifndef FC_CORE_METRIC_H
#define FC_CORE_METRIC_H

#include <stdbool.h>
#include <stddef.h>

struct fc_metric {
    const char *name; /* "device.mem_bw" */
    const char *unit; /* "GB/s" (decimal), "TFLOP/s", "s" */
    bool higher_is_better;
    const char *probe; /* the probe that measures it */
    const char *help;  /* one sentence */
};

size_t fc_metric_count(void);
const struct fc_metric *fc_metric_at(size_t i);
/* NULL when there is none of that name. */
const struct fc_metric *fc_metric_find(const char *name);

#endif
