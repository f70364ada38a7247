// SPDX-License-Identifier: BSD-3-Clause
/* The journal: exclusive, numbered, never loses a line; read back cut, damaged, merged.
 * */
#include "core/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t __real_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);

/* Bytes that files may still take before the disk is "full"; -1: no limit. Full is the
 * disk of the run's folder only, so that a rescue elsewhere works. */
static long disk_left = -1;
static char full_folder[64];

static bool on_full_disk(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 0 && strncmp(path, full_folder, strlen(full_folder)) == 0;
}

ssize_t __wrap_write(int fd, const void *data, size_t bytes)
{
    if (disk_left < 0 || !on_full_disk(fd))
        return __real_write(fd, data, bytes);
    if (disk_left == 0) {
        errno = ENOSPC;
        return -1;
    }
    size_t now = bytes < (size_t)disk_left ? bytes : (size_t)disk_left;
    disk_left -= (long)now;
    return __real_write(fd, data, now);
}

struct folder {
    char path[40];
};

static void remove_folder(const char *path)
{
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static int make_folder(void **state)
{
    struct folder *f = calloc(1, sizeof *f);
    snprintf(f->path, sizeof f->path, "/tmp/fc-journal-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    assert_int_equal(setenv("TMPDIR", "/tmp", 1), 0);
    disk_left = -1;
    *state = f;
    return 0;
}

static int drop_folder(void **state)
{
    struct folder *f = *state;
    remove_folder(f->path);
    free(f);
    return 0;
}

static const char run_line[] =
    "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n";

static void put(struct fc_journal *j, const char *text)
{
    struct fc_error err = {""};
    if (fc_journal_append(j, text, strlen(text), &err) != FC_OK)
        fail_msg("%s", err.text);
}

static struct fc_journal *create(const struct folder *f)
{
    struct fc_error err = {""};
    struct fc_journal *j = NULL;
    char dir[96];
    snprintf(dir, sizeof dir, "%s/a/b", f->path);
    if (fc_journal_create(dir, &j, &err) != FC_OK)
        fail_msg("%s", err.text);
    put(j, run_line);
    return j;
}

static void numbers_records_only(void **state)
{
    struct fc_journal *j = create(*state);
    put(j, "{\"type\":\"record\",\"metric\":\"m\"}\n{\"type\":\"fact\"}\n"
           "{\"type\":\"record\",\"metric\":\"n\"}\n");
    struct fc_journal_text text;
    struct fc_error err;
    assert_int_equal(fc_journal_read(fc_journal_path(j), &text, &err), FC_OK);
    assert_int_equal(text.lines, 4);
    assert_int_equal(json_integer_value(json_object_get(text.line[1], "seq")), 1);
    assert_null(json_object_get(text.line[2], "seq"));
    assert_int_equal(json_integer_value(json_object_get(text.line[3], "seq")), 2);
    fc_journal_text_free(&text);
    fc_journal_close(j);
}

static void never_overwrites(void **state)
{
    const struct folder *f = *state;
    struct fc_journal *j = create(f), *second = NULL;
    struct fc_error err;
    char dir[96];
    snprintf(dir, sizeof dir, "%s/a/b", f->path);
    assert_int_equal(fc_journal_create(dir, &second, &err), FC_USAGE);
    assert_null(second);
    assert_non_null(strstr(err.text, "--out"));
    assert_non_null(strstr(err.text, dir));
    assert_int_equal(fc_journal_create("/proc/nothing/here", &second, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "--out"));
    fc_journal_close(j);
}

/* Reads what the journal has become and forgets its rescue folder. */
static void expect_lines(struct fc_journal *j, size_t lines)
{
    struct fc_journal_text text;
    struct fc_error err = {""};
    char dir[4096];
    if (fc_journal_read(fc_journal_path(j), &text, &err) != FC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(text.lines, lines);
    assert_int_equal(text.bad_lines, 0);
    assert_false(text.cut);
    for (size_t i = 1; i < lines; i++)
        assert_int_equal(json_integer_value(json_object_get(text.line[i], "seq")), i);
    fc_journal_text_free(&text);
    snprintf(dir, sizeof dir, "%s", fc_journal_path(j));
    *strrchr(dir, '/') = '\0';
    assert_non_null(strstr(dir, "rescue"));
    remove_folder(dir);
}

static void survives_a_full_disk(void **state)
{
    const struct folder *f = *state;
    snprintf(full_folder, sizeof full_folder, "%s", f->path);
    /* Full at every byte of the next two lines. */
    for (long left = 0; left < 60; left++) {
        char sub[128];
        snprintf(sub, sizeof sub, "rm -rf '%s/a'", f->path);
        assert_int_equal(system(sub), 0);
        struct fc_journal *j = create(f);
        disk_left = left;
        put(j, "{\"type\":\"record\",\"metric\":\"m\"}\n");
        put(j, "{\"type\":\"record\",\"metric\":\"n\"}\n");
        put(j, "{\"type\":\"record\",\"metric\":\"o\"}\n");
        disk_left = -1;
        assert_non_null(fc_journal_trouble(j));
        assert_non_null(strstr(fc_journal_trouble(j), "No space left"));
        expect_lines(j, 4);
        fc_journal_close(j);
    }
}

static void survives_a_vanished_folder(void **state)
{
    const struct folder *f = *state;
    struct fc_journal *j = create(f);
    char sub[128];
    put(j, "{\"type\":\"record\",\"metric\":\"m\"}\n");
    assert_null(fc_journal_trouble(j));
    snprintf(sub, sizeof sub, "%s/a", f->path);
    remove_folder(sub);
    put(j, "{\"type\":\"record\",\"metric\":\"n\"}\n");
    assert_non_null(fc_journal_trouble(j));
    expect_lines(j, 3);
    fc_journal_close(j);
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(__real_write(fd, text, bytes), bytes);
    close(fd);
}

static void reads_a_journal_cut_anywhere(void **state)
{
    const struct folder *f = *state;
#define RECORD "{\"type\":\"record\",\"seq\":1}"
    static const char body[] =
        "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n" RECORD
        "\n{\"type\":\"end\"}\n";
    char path[96];
    snprintf(path, sizeof path, "%s/journal.jsonl", f->path);
    for (size_t bytes = 0; bytes <= sizeof body - 1; bytes++) {
        struct fc_journal_text text;
        struct fc_error err;
        write_file(path, body, bytes);
        enum fc_status status = fc_journal_read(f->path, &text, &err);
        if (bytes < sizeof run_line - 2) { /* not even the first object is whole */
            assert_int_equal(status, FC_USAGE);
            continue;
        }
        assert_int_equal(status, FC_OK);
        size_t whole = 1;
        /* A last line counts once it is whole JSON, newline or not. */
        whole += bytes >= sizeof run_line - 1 + sizeof RECORD - 1;
        whole += bytes >= sizeof body - 2;
        assert_int_equal(text.lines, whole);
        assert_int_equal(text.bad_lines, 0);
        fc_journal_text_free(&text);
    }
}

static void refuses_what_is_no_journal(void **state)
{
    const struct folder *f = *state;
    static const char *const bodies[] = {"",
                                         "\n",
                                         "hello\n",
                                         "[1,2]\n",
                                         "{\"type\":3}\n",
                                         "{\"type\":\"end\"}\n",
                                         "{\"type\":\"run\"}\n",
                                         "{\"type\":\"run\",\"schema\":\"other/9\"}\n"};
    char path[96];
    snprintf(path, sizeof path, "%s/x.jsonl", f->path);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct fc_journal_text text;
        struct fc_error err = {""};
        write_file(path, bodies[i], strlen(bodies[i]));
        assert_int_equal(fc_journal_read(path, &text, &err), FC_USAGE);
        assert_non_null(strstr(err.text, path));
        assert_null(strchr(err.text, '\n'));
    }
    struct fc_journal_text text;
    struct fc_error err = {""};
    assert_int_equal(fc_journal_read("/nonexistent/run", &text, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "/nonexistent/run"));
}

static void merges_spools_once(void **state)
{
    const struct folder *f = *state;
    char path[96];
    struct fc_error err;
    struct fc_journal_text text;
    snprintf(path, sizeof path, "%s/journal.jsonl", f->path);
    static const char body[] =
        "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n"
        "{\"type\":\"record\",\"seq\":1,\"src\":\"2.0\"}\n";
    write_file(path, body, strlen(body));
    static const char spool[] = "{\"type\":\"record\",\"src\":\"2.0\"}\n"
                                "{\"type\":\"record\",\"src\":\"2.1\"}\n";
    fc_journal_spool_path(f->path, 2, path, sizeof path);
    assert_int_equal(fc_journal_spool(path, spool, strlen(spool), &err), FC_OK);
    assert_int_equal(fc_journal_read(f->path, &text, &err), FC_OK);
    assert_int_equal(text.lines, 3);
    assert_int_equal(text.spools, 1);
    fc_journal_text_free(&text);
}

static void counts_damaged_lines(void **state)
{
    const struct folder *f = *state;
    char path[96];
    struct fc_error err;
    struct fc_journal_text text;
    snprintf(path, sizeof path, "%s/journal.jsonl", f->path);
    static const char body[] =
        "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n"
        "{\"type\":\"rec\0rd\"}\n\xff\xfe\n{\"type\":\"end\"}\n";
    write_file(path, body, sizeof body - 1);
    assert_int_equal(fc_journal_read(f->path, &text, &err), FC_OK);
    assert_int_equal(text.lines, 2);
    assert_int_equal(text.bad_lines, 2);
    fc_journal_text_free(&text);
}

/* Long lists are text, and only those of matrix lines; the rest is as JSON has it. */
static void long_lists_of_matrix_lines_stay_text(void **state)
{
    const struct folder *f = *state;
    char path[96], list[3000] = "[", body[8000];
    struct fc_error err;
    struct fc_journal_text text;
    for (size_t i = 0; i < 300; i++)
        strcat(list, i ? ",[0, 1]" : "[0, 1]");
    strcat(list, "]");
    snprintf(path, sizeof path, "%s/journal.jsonl", f->path);
    snprintf(body, sizeof body,
             "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n"
             "{\"type\":\"matrix\",\"note\":\"[\\\"{\",\"pair\": %s,\"bw\":[1],"
             "\"deep\":{\"a\":[2]},\"end\":3}\n"
             "{\"type\":\"other\",\"pair\":%s}\n",
             list, list);
    write_file(path, body, strlen(body));
    assert_int_equal(fc_journal_read(f->path, &text, &err), FC_OK);
    assert_int_equal(text.lines, 3);
    assert_int_equal(text.bad_lines, 0);
    const json_t *line = text.line[1];
    assert_string_equal(json_string_value(json_object_get(line, "pair")), list);
    assert_string_equal(json_string_value(json_object_get(line, "note")), "[\"{");
    assert_true(json_is_array(json_object_get(line, "bw")));
    assert_int_equal(json_integer_value(json_object_get(line, "end")), 3);
    assert_int_equal(json_object_size(line), 6);
    assert_int_equal(json_array_size(json_object_get(text.line[2], "pair")), 300);
    fc_journal_text_free(&text);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(numbers_records_only),
        TEST(never_overwrites),
        TEST(survives_a_full_disk),
        TEST(survives_a_vanished_folder),
        TEST(reads_a_journal_cut_anywhere),
        TEST(refuses_what_is_no_journal),
        TEST(merges_spools_once),
        TEST(counts_damaged_lines),
        TEST(long_lists_of_matrix_lines_stay_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
