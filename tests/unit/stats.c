// SPDX-License-Identifier: BSD-3-Clause
/* Statistics against references that are slow and plain: ranks by counting, the
 * interval's ranks from a table worked out by hand, its coverage by the binomial sum
 * and by simulation. */
#include "core/stats.h"
#include "core/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

enum { N_MAX = 200 };

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(1.0, fmax(fabs(a), fabs(b)));
}

/* The k-th smallest (1-based), by counting: the value with at most k-1 below it and at
 * least k not above it. */
static double kth(const double *x, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++) {
        size_t below = 0, not_above = 0;
        for (size_t j = 0; j < n; j++) {
            below += x[j] < x[i];
            not_above += x[j] <= x[i];
        }
        if (below < k && not_above >= k)
            return x[i];
    }
    return NAN;
}

static double slow_median(const double *x, size_t n)
{
    return (kth(x, n, (n + 1) / 2) + kth(x, n, n / 2 + 1)) / 2.0;
}

static double slow_mad(const double *x, size_t n)
{
    double d[N_MAX], centre = slow_median(x, n);
    for (size_t i = 0; i < n; i++)
        d[i] = fabs(x[i] - centre);
    return slow_median(d, n);
}

/* Samples of several shapes: plain, with ties, negative, with spikes. */
static void draw(struct fc_rng *rng, double *x, size_t n, unsigned shape)
{
    for (size_t i = 0; i < n; i++) {
        double u = fc_rng_unit(rng);
        if (shape == 0)
            x[i] = 100.0 * u;
        else if (shape == 1)
            x[i] = floor(5.0 * u);
        else if (shape == 2)
            x[i] = u - 0.5;
        else
            x[i] = u < 0.1 ? 1e6 : 10.0 + u;
    }
}

static void agrees_with_counting(void **state)
{
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 1);
    for (unsigned trial = 0; trial < 400; trial++) {
        double x[N_MAX], kept[N_MAX], scratch[N_MAX];
        size_t n = 1 + (size_t)fc_rng_below(&rng, trial < 200 ? 12 : 60), bad = 99;
        struct fc_summary s;
        draw(&rng, x, n, trial % 4);
        memcpy(kept, x, sizeof x);
        assert_true(fc_summarize(x, n, &s, &bad));
        assert_memory_equal(x, kept, n * sizeof *x); /* left as it was */
        assert_int_equal(bad, 0);
        assert_int_equal(s.n, n);
        assert_true(near(s.median, slow_median(x, n)));
        assert_true(near(s.mad, slow_mad(x, n)));
        assert_true(near(s.min, kth(x, n, 1)) && near(s.max, kth(x, n, n)));
        assert_true(near(fc_mad(x, n, s.median, scratch), s.mad));
        assert_true(s.lo <= s.median && s.median <= s.hi);
        assert_true(near(fc_median_in_place(kept, n), s.median));
        for (size_t i = 1; i < n; i++)
            assert_true(kept[i - 1] <= kept[i]);
    }
}

static void quantiles_are_type_7(void **state)
{
    /* Worked by hand: position (n-1) q, linear between neighbours. */
    const double x[] = {10, 20, 30, 40, 50}, y[] = {1, 3};
    double hundred[101];
    struct fc_summary s;
    (void)state;
    assert_true(near(fc_quantile_sorted(x, 5, 0.0), 10));
    assert_true(near(fc_quantile_sorted(x, 5, 0.1), 14));
    assert_true(near(fc_quantile_sorted(x, 5, 0.25), 20));
    assert_true(near(fc_quantile_sorted(x, 5, 0.9), 46));
    assert_true(near(fc_quantile_sorted(x, 5, 0.99), 49.6));
    assert_true(near(fc_quantile_sorted(x, 5, 1.0), 50));
    assert_true(near(fc_quantile_sorted(y, 2, 0.75), 2.5));
    assert_true(near(fc_quantile_sorted(y, 1, 0.3), 1));
    for (size_t i = 0; i < 101; i++)
        hundred[i] = (double)(100 - i);
    assert_true(fc_summarize(hundred, 101, &s, NULL));
    assert_true(near(s.p99, 99.0));
    assert_true(fc_summarize(x, 5, &s, NULL));
    assert_true(near(s.p99, 49.6));
}

static void interval_has_the_stated_ranks(void **state)
{
    /* floor((n - 1.96 sqrt n)/2) and ceil(1 + (n + 1.96 sqrt n)/2), inside 1..n. */
    static const struct {
        size_t n, lo, hi;
    } table[] = {
        {1, 1, 1},    {2, 1, 2},    {3, 1, 3},    {5, 1, 5},     {8, 1, 8},
        {9, 1, 9},    {10, 1, 10},  {11, 2, 10},  {16, 4, 13},   {25, 7, 19},
        {36, 12, 25}, {50, 18, 33}, {64, 24, 41}, {100, 40, 61}, {144, 60, 85},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double x[N_MAX];
        struct fc_summary s;
        for (size_t k = 0; k < table[i].n; k++)
            x[k] = (double)(table[i].n - k); /* rank = value */
        assert_true(fc_summarize(x, table[i].n, &s, NULL));
        if (!near(s.lo, (double)table[i].lo) || !near(s.hi, (double)table[i].hi))
            fail_msg("n %zu: ranks %g and %g", table[i].n, s.lo, s.hi);
    }
}

/* P(lo-th <= true median <= hi-th) of n: the binomial sum over lo..hi-1 of C(n,k)/2^n.
 */
static double coverage_by_sum(size_t n, size_t lo, size_t hi)
{
    double sum = 0.0;
    for (size_t k = lo; k < hi; k++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) -
                   lgamma((double)(n - k) + 1) - (double)n * log(2.0));
    return sum;
}

static void interval_covers_95_percent(void **state)
{
    enum { TRIALS = 20000 };
    static const struct {
        size_t n, lo, hi;
    } cases[] = {{25, 7, 19}, {50, 18, 33}, {100, 40, 61}};
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 2);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n = cases[c].n, held = 0;
        for (size_t trial = 0; trial < TRIALS; trial++) {
            double x[N_MAX];
            struct fc_summary s;
            for (size_t i = 0; i < n; i++) /* skewed: median log 2 */
                x[i] = -log(1.0 - fc_rng_unit(&rng));
            assert_true(fc_summarize(x, n, &s, NULL));
            held += s.lo <= log(2.0) && log(2.0) <= s.hi;
        }
        double seen = (double)held / TRIALS;
        double exact = coverage_by_sum(n, cases[c].lo, cases[c].hi);
        assert_true(exact >= 0.95 && exact < 0.99);
        assert_true(fabs(seen - exact) < 4.0 * sqrt(exact * (1.0 - exact) / TRIALS));
    }
}

static void no_sample_is_nan(void **state)
{
    const double bad[] = {NAN, INFINITY, -INFINITY};
    struct fc_summary s;
    size_t count = 9;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_true(fc_summarize(i ? bad : NULL, i ? 3 : 0, &s, &count));
        assert_int_equal(count, i ? 3 : 0);
        assert_int_equal(s.n, 0);
        assert_true(isnan(s.median) && isnan(s.min) && isnan(s.max) && isnan(s.p99));
        assert_true(isnan(s.mad) && isnan(s.lo) && isnan(s.hi));
        assert_true(isinf(fc_summary_precision(&s)));
    }
}

static void bad_samples_are_counted_and_left_out(void **state)
{
    const double x[] = {NAN, 3, INFINITY, 1, -INFINITY, 2, NAN};
    struct fc_summary s;
    size_t bad = 0;
    (void)state;
    assert_true(fc_summarize(x, 7, &s, &bad));
    assert_int_equal(bad, 4);
    assert_int_equal(s.n, 3);
    assert_true(near(s.median, 2) && near(s.min, 1) && near(s.max, 3) &&
                near(s.mad, 1));
    assert_true(fc_summarize(x, 7, &s, NULL));
}

static void one_and_two_samples(void **state)
{
    const double x[] = {4, 2};
    struct fc_summary s;
    (void)state;
    assert_true(fc_summarize(x, 1, &s, NULL));
    assert_int_equal(s.n, 1);
    assert_true(near(s.median, 4) && near(s.mad, 0) && near(s.p99, 4));
    assert_true(near(s.lo, 4) && near(s.hi, 4));
    assert_true(isinf(fc_summary_precision(&s))); /* one sample knows nothing */
    assert_true(fc_summarize(x, 2, &s, NULL));
    assert_true(near(s.median, 3) && near(s.mad, 1) && near(s.lo, 2) && near(s.hi, 4));
    assert_true(near(fc_summary_precision(&s), 1.0 / 3.0));
}

static void precision_is_half_width_over_median(void **state)
{
    struct fc_summary s = {.n = 9, .median = 50, .lo = 49, .hi = 51.5};
    (void)state;
    assert_true(near(fc_summary_precision(&s), 0.025));
    s = (struct fc_summary){.n = 9, .median = -50, .lo = -51, .hi = -49};
    assert_true(near(fc_summary_precision(&s), 0.02));
    s = (struct fc_summary){.n = 9, .median = 0, .lo = -1, .hi = 1};
    assert_true(isinf(fc_summary_precision(&s)));
    s = (struct fc_summary){.n = 9, .median = 5, .lo = 5, .hi = 5};
    assert_true(near(fc_summary_precision(&s), 0));
}

static void huge_values_do_not_overflow(void **state)
{
    const double x[] = {DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX}, y[] = {DBL_MAX, DBL_MAX};
    struct fc_summary s;
    (void)state;
    assert_true(fc_summarize(x, 4, &s, NULL));
    assert_true(near(s.median, 0) && isfinite(s.p99) && isfinite(s.mad));
    assert_true(fc_summarize(y, 2, &s, NULL));
    assert_true(s.median >= DBL_MAX && isfinite(s.median));
}

static void sorted_form_agrees(void **state)
{
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 3);
    for (size_t n = 0; n <= 40; n++) {
        double x[N_MAX];
        struct fc_summary a, b;
        draw(&rng, x, n, (unsigned)n % 4);
        assert_true(fc_summarize(x, n, &a, NULL));
        if (n > 0)
            fc_median_in_place(x, n);
        fc_summarize_sorted(x, n, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void selection_agrees_with_sorting(void **state)
{
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 8);
    for (size_t n = 1; n <= 40; n++)
        for (size_t rank = 0; rank < n; rank++) {
            double x[N_MAX], y[N_MAX], z[N_MAX];
            draw(&rng, x, n, (unsigned)(n + rank) % 4);
            memcpy(y, x, sizeof x);
            memcpy(z, x, sizeof x);
            double median = fc_median_in_place(x, n);
            assert_true(fc_select(y, n, rank) == x[rank]);
            assert_true(near(fc_select_median(z, n), median));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_counting),
        cmocka_unit_test(quantiles_are_type_7),
        cmocka_unit_test(interval_has_the_stated_ranks),
        cmocka_unit_test(interval_covers_95_percent),
        cmocka_unit_test(no_sample_is_nan),
        cmocka_unit_test(bad_samples_are_counted_and_left_out),
        cmocka_unit_test(one_and_two_samples),
        cmocka_unit_test(precision_is_half_width_over_median),
        cmocka_unit_test(huge_values_do_not_overflow),
        cmocka_unit_test(sorted_form_agrees),
        cmocka_unit_test(selection_agrees_with_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
