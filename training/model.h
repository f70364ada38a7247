// SPDX-License-Identifier: BSD-3-Clause
/* What is trained: a list of linear layers, each `in` x `out`, and the tokens that a
 * rank takes through them in a step. Presets have the real shapes of known models, but
 * only as many of their layers as a host can step through; `variant` says how many.
 *
 * Pure: what it is given, it must be given alike on all ranks. Collective: no.
 * Refuses to know: devices, memory, ranks.
 */
#ifndef FC_TRAINING_MODEL_H
#define FC_TRAINING_MODEL_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FC_MODEL_PRESETS "tiny|7b|70b"

struct fc_layer {
    int in, out;
};

struct fc_model {
    char variant[64]; /* "7b, 1 of 32 layers, 128 tokens" */
    struct fc_layer *layer;
    size_t layers;
    int tokens;        /* of one rank in one step */
    int blocks, whole; /* transformer layers: here, and in the real model; or 0 */
};

/* What a model is made to fit. */
struct fc_model_fit {
    int threads;    /* cores of a rank's device */
    int sharers;    /* ranks that share a core */
    int64_t tokens; /* 0: as many as the cores work through in a reasonable time */
};

/* `name` is one of FC_MODEL_PRESETS, else FC_USAGE. Ownership: fc_model_close. */
enum fc_status fc_model_preset(const char *name, const struct fc_model_fit *fit,
                               struct fc_model *out, struct fc_error *err) FC_MUST_USE;
/* Layers as "512x2048,2048x512"; FC_USAGE names what cannot be read. Ownership:
 * fc_model_close. */
enum fc_status fc_model_custom(const char *layers, const struct fc_model_fit *fit,
                               struct fc_model *out, struct fc_error *err) FC_MUST_USE;
/* NULL-safe. */
void fc_model_close(struct fc_model *model);

size_t fc_layer_parameters(const struct fc_layer *layer);
uint64_t fc_model_parameters(const struct fc_model *model);
/* Of one rank in one step: three products of 2 * tokens * parameters each. */
double fc_model_flop(const struct fc_model *model);

#endif
