// SPDX-License-Identifier: BSD-3-Clause
/* Hostile journals of whole fleets: nodes told twice, a fleet whose every link is bad
 * in its own way, matrix lines that contradict each other, parts that no node has. The
 * judge must end, with few findings, and never pass what is not there. */
#include "judge_help.h"

enum { NODES = 160, FEW_FINDINGS = 64 };

struct text {
    char *s;
    size_t bytes;
    FILE *out;
};

static void text_open(struct text *t)
{
    t->out = open_memstream(&t->s, &t->bytes);
    assert_non_null(t->out);
}

static struct fc_journal_text text_close(struct text *t)
{
    assert_int_equal(fclose(t->out), 0);
    struct fc_journal_text journal = journal_of(t->s);
    free(t->s);
    return journal;
}

static void write_head(FILE *out)
{
    fprintf(out,
            "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\",\"version\":\"0\","
            "\"started\":\"2026-01-01T00:00:00.000Z\",\"ranks\":%d,\"nodes\":%d}\n"
            "{\"type\":\"plan\",\"probes\":[{\"name\":\"pairs\"}],\"skipped\":[]}\n"
            "{\"type\":\"profile\",\"name\":\"default\",\"floor\":{},\"effect\":{}}\n"
            "{\"type\":\"phase\",\"name\":\"pairs\",\"state\":\"end\",\"attempt\":1,"
            "\"status\":\"ok\"}\n"
            "{\"type\":\"end\",\"time\":\"2026-01-01T00:01:00.000Z\","
            "\"status\":\"complete\",\"reason\":null}\n",
            NODES, NODES);
}

static void write_nodes(FILE *out, const char *class, const char *leaf)
{
    for (int i = 0; i < NODES; i++)
        fprintf(out,
                "{\"type\":\"node\",\"name\":\"n%d\",\"ranks\":[%d],\"class\":\"%s\","
                "\"switch\":%s}\n",
                i, i, class, leaf);
}

enum entry { HEALTHY, WRONG, FAILED, SLOW, ANY };

static enum entry draw(struct fc_rng *rng, enum entry entry)
{
    return entry == ANY ? (enum entry)fc_rng_below(rng, ANY) : entry;
}

/* Who meets whom is a matter of sums: i meets the one whose number adds up to the
 * round's. */
static void write_round(FILE *out, int round, enum entry entry, const char *more,
                        struct fc_rng *rng)
{
    char pair[4096] = "", bw[4096] = "", wrong[4096] = "", status[4096] = "";
    size_t p = 0, b = 0, w = 0, s = 0;
    for (int i = 0; i < NODES; i++) {
        int k = (round + NODES - i) % NODES;
        enum entry e = draw(rng, entry);
        const char *comma = p ? "," : "";
        if (k <= i)
            continue;
        p += (size_t)snprintf(pair + p, sizeof pair - p, "%s[%d,%d]", comma, i, k);
        b += (size_t)snprintf(bw + b, sizeof bw - b, "%s[%d.5,%d.5]", comma,
                              e == SLOW ? 1 : 9, e == SLOW ? 1 : 9);
        w += (size_t)snprintf(wrong + w, sizeof wrong - w, "%s[%d,%d]", comma,
                              e == WRONG, e == WRONG);
        s += (size_t)snprintf(status + s, sizeof status - s, "%s\"%s\"", comma,
                              e == WRONG || e == FAILED ? "failed" : "ok");
    }
    fprintf(out,
            "{\"type\":\"matrix\",\"probe\":\"pairs\",\"attempt\":1,\"round\":%d,"
            "\"rounds\":%d,\"bytes\":1048576,\"samples\":5%s,\"pair\":[%s],\"bw\":[%s],"
            "\"wrong\":[%s],\"status\":[%s]}\n",
            round, NODES, more, pair, bw, wrong, status);
}

static void write_rounds(FILE *out, int rounds, enum entry entry, const char *more)
{
    struct fc_rng rng;
    fc_rng_seed(&rng, 7);
    for (int round = 0; round < rounds; round++)
        write_round(out, round, entry, more, &rng);
}

/* Its verdict; its findings are at most `most`. */
static const char *verdict_of(struct fc_journal_text *journal, size_t most)
{
    static char verdict[16];
    json_t *suspects = NULL, *report = judge_text(journal, NULL);
    struct fc_error err = {""};
    snprintf(verdict, sizeof verdict, "%s", text_of(report, "verdict"));
    assert_true(json_array_size(json_object_get(report, "findings")) <= most);
    assert_true(json_array_size(json_object_get(report, "coverage")) <= most);
    assert_int_equal(fc_judge_suspects(journal, &suspects, &err), FC_OK);
    assert_true(json_array_size(json_object_get(suspects, "suspects")) <= 8 * NODES);
    json_decref(suspects);
    json_decref(report);
    fc_journal_text_free(journal);
    return verdict;
}

static const char *judge_fleet(enum entry entry, const char *leaf, const char *more)
{
    struct text text;
    text_open(&text);
    write_head(text.out);
    write_nodes(text.out, "aa", leaf);
    write_rounds(text.out, NODES, entry, more);
    struct fc_journal_text journal = text_close(&text);
    return verdict_of(&journal, entry == ANY ? FC_FINDINGS_MAX : FEW_FINDINGS);
}

static void test_bad_everywhere_is_few_findings(void **state)
{
    (void)state;
    assert_string_equal(judge_fleet(HEALTHY, "null", ""), "PASS");
    assert_string_equal(judge_fleet(WRONG, "null", ""), "FAIL");
    assert_string_equal(judge_fleet(FAILED, "null", ""), "FAIL");
    assert_string_not_equal(judge_fleet(SLOW, "null", ""), "FAIL"); /* no limit */
}

static void test_every_link_in_its_own_way_is_bounded(void **state)
{
    (void)state;
    assert_string_equal(judge_fleet(ANY, "null", ""), "FAIL");
}

/* What is no rail and no switch is not one; the line is malformed or goes without. */
static void test_hostile_rails_and_switches(void **state)
{
    static const char *const leaves[] = {
        "7", "{}", "[]", "[[]]", "[null,1e308]", "\"\"", "[\"a\",\"a\",\"b\"]", "true"};
    static const char *const rails[] = {
        ",\"rail\":-1,\"peer_rail\":0",
        ",\"rail\":9223372036854775807,\"peer_rail\":0",
        ",\"rail\":4294967295,\"peer_rail\":4294967296",
        ",\"rail\":\"x\",\"peer_rail\":[]",
        ",\"rail\":0.5",
        ",\"peer_rail\":3",
        ",\"rail\":2147483647,\"peer_rail\":2147483647",
    };
    (void)state;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        assert_string_not_equal(judge_fleet(HEALTHY, leaves[i], ""), "FAIL");
    for (size_t i = 0; i < sizeof rails / sizeof *rails; i++)
        assert_string_not_equal(judge_fleet(HEALTHY, "\"s\"", rails[i]), "FAIL");
}

/* Each node told again with other ranks and another class. */
static void test_nodes_told_twice(void **state)
{
    struct text text;
    (void)state;
    text_open(&text);
    write_head(text.out);
    write_nodes(text.out, "aa", "\"s1\"");
    write_nodes(text.out, "bb", "\"s2\"");
    for (int i = 0; i < NODES; i++)
        fprintf(text.out,
                "{\"type\":\"node\",\"name\":\"n%d\",\"ranks\":[%d,%d,-1,\"x\"]}\n", i,
                i, (i + 1) % NODES);
    write_rounds(text.out, NODES, HEALTHY, "");
    struct fc_journal_text journal = text_close(&text);
    assert_string_equal(verdict_of(&journal, FC_FINDINGS_MAX), "INCONCLUSIVE");
}

/* The same pairs again and again, with other values each time. */
static void test_rounds_that_contradict_each_other(void **state)
{
    struct text text;
    (void)state;
    text_open(&text);
    write_head(text.out);
    write_nodes(text.out, "aa", "\"s\"");
    write_rounds(text.out, NODES, HEALTHY, "");
    for (int i = 0; i < 20; i++)
        write_rounds(text.out, 8, ANY, "");
    struct fc_journal_text journal = text_close(&text);
    assert_string_equal(verdict_of(&journal, FC_FINDINGS_MAX), "FAIL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_everywhere_is_few_findings),
        cmocka_unit_test(test_every_link_in_its_own_way_is_bounded),
        cmocka_unit_test(test_hostile_rails_and_switches),
        cmocka_unit_test(test_nodes_told_twice),
        cmocka_unit_test(test_rounds_that_contradict_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
