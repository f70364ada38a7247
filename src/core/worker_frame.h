// SPDX-License-Identifier: BSD-3-Clause
/* Frames between a rank and its worker: a fixed head and a body of bounded length, over
 * a stream socket. Both ends are the same binary on one machine, so integers are in its
 * own order. The reader trusts nothing that it reads. Collective: no. Refuses to know:
 * what bodies mean.
 */
#ifndef FC_CORE_WORKER_FRAME_H
#define FC_CORE_WORKER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fc_frame_type {
    FC_FRAME_COMMAND = 1, /* to the worker: {"command":name,"args":{…}} */
    FC_FRAME_LINE,        /* from it: one line of text */
    FC_FRAME_REPLY,       /* a JSON object; ends the call */
    FC_FRAME_ERROR,       /* uint32_t status, then text; ends the call */
};

#define FC_FRAME_MAGIC UINT32_C(0x31574346) /* "FCW1" */
#define FC_FRAME_MAX (UINT32_C(1) << 20)    /* bytes of a body */

struct fc_frame_head {
    uint32_t magic, type;
    uint32_t call; /* which call it belongs to, so that stale frames are told apart */
    uint32_t length;
};

/* A frame as it comes in. All zero is a fresh one. */
struct fc_frame_in {
    struct fc_frame_head head;
    char *body;         /* head.length bytes and a '\0', once it is whole */
    size_t room;        /* allocated for it */
    size_t have;        /* bytes of head and body so far */
    char complaint[96]; /* set by FC_FRAME_BAD */
};

enum fc_frame_got {
    FC_FRAME_WHOLE, /* read it, then fc_frame_next */
    FC_FRAME_PART,  /* nothing more to read for now */
    FC_FRAME_END,   /* the other side is gone */
    FC_FRAME_BAD,   /* no frame, too long, or no memory for it: see `complaint` */
};

/* Reads until a frame is whole; `wait` says whether to block for it. */
enum fc_frame_got fc_frame_read(int sock, struct fc_frame_in *in, bool wait);
/* Makes ready for the next frame; keeps the memory. */
void fc_frame_next(struct fc_frame_in *in);
void fc_frame_free(struct fc_frame_in *in);

/* Sends a whole frame whose body is two parts, and blocks for it; false with errno set
 * when the other side is gone. No SIGPIPE. */
bool fc_frame_send(int sock, struct fc_frame_head head, const void *part1,
                   size_t bytes1, const void *part2, size_t bytes2);

#endif
