// SPDX-License-Identifier: BSD-3-Clause
/* The watchdog: each way a rank can end, seen from outside in a child process. */
#include "core/watchdog.h"

#include "core/clock.h"
#include "core/journal.h"
#include "core/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct folder {
    char path[64];
};

static int make_folder(void **state)
{
    struct folder *f = calloc(1, sizeof *f);
    snprintf(f->path, sizeof f->path, "/tmp/fc-watchdog-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    *state = f;
    return 0;
}

static int drop_folder(void **state)
{
    struct folder *f = *state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", f->path);
    assert_int_equal(system(command), 0);
    free(f);
    return 0;
}

/* What rank 0 leaves for the others when it has judged: its exit status. */
static void answer(const struct folder *f, const char *digit)
{
    char path[96];
    snprintf(path, sizeof path, "%s/ending", f->path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(digit, file);
    assert_int_equal(fclose(file), 0);
}

/* What a child did before it ended. */
struct ended {
    int status;
    double seconds;
};

static struct fc_watchdog *start(const char *dir, int rank, bool with_journal)
{
    struct fc_error err;
    struct fc_watchdog *wd;
    struct fc_sink *sink;
    struct fc_journal *journal = NULL;
    if (freopen("/dev/null", "w", stderr) == NULL ||
        fc_watchdog_open(rank, &wd, &err) != FC_OK ||
        fc_sink_open(rank, &sink, &err) != FC_OK)
        _exit(90);
    if (with_journal) {
        static const char run[] =
            "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n";
        if (fc_journal_create(dir, &journal, &err) != FC_OK ||
            fc_journal_append(journal, run, strlen(run), &err) != FC_OK)
            _exit(91);
    }
    struct fc_record record = fc_record_new("device.mem_bw");
    if (fc_sink_add(sink, &record, &err) != FC_OK)
        _exit(92);
    fc_watchdog_attach(wd, rank, "n1", sink, journal, dir);
    fc_watchdog_phase(wd, "device");
    return wd;
}

static struct ended run_child(const struct folder *f, int rank, bool with_journal,
                              void (*body)(struct fc_watchdog *))
{
    uint64_t begin = fc_now_ns();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(20); /* a watchdog that does not bite must not hang the tests */
        body(start(f->path, rank, with_journal));
        _exit(0);
    }
    struct ended e;
    assert_int_equal(waitpid(pid, &e.status, 0), pid);
    e.seconds = (double)(fc_now_ns() - begin) / 1e9;
    return e;
}

/* The lines a child left, found by type; `out` gets the event. */
static void read_lines(const struct folder *f, int rank, bool with_journal,
                       struct fc_journal_text *text)
{
    struct fc_error err = {""};
    char path[128];
    if (!with_journal) { /* a spool is no journal: give it one to stand beside */
        static const char run[] =
            "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n";
        snprintf(path, sizeof path, "%s/journal.jsonl", f->path);
        assert_int_equal(fc_journal_spool(path, run, strlen(run), &err), FC_OK);
        fc_journal_spool_path(f->path, rank, path, sizeof path);
        assert_int_equal(access(path, R_OK), 0);
    }
    if (fc_journal_read(f->path, text, &err) != FC_OK)
        fail_msg("%s", err.text);
}

static const json_t *find(const struct fc_journal_text *text, const char *type)
{
    for (size_t i = 0; i < text->lines; i++)
        if (strcmp(json_string_value(json_object_get(text->line[i], "type")), type) ==
            0)
            return text->line[i];
    return NULL;
}

static void assert_text(const json_t *line, const char *key, const char *expected)
{
    assert_non_null(line);
    const char *found = json_string_value(json_object_get(line, key));
    assert_non_null(found);
    assert_string_equal(found, expected);
}

static void sleep_past(struct fc_watchdog *wd)
{
    fc_watchdog_push(wd, "outer step", FC_WAIT_CONTROL, 10 * FC_NS_PER_S);
    fc_watchdog_push(wd, "gemm fp32", FC_WAIT_LOCAL, 300 * FC_NS_PER_MS);
    for (;;)
        pause();
}

static void spin_past(struct fc_watchdog *wd)
{
    fc_watchdog_push(wd, "all_reduce 4M", FC_WAIT_COLLECTIVE, 300 * FC_NS_PER_MS);
    for (volatile int spin = 0;; spin = spin + 1)
        ;
}

static void outer_passes(struct fc_watchdog *wd)
{
    fc_watchdog_push(wd, "outer step", FC_WAIT_CONTROL, 300 * FC_NS_PER_MS);
    fc_watchdog_push(wd, "inner step", FC_WAIT_LOCAL, 10 * FC_NS_PER_S);
    for (;;)
        pause();
}

static void in_time(struct fc_watchdog *wd)
{
    for (int i = 0; i < 50; i++) {
        fc_watchdog_push(wd, "step", FC_WAIT_LOCAL, 200 * FC_NS_PER_MS);
        fc_sleep_ns(10 * FC_NS_PER_MS);
        fc_watchdog_pop(wd);
    }
    fc_sleep_ns(300 * FC_NS_PER_MS); /* nothing is pushed: nothing may bite */
    fc_watchdog_close(wd);
}

static void waits_long(struct fc_watchdog *wd)
{
    fc_watchdog_push(wd, "commit", FC_WAIT_CONTROL, 15 * FC_NS_PER_S);
    for (;;)
        pause();
}

static void asks_to_end(struct fc_watchdog *wd)
{
    fc_watchdog_end(wd, "waited 60 s for the other ranks in 'commit'");
}

static void spool_names_a_local_hang(void **state)
{
    struct fc_journal_text text;
    answer(*state, "3");
    struct ended e = run_child(*state, 5, false, sleep_past);
    assert_true(WIFEXITED(e.status));
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_INCONCLUSIVE);
    assert_true(e.seconds < 5);
    read_lines(*state, 5, false, &text);
    const json_t *event = find(&text, "event");
    assert_text(event, "kind", "deadline");
    assert_text(event, "what", "gemm fp32");
    assert_text(event, "wait", "local");
    assert_text(event, "phase", "device");
    assert_text(event, "node", "n1");
    assert_int_equal(json_integer_value(json_object_get(event, "rank")), 5);
    assert_non_null(find(&text, "record"));
    fc_journal_text_free(&text);
}

static void journal_gets_event_record_and_end(void **state)
{
    struct fc_journal_text text;
    struct ended e = run_child(*state, 0, true, spin_past);
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_INCONCLUSIVE);
    read_lines(*state, 0, true, &text);
    assert_text(find(&text, "event"), "wait", "collective");
    assert_text(find(&text, "end"), "status", "interrupted");
    assert_int_equal(json_integer_value(json_object_get(find(&text, "record"), "seq")),
                     1);
    fc_journal_text_free(&text);
}

/* The run's folder is not shared: what the rank knows is saved on its own node. */
static void spools_elsewhere_without_the_folder(void **state)
{
    const struct folder *f = *state;
    struct folder gone;
    char path[160];
    snprintf(gone.path, sizeof gone.path, "%.50s/gone", f->path);
    assert_int_equal(setenv("TMPDIR", f->path, 1), 0);
    struct ended e = run_child(&gone, 7, false, sleep_past);
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_INCONCLUSIVE);
    snprintf(path, sizeof path, "%s/gone-spool-7.jsonl", f->path);
    assert_int_equal(access(path, R_OK), 0);
}

static void every_level_counts(void **state)
{
    struct fc_journal_text text;
    answer(*state, "3");
    struct ended e = run_child(*state, 1, false, outer_passes);
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_INCONCLUSIVE);
    read_lines(*state, 1, false, &text);
    assert_text(find(&text, "event"), "what", "outer step");
    assert_text(find(&text, "event"), "wait", "control");
    fc_journal_text_free(&text);
}

static void does_not_bite_in_time(void **state)
{
    struct ended e = run_child(*state, 1, false, in_time);
    assert_true(WIFEXITED(e.status));
    assert_int_equal(WEXITSTATUS(e.status), 0);
}

static void ends_when_asked(void **state)
{
    struct fc_journal_text text;
    answer(*state, "3");
    struct ended e = run_child(*state, 3, false, asks_to_end);
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_INCONCLUSIVE);
    read_lines(*state, 3, false, &text);
    assert_text(find(&text, "event"), "wait", "control");
    assert_text(find(&text, "event"), "message",
                "waited 60 s for the other ranks in 'commit'");
    fc_journal_text_free(&text);
}

static void signals_end_it(void **state)
{
    static const struct {
        int number;
        const char *name;
    } signals[] = {{SIGTERM, "SIGTERM"},
                   {SIGINT, "SIGINT"},
                   {SIGUSR1, "SIGUSR1"},
                   {SIGUSR2, "SIGUSR2"}};
    const struct folder *f = *state;
    answer(f, "3");
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(20);
            struct fc_watchdog *wd = start(f->path, 10 + (int)i, false);
            fc_watchdog_push(wd, "gemm fp64", FC_WAIT_LOCAL, 15 * FC_NS_PER_S);
            if (write(ready[1], "x", 1) != 1)
                _exit(93);
            for (;;)
                pause();
        }
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(kill(pid, signals[i].number), 0);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        close(ready[0]);
        close(ready[1]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), FC_EXIT_INCONCLUSIVE);
        struct fc_journal_text text;
        char path[128];
        snprintf(path, sizeof path, "%s/journal.jsonl", f->path);
        unlink(path);
        read_lines(f, 10 + (int)i, false, &text);
        const char *message =
            json_string_value(json_object_get(text.line[text.lines - 1], "message"));
        assert_non_null(message);
        assert_non_null(strstr(message, signals[i].name));
        assert_non_null(strstr(message, "gemm fp64"));
        fc_journal_text_free(&text);
    }
}

static void ends_with_the_judgement_of_rank_0(void **state)
{
    answer(*state, "1");
    struct ended e = run_child(*state, 4, false, sleep_past);
    assert_true(WIFEXITED(e.status));
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_FAIL);
}

/* Another rank's marker ends a rank that waits, although its own deadline is far. */
static void follows_another_rank(void **state)
{
    struct fc_journal_text text;
    const struct folder *f = *state;
    answer(f, "1");
    struct ended e = run_child(f, 6, false, waits_long);
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_FAIL);
    read_lines(f, 6, false, &text);
    assert_text(find(&text, "event"), "kind", "signal");
    assert_text(find(&text, "event"), "message",
                "told to end by another rank while in commit");
    fc_journal_text_free(&text);
}

static int judges(void *arg)
{
    (void)arg;
    return FC_EXIT_FAIL;
}

static void judged_and_hung(struct fc_watchdog *wd)
{
    fc_watchdog_last_words(wd, judges, NULL);
    sleep_past(wd);
}

static void rank_0_ends_with_its_judgement(void **state)
{
    const struct folder *f = *state;
    char path[96];
    struct ended e = run_child(f, 0, true, judged_and_hung);
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_FAIL);
    snprintf(path, sizeof path, "%s/ending", f->path);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void done_and_hung(struct fc_watchdog *wd)
{
    fc_watchdog_done(wd, FC_EXIT_FAIL);
    sleep_past(wd);
}

static void says_nothing_once_done(void **state)
{
    const struct folder *f = *state;
    char path[96];
    struct ended e = run_child(f, 8, false, done_and_hung);
    assert_int_equal(WEXITSTATUS(e.status), FC_EXIT_FAIL);
    fc_journal_spool_path(f->path, 8, path, sizeof path);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(spool_names_a_local_hang),
        TEST(journal_gets_event_record_and_end),
        TEST(spools_elsewhere_without_the_folder),
        TEST(every_level_counts),
        TEST(does_not_bite_in_time),
        TEST(ends_when_asked),
        TEST(signals_end_it),
        TEST(ends_with_the_judgement_of_rank_0),
        TEST(follows_another_rank),
        TEST(rank_0_ends_with_its_judgement),
        TEST(says_nothing_once_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
