// SPDX-License-Identifier: BSD-3-Clause
/* Where parameters and gradients lie, and which of them are communicated together.
 *
 * One flat array holds all layers in reverse order, as the backward pass makes their
 * gradients, so that each bucket is contiguous. As in PyTorch's DDP a bucket is closed
 * by the layer that fills it (25 MiB there), and the first one, which nothing can hide
 * but the rest of the backward pass, is small (1 MiB). Buckets are padded so that each
 * rank has an equal shard of whole cache lines; a layer lies in one bucket.
 *
 * Pure. Collective: no. Refuses to know: what the bytes are, communicators.
 */
#ifndef FC_TRAINING_BUCKETS_H
#define FC_TRAINING_BUCKETS_H

#include "core/status.h"
#include "training/model.h"

#define FC_BUCKET_BYTES ((uint64_t)25 << 20)
#define FC_BUCKET_FIRST_BYTES ((uint64_t)1 << 20)

struct fc_bucket {
    size_t at;            /* its first element in the flat array */
    size_t elements;      /* with the padding: a multiple of the ranks */
    size_t lowest, count; /* its layers: lowest + count - 1 down to lowest */
};

struct fc_buckets {
    struct fc_bucket *bucket; /* in the order of the backward pass */
    size_t count;
    size_t *layer_at; /* [layers] each one's first element */
    size_t elements;  /* of the flat array */
    int ranks;
};

/* Elements are fp32. `limit_bytes` 0: FC_BUCKET_BYTES. Ownership: fc_buckets_close. */
enum fc_status fc_buckets_open(const struct fc_model *model, uint64_t limit_bytes,
                               int ranks, struct fc_buckets *out,
                               struct fc_error *err) FC_MUST_USE;
/* NULL-safe. */
void fc_buckets_close(struct fc_buckets *buckets);

#endif
