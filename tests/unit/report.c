// SPDX-License-Identifier: BSD-3-Clause
/* Reports: the golden journal of each schema version, and the text that people read. */
#include "judge_help.h"

#include "report/report.h"
#include "report/text.h"

#include <math.h>

static enum fc_status render(const char *format, const json_t *report, FILE *out)
{
    struct fc_error err = {""};
    const struct fc_renderer *r = fc_renderers;
    while (r->name && strcmp(r->name, format) != 0)
        r++;
    assert_non_null(r->name);
    return r->render(report, out, &err);
}

/* Rendered text, malloc'd. */
static char *rendered(const char *format, const json_t *report)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(render(format, report, out), FC_OK);
    fclose(out);
    return text;
}

static json_t *judged(const char *fixture)
{
    struct fc_journal_text journal = fixture_journal(fixture);
    json_t *report = judge_text(&journal, NULL);
    fc_journal_text_free(&journal);
    return report;
}

/* All that `want` holds is in `have`; what a later version adds does no harm. Arrays
 * have the same length, numbers are equal to nine digits. */
static bool holds(const json_t *want, const json_t *have, const char *where)
{
    const char *key;
    json_t *value;
    size_t i;
    bool ok = true;
    if (json_is_object(want)) {
        json_object_foreach((json_t *)(uintptr_t)want, key, value) ok =
            holds(value, json_object_get(have, key), key) && ok;
    } else if (json_is_array(want)) {
        ok = json_array_size(want) == json_array_size(have);
        json_array_foreach(want, i, value) ok =
            holds(value, json_array_get(have, i), where) && ok;
    } else if (json_is_number(want) && json_is_number(have)) {
        double a = json_number_value(want), b = json_number_value(have);
        ok = fabs(a - b) <= 1e-9 * fabs(a);
    } else {
        ok = json_equal((json_t *)(uintptr_t)want, (json_t *)(uintptr_t)have);
    }
    if (!ok)
        print_message("# '%s' is not as expected\n", where);
    return ok;
}

static void test_golden_journal(void **state)
{
    char path[4096];
    struct fc_journal_text journal;
    struct fc_error err = {""};
    (void)state;
    fixture_path("golden/journal-v1.jsonl", path, sizeof path);
    if (fc_journal_read(path, &journal, &err) != FC_OK)
        fail_msg("%s", err.text);
    fixture_path("golden/journal-v1.expect.json", path, sizeof path);
    json_t *want = json_load_file(path, 0, NULL), *report = judge_text(&journal, NULL);
    assert_non_null(want);
    assert_true(holds(want, report, "report"));
    assert_int_equal(json_array_size(json_object_get(report, "records")), 55);
    json_decref(report);
    json_decref(want);
    fc_journal_text_free(&journal);
}

static void test_json_comes_back(void **state)
{
    json_t *report = judged("floor-missed");
    char *text = rendered("json", report);
    json_t *back = json_loads(text, 0, NULL);
    (void)state;
    assert_true(holds(report, back, "report"));
    json_decref(back);
    free(text);
    json_decref(report);
}

static const char *last_line(const char *text)
{
    size_t length = strlen(text);
    assert_true(length > 1 && text[length - 1] == '\n');
    const char *line = text + length - 1;
    while (line > text && line[-1] != '\n')
        line--;
    return line;
}

static void test_text_says_what_matters(void **state)
{
    static const struct {
        const char *fixture, *last; /* the last line's beginning */
        const char *has[4];
    } cases[] = {
        {"healthy",
         "verdict: PASS 3 nodes, 6 ranks",
         {"level quick", "6 ranks on 3 nodes", "gemm.fp32 1.7"}},
        {"floor-missed",
         "verdict: FAIL n2 rank 2: device.gemm.fp32",
         {"FAIL  n2 rank 2: device.gemm.fp32", "bad nodes: n2\n", "      next ",
          "      again   srun -w n2 -N1 -n2 fabricheck run --probes device"}},
        {"node-expected",
         "verdict: FAIL all nodes together: 3 nodes took part, 4 expected",
         {"bad nodes: none singled out\n"}},
        {"interrupted",
         "verdict: INCONCLUSIVE ",
         {"not measured:\n", "collectives: it was still running",
          "end of the run: the run "
          "was interrupted"}},
        {"kernel-differs-on-two", "verdict: PASS", {"WARN  n[2,4]: kernel.release is"}},
        {"more-ranks-than-cpus",
         "verdict: PASS",
         {"info  n[1-3]: 4 ranks share 2 CPUs"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *report = judged(cases[i].fixture);
        char *text = rendered("text", report);
        if (strncmp(last_line(text), cases[i].last, strlen(cases[i].last)) != 0)
            fail_msg("%s ends in: %s", cases[i].fixture, last_line(text));
        for (size_t k = 0; k < 4 && cases[i].has[k]; k++)
            if (!strstr(text, cases[i].has[k]))
                fail_msg("%s lacks '%s' in:\n%s", cases[i].fixture, cases[i].has[k],
                         text);
        free(text);
        json_decref(report);
    }
}

static void test_simulated_is_said(void **state)
{
    struct fc_journal_text journal = fixture_journal("healthy");
    (void)state;
    for (size_t i = 0; i < journal.lines; i++)
        if (strcmp(text_of(journal.line[i], "type"), "run") == 0)
            json_object_set_new(journal.line[i], "simulated", json_true());
    json_t *report = judge_text(&journal, NULL);
    char *text = rendered("text", report);
    assert_non_null(strstr(text, "SIMULATED"));
    free(text);
    json_decref(report);
    fc_journal_text_free(&journal);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

static void test_many_findings_are_cut_short(void **state)
{
    json_t *report = judged("healthy"), *findings = json_array();
    (void)state;
    for (int i = 0; i < 33; i++)
        json_array_append_new(findings,
                              json_pack("{s:s, s:{s:s, s:s}, s:s, s:s, s:s}",
                                        "severity", "fail", "subject", "kind", "node",
                                        "node", "n1", "message", "bad", "cause",
                                        "the same cause", "remedy", "the same remedy"));
    json_object_set_new(report, "findings", findings);
    json_object_set_new(report, "findings_omitted", json_integer(1000));
    char *text = rendered("text", report);
    assert_int_equal(count(text, "FAIL  n1: bad"), 20);
    assert_int_equal(count(text, "the same cause"), 1);
    assert_non_null(strstr(text, "and 1013 more findings (see report.json)"));
    free(text);
    json_decref(report);
}

/* Many nodes that miss the same thing are one line with a host list. */
static void test_equal_gaps_are_one_line(void **state)
{
    json_t *report = judged("healthy"), *coverage = json_array();
    (void)state;
    for (int i = 1; i <= 64; i++) {
        char node[32];
        snprintf(node, sizeof node, "n%02d", i);
        json_array_append_new(coverage,
                              json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:n}", "check",
                                        "x", "probe", "device", "what", "device.mem_bw",
                                        "reason", "no record", "class", "required",
                                        "node", node, "substitute"));
    }
    json_object_set_new(report, "coverage", coverage);
    char *text = rendered("text", report);
    assert_int_equal(count(text, "device.mem_bw on n[01-64]: no record"), 1);
    free(text);
    json_decref(report);
}

static void test_hostile_names(void **state)
{
    static const char *const texts[] = {
        "\x1b[31mred\x1b[0m",
        "two\nlines",
        "\xc2\x9b"
        "31m",
        "\xe2\x80\xae"
        "turned",
        "tab\there",
        "\x7f",
    };
    json_t *report = judged("floor-missed");
    json_t *finding = json_array_get(json_object_get(report, "findings"), 0);
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_object_set_new(finding, "message", json_string(texts[i]));
        json_object_set_new(json_object_get(finding, "subject"), "node",
                            json_string(texts[i]));
        json_object_set_new(report, "bad_nodes", json_string(texts[i]));
        json_object_set_new(report, "reason", json_string(texts[i]));
        char *text = rendered("text", report);
        for (const char *c = text; *c; c++)
            assert_true((unsigned char)*c >= ' ' || *c == '\n');
        assert_null(strstr(text, "\xc2\x9b"));
        assert_null(strstr(text, "\xe2\x80\xae"));
        assert_null(strchr(text, 0x7f));
        assert_int_equal(strncmp(last_line(text), "verdict: FAIL ", 14), 0);
        free(text);
    }
    json_decref(report);
}

static void test_reports_that_are_none(void **state)
{
    static const char *const texts[] = {"{}", "[]", "{\"findings\":7,\"probes\":{}}",
                                        "{\"run\":[],\"coverage\":[1,null,{}]}",
                                        "{\"findings\":[null,3,{}],\"probes\":[{}]}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *report = json_loads(texts[i], 0, NULL);
        char *text = rendered("text", report);
        assert_int_equal(strncmp(last_line(text), "verdict: INCONCLUSIVE", 21), 0);
        free(text);
        json_decref(report);
    }
}

static void test_a_full_disk_is_told(void **state)
{
    json_t *report = judged("healthy");
    (void)state;
    for (const struct fc_renderer *r = fc_renderers; r->name; r++) {
        FILE *full = fopen("/dev/full", "we");
        if (!full)
            skip();
        assert_int_equal(render(r->name, report, full), FC_IO);
        fclose(full);
    }
    json_decref(report);
}

static void test_lines_are_wrapped(void **state)
{
    char *text = NULL;
    size_t bytes, longest = 0, columns = 0;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    assert_non_null(out);
    for (int i = 0; i < 40; i++)
        fc_text_wrap(
            out,
            "many words of some length, äöü, one after the other and so on and "
            "on until the line is full, and then some more of them",
            6, 6);
    fclose(out);
    for (const char *c = text; *c; c++) {
        columns = *c == '\n' ? 0 : columns + (((unsigned char)*c & 0xC0) != 0x80);
        longest = columns > longest ? columns : longest;
    }
    assert_true(longest <= FC_TEXT_WIDTH && longest > FC_TEXT_WIDTH - 20);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_journal),
        cmocka_unit_test(test_json_comes_back),
        cmocka_unit_test(test_text_says_what_matters),
        cmocka_unit_test(test_simulated_is_said),
        cmocka_unit_test(test_many_findings_are_cut_short),
        cmocka_unit_test(test_equal_gaps_are_one_line),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_reports_that_are_none),
        cmocka_unit_test(test_a_full_disk_is_told),
        cmocka_unit_test(test_lines_are_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
