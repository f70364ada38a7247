// SPDX-License-Identifier: BSD-3-Clause
/* One point of a sweep: an operation at one size, type and placement, timed and
 * verified.
 *
 * A sample is one or, of small messages, several operations on rotating slices of the
 * buffers between two readings of the clock, after a spinning barrier of the
 * communicator; its time is the slowest rank's, of one operation. Every operation of
 * every sample is verified on every rank, outside the timed section (verify.h). Results
 * are cleared before each sample, so that an old right answer cannot stand for a new
 * one.
 *
 * All ranks of the run take part, each in its own group (its node, the first ranks of
 * the nodes, or the world), those of no group too; agreement between batches goes
 * through the runtime. Refuses to know: limits, records, levels.
 */
#ifndef FC_COLLECTIVES_SWEEP_H
#define FC_COLLECTIVES_SWEEP_H

#include "collectives/comm.h"
#include "collectives/path.h"
#include "core/run.h"
#include "core/sampler.h"
#include "device/device.h"

/* What is measured; equal on all ranks of the run. */
struct fc_point {
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop; /* of operations that reduce */
    int root;            /* of rooted ones */
    bool in_place;
    bool unchecked;     /* do not verify: for those who know nccl-tests' -c 0 */
    size_t count;       /* elements of a block */
    int warm_up;        /* operations before the first sample; 0 counts as 1 */
    uint64_t budget_ns; /* for all its samples */
    /* Called on a rank whose own operation failed, before it waits for the others, who
     * may never come: what it notes down is then safe in its sink. May be NULL. */
    void (*failed)(void *arg);
    void *arg;
};

/* Elements of a block so that the message of n ranks has at most `bytes`, at least 1.
 */
size_t fc_point_count(enum fc_coll op, enum fc_dtype dtype, uint64_t bytes, int n);
/* The message's size: what nccl-tests calls size. */
uint64_t fc_point_bytes(const struct fc_point *point, int n);

/* Who measures it together. */
enum fc_scope { FC_SCOPE_WORLD, FC_SCOPE_NODE, FC_SCOPE_LEADERS };
struct fc_group {
    struct fc_comm *comm; /* NULL: this rank is in none, and only keeps step */
    enum fc_scope scope;
};

/* Send and receive buffers of the rank, for any point whose message has up to `bytes`,
 * which fc_sweep_room gave. */
struct fc_sweep_buffers {
    void *send, *recv;
    size_t bytes;
    struct fc_stream *stream;
};

/* Bytes of each buffer for points whose messages have up to `bytes`. */
size_t fc_sweep_room(size_t bytes);
/* Allocates on run->device; FC_NOMEM. fc_sweep_buffers_close is allowed after failure.
 * Collective: no. */
enum fc_status fc_sweep_buffers_open(struct fc_run *run, size_t bytes,
                                     struct fc_sweep_buffers *out,
                                     struct fc_error *err) FC_MUST_USE;
void fc_sweep_buffers_close(struct fc_run *run, struct fc_sweep_buffers *buffers);

/* Equal on all ranks of a group, except what says "own". */
struct fc_point_result {
    struct fc_sampler time_s;  /* slowest rank's seconds an operation */
    enum fc_status own_status; /* FC_OK, FC_WRONG, FC_FAILED, … */
    struct fc_error own_error;
    uint64_t own_wrong;
    struct fc_path own_path; /* what this node's counters say; the group's first rank's
                                counts */
    int64_t wrong;           /* elements, all ranks; -1: not verified */
    enum fc_status worst;    /* of all ranks of the group */
};

/* Measures the point. `result->time_s` must be open. `watch` may be NULL: the path is
 * then unknown. Returns other than FC_OK only when the run can only end (FC_LOST); what
 * goes wrong in the operation is in the result. An operation that the communicator does
 * not have is FC_UNSUPPORTED in the result. Collective: yes, over all ranks of the run.
 */
enum fc_status fc_sweep_point(struct fc_run *run, const struct fc_group *group,
                              const struct fc_point *point,
                              const struct fc_sweep_buffers *buffers,
                              struct fc_path_watch *watch,
                              struct fc_point_result *result,
                              struct fc_error *err) FC_MUST_USE;

/* The same for a plain device copy of `bytes` on all ranks of the group at once: the
 * machine's own ceiling for moving a message inside a node. */
enum fc_status fc_sweep_copy(struct fc_run *run, const struct fc_group *group,
                             size_t bytes, const struct fc_sweep_buffers *buffers,
                             struct fc_point_result *result,
                             struct fc_error *err) FC_MUST_USE;

#endif
