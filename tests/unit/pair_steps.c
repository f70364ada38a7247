// SPDX-License-Identifier: BSD-3-Clause
/* The steps of a retest whose pairs were chosen, and how they are chosen from the
 * judge's suspects. */
#include "core/pair_steps.h"
#include "core/rng.h"
#include "focus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "a-b a-b|a-b" of the steps. */
static void as_text(const struct fc_pair_steps *steps, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t s = 0; s < steps->steps; s++)
        for (uint32_t i = steps->start[s]; i < steps->start[s + 1]; i++)
            used += (size_t)snprintf(out + used, bytes - used, "%s%d-%d",
                                     i > steps->start[s] ? " "
                                     : s                 ? "|"
                                                         : "",
                                     steps->pair[i][0], steps->pair[i][1]);
}

static void known_orders(void **state)
{
    static struct {
        struct fc_focus_pair pair[6];
        size_t pairs;
        const char *want;
    } cases[] = {
        {{{0, 1, 1}}, 1, "0-1"},
        {{{0, 1, 1}, {2, 3, 1}}, 2, "0-1|2-3"},
        {{{0, 1, 2}, {2, 3, 2}}, 2, "0-1 2-3"},
        {{{0, 1, 2}, {2, 3, 1}, {4, 5, 2}}, 3, "0-1 4-5|2-3"},
        {{{2, 3, 1}, {0, 1, 2}, {4, 5, 2}}, 3, "2-3|0-1 4-5"},
        {{{0, 1, 9}, {0, 2, 9}, {3, 1, 9}}, 3, "0-1|0-2 1-3"},
        {{{0, 1, 1}, {1, 0, 1}, {0, 1, 3}}, 3, "0-1"}, /* named from both ends */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fc_focus focus = {
            .attempt = 2, .pair = cases[i].pair, .pairs = cases[i].pairs};
        struct fc_pair_steps steps;
        struct fc_error err;
        char text[128];
        assert_int_equal(fc_pair_steps_open(&focus, 6, &steps, &err), FC_OK);
        as_text(&steps, text, sizeof text);
        assert_string_equal(text, cases[i].want);
        fc_pair_steps_close(&steps);
    }
}

/* Checks one step; `seen` counts each pair. */
static void check_step(const struct fc_pair_steps *steps, uint32_t step,
                       uint32_t members, const int *limit, int *seen)
{
    uint32_t pairs = steps->start[step + 1] - steps->start[step], met = 0;
    assert_true(pairs > 0);
    for (uint32_t m = 0; m < members; m++) {
        int64_t peer = fc_pair_steps_partner(steps, step, m);
        if (peer < 0)
            continue;
        met++;
        assert_int_equal(fc_pair_steps_partner(steps, step, (uint32_t)peer), m);
        if ((int64_t)m < peer) {
            size_t at = (size_t)m * members + (size_t)peer;
            seen[at]++;
            assert_true((int)pairs <= limit[at]);
        }
    }
    assert_int_equal(met, 2 * pairs); /* nobody is in two */
}

static void any_order_keeps_what_was_asked(void **state)
{
    enum { MEMBERS = 12, MOST = 40 };
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 3);
    for (int round = 0; round < 500; round++) {
        struct fc_focus_pair pair[MOST];
        int limit[MEMBERS * MEMBERS] = {0}, seen[MEMBERS * MEMBERS] = {0};
        struct fc_focus focus = {.attempt = 2, .pair = pair};
        struct fc_pair_steps steps;
        struct fc_error err;
        focus.pairs = fc_rng_below(&rng, MOST) + 1;
        for (size_t i = 0; i < focus.pairs; i++) {
            int a = (int)fc_rng_below(&rng, MEMBERS);
            int b = (a + 1 + (int)fc_rng_below(&rng, MEMBERS - 1)) % MEMBERS;
            int n = (int)fc_rng_below(&rng, 4) + 1;
            pair[i] = (struct fc_focus_pair){a, b, n};
            int at = a < b ? a * MEMBERS + b : b * MEMBERS + a;
            limit[at] = limit[at] ? limit[at] : n; /* the first word on it counts */
        }
        assert_int_equal(fc_pair_steps_open(&focus, MEMBERS, &steps, &err), FC_OK);
        for (uint32_t s = 0; s < steps.steps; s++)
            check_step(&steps, s, MEMBERS, limit, seen);
        for (size_t at = 0; at < MEMBERS * MEMBERS; at++)
            assert_int_equal(seen[at], limit[at] > 0);
        assert_int_equal(fc_pair_steps_partner(&steps, steps.steps, 0), -1);
        fc_pair_steps_close(&steps);
    }
}

/* --- from suspects --- */

static struct fc_focus focus_of(const char *suspects, int rank)
{
    static char names[4][4] = {"n0", "n1", "n2", "n3"};
    static char *name[] = {names[0], names[1], names[2], names[3]};
    static struct fc_rte rte = {.size = 4, .nodes = 4, .node_name = name};
    struct fc_run run = {.rte = &rte};
    struct fc_focus focus;
    struct fc_error err;
    json_t *list = json_loads(suspects, 0, NULL);
    assert_non_null(list);
    rte.rank = rte.node = rank;
    assert_int_equal(fc_focus_open(&run, list, 2, &focus, &err), FC_OK);
    json_decref(list);
    return focus;
}

static void suspects_become_pairs(void **state)
{
    static const char text[] =
        "[{\"metric\":\"pair.bw\",\"node\":\"n2\",\"rank\":2,\"concurrency\":3,"
        "\"partners\":[\"n0\",\"n9\",\"n1\"]},"
        "{\"metric\":\"pair.bw\",\"node\":\"n3\",\"rank\":3,"
        "\"partners\":[\"n1\",\"n3\",7]},"
        "{\"metric\":\"pair.bw\",\"node\":\"n9\",\"partners\":[\"n0\"]}]";
    static const struct fc_focus_pair want[] = {{2, 0, 3}, {3, 1, 1}, {2, 1, 3}};
    (void)state;
    struct fc_focus focus = focus_of(text, 3);
    assert_true(focus.mine);
    assert_int_equal(focus.attempt, 2);
    assert_int_equal(focus.pairs, 3);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(&focus.pair[i], &want[i], sizeof *want);
    fc_focus_close(&focus);
    focus = focus_of(text, 0);
    assert_false(focus.mine);
    fc_focus_close(&focus);
    focus = focus_of("[{\"metric\":\"device.mem_bw\",\"node\":\"n1\",\"rank\":1}]", 1);
    assert_true(focus.mine);
    assert_int_equal(focus.pairs, 0);
    fc_focus_close(&focus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_orders),
        cmocka_unit_test(any_order_keeps_what_was_asked),
        cmocka_unit_test(suspects_become_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
