// SPDX-License-Identifier: BSD-3-Clause
#include "core/rng.h"
#include "device/device.h"

/* RANDOM uses 24 bits, so that its values are exact in fp32 as well as in fp64. */
static double integer(struct fc_pattern pattern, uint64_t index)
{
    int64_t z = (int64_t)(((fc_rng_at(pattern.seed, index) >> 32) * 9) >> 32) - 4;
    int64_t scale = pattern.scale ? pattern.scale : 1;
    return (double)(pattern.offset + scale * z);
}

double fc_pattern_value(struct fc_pattern pattern, uint64_t index)
{
    switch (pattern.kind) {
    case FC_PATTERN_RANDOM:
        return (double)(fc_rng_at(pattern.seed, index) >> 40) * 0x1p-23 - 1.0;
    case FC_PATTERN_INTEGERS:
        return integer(pattern, index);
    case FC_PATTERN_CONSTANT:
        break;
    }
    return (double)pattern.seed;
}
