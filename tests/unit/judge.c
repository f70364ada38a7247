// SPDX-License-Identifier: BSD-3-Clause
/* The judge against its fixtures: what it must say of each, that every rule is
 * needed, and that the order of lines, the numbering of ranks and the names of nodes
 * are nothing to it. */
#include "judge_help.h"

#include <unistd.h>

static void test_fixtures(void **state)
{
    struct lines names = fixture_names();
    size_t wrong = 0;
    (void)state;
    assert_true(names.count > 50);
    for (size_t i = 0; i < names.count; i++) {
        struct fc_journal_text journal = fixture_journal(names.line[i]);
        struct lines want = fixture_expectation(names.line[i]);
        json_t *report = judge_text(&journal, NULL);
        struct lines have = essence_of(report);
        if (!lines_equal(&want, &have)) {
            print_difference(names.line[i], &want, &have);
            wrong++;
        }
        lines_free(&have);
        lines_free(&want);
        json_decref(report);
        fc_journal_text_free(&journal);
    }
    lines_free(&names);
    assert_int_equal(wrong, 0);
}

/* True when some line of the expectation is of this check. */
static bool names_check(const struct lines *lines, const char *check)
{
    char word[80];
    snprintf(word, sizeof word, " %s ", check);
    for (size_t i = 0; i < lines->count; i++)
        if (strstr(lines->line[i], word))
            return true;
    return false;
}

/* Each rule fires in one fixture and is silent in another, and without it the
 * fixtures in which it fires come out otherwise. */
static void test_every_rule_is_needed(void **state)
{
    struct lines names = fixture_names();
    (void)state;
    for (size_t r = 0; fc_rule_at(r); r++) {
        const char *rule = fc_rule_at(r)->id;
        size_t fires = 0, silent = 0;
        for (size_t i = 0; i < names.count; i++) {
            struct lines want = fixture_expectation(names.line[i]);
            bool fired = names_check(&want, rule);
            fires += fired;
            silent += !fired;
            if (fired) {
                struct fc_journal_text journal = fixture_journal(names.line[i]);
                json_t *report = judge_text(&journal, rule);
                struct lines have = essence_of(report);
                if (lines_equal(&want, &have))
                    fail_msg("%s is the same without %s", names.line[i], rule);
                lines_free(&have);
                json_decref(report);
                fc_journal_text_free(&journal);
            }
            lines_free(&want);
        }
        if (!fires || !silent)
            fail_msg("rule %s fires in %zu fixtures and is silent in %zu", rule, fires,
                     silent);
    }
    lines_free(&names);
}

static void test_order_of_lines(void **state)
{
    struct lines names = fixture_names();
    (void)state;
    for (size_t i = 0; i < names.count; i++) {
        struct fc_journal_text journal = fixture_journal(names.line[i]);
        json_t *first = judge_text(&journal, NULL);
        for (uint64_t seed = 1; seed <= 4; seed++) {
            shuffle(&journal, seed);
            json_t *again = judge_text(&journal, NULL);
            if (!json_equal(first, again))
                fail_msg("%s: shuffled by seed %d it is judged otherwise",
                         names.line[i], (int)seed);
            json_decref(again);
        }
        json_decref(first);
        fc_journal_text_free(&journal);
    }
    lines_free(&names);
}

/* --- other names, other ranks --- */

enum { NODES = 32, RANKS = 64 };

/* n7 -> "x" and a letter and a number that sort otherwise. */
static void new_name(const char *old, char *out, size_t room)
{
    int number = atoi(old + 1);
    snprintf(out, room, "x%c-%d", 'a' + number * 7 % 26, NODES - number);
}

static int64_t new_rank(int64_t old)
{
    return (old * 5 + 3) % RANKS;
}

static bool is_node(const char *text)
{
    size_t digits = strspn(text + (text[0] != '\0'), "0123456789");
    return text[0] == 'n' && digits && text[1 + digits] == '\0';
}

/* Renames nodes and renumbers ranks in all that a journal holds. */
static void rename_all(json_t *value)
{
    static const char *const name_keys[] = {"node", "name", "peer", "from"};
    const char *key;
    json_t *member;
    size_t i;
    char name[64];
    if (json_is_array(value))
        json_array_foreach(value, i, member) rename_all(member);
    if (!json_is_object(value))
        return;
    for (i = 0; i < sizeof name_keys / sizeof *name_keys; i++) {
        member = json_object_get(value, name_keys[i]);
        if (json_is_string(member) && is_node(json_string_value(member))) {
            new_name(json_string_value(member), name, sizeof name);
            json_string_set(member, name);
        }
    }
    member = json_object_get(value, "rank");
    if (json_is_integer(member))
        json_integer_set(member, new_rank(json_integer_value(member)));
    json_array_foreach(json_object_get(value, "ranks"), i, member)
        json_integer_set(member, new_rank(json_integer_value(member)));
    json_array_foreach(json_object_get(value, "pair"), i, member)
    {
        size_t k;
        json_t *rank;
        json_array_foreach(member, k, rank)
            json_integer_set(rank, new_rank(json_integer_value(rank)));
    }
    json_object_foreach(value, key, member) rename_all(member);
}

/* "bad n[2,6]" -> "bad n2,n6". */
static void expand_names(const char *line, char *out, size_t room)
{
    const char *open = strchr(line, '['), *end = open ? strchr(open, ']') : NULL;
    snprintf(out, room, "%.*s", open ? (int)(open - line) : (int)room - 1, line);
    for (const char *c = open; c && c < end; c++) {
        size_t used = strlen(out);
        if (*c == ',')
            snprintf(out + used, room - used, ",n");
        else if (*c != '[')
            snprintf(out + used, room - used, "%c", *c);
    }
}

/* The same for one line of an expectation: its last two words, or the last one. */
static void rename_line(const char *line, char *out, size_t room)
{
    char copy[2048], *word[16], *rest = NULL;
    size_t words = 0;
    bool finding = strncmp(line, "fail ", 5) == 0 || strncmp(line, "warn ", 5) == 0 ||
                   strncmp(line, "info ", 5) == 0;
    expand_names(line, copy, sizeof copy);
    for (char *w = strtok_r(copy, " ", &rest); w && words < 16;
         w = strtok_r(NULL, " ", &rest))
        word[words++] = w;
    out[0] = '\0';
    for (size_t i = 0; i < words; i++) {
        size_t used = strlen(out);
        struct lines names = {0};
        char *comma = NULL;
        bool is_rank = finding && i == words - 1 && strcmp(word[i], "-") != 0;
        if (is_rank) {
            snprintf(out + used, room - used, "%s%lld", i ? " " : "",
                     (long long)new_rank(atoll(word[i])));
            continue;
        }
        for (char *n = strtok_r(word[i], ",", &comma); n;
             n = strtok_r(NULL, ",", &comma)) {
            char name[64];
            new_name(n, name, sizeof name);
            lines_add(&names, is_node(n) ? name : n);
        }
        lines_sort(&names);
        for (size_t k = 0; k < names.count; k++) {
            used = strlen(out);
            snprintf(out + used, room - used, "%s%s",
                     k   ? ","
                     : i ? " "
                         : "",
                     names.line[k]);
        }
        lines_free(&names);
    }
}

static void test_other_names_and_ranks(void **state)
{
    struct lines names = fixture_names();
    (void)state;
    for (size_t i = 0; i < names.count; i++) {
        struct fc_journal_text journal = fixture_journal(names.line[i]);
        struct lines old = fixture_expectation(names.line[i]), want = {0};
        for (size_t k = 0; k < journal.lines; k++)
            if (strcmp(text_of(journal.line[k], "type"), "run") != 0)
                rename_all(journal.line[k]);
        for (size_t k = 0; k < old.count; k++) {
            char line[2048];
            rename_line(old.line[k], line, sizeof line);
            lines_add(&want, line);
        }
        lines_sort(&want);
        json_t *report = judge_text(&journal, NULL);
        struct lines have = essence_of(report);
        if (!lines_equal(&want, &have)) {
            print_difference(names.line[i], &want, &have);
            fail_msg("%s is judged otherwise with other names", names.line[i]);
        }
        lines_free(&have);
        lines_free(&want);
        lines_free(&old);
        json_decref(report);
        fc_journal_text_free(&journal);
    }
    lines_free(&names);
}

/* A cut journal never passes, wherever it is cut; read by the real reader. */
static void test_cut_at_every_byte(void **state)
{
    char path[4096], copy[] = "/tmp/fabricheck-cut-XXXXXX";
    (void)state;
    fixture_path("judge/healthy-one-rank.jsonl", path, sizeof path);
    char *text = read_text(path), *end_line = strstr(text, "{\"type\":\"end\"");
    size_t bytes = strlen(text),
           last = (size_t)(end_line - text) + strlen(end_line) - 1;
    int fd = mkstemp(copy);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, bytes, 0), (ssize_t)bytes);
    for (size_t cut = bytes; cut-- > 0;) {
        struct fc_journal_text journal;
        struct fc_error err;
        assert_int_equal(ftruncate(fd, (off_t)cut), 0);
        enum fc_status status = fc_journal_read(copy, &journal, &err);
        if (status != FC_OK) {
            assert_int_equal(status, FC_USAGE);
            continue;
        }
        json_t *report = judge_text(&journal, NULL);
        bool passes = strcmp(text_of(report, "verdict"), "PASS") == 0;
        /* Without its newline the end line is still whole. */
        if (passes != (cut == last))
            fail_msg("cut at byte %zu of %zu: %s", cut, bytes,
                     text_of(report, "verdict"));
        json_decref(report);
        fc_journal_text_free(&journal);
    }
    close(fd);
    unlink(copy);
    free(text);
}

static void test_exit_status(void **state)
{
    static const struct {
        const char *verdict;
        int status;
    } cases[] = {{"PASS", 0}, {"FAIL", 1}, {"INCONCLUSIVE", 3}, {"other", 3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *report = json_pack("{s:s}", "verdict", cases[i].verdict);
        assert_int_equal(fc_judge_exit_status(report), cases[i].status);
        json_decref(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_every_rule_is_needed),
        cmocka_unit_test(test_order_of_lines),
        cmocka_unit_test(test_other_names_and_ranks),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_exit_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
