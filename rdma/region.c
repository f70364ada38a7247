// SPDX-License-Identifier: BSD-3-Clause
/* Registered memory, kept from lane to lane: pinning pages outlasts a round. */
#include "core/worker.h"
#include "rdma/lane.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, WORDS_BYTES = 2 * FC_LANE_WORDS * FC_LANE_WORD_BYTES };
#define RING_MIN ((uint64_t)64 << 10)

static uint64_t ring_of(const struct fc_lane_plan *plan)
{
    uint64_t bytes = plan->max_bytes < RING_MIN ? RING_MIN : plan->max_bytes;
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static bool fits(const struct fc_region *region, const struct fc_hca *hca,
                 const struct fc_lane_plan *plan)
{
    return !region->taken && region->hca == hca &&
           strcmp(region->data.ops->name, plan->memory) == 0 &&
           region->relaxed == plan->relaxed_ordering &&
           region->ring_bytes >= ring_of(plan);
}

/* What SRD cannot do remotely must not be asked for. */
static unsigned access_of(const struct fc_hca *hca, const struct fc_lane_plan *plan)
{
    unsigned access = IBV_ACCESS_LOCAL_WRITE;
    if (!hca->srd || hca->srd_read)
        access |= IBV_ACCESS_REMOTE_READ;
    if (!hca->srd || hca->srd_write)
        access |= IBV_ACCESS_REMOTE_WRITE;
    return plan->relaxed_ordering ? access | IBV_ACCESS_RELAXED_ORDERING : access;
}

static enum fc_status fill_region(struct fc_region *region,
                                  const struct fc_lane_plan *plan,
                                  struct fc_worker_call *call, struct fc_error *err)
{
    const struct fc_hca *hca = region->hca;
    int numa = plan->numa >= 0 ? plan->numa : hca->numa;
    enum fc_status status = region->data.ops->alloc(
        &region->data, (size_t)(2 * region->ring_bytes), numa, err);
    if (status == FC_OK)
        status = fc_rdma_register(hca->pd, &region->data, access_of(hca, plan),
                                  hca->name, call, &region->data_mr, err);
    if (status == FC_OK)
        status = region->words.ops->alloc(&region->words, WORDS_BYTES, numa, err);
    if (status == FC_OK)
        status = fc_rdma_register(hca->pd, &region->words, IBV_ACCESS_LOCAL_WRITE,
                                  hca->name, call, &region->words_mr, err);
    return status;
}

enum fc_status fc_region_take(struct fc_verbs *verbs, struct fc_hca *hca,
                              const struct fc_lane_plan *plan,
                              struct fc_worker_call *call, struct fc_region **out,
                              struct fc_error *err)
{
    const struct fc_rdma_memory_ops *kind = fc_rdma_memory_find(plan->memory);
    if (!kind)
        return fc_fail(err, FC_UNSUPPORTED, "this worker has no memory '%.15s'",
                       plan->memory);
    for (struct fc_region *r = verbs->regions; r; r = r->next)
        if (fits(r, hca, plan)) {
            r->taken = true;
            *out = r;
            return FC_OK;
        }
    struct fc_region *region = calloc(1, sizeof *region);
    if (!region)
        return fc_fail(err, FC_NOMEM, "no memory for a lane");
    region->hca = hca;
    region->data.ops = kind;
    region->words.ops = &fc_rdma_host_memory;
    region->relaxed = plan->relaxed_ordering;
    region->ring_bytes = ring_of(plan);
    enum fc_status status = fill_region(region, plan, call, err);
    if (status != FC_OK) {
        fc_region_free(region, call);
        return status;
    }
    region->taken = true;
    region->next = verbs->regions;
    verbs->regions = region;
    *out = region;
    return FC_OK;
}

void fc_region_free(struct fc_region *region, struct fc_worker_call *call)
{
    fc_worker_note(call, "ibv_dereg_mr");
    if (region->words_mr.mr)
        (void)ibv_dereg_mr(region->words_mr.mr);
    if (region->data_mr.mr)
        (void)ibv_dereg_mr(region->data_mr.mr);
    if (region->words.at)
        region->words.ops->free(&region->words);
    if (region->data.at)
        region->data.ops->free(&region->data);
    free(region);
}
