// SPDX-License-Identifier: BSD-3-Clause
/* Latency on one lane.
 *
 * Writes: the initiator writes, the target sees the last byte change and writes back;
 * half of the way there and back counts. Sends: the same with receives. Reads, and
 * writes where no byte may be polled (SRD keeps no order; a GPU's memory is not the
 * CPU's): the whole way from the request to its completion, as perftest shows reads.
 * Pings come in chunks; before each the target says that it is ready, and the first
 * ping of a chunk does not count.
 * Collective: the two members. Refuses to know: other lanes, JSON.
 */
#ifndef FC_RDMA_PING_H
#define FC_RDMA_PING_H

#include "rdma/side.h"

/* Measures; returns when it is over, at the latest when the side's patience is. A fault
 * is in *out. */
void fc_ping_measure(struct fc_lane *lane, const struct fc_transfer_plan *plan,
                     enum fc_lane_role role, struct fc_lane_result *out);

#endif
