// SPDX-License-Identifier: BSD-3-Clause
/* The watchdog's thread. See watchdog.h.
 *
 * One thread does all that may end the rank: it sleeps in poll() on the self-pipe until
 * the next deadline. The signal handler writes one byte and returns. A rank that ends
 * itself (fc_watchdog_end) hands its reason to the same thread, so that there is one
 * way out.
 */
#include "core/watchdog.h"

#include "core/clock.h"
#include "core/leave.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 8, STOP = 0, END_ASKED = 127 };

static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
enum { SIGNALS = sizeof signals / sizeof *signals };

struct level {
    char name[64];
    enum fc_wait kind;
    uint64_t start_ns, deadline_ns;
};

struct fc_watchdog {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below but pipe */
    int pipe[2];
    struct level level[DEPTH];
    int depth;
    struct fc_leave who;
    char asked[512]; /* why fc_watchdog_end was called */
    uint64_t next_look_ns;
    struct sigaction old[SIGNALS];
};

/* The handler can reach nothing else. Set while a watchdog is open. */
static atomic_int signal_pipe = -1;

/* Read by rank 0's last words, which have less time once a launcher kills everyone. */
static atomic_bool told_to_end;

static void on_signal(int number)
{
    atomic_store(&told_to_end, true);
    int saved = errno;
    char byte = (char)number;
    int fd = atomic_load(&signal_pipe);
    if (fd >= 0 && write(fd, &byte, 1) < 0)
        errno = saved;
    errno = saved;
}

static const char *wait_name(const struct level *level)
{
    static const char *const names[] = {
        [FC_WAIT_CONTROL] = "control",
        [FC_WAIT_LOCAL] = "local",
        [FC_WAIT_COLLECTIVE] = "collective",
    };
    return level ? names[level->kind] : "none";
}

static int levels(const struct fc_watchdog *wd)
{
    return wd->depth < DEPTH ? wd->depth : DEPTH;
}

static const struct level *top(const struct fc_watchdog *wd)
{
    return wd->depth ? &wd->level[levels(wd) - 1] : NULL;
}

/* The nearest deadline of all levels; NULL when there is none. */
static const struct level *nearest(const struct fc_watchdog *wd)
{
    const struct level *best = NULL;
    for (int i = 0; i < levels(wd); i++)
        if (!best || wd->level[i].deadline_ns < best->deadline_ns)
            best = &wd->level[i];
    return best;
}

/* The ways out. Called on the watchdog's thread with the lock held: the rank's own
 * thread can change nothing any more. */
static _Noreturn void leave(const struct fc_watchdog *wd, const char *kind,
                            const struct level *level, const char *message)
{
    struct fc_leave_reason why = {
        .kind = kind,
        .what = level ? level->name : "",
        .wait = wait_name(level),
        .seconds = level ? (double)(fc_now_ns() - level->start_ns) / 1e9 : -1,
        .message = message,
    };
    fc_leave(&wd->who, &why);
}

static _Noreturn void leave_late(const struct fc_watchdog *wd,
                                 const struct level *level)
{
    char message[256];
    double seconds = (double)(level->deadline_ns - level->start_ns) / 1e9;
    const char *verb = level->kind == FC_WAIT_CONTROL ? "still waits for other ranks in"
                                                      : "is stuck in";
    snprintf(message, sizeof message, "rank %d %s '%s' after %.0f s", wd->who.rank,
             verb, level->name, seconds);
    leave(wd, "deadline", level, message);
}

static _Noreturn void leave_told(const struct fc_watchdog *wd, const char *by)
{
    char message[256];
    const struct level *level = top(wd);
    snprintf(message, sizeof message, "told to end by %s%s%s", by,
             level ? " while in " : "", level ? level->name : "");
    leave(wd, "signal", level, message);
}

static _Noreturn void leave_signal(const struct fc_watchdog *wd, int number)
{
    char name[16];
    snprintf(name, sizeof name, "SIG%s", sigabbrev_np(number));
    leave_told(wd, name);
}

/* The rank's own thread found the order of collectives broken: it waited for others. */
static _Noreturn void leave_asked(const struct fc_watchdog *wd)
{
    struct level level = {.kind = FC_WAIT_CONTROL, .start_ns = fc_now_ns()};
    snprintf(level.name, sizeof level.name, "%s", wd->who.phase);
    leave(wd, "deadline", &level, wd->asked);
}

/* Looks for another rank's marker, at most once a second and only when this rank has
 * been in one step for a second: a healthy run makes no such look. */
static void look_for_marker(struct fc_watchdog *wd, uint64_t now)
{
    const struct level *level = top(wd);
    if (!level || now - level->start_ns < FC_NS_PER_S || now < wd->next_look_ns)
        return;
    wd->next_look_ns = now + FC_NS_PER_S;
    if (fc_leave_marked(&wd->who))
        leave_told(wd, "another rank");
}

static void *watch(void *arg)
{
    struct fc_watchdog *wd = arg;
    for (;;) {
        pthread_mutex_lock(&wd->lock);
        const struct level *level = nearest(wd);
        uint64_t now = fc_now_ns();
        if (level && now >= level->deadline_ns)
            leave_late(wd, level);
        look_for_marker(wd, now);
        /* New, nearer deadlines may be pushed meanwhile: a look a second is enough for
         * deadlines of seconds. */
        uint64_t sleep_ns = level ? level->deadline_ns - now : FC_NS_PER_S;
        pthread_mutex_unlock(&wd->lock);
        int timeout =
            sleep_ns > FC_NS_PER_S / 5 ? 200 : (int)(sleep_ns / FC_NS_PER_MS) + 1;
        struct pollfd poll_fd = {.fd = wd->pipe[0], .events = POLLIN};
        char byte;
        if (poll(&poll_fd, 1, timeout) <= 0 || read(wd->pipe[0], &byte, 1) != 1)
            continue;
        if (byte == STOP)
            return NULL;
        pthread_mutex_lock(&wd->lock);
        if (byte == END_ASKED)
            leave_asked(wd);
        leave_signal(wd, byte);
    }
}

static void catch_signals(struct fc_watchdog *wd)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    atomic_store(&signal_pipe, wd->pipe[1]);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &wd->old[i]);
}

enum fc_status fc_watchdog_open(int rank, struct fc_watchdog **out,
                                struct fc_error *err)
{
    struct fc_watchdog *wd = calloc(1, sizeof *wd);
    if (!wd)
        return fc_fail(err, FC_NOMEM, "out of memory for the watchdog");
    wd->who.rank = rank;
    if (gethostname(wd->who.node, sizeof wd->who.node - 1) != 0)
        snprintf(wd->who.node, sizeof wd->who.node, "localhost");
    snprintf(wd->who.phase, sizeof wd->who.phase, "start");
    if (pipe2(wd->pipe, O_CLOEXEC) != 0) {
        enum fc_status status =
            fc_fail(err, FC_FAILED, "no pipe for the watchdog: %s", strerror(errno));
        free(wd);
        return status;
    }
    pthread_mutex_init(&wd->lock, NULL);
    int code = pthread_create(&wd->thread, NULL, watch, wd);
    if (code != 0) {
        close(wd->pipe[0]);
        close(wd->pipe[1]);
        free(wd);
        return fc_fail(err, FC_FAILED, "no thread for the watchdog: %s",
                       strerror(code));
    }
    catch_signals(wd);
    *out = wd;
    return FC_OK;
}

void fc_watchdog_attach(struct fc_watchdog *wd, int rank, const char *node,
                        struct fc_sink *sink, struct fc_journal *journal,
                        const char *dir)
{
    pthread_mutex_lock(&wd->lock);
    wd->who.rank = rank;
    wd->who.sink = sink;
    wd->who.journal = journal;
    if (node)
        snprintf(wd->who.node, sizeof wd->who.node, "%s", node);
    snprintf(wd->who.dir, sizeof wd->who.dir, "%s", dir ? dir : "");
    pthread_mutex_unlock(&wd->lock);
}

void fc_watchdog_last_words(struct fc_watchdog *wd, int (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&wd->lock);
    wd->who.last_words = fn;
    wd->who.last_words_arg = arg;
    pthread_mutex_unlock(&wd->lock);
}

void fc_watchdog_phase(struct fc_watchdog *wd, const char *phase)
{
    pthread_mutex_lock(&wd->lock);
    snprintf(wd->who.phase, sizeof wd->who.phase, "%.31s", phase);
    pthread_mutex_unlock(&wd->lock);
}

void fc_watchdog_push(struct fc_watchdog *wd, const char *name, enum fc_wait kind,
                      uint64_t deadline_ns)
{
    if (!wd)
        return;
    pthread_mutex_lock(&wd->lock);
    if (wd->depth < DEPTH) {
        struct level *level = &wd->level[wd->depth];
        snprintf(level->name, sizeof level->name, "%.63s", name);
        level->kind = kind;
        level->start_ns = fc_now_ns();
        level->deadline_ns = level->start_ns + deadline_ns;
    }
    wd->depth++;
    pthread_mutex_unlock(&wd->lock);
}

void fc_watchdog_pop(struct fc_watchdog *wd)
{
    if (!wd)
        return;
    pthread_mutex_lock(&wd->lock);
    if (wd->depth > 0)
        wd->depth--;
    pthread_mutex_unlock(&wd->lock);
}

void fc_watchdog_done(struct fc_watchdog *wd, int status)
{
    pthread_mutex_lock(&wd->lock);
    wd->who.done = true;
    wd->who.status = status;
    pthread_mutex_unlock(&wd->lock);
}

bool fc_watchdog_told_to_end(void)
{
    return atomic_load(&told_to_end);
}

_Noreturn void fc_watchdog_end(struct fc_watchdog *wd, const char *why)
{
    pthread_mutex_lock(&wd->lock);
    snprintf(wd->asked, sizeof wd->asked, "%s", why);
    pthread_mutex_unlock(&wd->lock);
    char byte = END_ASKED;
    if (write(wd->pipe[1], &byte, 1) != 1)
        _exit(FC_EXIT_INCONCLUSIVE);
    for (;;)
        pause();
}

void fc_watchdog_close(struct fc_watchdog *wd)
{
    if (!wd)
        return;
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &wd->old[i], NULL);
    atomic_store(&signal_pipe, -1);
    char byte = STOP;
    if (write(wd->pipe[1], &byte, 1) == 1)
        pthread_join(wd->thread, NULL);
    close(wd->pipe[0]);
    close(wd->pipe[1]);
    pthread_mutex_destroy(&wd->lock);
    free(wd);
}
