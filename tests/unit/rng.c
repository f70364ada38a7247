// SPDX-License-Identifier: BSD-3-Clause
/* The generator: the published sequence, no bias, and the stateless form agrees. */
#include "core/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

/* The first values that SplitMix64 is known to give for this seed. */
static void sequence_is_splitmix64(void **state)
{
    static const uint64_t want[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 1234567);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_true(fc_rng_next(&rng) == want[i]);
        assert_true(fc_rng_at(1234567, i) == want[i]);
    }
}

static void stateless_form_agrees(void **state)
{
    static const uint64_t seeds[] = {0, 1, 42, UINT64_MAX};
    (void)state;
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) {
        struct fc_rng rng;
        fc_rng_seed(&rng, seeds[s]);
        for (uint64_t i = 0; i < 1000; i++)
            assert_true(fc_rng_next(&rng) == fc_rng_at(seeds[s], i));
    }
}

/* Pearson's statistic of `cells` counts that should be equal. */
static double chi_square(const unsigned *count, size_t cells, double expected)
{
    double sum = 0.0;
    for (size_t i = 0; i < cells; i++) {
        double off = (double)count[i] - expected;
        sum += off * off / expected;
    }
    return sum;
}

static void below_is_even(void **state)
{
    enum { BOUND = 7, DRAWS = 70000 };
    unsigned count[BOUND] = {0};
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 5);
    for (size_t i = 0; i < DRAWS; i++) {
        uint64_t v = fc_rng_below(&rng, BOUND);
        assert_true(v < BOUND);
        count[v]++;
    }
    /* 6 degrees of freedom: beyond 27.9 once in ten thousand seeds, and this one is
     * fixed */
    assert_true(chi_square(count, BOUND, DRAWS / (double)BOUND) < 27.9);
    for (size_t i = 0; i < 10; i++)
        assert_true(fc_rng_below(&rng, 1) == 0);
}

/* With a bound of 3/4 of the range, `next % bound` would give the lowest third half of
 * all results instead of a third. */
static void below_has_no_modulo_bias(void **state)
{
    enum { DRAWS = 30000 };
    const uint64_t bound = UINT64_C(3) << 62;
    unsigned count[3] = {0};
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 6);
    for (size_t i = 0; i < DRAWS; i++) {
        uint64_t v = fc_rng_below(&rng, bound);
        assert_true(v < bound);
        count[v >> 62]++;
    }
    assert_true(chi_square(count, 3, DRAWS / 3.0) < 18.5);
}

static void unit_is_uniform(void **state)
{
    enum { DRAWS = 100000, CELLS = 16 };
    unsigned count[CELLS] = {0};
    double sum = 0.0;
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 7);
    for (size_t i = 0; i < DRAWS; i++) {
        double v = fc_rng_unit(&rng);
        assert_true(v >= 0.0 && v < 1.0);
        count[(size_t)(v * CELLS)]++;
        sum += v;
    }
    assert_true(fabs(sum / DRAWS - 0.5) < 4.0 * sqrt(1.0 / 12.0 / DRAWS));
    assert_true(chi_square(count, CELLS, DRAWS / (double)CELLS) < 44.3);
    /* The largest value the generator can give still is below 1. */
    assert_true((double)(UINT64_MAX >> 11) * 0x1p-53 < 1.0);
}

static void permutation_is_one(void **state)
{
    enum { N = 1000 };
    uint32_t perm[N];
    bool seen[N] = {false};
    size_t fixed = 0;
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 8);
    fc_rng_permutation(&rng, perm, N);
    for (size_t i = 0; i < N; i++) {
        assert_true(perm[i] < N && !seen[perm[i]]);
        seen[perm[i]] = true;
        fixed += perm[i] == i;
    }
    assert_true(fixed < 10); /* one is expected */
    fc_rng_permutation(&rng, perm, 0);
    fc_rng_permutation(&rng, perm, 1);
    assert_int_equal(perm[0], 0);
}

/* All 24 orders of four are equally frequent: a shuffle that draws from the whole range
 * each time, or never keeps an element, fails here. */
static void permutation_is_even(void **state)
{
    enum { DRAWS = 48000, CODES = 256 };
    unsigned count[CODES] = {0}, used[24];
    size_t kinds = 0;
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 9);
    for (size_t i = 0; i < DRAWS; i++) {
        uint32_t p[4];
        fc_rng_permutation(&rng, p, 4);
        count[p[0] * 64 + p[1] * 16 + p[2] * 4 + p[3]]++;
    }
    for (size_t i = 0; i < CODES; i++) {
        if (count[i] == 0)
            continue;
        assert_true(kinds < 24);
        used[kinds++] = count[i];
    }
    assert_int_equal(kinds, 24);
    assert_true(chi_square(used, 24, DRAWS / 24.0) < 56.0); /* 23 degrees, 1.4e-4 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_is_splitmix64),
        cmocka_unit_test(stateless_form_agrees),
        cmocka_unit_test(below_is_even),
        cmocka_unit_test(below_has_no_modulo_bias),
        cmocka_unit_test(unit_is_uniform),
        cmocka_unit_test(permutation_is_one),
        cmocka_unit_test(permutation_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
