// SPDX-License-Identifier: BSD-3-Clause
/* How many rounds of pairs are walked, how long each pair may take, and how many rounds
 * stand between two agreements. Collective: no (pure functions of what all ranks know).
 * Refuses to know: ranks, nodes, results.
 */
#ifndef FC_COLLECTIVES_PAIRS_PLAN_H
#define FC_COLLECTIVES_PAIRS_PLAN_H

#include "collectives/pairs.h"
#include "core/run.h"

enum { FC_PAIRS_BLOCK_MAX = 8 };

struct fc_pairs_plan {
    uint32_t rounds;    /* that are walked */
    uint32_t all;       /* of the whole schedule */
    uint32_t start;     /* the first of them; the walk wraps around */
    uint64_t budget_ns; /* for all of them; 0: none, the user asked for these rounds */
    struct fc_pair_plan pair;
};

/* `attempt` > 1: three times the samples, and rounds that the first attempt did not
 * walk come first. */
struct fc_pairs_plan fc_pairs_plan(const struct fc_settings *settings, uint32_t members,
                                   int attempt);
/* What it will take, seconds. */
double fc_pairs_plan_s(const struct fc_pairs_plan *plan);
/* The schedule's round that is walked as number `i`. */
uint32_t fc_pairs_plan_round(const struct fc_pairs_plan *plan, uint32_t i);
/* Rounds until the next agreement, when `done` are walked and the last `n` took
 * `took_ns`; 0: all are walked, or the budget is spent. */
uint32_t fc_pairs_plan_block(const struct fc_pairs_plan *plan, uint32_t done,
                             uint64_t spent_ns, uint32_t n, uint64_t took_ns);

#endif
