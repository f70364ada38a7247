// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/pairs_rank.h"

#include <stdio.h>
#include <stdlib.h>

uint32_t fc_pairs_members(const struct fc_rte *rte)
{
    return (uint32_t)(rte->nodes > 1 ? rte->nodes : rte->size);
}

static void choose_members(struct fc_pairs_rank *p)
{
    const struct fc_rte *rte = p->run->rte;
    p->me = -1;
    for (int r = 0; r < rte->size; r++) {
        bool chosen = rte->nodes == 1 || rte->place[r].local_rank == 0;
        int member = rte->nodes == 1 ? r : rte->place[r].node;
        if (chosen)
            p->rank_of[member] = r;
        if (chosen && r == rte->rank)
            p->me = member;
    }
}

static enum fc_status open_buffers(struct fc_pairs_rank *p, struct fc_error *err)
{
    struct fc_device *dev = p->run->device;
    enum fc_status status = dev->ops->stream_open(dev, &p->stream, err);
    if (status == FC_OK)
        status = dev->ops->alloc(dev, p->room, &p->send, err);
    if (status == FC_OK)
        status = dev->ops->alloc(dev, p->room, &p->recv, err);
    return status == FC_OK ? fc_path_open("", &p->watch, err) : status;
}

enum fc_status fc_pairs_rank_open(struct fc_run *run, size_t room,
                                  struct fc_pairs_rank *out, struct fc_error *err)
{
    *out = (struct fc_pairs_rank){
        .run = run, .members = fc_pairs_members(run->rte), .me = -1, .room = room};
    out->rank_of = calloc(out->members, sizeof *out->rank_of);
    if (!out->rank_of)
        return fc_fail(err, FC_NOMEM, "out of memory for the members of pairs");
    choose_members(out);
    enum fc_status status =
        fc_schedule_open(&out->schedule, out->members, run->seed, err);
    return status == FC_OK && out->me >= 0 ? open_buffers(out, err) : status;
}

void fc_pairs_rank_close(struct fc_pairs_rank *p)
{
    if (p->send)
        p->run->device->ops->free(p->run->device, p->send, p->room);
    if (p->recv)
        p->run->device->ops->free(p->run->device, p->recv, p->room);
    if (p->stream)
        p->run->device->ops->stream_close(p->run->device, p->stream);
    fc_path_close(p->watch);
    fc_schedule_close(&p->schedule);
    free(p->rank_of);
}

void fc_pairs_rank_measure(struct fc_pairs_rank *p, const struct fc_pair_plan *plan,
                           int64_t peer, struct fc_pair_result *out,
                           struct fc_path *out_path)
{
    struct fc_run *run = p->run;
    const struct fc_rte *rte = run->rte;
    int peer_rank = p->rank_of[peer];
    bool one_node = rte->place[peer_rank].node == rte->node;
    struct fc_pair pair = {.comm = run->world,
                           .control = run->world,
                           .peer = peer_rank,
                           .control_peer = peer_rank,
                           .first = rte->rank < peer_rank,
                           .rank = rte->rank,
                           .peer_rank = peer_rank,
                           .device = run->device,
                           .stream = p->stream,
                           .send = p->send,
                           .recv = p->recv};
    char name[64];
    if (rte->nodes > 1)
        snprintf(name, sizeof name, "pairs round %u with %.30s", plan->round,
                 rte->node_name[peer]);
    else
        snprintf(name, sizeof name, "pairs round %u with rank %d", plan->round,
                 peer_rank);
    fc_watchdog_push(run->watchdog, name, FC_WAIT_COLLECTIVE, run->settings->work_ns);
    fc_path_begin(p->watch);
    fc_pair_measure(&pair, plan, out);
    fc_path_end(p->watch, out->payload, fc_path_span(one_node, run->one_kernel),
                out_path);
    fc_watchdog_pop(run->watchdog);
}
