// SPDX-License-Identifier: BSD-3-Clause
/* What the judge wants measured again, and how merged journals are one. */
#include "judge_help.h"

#include "judge/merge.h"

/* "METRIC NODE RANK" of each suspect, in the answer's order. */
static struct lines suspects_of(const struct fc_journal_text *journal)
{
    struct lines lines = {0};
    json_t *answer = NULL, *suspect;
    struct fc_error err = {""};
    size_t i;
    if (fc_judge_suspects(journal, &answer, &err) != FC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(json_integer_value(json_object_get(answer, "attempt")), 2);
    assert_true(json_is_array(json_object_get(answer, "suspects")));
    json_array_foreach(json_object_get(answer, "suspects"), i, suspect)
    {
        const json_t *rank = json_object_get(suspect, "rank");
        char line[256];
        snprintf(line, sizeof line, "%s %s %lld", text_of(suspect, "metric"),
                 text_of(suspect, "node"),
                 json_is_integer(rank) ? (long long)json_integer_value(rank) : -1LL);
        lines_add(&lines, line);
        assert_string_not_equal(text_of(suspect, "why"), "-");
    }
    json_decref(answer);
    return lines;
}

static void test_suspects_of_fixtures(void **state)
{
    static const struct {
        const char *name, *suspects; /* by newlines */
    } cases[] = {
        {"healthy", ""},
        {"healthy-fleet", ""},
        {"floor-missed", "device.gemm.fp32 n2 2"},
        {"floor-missed-twice", ""},
        {"floor-reached-by-retest", ""},
        {"floor-missed-by-collective", "collective.all_reduce.busbw n3 -1"},
        {"small-messages-have-no-floor", ""},
        {"above-the-limit", "device.gemm.fp64 n1 0"},
        {"unlike-not-retested", "device.gemm.fp32 n5 4"},
        {"unlike-confirmed", ""},
        {"unlike-of-eight-not-retested", "device.gemm.fp32 n5 4"},
        {"unlike-of-eight-confirmed", ""},
        {"eight-nodes-that-differ", ""},
        {"four-nodes-are-too-few", ""},
        {"two-classes-are-not-peers", ""},
        {"wrong-gemm", ""}, /* a wrong result needs no second one */
        {"not-a-number", ""},
        {"healthy-pairs", ""},
        {"pair-wrong-on-one-link", ""},
        {"pair-slow-not-retested", "pair.bw n3 2"},
        {"pair-slow-confirmed", ""},
        {"pair-slow-one-direction", "pair.bw n2 1\npair.bw n4 3"},
        {"pair-slow-rank-of-one-node", ""},
        {"pair-slow-of-two-nodes", ""},
        {"pair-slow-between-two-islands", ""},
        {"pair-floor-of-one-node", "pair.bw n3 2"},
        {"pair-floor-of-two-nodes", "pair.bw n1 0\npair.bw n2 1"},
        {"pair-floor-of-all", ""},
        {"pair-slow-leaf-switch-inferred-from-latencies",
         "pair.bw n4 3\npair.bw n5 4\npair.bw n6 5"},
        {"pair-slow-uplink-of-a-leaf-switch", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fc_journal_text journal = fixture_journal(cases[i].name);
        struct lines want = lines_split(cases[i].suspects);
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct lines have = suspects_of(&journal);
            if (!lines_equal(&want, &have)) {
                print_difference(cases[i].name, &want, &have);
                fail_msg("%s has other suspects", cases[i].name);
            }
            lines_free(&have);
            shuffle(&journal, seed);
        }
        lines_free(&want);
        fc_journal_text_free(&journal);
    }
}

/* Pairs are measured again alone, and with nodes that nothing is held against. */
static void test_how_pairs_are_measured_again(void **state)
{
    struct fc_journal_text journal = fixture_journal("pair-slow-not-retested");
    json_t *answer = NULL, *partner;
    struct fc_error err = {""};
    size_t i;
    (void)state;
    assert_int_equal(fc_judge_suspects(&journal, &answer, &err), FC_OK);
    const json_t *one = json_array_get(json_object_get(answer, "suspects"), 0);
    const json_t *partners = json_object_get(one, "partners");
    assert_string_equal(text_of(one, "node"), "n3");
    assert_int_equal(json_integer_value(json_object_get(one, "concurrency")), 1);
    assert_int_equal(json_array_size(partners), 3);
    json_array_foreach(partners, i, partner)
        assert_string_not_equal(json_string_value(partner), "n3");
    json_decref(answer);
    fc_journal_text_free(&journal);
}

/* A link that is suspect is measured again itself: each end has the other one first. */
static void test_both_ends_of_a_link_meet(void **state)
{
    struct fc_journal_text journal = fixture_journal("pair-slow-one-direction");
    json_t *answer = NULL;
    struct fc_error err = {""};
    (void)state;
    assert_int_equal(fc_judge_suspects(&journal, &answer, &err), FC_OK);
    const json_t *list = json_object_get(answer, "suspects");
    assert_int_equal(json_array_size(list), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *partners = json_object_get(one, "partners");
        assert_true(json_array_size(partners) > 1);
        assert_string_equal(json_string_value(json_array_get(partners, 0)),
                            text_of(json_array_get(list, 1 - i), "node"));
    }
    json_decref(answer);
    fc_journal_text_free(&journal);
}

static void test_no_journal(void **state)
{
    struct fc_journal_text journal = journal_of("{\"type\":\"plan\"}\n");
    json_t *answer = NULL;
    struct fc_error err = {""};
    (void)state;
    assert_int_equal(fc_judge_suspects(&journal, &answer, &err), FC_USAGE);
    assert_int_equal(fc_judge(&journal, NULL, &answer, &err), FC_USAGE);
    assert_null(answer);
    fc_journal_text_free(&journal);
}

/* --- merging --- */

static const char *const paths[] = {"a", "b", "c"};

static void test_merge_of_parts_is_the_whole(void **state)
{
    struct fc_journal_text whole = fixture_journal("floor-missed"), merged;
    struct fc_journal_text part[3] = {{0}};
    struct fc_error err = {""};
    (void)state;
    json_t *want = judge_text(&whole, NULL);
    for (size_t p = 0; p < 3; p++) { /* overlapping parts, each with the run line */
        part[p].line = calloc(whole.lines, sizeof(json_t *));
        assert_non_null(part[p].line);
        for (size_t i = 0; i < whole.lines; i++)
            if (i == 0 || i % 3 == p || i % 5 == p)
                part[p].line[part[p].lines++] = json_incref(whole.line[i]);
    }
    assert_int_equal(fc_journal_merge(part, paths, 3, &merged, &err), FC_OK);
    assert_int_equal(merged.lines, whole.lines);
    json_t *have = judge_text(&merged, NULL);
    assert_true(json_equal(want, have));
    for (size_t p = 0; p < 3; p++)
        assert_int_equal(part[p].lines, 0);
    json_decref(have);
    json_decref(want);
    fc_journal_text_free(&merged);
    fc_journal_text_free(&whole);
}

/* A spool's line and its numbered twin in the journal are one. */
static void test_merge_knows_twins_by_source(void **state)
{
    static const char run[] =
        "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n";
    char text[512];
    struct fc_journal_text part[2], merged;
    struct fc_error err;
    (void)state;
    snprintf(text, sizeof text, "%s{\"type\":\"record\",\"seq\":4,\"src\":\"1.7\"}\n",
             run);
    part[0] = journal_of(text);
    snprintf(text, sizeof text,
             "%s{\"type\":\"record\",\"src\":\"1.7\"}\n{\"type\":\"record\",\"src\":"
             "\"1.8\"}\n",
             run);
    part[1] = journal_of(text);
    part[1].cut = true;
    part[1].bad_lines = 2;
    assert_int_equal(fc_journal_merge(part, paths, 2, &merged, &err), FC_OK);
    assert_int_equal(merged.lines, 3);
    assert_true(merged.cut);
    assert_int_equal(merged.bad_lines, 2);
    fc_journal_text_free(&merged);
}

static void test_merge_refuses_other_runs(void **state)
{
    struct fc_journal_text part[2] = {fixture_journal("healthy"),
                                      fixture_journal("healthy-one-node")};
    struct fc_journal_text merged = {0};
    struct fc_error err = {""};
    (void)state;
    assert_int_equal(fc_journal_merge(part, paths, 2, &merged, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "'a' and 'b'"));
    assert_int_equal(merged.lines, 0);
    assert_true(part[0].lines > 0 && part[1].lines > 0);
    fc_journal_text_free(&part[0]);
    fc_journal_text_free(&part[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suspects_of_fixtures),
        cmocka_unit_test(test_how_pairs_are_measured_again),
        cmocka_unit_test(test_both_ends_of_a_link_meet),
        cmocka_unit_test(test_no_journal),
        cmocka_unit_test(test_merge_of_parts_is_the_whole),
        cmocka_unit_test(test_merge_knows_twins_by_source),
        cmocka_unit_test(test_merge_refuses_other_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
