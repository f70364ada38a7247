// SPDX-License-Identifier: BSD-3-Clause
#include "training/plan.h"

#include "core/units.h"
#include "device/device.h"
#include "training/step.h"

/* A rank may use this part of its memory; the rest is left to MPI and to others. */
enum { MEMORY_PART = 2 };

struct plan {
    struct fc_run *run;
    const struct fc_training_settings *settings;
    struct fc_model *model;
    struct fc_buckets *buckets;
    struct fc_model_fit fit;
    uint64_t room;
};

/* The least cores and memory, the most sharers. Collective: yes. */
static enum fc_status agree_on_fit(struct plan *p, struct fc_error *err)
{
    struct fc_device *dev = p->run->device;
    struct fc_device_info info = {.threads = 0};
    enum fc_status status = dev ? dev->ops->info(dev, &info, err)
                                : fc_fail(err, FC_UNSUPPORTED, "it has no device");
    status = fc_rte_agree(p->run->rte, "training: device", status, err);
    if (status != FC_OK)
        return status;
    uint64_t room = info.memory_bytes; /* 0: unknown */
    int64_t most[] = {-(int64_t)info.threads,
                      room && room < INT64_MAX ? -(int64_t)room : -INT64_MAX,
                      p->run->sharers};
    status = fc_rte_max(p->run->rte, "training: size", most, 3, err);
    p->fit = (struct fc_model_fit){.threads = (int)-most[0],
                                   .sharers = (int)most[2],
                                   .tokens = p->settings->tokens};
    p->room = (uint64_t)-most[1] / MEMORY_PART;
    return status;
}

static enum fc_status make(struct plan *p, const char *preset, struct fc_error *err)
{
    const struct fc_training_settings *s = p->settings;
    fc_buckets_close(p->buckets);
    fc_model_close(p->model);
    enum fc_status status = s->layers
                                ? fc_model_custom(s->layers, &p->fit, p->model, err)
                                : fc_model_preset(preset, &p->fit, p->model, err);
    if (status != FC_OK)
        return status;
    return fc_buckets_open(p->model, s->bucket_bytes, p->run->rte->size, p->buckets,
                           err);
}

static bool fits(const struct plan *p)
{
    return fc_step_bytes(p->model, p->buckets) <= p->room;
}

/* The level's own choice is made smaller where it does not fit; a wish is not. */
static enum fc_status choose(struct plan *p, struct fc_error *err)
{
    const struct fc_training_settings *s = p->settings;
    bool own = !s->preset && !s->layers;
    bool large = own && p->run->settings->level >= FC_LEVEL_STANDARD;
    enum fc_status status = make(p, s->preset ? s->preset : large ? "7b" : "tiny", err);
    if (status == FC_OK && large && !fits(p))
        status = make(p, "tiny", err);
    if (status != FC_OK || fits(p))
        return status;
    return fc_fail(
        err, FC_NOMEM,
        "%s: a step needs %s of memory, more than the %s (half of what is available to "
        "the rank with the least) that it may use",
        p->model->variant, fc_format_size(fc_step_bytes(p->model, p->buckets)).s,
        fc_format_size(p->room).s);
}

enum fc_status fc_plan_model(struct fc_run *run,
                             const struct fc_training_settings *settings,
                             struct fc_model *model, struct fc_buckets *buckets,
                             struct fc_error *err)
{
    struct plan p = {
        .run = run, .settings = settings, .model = model, .buckets = buckets};
    if (settings->preset && settings->layers)
        return fc_fail(err, FC_USAGE,
                       "--preset '%.60s' and --layers exclude each other",
                       settings->preset);
    enum fc_status status = agree_on_fit(&p, err);
    if (status != FC_OK)
        return status;
    status = choose(&p, err);
    return fc_rte_agree(run->rte, "training: model", status, err);
}
