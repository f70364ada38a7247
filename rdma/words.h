// SPDX-License-Identifier: BSD-3-Clause
/* Words: small messages over a lane's first queue pair, by which its members keep step
 * inside a measurement. They are heard in the order in which they were said, also where
 * the transport keeps none. Nothing here waits.
 * Collective: no. Refuses to know: what steps mean.
 */
#ifndef FC_RDMA_WORDS_H
#define FC_RDMA_WORDS_H

#include "rdma/lane.h"

struct fc_word {
    uint32_t magic, number, round, step;
    uint64_t a, b;
};

/* Posts the receives for the peer's words: once, when the lane connects. */
enum fc_status fc_words_open(struct fc_lane *lane, struct fc_error *err) FC_MUST_USE;

/* Says one. FC_FAILED where FC_LANE_WORDS are on their way already. */
enum fc_status fc_words_say(struct fc_lane *lane, uint32_t round, uint32_t step,
                            uint64_t a, uint64_t b, struct fc_error *err) FC_MUST_USE;

/* The next one, if it is there: *out_heard. FC_FAILED: the queue pair is in error, or
 * what came is no word. */
enum fc_status fc_words_hear(struct fc_lane *lane, struct fc_word *out, bool *out_heard,
                             struct fc_error *err) FC_MUST_USE;

#endif
