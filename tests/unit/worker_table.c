// SPDX-License-Identifier: BSD-3-Clause
/* Commands for workers under test: one well-behaved, the others each bad in one way. */
#include "core/worker_frame.h"
#include "worker_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define COMMAND(name)                                                                  \
    static enum fc_status name(struct fc_worker_call *call, json_t *args,              \
                               json_t **out_reply, struct fc_error *err)
#define UNUSED (void)call, (void)args, (void)out_reply, (void)err

static size_t number(json_t *args, const char *key)
{
    return (size_t)json_integer_value(json_object_get(args, key));
}

static const char *word(json_t *args, const char *key)
{
    const char *value = json_string_value(json_object_get(args, key));
    return value ? value : "";
}

_Noreturn static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static void write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(fd, at, bytes);
        if (n <= 0)
            _exit(99);
        at += n;
        bytes -= (size_t)n;
    }
}

COMMAND(echo)
{
    UNUSED;
    *out_reply = json_pack("{s:i, s:O}", "pid", (int)getpid(), "args", args);
    return FC_OK;
}

COMMAND(silent)
{
    UNUSED;
    fc_worker_note(call, "note of a call that has returned");
    return FC_OK;
}

/* {"count":n, "bytes":b}: n lines "0 xxx…" of at least b bytes. */
COMMAND(lines)
{
    UNUSED;
    size_t bytes = number(args, "bytes");
    char *line = malloc(bytes + 32);
    enum fc_status status = line ? FC_OK : FC_NOMEM;
    for (size_t i = 0; i < number(args, "count") && status == FC_OK; i++) {
        size_t n = (size_t)snprintf(line, 32, "%zu ", i);
        if (bytes > n) {
            memset(line + n, 'x', bytes - n);
            line[bytes] = '\0';
        }
        status = fc_worker_emit(call, line, err);
    }
    free(line);
    return status;
}

COMMAND(flood_lines)
{
    UNUSED;
    fc_worker_note(call, "flood");
    for (;;) {
        enum fc_status status = fc_worker_emit(call, word(args, "line"), err);
        if (status != FC_OK)
            return status;
    }
}

COMMAND(broken_line)
{
    UNUSED;
    return fc_worker_emit(call, "one\ntwo", err);
}

COMMAND(fails)
{
    UNUSED;
    return fc_fail(err, (enum fc_status)number(args, "status"), "%s",
                   word(args, "text"));
}

COMMAND(big_reply)
{
    UNUSED;
    char *text = malloc(2 * FC_FRAME_MAX);
    if (!text)
        return FC_NOMEM;
    memset(text, 'x', 2 * FC_FRAME_MAX - 1);
    text[2 * FC_FRAME_MAX - 1] = '\0';
    *out_reply = json_pack("{s:s}", "text", text);
    free(text);
    return FC_OK;
}

COMMAND(odd_reply)
{
    UNUSED;
    *out_reply = json_array();
    return FC_OK;
}

COMMAND(hang)
{
    UNUSED;
    fc_worker_note(call, word(args, "note"));
    sleep_for_ever();
}

COMMAND(spin)
{
    UNUSED;
    fc_worker_note(call, "spin");
    for (volatile bool on = true; on;) {
    }
    return FC_OK;
}

/* Many short calls: none of them is stuck. */
COMMAND(busy)
{
    UNUSED;
    for (volatile bool on = true; on;) {
        fc_worker_note(call, "short_call");
        fc_sleep_ns(FC_NS_PER_MS);
    }
    return FC_OK;
}

/* The parent of a vfork waits uninterruptibly for its child. */
COMMAND(stick)
{
    UNUSED;
    fc_worker_note(call, "ibv_open_device");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    pid_t child = vfork();
#pragma GCC diagnostic pop
    if (child == 0)
        sleep_for_ever();
    return FC_OK;
}

COMMAND(stop)
{
    UNUSED;
    raise(SIGSTOP);
    return FC_OK;
}

/* A real fault, on a page that a sanitizer has no opinion about. */
COMMAND(crash)
{
    UNUSED;
    fc_worker_note(call, "cudaMalloc");
    write_all(STDERR_FILENO, word(args, "text"), strlen(word(args, "text")));
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED)
        *(volatile char *)page = 1;
    return FC_OK;
}

COMMAND(aborts)
{
    UNUSED;
    printf("printed, and not flushed by hand\n");
    abort();
}

COMMAND(exits)
{
    UNUSED;
    exit((int)number(args, "status"));
}

COMMAND(late)
{
    UNUSED;
    fc_sleep_ns(number(args, "ms") * FC_NS_PER_MS);
    return FC_OK;
}

/* {"MiB":n}: half on stdout, half on stderr. */
COMMAND(flood_output)
{
    UNUSED;
    static char block[65536];
    memset(block, 'f', sizeof block - 1);
    block[sizeof block - 1] = '\n';
    for (size_t i = 0; i < number(args, "MiB") * 16; i++)
        write_all(i % 2 ? STDOUT_FILENO : STDERR_FILENO, block, sizeof block);
    return FC_OK;
}

/* {"type","length","call","body","magic"}: any frame, then for ever nothing. */
COMMAND(raw_frame)
{
    UNUSED;
    const json_t *body = json_object_get(args, "body");
    struct fc_frame_head head = {.magic = FC_FRAME_MAGIC,
                                 .type = (uint32_t)number(args, "type"),
                                 .call = (uint32_t)number(args, "call"),
                                 .length = (uint32_t)number(args, "length")};
    if (number(args, "magic"))
        head.magic = (uint32_t)number(args, "magic");
    write_all(FC_WORKER_FD_SOCKET, &head, sizeof head);
    if (body)
        write_all(FC_WORKER_FD_SOCKET, json_string_value(body),
                  json_string_length(body));
    if (number(args, "go_on"))
        return FC_OK;
    sleep_for_ever();
}

COMMAND(hang_up)
{
    UNUSED;
    fc_worker_note(call, "hang_up");
    close(FC_WORKER_FD_SOCKET);
    sleep_for_ever();
}

/* Leaves a child that holds the socket and, with "stay", lives on; then exits with 5.
 */
COMMAND(orphan)
{
    UNUSED;
    pid_t child = fork();
    if (child == 0)
        sleep_for_ever();
    char line[32];
    snprintf(line, sizeof line, "%d", (int)child);
    if (fc_worker_emit(call, line, err) != FC_OK)
        return FC_IO;
    _exit(5);
}

/* What it was given: descriptors, signals, group, environment. */
COMMAND(look)
{
    UNUSED;
    json_t *fds = json_array(), *ignored = json_array();
    sigset_t blocked;
    size_t blocked_count = 0;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int fd = 0; fd < 4096; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0)
            json_array_append_new(fds, json_pack("[i, b]", fd, flags & FD_CLOEXEC));
    }
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) != 0)
            continue;
        if (action.sa_handler == SIG_IGN)
            json_array_append_new(ignored, json_integer(i));
        blocked_count += sigismember(&blocked, i) == 1;
    }
    char stdin_path[64] = "";
    if (readlink("/proc/self/fd/0", stdin_path, sizeof stdin_path - 1) < 0)
        stdin_path[0] = '\0';
    struct rlimit core = {.rlim_cur = 0};
    getrlimit(RLIMIT_CORE, &core);
    *out_reply =
        json_pack("{s:o, s:o, s:i, s:i, s:i, s:i, s:s}", "fds", fds, "ignored", ignored,
                  "blocked", (int)blocked_count, "core",
                  core.rlim_cur > 1 ? 2 : (int)core.rlim_cur, "group", (int)getpgrp(),
                  "parent", (int)getppid(), "stdin", stdin_path);
    return FC_OK;
}

COMMAND(environment)
{
    UNUSED;
    const char *value = getenv(word(args, "name"));
    *out_reply = json_pack("{s:s?}", "value", value);
    return FC_OK;
}

const struct fc_worker_command rig_table[] = {{"echo", echo},
                                              {"silent", silent},
                                              {"lines", lines},
                                              {"flood_lines", flood_lines},
                                              {"broken_line", broken_line},
                                              {"fails", fails},
                                              {"big_reply", big_reply},
                                              {"odd_reply", odd_reply},
                                              {"hang", hang},
                                              {"spin", spin},
                                              {"busy", busy},
                                              {"stick", stick},
                                              {"stop", stop},
                                              {"crash", crash},
                                              {"abort", aborts},
                                              {"exit", exits},
                                              {"late", late},
                                              {"flood_output", flood_output},
                                              {"raw_frame", raw_frame},
                                              {"hang_up", hang_up},
                                              {"orphan", orphan},
                                              {"look", look},
                                              {"environment", environment},
                                              {NULL, NULL}};
