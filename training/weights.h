// SPDX-License-Identifier: BSD-3-Clause
/* Are the replicas' weights still the same, bit for bit? After a step they must be: all
 * ranks began alike and took the same averaged gradients. So a bit that flips in
 * memory, on the way or in an update shows, and the layer where. What all replicas got
 * alike does not: a wrong product goes into everyone's average, and a sharded update's
 * fault is gathered by all.
 * Pure. Collective: no. Refuses to know: how hashes travel, records.
 */
#ifndef FC_TRAINING_WEIGHTS_H
#define FC_TRAINING_WEIGHTS_H

#include "training/buckets.h"
#include "training/model.h"

/* Hashes each layer of `weights` (host memory) into out_layer[layers]; returns the hash
 * of those. `*out_bad` is the first layer (forward order) that holds NaN or infinity,
 * or -1. */
uint64_t fc_weights_hash(const float *weights, const struct fc_model *model,
                         const struct fc_buckets *buckets, uint64_t *out_layer,
                         int64_t *out_bad);

/* The lowest rank of those, more than half, that have the same hash; -1: there is no
 * such majority. `stride`: ranks' hashes are so many apart. */
int fc_weights_majority(const uint64_t *hash, int ranks, size_t stride);

#endif
