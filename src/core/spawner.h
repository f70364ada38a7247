// SPDX-License-Identifier: BSD-3-Clause
/* The spawner, as worker.c uses it (fc_spawner_open and _close are in worker.h).
 *
 * One process a rank, forked before MPI_Init; the sole parent of the rank's workers. It
 * answers one request at a time over a SEQPACKET socket pair. A worker that ended stays
 * a zombie until FC_SPAWNER_FORGET, so that its process id cannot come to mean another
 * process while the rank still uses it.
 *
 * Life: both the spawner and its workers sit in process groups of their own, so that
 * what a terminal or a launcher sends to the rank's group does not reach them. The
 * spawner ends when its socket closes or its rank dies, and kills each worker's whole
 * group first; should it be killed itself, the kernel kills its workers
 * (PR_SET_PDEATHSIG). Collective: no. Not thread-safe: one thread of the rank uses a
 * spawner and its workers. Refuses to know: what workers do or say.
 */
#ifndef FC_CORE_SPAWNER_H
#define FC_CORE_SPAWNER_H

#include "core/worker.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a worker finds its socket and its note page. */
enum { FC_WORKER_FD_SOCKET = 3, FC_WORKER_FD_PAGE = 4 };

enum {
    FC_SPAWNER_FDS = 3,           /* socket, page, output of a worker */
    FC_SPAWNER_WORKERS = 64,      /* at a time */
    FC_SPAWNER_ENV_BYTES = 65536, /* of all overrides of one worker */
};

enum fc_spawner_op {
    FC_SPAWNER_START,
    FC_SPAWNER_PEEK,   /* has it ended? */
    FC_SPAWNER_KILL,   /* SIGKILL to its group, then as PEEK */
    FC_SPAWNER_FORGET, /* kills what is left of its group; reaps it when it ends */
};

/* The two ends' common words. */
struct fc_spawner_request {
    uint32_t seq, op;
    int32_t pid;
    uint32_t env_bytes; /* of the "NAME=value\0NAME\0…" that follow */
};
struct fc_spawner_answer {
    uint32_t seq;
    int32_t error; /* an errno, or 0 */
    int32_t pid;
    int32_t ended, by_signal, value;
};

struct fc_spawner_ending {
    bool ended;
    bool by_signal;
    int value; /* the signal, or the exit status */
};

/* Starts a worker whose socket, page and output are `fd`; they are borrowed. */
enum fc_status fc_spawner_start(struct fc_spawner *spawner, const char *const *env,
                                const int fd[FC_SPAWNER_FDS], int *out_pid,
                                struct fc_error *err) FC_MUST_USE;

/* Any other request. FC_TIMEOUT when no answer came within `limit_ns` (a later one is
 * not mistaken for that of another request), FC_FAILED when the spawner is gone. */
enum fc_status fc_spawner_ask(struct fc_spawner *spawner, enum fc_spawner_op op,
                              int pid, uint64_t limit_ns, struct fc_spawner_ending *out,
                              struct fc_error *err) FC_MUST_USE;

/* Each worker holds its spawner's struct, so that the order of closing does not matter.
 */
void fc_spawner_hold(struct fc_spawner *spawner);
void fc_spawner_release(struct fc_spawner *spawner);

/* For tests. */
int fc_spawner_pid(const struct fc_spawner *spawner);

/* The spawner's own body, with all signals blocked. */
_Noreturn void fc_spawner_serve(int sock, int rank_pid);

#endif
