// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/side.h"

#include "core/clock.h"
#include "core/rng.h"
#include "core/worker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 64, PLACES_MAX = 16, BEATS_A_PATIENCE = 8 };
#define PATIENCE_NS (5 * FC_NS_PER_S)
/* Before the rank gives the worker up: for the others' last words, and checks. */
#define LEFT_NS(plan) (fc_transfer_limit_ns(plan) / 5)

/* ---- layout ---- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void lay_out(struct fc_side *side)
{
    const struct fc_lane *lane = side->lane;
    uint64_t ring = smaller(lane->own.ring_bytes, lane->peer.ring_bytes);
    side->stride = (side->plan->bytes + LINE - 1) / LINE * LINE;
    uint64_t places = side->plan->latency ? 1 : ring / side->stride;
    side->places = (uint32_t)(places < 1            ? 1
                              : places > PLACES_MAX ? PLACES_MAX
                                                    : places);
    side->same_everywhere = !lane->transport->ordered && side->plan->op == FC_RDMA_SEND;
    side->by_completion =
        side->plan->op == FC_RDMA_READ ||
        (side->plan->op == FC_RDMA_WRITE &&
         (!lane->transport->ordered || !lane->region->data.ops->host_visible));
}

static uint64_t offset_of(const struct fc_side *side, uint64_t m)
{
    return m % side->places * side->stride;
}

/* Of the data that `sender` sends in this measurement. */
static uint64_t stream_of(const struct fc_side *side,
                          const struct fc_endpoint_info *sender)
{
    uint64_t seed = fc_rng_at(side->plan->data_seed, side->plan->round);
    return fc_rng_at(seed ^ sender->tag, side->plan->bytes);
}

static uint64_t at_of(const struct fc_side *side, uint32_t place)
{
    return side->same_everywhere ? 0 : place * side->stride;
}

struct fc_post fc_side_post(const struct fc_side *side, uint64_t m, uint64_t id,
                            bool signaled)
{
    const struct fc_lane *lane = side->lane;
    enum fc_rdma_op op = side->plan->op;
    uint64_t offset = offset_of(side, m);
    bool reads = op == FC_RDMA_READ;
    return (struct fc_post){
        .id = id,
        .op = op,
        .local = (reads ? fc_lane_target(lane) : fc_lane_source(lane)) + offset,
        .remote = (reads ? lane->peer.source : lane->peer.target) + offset,
        .bytes = (uint32_t)side->plan->bytes,
        .lkey = lane->region->data_mr.mr->lkey,
        .signaled = signaled || lane->transport->signal_all,
        .inlined = !reads && side->plan->bytes <= lane->max_inline &&
                   lane->region->data.ops->host_visible &&
                   (lane->transport->ordered || op == FC_RDMA_SEND)};
}

struct fc_receive fc_side_receive(const struct fc_side *side, uint64_t m, uint64_t id)
{
    const struct fc_lane *lane = side->lane;
    return (struct fc_receive){.id = id,
                               .at = fc_lane_target(lane) + offset_of(side, m),
                               .bytes = (uint32_t)side->plan->bytes,
                               .lkey = lane->region->data_mr.mr->lkey};
}

bool fc_side_takes(const struct fc_side *side)
{
    bool answers = side->plan->latency && !side->by_completion; /* a ping comes back */
    enum fc_lane_role taker =
        side->plan->op == FC_RDMA_READ ? FC_LANE_INITIATES : FC_LANE_SERVES;
    return answers || (side->role & taker) != 0;
}

static bool gives(const struct fc_side *side)
{
    bool answers = side->plan->latency && !side->by_completion;
    enum fc_lane_role giver =
        side->plan->op == FC_RDMA_READ ? FC_LANE_SERVES : FC_LANE_INITIATES;
    return answers || (side->role & giver) != 0;
}

/* ---- begin ---- */

static enum fc_status check_lane(const struct fc_side *side, struct fc_error *err)
{
    const struct fc_lane *lane = side->lane;
    const struct fc_transfer_plan *plan = side->plan;
    const char *op = fc_rdma_op_name(plan->op);
    if (!lane->connected)
        return fc_fail(err, FC_FAILED, "%s is not connected", lane->name);
    if (lane->failed.status != IBV_WC_SUCCESS)
        return fc_fail(err, FC_FAILED,
                       "%s -> %s has failed before and was not opened "
                       "anew",
                       lane->name, lane->peer.name);
    if (!(lane->ops & lane->peer.ops & 1u << plan->op))
        return fc_fail(err, FC_UNSUPPORTED, "%s -> %s: %s has no %s", lane->name,
                       lane->peer.name, lane->transport->name, op);
    if (plan->bytes > lane->max_message[plan->op])
        return fc_fail(
            err, FC_UNSUPPORTED, "%s -> %s: a %s of %llu bytes, where %s carries %llu",
            lane->name, lane->peer.name, op, (unsigned long long)plan->bytes,
            lane->transport->name, (unsigned long long)lane->max_message[plan->op]);
    if (plan->bytes == 0 ||
        plan->bytes > smaller(lane->own.ring_bytes, lane->peer.ring_bytes))
        return fc_fail(err, FC_USAGE, "%s -> %s: %llu bytes do not fit the buffers",
                       lane->name, lane->peer.name, (unsigned long long)plan->bytes);
    return FC_OK;
}

static enum fc_status prepare(struct fc_side *side, struct fc_error *err)
{
    struct fc_region *region = side->lane->region;
    const struct fc_rdma_memory_ops *ops = region->data.ops;
    enum fc_status status = FC_OK;
    fc_worker_note(side->lane->call, "fill of the buffers");
    for (uint32_t p = 0; p < side->places && status == FC_OK; p++) {
        uint64_t offset = p * side->stride;
        size_t bytes = (size_t)side->plan->bytes;
        if (gives(side))
            status = ops->fill(&region->data, offset, bytes,
                               stream_of(side, &side->lane->own), at_of(side, p), false,
                               err);
        if (status == FC_OK && fc_side_takes(side))
            status = ops->fill(&region->data, region->ring_bytes + offset, bytes,
                               stream_of(side, &side->lane->peer), at_of(side, p), true,
                               err);
    }
    fc_worker_note(side->lane->call, "transfer");
    return status;
}

void fc_side_open(struct fc_side *side, struct fc_lane *lane,
                  const struct fc_transfer_plan *plan, enum fc_lane_role role,
                  struct fc_lane_result *out)
{
    struct fc_error why = {""};
    *side = (struct fc_side){.lane = lane, .plan = plan, .role = role, .out = out};
    *out = (struct fc_lane_result){
        .bw_GBps = NAN, .average_GBps = NAN, .peak_GBps = NAN, .messages_per_s = NAN};
    side->patience_ns = plan->patience_ns ? plan->patience_ns : PATIENCE_NS;
    enum fc_status status = check_lane(side, &why);
    if (status == FC_OK) {
        lay_out(side);
        status = prepare(side, &why);
    }
    side->heard_ns = side->said_ns = fc_now_ns();
    side->end_ns = side->heard_ns + fc_transfer_limit_ns(plan) - LEFT_NS(plan);
    if (status != FC_OK)
        fc_side_fail(side, status, &why);
}

/* ---- faults ---- */

void fc_side_fail(struct fc_side *side, enum fc_status status,
                  const struct fc_error *why)
{
    struct fc_lane *lane = side->lane;
    struct fc_lane_result *out = side->out;
    if (side->failed)
        return;
    side->failed = true;
    out->status = status;
    out->wc_status = (int)lane->failed.status;
    out->vendor_error = lane->failed.vendor_err;
    out->reopen = true; /* what is on its way would meet the next measurement */
    snprintf(out->reason, sizeof out->reason, "%.300s", why->text);
    if (lane->connected) {
        enum fc_status said = fc_words_say(lane, side->plan->round, FC_STEP_FAILED,
                                           status, (uint64_t)out->wc_status, NULL);
        (void)said; /* the lane may be dead; the peer then finds that out itself */
    }
}

static void peer_failed(struct fc_side *side, const struct fc_word *word)
{
    struct fc_error why;
    const struct fc_lane *lane = side->lane;
    enum fc_status status =
        word->a > FC_OK && word->a <= FC_LOST ? (enum fc_status)word->a : FC_FAILED;
    if (word->b > 0 && word->b <= IBV_WC_TM_RNDV_INCOMPLETE)
        (void)fc_fail(&why, status, "%s: its peer %s gave up: %s (%d)", lane->name,
                      lane->peer.name, ibv_wc_status_str((enum ibv_wc_status)word->b),
                      (int)word->b);
    else
        (void)fc_fail(&why, status, "%s: its peer %s gave up (%s)", lane->name,
                      lane->peer.name, fc_status_name(status));
    fc_side_fail(side, status, &why);
}

uint64_t fc_side_kind(const struct fc_side *side)
{
    return (uint64_t)side->plan->op << 1 | side->plan->latency;
}

/* ---- words ---- */

bool fc_side_say(struct fc_side *side, enum fc_step step, uint64_t a, uint64_t b)
{
    struct fc_error why;
    if (side->failed)
        return false;
    enum fc_status status =
        fc_words_say(side->lane, side->plan->round, step, a, b, &why);
    side->said_ns = fc_now_ns();
    if (status != FC_OK)
        fc_side_fail(side, status, &why);
    return status == FC_OK;
}

static void out_of_step(struct fc_side *side, const struct fc_word *word)
{
    struct fc_error why;
    const struct fc_lane *lane = side->lane;
    enum fc_status status = fc_fail(
        &why, FC_FAILED,
        "%s and %s are out of step: round %u step %u of %llu bytes, and round %u of "
        "%llu bytes",
        lane->peer.name, lane->name, word->round, word->step,
        (unsigned long long)word->a, side->plan->round,
        (unsigned long long)side->plan->bytes);
    fc_side_fail(side, status, &why);
}

bool fc_side_hear(struct fc_side *side, struct fc_word *out, bool *out_heard)
{
    struct fc_error why;
    *out_heard = false;
    if (side->failed)
        return false;
    enum fc_status status = fc_words_hear(side->lane, out, out_heard, &why);
    if (status != FC_OK) {
        fc_side_fail(side, status, &why);
        return false;
    }
    if (!*out_heard)
        return true;
    side->heard_ns = fc_now_ns();
    if (out->round != side->plan->round ||
        (out->step == FC_STEP_READY &&
         (out->a != side->plan->bytes || out->b != fc_side_kind(side))))
        out_of_step(side, out);
    else if (out->step == FC_STEP_FAILED)
        peer_failed(side, out);
    return !side->failed;
}

bool fc_side_watch(struct fc_side *side, uint64_t now_ns, uint64_t since_ns,
                   const char *doing)
{
    struct fc_error why;
    if (side->failed)
        return false;
    enum fc_status status = FC_OK;
    /* A stamp that was taken after `now_ns` was read is young. */
    if (now_ns > since_ns && now_ns - since_ns > side->patience_ns)
        status = fc_fail(&why, FC_TIMEOUT, "%s -> %s: nothing moved for %.1f s (%s)",
                         side->lane->name, side->lane->peer.name,
                         (double)(now_ns - since_ns) / 1e9, doing);
    else if (now_ns > side->end_ns)
        status = fc_fail(&why, FC_TIMEOUT,
                         "%s -> %s: too slow for the time that there was (%s)",
                         side->lane->name, side->lane->peer.name, doing);
    if (status != FC_OK)
        fc_side_fail(side, status, &why);
    return status == FC_OK;
}

bool fc_side_beat(struct fc_side *side, uint64_t now_ns)
{
    if (now_ns <= side->said_ns ||
        now_ns - side->said_ns <= side->patience_ns / BEATS_A_PATIENCE)
        return !side->failed;
    return fc_side_say(side, FC_STEP_BEAT, 0, 0);
}

/* ---- verification ---- */

static void found_wrong(struct fc_side *side, uint32_t place, uint64_t first)
{
    struct fc_error why;
    struct fc_lane_result *out = side->out;
    (void)fc_fail(&why, FC_WRONG,
                  "%s <- %s: %llu of %llu bytes of a %s are wrong, the first at offset "
                  "%llu of the message in place %u",
                  side->lane->name, side->lane->peer.name,
                  (unsigned long long)out->wrong, (unsigned long long)out->checked,
                  fc_rdma_op_name(side->plan->op), (unsigned long long)first, place);
    out->status = FC_WRONG;
    snprintf(out->reason, sizeof out->reason, "%.300s", why.text);
}

void fc_side_verify(struct fc_side *side, uint64_t messages, uint64_t bytes)
{
    struct fc_region *region = side->lane->region;
    struct fc_error why = {""};
    enum fc_status status = FC_OK;
    uint32_t used = (uint32_t)smaller(messages, side->places), bad_place = 0;
    uint64_t first = 0;
    if (side->failed || !fc_side_takes(side))
        return;
    fc_worker_note(side->lane->call, "check of the buffers");
    for (uint32_t p = 0; p < used && status == FC_OK; p++) {
        uint64_t wrong = 0, at = 0;
        status = region->data.ops->check(
            &region->data, region->ring_bytes + p * side->stride, (size_t)bytes,
            stream_of(side, &side->lane->peer), at_of(side, p), &wrong, &at, &why);
        if (wrong && side->out->wrong == 0) {
            bad_place = p;
            first = at;
        }
        side->out->checked += bytes;
        side->out->wrong += wrong;
    }
    side->out->first_wrong = first;
    if (status != FC_OK)
        fc_side_fail(side, status, &why);
    else if (side->out->wrong)
        found_wrong(side, bad_place, first);
}
