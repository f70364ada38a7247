// SPDX-License-Identifier: BSD-3-Clause
/* The rank's side of a worker, as its two files share it: worker.c opens and ends it,
 * worker_call.c talks to it. Collective: no. */
#ifndef FC_CORE_WORKER_RANK_H
#define FC_CORE_WORKER_RANK_H

#include "core/spawner.h"
#include "core/worker.h"
#include "core/worker_frame.h"
#include "core/worker_note.h"
#include "core/worker_why.h"

#include <stdbool.h>
#include <stdint.h>

struct fc_worker {
    struct fc_spawner *spawner;
    int pid;
    int sock;   /* -1 once it was hung up */
    int output; /* what it prints; -1 once every writer is gone */
    uint32_t call;
    bool alive;
    struct fc_note_page *page;
    struct fc_frame_in in;
    struct fc_tail tail;
};

/* Moves what the worker printed into its tail, a bounded amount. */
void fc_worker_drain(struct fc_worker *worker);

/* Waits until it has ended. FC_TIMEOUT when it did not, or the spawner did not tell;
 * FC_FAILED when the spawner is gone. */
enum fc_status fc_worker_wait(struct fc_worker *worker, uint64_t limit_ns,
                              struct fc_spawner_ending *out,
                              struct fc_error *err) FC_MUST_USE;

/* Kills it and lets the spawner reap it. FC_TIMEOUT when it has not ended by then: it
 * is left behind, and `err` says so. A worker whose spawner is gone counts as ended,
 * since the kernel kills it. */
enum fc_status fc_worker_bury(struct fc_worker *worker, uint64_t limit_ns,
                              struct fc_error *err) FC_MUST_USE;

#endif
