// SPDX-License-Identifier: BSD-3-Clause
/* The pair schedule's properties, for every small n and some large ones. */
#include "core/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One round: partners are mutual and someone else, and one member rests when n is odd,
 * none when it is even. Marks the pairs in `met`. */
static void check_round(const struct fc_schedule *s, uint32_t round, bool *met)
{
    uint32_t n = s->n, rests = 0;
    for (uint32_t a = 0; a < n; a++) {
        int64_t b = fc_schedule_partner(s, round, a);
        if (b < 0) {
            assert_true(b == -1);
            rests++;
            continue;
        }
        assert_true(b < (int64_t)n && b != (int64_t)a);
        assert_true(fc_schedule_partner(s, round, (uint32_t)b) == (int64_t)a);
        size_t at = (size_t)a * n + (size_t)b;
        if (met[at])
            fail_msg("n %u: %u meets %d twice", n, a, (int)b);
        met[at] = true;
    }
    assert_int_equal(rests, n % 2);
}

static void check_schedule(uint32_t n, uint64_t seed)
{
    struct fc_schedule s;
    struct fc_error err;
    assert_int_equal(fc_schedule_open(&s, n, seed, &err), FC_OK);
    /* n-1 rounds of n/2 pairs, or n rounds of (n-1)/2: fewer cannot hold n(n-1)/2
     * pairs. */
    assert_int_equal(s.rounds, n < 2 ? 0 : n % 2 ? n : n - 1);
    bool *met = calloc((size_t)n * n + 1, sizeof *met);
    assert_non_null(met);
    for (uint32_t round = 0; round < s.rounds; round++)
        check_round(&s, round, met);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (met[(size_t)a * n + b] != (a != b))
                fail_msg("n %u: %u never meets %u", n, a, b);
    free(met);
    fc_schedule_close(&s);
}

static void every_pair_once(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 65; n++)
        for (uint64_t seed = 0; seed < 3; seed++)
            check_schedule(n, seed);
}

static void every_pair_once_at_scale(void **state)
{
    (void)state;
    check_schedule(1000, 17);
    check_schedule(1001, 17);
    check_schedule(1024, 18);
}

static void nobody_has_no_partner(void **state)
{
    struct fc_schedule s;
    (void)state;
    for (uint32_t n = 0; n <= 1; n++) {
        assert_int_equal(fc_schedule_open(&s, n, 1, NULL), FC_OK);
        assert_int_equal(s.rounds, 0);
        assert_true(fc_schedule_partner(&s, 0, 0) == -1);
        fc_schedule_close(&s);
    }
    assert_int_equal(fc_schedule_open(&s, 4, 1, NULL), FC_OK);
    assert_true(fc_schedule_partner(&s, 3, 0) == -1); /* no such round */
    assert_true(fc_schedule_partner(&s, UINT32_MAX, 0) == -1);
    assert_true(fc_schedule_partner(&s, 0, 4) == -1); /* no such member */
    fc_schedule_close(&s);
    fc_schedule_close(&s); /* twice, and NULL, do nothing */
    fc_schedule_close(NULL);
}

static void labels_invert_each_other(void **state)
{
    struct fc_schedule s;
    (void)state;
    assert_int_equal(fc_schedule_open(&s, 33, 4, NULL), FC_OK);
    for (uint32_t i = 0; i < s.n; i++) {
        assert_int_equal(s.member[s.label[i]], i);
        assert_int_equal(s.label[s.member[i]], i);
    }
    fc_schedule_close(&s);
}

/* How many of n members have another partner in round 0 of the two seeds. */
static unsigned differing(uint32_t n, uint64_t seed_a, uint64_t seed_b)
{
    struct fc_schedule a, b;
    unsigned differ = 0;
    assert_int_equal(fc_schedule_open(&a, n, seed_a, NULL), FC_OK);
    assert_int_equal(fc_schedule_open(&b, n, seed_b, NULL), FC_OK);
    for (uint32_t i = 0; i < n; i++)
        differ += fc_schedule_partner(&a, 0, i) != fc_schedule_partner(&b, 0, i);
    fc_schedule_close(&a);
    fc_schedule_close(&b);
    return differ;
}

static void seed_decides_the_labels(void **state)
{
    (void)state;
    assert_int_equal(differing(64, 7, 7), 0);
    for (uint64_t seed = 0; seed < 20; seed++)
        assert_true(differing(64, seed, seed + 1) > 50); /* 63 expected */
}

/* A prefix is a fair sample: in one given round each partner is as likely as any other.
 */
static void first_rounds_are_fair(void **state)
{
    enum { N = 8, SEEDS = 7000 };
    (void)state;
    for (uint32_t round = 0; round < 2; round++) {
        unsigned met[N] = {0};
        double chi = 0.0, expected = SEEDS / (N - 1.0);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct fc_schedule s;
            assert_int_equal(fc_schedule_open(&s, N, seed, NULL), FC_OK);
            met[fc_schedule_partner(&s, round, 3)]++;
            fc_schedule_close(&s);
        }
        assert_int_equal(met[3], 0);
        for (uint32_t i = 0; i < N; i++) {
            double off = (double)met[i] - expected;
            chi += i == 3 ? 0.0 : off * off / expected;
        }
        assert_true(chi < 27.9); /* 6 degrees of freedom, one in ten thousand */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_once),
        cmocka_unit_test(every_pair_once_at_scale),
        cmocka_unit_test(nobody_has_no_partner),
        cmocka_unit_test(labels_invert_each_other),
        cmocka_unit_test(seed_decides_the_labels),
        cmocka_unit_test(first_rounds_are_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
