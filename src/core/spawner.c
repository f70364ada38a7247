// SPDX-License-Identifier: BSD-3-Clause
/* The rank's side of the spawner. */
#include "core/spawner.h"

#include "core/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fc_spawner {
    int sock; /* -1 once it is closed or found gone */
    pid_t pid;
    uint32_t seq;
    int holders;
};

#define ANSWER_LIMIT_NS (5 * FC_NS_PER_S)
#define CLOSE_LIMIT_NS (2 * FC_NS_PER_S)

static void spawner_hang_up(struct fc_spawner *spawner)
{
    if (spawner->sock >= 0)
        close(spawner->sock);
    spawner->sock = -1;
}

static enum fc_status gone(struct fc_spawner *spawner, struct fc_error *err)
{
    spawner_hang_up(spawner);
    return fc_fail(err, FC_FAILED,
                   "the spawner of this rank's workers (process %d) is gone",
                   (int)spawner->pid);
}

/* Waits for the answer to the request `spawner->seq`, and drops those of requests that
 * were given up. */
static enum fc_status hear(struct fc_spawner *spawner, uint64_t limit_ns,
                           struct fc_spawner_answer *out, struct fc_error *err)
{
    uint64_t end = fc_now_ns() + limit_ns;
    for (;;) {
        ssize_t n = recv(spawner->sock, out, sizeof *out, MSG_DONTWAIT);
        if (n == (ssize_t)sizeof *out && out->seq == spawner->seq)
            return FC_OK;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return gone(spawner, err);
        if (n > 0)
            continue;
        uint64_t now = fc_now_ns();
        if (now >= end)
            return fc_fail(
                err, FC_TIMEOUT,
                "the spawner of this rank's workers (process %d) does not answer",
                (int)spawner->pid);
        struct timespec left = {.tv_sec = (time_t)((end - now) / FC_NS_PER_S),
                                .tv_nsec = (long)((end - now) % FC_NS_PER_S)};
        struct pollfd wait = {.fd = spawner->sock, .events = POLLIN};
        (void)ppoll(&wait, 1, &left, NULL);
    }
}

/* Sends a request, its text and its descriptors as one message. */
static enum fc_status tell(struct fc_spawner *spawner,
                           struct fc_spawner_request *request, char *text,
                           const int *fd, struct fc_error *err)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FC_SPAWNER_FDS * sizeof(int))];
    } control = {0};
    struct iovec iov[2] = {{request, sizeof *request}, {text, request->env_bytes}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
    if (fd) {
        msg.msg_control = &control;
        msg.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(FC_SPAWNER_FDS * sizeof(int));
        memcpy(CMSG_DATA(c), fd, FC_SPAWNER_FDS * sizeof(int));
    }
    if (spawner->sock < 0)
        return gone(spawner, err);
    request->seq = ++spawner->seq;
    ssize_t n;
    do
        n = sendmsg(spawner->sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return FC_OK;
    if (errno == EPIPE || errno == ECONNRESET)
        return gone(spawner, err);
    return fc_fail(
        err, errno == EAGAIN ? FC_TIMEOUT : FC_FAILED,
        "the spawner of this rank's workers (process %d) takes no request: %s",
        (int)spawner->pid, strerror(errno));
}

enum fc_status fc_spawner_ask(struct fc_spawner *spawner, enum fc_spawner_op op,
                              int pid, uint64_t limit_ns, struct fc_spawner_ending *out,
                              struct fc_error *err)
{
    struct fc_spawner_request request = {.op = op, .pid = pid};
    struct fc_spawner_answer answer;
    enum fc_status status = tell(spawner, &request, NULL, NULL, err);
    if (status == FC_OK)
        status = hear(spawner, limit_ns, &answer, err);
    if (status != FC_OK)
        return status;
    if (answer.error != 0)
        return fc_fail(err, FC_FAILED, "worker %d: %s", pid, strerror(answer.error));
    *out = (struct fc_spawner_ending){.ended = answer.ended != 0,
                                      .by_signal = answer.by_signal != 0,
                                      .value = answer.value};
    return FC_OK;
}

/* Checks the overrides and puts them end to end; *out_bytes may be 0. */
static enum fc_status pack_env(const char *const *env, char **out, uint32_t *out_bytes,
                               struct fc_error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; env && env[i]; i++) {
        if (env[i][0] == '\0' || env[i][0] == '=')
            return fc_fail(err, FC_USAGE, "a worker's environment: \"%s\" has no name",
                           env[i]);
        bytes += strlen(env[i]) + 1;
    }
    if (bytes > FC_SPAWNER_ENV_BYTES)
        return fc_fail(err, FC_USAGE,
                       "a worker's environment: %zu bytes of changes, %d are the limit",
                       bytes, (int)FC_SPAWNER_ENV_BYTES);
    char *text = malloc(bytes + 1);
    if (!text)
        return fc_fail(err, FC_NOMEM, "no memory for a worker's environment");
    char *at = text;
    for (size_t i = 0; env && env[i]; i++)
        at = stpcpy(at, env[i]) + 1;
    *out = text;
    *out_bytes = (uint32_t)bytes;
    return FC_OK;
}

enum fc_status fc_spawner_start(struct fc_spawner *spawner, const char *const *env,
                                const int fd[FC_SPAWNER_FDS], int *out_pid,
                                struct fc_error *err)
{
    struct fc_spawner_request request = {.op = FC_SPAWNER_START};
    struct fc_spawner_answer answer;
    char *text = NULL;
    enum fc_status status = pack_env(env, &text, &request.env_bytes, err);
    if (status != FC_OK)
        return status;
    status = tell(spawner, &request, text, fd, err);
    free(text);
    if (status == FC_OK)
        status = hear(spawner, ANSWER_LIMIT_NS, &answer, err);
    if (status != FC_OK)
        return status;
    if (answer.error == EUSERS)
        return fc_fail(err, FC_FAILED, "cannot start a worker: %d run already",
                       (int)FC_SPAWNER_WORKERS);
    if (answer.error != 0)
        return fc_fail(err, FC_FAILED, "cannot start a worker: %s",
                       strerror(answer.error));
    *out_pid = answer.pid;
    return FC_OK;
}

void fc_spawner_hold(struct fc_spawner *spawner)
{
    spawner->holders++;
}

void fc_spawner_release(struct fc_spawner *spawner)
{
    if (--spawner->holders == 0)
        free(spawner);
}

int fc_spawner_pid(const struct fc_spawner *spawner)
{
    return spawner->pid;
}

static bool spawner_ended_within(pid_t pid, uint64_t limit_ns)
{
    uint64_t end = fc_now_ns() + limit_ns;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (fc_now_ns() >= end)
            return false;
        fc_sleep_ns(2 * FC_NS_PER_MS);
    }
    return true; /* reaped, here or by someone else in the process */
}

void fc_spawner_close(struct fc_spawner *spawner)
{
    if (!spawner)
        return;
    spawner_hang_up(spawner);
    if (!spawner_ended_within(spawner->pid, CLOSE_LIMIT_NS)) {
        kill(spawner->pid, SIGKILL);
        (void)spawner_ended_within(spawner->pid, CLOSE_LIMIT_NS);
    }
    fc_spawner_release(spawner);
}

/* Forks with all signals blocked, so that none of the rank's handlers runs in the
 * child. */
static pid_t fork_spawner(const int pair[2])
{
    sigset_t all, old;
    pid_t rank = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    if (pid == 0)
        fc_spawner_serve(pair[1], rank);
    int saved = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = saved;
    return pid;
}

enum fc_status fc_spawner_open(struct fc_spawner **out, struct fc_error *err)
{
    int pair[2];
    struct fc_spawner_answer hello;
    struct fc_spawner *spawner = calloc(1, sizeof *spawner);
    if (!spawner)
        return fc_fail(err, FC_NOMEM, "no memory for the spawner of workers");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        free(spawner);
        return fc_fail(err, FC_FAILED,
                       "cannot make the spawner of workers: socketpair: %s",
                       strerror(errno));
    }
    *spawner = (struct fc_spawner){.sock = pair[0], .holders = 1};
    spawner->pid = fork_spawner(pair);
    int fork_errno = errno;
    close(pair[1]);
    if (spawner->pid < 0) {
        close(pair[0]);
        free(spawner);
        return fc_fail(err, FC_FAILED, "cannot make the spawner of workers: fork: %s",
                       strerror(fork_errno));
    }
    enum fc_status status = hear(spawner, ANSWER_LIMIT_NS, &hello, err);
    if (status != FC_OK || hello.error != 0) {
        fc_spawner_close(spawner);
        return status != FC_OK
                   ? status
                   : fc_fail(err, FC_FAILED, "cannot make the spawner of workers: %s",
                             strerror(hello.error));
    }
    *out = spawner;
    return FC_OK;
}
