// SPDX-License-Identifier: BSD-3-Clause
#include "config.h"

#include "rdma/lane.h"

#include "core/clock.h"
#include "core/rng.h"
#include "core/worker.h"
#include "rdma/lane_cm.h"
#include "rdma/words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MTU_MIN = 256, PSN_MASK = 0xffffff, INLINE_WANTED = 220 };

/* ---- what the port is ---- */

static int mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

enum ibv_mtu fc_lane_mtu_code(const struct fc_lane *lane)
{
    enum ibv_mtu code = IBV_MTU_256;
    while (code < IBV_MTU_4096 && mtu_bytes(code + 1) <= lane->mtu)
        code++;
    return code;
}

static const char *layer_name(uint8_t layer)
{
    return layer == IBV_LINK_LAYER_INFINIBAND ? "InfiniBand"
           : layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet"
                                              : "Unspecified";
}

static enum fc_status read_port(struct fc_lane *lane, struct fc_error *err)
{
    const struct fc_hca *hca = lane->hca;
    if (lane->plan.port < 1 || lane->plan.port > hca->attr.phys_port_cnt)
        return fc_fail(err, FC_USAGE, "%s has no port %d (its ports: 1 to %d)",
                       hca->name, lane->plan.port, hca->attr.phys_port_cnt);
    fc_worker_note(lane->call, "ibv_query_port");
    int error = ibv_query_port(hca->context, (uint8_t)lane->plan.port, &lane->port);
    if (error)
        return fc_fail(err, FC_FAILED, "%s: ibv_query_port: %s", lane->name,
                       strerror(error));
    if (lane->port.state != IBV_PORT_ACTIVE)
        return fc_fail(err, FC_FAILED, "%s is not active: %s", lane->name,
                       ibv_port_state_str(lane->port.state));
    return FC_OK;
}

static bool needs_gid(const struct fc_lane *lane)
{
    return lane->port.link_layer == IBV_LINK_LAYER_ETHERNET || lane->hca->srd;
}

static enum fc_status no_gid(const struct fc_lane *lane, struct fc_error *err)
{
    char known[200] = "";
    struct ibv_gid_entry entry;
    for (int i = 0; i < lane->port.gid_tbl_len && strlen(known) < 150; i++) {
        size_t used = strlen(known);
        if (ibv_query_gid_ex(lane->hca->context, (uint32_t)lane->plan.port, (uint32_t)i,
                             &entry, 0) == 0)
            snprintf(known + used, sizeof known - used, "%s%d", used ? ", " : "", i);
    }
    return fc_fail(err, FC_USAGE, "%s has no GID %d (its GIDs: %s)", lane->name,
                   lane->plan.gid_index, known[0] ? known : "none");
}

static enum fc_status read_gid(struct fc_lane *lane, struct fc_error *err)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct ibv_gid_entry entry;
    struct fc_endpoint_info *own = &lane->own;
    if (lane->plan.gid_index < 0 && !needs_gid(lane))
        return FC_OK;
    if (lane->plan.gid_index < 0)
        return no_gid(lane, err);
    fc_worker_note(lane->call, "ibv_query_gid_ex");
    if (ibv_query_gid_ex(lane->hca->context, (uint32_t)lane->plan.port,
                         (uint32_t)lane->plan.gid_index, &entry, 0) != 0)
        return no_gid(lane, err);
    memcpy(own->gid, entry.gid.raw, sizeof own->gid);
    own->has_gid = true;
    own->ipv4 = memcmp(own->gid, mapped, sizeof mapped) == 0;
    snprintf(own->gid_kind, sizeof own->gid_kind, "%s",
             entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? "RoCE v2"
             : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1"
                                                      : "IB");
    return FC_OK;
}

static enum fc_status read_pkey(struct fc_lane *lane, struct fc_error *err)
{
    __be16 key = 0;
    fc_worker_note(lane->call, "ibv_query_pkey");
    if (ibv_query_pkey(lane->hca->context, (uint8_t)lane->plan.port,
                       lane->plan.pkey_index, &key) != 0 ||
        key == 0)
        return fc_fail(err, FC_USAGE, "%s has no P_Key at index %d (%d entries)",
                       lane->name, lane->plan.pkey_index, lane->port.pkey_tbl_len);
    lane->own.pkey = ntohs(key);
    return FC_OK;
}

static enum fc_status read_mtu(struct fc_lane *lane, struct fc_error *err)
{
    int port = mtu_bytes(lane->port.active_mtu), want = lane->plan.mtu;
    if (lane->hca->srd) { /* one packet a message; no path MTU is set */
        lane->own.mtu = lane->port.max_msg_sz > 1u << 16 || lane->port.max_msg_sz < 256
                            ? 4096
                            : (int)lane->port.max_msg_sz;
        return FC_OK;
    }
    if (want && (want < MTU_MIN || want > 4096 || (want & (want - 1))))
        return fc_fail(err, FC_USAGE,
                       "%s: MTU %d is none of 256, 512, 1024, 2048, 4096", lane->name,
                       want);
    if (want > port)
        return fc_fail(err, FC_USAGE, "%s: MTU %d is above the port's %d", lane->name,
                       want, port);
    if (port == 0)
        return fc_fail(err, FC_FAILED, "%s has no MTU", lane->name);
    lane->own.mtu = want ? want : port;
    return FC_OK;
}

/* ---- queue pairs ---- */

static enum fc_status make_cqs(struct fc_lane *lane, struct fc_error *err)
{
    int want = (int)lane->depth * lane->plan.qps * 2 + 1;
    if (want > lane->hca->attr.max_cqe) {
        lane->depth = (uint32_t)((lane->hca->attr.max_cqe - 1) / (2 * lane->plan.qps));
        want = lane->hca->attr.max_cqe;
    }
    if (lane->depth < 2)
        return fc_fail(err, FC_UNSUPPORTED,
                       "%s: %d queue pairs of depth %d need more than the %d "
                       "completions that a queue of the device holds",
                       lane->name, lane->plan.qps, lane->plan.depth,
                       lane->hca->attr.max_cqe);
    fc_worker_note(lane->call, "ibv_create_cq");
    lane->data_cq = ibv_create_cq(lane->hca->context, want, NULL, NULL, 0);
    if (lane->data_cq)
        lane->word_cq =
            ibv_create_cq(lane->hca->context, 4 * FC_LANE_WORDS, NULL, NULL, 0);
    if (!lane->word_cq)
        return fc_fail(err, FC_FAILED, "%s: ibv_create_cq: %s", lane->name,
                       strerror(errno));
    return FC_OK;
}

static enum fc_status make_qps(struct fc_lane *lane, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (int i = 0; i <= lane->plan.qps && status == FC_OK; i++) {
        uint32_t depth = i ? lane->depth : FC_LANE_WORDS;
        struct ibv_qp_cap cap = {.max_send_wr = depth,
                                 .max_recv_wr = depth,
                                 .max_send_sge = 1,
                                 .max_recv_sge = 1,
                                 .max_inline_data = lane->max_inline};
        fc_worker_note(lane->call, "ibv_create_qp");
        status = lane->transport->make(lane, i, &cap, err);
        if (status == FC_OK)
            lane->own.qpn[i] = lane->qp[i]->qp_num;
        if (status == FC_OK && cap.max_inline_data < lane->max_inline)
            lane->max_inline = cap.max_inline_data;
    }
    lane->own.qps = lane->plan.qps;
    return status;
}

/* Numbers that no other lane has: from the clock and the process. */
static void set_numbers(struct fc_lane *lane)
{
    struct fc_rng rng;
    fc_rng_seed(&rng, fc_now_ns() ^ (uint64_t)getpid() << 32 ^ lane->own.qpn[0]);
    lane->own.tag = fc_rng_next(&rng);
    lane->own.psn = (uint32_t)fc_rng_next(&rng) & PSN_MASK;
    lane->own.qkey = (uint32_t)fc_rng_next(&rng) & INT32_MAX;
}

static void describe(struct fc_lane *lane)
{
    struct fc_endpoint_info *own = &lane->own;
    int reads = lane->hca->attr.max_qp_rd_atom;
    snprintf(own->name, sizeof own->name, "%s", lane->name);
    snprintf(own->transport, sizeof own->transport, "%s", lane->transport->name);
    snprintf(own->layer, sizeof own->layer, "%s", layer_name(lane->port.link_layer));
    own->lid = lane->port.lid;
    own->rd_atomic = reads < 0 ? 0 : reads > 16 ? 16 : reads;
    own->ring_bytes = lane->region->ring_bytes;
    own->source = fc_lane_source(lane);
    own->target = fc_lane_target(lane);
    own->rkey = lane->region->data_mr.mr->rkey;
    own->ops = lane->ops;
}

static void answer(const struct fc_lane *lane, struct fc_lane_answer *out)
{
    const struct fc_region *region = lane->region;
    *out = (struct fc_lane_answer){.numa = region->data.numa,
                                   .inline_bytes = (int)lane->max_inline,
                                   .relaxed_ordering = region->relaxed,
                                   .ops = lane->ops};
    memcpy(out->max_message, lane->max_message, sizeof out->max_message);
    snprintf(out->name, sizeof out->name, "%s", lane->name);
    snprintf(out->transport, sizeof out->transport, "%s", lane->transport->name);
    snprintf(out->memory, sizeof out->memory, "%s", region->data.ops->name);
    snprintf(out->registered_by, sizeof out->registered_by, "%s", region->data_mr.by);
    snprintf(out->registered_note, sizeof out->registered_note, "%s",
             region->data_mr.note);
}

/* ---- opening ---- */

static enum fc_status find_hca(struct fc_verbs *verbs, const char *device,
                               struct fc_worker_call *call, struct fc_hca **out,
                               struct fc_error *err)
{
    for (int i = 0; i < FC_VERBS_HCAS; i++) {
        if (verbs->hca[i] && strcmp(verbs->hca[i]->name, device) != 0)
            continue;
        if (!verbs->hca[i]) {
            enum fc_status status = fc_hca_open(device, call, &verbs->hca[i], err);
            if (status != FC_OK)
                return status;
        }
        *out = verbs->hca[i];
        return FC_OK;
    }
    return fc_fail(err, FC_UNSUPPORTED, "more than %d RDMA devices", FC_VERBS_HCAS);
}

static enum fc_status choose_transport(struct fc_lane *lane, struct fc_error *err)
{
    lane->transport = &fc_transport_rc;
    if (lane->hca->context->device->transport_type != IBV_TRANSPORT_UNSPECIFIED)
        return FC_OK;
#ifdef HAVE_EFADV
    if (lane->hca->srd) {
        lane->transport = &fc_transport_srd;
        return FC_OK;
    }
#endif
    return fc_fail(err, FC_UNSUPPORTED,
                   "%s speaks neither RC nor SRD as this program knows them",
                   lane->name);
}

static enum fc_status check_plan(const struct fc_lane_plan *plan, struct fc_error *err)
{
    bool good = plan->qps >= 1 && plan->qps <= FC_RDMA_QPS_MAX && plan->depth >= 2 &&
                plan->depth <= FC_RDMA_DEPTH_MAX && plan->timeout >= 1 &&
                plan->timeout <= 31 && plan->retries >= 0 && plan->retries <= 6 &&
                plan->sl >= 0 && plan->sl <= 15 && plan->traffic_class >= 0 &&
                plan->traffic_class <= 255 && plan->max_bytes >= 1 &&
                plan->max_bytes <= FC_RDMA_BYTES_MAX && plan->pkey_index >= 0 &&
                plan->gid_index <= 255;
    if (good)
        return FC_OK;
    return fc_fail(err, FC_USAGE,
                   "%.60s:%d: a lane of %d queue pairs, depth %d, timeout %d, %d "
                   "retries, SL %d, traffic class %d, P_Key index %d, GID %d and %llu "
                   "bytes cannot be made",
                   plan->device, plan->port, plan->qps, plan->depth, plan->timeout,
                   plan->retries, plan->sl, plan->traffic_class, plan->pkey_index,
                   plan->gid_index, (unsigned long long)plan->max_bytes);
}

static enum fc_status open_parts(struct fc_verbs *verbs, struct fc_lane *lane,
                                 struct fc_error *err)
{
    enum fc_status status =
        find_hca(verbs, lane->plan.device, lane->call, &lane->hca, err);
    if (status == FC_OK)
        status = read_port(lane, err);
    if (status == FC_OK)
        status = choose_transport(lane, err);
    if (status == FC_OK)
        status = read_gid(lane, err);
    if (status == FC_OK)
        status = read_pkey(lane, err);
    if (status == FC_OK)
        status = read_mtu(lane, err);
    if (status == FC_OK)
        status = fc_region_take(verbs, lane->hca, &lane->plan, lane->call,
                                &lane->region, err);
    if (status != FC_OK)
        return status;
    lane->depth = (uint32_t)lane->plan.depth;
    if (lane->hca->attr.max_qp_wr > 0 &&
        lane->depth > (uint32_t)lane->hca->attr.max_qp_wr)
        lane->depth = (uint32_t)lane->hca->attr.max_qp_wr;
    lane->max_inline =
        lane->plan.inline_bytes < 0 ? INLINE_WANTED : (uint32_t)lane->plan.inline_bytes;
    lane->transport->limits(lane);
    status = make_cqs(lane, err);
    return status == FC_OK ? make_qps(lane, err) : status;
}

enum fc_status fc_lane_open(struct fc_verbs *verbs, int number,
                            const struct fc_lane_plan *plan,
                            struct fc_worker_call *call, struct fc_endpoint *out,
                            struct fc_lane_answer *out_answer, struct fc_error *err)
{
    if (number < 0 || number >= FC_RDMA_LANES_MAX || verbs->lane[number])
        return fc_fail(err, FC_FAILED, "lane %d is open, or none of 0 to %d", number,
                       FC_RDMA_LANES_MAX - 1);
    enum fc_status status = check_plan(plan, err);
    if (status != FC_OK)
        return status;
    struct fc_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return fc_fail(err, FC_NOMEM, "no memory for a lane");
    verbs->lane[number] = lane;
    lane->plan = *plan;
    lane->call = call;
    snprintf(lane->name, sizeof lane->name, "%.63s:%d", plan->device, plan->port);
    status = open_parts(verbs, lane, err);
    if (status == FC_OK) {
        set_numbers(lane);
        describe(lane);
        if (plan->rdma_cm)
            status = fc_lane_cm_open(lane, err);
    }
    if (status == FC_OK)
        status = fc_endpoint_write(&lane->own, out, err);
    if (status == FC_OK)
        answer(lane, out_answer);
    else
        fc_lane_close(verbs, number, call);
    return status;
}

enum fc_status fc_lane_connect(struct fc_lane *lane, const struct fc_endpoint *peer,
                               struct fc_lane_link *out, struct fc_error *err)
{
    if (lane->connected)
        return fc_fail(err, FC_FAILED, "%s is connected already", lane->name);
    enum fc_status status = fc_endpoint_read(peer, &lane->peer, err);
    if (status == FC_OK)
        status = fc_endpoint_meet(&lane->own, &lane->peer, out, err);
    if (status != FC_OK)
        return status;
    lane->mtu = out->mtu;
    status =
        lane->cm ? fc_lane_cm_connect(lane, err) : lane->transport->connect(lane, err);
    if (status == FC_OK)
        status = fc_words_open(lane, err);
    lane->connected = status == FC_OK;
    return status;
}

void fc_lane_close(struct fc_verbs *verbs, int number, struct fc_worker_call *call)
{
    struct fc_lane *lane = verbs->lane[number];
    if (!lane)
        return;
    fc_worker_note(call, "ibv_destroy_qp");
    for (int i = 0; i <= FC_RDMA_QPS_MAX; i++)
        if (lane->qp[i])
            (void)ibv_destroy_qp(lane->qp[i]);
    fc_lane_cm_close(lane);
    if (lane->transport && lane->transport->disconnect)
        lane->transport->disconnect(lane);
    fc_worker_note(call, "ibv_destroy_cq");
    if (lane->word_cq)
        (void)ibv_destroy_cq(lane->word_cq);
    if (lane->data_cq)
        (void)ibv_destroy_cq(lane->data_cq);
    if (lane->region)
        lane->region->taken = false;
    free(lane);
    verbs->lane[number] = NULL;
}

void fc_verbs_close(struct fc_verbs *verbs, struct fc_worker_call *call)
{
    for (int i = 0; i < FC_RDMA_LANES_MAX; i++)
        fc_lane_close(verbs, i, call);
    for (struct fc_region *region = verbs->regions, *next; region; region = next) {
        next = region->next;
        fc_region_free(region, call);
    }
    verbs->regions = NULL;
    for (int i = 0; i < FC_VERBS_HCAS; i++) {
        fc_hca_close(verbs->hca[i], call);
        verbs->hca[i] = NULL;
    }
}
