// SPDX-License-Identifier: BSD-3-Clause
/* A line of a journal is what jansson makes of it, whatever stands in it; equal values
 * are one; long lists of matrix lines stay text. */
#include "judge_help.h"

#include "core/journal_parse.h"

static struct fc_journal_parser *parser_open(void)
{
    struct fc_journal_parser *parser = fc_journal_parser_open();
    assert_non_null(parser);
    return parser;
}

/* True when both read it as the same, or both refuse it. */
static bool agrees(struct fc_journal_parser *parser, const char *line, size_t bytes)
{
    json_t *want = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
    json_t *have = fc_journal_parse(parser, line, bytes);
    /* json_equal takes -0.0 for 0.0, and reads no order of members. */
    char *x = want ? json_dumps(want, JSON_COMPACT) : NULL;
    char *y = have ? json_dumps(have, JSON_COMPACT) : NULL;
    bool same = x && y ? strcmp(x, y) == 0 && json_equal(want, have) : x == y;
    if (!same)
        print_message("# %.*s\n# jansson: %s\n# here: %s\n", (int)bytes, line,
                      x ? x : "refused", y ? y : "refused");
    free(x);
    free(y);
    json_decref(want);
    json_decref(have);
    return same;
}

static const char *const odd_lines[] = {
    "{}",
    " { } ",
    "{\"type\":\"run\"}\n",
    "\t{ \"a\" : 1 , \"b\" : [ ] }\r\n",
    "{\"a\":0,\"b\":-0,\"c\":-0.0,\"d\":1e3,\"e\":1E-7,\"f\":0.1,\"g\":123.456e2}",
    "{\"a\":1e400}",
    "{\"a\":1e-400}",
    "{\"a\":1e23}",
    "{\"a\":5e-324}",
    "{\"a\":9007199254740993}",
    "{\"a\":9223372036854775807}",
    "{\"a\":9223372036854775808}",
    "{\"a\":123456789012345678901234567890.5}",
    "{\"a\":0.30000000000000004}",
    "{\"a\":1.7976931348623157e308}",
    "{\"a\":01}",
    "{\"a\":1.}",
    "{\"a\":.5}",
    "{\"a\":+1}",
    "{\"a\":-}",
    "{\"a\":1e}",
    "{\"a\":1e+}",
    "{\"a\":0x1}",
    "{\"a\":1 2}",
    "{\"a\":NaN}",
    "{\"a\":true,\"b\":false,\"c\":null}",
    "{\"a\":True}",
    "{\"a\":nul}",
    "{\"a\":nulll}",
    "{\"a\":\"\"}",
    "{\"\":1}",
    "{\"a\":\"\\u0041\\n\\\"\"}",
    "{\"a\":\"\\u0000\"}",
    "{\"a\":\"\\x\"}",
    "{\"a\":\"\xc3\xa4\"}",
    "{\"a\":\"\xff\"}",
    "{\"\xc3\xa4\":1}",
    "{\"a\\u0062\":1,\"ab\":2}",
    "{\"a\":1,\"a\":1}",
    "{\"a\":{\"b\":1,\"b\":2}}",
    "{\"a\":[{\"b\":1,\"b\":2}]}",
    "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":[1,{}]}}}}}}",
    "{\"a\":[1,2}",
    "{\"a\":{\"b\":1]}",
    "{\"a\":[}",
    "{\"a\":{}",
    "{\"a\":[]]}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{\"a\":1}}",
    "{\"a\":1} x",
    "{a:1}",
    "{\"a\" 1}",
    "{\"a\":\"b",
    "{\"a",
    "{",
    "",
    " ",
    "[]",
    "1",
    "\"a\"",
    "null",
    "{\"a\":\"tab\there\"}",
    "{\"a\":\"\x7f\"}",
    "{\"a\":[1,2,3],\"b\":[1,2,3]}",
    "{\"src\":\"0.1\",\"x\":{\"src\":\"0.1\"}}",
    "{\"a\":{ },\"b\":{},\"c\":[ ]}",
};

static void test_odd_lines(void **state)
{
    (void)state;
    struct fc_journal_parser *parser = parser_open();
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < sizeof odd_lines / sizeof *odd_lines; i++)
            assert_true(agrees(parser, odd_lines[i], strlen(odd_lines[i])));
    assert_true(agrees(parser, "{\"a\":1}\0", 8));
    assert_true(agrees(parser, "{\"a\0\":1}", 8));
    fc_journal_parser_close(parser);
}

static void test_many_members_and_deep_ones(void **state)
{
    char line[9000], key[100];
    (void)state;
    struct fc_journal_parser *parser = parser_open();
    for (size_t members = 60; members < 70; members++) {
        size_t used = 0;
        for (size_t i = 0; i < members; i++)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s\"k%zu\":%zu",
                                     i ? "," : "{", i, i);
        snprintf(line + used, sizeof line - used, "}");
        assert_true(agrees(parser, line, strlen(line)));
        memset(key, 'k', members);
        key[members] = '\0';
        snprintf(line, sizeof line, "{\"%s\":1}", key);
        assert_true(agrees(parser, line, strlen(line)));
    }
    for (size_t depth = 1; depth < 3000; depth += 299) {
        memset(line, '[', depth);
        memset(line + depth, ']', depth);
        line[2 * depth] = '\0';
        char *text = NULL;
        assert_true(asprintf(&text, "{\"a\":{\"b\":%s}}", line) > 0);
        assert_true(agrees(parser, text, strlen(text)));
        free(text);
    }
    fc_journal_parser_close(parser);
}

/* Lines of all fixtures, whole and with bytes changed, gone or twice. */
static void test_spoilt_lines(void **state)
{
    static const char odd[] = "\"\\{}[],:0919.eE+-tfn \x01\x80\xff";
    struct lines names = fixture_names();
    struct fc_rng rng;
    (void)state;
    struct fc_journal_parser *parser = parser_open();
    fc_rng_seed(&rng, 5);
    for (size_t n = 0; n < names.count; n++) {
        char path[4096], file[300];
        snprintf(file, sizeof file, "judge/%s.jsonl", names.line[n]);
        fixture_path(file, path, sizeof path);
        char *text = read_text(path);
        struct lines lines = lines_split(text);
        for (size_t i = 0; i < lines.count; i += 1 + fc_rng_below(&rng, 3)) {
            char *line = lines.line[i];
            size_t bytes = strlen(line);
            if (bytes > 2000) /* where long lists stay text */
                continue;
            assert_true(agrees(parser, line, bytes));
            for (size_t k = fc_rng_below(&rng, 3); k > 0; k--)
                line[fc_rng_below(&rng, bytes)] =
                    odd[fc_rng_below(&rng, sizeof odd - 1)];
            assert_true(agrees(parser, line, bytes));
            assert_true(agrees(parser, line, fc_rng_below(&rng, bytes)));
        }
        lines_free(&lines);
        free(text);
    }
    lines_free(&names);
    fc_journal_parser_close(parser);
}

/* Numbers as a journal has them are exactly jansson's. */
static void test_numbers(void **state)
{
    struct fc_rng rng;
    (void)state;
    struct fc_journal_parser *parser = parser_open();
    fc_rng_seed(&rng, 6);
    for (size_t i = 0; i < 20000; i++) {
        char number[400], line[500];
        double x = (double)fc_rng_below(&rng, UINT64_C(1) << 53);
        for (uint64_t k = fc_rng_below(&rng, 40); k > 0; k--)
            x /= 10.0;
        switch (i % 5) {
        case 0:
            snprintf(number, sizeof number, "%.9g", x);
            break;
        case 1:
            snprintf(number, sizeof number, "%.17g", x);
            break;
        case 2:
            snprintf(number, sizeof number, "%.4g", x);
            break;
        case 3:
            snprintf(number, sizeof number, "%.1f", x);
            break;
        default:
            snprintf(number, sizeof number, "-%.6e", x);
        }
        snprintf(line, sizeof line, "{\"x\":%s}", number);
        json_t *want = json_loads(line, 0, NULL);
        json_t *have = fc_journal_parse(parser, line, strlen(line));
        if (!want || !have || !json_equal(want, have))
            fail_msg("%s", line);
        json_decref(want);
        json_decref(have);
    }
    fc_journal_parser_close(parser);
}

static json_t *member(const json_t *line, const char *key)
{
    return json_object_get(line, key);
}

static void test_equal_values_are_one(void **state)
{
    static const char first[] =
        "{\"unit\":\"GB/s\",\"subject\":{\"node\":\"n1\"},"
        "\"x\":{\"basis\":\"GB/s\",\"value\":1},\"src\":\"1.1\"}";
    static const char again[] =
        "{\"subject\":{\"node\":\"n1\"},\"unit\":\"GB/s\","
        "\"x\":{\"basis\":\"GB/s\",\"value\":2},\"src\":\"1.1\"}";
    (void)state;
    struct fc_journal_parser *parser = parser_open();
    json_t *a = fc_journal_parse(parser, first, sizeof first - 1);
    json_t *b = fc_journal_parse(parser, again, sizeof again - 1);
    assert_non_null(a);
    assert_non_null(b);
    fc_journal_parser_close(parser);
    assert_ptr_equal(member(a, "unit"), member(b, "unit"));
    assert_ptr_equal(member(a, "subject"), member(b, "subject"));
    assert_ptr_equal(member(member(a, "x"), "basis"), member(b, "unit"));
    assert_ptr_not_equal(member(a, "x"), member(b, "x"));
    assert_ptr_not_equal(member(a, "src"), member(b, "src"));
    json_decref(a);
    assert_string_equal(text_of(member(b, "subject"), "node"), "n1");
    json_decref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_lines),
        cmocka_unit_test(test_many_members_and_deep_ones),
        cmocka_unit_test(test_spoilt_lines),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_equal_values_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
