// SPDX-License-Identifier: BSD-3-Clause
/* A lane's queue pairs connected through rdma_cm, over the ports' IP addresses, as
 * storage and many MPIs do. The queue pairs stay the lane's own; rdma_cm carries their
 * numbers and says how they must be set. Both members listen; the one with the smaller
 * tag connects.
 * Collective: the two members, in fc_lane_cm_connect. Refuses to know: what lanes
 * carry.
 */
#ifndef FC_RDMA_LANE_CM_H
#define FC_RDMA_LANE_CM_H

#include "rdma/lane.h"

/* Listens on the address of the lane's GID; lane->own.cm_port becomes its number.
 * FC_UNSUPPORTED where that is no IP address, or without librdmacm. Collective: no. */
enum fc_status fc_lane_cm_open(struct fc_lane *lane, struct fc_error *err) FC_MUST_USE;

/* Joins all queue pairs to the peer's; at most ten seconds. Collective: both members.
 * */
enum fc_status fc_lane_cm_connect(struct fc_lane *lane,
                                  struct fc_error *err) FC_MUST_USE;

/* NULL-safe where nothing is open. Collective: no. */
void fc_lane_cm_close(struct fc_lane *lane);

#endif
