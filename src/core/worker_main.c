// SPDX-License-Identifier: BSD-3-Clause
/* The worker's own side: reads commands, runs them, answers. */
#include "core/spawner.h"
#include "core/worker.h"
#include "core/worker_frame.h"
#include "core/worker_note.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct fc_worker_call {
    int sock;
    uint32_t id;
    struct fc_note_page *page;
    struct kept {
        const void *owner;
        void *state;
    } kept[FC_WORKER_KEEPS];
};

enum { EXIT_SERVED = 0, EXIT_NO_RANK = 2, EXIT_BROKEN = 3 };

void fc_worker_note(struct fc_worker_call *call, const char *what)
{
    if (call)
        fc_note_write(call->page, what);
}

void **fc_worker_keep(struct fc_worker_call *call, const void *owner)
{
    for (size_t i = 0; i < FC_WORKER_KEEPS; i++) {
        struct kept *kept = &call->kept[i];
        if (!kept->owner)
            kept->owner = owner;
        if (kept->owner == owner)
            return &kept->state;
    }
    return NULL;
}

static bool send_frame(const struct fc_worker_call *call, enum fc_frame_type type,
                       const void *part1, size_t bytes1, const void *part2,
                       size_t bytes2)
{
    struct fc_frame_head head = {.magic = FC_FRAME_MAGIC,
                                 .type = type,
                                 .call = call->id,
                                 .length = (uint32_t)(bytes1 + bytes2)};
    return fc_frame_send(call->sock, head, part1, bytes1, part2, bytes2);
}

enum fc_status fc_worker_emit(struct fc_worker_call *call, const char *line,
                              struct fc_error *err)
{
    size_t bytes = strlen(line);
    if (bytes > FC_FRAME_MAX)
        return fc_fail(err, FC_FAILED, "a line of %zu bytes, where %u is the limit",
                       bytes, (unsigned)FC_FRAME_MAX);
    if (memchr(line, '\n', bytes))
        return fc_fail(err, FC_FAILED, "a line with a line break in it");
    if (!send_frame(call, FC_FRAME_LINE, line, bytes, NULL, 0))
        return fc_fail(err, FC_IO, "cannot send a line to the rank: %s",
                       strerror(errno));
    return FC_OK;
}

static bool send_error(const struct fc_worker_call *call, enum fc_status status,
                       const struct fc_error *err)
{
    uint32_t code = (uint32_t)status;
    return send_frame(call, FC_FRAME_ERROR, &code, sizeof code, err->text,
                      strnlen(err->text, sizeof err->text));
}

static bool send_reply(const struct fc_worker_call *call, const char *command,
                       const json_t *reply)
{
    struct fc_error err;
    char *text = reply ? json_dumps(reply, JSON_COMPACT) : strdup("{}");
    size_t bytes = text ? strlen(text) : 0;
    bool sent;
    if (reply && !json_is_object(reply)) {
        (void)fc_fail(&err, FC_FAILED, "command '%s' replied with no object", command);
        sent = send_error(call, FC_FAILED, &err);
    } else if (!text) {
        (void)fc_fail(&err, FC_NOMEM, "command '%s': no memory for its reply", command);
        sent = send_error(call, FC_NOMEM, &err);
    } else if (bytes > FC_FRAME_MAX) {
        (void)fc_fail(&err, FC_FAILED,
                      "command '%s': a reply of %zu bytes, where %u is the limit",
                      command, bytes, (unsigned)FC_FRAME_MAX);
        sent = send_error(call, FC_FAILED, &err);
    } else {
        sent = send_frame(call, FC_FRAME_REPLY, text, bytes, NULL, 0);
    }
    free(text);
    return sent;
}

static const struct fc_worker_command *find(const struct fc_worker_command *table,
                                            const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* Runs one command and answers; false when the rank does not hear the answer. */
static bool run(struct fc_worker_call *call, const struct fc_worker_command *table,
                const char *name, json_t *args)
{
    struct fc_error err = {""};
    json_t *reply = NULL;
    const struct fc_worker_command *command = find(table, name);
    if (!command) {
        (void)fc_fail(&err, FC_FAILED, "a worker knows no command '%s'", name);
        return send_error(call, FC_FAILED, &err);
    }
    enum fc_status status = command->run(call, args, &reply, &err);
    fc_note_write(call->page, NULL);
    bool sent = status == FC_OK ? send_reply(call, name, reply)
                                : send_error(call, status, &err);
    json_decref(reply);
    return sent;
}

static int serve(struct fc_worker_call *call, const struct fc_worker_command *table)
{
    struct fc_frame_in in = {.have = 0};
    enum fc_frame_got got;
    bool going = true;
    while (going && (got = fc_frame_read(call->sock, &in, true)) == FC_FRAME_WHOLE) {
        json_t *words = json_loadb(in.body, in.head.length, 0, NULL);
        const char *name = json_string_value(json_object_get(words, "command"));
        json_t *args = json_object_get(words, "args");
        call->id = in.head.call;
        going = in.head.type == FC_FRAME_COMMAND && name && args &&
                run(call, table, name, args);
        json_decref(words);
        fc_frame_next(&in);
    }
    fc_frame_free(&in);
    return going && got == FC_FRAME_END ? EXIT_SERVED : EXIT_BROKEN;
}

/* What children of a library must not inherit, and what was started by hand must not
 * use. */
static struct fc_note_page *take_over(void)
{
    struct stat sock, page;
    if (fstat(FC_WORKER_FD_SOCKET, &sock) != 0 || !S_ISSOCK(sock.st_mode) ||
        fstat(FC_WORKER_FD_PAGE, &page) != 0 || !S_ISREG(page.st_mode) ||
        page.st_size < (off_t)sizeof(struct fc_note_page))
        return NULL;
    struct fc_note_page *note = mmap(NULL, sizeof *note, PROT_READ | PROT_WRITE,
                                     MAP_SHARED, FC_WORKER_FD_PAGE, 0);
    if (note == MAP_FAILED)
        return NULL;
    close(FC_WORKER_FD_PAGE);
    if (fcntl(FC_WORKER_FD_SOCKET, F_SETFD, FD_CLOEXEC) != 0)
        return NULL;
    return note;
}

int fc_worker_main(const struct fc_worker_command *table)
{
    struct fc_worker_call call = {.sock = FC_WORKER_FD_SOCKET, .page = take_over()};
    if (!call.page)
        return EXIT_NO_RANK;
    (void)prctl(PR_SET_NAME, "fc-worker");
    /* Again, in case the program file has rights of its own, which clear it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* What a library printed last must be there when it crashes. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    fc_note_write(call.page, NULL);
    int status = serve(&call, table);
    munmap(call.page, sizeof *call.page);
    return status;
}
