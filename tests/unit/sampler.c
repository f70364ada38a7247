// SPDX-License-Identifier: BSD-3-Clause
/* The adaptive sampler: quiet series stop early, noisy ones go on, and every bound
 * holds. */
#include "core/sampler.h"
#include "core/clock.h"
#include "core/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static void open_default(struct fc_sampler *s, uint64_t budget_ns)
{
    struct fc_error err;
    assert_int_equal(fc_sampler_open(s, FC_SAMPLES_MIN, FC_SAMPLES_MAX,
                                     FC_SAMPLES_TOLERANCE, budget_ns, &err),
                     FC_OK);
}

/* Adds 100 (1 +- noise) until no more is wanted; returns how many that took. */
static size_t run(struct fc_sampler *s, struct fc_rng *rng, double noise)
{
    while (fc_sampler_wants_more(s))
        fc_sampler_add(s, 100.0 * (1.0 + noise * (2.0 * fc_rng_unit(rng) - 1.0)));
    return s->n;
}

static void quiet_series_stops_at_min(void **state)
{
    struct fc_sampler s;
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 1);
    open_default(&s, 0);
    assert_int_equal(run(&s, &rng, 0.001), FC_SAMPLES_MIN);
    fc_sampler_close(&s);
}

static void noisy_series_goes_to_max(void **state)
{
    struct fc_sampler s;
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 2);
    open_default(&s, 0);
    assert_int_equal(run(&s, &rng, 0.5), FC_SAMPLES_MAX);
    fc_sampler_close(&s);
}

/* In between, it stops at the first sample at which the interval is narrow enough. */
static void it_stops_when_known_well_enough(void **state)
{
    struct fc_sampler s;
    struct fc_rng rng;
    size_t between = 0;
    (void)state;
    fc_rng_seed(&rng, 3);
    open_default(&s, 0);
    for (size_t trial = 0; trial < 50; trial++) {
        fc_sampler_reset(&s);
        size_t n = run(&s, &rng, 0.03);
        struct fc_summary at, before;
        assert_true(fc_summarize(s.x, n, &at, NULL));
        assert_true(n == s.max || fc_summary_precision(&at) <= s.tolerance);
        if (n > s.min) {
            assert_true(fc_summarize(s.x, n - 1, &before, NULL));
            assert_true(fc_summary_precision(&before) > s.tolerance);
        }
        between += n > s.min && n < s.max;
    }
    assert_true(between > 10);
    fc_sampler_close(&s);
}

static void tolerance_is_a_bound_on_both_sides(void **state)
{
    /* Five samples: the interval is [min, max]. Half its width is 2 % of 100, or more.
     */
    static const double within[] = {100, 98, 102, 100, 100};
    static const double beyond[] = {100, 97.9, 102, 100, 100};
    struct fc_sampler s;
    (void)state;
    open_default(&s, 0);
    for (size_t i = 0; i < 5; i++)
        fc_sampler_add(&s, within[i]);
    assert_false(fc_sampler_wants_more(&s));
    fc_sampler_reset(&s);
    for (size_t i = 0; i < 5; i++)
        fc_sampler_add(&s, beyond[i]);
    assert_true(fc_sampler_wants_more(&s));
    fc_sampler_close(&s);
}

static void budget_ends_it_after_min(void **state)
{
    struct fc_sampler s;
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 4);
    open_default(&s, 1); /* over at once */
    fc_sleep_ns(1000);
    assert_int_equal(run(&s, &rng, 0.5), FC_SAMPLES_MIN);
    fc_sampler_close(&s);
    open_default(&s, UINT64_MAX);
    assert_int_equal(run(&s, &rng, 0.5), FC_SAMPLES_MAX);
    fc_sampler_close(&s);
}

static void reset_begins_anew(void **state)
{
    struct fc_sampler s;
    struct fc_summary sum;
    (void)state;
    open_default(&s, 0);
    for (size_t i = 0; i < 7; i++)
        fc_sampler_add(&s, (double)i);
    uint64_t start = s.start_ns;
    fc_sleep_ns(FC_NS_PER_MS);
    fc_sampler_reset(&s);
    assert_int_equal(s.n, 0);
    assert_true(s.start_ns > start);
    assert_true(fc_sampler_wants_more(&s));
    fc_sampler_summary(&s, &sum);
    assert_int_equal(sum.n, 0);
    assert_true(isnan(sum.median));
    fc_sampler_close(&s);
}

static void samples_are_kept_in_order_and_sorted(void **state)
{
    static const double x[] = {5, 1, 4, 4, 9, 2, 6, 5, 3, 5};
    struct fc_sampler s;
    struct fc_summary a, b;
    (void)state;
    open_default(&s, 0);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        fc_sampler_add(&s, x[i]);
        for (size_t k = 1; k < s.n; k++)
            assert_true(s.sorted[k - 1] <= s.sorted[k]);
        assert_memory_equal(s.x, x, s.n * sizeof *x);
        fc_sampler_summary(&s, &a);
        assert_true(fc_summarize(x, s.n, &b, NULL));
        assert_memory_equal(&a, &b, sizeof a);
    }
    fc_sampler_close(&s);
}

static void more_than_max_is_left_out(void **state)
{
    struct fc_sampler s;
    struct fc_summary sum;
    (void)state;
    assert_int_equal(fc_sampler_open(&s, 1, 2, 0.0, 0, NULL), FC_OK);
    for (size_t i = 0; i < 5; i++)
        fc_sampler_add(&s, (double)i);
    fc_sampler_summary(&s, &sum);
    assert_int_equal(sum.n, 2);
    assert_true(fabs(sum.max - 1.0) <= 0.0);
    fc_sampler_close(&s);
}

/* A measurement that is no number is never taken for one, nor for enough of them. */
static void bad_samples_never_satisfy(void **state)
{
    struct fc_sampler s;
    struct fc_summary sum;
    (void)state;
    open_default(&s, 0);
    fc_sampler_add(&s, NAN);
    fc_sampler_add(&s, -INFINITY);
    for (size_t i = 0; i < 4; i++)
        fc_sampler_add(&s, 100.0);
    assert_true(fc_sampler_wants_more(&s)); /* six samples, four of them numbers */
    fc_sampler_add(&s, 100.0);
    assert_false(fc_sampler_wants_more(&s));
    fc_sampler_summary(&s, &sum);
    assert_int_equal(sum.n, 5);
    assert_true(fabs(sum.min - 100.0) <= 0.0 && fabs(sum.max - 100.0) <= 0.0);
    fc_sampler_reset(&s);
    size_t asked = 0;
    for (; fc_sampler_wants_more(&s); asked++)
        fc_sampler_add(&s, NAN);
    assert_int_equal(asked, FC_SAMPLES_MAX); /* and it ends */
    fc_sampler_close(&s);
}

static void wrong_bounds_are_refused(void **state)
{
    struct fc_sampler s;
    struct fc_error err;
    (void)state;
    assert_int_equal(fc_sampler_open(&s, 0, 5, 0.02, 0, &err), FC_USAGE);
    assert_int_equal(fc_sampler_open(&s, 6, 5, 0.02, 0, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "6 to 5"));
    assert_int_equal(fc_sampler_open(&s, 1, 5, -0.1, 0, &err), FC_USAGE);
    assert_int_equal(fc_sampler_open(&s, 1, 5, NAN, 0, &err), FC_USAGE);
#ifndef __SANITIZE_ADDRESS__ /* which ends the program at such a request */
    assert_int_equal(fc_sampler_open(&s, 1, SIZE_MAX / 2, 0.02, 0, &err), FC_NOMEM);
#endif
    fc_sampler_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_series_stops_at_min),
        cmocka_unit_test(noisy_series_goes_to_max),
        cmocka_unit_test(it_stops_when_known_well_enough),
        cmocka_unit_test(tolerance_is_a_bound_on_both_sides),
        cmocka_unit_test(budget_ends_it_after_min),
        cmocka_unit_test(reset_begins_anew),
        cmocka_unit_test(samples_are_kept_in_order_and_sorted),
        cmocka_unit_test(more_than_max_is_left_out),
        cmocka_unit_test(bad_samples_never_satisfy),
        cmocka_unit_test(wrong_bounds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
