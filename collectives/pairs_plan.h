// SPDX-License-Identifier: BSD-3-Clause
/* How many rounds of pairs are walked, how long each pair may take, and how many rounds
 * stand between two agreements. Collective: no (pure functions of what all ranks know).
 * Refuses to know: ranks, nodes, results.
 */
#ifndef FC_COLLECTIVES_PAIRS_PLAN_H
#define FC_COLLECTIVES_PAIRS_PLAN_H

#include "collectives/pairs.h"
#include "core/run.h"
#include "core/schedule.h"

enum { FC_PAIRS_BLOCK_MAX = 8 };

struct fc_pairs_plan {
    uint32_t rounds;       /* that are walked */
    uint32_t all;          /* of the whole schedule */
    uint32_t start;        /* the first of them; the walk wraps around */
    const uint32_t *order; /* [all] the rounds in another order; borrowed; NULL: none */
    uint64_t budget_ns; /* for all of them; 0: none, the user asked for these rounds */
    struct fc_pair_plan pair;
};

/* `attempt` > 1: three times the samples, and rounds that the first attempt did not
 * walk come first. */
struct fc_pairs_plan fc_pairs_plan(const struct fc_settings *settings, uint32_t members,
                                   int attempt);
/* The order in which a retest should walk: first the rounds in which suspects meet each
 * other, those with most such pairs in front, since a link whose two ends are suspects
 * is itself one; the rest as the plan says. `suspect`: [schedule->n]; `out`:
 * [plan->all]. FC_NOMEM. */
enum fc_status fc_pairs_plan_order(const struct fc_pairs_plan *plan,
                                   const struct fc_schedule *schedule,
                                   const bool *suspect, uint32_t *out,
                                   struct fc_error *err) FC_MUST_USE;
/* What it will take, seconds. */
double fc_pairs_plan_s(const struct fc_pairs_plan *plan);
/* The schedule's round that is walked as number `i`. */
uint32_t fc_pairs_plan_round(const struct fc_pairs_plan *plan, uint32_t i);
/* Rounds until the next agreement, when `done` are walked and the last `n` took
 * `took_ns`; 0: all are walked, or the budget is spent. */
uint32_t fc_pairs_plan_block(const struct fc_pairs_plan *plan, uint32_t done,
                             uint64_t spent_ns, uint32_t n, uint64_t took_ns);

#endif
