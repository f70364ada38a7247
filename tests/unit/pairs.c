// SPDX-License-Identifier: BSD-3-Clause
/* What of the pairs probe is arithmetic: how many rounds and how many at a time, how
 * large a burst, and the matrix line. */
#include "collectives/pairs.h"
#include "collectives/pairs_plan.h"
#include "core/clock.h"
#include "core/matrix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static struct fc_settings settings(enum fc_level level, uint32_t rounds)
{
    return (struct fc_settings){.level = level, .pair_rounds = rounds};
}

static uint32_t rounds_of(enum fc_level level, uint32_t asked, uint32_t members)
{
    struct fc_settings s = settings(level, asked);
    return fc_pairs_plan(&s, members, 1).rounds;
}

static void all_pairs_up_to_64_members(void **state)
{
    (void)state;
    assert_int_equal(rounds_of(FC_LEVEL_QUICK, 0, 2), 1);
    assert_int_equal(rounds_of(FC_LEVEL_QUICK, 0, 3), 3);
    assert_int_equal(rounds_of(FC_LEVEL_QUICK, 0, 8), 7);
    assert_int_equal(rounds_of(FC_LEVEL_STANDARD, 0, 64), 63);
    assert_int_equal(rounds_of(FC_LEVEL_STANDARD, 0, 65), 3);
    assert_int_equal(rounds_of(FC_LEVEL_QUICK, 0, 16384), 3);
}

static void the_user_has_the_last_word(void **state)
{
    (void)state;
    assert_int_equal(rounds_of(FC_LEVEL_QUICK, UINT32_MAX, 1024), 1023);
    assert_int_equal(rounds_of(FC_LEVEL_QUICK, 17, 1024), 17);
    assert_int_equal(rounds_of(FC_LEVEL_QUICK, 17, 4), 3);
    struct fc_settings asked = settings(FC_LEVEL_QUICK, 17);
    struct fc_settings open = settings(FC_LEVEL_QUICK, 0);
    struct fc_pairs_plan plan = fc_pairs_plan(&asked, 1024, 1);
    /* However long it takes, what was asked for is walked. */
    assert_true(
        fc_pairs_plan_block(&plan, 16, 1000 * FC_NS_PER_S, 1, 500 * FC_NS_PER_S) == 1);
    plan = fc_pairs_plan(&open, 64, 1);
    assert_true(plan.budget_ns > 0);
    assert_int_equal(fc_pairs_plan_block(&plan, 16, plan.budget_ns, 8, FC_NS_PER_S), 0);
    assert_true(fc_pairs_plan_s(&plan) <= (double)plan.budget_ns / 1e9);
}

static void a_retest_meets_everyone_new_partners_first(void **state)
{
    (void)state;
    struct fc_settings s = settings(FC_LEVEL_QUICK, 5);
    struct fc_pairs_plan first = fc_pairs_plan(&s, 9, 1),
                         again = fc_pairs_plan(&s, 9, 2);
    assert_int_equal(first.rounds, 5);
    assert_int_equal(again.rounds, 9);
    assert_int_equal(again.pair.bursts, 3 * first.pair.bursts);
    assert_true(again.pair.box_ns == 3 * first.pair.box_ns);
    assert_true(again.pair.bursts <= FC_PAIR_BURSTS_MAX);
    assert_true(again.budget_ns > 0);
    bool walked[9] = {false};
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t round = fc_pairs_plan_round(&again, i);
        assert_in_range(round, 0, 8);
        assert_false(walked[round]);
        walked[round] = true;
        if (i < 4) /* those that the first attempt left out */
            assert_in_range(round, 5, 8);
    }
    assert_int_equal(fc_pairs_plan_round(&first, 4), 4);
}

/* Each round once; those in which two suspects meet come first. */
static void suspects_meet_first_in_a_retest(void **state)
{
    enum { MEMBERS = 20, ROUNDS = MEMBERS - 1 };
    struct fc_settings s = {.level = FC_LEVEL_QUICK};
    struct fc_pairs_plan plan = fc_pairs_plan(&s, MEMBERS, 2);
    struct fc_schedule schedule;
    struct fc_error err;
    bool suspect[MEMBERS] = {[3] = true, [11] = true, [17] = true};
    uint32_t order[ROUNDS], meetings = 0;
    bool seen[ROUNDS] = {false};
    (void)state;
    assert_int_equal(fc_schedule_open(&schedule, MEMBERS, 5, &err), FC_OK);
    assert_int_equal(fc_pairs_plan_order(&plan, &schedule, suspect, order, &err),
                     FC_OK);
    plan.order = order;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t round = fc_pairs_plan_round(&plan, i);
        assert_false(seen[round]);
        seen[round] = true;
        bool meet = false;
        for (uint32_t a = 0; a < MEMBERS; a++) {
            int64_t b = fc_schedule_partner(&schedule, round, a);
            meet = meet || (suspect[a] && b >= 0 && suspect[b]);
        }
        meetings += meet;
        if (meet)
            assert_int_equal(meetings, i + 1);
    }
    assert_true(meetings >= 1 && meetings <= 3);
    fc_schedule_close(&schedule);
}

static void every_level_fits_its_limits(void **state)
{
    (void)state;
    for (int level = FC_LEVEL_QUICK; level <= FC_LEVEL_SOAK; level++) {
        struct fc_settings s = settings((enum fc_level)level, 0);
        struct fc_pairs_plan plan = fc_pairs_plan(&s, 64, 2);
        assert_in_range(plan.pair.bursts, 4, FC_PAIR_BURSTS_MAX);
        assert_int_equal(plan.pair.max_bytes % 4096, 0);
        assert_true(plan.pair.max_bytes <= 4 * MIB && plan.pair.max_bytes >= 64 << 10);
    }
}

static void agreements_come_often_enough(void **state)
{
    (void)state;
    struct fc_settings s = settings(FC_LEVEL_STANDARD, 0);
    struct fc_pairs_plan plan = fc_pairs_plan(&s, 64, 1);
    uint64_t ms = FC_NS_PER_MS;
    assert_int_equal(fc_pairs_plan_block(&plan, 1, 25 * ms, 1, 25 * ms), 8);
    assert_int_equal(fc_pairs_plan_block(&plan, 8, 4000 * ms, 8, 4000 * ms), 4);
    assert_int_equal(fc_pairs_plan_block(&plan, 8, 9000 * ms, 1, 9000 * ms), 1);
    assert_int_equal(fc_pairs_plan_block(&plan, 60, 25 * ms, 8, 25 * ms), 3);
    assert_int_equal(fc_pairs_plan_block(&plan, 63, 25 * ms, 8, 25 * ms), 0);
    /* The budget's end is not passed by a whole block. */
    uint64_t spent = plan.budget_ns - 600 * ms;
    assert_int_equal(fc_pairs_plan_block(&plan, 8, spent, 8, 8 * 200 * ms), 3);
    assert_int_equal(fc_pairs_plan_block(&plan, 8, spent, 8, 0), 8);
}

/* --- bursts --- */

static double total(struct fc_burst burst)
{
    return (double)burst.bytes * burst.count;
}

static void a_burst_fits_its_time(void **state)
{
    (void)state;
    struct fc_burst last = {.bytes = MIB, .count = 4};
    /* 4 MiB in 4 ms: 1 MiB a millisecond. */
    assert_true(total(fc_burst_next(last, 4e-3, 2e-3, MIB)) == 2.0 * (double)MIB);
    struct fc_burst next = fc_burst_next(last, 4e-3, 10e-3, MIB);
    assert_int_equal(next.bytes, MIB);
    assert_int_equal(next.count, 10);
    /* 2.5 messages' worth: three that are not longer than the limit. */
    next = fc_burst_next(last, 4e-3, 2.5e-3, MIB);
    assert_int_equal(next.count, 3);
    assert_true(next.bytes <= MIB && next.bytes % 4096 == 0);
    assert_true(total(next) <= 2.5 * (double)MIB && total(next) > 2.4 * (double)MIB);
}

static void a_burst_grows_by_steps(void **state)
{
    (void)state;
    struct fc_burst first = {.bytes = 64 << 10, .count = 1};
    struct fc_burst next = fc_burst_next(first, 1e-9, 1, 4 * MIB);
    assert_true(total(next) == 8 * total(first));
    assert_true(total(fc_burst_next(next, 0, 1, 4 * MIB)) == 8 * total(next));
    assert_true(total(fc_burst_next(next, (double)NAN, 1, 4 * MIB)) <= 8 * total(next));
}

static void a_slow_link_gets_a_short_burst(void **state)
{
    (void)state;
    struct fc_burst first = {.bytes = 64 << 10, .count = 1};
    struct fc_burst next = fc_burst_next(first, 0.1, 0.02, MIB);
    assert_int_equal(next.count, 1);
    assert_int_equal(next.bytes, 12288); /* 13107 in whole pages */
    next = fc_burst_next(first, 1000, 0.02, MIB);
    assert_int_equal(next.count, 1);
    assert_int_equal(next.bytes, 4096);
}

/* --- the matrix line --- */

static json_t *line_of(const struct fc_matrix *m)
{
    char *text = fc_matrix_line(m);
    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    json_t *line = json_loads(text, 0, NULL);
    assert_non_null(line);
    free(text);
    return line;
}

static void assert_json(const json_t *line, const char *key, const char *expected)
{
    json_t *want = json_loads(expected, JSON_DECODE_ANY, NULL);
    assert_non_null(want);
    if (!json_equal(json_object_get(line, key), want)) {
        char *got = json_dumps(json_object_get(line, key), JSON_ENCODE_ANY);
        fail_msg("%s is %s, expected %s", key, got ? got : "absent", expected);
    }
    json_decref(want);
}

static void the_line_says_what_the_journal_promises(void **state)
{
    (void)state;
    struct fc_matrix_pair pairs[] = {
        {0, 12, 11.5, 11.75, 1e-6, 0, 0, FC_OK, "", "sockets", "eth0 moved", 12.5},
        {4, 8, 11.25, (double)NAN, (double)NAN, 0, 3, FC_WRONG, "byte 8", "unknown", "",
         (double)NAN},
    };
    struct fc_matrix m = {.probe = "pairs",
                          .attempt = 1,
                          .round = 4,
                          .rounds = 15,
                          .seed = 81,
                          .bytes = MIB,
                          .samples = 4,
                          .pair = pairs,
                          .pairs = 2};
    json_t *line = line_of(&m);
    assert_json(line, "type", "\"matrix\"");
    assert_json(line, "probe", "\"pairs\"");
    assert_json(line, "attempt", "1");
    assert_json(line, "round", "4");
    assert_json(line, "rounds", "15");
    assert_json(line, "seed", "81");
    assert_json(line, "bytes", "1048576");
    assert_json(line, "concurrency", "2");
    assert_json(line, "samples", "4");
    assert_json(line, "pair", "[[0, 12], [4, 8]]");
    assert_json(line, "bw", "[[11.5, 11.75], [11.25, null]]");
    assert_json(line, "latency", "[1e-6, null]");
    /* by b, by a */
    assert_json(line, "wrong", "[[0, 0], [0, 3]]");
    assert_json(line, "status", "[\"ok\", \"failed\"]");
    assert_json(line, "reason", "[null, \"byte 8\"]");
    assert_json(line, "path",
                "[{\"name\": \"sockets\", \"how\": \"eth0 moved\"}, "
                "{\"name\": \"unknown\"}]");
    assert_json(line, "limit", "[12.5, null]");
    json_decref(line);
    m.metric = "rdma.write_bw";
    m.rails = true;
    m.peer_rail = 2;
    m.concurrency = 8;
    line = line_of(&m);
    assert_json(line, "metric", "\"rdma.write_bw\"");
    assert_json(line, "rail", "0");
    assert_json(line, "peer_rail", "2");
    assert_json(line, "concurrency", "8");
    json_decref(line);
}

static void lists_that_say_nothing_are_left_out(void **state)
{
    (void)state;
    struct fc_matrix_pair pair = {.a = 1,
                                  .b = 2,
                                  .a_to_b = 1,
                                  .b_to_a = 2,
                                  .latency_s = (double)NAN,
                                  .limit_GBps = (double)NAN};
    struct fc_matrix m = {.probe = "pairs", .attempt = 2, .pair = &pair, .pairs = 1};
    json_t *line = line_of(&m);
    static const char *const absent[] = {"latency", "wrong", "status",
                                         "reason",  "path",  "limit"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_null(json_object_get(line, absent[i]));
    assert_json(line, "bw", "[[1.0, 2.0]]");
    json_decref(line);
}

static void a_text_that_is_no_utf8_leaves_the_list_whole(void **state)
{
    (void)state;
    struct fc_matrix_pair pairs[] = {
        {.a = 0, .b = 1, .status = FC_FAILED, .reason = "driver says \xff\xfe"},
        {.a = 2, .b = 3, .status = FC_FAILED, .reason = "plain"},
    };
    struct fc_matrix m = {.probe = "pairs", .attempt = 1, .pair = pairs, .pairs = 2};
    json_t *line = line_of(&m);
    assert_json(line, "reason", "[null, \"plain\"]");
    json_decref(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_up_to_64_members),
        cmocka_unit_test(the_user_has_the_last_word),
        cmocka_unit_test(a_retest_meets_everyone_new_partners_first),
        cmocka_unit_test(suspects_meet_first_in_a_retest),
        cmocka_unit_test(every_level_fits_its_limits),
        cmocka_unit_test(agreements_come_often_enough),
        cmocka_unit_test(a_burst_fits_its_time),
        cmocka_unit_test(a_burst_grows_by_steps),
        cmocka_unit_test(a_slow_link_gets_a_short_burst),
        cmocka_unit_test(the_line_says_what_the_journal_promises),
        cmocka_unit_test(lists_that_say_nothing_are_left_out),
        cmocka_unit_test(a_text_that_is_no_utf8_leaves_the_list_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
