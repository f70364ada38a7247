// SPDX-License-Identifier: BSD-3-Clause
/* The life of workers and their spawner: who dies with whom, what is inherited, what is
 * left. The rig checks after each test that nothing is. */
#include "worker_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Within how long the dead must be gone: a second by promise, and room for a machine
 * that others load. */
#define GONE_NS (3 * FC_NS_PER_S)

/* ---- what is inherited ---- */

static void test_worker_inherits_only_what_it_needs(void **state)
{
    struct rig *rig = *state;
    int leak = open("/dev/null", O_RDONLY); /* without FD_CLOEXEC, as libraries do */
    struct rlimit core, more;
    assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
    more = (struct rlimit){.rlim_cur = core.rlim_max, .rlim_max = core.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_CORE, &more), 0);
    fc_spawner_close(rig->spawner);
    assert_int_equal(fc_spawner_open(&rig->spawner, &rig->err), FC_OK);
    close(leak);
    assert_int_equal(setrlimit(RLIMIT_CORE, &core), 0);
    rig_worker(rig, NULL, NULL);
    json_t *seen = rig_ask(rig, rig->worker, "look", NULL);
    json_t *want = json_pack("[[i,b],[i,b],[i,b],[i,b]]", 0, 0, 1, 0, 2, 0, 3, 1);
    assert_true(json_equal(json_object_get(seen, "fds"), want));
    json_decref(want);
    want = json_pack("[i,i,i,i,i]", SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGTERM);
    assert_true(json_equal(json_object_get(seen, "ignored"), want));
    json_decref(want);
    assert_int_equal(json_integer_value(json_object_get(seen, "blocked")), 0);
    assert_true(json_integer_value(json_object_get(seen, "core")) <=
                1); /* no core file */
    assert_int_equal(json_integer_value(json_object_get(seen, "group")),
                     fc_worker_pid(rig->worker));
    assert_int_equal(json_integer_value(json_object_get(seen, "parent")),
                     fc_spawner_pid(rig->spawner));
    assert_string_equal(json_string_value(json_object_get(seen, "stdin")), "/dev/null");
    json_decref(seen);
}

/* The launcher waits for the end of the rank's pipes: the spawner must hold none. */
static void test_spawner_holds_nothing_of_its_rank(void **state)
{
    struct rig *rig = *state;
    int pipe_fd[2];
    char byte;
    assert_int_equal(pipe(pipe_fd), 0);
    fc_spawner_close(rig->spawner);
    assert_int_equal(fc_spawner_open(&rig->spawner, &rig->err), FC_OK);
    rig_worker(rig, NULL, NULL);
    close(pipe_fd[1]);
    assert_int_equal(fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(pipe_fd[0], &byte, 1), 0); /* at its end: nobody holds it */
    close(pipe_fd[0]);
    assert_int_equal(getpgid(fc_spawner_pid(rig->spawner)),
                     fc_spawner_pid(rig->spawner));
}

static void test_all_descriptors_of_the_rank_close_on_exec(void **state)
{
    struct rig *rig = *state;
    bool before[256], some = false;
    fc_spawner_close(rig->spawner);
    for (int fd = 0; fd < 256; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    assert_int_equal(fc_spawner_open(&rig->spawner, &rig->err), FC_OK);
    rig_worker(rig, NULL, NULL);
    for (int fd = 0; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !before[fd]) {
            assert_int_equal(flags & FD_CLOEXEC, FD_CLOEXEC);
            some = true;
        }
    }
    assert_true(some);
}

/* ---- nothing is left ---- */

static size_t count_pages(void)
{
    char line[512];
    size_t count = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        count += strstr(line, "fc-worker-note") != NULL;
    fclose(file);
    return count;
}

static void test_many_workers_leave_nothing(void **state)
{
    struct rig *rig = *state;
    size_t fds = rig_count_fds();
    for (int i = 0; i < 60; i++) {
        rig_renew(rig, NULL);
        if (i % 5 == 0) {
            assert_int_equal(rig_call(rig, "exit", NULL, SOON, NULL), FC_FAILED);
        } else if (i % 20 == 1) {
            assert_int_equal(rig_call(rig, "hang", NULL, FC_NS_PER_MS, NULL),
                             FC_TIMEOUT);
        } else if (i % 5 != 2) { /* those never had a command */
            json_decref(rig_ask(rig, rig->worker, "echo", NULL));
        }
        assert_true(rig_count_fds() <= fds + 2);
        assert_int_equal(count_pages(), 1);
        assert_true(rig_count_children(fc_spawner_pid(rig->spawner), true) <= 1);
    }
    fc_worker_close(rig->worker);
    rig->worker = NULL;
    assert_int_equal(rig_count_fds(), fds);
    assert_int_equal(count_pages(), 0);
    assert_int_equal(rig_count_children(fc_spawner_pid(rig->spawner), true), 0);
}

static void test_too_many_workers(void **state)
{
    struct rig *rig = *state;
    struct fc_worker *worker[FC_SPAWNER_WORKERS], *more = NULL;
    for (int i = 0; i < FC_SPAWNER_WORKERS; i++)
        rig_worker(rig, NULL, &worker[i]);
    size_t fds = rig_count_fds();
    assert_int_equal(fc_worker_open(rig->spawner, NULL, &more, &rig->err), FC_FAILED);
    rig_says(rig->err.text, "^cannot start a worker: 64 run already$");
    assert_int_equal(rig_count_fds(), fds);
    fc_worker_close(worker[0]);
    rig_worker(rig, NULL, &worker[0]); /* its place is free again */
    for (int i = 0; i < FC_SPAWNER_WORKERS; i++)
        fc_worker_close(worker[i]);
}

static void test_short_of_descriptors(void **state)
{
    struct rig *rig = *state;
    struct rlimit old, low;
    size_t failures = 0;
    struct fc_worker *worker = NULL;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (rlim_t room = 0; room < 12 && !worker; room++) {
        low =
            (struct rlimit){.rlim_cur = rig->fds + 1 + room, .rlim_max = old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        enum fc_status status = fc_worker_open(rig->spawner, NULL, &worker, &rig->err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(rig_count_fds(), rig->fds + (status == FC_OK ? 3 : 1));
        if (status != FC_OK) {
            rig_says(rig->err.text, "^cannot start a worker: .*Too many open files");
            failures++;
        }
    }
    assert_true(failures > 0);
    assert_non_null(worker);
    fc_worker_close(worker);
}

static void keep_number(void *arg, const char *line)
{
    *(int *)arg = atoi(line);
}

static void test_children_of_a_worker_go_with_it(void **state)
{
    struct rig *rig = *state;
    int child = 0;
    rig_worker(rig, NULL, NULL);
    /* It exits and leaves a child, which holds its socket open. */
    assert_int_equal(fc_worker_call(rig->worker, "orphan", NULL, SOON, keep_number,
                                    &child, NULL, &rig->err),
                     FC_FAILED);
    rig_says(rig->err.text, "exited with status 5 in 'orphan'$");
    assert_true(child > 0);
    assert_true(rig_vanishes(child, GONE_NS));
}

/* ---- who dies with whom ---- */

/* A process that acts as a rank: opens a spawner and a worker, makes a child that holds
 * its descriptors as long as `out_pid[2]` lives, tells their process ids, and then sits
 * in a call that hangs (or idles). */
static pid_t act_as_rank(bool idle, int out_pid[3])
{
    int channel[2];
    assert_int_equal(pipe2(channel, O_CLOEXEC), 0);
    pid_t rank = fork();
    if (rank == 0) {
        struct fc_spawner *spawner;
        struct fc_worker *worker;
        struct fc_error err;
        if (fc_spawner_open(&spawner, &err) != FC_OK ||
            fc_worker_open(spawner, NULL, &worker, &err) != FC_OK ||
            fc_worker_call(worker, "echo", NULL, SOON, NULL, NULL, NULL, &err) != FC_OK)
            _exit(1);
        int pid[3] = {fc_spawner_pid(spawner), fc_worker_pid(worker), fork()};
        if (pid[2] == 0) {
            alarm(20); /* it must not outlive a test that failed */
            pause();
            _exit(0);
        }
        if (write(channel[1], pid, sizeof pid) != (ssize_t)sizeof pid)
            _exit(1);
        if (!idle && fc_worker_call(worker, "spin", NULL, SOON, NULL, NULL, NULL, &err))
            _exit(1);
        for (;;)
            pause();
    }
    close(channel[1]);
    assert_int_equal(read(channel[0], out_pid, 3 * sizeof *out_pid),
                     3 * sizeof *out_pid);
    close(channel[0]);
    return rank;
}

static void test_all_die_with_their_rank(void **state)
{
    static const int signals[] = {SIGKILL, SIGTERM};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof signals / sizeof *signals; i++) {
        int pid[3];
        pid_t rank = act_as_rank(i % 2, pid);
        assert_true(rig_runs(pid[0]) && rig_runs(pid[1]));
        /* With i < 2 its sockets outlive it. */
        if (i >= 2)
            kill(pid[2], SIGKILL);
        fc_sleep_ns(50 * FC_NS_PER_MS); /* into the call */
        kill(rank, signals[i / 2]);
        assert_int_equal(waitpid(rank, NULL, 0), rank);
        bool gone = rig_vanishes(pid[1], GONE_NS) && rig_vanishes(pid[0], GONE_NS);
        if (i < 2)
            kill(pid[2], SIGKILL);
        assert_true(gone);
    }
}

/* Even when the spawner cannot act, the kernel kills the worker. */
static void test_worker_dies_with_its_spawner(void **state)
{
    struct rig *rig = *state;
    struct fc_worker *more = NULL;
    rig_worker(rig, NULL, NULL);
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    pid_t killer = fork();
    if (killer == 0) {
        fc_sleep_ns(SHORT);
        kill(fc_spawner_pid(rig->spawner), SIGKILL);
        _exit(0);
    }
    assert_int_equal(rig_call(rig, "hang", json_pack("{s:s}", "note", "x"), SOON, NULL),
                     FC_FAILED);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    rig_says(rig->err.text, "^worker [0-9]+ was lost with its spawner in 'x'$");
    assert_true(rig_vanishes(fc_worker_pid(rig->worker), GONE_NS));
    assert_int_equal(fc_worker_open(rig->spawner, NULL, &more, &rig->err), FC_FAILED);
    rig_says(rig->err.text, "spawner .* is gone$");
    assert_null(more);
    fc_worker_close(rig->worker);
    rig->worker = NULL;
    fc_spawner_close(rig->spawner);
    assert_int_equal(fc_spawner_open(&rig->spawner, &rig->err), FC_OK);
    for (uint64_t i = 0; i < 20; i++) { /* and one that has hardly begun */
        rig_worker(rig, NULL, NULL);
        fc_sleep_ns(i * 100 * FC_NS_PER_US);
        kill(fc_spawner_pid(rig->spawner), SIGKILL);
        assert_true(rig_vanishes(fc_worker_pid(rig->worker), GONE_NS));
        fc_worker_close(rig->worker);
        rig->worker = NULL;
        fc_spawner_close(rig->spawner);
        assert_int_equal(fc_spawner_open(&rig->spawner, &rig->err), FC_OK);
    }
}

/* A launcher's signals to the rank's group, and a batch system's to every process. */
static void test_signals_to_end_do_not_end_workers(void **state)
{
    struct rig *rig = *state;
    static const int ends[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < 3 * sizeof ends / sizeof *ends; i++) {
        if (i % 5 == 0)
            rig_renew(rig, NULL); /* the first signal finds it in the middle of exec */
        kill(fc_worker_pid(rig->worker), ends[i % 5]);
        kill(fc_spawner_pid(rig->spawner), ends[i % 5]);
        json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    }
    assert_int_not_equal(getpgrp(), getpgid(fc_spawner_pid(rig->spawner)));
    assert_int_not_equal(getpgrp(), getpgid(fc_worker_pid(rig->worker)));
}

static void test_rank_that_ignores_sigchld_still_learns(void **state)
{
    struct rig *rig = *state;
    fc_spawner_close(rig->spawner);
    (void)signal(SIGCHLD, SIG_IGN);
    enum fc_status status = fc_spawner_open(&rig->spawner, &rig->err);
    if (status == FC_OK)
        rig_worker(rig, NULL, NULL);
    if (status == FC_OK)
        status = rig_call(rig, "exit", json_pack("{s:i}", "status", 7), SOON, NULL);
    fc_spawner_close(rig->spawner);
    rig->spawner = NULL;
    (void)signal(SIGCHLD, SIG_DFL);
    assert_int_equal(status, FC_FAILED);
    rig_says(rig->err.text, "exited with status 7");
}

static void test_closing_takes_what_still_runs(void **state)
{
    struct rig *rig = *state;
    rig_worker(rig, NULL, NULL);
    int pid = fc_worker_pid(rig->worker);
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    kill(pid, SIGSTOP); /* it does not end when asked */
    uint64_t start = fc_now_ns();
    fc_worker_close(rig->worker);
    assert_true(fc_now_ns() - start < BOUND_NS);
    assert_false(rig_runs(pid));
    rig_worker(rig, NULL, NULL);
    pid = fc_worker_pid(rig->worker);
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    kill(pid, SIGSTOP);
    fc_spawner_close(rig->spawner); /* before its worker */
    rig->spawner = NULL;
    assert_false(rig_runs(pid));
    assert_int_equal(rig_call(rig, "echo", NULL, SOON, NULL), FC_FAILED);
    fc_worker_close(rig->worker);
    rig->worker = NULL;
    fc_worker_close(NULL);
    fc_spawner_close(NULL);
}

static void test_spawner_that_does_not_answer(void **state)
{
    struct rig *rig = *state;
    struct fc_worker *more = NULL;
    rig_worker(rig, NULL, NULL);
    json_decref(rig_ask(rig, rig->worker, "echo", NULL));
    kill(fc_spawner_pid(rig->spawner), SIGSTOP);
    /* Calls need it for nothing but bad news. */
    json_decref(rig_ask(rig, rig->worker, "late", json_pack("{s:i}", "ms", 1200)));
    assert_int_equal(fc_worker_open(rig->spawner, NULL, &more, &rig->err), FC_TIMEOUT);
    rig_says(rig->err.text, "spawner .* does not answer$");
    kill(fc_spawner_pid(rig->spawner), SIGCONT);
    /* The late answers are not mistaken for others. */
    rig_renew(rig, NULL);
    assert_int_equal(rig_call(rig, "exit", json_pack("{s:i}", "status", 3), SOON, NULL),
                     FC_FAILED);
    rig_says(rig->err.text, "exited with status 3");
    kill(fc_spawner_pid(rig->spawner), SIGSTOP);
    uint64_t start = fc_now_ns();
    fc_spawner_close(rig->spawner);
    rig->spawner = NULL;
    assert_true(fc_now_ns() - start < BOUND_NS);
}

static void test_started_by_hand_it_refuses(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        close(FC_WORKER_FD_SOCKET);
        close(FC_WORKER_FD_PAGE);
        execl("/proc/self/exe", "fabricheck", "worker", (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return fc_worker_main(rig_table);
    const struct CMUnitTest tests[] = {
        TEST(test_worker_inherits_only_what_it_needs),
        TEST(test_spawner_holds_nothing_of_its_rank),
        TEST(test_all_descriptors_of_the_rank_close_on_exec),
        TEST(test_many_workers_leave_nothing),
        TEST(test_too_many_workers),
        TEST(test_short_of_descriptors),
        TEST(test_children_of_a_worker_go_with_it),
        TEST(test_all_die_with_their_rank),
        TEST(test_worker_dies_with_its_spawner),
        TEST(test_signals_to_end_do_not_end_workers),
        TEST(test_rank_that_ignores_sigchld_still_learns),
        TEST(test_closing_takes_what_still_runs),
        TEST(test_spawner_that_does_not_answer),
        TEST(test_started_by_hand_it_refuses),
    };
    return cmocka_run_group_tests_name("worker_life", tests, NULL, NULL);
}
