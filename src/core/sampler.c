// SPDX-License-Identifier: BSD-3-Clause
#include "core/sampler.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum fc_status fc_sampler_open(struct fc_sampler *s, size_t min, size_t max,
                               double tolerance, uint64_t budget_ns,
                               struct fc_error *err)
{
    if (min < 1 || min > max)
        return fc_fail(err, FC_USAGE, "sampler: %zu to %zu samples is no range", min,
                       max);
    if (!(tolerance >= 0.0))
        return fc_fail(err, FC_USAGE,
                       "sampler: the tolerance is below 0 or not a number");
    double *x = calloc(max, 2 * sizeof *x); /* in order of time, then sorted */
    if (!x)
        return fc_fail(err, FC_NOMEM, "sampler: no memory for %zu samples", max);
    *s = (struct fc_sampler){
        .x = x,
        .sorted = x + max,
        .min = min,
        .max = max,
        .tolerance = tolerance,
        .budget_ns = budget_ns,
    };
    fc_sampler_reset(s);
    return FC_OK;
}

void fc_sampler_reset(struct fc_sampler *s)
{
    s->n = 0;
    s->start_ns = fc_now_ns();
}

void fc_sampler_add(struct fc_sampler *s, double value)
{
    if (s->n >= s->max)
        return;
    s->x[s->n] = value;
    /* What is no number sorts last, where the summary leaves it out. */
    double key = isfinite(value) ? value : HUGE_VAL;
    size_t at = s->n;
    while (at > 0 && s->sorted[at - 1] > key)
        at--;
    memmove(s->sorted + at + 1, s->sorted + at, (s->n - at) * sizeof *s->sorted);
    s->sorted[at] = key;
    s->n++;
}

static size_t finite_samples(const struct fc_sampler *s)
{
    size_t n = s->n;
    while (n > 0 && !isfinite(s->sorted[n - 1]))
        n--;
    return n;
}

bool fc_sampler_wants_more(const struct fc_sampler *s)
{
    if (s->n >= s->max)
        return false;
    if (s->n < s->min)
        return true;
    if (s->budget_ns != 0 && fc_now_ns() - s->start_ns >= s->budget_ns)
        return false;
    struct fc_summary sum;
    fc_sampler_summary(s, &sum);
    return sum.n < s->min || !(fc_summary_precision(&sum) <= s->tolerance);
}

void fc_sampler_summary(const struct fc_sampler *s, struct fc_summary *out)
{
    fc_summarize_sorted(s->sorted, finite_samples(s), out);
}

void fc_sampler_close(struct fc_sampler *s)
{
    if (!s)
        return;
    free(s->x);
    *s = (struct fc_sampler){.x = NULL};
}
