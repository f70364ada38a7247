// SPDX-License-Identifier: BSD-3-Clause
/* A communicator: a group of ranks that moves data in some way (MPI; shared memory
 * inside a node with MPI between nodes; NCCL is a later back end), so that sweeps,
 * pairs and training are written once.
 *
 * enqueue / poll / abort: a back end may complete in enqueue (MPI's blocking calls,
 * which is how a user would time them) or later (NCCL on a stream). The caller holds a
 * watchdog deadline around both. Every rank of the communicator enqueues the same
 * operations in the same order; of FC_COLL_SENDRECV only the ranks that it names.
 * Buffers and counts are those of NCCL and nccl-tests (struct fc_coll_shape). Refuses
 * to know: timing, verification, records, verbs.
 */
#ifndef FC_COLLECTIVES_COMM_H
#define FC_COLLECTIVES_COMM_H

#include "core/dtype.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

enum fc_coll {
    FC_COLL_ALL_REDUCE,
    FC_COLL_ALL_GATHER,
    FC_COLL_REDUCE_SCATTER,
    FC_COLL_BROADCAST,
    FC_COLL_REDUCE,
    FC_COLL_ALLTOALL,
    FC_COLL_GATHER,
    FC_COLL_SCATTER,
    FC_COLL_SENDRECV,
    FC_COLL_COUNT
};
enum fc_redop {
    FC_REDOP_SUM,
    FC_REDOP_PROD,
    FC_REDOP_MIN,
    FC_REDOP_MAX,
    FC_REDOP_AVG,
    FC_REDOP_COUNT
};

/* "all_reduce", "sum", …: as metrics, options and records spell them; static. */
const char *fc_coll_name(enum fc_coll op);
const char *fc_redop_name(enum fc_redop redop);
/* FC_COLL_COUNT, FC_REDOP_COUNT: no such name. */
enum fc_coll fc_coll_find(const char *name);
enum fc_redop fc_redop_find(const char *name);
bool fc_coll_reduces(enum fc_coll op);
/* broadcast, reduce, gather, scatter */
bool fc_coll_rooted(enum fc_coll op);

/* How an operation's buffers divide into blocks of `count` elements, n ranks. A message
 * of S bytes (nccl-tests' size) is max(send, recv) blocks. In place: the smaller buffer
 * is the block `offset` of the larger one (0 where both are equal). */
struct fc_coll_shape {
    size_t send_blocks, recv_blocks;
};
struct fc_coll_shape fc_coll_shape(enum fc_coll op, int n);

/* One operation. In place: all_reduce, broadcast, reduce, alltoall, sendrecv with
 * send == recv; all_gather, gather: send == recv + rank * count elements;
 * reduce_scatter, scatter: recv == send + rank * count elements. What is not the root's
 * and not read or written (recv of reduce and gather, send of scatter) may be any
 * pointer. */
struct fc_coll_args {
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop; /* of operations that reduce */
    int root;            /* of rooted operations */
    int to, from;        /* sendrecv: ranks of the communicator; -1: none */
    const void *send;
    void *recv;
    size_t count; /* elements of a block */
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
    /* What the record's params say of `op`: "mpi"; NULL: the back end has no `op`. The
     * same on all ranks. Collective: no. */
    const char *(*algorithm)(const struct fc_comm *, enum fc_coll op);
    void (*close)(struct fc_comm *);
};

struct fc_comm {
    const struct fc_comm_ops *ops;
    int rank, size;
};

/* A communicator over MPI of the ranks with the same `color`, ordered by world rank; a
 * rank with color < 0 is in none and gets *out = NULL. Ownership: ops->close.
 * Collective: yes, over all ranks. */
enum fc_status fc_comm_mpi_open(int color, struct fc_comm **out,
                                struct fc_error *err) FC_MUST_USE;
/* The node-aware one: reduce-scatter and all-gather in memory that the ranks of a node
 * share, MPI between nodes. `node` numbers the rank's node; ranks with the same number
 * must be able to share memory. It has all_reduce, and inside one node reduce_scatter
 * and all_gather. FC_UNSUPPORTED on all ranks when memory cannot be shared.
 * Collective: yes, over all ranks. */
enum fc_status fc_comm_node_open(int color, int node, struct fc_comm **out,
                                 struct fc_error *err) FC_MUST_USE;
/* The same for one process without MPI. Collective: no. */
enum fc_status fc_comm_self_open(struct fc_comm **out,
                                 struct fc_error *err) FC_MUST_USE;

#endif
