// SPDX-License-Identifier: BSD-3-Clause
#include "training/replicas.h"

#include "training/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fc_status fc_replicas_open(struct fc_replicas *replicas, struct fc_run *run,
                                const struct fc_step *step, struct fc_error *err)
{
    size_t layers = step->model->layers, ranks = (size_t)run->rte->size;
    *replicas = (struct fc_replicas){.run = run, .step = step};
    replicas->own = calloc(layers, sizeof *replicas->own);
    replicas->all = calloc(ranks * layers, sizeof *replicas->all);
    if (!replicas->own || !replicas->all)
        return fc_fail(err, FC_NOMEM, "out of memory for the hashes of %zu layers",
                       layers);
    return FC_OK;
}

void fc_replicas_close(struct fc_replicas *replicas)
{
    free(replicas->own);
    free(replicas->all);
    *replicas = (struct fc_replicas){.run = NULL};
}

uint64_t fc_replicas_hash(struct fc_replicas *replicas, int64_t *out_bad)
{
    const struct fc_step *step = replicas->step;
    return fc_weights_hash(step->weights, step->model, step->buckets, replicas->own,
                           out_bad);
}

/* Whether any rank's layer is unlike that of `reference`: the same answer on all. */
static bool layer_differs(const struct fc_replicas *p, size_t layer, int reference)
{
    size_t layers = p->step->model->layers;
    const uint64_t *hash = p->all + layer;
    for (int r = 0; r < p->run->rte->size; r++)
        if (hash[(size_t)r * layers] != hash[(size_t)reference * layers])
            return true;
    return false;
}

static int64_t count_unlike(const float *a, const float *b, size_t count)
{
    int64_t unlike = 0;
    for (size_t i = 0; i < count; i++)
        unlike += memcmp(&a[i], &b[i], sizeof *a) != 0;
    return unlike;
}

/* Elements of this rank that are unlike the reference's, which sends its weights of the
 * layers that differ; at least 1 where its hash differs. Collective: yes. */
static int64_t count_elements(const struct fc_replicas *p, int reference, bool differs)
{
    const struct fc_step *step = p->step;
    struct fc_comm *world = p->run->world;
    int64_t unlike = 0;
    bool sent = true;
    for (size_t l = 0; l < step->model->layers && sent; l++) {
        size_t at = step->buckets->layer_at[l];
        size_t count = fc_layer_parameters(&step->model->layer[l]);
        struct fc_coll_args args = {.op = FC_COLL_BROADCAST,
                                    .dtype = FC_DTYPE_FP32,
                                    .root = reference,
                                    .send = step->weights + at,
                                    .recv = step->gradients + at,
                                    .count = count};
        struct fc_error unused;
        bool done = false;
        if (!layer_differs(p, l, reference))
            continue;
        fc_watchdog_push(p->run->watchdog, "training: weights of a layer that differs",
                         FC_WAIT_COLLECTIVE, p->run->settings->work_ns);
        sent = world->ops->enqueue(world, &args, &unused) == FC_OK;
        while (sent && !done)
            sent = world->ops->poll(world, &done, &unused) == FC_OK;
        fc_watchdog_pop(p->run->watchdog);
        if (sent)
            unlike += count_unlike(step->weights + at, step->gradients + at, count);
    }
    return differs && !unlike ? 1 : unlike;
}

static size_t first_difference(const struct fc_replicas *p, int reference)
{
    size_t layers = p->step->model->layers, layer = 0;
    while (layer + 1 < layers && !layer_differs(p, layer, reference))
        layer++;
    return layer;
}

static size_t own_first_difference(const struct fc_replicas *p, int reference)
{
    size_t layers = p->step->model->layers, layer = 0;
    const uint64_t *right = p->all + (size_t)reference * layers;
    while (layer + 1 < layers && p->own[layer] == right[layer])
        layer++;
    return layer;
}

static void blame_nobody(const struct fc_replicas *p, struct fc_replica_fault *out,
                         int64_t step_number, const char *what, size_t layer)
{
    out->nobody = true;
    fc_fail(&out->text, FC_WRONG, "step %lld: %s, first in layer %zu of %zu",
            (long long)step_number, what, layer + 1, p->step->model->layers);
}

/* Collective: yes, when hashes differ, which all ranks see. */
static enum fc_status tell(struct fc_replicas *p, int reference, bool differs,
                           int64_t step_number, struct fc_replica_fault *out,
                           struct fc_error *err)
{
    struct fc_rte *rte = p->run->rte;
    bool majority = reference >= 0;
    reference = majority ? reference : 0;
    out->any = true;
    out->elements = count_elements(p, reference, differs);
    if (!majority) {
        blame_nobody(p, out, step_number,
                     rte->size == 2
                         ? "the weights of the two replicas differ, and two cannot "
                           "tell whose are wrong"
                         : "the replicas' weights differ, and no more than half of "
                           "them agree",
                     first_difference(p, reference));
        return fc_rte_max(rte, "training: wrong elements", &out->elements, 1, err);
    }
    out->own = differs;
    if (differs)
        fc_fail(&out->text, FC_WRONG,
                "step %lld: rank %d's weights differ from the other replicas', first "
                "in layer %zu of %zu",
                (long long)step_number, rte->rank,
                own_first_difference(p, reference) + 1, p->step->model->layers);
    return FC_OK;
}

enum fc_status fc_replicas_compare(struct fc_replicas *replicas, const uint64_t *hash,
                                   size_t stride, int64_t bad, int64_t step_number,
                                   struct fc_replica_fault *out, struct fc_error *err)
{
    struct fc_rte *rte = replicas->run->rte;
    size_t layers = replicas->step->model->layers;
    bool same = true;
    for (int r = 1; r < rte->size; r++)
        same = same && hash[(size_t)r * stride] == hash[0];
    if (same && bad < 0)
        return FC_OK;
    if (same) {
        out->any = true;
        out->elements = 1;
        blame_nobody(replicas, out, step_number, "the weights hold NaN or infinity",
                     (size_t)bad);
        return FC_OK;
    }
    int most = fc_weights_majority(hash, rte->size, stride);
    size_t mine = (size_t)rte->rank * stride;
    bool differs = hash[mine] != hash[(size_t)(most < 0 ? 0 : most) * stride];
    enum fc_status status =
        fc_rte_allgather(rte, "training: hashes of layers", replicas->own,
                         layers * sizeof *replicas->own, replicas->all, err);
    return status == FC_OK ? tell(replicas, most, differs, step_number, out, err)
                           : status;
}
