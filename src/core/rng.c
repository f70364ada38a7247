// SPDX-License-Identifier: BSD-3-Clause
/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014. The state is a counter in steps of an odd constant, so that the i-th
 * value needs no walk: fc_rng_at(seed, i) is what the (i+1)-th fc_rng_next returns. */
#include "core/rng.h"

#define STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void fc_rng_seed(struct fc_rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t fc_rng_next(struct fc_rng *rng)
{
    rng->state += STEP;
    return mix(rng->state);
}

uint64_t fc_rng_below(struct fc_rng *rng, uint64_t bound)
{
    /* The lowest 2^64 mod bound values would make small results more frequent. */
    uint64_t skip = (0 - bound) % bound;
    uint64_t value;
    do
        value = fc_rng_next(rng);
    while (value < skip);
    return value % bound;
}

double fc_rng_unit(struct fc_rng *rng)
{
    return (double)(fc_rng_next(rng) >> 11) * 0x1p-53;
}

uint64_t fc_rng_at(uint64_t seed, uint64_t i)
{
    return mix(seed + (i + 1) * STEP);
}

void fc_rng_permutation(struct fc_rng *rng, uint32_t *perm, size_t n)
{
    for (size_t i = 0; i < n; i++)
        perm[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)fc_rng_below(rng, i);
        uint32_t other = perm[i - 1];
        perm[i - 1] = perm[j];
        perm[j] = other;
    }
}
