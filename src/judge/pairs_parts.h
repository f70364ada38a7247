// SPDX-License-Identifier: BSD-3-Clause
/* What the files behind pairs.h share; nobody else includes it. */
#ifndef FC_JUDGE_PAIRS_PARTS_H
#define FC_JUDGE_PAIRS_PARTS_H

#include "judge/pairs.h"

/* Of several values of one part, the one that a quarter at most is better than: it is
 * well as long as more than a quarter of the part's links are. Reorders `x`; n > 0. */
double fc_better_of(double *x, size_t n);

/* Whether there are enough links that were measured once to say what is usual: those
 * that were measured again are of suspects, and no fair sample. */
bool fc_pairs_firsts(const struct fc_arena *arena);
/* Sets `equal` of every link: what links of its kind reach. Few: kinds are told apart
 * by their rails only. False when memory is short. */
bool fc_pairs_set_equals(const struct fc_evidence *ev, struct fc_arena *arena,
                         bool few);

/* What members of one part of a kind have in common; false: it belongs to none. */
bool fc_culprit_key(const struct fc_arena *arena, uint32_t member, int kind,
                    uint32_t *key);

#endif
