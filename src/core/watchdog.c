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
#include "core/journal.h"
#include "core/record.h"
#include "core/sink.h"

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
    char phase[32];
    int rank;
    char node[300];
    struct fc_sink *sink;
    struct fc_journal *journal;
    char dir[4096]; /* empty: no place for a spool */
    void (*last_words)(void *arg);
    void *last_words_arg;
    char asked[512]; /* why fc_watchdog_end was called */
    struct sigaction old[SIGNALS];
};

/* The handler can reach nothing else. Set while a watchdog is open. */
static atomic_int signal_pipe = -1;

static void on_signal(int number)
{
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

static char *event_line(const struct fc_watchdog *wd, const char *kind,
                        const struct level *level, const char *message)
{
    json_t *o = json_object();
    json_object_set_new(o, "time", json_string(fc_timestamp_now().text));
    json_object_set_new(o, "kind", json_string(kind));
    json_object_set_new(o, "node", json_string(wd->node));
    json_object_set_new(o, "rank", json_integer(wd->rank));
    json_object_set_new(o, "phase", json_string(wd->phase));
    json_object_set_new(o, "what", json_string(level ? level->name : ""));
    json_object_set_new(o, "wait", json_string(wait_name(level)));
    if (level)
        json_object_set_new(o, "seconds",
                            json_real((double)(fc_now_ns() - level->start_ns) / 1e9));
    json_object_set_new(o, "message", json_string(message));
    return fc_line("event", o);
}

/* Saves what the rank holds: rank 0 into the journal, others into a spool. */
static void save(struct fc_watchdog *wd, const char *kind, const struct level *level,
                 const char *message)
{
    struct fc_error err = {""};
    char *text = NULL;
    size_t bytes = 0, lines = 0;
    if (!wd->sink)
        return;
    enum fc_status status =
        fc_sink_add_line(wd->sink, event_line(wd, kind, level, message), &err);
    if (status == FC_OK)
        status = fc_sink_peek(wd->sink, &text, &bytes, &lines, &err);
    if (status == FC_OK && wd->journal) {
        status = fc_journal_append(wd->journal, text, bytes, &err);
    } else if (status == FC_OK && wd->dir[0]) {
        char path[4200];
        fc_journal_spool_path(wd->dir, wd->rank, path, sizeof path);
        status = fc_journal_spool(path, text, bytes, &err);
    }
    if (status != FC_OK)
        dprintf(STDERR_FILENO, "[%s:%d %s] could not save %zu lines: %s\n", wd->node,
                wd->rank, wd->phase, lines, err.text);
    free(text);
}

static void write_end(struct fc_watchdog *wd, const char *message)
{
    struct fc_error err;
    json_t *o = json_object();
    json_object_set_new(o, "time", json_string(fc_timestamp_now().text));
    json_object_set_new(o, "status", json_string("interrupted"));
    json_object_set_new(o, "reason", json_string(message));
    if (fc_journal_line(wd->journal, fc_line("end", o), &err) != FC_OK)
        dprintf(STDERR_FILENO, "%s\n", err.text);
}

/* The only way out. Called on the watchdog's thread with the lock held: the rank's own
 * thread can change nothing any more. */
static _Noreturn void leave(struct fc_watchdog *wd, const char *kind,
                            const struct level *level, const char *message)
{
    dprintf(STDERR_FILENO, "[%s:%d %s] %s\n", wd->node, wd->rank, wd->phase, message);
    save(wd, kind, level, message);
    if (wd->journal) {
        if (wd->last_words)
            wd->last_words(wd->last_words_arg);
        else
            write_end(wd, message);
    }
    _exit(FC_EXIT_INCONCLUSIVE);
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

static _Noreturn void leave_late(struct fc_watchdog *wd, const struct level *level)
{
    char message[256];
    double seconds = (double)(level->deadline_ns - level->start_ns) / 1e9;
    const char *verb = level->kind == FC_WAIT_CONTROL ? "still waits for other ranks in"
                                                      : "is stuck in";
    snprintf(message, sizeof message, "rank %d %s '%s' after %.0f s", wd->rank, verb,
             level->name, seconds);
    leave(wd, "deadline", level, message);
}

static _Noreturn void leave_signal(struct fc_watchdog *wd, int number)
{
    char message[256];
    const struct level *level = top(wd);
    snprintf(message, sizeof message, "told to end by SIG%s%s%s", sigabbrev_np(number),
             level ? " while in " : "", level ? level->name : "");
    leave(wd, "signal", level, message);
}

/* The rank's own thread found the order of collectives broken: it waited for others. */
static _Noreturn void leave_asked(struct fc_watchdog *wd)
{
    struct level level = {.kind = FC_WAIT_CONTROL, .start_ns = fc_now_ns()};
    snprintf(level.name, sizeof level.name, "%s", wd->phase);
    leave(wd, "deadline", &level, wd->asked);
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
    wd->rank = rank;
    if (gethostname(wd->node, sizeof wd->node - 1) != 0)
        snprintf(wd->node, sizeof wd->node, "localhost");
    snprintf(wd->phase, sizeof wd->phase, "start");
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
    wd->rank = rank;
    wd->sink = sink;
    wd->journal = journal;
    snprintf(wd->node, sizeof wd->node, "%s", node ? node : wd->node);
    snprintf(wd->dir, sizeof wd->dir, "%s", dir ? dir : "");
    pthread_mutex_unlock(&wd->lock);
}

void fc_watchdog_last_words(struct fc_watchdog *wd, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&wd->lock);
    wd->last_words = fn;
    wd->last_words_arg = arg;
    pthread_mutex_unlock(&wd->lock);
}

void fc_watchdog_phase(struct fc_watchdog *wd, const char *phase)
{
    pthread_mutex_lock(&wd->lock);
    snprintf(wd->phase, sizeof wd->phase, "%.31s", phase);
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
