// SPDX-License-Identifier: BSD-3-Clause
/* A small seeded generator (SplitMix64): the same seed gives the same numbers on every
 * machine, so that a schedule or a data pattern can be repeated from the journal.
 * Not for secrets. Collective: no. */
#ifndef FC_CORE_RNG_H
#define FC_CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct fc_rng {
    uint64_t state;
};

void fc_rng_seed(struct fc_rng *rng, uint64_t seed);
uint64_t fc_rng_next(struct fc_rng *rng);
/* Uniform in [0, bound), without modulo bias; bound > 0. */
uint64_t fc_rng_below(struct fc_rng *rng, uint64_t bound);
/* Uniform in [0, 1). */
double fc_rng_unit(struct fc_rng *rng);
/* Stateless: the i-th value of stream `seed`; what parallel fills use. */
uint64_t fc_rng_at(uint64_t seed, uint64_t i);
/* Fisher-Yates over `perm`, which is first set to 0..n-1. */
void fc_rng_permutation(struct fc_rng *rng, uint32_t *perm, size_t n);

#endif
