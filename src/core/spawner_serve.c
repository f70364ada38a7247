// SPDX-License-Identifier: BSD-3-Clause
/* The spawner's own process: one thread, all signals blocked, no descriptor of its rank
 * but the socket. It never waits for anything but requests, so that it always answers.
 */
#include "core/spawner.h"

#include "core/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct spawner {
    int sock, signals;
    pid_t rank;
    pid_t worker[FC_SPAWNER_WORKERS]; /* 0: free */
    bool forgotten[FC_SPAWNER_WORKERS];
};

struct message {
    struct fc_spawner_request request;
    char env[FC_SPAWNER_ENV_BYTES + 1];
};

static void default_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
}

/* ---- the child that becomes a worker ---- */

static bool place_descriptors(const int fd[FC_SPAWNER_FDS])
{
    /* Out of the way first: a source may sit where another one must go. */
    int high[FC_SPAWNER_FDS];
    for (int i = 0; i < FC_SPAWNER_FDS; i++) {
        high[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, FC_WORKER_FD_PAGE + 1);
        if (high[i] < 0)
            return false;
    }
    /* Standard input stays the spawner's /dev/null. All else is closed by exec. */
    return dup2(high[2], STDOUT_FILENO) >= 0 && dup2(high[2], STDERR_FILENO) >= 0 &&
           dup2(high[0], FC_WORKER_FD_SOCKET) >= 0 &&
           dup2(high[1], FC_WORKER_FD_PAGE) >= 0;
}

/* A core file of a process that maps a GPU takes minutes, in which the worker is not
 * dead yet. A limit of 1 also stops the collectors behind core_pattern's pipe, 0 does
 * not. */
static void no_core_file(void)
{
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max >= 1) {
        core.rlim_cur = 1;
        (void)setrlimit(RLIMIT_CORE, &core);
    }
}

_Noreturn static void become_worker(pid_t spawner, const int fd[FC_SPAWNER_FDS],
                                    char *const *env)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
    char name[] = "fabricheck", verb[] = "worker";
    char *const argv[] = {name, verb, NULL};
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != spawner)
        _exit(127);
    (void)setpgid(0, 0);
    no_core_file();
    default_signals();
    /* A batch system that tells every process of a job to end tells the rank too: the
     * rank decides, and must not see its worker die first and blame it. */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)signal(ends[i], SIG_IGN);
    sigemptyset(&none);
    if (!place_descriptors(fd))
        _exit(127);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execve("/proc/self/exe", argv, env);
    dprintf(STDERR_FILENO, "cannot run /proc/self/exe: %s\n", strerror(errno));
    _exit(127);
}

/* The spawner's environment with "NAME=value" set and "NAME" unset; borrows all text.
 * NULL when memory is short. */
static char **merge_env(char *changes, size_t bytes)
{
    size_t count = 0, room = 1;
    while (environ && environ[count])
        count++;
    for (size_t i = 0; i < bytes; i++)
        room += changes[i] == '\0';
    char **env = calloc(count + room, sizeof *env);
    if (!env)
        return NULL;
    for (size_t i = 0; i < count; i++)
        env[i] = environ[i];
    for (size_t at = 0; at < bytes; at += strlen(changes + at) + 1) {
        char *change = changes + at;
        size_t name = strcspn(change, "=");
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (strncmp(env[i], change, name) != 0 || env[i][name] != '=')
                env[kept++] = env[i];
        count = kept;
        if (change[name] == '=')
            env[count++] = change;
        env[count] = NULL;
    }
    return env;
}

/* ---- requests ---- */

static void kill_group(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

static int find(const struct spawner *self, pid_t pid)
{
    for (int i = 0; i < FC_SPAWNER_WORKERS; i++)
        if (self->worker[i] == pid && !(pid != 0 && self->forgotten[i]))
            return i;
    return -1;
}

static void start(struct spawner *self, struct message *message, const int *fd,
                  struct fc_spawner_answer *answer)
{
    int slot = find(self, 0);
    if (slot < 0) {
        answer->error = EUSERS;
        return;
    }
    char **env = merge_env(message->env, message->request.env_bytes);
    pid_t self_pid = getpid();
    pid_t pid = env ? fork() : -1;
    if (pid == 0)
        become_worker(self_pid, fd, env);
    if (pid < 0) {
        answer->error = env ? errno : ENOMEM;
    } else {
        (void)setpgid(pid, pid); /* so that its group is there from now on */
        self->worker[slot] = pid;
        self->forgotten[slot] = false;
        answer->pid = pid;
    }
    free(env);
}

/* Whether it has ended, and how; it stays unreaped. */
static void peek(pid_t pid, struct fc_spawner_answer *answer)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        answer->error = errno;
        return;
    }
    answer->pid = pid;
    answer->ended = info.si_pid == pid;
    answer->by_signal = info.si_code != CLD_EXITED;
    answer->value = info.si_status;
}

static void reap_forgotten(struct spawner *self)
{
    for (int i = 0; i < FC_SPAWNER_WORKERS; i++) {
        if (!self->forgotten[i] || waitpid(self->worker[i], NULL, WNOHANG) == 0)
            continue;
        self->worker[i] = 0;
        self->forgotten[i] = false;
    }
}

static void serve(struct spawner *self, struct message *message, ssize_t bytes,
                  const int *fd, int fds)
{
    const struct fc_spawner_request *request = &message->request;
    struct fc_spawner_answer answer = {.seq = request->seq};
    bool whole = bytes == (ssize_t)(sizeof *request + request->env_bytes);
    if (whole && request->op == FC_SPAWNER_START && fds == FC_SPAWNER_FDS) {
        start(self, message, fd, &answer);
    } else if (request->op == FC_SPAWNER_START) {
        answer.error = EMFILE; /* its descriptors did not fit */
    } else if (request->pid <= 0 || find(self, request->pid) < 0) {
        answer.error = ESRCH;
    } else {
        if (request->op != FC_SPAWNER_PEEK)
            kill_group(request->pid);
        peek(request->pid, &answer);
        if (request->op == FC_SPAWNER_FORGET)
            self->forgotten[find(self, request->pid)] = true;
    }
    reap_forgotten(self);
    ssize_t n;
    do
        n = send(self->sock, &answer, sizeof answer, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
}

/* False when the rank has closed its end. */
static bool hear(struct spawner *self, struct message *message)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FC_SPAWNER_FDS * sizeof(int))];
    } control;
    struct iovec iov = {message, sizeof message->request + FC_SPAWNER_ENV_BYTES};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control.bytes};
    int fd[FC_SPAWNER_FDS], fds = 0;
    ssize_t n = recvmsg(self->sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fd, CMSG_DATA(c), (size_t)fds * sizeof(int));
    }
    if (n >= (ssize_t)sizeof message->request) {
        message->env[(size_t)n - sizeof message->request] = '\0';
        serve(self, message, n, fd, fds);
    }
    for (int i = 0; i < fds; i++)
        close(fd[i]);
    return n > 0;
}

/* ---- life ---- */

/* Closes all but `keep`, so that no pipe of the launcher and no file of the rank is
 * held open by this process; standard streams become /dev/null. */
static int close_descriptors(int keep)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return errno;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd != keep && fd != dirfd(dir))
            close(fd);
    }
    closedir(dir);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return errno;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0 || fcntl(fd, F_SETFD, 0) != 0) /* for workers */
            return errno;
    if (null > STDERR_FILENO)
        close(null);
    return 0;
}

static int settle(struct spawner *self)
{
    sigset_t wanted;
    (void)prctl(PR_SET_NAME, "fc-spawner");
    (void)setpgid(0, 0);
    default_signals(); /* an inherited SIG_IGN of SIGCHLD would reap workers unseen */
    /* Blocked and read through the descriptor: anyone may send SIGTERM, and only one
     * that comes because the rank died makes the spawner end. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        return errno;
    /* The socket itself must not be where the standard streams go. */
    int sock = fcntl(self->sock, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (sock < 0)
        return errno;
    self->sock = sock;
    int error = close_descriptors(sock);
    if (error != 0)
        return error;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    self->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return self->signals < 0 ? errno : 0;
}

static bool turn(struct spawner *self, struct message *message)
{
    struct pollfd on[2] = {{.fd = self->sock, .events = POLLIN},
                           {.fd = self->signals, .events = POLLIN}};
    struct signalfd_siginfo signals[8];
    if (getppid() != self->rank)
        return false;
    if (poll(on, 2, -1) < 0)
        return errno == EINTR;
    if (on[1].revents) {
        while (read(self->signals, signals, sizeof signals) > 0) {
        }
        reap_forgotten(self);
    }
    return !on[0].revents || hear(self, message);
}

/* Takes the workers along; one that does not end by SIGKILL is left to the kernel. */
static void end(struct spawner *self)
{
    uint64_t limit = fc_now_ns() + FC_NS_PER_S;
    bool left = true;
    for (int i = 0; i < FC_SPAWNER_WORKERS; i++)
        if (self->worker[i])
            kill_group(self->worker[i]);
    while (left && fc_now_ns() < limit) {
        left = false;
        for (int i = 0; i < FC_SPAWNER_WORKERS; i++) {
            if (self->worker[i] && waitpid(self->worker[i], NULL, WNOHANG) != 0)
                self->worker[i] = 0;
            left = left || self->worker[i];
        }
        if (left)
            fc_sleep_ns(2 * FC_NS_PER_MS);
    }
}

_Noreturn void fc_spawner_serve(int sock, int rank_pid)
{
    struct spawner self = {.sock = sock, .rank = rank_pid};
    struct message *message = malloc(sizeof *message);
    struct fc_spawner_answer hello = {.error = message ? settle(&self) : ENOMEM};
    if (send(self.sock, &hello, sizeof hello, MSG_NOSIGNAL) < 0)
        hello.error = errno;
    while (message && hello.error == 0 && turn(&self, message)) {
    }
    end(&self);
    _exit(0);
}
