// SPDX-License-Identifier: BSD-3-Clause
#include "training/weights.h"

#include <string.h>

#include <xxhash.h>

/* A float is finite unless its exponent is all ones. On bits, so that no option of the
 * compiler that forgets NaN can make it blind. */
static bool all_finite(const float *x, size_t count)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return !bad;
}

/* In pieces that stay in the cache between the two readings. */
static uint64_t hash_layer(const float *x, size_t count, bool *out_finite)
{
    enum { PIECE = 16384 };
    uint64_t hash = 0;
    *out_finite = true;
    for (size_t at = 0; at < count; at += PIECE) {
        size_t n = count - at < PIECE ? count - at : PIECE;
        hash = XXH3_64bits_withSeed(x + at, n * sizeof *x, hash);
        *out_finite = all_finite(x + at, n) && *out_finite;
    }
    return hash;
}

uint64_t fc_weights_hash(const float *weights, const struct fc_model *model,
                         const struct fc_buckets *buckets, uint64_t *out_layer,
                         int64_t *out_bad)
{
    *out_bad = -1;
    for (size_t i = model->layers; i-- > 0;) {
        bool finite;
        out_layer[i] = hash_layer(weights + buckets->layer_at[i],
                                  fc_layer_parameters(&model->layer[i]), &finite);
        if (!finite)
            *out_bad = (int64_t)i;
    }
    return XXH3_64bits(out_layer, model->layers * sizeof *out_layer);
}

/* Boyer and Moore's vote leaves the only one that can have a majority. */
int fc_weights_majority(const uint64_t *hash, int ranks, size_t stride)
{
    int candidate = 0, votes = 0, have = 0, lowest = -1;
    for (int r = 0; r < ranks; r++) {
        if (votes == 0)
            candidate = r;
        votes += hash[(size_t)r * stride] == hash[(size_t)candidate * stride] ? 1 : -1;
    }
    for (int r = ranks - 1; r >= 0; r--)
        if (hash[(size_t)r * stride] == hash[(size_t)candidate * stride]) {
            have++;
            lowest = r;
        }
    return 2 * have > ranks ? lowest : -1;
}
