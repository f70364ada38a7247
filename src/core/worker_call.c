// SPDX-License-Identifier: BSD-3-Clause
/* One call to a worker.
 *
 * A loop sends what is left of the command, takes the frames that are there, drains
 * what the worker prints, looks at the clock, and sleeps until one of these has news.
 * Each turn takes a bounded number of frames and bytes, so that no flood keeps it from
 * the clock.
 */
#include "core/clock.h"
#include "core/worker_rank.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Until a process must have ended after SIGKILL. */
#define KILL_LIMIT_NS (2 * FC_NS_PER_S)
/* How often the spawner is asked for a worker that keeps silent: a child that the
 * worker made may hold its socket open, so that its death shows nowhere else. */
#define TICK_NS (FC_NS_PER_S / 2)
/* The most that one call may send: bytes, and so much more for each line. */
#define CALL_BYTES (UINT64_C(64) << 20)
#define LINE_COST UINT64_C(256)

enum { FRAMES_A_TURN = 64 };

struct call {
    struct fc_worker *worker;
    const char *command;
    uint64_t start_ns, end_ns;
    char *out; /* the command's frame, and how much of it went out */
    size_t out_bytes, out_sent;
    uint64_t cost; /* of the lines that came, against CALL_BYTES */
    fc_worker_line_fn on_line;
    void *arg;
    /* The answer, once there is one. */
    enum fc_status status;
    json_t *reply;
    struct fc_error said;
};

/* What the frames that are there led to. */
enum turn { TURN_WAIT, TURN_MORE, TURN_ANSWERED, TURN_GONE, TURN_BAD };

static enum fc_status command_frame(struct call *c, json_t *args, struct fc_error *err)
{
    json_t *empty = args ? json_incref(args) : json_object();
    json_t *words = json_pack("{s:s, s:o}", "command", c->command, "args", empty);
    char *text = words ? json_dumps(words, JSON_COMPACT) : NULL;
    json_decref(words);
    if (!text)
        return fc_fail(err, FC_FAILED, "command '%s': its arguments make no JSON",
                       c->command);
    size_t bytes = strlen(text);
    if (bytes > FC_FRAME_MAX) {
        free(text);
        return fc_fail(err, FC_FAILED,
                       "command '%s': arguments of %zu bytes, where %u is the limit",
                       c->command, bytes, (unsigned)FC_FRAME_MAX);
    }
    struct fc_frame_head head = {.magic = FC_FRAME_MAGIC,
                                 .type = FC_FRAME_COMMAND,
                                 .call = ++c->worker->call,
                                 .length = (uint32_t)bytes};
    c->out = malloc(sizeof head + bytes);
    if (c->out) {
        memcpy(c->out, &head, sizeof head);
        memcpy(c->out + sizeof head, text, bytes);
        c->out_bytes = sizeof head + bytes;
    }
    free(text);
    return c->out
               ? FC_OK
               : fc_fail(err, FC_NOMEM, "command '%s': no memory for it", c->command);
}

static void send_more(struct call *c)
{
    while (c->out_sent < c->out_bytes) {
        ssize_t n = send(c->worker->sock, c->out + c->out_sent,
                         c->out_bytes - c->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0)
            c->out_sent += (size_t)n;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            c->out_sent = c->out_bytes; /* gone: reading will tell */
    }
}

static enum turn bad(struct call *c, const char *what)
{
    (void)fc_fail(&c->said, FC_FAILED, "%s", what);
    return TURN_BAD;
}

static enum turn take_error(struct call *c, const char *body, size_t bytes)
{
    uint32_t code;
    struct fc_why text = {.used = 0};
    if (bytes < sizeof code)
        return bad(c, "an error without a status");
    memcpy(&code, body, sizeof code);
    if (code == FC_OK || code > FC_LOST)
        return bad(c, "an error with a status that there is not");
    fc_why_add_clean(&text, body + sizeof code, bytes - sizeof code, sizeof text.text,
                     false);
    c->status = fc_fail(&c->said, (enum fc_status)code, "%s", text.text);
    return TURN_ANSWERED;
}

static enum turn take_frame(struct call *c, const struct fc_frame_in *in)
{
    size_t bytes = in->head.length;
    if (in->head.call != c->worker->call)
        return bad(c, "a frame of another call");
    switch ((enum fc_frame_type)in->head.type) {
    case FC_FRAME_LINE:
        c->cost += bytes + LINE_COST;
        if (c->cost > CALL_BYTES)
            return bad(c, "more than 64 MiB of lines");
        if (memchr(in->body, '\n', bytes) || memchr(in->body, '\0', bytes))
            return bad(c, "a line that is none");
        if (c->on_line)
            c->on_line(c->arg, in->body);
        return TURN_MORE;
    case FC_FRAME_REPLY:
        c->reply = json_loadb(in->body, bytes, 0, NULL);
        c->status = FC_OK;
        return json_is_object(c->reply) ? TURN_ANSWERED
                                        : bad(c, "a reply that is no object");
    case FC_FRAME_ERROR:
        return take_error(c, in->body, bytes);
    case FC_FRAME_COMMAND:
        break;
    }
    return bad(c, "a command");
}

static enum turn take_one(struct call *c)
{
    struct fc_frame_in *in = &c->worker->in;
    enum turn turn = TURN_WAIT;
    switch (fc_frame_read(c->worker->sock, in, false)) {
    case FC_FRAME_WHOLE:
        turn = take_frame(c, in);
        fc_frame_next(in);
        break;
    case FC_FRAME_PART:
        break;
    case FC_FRAME_END:
        return TURN_GONE;
    case FC_FRAME_BAD:
        return bad(c, in->complaint);
    }
    return turn;
}

static enum turn take_frames(struct call *c)
{
    enum turn turn = TURN_MORE;
    for (int i = 0; i < FRAMES_A_TURN && turn == TURN_MORE; i++)
        turn = take_one(c);
    return turn;
}

/* ---- what is said about a call that had no answer ---- */

/* " in 'NOTE'", or the command's name where there is no note. */
static void add_where(struct fc_why *why, const struct call *c)
{
    char note[FC_NOTE_BYTES];
    uint64_t t_ns;
    bool noted = fc_note_read(c->worker->page, note, &t_ns);
    const char *name = noted ? note : c->command;
    fc_why_add(why, " in '");
    fc_why_add_clean(why, name, strlen(name), FC_NOTE_BYTES, false);
    fc_why_add(why, "'");
}

/* Kills, and ends the text by what the worker said last. */
static enum fc_status finish(struct call *c, struct fc_why *why, enum fc_status status,
                             struct fc_error *err)
{
    struct fc_error left;
    if (fc_worker_bury(c->worker, KILL_LIMIT_NS, &left) != FC_OK)
        fc_why_add(why, "; %s", left.text);
    fc_why_add_words(why, &c->worker->tail);
    return fc_fail(err, status, "%s", why->text);
}

static enum fc_status report_bad(struct call *c, struct fc_error *err)
{
    struct fc_why why = {.used = 0};
    fc_why_add(&why, "worker %d was cut off: it sent %s", c->worker->pid, c->said.text);
    add_where(&why, c);
    return finish(c, &why, FC_FAILED, err);
}

static enum fc_status report_gone(struct call *c, struct fc_error *err)
{
    struct fc_why why = {.used = 0};
    struct fc_spawner_ending ending;
    fc_why_add(&why, "worker %d ", c->worker->pid);
    enum fc_status status = fc_worker_wait(c->worker, KILL_LIMIT_NS, &ending, NULL);
    if (status == FC_OK)
        fc_why_add_ending(&why, ending.by_signal, ending.value);
    else
        fc_why_add(&why, status == FC_FAILED ? "was lost with its spawner" : "hung up");
    add_where(&why, c);
    if (status == FC_TIMEOUT)
        fc_why_add_state(&why, c->worker->pid);
    return finish(c, &why, FC_FAILED, err);
}

/* A call that is stuck is told from one that was merely slow: a note that is young when
 * the deadline passes is not where the time went. */
static enum fc_status report_late(struct call *c, struct fc_error *err)
{
    struct fc_why why = {.used = 0};
    char note[FC_NOTE_BYTES];
    uint64_t now = fc_now_ns(), since = c->start_ns, t_ns;
    if (fc_note_read(c->worker->page, note, &t_ns) && t_ns > since && t_ns <= now)
        since = t_ns;
    double all_s = (double)(now - c->start_ns) / 1e9,
           in_s = (double)(now - since) / 1e9;
    bool stuck = in_s >= all_s / 2;
    fc_why_add(&why, stuck ? "worker %d stuck" : "worker %d late", c->worker->pid);
    add_where(&why, c);
    fc_why_add(&why, " for %.1f s", in_s);
    if (!stuck)
        fc_why_add(&why, " of the %.1f s that '%.*s' took so far", all_s, FC_NOTE_BYTES,
                   c->command);
    fc_why_add_state(&why, c->worker->pid);
    return finish(c, &why, FC_TIMEOUT, err);
}

/* ---- the loop ---- */

static void await_news(const struct call *c, uint64_t until_ns)
{
    const struct fc_worker *worker = c->worker;
    short out = c->out_sent < c->out_bytes ? POLLOUT : 0;
    struct pollfd on[2] = {{.fd = worker->sock, .events = (short)(POLLIN | out)},
                           {.fd = worker->output, .events = POLLIN}};
    uint64_t now = fc_now_ns();
    uint64_t left = until_ns > now ? until_ns - now : 0;
    struct timespec t = {.tv_sec = (time_t)(left / FC_NS_PER_S),
                         .tv_nsec = (long)(left % FC_NS_PER_S)};
    (void)ppoll(on, 2, &t, NULL);
}

/* Whether the process has ended, asked every TICK_NS. */
static bool tick_says_gone(struct call *c, uint64_t *tick_ns, uint64_t now)
{
    struct fc_spawner_ending ending = {.ended = false};
    if (now < *tick_ns)
        return false;
    uint64_t left = c->end_ns - now < TICK_NS ? c->end_ns - now : TICK_NS;
    enum fc_status status = fc_spawner_ask(c->worker->spawner, FC_SPAWNER_PEEK,
                                           c->worker->pid, left, &ending, NULL);
    *tick_ns = fc_now_ns() + TICK_NS;
    return status == FC_FAILED || (status == FC_OK && ending.ended);
}

static enum fc_status converse(struct call *c, struct fc_error *err)
{
    uint64_t tick_ns = c->start_ns + TICK_NS;
    bool gone = false;
    for (;;) {
        send_more(c);
        enum turn turn = take_frames(c);
        fc_worker_drain(c->worker);
        if (turn == TURN_ANSWERED)
            return c->status == FC_OK ? FC_OK
                                      : fc_fail(err, c->status, "%s", c->said.text);
        if (turn == TURN_BAD)
            return report_bad(c, err);
        if (turn == TURN_GONE || (gone && turn == TURN_WAIT))
            return report_gone(c, err);
        uint64_t now = fc_now_ns();
        if (now >= c->end_ns)
            return report_late(c, err);
        if (turn == TURN_MORE)
            continue;
        /* Once it is gone, what it sent before is read to the end first. */
        gone = gone || tick_says_gone(c, &tick_ns, now);
        if (!gone)
            await_news(c, tick_ns < c->end_ns ? tick_ns : c->end_ns);
    }
}

enum fc_status fc_worker_call(struct fc_worker *worker, const char *command,
                              json_t *args, uint64_t deadline_ns,
                              fc_worker_line_fn on_line, void *arg, json_t **out_reply,
                              struct fc_error *err)
{
    struct call c = {
        .worker = worker, .command = command, .on_line = on_line, .arg = arg};
    if (!worker->alive)
        return fc_fail(err, FC_FAILED, "worker %d has ended and takes no command '%s'",
                       worker->pid, command);
    enum fc_status status = command_frame(&c, args, err);
    if (status != FC_OK)
        return status;
    c.start_ns = fc_now_ns();
    c.end_ns =
        deadline_ns < UINT64_MAX - c.start_ns ? c.start_ns + deadline_ns : UINT64_MAX;
    status = converse(&c, err);
    free(c.out);
    if (status == FC_OK && out_reply)
        *out_reply = json_incref(c.reply);
    json_decref(c.reply);
    return status;
}
