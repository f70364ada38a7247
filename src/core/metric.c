// SPDX-License-Identifier: BSD-3-Clause
#include "core/metric.h"

#include <string.h>

#define HIGHER true
#define LOWER false
#define FC_METRIC(name_, unit_, better_, probe_, help_)                                \
    {.name = name_,                                                                    \
     .unit = unit_,                                                                    \
     .higher_is_better = better_,                                                      \
     .probe = probe_,                                                                  \
     .help = help_},
static const struct fc_metric metrics[] = {
#include "core/metrics.def"
};

size_t fc_metric_count(void)
{
    return sizeof metrics / sizeof *metrics;
}

const struct fc_metric *fc_metric_at(size_t i)
{
    return i < fc_metric_count() ? &metrics[i] : NULL;
}

const struct fc_metric *fc_metric_find(const char *name)
{
    for (size_t i = 0; name && i < fc_metric_count(); i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}
