// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/pairs_plan.h"

#include "core/clock.h"

#include <stdlib.h>

enum {
    ALL_UP_TO = 64,   /* members of which every pair is measured */
    ROUNDS_ABOVE = 3, /* random ones: the relabelled circle's first */
    RETEST_FACTOR = 3,
};

#define COMMIT_NS (2 * FC_NS_PER_S)
#define MIB ((size_t)1 << 20)

static const struct {
    uint64_t box_ns, budget_ns;
    unsigned bursts;
    size_t max_bytes;
} efforts[] = {
    [FC_LEVEL_QUICK] = {6 * FC_NS_PER_MS, 4 * FC_NS_PER_S, 5, 1 * MIB},
    [FC_LEVEL_STANDARD] = {100 * FC_NS_PER_MS, 60 * FC_NS_PER_S, 5, 4 * MIB},
    [FC_LEVEL_FULL] = {200 * FC_NS_PER_MS, 300 * FC_NS_PER_S, 5, 4 * MIB},
    [FC_LEVEL_SOAK] = {200 * FC_NS_PER_MS, 300 * FC_NS_PER_S, 5, 4 * MIB},
};

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

struct fc_pairs_plan fc_pairs_plan(const struct fc_settings *settings, uint32_t members,
                                   int attempt)
{
    uint32_t asked = settings->pair_rounds;
    bool retest = attempt > 1;
    struct fc_pairs_plan plan = {
        .all = members < 2 ? 0 : members - 1 + members % 2,
        .budget_ns = asked ? 0 : efforts[settings->level].budget_ns,
        .pair = {.box_ns = efforts[settings->level].box_ns,
                 .bursts = efforts[settings->level].bursts,
                 .max_bytes = efforts[settings->level].max_bytes},
    };
    plan.rounds = least(asked                  ? asked
                        : members <= ALL_UP_TO ? plan.all
                                               : ROUNDS_ABOVE,
                        plan.all);
    if (!retest)
        return plan;
    /* Suspects meet everyone, first those whom they have not met. */
    plan.start = plan.all ? plan.rounds % plan.all : 0;
    plan.rounds = plan.all;
    plan.budget_ns = efforts[settings->level].budget_ns * RETEST_FACTOR;
    plan.pair.box_ns *= RETEST_FACTOR;
    plan.pair.bursts *= RETEST_FACTOR;
    return plan;
}

double fc_pairs_plan_s(const struct fc_pairs_plan *plan)
{
    /* Two boxes, the growth of the first bursts, and a tenth for the latency. */
    double s = plan->rounds * 2.5 * (double)plan->pair.box_ns / 1e9;
    double budget = (double)plan->budget_ns / 1e9;
    return plan->budget_ns && s > budget ? budget : s;
}

/* count[round]: pairs of two suspects in it; the largest of them. Walks the suspects,
 * of whom there are few, through the rounds. */
static uint32_t count_meetings(const struct fc_schedule *schedule, const bool *suspect,
                               uint32_t *count)
{
    uint32_t most = 0;
    for (uint32_t a = 0; a < schedule->n; a++)
        for (uint32_t round = 0; suspect[a] && round < schedule->rounds; round++) {
            int64_t b = fc_schedule_partner(schedule, round, a);
            count[round] += b > (int64_t)a && suspect[b];
            most = count[round] > most ? count[round] : most;
        }
    return most;
}

enum fc_status fc_pairs_plan_order(const struct fc_pairs_plan *plan,
                                   const struct fc_schedule *schedule,
                                   const bool *suspect, uint32_t *out,
                                   struct fc_error *err)
{
    uint32_t *count = calloc(plan->all + 1, sizeof *count), done = 0;
    if (!count)
        return fc_fail(err, FC_NOMEM, "out of memory for the order of the rounds");
    for (uint32_t wanted = count_meetings(schedule, suspect, count) + 1; wanted-- > 0;)
        for (uint32_t i = 0; i < plan->all; i++) {
            uint32_t round = fc_pairs_plan_round(plan, i);
            if (count[round] == wanted)
                out[done++] = round;
        }
    free(count);
    return FC_OK;
}

uint32_t fc_pairs_plan_round(const struct fc_pairs_plan *plan, uint32_t i)
{
    if (plan->order)
        return plan->order[i];
    return (uint32_t)(((uint64_t)plan->start + i) % plan->all);
}

uint32_t fc_pairs_plan_block(const struct fc_pairs_plan *plan, uint32_t done,
                             uint64_t spent_ns, uint32_t n, uint64_t took_ns)
{
    uint32_t left = plan->rounds - done;
    uint64_t window = COMMIT_NS;
    if (left == 0)
        return 0;
    if (plan->budget_ns && done > 0) {
        if (spent_ns >= plan->budget_ns)
            return 0;
        if (plan->budget_ns - spent_ns < window)
            window = plan->budget_ns - spent_ns;
    }
    uint64_t one = n ? took_ns / n : COMMIT_NS;
    uint64_t fit = one ? window / one : FC_PAIRS_BLOCK_MAX;
    fit = fit < 1 ? 1 : fit > FC_PAIRS_BLOCK_MAX ? FC_PAIRS_BLOCK_MAX : fit;
    return least(fit, left);
}
