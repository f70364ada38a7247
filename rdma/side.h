// SPDX-License-Identifier: BSD-3-Clause
/* One member's side of one measurement on one lane: what bandwidth (flow.h) and latency
 * (ping.h) share. It lays messages out in the lane's rings, fills and clears them, says
 * and hears words, loses patience, verifies, and holds the result.
 *
 * Layout: message m lies in place m mod `places` of its ring, at multiples of `stride`;
 * what is in a place is a function of the sender, the measurement's seed and the place.
 * Collective: no. Refuses to know: how messages are timed.
 */
#ifndef FC_RDMA_SIDE_H
#define FC_RDMA_SIDE_H

#include "rdma/lane.h"
#include "rdma/words.h"

enum fc_step {
    FC_STEP_READY = 1, /* a: bytes, b: what is measured */
    FC_STEP_BURST,     /* a: messages that will be sent; of latency: pings */
    FC_STEP_GO,        /* receives are posted, the target polls */
    FC_STEP_BEAT,      /* still at work */
    FC_STEP_OVER,      /* a: all messages of the measurement */
    FC_STEP_FAILED,    /* a: the status, b: IBV_WC_* */
};

struct fc_side {
    struct fc_lane *lane;
    const struct fc_transfer_plan *plan;
    enum fc_lane_role role;
    struct fc_lane_result *out;
    uint64_t stride;
    uint32_t places;
    bool same_everywhere; /* each place holds the same: receives come in any order */
    bool by_completion;   /* latency: no byte may be polled */
    uint64_t patience_ns;
    uint64_t end_ns;   /* when it must be over, whatever still moves */
    uint64_t heard_ns; /* when the peer's last word was heard */
    uint64_t said_ns;  /* when this member said its last one */
    bool failed;
};

/* Checks that the lane can do it, fills what is to be sent or read, clears what is to
 * be written. A side that failed says so in *out. */
void fc_side_open(struct fc_side *side, struct fc_lane *lane,
                  const struct fc_transfer_plan *plan, enum fc_lane_role role,
                  struct fc_lane_result *out);

/* Ends the side with a fault: the first is kept. The peer is told where that is still
 * possible. */
void fc_side_fail(struct fc_side *side, enum fc_status status,
                  const struct fc_error *why);

/* Both fail the side themselves; false: it has failed. A word of the peer that it has
 * failed, or that it measures something else, fails this side as well. */
bool fc_side_say(struct fc_side *side, enum fc_step step, uint64_t a, uint64_t b);
bool fc_side_hear(struct fc_side *side, struct fc_word *out, bool *out_heard);

/* Fails the side when nothing has moved since `since_ns`, for longer than its patience,
 * or when the whole takes too long; false: it has failed. */
bool fc_side_watch(struct fc_side *side, uint64_t now_ns, uint64_t since_ns,
                   const char *doing);
/* Says a beat when this member has kept silent for a while: whoever is at work says so
 * to the one that only waits. */
bool fc_side_beat(struct fc_side *side, uint64_t now_ns);

/* What READY carries, so that both see that they measure the same. */
uint64_t fc_side_kind(const struct fc_side *side);

/* Compares what came into the target ring: the first `messages` places (all, where
 * there are more messages than places), and of each `bytes`. */
void fc_side_verify(struct fc_side *side, uint64_t messages, uint64_t bytes);

/* True where the data comes into this member's memory. */
bool fc_side_takes(const struct fc_side *side);

/* A request for message `m`. */
struct fc_post fc_side_post(const struct fc_side *side, uint64_t m, uint64_t id,
                            bool signaled);
struct fc_receive fc_side_receive(const struct fc_side *side, uint64_t m, uint64_t id);

#endif
