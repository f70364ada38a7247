// SPDX-License-Identifier: BSD-3-Clause
/* The order of a retest whose pairs were chosen: steps of disjoint pairs, of which no
 * more are at work at the same time than each of them allows. Pure. Collective: no.
 * Refuses to know: who chose the pairs, how long a step takes.
 */
#ifndef FC_CORE_PAIR_STEPS_H
#define FC_CORE_PAIR_STEPS_H

#include "core/run.h"

struct fc_pair_steps {
    uint32_t steps;
    uint32_t *start; /* [steps + 1] */
    int (*pair)[2];  /* [start[steps]]: members */
};

/* Every pair of `focus` once, however often and from whichever end it is named: as many
 * steps as it takes when each takes what it can, in the order given. Members are
 * nodes. FC_NOMEM. Ownership: fc_pair_steps_close, also when it failed. */
enum fc_status fc_pair_steps_open(const struct fc_focus *focus, uint32_t members,
                                  struct fc_pair_steps *out,
                                  struct fc_error *err) FC_MUST_USE;
void fc_pair_steps_close(struct fc_pair_steps *steps);

/* Whom the member meets in that step; -1: nobody. */
int64_t fc_pair_steps_partner(const struct fc_pair_steps *steps, uint32_t step,
                              uint32_t member);

#endif
