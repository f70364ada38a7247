// SPDX-License-Identifier: BSD-3-Clause
#include "core/worker_frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

static enum fc_frame_got complain(struct fc_frame_in *in, const char *what)
{
    snprintf(in->complaint, sizeof in->complaint, "%s", what);
    return FC_FRAME_BAD;
}

/* Reads up to `bytes` more; FC_FRAME_WHOLE when all of them came. */
static enum fc_frame_got read_bytes(int sock, struct fc_frame_in *in, char *at,
                                    size_t bytes, bool wait)
{
    while (bytes > 0) {
        ssize_t n = recv(sock, at, bytes, wait ? 0 : MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
            in->have += (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            return FC_FRAME_PART;
        } else if (n == 0 || errno != EINTR) {
            return FC_FRAME_END; /* or reset: the other side died with bytes unread */
        }
    }
    return FC_FRAME_WHOLE;
}

static enum fc_frame_got make_room(struct fc_frame_in *in)
{
    const struct fc_frame_head *head = &in->head;
    if (head->magic != FC_FRAME_MAGIC || head->type < FC_FRAME_COMMAND ||
        head->type > FC_FRAME_ERROR)
        return complain(in, "bytes that are no frame");
    if (head->length > FC_FRAME_MAX) {
        snprintf(in->complaint, sizeof in->complaint,
                 "a frame of %u bytes, where %u is the limit", (unsigned)head->length,
                 (unsigned)FC_FRAME_MAX);
        return FC_FRAME_BAD;
    }
    if (in->room > head->length)
        return FC_FRAME_WHOLE;
    char *body = realloc(in->body, (size_t)head->length + 1);
    if (!body)
        return complain(in, "a frame that there is no memory for");
    in->body = body;
    in->room = (size_t)head->length + 1;
    return FC_FRAME_WHOLE;
}

enum fc_frame_got fc_frame_read(int sock, struct fc_frame_in *in, bool wait)
{
    const size_t head_bytes = sizeof in->head;
    if (in->have < head_bytes) {
        char *at = (char *)&in->head + in->have;
        enum fc_frame_got got = read_bytes(sock, in, at, head_bytes - in->have, wait);
        if (got == FC_FRAME_WHOLE)
            got = make_room(in);
        if (got != FC_FRAME_WHOLE)
            return got;
    }
    size_t done = in->have - head_bytes;
    enum fc_frame_got got =
        read_bytes(sock, in, in->body + done, in->head.length - done, wait);
    if (got == FC_FRAME_WHOLE)
        in->body[in->head.length] = '\0';
    return got;
}

void fc_frame_next(struct fc_frame_in *in)
{
    in->have = 0;
}

void fc_frame_free(struct fc_frame_in *in)
{
    free(in->body);
    *in = (struct fc_frame_in){0};
}

bool fc_frame_send(int sock, struct fc_frame_head head, const void *part1,
                   size_t bytes1, const void *part2, size_t bytes2)
{
    /* iovec takes no const; nothing writes through it. */
    union {
        const void *from;
        void *to;
    } a = {.from = part1}, b = {.from = part2};
    struct iovec iov[3] = {{&head, sizeof head}, {a.to, bytes1}, {b.to, bytes2}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 3};
    while (msg.msg_iovlen > 0) {
        ssize_t n = sendmsg(sock, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        size_t sent = (size_t)n;
        while (msg.msg_iovlen > 0 && sent >= msg.msg_iov->iov_len) {
            sent -= msg.msg_iov->iov_len;
            msg.msg_iov++;
            msg.msg_iovlen--;
        }
        if (msg.msg_iovlen > 0) {
            msg.msg_iov->iov_base = (char *)msg.msg_iov->iov_base + sent;
            msg.msg_iov->iov_len -= sent;
        }
    }
    return true;
}
