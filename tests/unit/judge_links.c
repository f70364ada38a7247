// SPDX-License-Identifier: BSD-3-Clause
/* Single low links among very many: how many of them, one way or both, measured again
 * or not, is what makes them chance, a warning or a fault. */
#include "judge_help.h"

/* All pairs of 160 nodes: 25440 links. */
enum { NODES = 160 };

static const double usual = 11.5, low = 7.0, limit = 12.5;

static void write_head(FILE *out)
{
    fprintf(out,
            "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\",\"version\":\"0\","
            "\"started\":\"2026-01-01T00:00:00.000Z\",\"ranks\":%d,\"nodes\":%d}\n"
            "{\"type\":\"plan\",\"probes\":[{\"name\":\"pairs\"}],\"skipped\":[]}\n"
            "{\"type\":\"profile\",\"name\":\"default\",\"floor\":{\"pair.bw\":0.8},"
            "\"effect\":{\"pair.bw\":0.05}}\n"
            "{\"type\":\"phase\",\"name\":\"pairs\",\"state\":\"end\",\"attempt\":1,"
            "\"status\":\"ok\"}\n"
            "{\"type\":\"end\",\"time\":\"2026-01-01T00:01:00.000Z\","
            "\"status\":\"complete\",\"reason\":null}\n",
            NODES, NODES);
    for (int i = 0; i < NODES; i++)
        fprintf(out,
                "{\"type\":\"node\",\"name\":\"n%d\",\"ranks\":[%d],\"class\":\"a\"}\n",
                i, i);
}

static void write_line(FILE *out, int attempt, int round, const char *pair,
                       const char *bw, const char *limits)
{
    fprintf(out,
            "{\"type\":\"matrix\",\"probe\":\"pairs\",\"attempt\":%d,\"round\":%d,"
            "\"rounds\":%d,\"bytes\":1048576,\"samples\":5,\"pair\":[%s],\"bw\":[%s],"
            "\"limit\":[%s]}\n",
            attempt, round, NODES, pair, bw, limits);
}

/* The first `lows` pairs (0, 1), (2, 3), … are low from the first to the second, and
 * back where `both`. */
static void write_rounds(FILE *out, int lows, bool both)
{
    for (int round = 0; round < NODES; round++) {
        char pair[2048] = "", bw[4096] = "", limits[2048] = "";
        size_t p = 0, b = 0, l = 0;
        for (int i = 0; i < NODES; i++) {
            int k = (round + NODES - i) % NODES;
            const char *comma = p ? "," : "";
            bool is_low = i % 2 == 0 && k == i + 1 && i / 2 < lows;
            double spread = 0.01 * ((7 * i + 3 * k) % 9);
            if (k <= i)
                continue;
            p += (size_t)snprintf(pair + p, sizeof pair - p, "%s[%d,%d]", comma, i, k);
            b += (size_t)snprintf(bw + b, sizeof bw - b, "%s[%.3f,%.3f]", comma,
                                  is_low ? low : usual + spread,
                                  is_low && both ? low : usual + spread);
            l +=
                (size_t)snprintf(limits + l, sizeof limits - l, "%s%.1f", comma, limit);
        }
        write_line(out, 1, round, pair, bw, limits);
    }
}

/* again: what the first low link reaches in a retest; 0: there is none. */
static json_t *judge_links(int lows, bool both, double again)
{
    char *text = NULL, bw[64];
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    write_head(out);
    write_rounds(out, lows, both);
    snprintf(bw, sizeof bw, "[%.3f,%.3f]", again, usual);
    if (again > 0.0)
        write_line(out, 2, 1, "[0,1]", bw, "12.5");
    assert_int_equal(fclose(out), 0);
    struct fc_journal_text journal = journal_of(text);
    json_t *report = judge_text(&journal, NULL);
    fc_journal_text_free(&journal);
    free(text);
    return report;
}

/* How many findings of that severity are about pairs; of them, those of two nodes. */
static size_t count(const json_t *report, const char *severity, size_t *of_links)
{
    size_t i, found = 0;
    json_t *finding;
    *of_links = 0;
    json_array_foreach(json_object_get(report, "findings"), i, finding)
    {
        if (strcmp(text_of(finding, "severity"), severity) != 0 ||
            strncmp(text_of(finding, "check"), "pair.", 5) != 0)
            continue;
        found++;
        *of_links +=
            strcmp(text_of(json_object_get(finding, "subject"), "kind"), "pair") == 0;
    }
    return found;
}

static void expect(json_t *report, const char *verdict, const char *severity,
                   size_t findings, size_t of_links)
{
    size_t links, found = count(report, severity, &links);
    assert_string_equal(text_of(report, "verdict"), verdict);
    assert_int_equal(found, findings);
    assert_int_equal(links, of_links);
    json_decref(report);
}

static void test_chance(void **state)
{
    (void)state;
    expect(judge_links(0, false, 0.0), "PASS", "info", 0, 0);
    /* One for the floor and one for what the others do, of nobody. */
    expect(judge_links(1, false, 0.0), "PASS", "info", 2, 0);
    expect(judge_links(1, false, 0.0), "PASS", "warn", 0, 0);
    expect(judge_links(20, false, 0.0), "PASS", "info", 2, 0);
    expect(judge_links(20, false, 0.0), "PASS", "warn", 0, 0);
}

static void test_more_than_chance(void **state)
{
    (void)state;
    expect(judge_links(70, false, 0.0), "PASS", "warn", 2, 0);
    expect(judge_links(1, true, 0.0), "PASS", "warn", 2, 2);
}

static void test_retest(void **state)
{
    (void)state;
    expect(judge_links(1, false, 7.1), "FAIL", "fail", 2, 2);
    expect(judge_links(1, false, 11.4), "PASS", "info", 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_more_than_chance),
        cmocka_unit_test(test_retest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
