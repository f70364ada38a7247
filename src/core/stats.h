// SPDX-License-Identifier: BSD-3-Clause
/* Robust statistics of one sample.
 *
 * The score of a measurement is the median; the interval is nonparametric: the order
 * statistics floor((n - 1.96 sqrt n)/2) and ceil(1 + (n + 1.96 sqrt n)/2) (1-based,
 * kept inside 1..n) hold the median with 95 %. Scale is 1.4826 MAD. Collective: no.
 * Refuses to know: what was measured.
 */
#ifndef FC_CORE_STATS_H
#define FC_CORE_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct fc_summary {
    size_t n; /* finite samples used */
    double median, min, max, p99, mad, lo, hi;
};

/* Summarises `x[0..n)`, in any order, which is left as it is. NaN and infinite samples
 * are counted in *out_bad (may be NULL) and not used. With no finite sample every field
 * but n is NaN. False only when memory is short. */
bool fc_summarize(const double *x, size_t n, struct fc_summary *out, size_t *out_bad);

/* The same for a sample that is sorted and finite already; n may be 0. Allocates
 * nothing, so that it can stand inside a measuring loop. */
void fc_summarize_sorted(const double *sorted, size_t n, struct fc_summary *out);

/* On a sorted array, n > 0. Linear interpolation between order statistics (Hyndman-Fan
 * type 7), 0 <= q <= 1. */
double fc_quantile_sorted(const double *sorted, size_t n, double q);

/* Sorts `x` in place (must be finite), returns its median; n > 0. */
double fc_median_in_place(double *x, size_t n);

/* The value with `rank` (from 0) smaller or equal ones before it, and the median, in
 * time linear in n; both reorder `x`, which must be finite; rank < n. */
double fc_select(double *x, size_t n, size_t rank);
double fc_select_median(double *x, size_t n);

/* Median of |x - centre|; `scratch` has room for n. */
double fc_mad(const double *x, size_t n, double centre, double *scratch);

/* Half the interval's width over the median: 0.02 means within 2 %. Infinite when the
 * median is 0 or n < 2. */
double fc_summary_precision(const struct fc_summary *s);

#endif
