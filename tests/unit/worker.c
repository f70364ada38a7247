// SPDX-License-Identifier: BSD-3-Clause
/* Calls to workers: what a good one gives, and what is said of each bad one. The rig
 * checks after each test that nothing is left. */
#include "core/worker_frame.h"
#include "worker_rig.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- good calls ---- */

struct heard {
    size_t lines, in_order, bytes;
};

static void hear_line(void *arg, const char *line)
{
    struct heard *heard = arg;
    heard->in_order += strtoul(line, NULL, 10) == heard->lines;
    heard->bytes += strlen(line);
    heard->lines++;
}

static void call_lines(struct rig *rig, size_t count, size_t bytes, struct heard *out)
{
    json_t *args =
        json_pack("{s:I, s:I}", "count", (json_int_t)count, "bytes", (json_int_t)bytes);
    *out = (struct heard){.lines = 0};
    enum fc_status status = fc_worker_call(rig->worker, "lines", args, SOON, hear_line,
                                           out, NULL, &rig->err);
    json_decref(args);
    if (status != FC_OK)
        fail_msg("%s", rig->err.text);
}

static void test_reply_is_what_the_command_gave(void **state)
{
    struct rig *rig = *state;
    rig_worker(rig, NULL, NULL);
    json_t *args =
        json_pack("{s:[i,f], s:s}", "list", 1, 2.5, "text", "\u00b5 \"quoted\"");
    json_t *reply = rig_ask(rig, rig->worker, "echo", json_incref(args));
    assert_true(json_equal(json_object_get(reply, "args"), args));
    assert_int_equal(json_integer_value(json_object_get(reply, "pid")),
                     fc_worker_pid(rig->worker));
    json_decref(reply);
    json_decref(args);
    reply = rig_ask(rig, rig->worker, "silent", NULL); /* no reply is an empty object */
    assert_int_equal(json_object_size(reply), 0);
    json_decref(reply);
    assert_int_equal(rig_call(rig, "echo", NULL, SOON, NULL), FC_OK);
}

static void test_lines_come_whole_and_in_order(void **state)
{
    struct rig *rig = *state;
    struct heard heard;
    rig_worker(rig, NULL, NULL);
    call_lines(rig, 20000, 0, &heard);
    assert_int_equal(heard.lines, 20000);
    assert_int_equal(heard.in_order, 20000);
    call_lines(rig, 3, FC_FRAME_MAX, &heard); /* the longest that may be */
    assert_int_equal(heard.bytes, 3 * (size_t)FC_FRAME_MAX);
    json_t *args = json_pack("{s:i}", "count", 5);
    assert_int_equal(rig_call(rig, "lines", args, SOON, NULL),
                     FC_OK); /* nobody listens */
}

static void test_failed_command_leaves_a_worker_that_serves(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *command, *args, *says;
        enum fc_status status;
    } bad[] = {
        {"fails", "{\"status\":2,\"text\":\"no right\"}", "^no right$", FC_UNREADABLE},
        {"fails", "{\"status\":1,\"text\":\"a\\u001b[1m\\n\\tb\"}", "^a \\[1m b$",
         FC_UNSUPPORTED},
        {"fails", "{\"status\":4,\"text\":\"\"}", "^$", FC_TIMEOUT},
        {"no_such", "{}", "^a worker knows no command 'no_such'$", FC_FAILED},
        {"big_reply", "{}",
         "^command 'big_reply': a reply of [0-9]+ bytes, where 1048576", FC_FAILED},
        {"odd_reply", "{}", "^command 'odd_reply' replied with no object$", FC_FAILED},
        {"broken_line", "{}", "^a line with a line break in it$", FC_FAILED},
        {"lines", "{\"count\":1,\"bytes\":1048577}", "^a line of 1048577 bytes, where",
         FC_FAILED},
    };
    rig_worker(rig, NULL, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *reply = NULL, *args = json_loads(bad[i].args, 0, NULL);
        assert_non_null(args);
        enum fc_status status = rig_call(rig, bad[i].command, args, SOON, &reply);
        assert_int_equal(status, bad[i].status);
        rig_says(rig->err.text, bad[i].says);
        assert_null(reply);
        json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    }
}

static void test_arguments_are_bounded(void **state)
{
    struct rig *rig = *state;
    static char text[FC_FRAME_MAX + 1];
    rig_worker(rig, NULL, NULL);
    memset(text, 'x', FC_FRAME_MAX - 100);
    json_decref(
        rig_ask(rig, rig->worker, "environment", json_pack("{s:s}", "x", text)));
    memset(text, 'x', FC_FRAME_MAX);
    enum fc_status status =
        rig_call(rig, "echo", json_pack("{s:s}", "x", text), SOON, NULL);
    assert_int_equal(status, FC_FAILED);
    rig_says(rig->err.text,
             "^command 'echo': arguments of [0-9]+ bytes, where 1048576");
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
}

static void test_two_workers_and_environments(void **state)
{
    struct rig *rig = *state;
    struct fc_worker *other;
    setenv("RIG_KEEP", "kept", 1);
    setenv("RIG_DROP", "dropped", 1);
    setenv("RIG_DROPS", "other", 1); /* a name that only begins like another one */
    fc_spawner_close(
        rig->spawner); /* its environment is the rank's when it is opened */
    assert_int_equal(fc_spawner_open(&rig->spawner, &rig->err), FC_OK);
    setenv("RIG_LATER", "later", 1);
    const char *const env[] = {"RIG_NEW=a=b", "RIG_KEEP=", "RIG_DROP",
                               "RIG_NONE",    "RIG_NEW=c", NULL};
    rig_worker(rig, NULL, NULL);
    rig_worker(rig, env, &other);
    static const struct {
        const char *name, *plain, *changed;
    } want[] = {{"RIG_KEEP", "kept", ""},
                {"RIG_DROP", "dropped", NULL},
                {"RIG_DROPS", "other", "other"},
                {"RIG_NEW", NULL, "c"},
                {"RIG_LATER", NULL, NULL}};
    for (size_t i = 0; i < 2 * sizeof want / sizeof *want; i++) {
        const char *value = i % 2 ? want[i / 2].changed : want[i / 2].plain;
        json_t *reply = rig_ask(rig, i % 2 ? other : rig->worker, "environment",
                                json_pack("{s:s}", "name", want[i / 2].name));
        const char *is = json_string_value(json_object_get(reply, "value"));
        assert_int_equal(is == NULL, value == NULL);
        if (is)
            assert_string_equal(is, value);
        json_decref(reply);
    }
    assert_int_not_equal(fc_worker_pid(other), fc_worker_pid(rig->worker));
    /* One that dies takes nothing from the other. */
    assert_int_equal(rig_call(rig, "exit", NULL, SOON, NULL), FC_FAILED);
    json_decref(rig_ask(rig, other, "echo", NULL));
    fc_worker_close(other);
    unsetenv("RIG_KEEP");
    unsetenv("RIG_DROP");
    unsetenv("RIG_DROPS");
    unsetenv("RIG_LATER");
}

static void test_environment_is_checked(void **state)
{
    struct rig *rig = *state;
    struct fc_worker *worker = NULL;
    char *huge = malloc(FC_SPAWNER_ENV_BYTES + 1);
    assert_non_null(huge);
    memset(huge, 'x', FC_SPAWNER_ENV_BYTES);
    huge[FC_SPAWNER_ENV_BYTES] = '\0';
    const char *const bad[][2] = {{"=x", NULL}, {"", NULL}, {huge, NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fc_worker_open(rig->spawner, bad[i], &worker, &rig->err),
                         FC_USAGE);
        rig_says(rig->err.text,
                 i < 2 ? "has no name" : "65537 bytes.*65536 are the limit");
        assert_null(worker);
    }
    huge[1] = '=';
    huge[FC_SPAWNER_ENV_BYTES - 1] = '\0';
    rig_worker(rig, bad[2], NULL); /* the most that goes */
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    free(huge);
}

/* ---- deadlines ---- */

/* A call whose deadline must pass: the worker is described, dead, and in time. */
static void call_late(struct rig *rig, const char *command, const char *args,
                      const char *says)
{
    rig_renew(rig, rig_raw_crash);
    int pid = fc_worker_pid(rig->worker);
    json_decref(rig_ask(rig, rig->worker, "silent", NULL)); /* it has started */
    uint64_t start = fc_now_ns();
    json_t *reply = NULL, *words = json_loads(args, 0, NULL);
    assert_non_null(words);
    assert_int_equal(rig_call(rig, command, words, SHORT, &reply), FC_TIMEOUT);
    uint64_t took = fc_now_ns() - start;
    assert_null(reply);
    assert_true(took >= SHORT);
    assert_true(took < BOUND_NS);
    rig_says(rig->err.text, says);
    char begin[32];
    snprintf(begin, sizeof begin, "^worker %d ", pid);
    rig_says(rig->err.text, begin);
    assert_false(fc_worker_alive(rig->worker));
    assert_false(rig_runs(pid));
    assert_int_equal(rig_call(rig, "echo", NULL, SOON, NULL), FC_FAILED);
    rig_says(rig->err.text, "has ended and takes no command 'echo'$");
}

static void test_deadlines(void **state)
{
    struct rig *rig = *state;
    call_late(rig, "hang", "{\"note\":\"ncclAllReduce\"}",
              "stuck in 'ncclAllReduce' for 0\\.[3-9] s \\(state S");
    call_late(rig, "hang", "{\"note\":\"\"}",
              "stuck in 'hang' for 0\\.[3-9] s \\(state S");
    call_late(rig, "hang", "{\"note\":\"a\\u001bb\"}", "stuck in 'a b' for");
    call_late(rig, "spin", "{}", "stuck in 'spin' for 0\\.[3-9] s \\(state R");
    call_late(rig, "stick", "{}",
              "stuck in 'ibv_open_device' for 0\\.[3-9] s \\(state D");
    call_late(rig, "stop", "{}", "stuck in 'stop' for 0\\.[3-9] s \\(state T");
    call_late(rig, "busy", "{}",
              "late in 'short_call' for 0\\.0 s of the 0\\.[3-9] s that 'busy' took");
    call_late(rig, "late", "{\"ms\":900}",
              "stuck in 'late' for 0\\.[3-9] s \\(state S");
    call_late(rig, "flood_output", "{\"MiB\":1000000}",
              "stuck in 'flood_output'.*; last words: \"f{200,400}\"$");
}

static void test_state_names_where_in_the_kernel(void **state)
{
    struct rig *rig = *state;
    char own[64] = "0";
    FILE *file = fopen("/proc/self/wchan", "re");
    if (!file || !fgets(own, sizeof own, file) ||
        access("/proc/self/syscall", R_OK) != 0)
        own[0] = '\0';
    if (file)
        fclose(file);
    if (own[0] == '\0')
        skip();
    call_late(rig, "stick", "{}", "\\(state D, (wchan [a-z_]+, )?syscall [0-9]+\\)");
}

static void test_what_was_sent_in_time_counts(void **state)
{
    struct rig *rig = *state;
    struct heard heard = {.lines = 0};
    rig_worker(rig, NULL, NULL);
    json_t *args = json_pack("{s:i}", "count", 10);
    assert_int_equal(fc_worker_call(rig->worker, "lines", args, UINT64_MAX, hear_line,
                                    &heard, NULL, &rig->err),
                     FC_OK);
    json_decref(args);
    assert_int_equal(heard.lines, 10);
    /* Lines before a death are heard. */
    heard = (struct heard){.lines = 0};
    assert_int_equal(fc_worker_call(rig->worker, "orphan", NULL, SOON, hear_line,
                                    &heard, NULL, &rig->err),
                     FC_FAILED);
    assert_int_equal(heard.lines, 1);
    rig_says(rig->err.text, "exited with status 5 in 'orphan'$");
}

/* ---- deaths ---- */

static void call_fatal(struct rig *rig, const char *command, const char *args,
                       const char *says)
{
    rig_renew(rig, rig_raw_crash);
    int pid = fc_worker_pid(rig->worker);
    json_t *words = json_loads(args, 0, NULL);
    assert_non_null(words);
    assert_int_equal(rig_call(rig, command, words, SOON, NULL), FC_FAILED);
    rig_says(rig->err.text, says);
    assert_false(fc_worker_alive(rig->worker));
    assert_false(rig_runs(pid));
}

static void test_deaths(void **state)
{
    struct rig *rig = *state;
    call_fatal(rig, "crash", "{\"text\":\"\"}",
               "^worker [0-9]+ died of SIGSEGV in "
               "'cudaMalloc'$");
    call_fatal(rig, "crash", "{\"text\":\"a\\u001b[31mb\\r\\n\\n c\\u007f\"}",
               "in 'cudaMalloc'; last words: \"a \\[31mb c\"$");
    call_fatal(rig, "crash", "{\"text\":\"\\u00b5\\u2026 \\ud83d\\ude00\"}",
               "last words: \"\u00b5\u2026 \U0001f600\"$");
    call_fatal(rig, "abort", "{}",
               "died of SIGABRT in 'abort'; last words: \"printed, "
               "and not flushed by hand\"$");
    call_fatal(rig, "exit", "{\"status\":7}", "exited with status 7 in 'exit'$");
    call_fatal(rig, "exit", "{\"status\":0}", "exited with status 0 in 'exit'$");
    call_fatal(rig, "hang_up", "{}", "hung up in 'hang_up' \\(state S");
}

static void test_killed_from_outside(void **state)
{
    struct rig *rig = *state;
    static const char says[] = "was killed \\(SIGKILL: from outside";
    rig_worker(rig, NULL, NULL);
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    kill(fc_worker_pid(rig->worker),
         SIGKILL); /* between calls: no SIGPIPE in this one */
    assert_true(rig_vanishes(fc_worker_pid(rig->worker), SOON));
    assert_int_equal(rig_call(rig, "echo", NULL, SOON, NULL), FC_FAILED);
    rig_says(rig->err.text, says);
    rig_renew(rig, NULL);
    int pid = fc_worker_pid(rig->worker);
    pid_t killer = fork();
    if (killer == 0) {
        fc_sleep_ns(SHORT);
        kill(pid, SIGKILL);
        _exit(0);
    }
    assert_int_equal(rig_call(rig, "hang", json_pack("{s:s}", "note", "x"), SOON, NULL),
                     FC_FAILED);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    rig_says(rig->err.text, says);
    rig_says(rig->err.text, "in 'x'$");
}

/* ---- floods and nonsense ---- */

static size_t resident_bytes(void)
{
    size_t size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &size, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void test_output_flood_neither_blocks_nor_fills_memory(void **state)
{
    struct rig *rig = *state;
    rig_worker(rig, NULL, NULL);
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    size_t before = resident_bytes();
    json_decref(
        rig_ask(rig, rig->worker, "flood_output", json_pack("{s:i}", "MiB", 128)));
    assert_true(resident_bytes() < before + (16u << 20));
}

static void test_line_floods_are_cut_off(void **state)
{
    struct rig *rig = *state;
    static const char says[] =
        "was cut off: it sent more than 64 MiB of lines in 'flood'";
    call_fatal(rig, "flood_lines", "{\"line\":\"\"}", says);
    call_fatal(rig, "flood_lines", "{\"line\":\"{\\\"type\\\":\\\"record\\\"}\"}",
               says);
    /* What is bounded is one call. */
    rig_renew(rig, NULL);
    struct heard heard;
    for (int i = 0; i < 3; i++)
        call_lines(rig, 40, 1000000, &heard);
    assert_int_equal(heard.in_order, 40);
}

static void test_nonsense_is_cut_off(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *args, *says;
    } bad[] = {
        {"{\"type\":2,\"call\":1,\"length\":1048577}",
         "a frame of 1048577 bytes, where 104"},
        {"{\"type\":2,\"call\":1,\"length\":4294967295}",
         "a frame of 4294967295 bytes"},
        {"{\"type\":2,\"call\":1,\"magic\":7}", "bytes that are no frame"},
        {"{\"type\":0,\"call\":1}", "bytes that are no frame"},
        {"{\"type\":5,\"call\":1}", "bytes that are no frame"},
        {"{\"type\":1,\"call\":1}", "a command"},
        {"{\"type\":2,\"call\":2}", "a frame of another call"},
        {"{\"type\":2,\"call\":1,\"length\":3,\"body\":\"a\\nb\"}",
         "a line that is none"},
        {"{\"type\":3,\"call\":1,\"length\":2,\"body\":\"[]\"}",
         "a reply that is no object"},
        {"{\"type\":3,\"call\":1,\"length\":2,\"body\":\"{x\"}",
         "a reply that is no object"},
        {"{\"type\":4,\"call\":1,\"length\":2,\"body\":\"ab\"}",
         "an error without a status"},
        {"{\"type\":4,\"call\":1,\"length\":4,\"body\":\"abcd\"}",
         "a status that there is"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char says[128];
        snprintf(says, sizeof says, "was cut off: it sent .*%s.* in 'raw_frame'",
                 bad[i].says);
        call_fatal(rig, "raw_frame", bad[i].args, says);
    }
    /* Half a frame is waited for, until the deadline. */
    call_late(rig, "raw_frame", "{\"type\":2,\"call\":2,\"length\":9,\"body\":\"abc\"}",
              "stuck in 'raw_frame'");
    /* A second answer is not taken for that of the next call. */
    rig_renew(rig, NULL);
    json_t *args = json_pack("{s:i, s:i, s:i, s:s, s:i}", "type", FC_FRAME_REPLY,
                             "call", 1, "length", 2, "body", "{}", "go_on", 1);
    json_decref(rig_ask(rig, rig->worker, "raw_frame", args));
    assert_int_equal(rig_call(rig, "echo", NULL, SOON, NULL), FC_FAILED);
    rig_says(rig->err.text, "it sent a frame of another call in 'echo'");
}

/* ---- signals in the rank, and what no signal ends ---- */

static void on_alarm(int number)
{
    (void)number;
}

static void test_signals_in_the_rank_disturb_nothing(void **state)
{
    struct rig *rig = *state;
    struct sigaction action = {.sa_handler = on_alarm}, old;
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct heard heard;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 5; i++) {
        rig_renew(rig, NULL);
        call_lines(rig, 2000, 100, &heard);
        if (heard.in_order != 2000)
            break;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    assert_int_equal(heard.in_order, 2000);
    call_late(rig, "hang", "{\"note\":\"x\"}", "stuck in 'x'");
    sigaction(SIGALRM, &old, NULL);
}

/* A tracer that holds a process at its exit keeps SIGKILL from ending it. */
static void test_what_cannot_be_killed_is_left_behind(void **state)
{
    struct rig *rig = *state;
    rig_worker(rig, NULL, NULL);
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    int pid = fc_worker_pid(rig->worker);
    if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT) != 0)
        skip(); /* no right to trace */
    uint64_t start = fc_now_ns();
    enum fc_status status =
        rig_call(rig, "hang", json_pack("{s:s}", "note", "nvidia_close"), SHORT, NULL);
    uint64_t took = fc_now_ns() - start;
    bool held = rig_runs(pid);
    fc_worker_close(rig->worker);
    rig->worker = NULL;
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    bool reaped = rig_vanishes(pid, SOON);
    assert_true(held);
    assert_int_equal(status, FC_TIMEOUT);
    assert_true(took < BOUND_NS);
    rig_says(rig->err.text,
             "stuck in 'nvidia_close' .*; it could not be killed and is left "
             "behind$");
    assert_true(reaped);
    while (rig_count_children(fc_spawner_pid(rig->spawner), true) > 0)
        fc_sleep_ns(
            5 * FC_NS_PER_MS); /* the spawner reaps it late; the harness bounds us */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return fc_worker_main(rig_table);
    const struct CMUnitTest tests[] = {
        TEST(test_reply_is_what_the_command_gave),
        TEST(test_lines_come_whole_and_in_order),
        TEST(test_failed_command_leaves_a_worker_that_serves),
        TEST(test_arguments_are_bounded),
        TEST(test_two_workers_and_environments),
        TEST(test_environment_is_checked),
        TEST(test_deadlines),
        TEST(test_state_names_where_in_the_kernel),
        TEST(test_what_was_sent_in_time_counts),
        TEST(test_deaths),
        TEST(test_killed_from_outside),
        TEST(test_output_flood_neither_blocks_nor_fills_memory),
        TEST(test_line_floods_are_cut_off),
        TEST(test_nonsense_is_cut_off),
        TEST(test_signals_in_the_rank_disturb_nothing),
        TEST(test_what_cannot_be_killed_is_left_behind),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
