// SPDX-License-Identifier: BSD-3-Clause
/* The pair schedule: every pair of n nodes once, in the fewest rounds of disjoint
 * pairs.
 *
 * Circle method: with m = n rounded up to even there are m-1 rounds; in round k, member
 * m-1 meets k and any other r meets p = (2k - r) mod (m-1). A member that meets itself
 * or the one that was added for evenness rests. Members are relabelled by a seeded
 * random permutation, so that any prefix of rounds is a random sample without repeats
 * and a time budget may stop anywhere. Collective: no (a pure function of n and seed).
 * Refuses to know: what a pair does.
 */
#ifndef FC_CORE_SCHEDULE_H
#define FC_CORE_SCHEDULE_H

#include "core/status.h"

#include <stdint.h>

struct fc_schedule {
    uint32_t n, rounds;
    uint64_t seed;
    uint32_t *label;  /* member -> place in the circle */
    uint32_t *member; /* place -> member */
};

enum fc_status fc_schedule_open(struct fc_schedule *s, uint32_t n, uint64_t seed,
                                struct fc_error *err) FC_MUST_USE;
/* The partner of `member` in `round`, or -1 when it rests. */
int64_t fc_schedule_partner(const struct fc_schedule *s, uint32_t round,
                            uint32_t member);
void fc_schedule_close(struct fc_schedule *s);

#endif
