// SPDX-License-Identifier: BSD-3-Clause
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_doubles(double *x, size_t n)
{
    if (n > 1)
        qsort(x, n, sizeof *x, compare_doubles);
}

double fc_quantile_sorted(const double *sorted, size_t n, double q)
{
    double at = (double)(n - 1) * q;
    size_t i = at > 0.0 ? (size_t)at : 0;
    if (i >= n - 1)
        return sorted[n - 1];
    double low = sorted[i], high = sorted[i + 1], share = at - (double)i;
    if (share <= 0.0 || !(low < high))
        return low;
    /* Weighted, not low + share * (high - low): the difference may overflow. */
    double value = (1.0 - share) * low + share * high;
    return fmin(fmax(value, low), high);
}

double fc_median_in_place(double *x, size_t n)
{
    sort_doubles(x, n);
    return fc_quantile_sorted(x, n, 0.5);
}

/* Hoare's quickselect. What is left of [low, high] holds the value of that rank; the
 * middle one as pivot keeps sorted input linear. */
double fc_select(double *x, size_t n, size_t rank)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = x[low + (high - low) / 2];
        size_t i = low, k = high;
        while (i <= k) {
            while (x[i] < pivot)
                i++;
            while (x[k] > pivot)
                k--;
            if (i > k)
                break;
            double swap = x[i];
            x[i++] = x[k];
            x[k] = swap;
            if (k-- == 0)
                break;
        }
        if (i <= rank)
            low = i;
        else if (k + 1 > rank && k < high)
            high = k;
        else
            break;
    }
    return x[rank];
}

double fc_select_median(double *x, size_t n)
{
    double upper = fc_select(x, n, n / 2), lower = x[0];
    if (n % 2)
        return upper;
    for (size_t i = 1; i < n / 2; i++)
        lower = fmax(lower, x[i]);
    return 0.5 * lower + 0.5 * upper;
}

double fc_mad(const double *x, size_t n, double centre, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(x[i] - centre);
    return fc_median_in_place(scratch, n);
}

/* Median of |sorted[i] - centre|, without scratch: seen from the centre the values
 * below and above it are two lists of growing distances, merged as far as the middle.
 */
static double mad_sorted(const double *sorted, size_t n, double centre)
{
    size_t right = 0;
    while (right < n && sorted[right] < centre)
        right++;
    size_t left = right; /* sorted[left - 1] is the next one below */
    double before = 0.0, last = 0.0;
    for (size_t taken = 0; taken <= n / 2; taken++) {
        before = last;
        double below = left > 0 ? centre - sorted[left - 1] : HUGE_VAL;
        double above = right < n ? sorted[right] - centre : HUGE_VAL;
        if (right == n || (left > 0 && below < above)) {
            last = below;
            left--;
        } else {
            last = above;
            right++;
        }
    }
    return n % 2 ? last : 0.5 * before + 0.5 * last;
}

/* The value of 1-based rank `rank`, kept inside the sample. */
static double order_statistic(const double *sorted, size_t n, double rank)
{
    if (rank < 1.0)
        return sorted[0];
    return rank < (double)n ? sorted[(size_t)rank - 1] : sorted[n - 1];
}

void fc_summarize_sorted(const double *sorted, size_t n, struct fc_summary *out)
{
    if (n == 0) {
        *out = (struct fc_summary){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        return;
    }
    double count = (double)n, reach = 1.96 * sqrt(count);
    double median = fc_quantile_sorted(sorted, n, 0.5);
    *out = (struct fc_summary){
        .n = n,
        .median = median,
        .min = sorted[0],
        .max = sorted[n - 1],
        .p99 = fc_quantile_sorted(sorted, n, 0.99),
        .mad = mad_sorted(sorted, n, median),
        .lo = order_statistic(sorted, n, floor((count - reach) / 2.0)),
        .hi = order_statistic(sorted, n, ceil(1.0 + (count + reach) / 2.0)),
    };
}

bool fc_summarize(const double *x, size_t n, struct fc_summary *out, size_t *out_bad)
{
    double *finite = NULL;
    size_t used = 0;
    if (n > 0) {
        finite = calloc(n, sizeof *finite);
        if (!finite)
            return false;
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            finite[used++] = x[i];
    sort_doubles(finite, used);
    fc_summarize_sorted(finite, used, out);
    free(finite);
    if (out_bad)
        *out_bad = n - used;
    return true;
}

double fc_summary_precision(const struct fc_summary *s)
{
    double centre = fabs(s->median);
    if (s->n < 2 || !(centre > 0.0))
        return INFINITY;
    return (0.5 * s->hi - 0.5 * s->lo) / centre;
}
