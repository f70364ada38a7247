// SPDX-License-Identifier: BSD-3-Clause
#include "training/buckets.h"

#include <stdlib.h>

enum { LINE_ELEMENTS = 16 };

static size_t padded(size_t elements, int ranks)
{
    size_t grain = (size_t)ranks * LINE_ELEMENTS;
    return (elements + grain - 1) / grain * grain;
}

enum fc_status fc_buckets_open(const struct fc_model *model, uint64_t limit_bytes,
                               int ranks, struct fc_buckets *out, struct fc_error *err)
{
    struct fc_buckets b = {.ranks = ranks};
    struct fc_bucket now = {.at = 0};
    uint64_t most = limit_bytes ? limit_bytes : FC_BUCKET_BYTES;
    b.bucket = calloc(model->layers, sizeof *b.bucket);
    b.layer_at = calloc(model->layers, sizeof *b.layer_at);
    if (!b.bucket || !b.layer_at) {
        fc_buckets_close(&b);
        return fc_fail(err, FC_NOMEM, "out of memory for the buckets");
    }
    for (size_t layer = model->layers; layer-- > 0;) {
        bool first = b.count == 0 && most > FC_BUCKET_FIRST_BYTES;
        b.layer_at[layer] = now.at + now.elements;
        now.elements += fc_layer_parameters(&model->layer[layer]);
        now.lowest = layer;
        now.count++;
        if (layer > 0 &&
            now.elements * sizeof(float) < (first ? FC_BUCKET_FIRST_BYTES : most))
            continue;
        now.elements = padded(now.elements, ranks);
        b.bucket[b.count++] = now;
        now = (struct fc_bucket){.at = now.at + now.elements};
    }
    b.elements = now.at;
    *out = b;
    return FC_OK;
}

void fc_buckets_close(struct fc_buckets *buckets)
{
    if (!buckets)
        return;
    free(buckets->bucket);
    free(buckets->layer_at);
    *buckets = (struct fc_buckets){.count = 0};
}
