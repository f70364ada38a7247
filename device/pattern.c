// SPDX-License-Identifier: BSD-3-Clause
#include "core/rng.h"
#include "device/device.h"

/* A small integer in [least, least + count). */
static int64_t small(uint64_t bits, uint64_t count, int64_t least)
{
    return (int64_t)((bits * count) >> 32) + least;
}

static double integer(struct fc_pattern pattern, uint64_t index)
{
    int64_t z = small(fc_rng_at(pattern.seed, index) >> 32, 9, -4);
    int64_t scale = pattern.scale ? pattern.scale : 1;
    return (double)(pattern.offset + scale * z);
}

static double term(struct fc_pattern pattern, uint64_t index)
{
    uint64_t bits = fc_rng_at(pattern.seed, index);
    int64_t z = small(bits >> 32, 9, -4), k = small(bits & UINT32_MAX, 4, 2);
    bool turn = pattern.period == 0 || index % pattern.period == pattern.turn;
    return (double)(pattern.scale * z + (turn ? pattern.spike * k : pattern.rest));
}

/* RANDOM uses 24 bits, so that its values are exact in fp32 as well as in fp64. */
double fc_pattern_value(struct fc_pattern pattern, uint64_t index)
{
    index += pattern.base;
    switch (pattern.kind) {
    case FC_PATTERN_RANDOM:
        return (double)(fc_rng_at(pattern.seed, index) >> 40) * 0x1p-23 - 1.0;
    case FC_PATTERN_INTEGERS:
        return integer(pattern, index);
    case FC_PATTERN_TERMS:
        return term(pattern, index);
    case FC_PATTERN_CONSTANT:
        break;
    }
    return (double)pattern.seed;
}
