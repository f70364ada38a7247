// SPDX-License-Identifier: BSD-3-Clause
#include "training/model.h"

#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYERS_MAX = 4096,
    EDGE_MAX = 1 << 20,
    TOKENS_MAX = 1 << 22,
    BLOCK_LAYERS = 7,      /* q, k, v, o, gate, up, down */
    TOKENS_A_THREAD = 128, /* as much work a rank on any number of cores */
    TOKENS_MIN = 16,
    TINY_GRAIN = 32,
    CROWD_FROM = 4, /* ranks a core, from which on the work is made smaller */
};

/* A transformer layer: queries and output are hidden x hidden, keys and values
 * hidden x kv, the MLP hidden x mlp twice and back. */
struct preset {
    const char *name;
    int hidden, kv, mlp;
    int blocks, whole;
};

static const struct preset presets[] = {
    {"tiny", 384, 384, 1024, 2, 2},
    {"7b", 4096, 4096, 11008, 1, 32},
    {"70b", 8192, 1024, 28672, 1, 80},
};

static double crowd(const struct fc_model_fit *fit)
{
    double over = (double)fit->sharers / CROWD_FROM;
    return over > 1.0 ? over : 1.0;
}

static int rounded(double edge)
{
    int grains = (int)(edge / TINY_GRAIN + 0.5);
    return (grains > 0 ? grains : 1) * TINY_GRAIN;
}

static enum fc_status set_tokens(struct fc_model *model, const struct fc_model_fit *fit,
                                 struct fc_error *err)
{
    int64_t tokens = fit->tokens;
    if (tokens < 0 || tokens > TOKENS_MAX)
        return fc_fail(err, FC_USAGE, "--tokens: %lld is not within 1 and %d",
                       (long long)tokens, TOKENS_MAX);
    if (!tokens) {
        tokens = (int64_t)TOKENS_A_THREAD * (fit->threads > 0 ? fit->threads : 1);
        if (model->whole > model->blocks) /* real shapes cannot be made smaller */
            tokens = (int64_t)((double)tokens / (2.0 * crowd(fit)));
        tokens = tokens < TOKENS_MIN ? TOKENS_MIN : tokens;
    }
    model->tokens = tokens > TOKENS_MAX ? TOKENS_MAX : (int)tokens;
    return FC_OK;
}

static enum fc_status make_layers(struct fc_model *model, size_t layers,
                                  struct fc_error *err)
{
    model->layer = calloc(layers, sizeof *model->layer);
    if (!model->layer)
        return fc_fail(err, FC_NOMEM, "out of memory for %zu layers", layers);
    model->layers = layers;
    return FC_OK;
}

static void fill_blocks(struct fc_model *model, int hidden, int kv, int mlp)
{
    const struct fc_layer block[BLOCK_LAYERS] = {
        {hidden, hidden}, {hidden, kv},  {hidden, kv}, {hidden, hidden},
        {hidden, mlp},    {hidden, mlp}, {mlp, hidden}};
    for (size_t i = 0; i < model->layers; i++)
        model->layer[i] = block[i % BLOCK_LAYERS];
}

enum fc_status fc_model_preset(const char *name, const struct fc_model_fit *fit,
                               struct fc_model *out, struct fc_error *err)
{
    const struct preset *p = NULL;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(name, presets[i].name) == 0)
            p = &presets[i];
    if (!p)
        return fc_fail(err, FC_USAGE, "--preset: '%.60s' is none of %s", name,
                       FC_MODEL_PRESETS);
    struct fc_model model = {.blocks = p->blocks, .whole = p->whole};
    bool real = p->whole > p->blocks;
    double shrink = real ? 1.0 : sqrt(crowd(fit));
    enum fc_status status = set_tokens(&model, fit, err);
    if (status == FC_OK)
        status = make_layers(&model, (size_t)p->blocks * BLOCK_LAYERS, err);
    if (status != FC_OK)
        return status;
    fill_blocks(&model, rounded(p->hidden / shrink), rounded(p->kv / shrink),
                rounded(p->mlp / shrink));
    if (real)
        snprintf(model.variant, sizeof model.variant, "%s, %d of %d layers, %d tokens",
                 name, p->blocks, p->whole, model.tokens);
    else
        snprintf(model.variant, sizeof model.variant, "%s, %d tokens", name,
                 model.tokens);
    *out = model;
    return FC_OK;
}

/* "INxOUT", `bytes` long. */
static bool parse_layer(const char *text, size_t bytes, struct fc_layer *out)
{
    char copy[32];
    int64_t edge[2];
    if (bytes >= sizeof copy)
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    char *x = strchr(copy, 'x');
    if (!x)
        return false;
    *x = '\0';
    if (!fc_parse_int(copy, &edge[0]) || !fc_parse_int(x + 1, &edge[1]))
        return false;
    if (edge[0] < 1 || edge[0] > EDGE_MAX || edge[1] < 1 || edge[1] > EDGE_MAX)
        return false;
    *out = (struct fc_layer){(int)edge[0], (int)edge[1]};
    return true;
}

static enum fc_status parse_layers(struct fc_model *model, const char *text,
                                   struct fc_error *err)
{
    for (size_t i = 0; i < model->layers; i++) {
        size_t bytes = strcspn(text, ",");
        if (!parse_layer(text, bytes, &model->layer[i]))
            return fc_fail(err, FC_USAGE,
                           "--layers: '%.*s' is no layer: it takes INxOUT, both from "
                           "1 to %d",
                           bytes < 60 ? (int)bytes : 60, text, EDGE_MAX);
        text += bytes + (text[bytes] == ',');
    }
    return FC_OK;
}

enum fc_status fc_model_custom(const char *layers, const struct fc_model_fit *fit,
                               struct fc_model *out, struct fc_error *err)
{
    struct fc_model model = {.layers = 0};
    size_t count = 1;
    for (const char *at = layers; *at; at++)
        count += *at == ',';
    if (count > LAYERS_MAX)
        return fc_fail(err, FC_USAGE, "--layers: %zu layers are more than %d", count,
                       LAYERS_MAX);
    enum fc_status status = set_tokens(&model, fit, err);
    if (status == FC_OK)
        status = make_layers(&model, count, err);
    if (status == FC_OK)
        status = parse_layers(&model, layers, err);
    if (status != FC_OK) {
        fc_model_close(&model);
        return status;
    }
    snprintf(model.variant, sizeof model.variant, "custom, %zu layers, %d tokens",
             count, model.tokens);
    *out = model;
    return FC_OK;
}

void fc_model_close(struct fc_model *model)
{
    if (!model)
        return;
    free(model->layer);
    *model = (struct fc_model){.layers = 0};
}

size_t fc_layer_parameters(const struct fc_layer *layer)
{
    return (size_t)layer->in * (size_t)layer->out;
}

uint64_t fc_model_parameters(const struct fc_model *model)
{
    uint64_t parameters = 0;
    for (size_t i = 0; i < model->layers; i++)
        parameters += fc_layer_parameters(&model->layer[i]);
    return parameters;
}

double fc_model_flop(const struct fc_model *model)
{
    return 6.0 * model->tokens * (double)fc_model_parameters(model);
}
