// SPDX-License-Identifier: BSD-3-Clause
/* A communicator: a group of ranks that moves data in some way (MPI now; shared memory
 * and NCCL are later back ends), so that sweeps, pairs and training are written once.
 *
 * enqueue / poll / abort: a back end may complete in enqueue (MPI's blocking calls,
 * which is how a user would time them) or later (NCCL on a stream). The caller holds a
 * watchdog deadline around both. Every rank of the communicator enqueues the same
 * operations in the same order. Refuses to know: timing, verification, records, verbs.
 */
#ifndef FC_COLLECTIVES_COMM_H
#define FC_COLLECTIVES_COMM_H

#include "core/dtype.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

enum fc_coll { FC_COLL_ALL_REDUCE, FC_COLL_COUNT };
enum fc_redop { FC_REDOP_SUM, FC_REDOP_COUNT };

/* One operation. `send == recv`: in place. `count` elements of `dtype` on each rank. */
struct fc_coll_args {
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop;
    const void *send;
    void *recv;
    size_t count;
};

struct fc_comm;

struct fc_comm_ops {
    const char *name; /* "mpi" */
    /* FC_UNSUPPORTED for what the back end cannot do. Collective: over the group. */
    enum fc_status (*enqueue)(struct fc_comm *, const struct fc_coll_args *,
                              struct fc_error *);
    enum fc_status (*poll)(struct fc_comm *, bool *out_done, struct fc_error *);
    /* All ranks of the group, then the next thing is timed: never sleeps. */
    enum fc_status (*barrier_spin)(struct fc_comm *, struct fc_error *);
    /* Makes what is in flight fail; local, never waits. */
    void (*abort)(struct fc_comm *);
    void (*close)(struct fc_comm *);
};

struct fc_comm {
    const struct fc_comm_ops *ops;
    int rank, size;
    const char *algorithm; /* what the record's params say: "mpi" */
};

/* A communicator over MPI of all ranks (`color` equal everywhere) or of those with the
 * same `color` >= 0, ordered by world rank. Ownership: ops->close. Collective: yes. */
enum fc_status fc_comm_mpi_open(int color, struct fc_comm **out,
                                struct fc_error *err) FC_MUST_USE;
/* The same for one process without MPI. Collective: no. */
enum fc_status fc_comm_self_open(struct fc_comm **out,
                                 struct fc_error *err) FC_MUST_USE;

#endif
