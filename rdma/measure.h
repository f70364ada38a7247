// SPDX-License-Identifier: BSD-3-Clause
/* One measurement on several lanes of this worker at once: one loop drives them all, so
 * that none waits for another. The timed part begins when every lane is ready, or has
 * failed.
 * Collective: the members of each lane. Refuses to know: JSON, ranks.
 */
#ifndef FC_RDMA_MEASURE_H
#define FC_RDMA_MEASURE_H

#include "rdma/lane.h"

/* As fc_transfer_measure says; out[i] is of task[i]. FC_USAGE: a plan that cannot be;
 * then nothing was measured. Collective: see above. */
enum fc_status fc_lanes_measure(struct fc_verbs *verbs,
                                const struct fc_transfer_plan *plan,
                                const struct fc_lane_task *task, size_t tasks,
                                struct fc_worker_call *call, struct fc_lane_result *out,
                                struct fc_error *err) FC_MUST_USE;

#endif
