// SPDX-License-Identifier: BSD-3-Clause
/* One point of a sweep: a collective at one size and placement, timed and verified.
 *
 * A sample is `inner` operations on rotating slices of the buffers between two readings
 * of the clock, after a spinning barrier of the communicator; its time is the slowest
 * rank's.
 * Every operation of every sample is verified on every rank, outside the timed section:
 * rank r contributes small integers plus r mod 251, so that the sum is exact in any
 * order and a contribution that is missing or doubled shows. Results are cleared before
 * each sample, so that an old right answer cannot stand for a new one.
 *
 * All ranks of the run take part, each in its own group (its node, or the world);
 * agreement between batches goes through the runtime. Refuses to know: limits, records,
 * levels.
 */
#ifndef FC_COLLECTIVES_SWEEP_H
#define FC_COLLECTIVES_SWEEP_H

#include "collectives/comm.h"
#include "core/run.h"
#include "core/sampler.h"
#include "device/device.h"

/* What is measured; equal on all ranks of the run. */
struct fc_point {
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop;
    bool in_place;
    size_t bytes;       /* of each rank's message; a multiple of the element size */
    uint64_t budget_ns; /* for all its samples */
    /* Called on a rank whose own operation failed, before it waits for the others, who
     * may never come: what it notes down is then safe in its sink. May be NULL. */
    void (*failed)(void *arg);
    void *arg;
};

/* Who measures it together. */
struct fc_group {
    struct fc_comm *comm;
    int node; /* -1: all ranks; else the node whose ranks `comm` holds */
};

/* Send and receive buffers of the rank, for any point up to `bytes`. */
struct fc_sweep_buffers {
    void *send, *recv;
    size_t bytes;
    struct fc_stream *stream;
};

/* Equal on all ranks of a group, except what says "own". */
struct fc_point_result {
    struct fc_sampler time_s;  /* slowest rank's seconds an operation */
    enum fc_status own_status; /* FC_OK, FC_WRONG, FC_FAILED, … */
    struct fc_error own_error;
    uint64_t own_wrong;
    int64_t wrong;        /* elements, all ranks */
    enum fc_status worst; /* of all ranks of the group */
};

/* Bytes of buffer that points up to `bytes` need. */
size_t fc_sweep_room(size_t bytes);

/* Measures the point. `result->time_s` must be open. Returns other than FC_OK only when
 * the run can only end (FC_LOST); what goes wrong in the operation is in the result.
 * Collective: yes, over all ranks of the run. */
enum fc_status fc_sweep_point(struct fc_run *run, const struct fc_group *group,
                              const struct fc_point *point,
                              const struct fc_sweep_buffers *buffers,
                              struct fc_point_result *result,
                              struct fc_error *err) FC_MUST_USE;

/* The same for a plain device copy of `bytes` on all ranks of the group at once: the
 * machine's own ceiling for moving a message inside a node. */
enum fc_status fc_sweep_copy(struct fc_run *run, const struct fc_group *group,
                             size_t bytes, const struct fc_sweep_buffers *buffers,
                             struct fc_point_result *result,
                             struct fc_error *err) FC_MUST_USE;

#endif
