// SPDX-License-Identifier: BSD-3-Clause
/* The adaptive sampler: repeats a measurement until it is known well enough.
 *
 * It wants more until `min` samples are there and the 95 % interval of the median is
 * within +- `tolerance`, and never beyond `max` samples or `budget_ns` (checked after
 * `min`). No allocation between fc_sampler_open and fc_sampler_close. A collective loop
 * must agree on fc_sampler_wants_more before it goes on: the sampler is local.
 * Collective: no. Refuses to know: what is sampled, other ranks.
 */
#ifndef FC_CORE_SAMPLER_H
#define FC_CORE_SAMPLER_H

#include "core/stats.h"
#include "core/status.h"

#include <stdint.h>

struct fc_sampler {
    double *x;
    double *sorted; /* kept sorted, for the interval */
    size_t n, min, max;
    double tolerance;
    uint64_t start_ns, budget_ns;
};

enum { FC_SAMPLES_MIN = 5, FC_SAMPLES_MAX = 25 };
#define FC_SAMPLES_TOLERANCE 0.02

/* 1 <= min <= max; budget 0: none. */
enum fc_status fc_sampler_open(struct fc_sampler *s, size_t min, size_t max,
                               double tolerance, uint64_t budget_ns,
                               struct fc_error *err) FC_MUST_USE;
void fc_sampler_reset(struct fc_sampler *s);
void fc_sampler_add(struct fc_sampler *s, double value);
bool fc_sampler_wants_more(const struct fc_sampler *s);
void fc_sampler_summary(const struct fc_sampler *s, struct fc_summary *out);
void fc_sampler_close(struct fc_sampler *s);

#endif
