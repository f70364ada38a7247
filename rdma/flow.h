// SPDX-License-Identifier: BSD-3-Clause
/* Bandwidth on one lane: bursts of messages, each as long as fits a part of the time
 * box, as the last one's rate says.
 *
 * The initiator's clock runs from the first message that it posts to the completion of
 * the last: on both transports a completion says that the data has arrived. With sends
 * it tells the target beforehand how many will come, so that exactly so many receives
 * are posted and none is left for whoever measures next. Bursts are short steps of a
 * loop that drives many lanes (measure.h).
 * Collective: the two members. Refuses to know: other lanes, JSON.
 */
#ifndef FC_RDMA_FLOW_H
#define FC_RDMA_FLOW_H

#include "rdma/side.h"

/* Of a burst: the best run of parts is the peak. */
enum { FC_FLOW_PARTS = 8 };

enum fc_flow_state { FC_FLOW_IDLE, FC_FLOW_ASKED, FC_FLOW_RUNS, FC_FLOW_ENDED };

struct fc_flow {
    struct fc_side side;
    bool said_ready, heard_ready, done;
    uint32_t depth, signal_every;
    unsigned turns;
    /* As the initiator. */
    enum fc_flow_state state;
    uint64_t base, want;        /* messages before this burst, and in it */
    uint64_t posted, completed; /* of all bursts */
    uint32_t in_flight[FC_RDMA_QPS_MAX], unsignaled[FC_RDMA_QPS_MAX];
    uint64_t box_start_ns, start_ns, moved_ns;
    bool moved;
    uint64_t posted_ns[FC_FLOW_PARTS], completed_ns[FC_FLOW_PARTS];
    unsigned parts_posted, parts_completed; /* of this burst */
    unsigned bursts; /* walked, those that do not count included */
    bool cut;        /* a burst was ended early */
    /* As the target. */
    uint64_t granted, received, total;
    uint64_t receives[FC_RDMA_QPS_MAX], open_receives[FC_RDMA_QPS_MAX];
    bool heard_over, over;
};

/* Makes the side ready; a fault is in side.out, and the flow is done. */
void fc_flow_open(struct fc_flow *flow, struct fc_lane *lane,
                  const struct fc_transfer_plan *plan, enum fc_lane_role role,
                  struct fc_lane_result *out);

/* One turn; never waits. `go`: all lanes of this member are ready. True where the next
 * turn should come at once: messages are on their way. */
bool fc_flow_step(struct fc_flow *flow, bool go);

#endif
