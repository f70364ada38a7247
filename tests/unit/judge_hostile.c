// SPDX-License-Identifier: BSD-3-Clause
/* Hostile journals: wrong types everywhere, huge numbers, bytes that are no text,
 * depth, length and number. The judge must end, with a verdict or with one line, and
 * never pass what is not there. */
#include "judge_help.h"

#include "report/report.h"

#include <locale.h>
#include <unistd.h>

enum { HOSTILE = 15 };

/* Longer than any message keeps, and of characters that must not be cut in two. */
static json_t *long_text(void)
{
    char text[2 * 280 + 2] = "x";
    for (size_t k = 0; k < 280; k++)
        memcpy(text + 1 + 2 * k, "\xc3\xa4", 2);
    text[sizeof text - 1] = '\0';
    return json_string(text);
}

static json_t *hostile_value(size_t i)
{
    switch (i) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer(-1);
    case 3:
        return json_integer(0);
    case 4:
        return json_integer(INT64_MAX);
    case 5:
        return json_integer(INT64_MIN);
    case 6:
        return json_real(1e308);
    case 7:
        return json_real(-1e308);
    case 8:
        return json_real(5e-324);
    case 9:
        return json_string("");
    case 10:
        return json_string("\x1b[31m\n\xc2\x9b%s%n");
    case 11:
        return json_array();
    case 12:
        return json_object();
    case 13:
        return long_text();
    default:
        return json_pack("[[{s:[n]}]]", "a");
    }
}

/* Judges and renders; the verdict, or "-" when the journal was refused. */
static const char *judge_and_render(const struct fc_journal_text *journal)
{
    static const char *const verdicts[] = {"PASS", "FAIL", "INCONCLUSIVE"};
    json_t *report = NULL, *suspects = NULL;
    struct fc_error err = {""};
    char *text = NULL;
    size_t bytes, which = 0;
    enum fc_status status = fc_judge(journal, NULL, &report, &err);
    enum fc_status again = fc_judge_suspects(journal, &suspects, &err);
    assert_int_equal(status, again);
    if (status != FC_OK) {
        assert_int_equal(status, FC_USAGE);
        assert_true(err.text[0]);
        return "-";
    }
    while (which < 3 && strcmp(text_of(report, "verdict"), verdicts[which]) != 0)
        which++;
    assert_true(which < 3);
    for (const struct fc_renderer *r = fc_renderers; r->name; r++) {
        FILE *out = open_memstream(&text, &bytes);
        assert_non_null(out);
        assert_int_equal(r->render(report, out, &err), FC_OK);
        fclose(out);
        for (size_t i = 0; i < bytes; i++) /* nothing raw reaches the terminal */
            assert_true((unsigned char)text[i] >= ' ' || text[i] == '\n');
        assert_null(strstr(text, "\xc2\x9b"));
        free(text);
    }
    json_decref(suspects);
    json_decref(report);
    return verdicts[which];
}

/* Every member of `object` in turn gets every hostile value. */
static void poison(const struct fc_journal_text *journal, json_t *object, int depth)
{
    const char *key;
    json_t *member;
    void *next;
    json_object_foreach_safe(object, next, key, member)
    {
        json_t *kept = json_incref(member);
        for (size_t i = 0; i < HOSTILE; i++) {
            json_object_set_new(object, key, hostile_value(i));
            judge_and_render(journal);
        }
        json_object_set_new(object, key, kept);
        if (json_is_object(kept) && depth < 3)
            poison(journal, kept, depth + 1);
    }
}

static void test_wrong_types_everywhere(void **state)
{
    static const char *const names[] = {"healthy-one-rank", "healthy-pairs-of-two"};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct fc_journal_text journal = fixture_journal(names[k]);
        assert_string_equal(judge_and_render(&journal), "PASS");
        for (size_t i = 0; i < journal.lines; i++)
            poison(&journal, journal.line[i], 0);
        assert_string_equal(judge_and_render(&journal), "PASS");
        fc_journal_text_free(&journal);
    }
}

/* Members and entries without which a pair proves nothing. */
static void test_a_poisoned_pair_does_not_pass(void **state)
{
    static const char *const keys[] = {"pair", "bw", "round", "rounds"};
    struct fc_journal_text journal = fixture_journal("healthy-pairs-of-two");
    (void)state;
    for (size_t i = 0; i < journal.lines; i++) {
        json_t *line = journal.line[i];
        if (strcmp(text_of(line, "type"), "matrix") != 0)
            continue;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            json_t *kept = json_incref(json_object_get(line, keys[k]));
            for (size_t v = 0; v < HOSTILE; v++) {
                bool fine = strcmp(keys[k], "round") == 0 && v == 3; /* round 0 */
                json_object_set_new(line, keys[k], hostile_value(v));
                if (!fine && strcmp(judge_and_render(&journal), "PASS") == 0)
                    fail_msg("%s with hostile value %zu passes", keys[k], v);
                if (v == 0 || !json_is_array(kept))
                    continue;
                json_object_set_new(line, keys[k], json_pack("[o]", hostile_value(v)));
                if (strcmp(judge_and_render(&journal), "PASS") == 0)
                    fail_msg("%s of hostile value %zu passes", keys[k], v);
            }
            json_object_set_new(line, keys[k], kept);
        }
    }
    fc_journal_text_free(&journal);
}

/* Members without which a record proves nothing. */
static void test_a_poisoned_record_does_not_pass(void **state)
{
    static const char *const keys[] = {"median",  "status", "metric",
                                       "subject", "wrong",  "limit"};
    struct fc_journal_text journal = fixture_journal("healthy-one-rank");
    (void)state;
    for (size_t i = 0; i < journal.lines; i++) {
        json_t *line = journal.line[i];
        if (strcmp(text_of(line, "metric"), "device.gemm.fp32") != 0)
            continue;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            json_t *kept = json_incref(json_object_get(line, keys[k]));
            for (size_t v = 0; v < HOSTILE; v++) {
                bool fine = strcmp(keys[k], "wrong") == 0 && v == 3; /* 0 wrong */
                json_object_set_new(line, keys[k], hostile_value(v));
                if (!fine && strcmp(judge_and_render(&journal), "PASS") == 0)
                    fail_msg("%s with hostile value %zu passes", keys[k], v);
            }
            json_object_set_new(line, keys[k], kept);
        }
    }
    fc_journal_text_free(&journal);
}

static void test_lines_twice_are_lines_once(void **state)
{
    struct fc_journal_text journal = fixture_journal("floor-missed");
    (void)state;
    json_t *once = judge_text(&journal, NULL);
    journal.line = realloc(journal.line, 2 * journal.lines * sizeof(json_t *));
    assert_non_null(journal.line);
    for (size_t i = 0; i < journal.lines; i++)
        journal.line[journal.lines + i] = json_deep_copy(journal.line[i]);
    journal.lines *= 2;
    json_t *twice = judge_text(&journal, NULL);
    assert_true(json_equal(once, twice));
    json_decref(twice);
    json_decref(once);
    fc_journal_text_free(&journal);
}

static void append(struct fc_journal_text *journal, json_t *line)
{
    journal->line = realloc(journal->line, (journal->lines + 1) * sizeof(json_t *));
    assert_non_null(journal->line);
    assert_non_null(line);
    journal->line[journal->lines++] = line;
}

static void test_unknown_types_and_keys_are_left_alone(void **state)
{
    struct fc_journal_text journal = fixture_journal("healthy");
    (void)state;
    json_t *before = judge_text(&journal, NULL);
    append(&journal, json_pack("{s:s, s:[n]}", "type", "hologram", "x"));
    append(&journal, json_pack("{s:s, s:i}", "type", "tensor", "round", 1));
    json_t *after = judge_text(&journal, NULL);
    assert_true(json_equal(before, after));
    json_decref(after);
    json_decref(before);
    fc_journal_text_free(&journal);
}

static json_t *wrong_record(int i, const char *name)
{
    return json_pack("{s:s, s:i, s:s, s:{s:s, s:s, s:i}, s:{s:i}, s:s, s:f, s:i}",
                     "type", "record", "seq", i + 1, "metric", "device.gemm.fp32",
                     "subject", "kind", "node", "node", name, "rank", i, "params",
                     "attempt", 1, "status", "ok", "median", 1.0, "wrong", 1);
}

static void test_very_many_findings_are_bounded(void **state)
{
    enum { MANY = 30000 };
    struct fc_journal_text journal = fixture_journal("healthy");
    char name[64];
    (void)state;
    journal.line = realloc(journal.line, (journal.lines + MANY) * sizeof(json_t *));
    assert_non_null(journal.line);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "evil%d", i);
        journal.line[journal.lines++] = wrong_record(i + 1000, name);
    }
    json_t *report = judge_text(&journal, NULL);
    const json_t *findings = json_object_get(report, "findings");
    assert_string_equal(text_of(report, "verdict"), "FAIL");
    assert_int_equal(json_array_size(findings), FC_FINDINGS_MAX);
    assert_int_equal(json_integer_value(json_object_get(report, "findings_omitted")),
                     MANY - FC_FINDINGS_MAX);
    assert_true(json_array_size(json_object_get(report, "coverage")) <=
                FC_FINDINGS_MAX);
    assert_string_equal(text_of(report, "bad_nodes"), "evil[0-29999]");
    json_decref(report);
    fc_journal_text_free(&journal);
}

/* Text of the real reader's file. */
static enum fc_status read_bytes(const char *text, size_t bytes,
                                 struct fc_journal_text *out, struct fc_error *err)
{
    char path[] = "/tmp/fc-hostile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
    enum fc_status status = fc_journal_read(path, out, err);
    unlink(path);
    return status;
}

/* A healthy journal's text with `extra` put before its last line. */
static char *with_extra(const char *extra, size_t bytes, size_t *out_bytes)
{
    char path[4096];
    fixture_path("judge/healthy-one-rank.jsonl", path, sizeof path);
    char *text = read_text(path), *joined = malloc(strlen(text) + bytes + 1);
    assert_non_null(joined);
    size_t head = (size_t)(strstr(text, "{\"type\":\"end\"") - text);
    memcpy(joined, text, head);
    memcpy(joined + head, extra, bytes);
    strcpy(joined + head + bytes, text + head);
    *out_bytes = head + bytes + strlen(text + head);
    free(text);
    return joined;
}

static const char *judge_extra(const char *extra, size_t bytes)
{
    struct fc_journal_text journal;
    struct fc_error err = {""};
    size_t size;
    char *text = with_extra(extra, bytes, &size);
    if (read_bytes(text, size, &journal, &err) != FC_OK)
        fail_msg("%s", err.text);
    free(text);
    const char *verdict = judge_and_render(&journal);
    fc_journal_text_free(&journal);
    return verdict;
}

static void test_lines_that_are_no_text(void **state)
{
    enum { MIB = 1 << 20 };
    static const char bad[] = "{\"type\":\"event\",\"kind\":\"\xff\xfe\"}\n";
    static const char nul[] = "{\"type\":\"event\",\"kind\":\"a\\u0000b\"}\n";
    static const char zero[] = "\0\0\0\n";
    static const char huge[] =
        "{\"type\":\"event\",\"kind\":\"x\",\"seconds\":1e999}\n";
    (void)state;
    assert_string_equal(judge_extra("", 0), "PASS");
    assert_string_equal(judge_extra(bad, sizeof bad - 1), "INCONCLUSIVE");
    assert_string_equal(judge_extra(nul, sizeof nul - 1), "INCONCLUSIVE");
    assert_string_equal(judge_extra(zero, sizeof zero - 1), "INCONCLUSIVE");
    assert_string_equal(judge_extra(huge, sizeof huge - 1), "INCONCLUSIVE");
    /* a line of 1 MiB: a name that is no node's */
    char *line = malloc(MIB + 128);
    assert_non_null(line);
    int n = sprintf(line, "{\"type\":\"node\",\"name\":\"");
    memset(line + n, 'n', MIB);
    strcpy(line + n + MIB, "\"}\n");
    assert_string_equal(judge_extra(line, strlen(line)), "INCONCLUSIVE");
    /* depth: beyond what the reader takes, and just below it */
    for (size_t depth = 1000; depth <= 100000; depth *= 100) {
        n = sprintf(
            line, "{\"type\":\"fact\",\"node\":\"n1\",\"facts\":{\"kernel.release\":");
        memset(line + n, '[', depth);
        memset(line + n + depth, ']', depth);
        strcpy(line + n + 2 * depth, "}}\n");
        assert_string_equal(judge_extra(line, strlen(line)),
                            depth == 1000 ? "PASS" : "INCONCLUSIVE");
    }
    free(line);
}

/* A matrix line with a list of `entry` many times, so that it is read as text. */
static const char *judge_list(const char *key, const char *entry, const char *end)
{
    enum { TIMES = 20000 };
    size_t room = TIMES * (strlen(entry) + 1) + 512;
    char *line = malloc(room), *at = line;
    assert_non_null(line);
    at += sprintf(at,
                  "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,1]],"
                  "\"%s\":[",
                  key);
    for (size_t i = 0; i < TIMES; i++)
        at += sprintf(at, "%s%s", i ? "," : "", entry);
    strcpy(at, end);
    const char *verdict = judge_extra(line, strlen(line));
    free(line);
    return verdict;
}

static void test_long_lists_of_anything(void **state)
{
    static const char *const entries[] = {
        "[0,1]",  "[0,1e999]", "1e308",
        "null",   "[[[]]]",    "{\"name\":\"x\"}",
        "\"ok\"", "\"\\\"\"",  "[-1,99999999999999999999]"};
    static const char *const keys[] = {"bw",   "wrong", "status",
                                       "path", "limit", "note"};
    (void)state;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
            assert_string_equal(judge_list(keys[k], entries[i], "]}\n"),
                                "INCONCLUSIVE");
    assert_string_equal(judge_list("bw", "[1,2]", "}\n"), "INCONCLUSIVE");
    assert_string_equal(judge_list("bw", "[1,2]", "]]}\n"), "INCONCLUSIVE");
    assert_string_equal(judge_list("bw", "\xff", "]}\n"), "INCONCLUSIVE");
    assert_string_equal(judge_list("bw", "[", "]}\n"), "INCONCLUSIVE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_types_everywhere),
        cmocka_unit_test(test_a_poisoned_record_does_not_pass),
        cmocka_unit_test(test_a_poisoned_pair_does_not_pass),
        cmocka_unit_test(test_lines_twice_are_lines_once),
        cmocka_unit_test(test_unknown_types_and_keys_are_left_alone),
        cmocka_unit_test(test_very_many_findings_are_bounded),
        cmocka_unit_test(test_lines_that_are_no_text),
        cmocka_unit_test(test_long_lists_of_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
