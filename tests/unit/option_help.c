// SPDX-License-Identifier: BSD-3-Clause
/* The option table shown: the journal's echo, and --help in 80 columns. */
#include "tests/unit/option_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void echo_is_json(void **state)
{
    struct values v = {.begin = 0};
    struct fc_error err;
    (void)state;
    assert_int_equal(fc_options_init(table, &v, &err), FC_OK);
    v.duration = 1500000000;
    v.factor = 1.5;
    assert_int_equal(fc_words_add(&v.labels, "site=\377\376"), FC_OK);
    assert_int_equal(fc_words_add(&v.tags, "a"), FC_OK);
    assert_int_equal(fc_words_add(&v.tags, "b"), FC_OK);
    json_t *echo = fc_options_echo(table, &v);
    assert_non_null(echo);
    char *text = json_dumps(echo, JSON_COMPACT);
    assert_non_null(text);
    assert_string_equal(
        text, "{\"level\":\"standard\",\"probes\":[\"config\",\"device\"],"
              "\"label\":[\"site=??\"],\"tags\":[\"a\",\"b\"],\"out\":null,"
              "\"expect-nodes\":0,\"factor\":1.5,\"begin\":65536,\"duration\":1.5,"
              "\"json\":false,\"verbose\":false}");
    free(text);
    json_decref(echo);
    v.begin = UINT64_MAX; /* more than JSON's integers hold here: no negative size */
    echo = fc_options_echo(table, &v);
    assert_true(json_number_value(json_object_get(echo, "begin")) > 1.8e19);
    json_decref(echo);
    fc_options_free(table, &v);
}

static void help_is_aligned_and_wrapped(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    (void)state;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fc_options_help(table, out);
    assert_int_equal(fclose(out), 0);
    size_t column =
        (size_t)(strstr(text, "which probes") - strstr(text, "      --probes"));
    size_t named = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_true(strlen(line) <= 80);
        assert_true(strlen(line) > column);
        assert_true(line[column] != ' ' && line[column - 1] == ' ');
        named += strstr(line, "--") != NULL;
        if (strstr(line, "--begin"))
            assert_string_equal(line + column, "smallest size [64K]");
        if (strstr(line, "--probes"))
            assert_non_null(strstr(line, "  --probes A,B "));
        if (strstr(line, "--level"))
            assert_non_null(strstr(line, "  -l, --level LEVEL "));
        if (strstr(line, "--json"))
            assert_non_null(strstr(line, "      --json   "));
    }
    assert_int_equal(named,
                     sizeof table / sizeof *table); /* --help for the end's row */
    free(text);
}

/* Help as text, for a table of one row; the caller frees it. */
static char *help_of(const struct fc_option *row)
{
    const struct fc_option rows[] = {*row, FC_OPTION_END};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fc_options_help(rows, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Whatever the length of the text, a line holds 80 columns at most, and the next word
 * would not have fitted. */
static void lines_are_full_but_not_beyond(void **state)
{
    (void)state;
    for (size_t len = 1; len < 90; len++) {
        char help[128];
        for (size_t i = 0; i < len; i++)
            help[i] = i % 3 == 2 ? ' ' : 'w';
        snprintf(help + len, sizeof help - len, "%s", len % 3 == 0 ? "end" : " end");
        struct fc_option row = {.name = "x",
                                .type = FC_OPT_CHOICE,
                                .choices = "aa|bb|cc",
                                .def = "aa",
                                .arg = "X",
                                .help = help};
        char *text = help_of(&row), *rest = NULL;
        size_t previous = 0;
        for (char *line = strtok_r(text, "\n", &rest); line && !strstr(line, "--help");
             line = strtok_r(NULL, "\n", &rest)) {
            const char *word = line + strspn(line, " ");
            assert_true(strlen(line) <= 80);
            if (previous > 0)
                assert_true(previous + 1 + strcspn(word, " ") > 80);
            previous = strlen(line);
        }
        free(text);
    }
}

static void long_names_get_a_line(void **state)
{
    struct fc_option row = {.name = "a-name-that-is-longer-than-the-column",
                            .type = FC_OPT_FLAG,
                            .help = "what\342\200\246 it does"};
    (void)state;
    char *text = help_of(&row);
    assert_string_equal(text, "      --a-name-that-is-longer-than-the-column\n"
                              "                              what\342\200\246 it does\n"
                              "  -h, --help                  show this help and end\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(echo_is_json),
        cmocka_unit_test(help_is_aligned_and_wrapped),
        cmocka_unit_test(lines_are_full_but_not_beyond),
        cmocka_unit_test(long_names_get_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
