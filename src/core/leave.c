// SPDX-License-Identifier: BSD-3-Clause
#include "core/leave.h"

#include "core/clock.h"
#include "core/journal.h"
#include "core/record.h"
#include "core/sink.h"
#include "core/watchdog.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a rank that has saved everything waits for rank 0's judgement, and how long
 * rank 0 leaves its answer there to be read. */
#define LINGER_NS (10 * FC_NS_PER_S)
#define LINGER_LOOK_NS (20 * FC_NS_PER_MS)
#define TOLD_NS (200 * FC_NS_PER_MS)

static void marker_path(const struct fc_leave *who, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/ending", who->dir);
}

bool fc_leave_marked(const struct fc_leave *who)
{
    char path[4200];
    if (!who->dir[0])
        return false;
    marker_path(who, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void mark(const struct fc_leave *who)
{
    char path[4200];
    marker_path(who, path, sizeof path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
}

static char *event_line(const struct fc_leave *who, const struct fc_leave_reason *why)
{
    return fc_event_line(&(struct fc_event){.kind = why->kind,
                                            .node = who->node,
                                            .rank = who->rank,
                                            .phase = who->phase,
                                            .what = why->what,
                                            .wait = why->wait,
                                            .seconds = why->seconds,
                                            .message = why->message});
}

static void say(const struct fc_leave *who, const char *text)
{
    dprintf(STDERR_FILENO, "[%s:%d %s] %s\n", who->node, who->rank, who->phase, text);
}

/* Into the run's folder, or, where that is not shared and so not here, into a place of
 * this node, which is said. */
static enum fc_status spool(const struct fc_leave *who, const char *text, size_t bytes,
                            struct fc_error *err)
{
    char path[4200];
    const char *name = strrchr(who->dir, '/'), *tmp = getenv("TMPDIR");
    fc_journal_spool_path(who->dir, who->rank, path, sizeof path);
    if (fc_journal_spool(path, text, bytes, err) == FC_OK)
        return FC_OK;
    struct fc_error why = *err;
    snprintf(path, sizeof path, "%.2000s/%.200s-spool-%d.jsonl",
             tmp && *tmp ? tmp : "/tmp", name ? name + 1 : who->dir, who->rank);
    enum fc_status status = fc_journal_spool(path, text, bytes, err);
    if (status == FC_OK)
        dprintf(STDERR_FILENO, "[%s:%d %s] %s; saved in '%s'\n", who->node, who->rank,
                who->phase, why.text, path);
    return status;
}

/* What the rank holds: rank 0's into the journal, others' into a spool. */
static void save(const struct fc_leave *who, const struct fc_leave_reason *why)
{
    struct fc_error err = {""};
    char *text = NULL;
    size_t bytes = 0, lines = 0;
    enum fc_status status = fc_sink_add_line(who->sink, event_line(who, why), &err);
    if (status == FC_OK)
        status = fc_sink_peek(who->sink, &text, &bytes, &lines, &err);
    if (status == FC_OK && who->journal)
        status = fc_journal_append(who->journal, text, bytes, &err);
    else if (status == FC_OK && who->dir[0])
        status = spool(who, text, bytes, &err);
    if (status != FC_OK) {
        fc_prefix(&err, "%zu lines could not be saved", lines);
        say(who, err.text);
    }
    free(text);
}

static void write_end(const struct fc_leave *who, const char *message)
{
    struct fc_error err;
    json_t *o = json_object();
    json_object_set_new(o, "time", json_string(fc_timestamp_now().text));
    json_object_set_new(o, "status", json_string("interrupted"));
    json_object_set_new(o, "reason", json_string(message));
    if (fc_journal_line(who->journal, fc_line("end", o), &err) != FC_OK)
        say(who, err.text);
}

/* Rank 0: tells the others how it ended, gives them time to read it, and takes the
 * marker away. */
static void tell_status(const struct fc_leave *who, int status)
{
    char path[4200], digit = (char)('0' + status);
    marker_path(who, path, sizeof path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (write(fd, &digit, 1) == 1)
        fc_sleep_ns(TOLD_NS);
    close(fd);
    unlink(path);
}

/* The others: waits for rank 0's status. */
static int learn_status(const struct fc_leave *who)
{
    char path[4200], digit;
    marker_path(who, path, sizeof path);
    for (uint64_t end = fc_now_ns() + LINGER_NS;
         fc_now_ns() < end && access(who->dir, F_OK) == 0;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, &digit, 1) : 0;
        if (fd >= 0)
            close(fd);
        if (n == 1 && digit >= '0' && digit <= '3') {
            fc_sleep_ns(2 * TOLD_NS); /* rank 0 ends first and tidies up */
            return digit - '0';
        }
        fc_sleep_ns(LINGER_LOOK_NS);
    }
    return FC_EXIT_INCONCLUSIVE;
}

_Noreturn void fc_leave(const struct fc_leave *who, const struct fc_leave_reason *why)
{
    int status = FC_EXIT_INCONCLUSIVE;
    if (who->done)
        _exit(who->status);
    say(who, why->message);
    if (who->sink) {
        save(who, why);
        if (who->dir[0] && strcmp(why->kind, "deadline") == 0)
            mark(who);
    }
    if (who->journal && who->last_words) {
        status = who->last_words(who->last_words_arg);
        tell_status(who, status);
    } else if (who->journal) {
        write_end(who, why->message);
    } else if (who->sink && who->dir[0]) {
        status = learn_status(who);
    }
    _exit(status);
}
