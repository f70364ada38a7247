// SPDX-License-Identifier: BSD-3-Clause
/* What the counters of a step's ports say: whether they moved what was measured, which
 * names the path, and which errors and signs of congestion grew meanwhile, which become
 * records of the port and its peer. Collective: no. Refuses to know: stages.
 */
#ifndef FC_RDMA_STEP_COUNTERS_H
#define FC_RDMA_STEP_COUNTERS_H

#include "rdma/step.h"

/* Bytes that a seat must have moved through its port. */
struct fc_rdma_moved {
    uint64_t sent, received;
};

/* Remembers the counters of this rank's rails. */
enum fc_status fc_rdma_counters_mark(struct fc_rdma_seats *seats,
                                     struct fc_error *err) FC_MUST_USE;

/* Reads them again: fills `path` and `how` of step->out, and adds the records. Arrays
 * are by slot. A worker that is lost in it costs the proof, not the step; what could
 * not be noted down is the status. */
enum fc_status fc_rdma_counters_take(struct fc_rdma_step *step,
                                     const struct fc_lane_answer *answer,
                                     const struct fc_lane_link *link,
                                     const struct fc_rdma_moved *moved,
                                     struct fc_error *err) FC_MUST_USE;

#endif
