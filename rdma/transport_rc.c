// SPDX-License-Identifier: BSD-3-Clause
/* Reliable connections (InfiniBand, RoCE, iWARP's likes): write, read and send.
 *
 * A dead link must end in a completion with an error: a lost packet is sent again
 * `retries` times, each after the time-out, and never for ever (7 would be that on some
 * devices). A receiver that is slow to post is waited for without end by the device,
 * and by the measurement's own patience.
 */
#include "core/worker.h"
#include "rdma/lane.h"

#include <errno.h>
#include <string.h>

enum {
    RNR_FOR_EVER = 7,
    RNR_TIMER = 12, /* 0.64 ms */
    HOPS = 255,
    PSN_MASK = 0xffffff,
};

static void limits(struct fc_lane *lane)
{
    uint64_t most = lane->port.max_msg_sz ? lane->port.max_msg_sz : UINT32_MAX;
    lane->ops = (1u << FC_RDMA_WRITE) | (1u << FC_RDMA_SEND);
    lane->max_message[FC_RDMA_WRITE] = lane->max_message[FC_RDMA_SEND] = most;
    if (lane->hca->attr.max_qp_rd_atom > 0) {
        lane->ops |= 1u << FC_RDMA_READ;
        lane->max_message[FC_RDMA_READ] = most;
    }
}

/* Devices differ in what they take inline and refuse what is too much. */
static enum fc_status make(struct fc_lane *lane, int i, struct ibv_qp_cap *cap,
                           struct fc_error *err)
{
    struct ibv_cq *cq = i ? lane->data_cq : lane->word_cq;
    for (uint32_t inlined = cap->max_inline_data;; inlined /= 2) {
        struct ibv_qp_init_attr attr = {
            .send_cq = cq, .recv_cq = cq, .cap = *cap, .qp_type = IBV_QPT_RC};
        attr.cap.max_inline_data = inlined;
        lane->qp[i] = ibv_create_qp(lane->hca->pd, &attr);
        if (lane->qp[i]) {
            cap->max_inline_data =
                attr.cap.max_inline_data < inlined ? attr.cap.max_inline_data : inlined;
            return FC_OK;
        }
        if (inlined == 0)
            return fc_fail(err, FC_FAILED, "%s: ibv_create_qp: %s", lane->name,
                           strerror(errno));
    }
}

static enum fc_status modified(const struct fc_lane *lane, const char *to, int error,
                               struct fc_error *err)
{
    if (error == 0)
        return FC_OK;
    return fc_fail(err, FC_FAILED, "%s -> %s: ibv_modify_qp to %s: %s%s", lane->name,
                   lane->peer.name, to, strerror(error),
                   error == ETIMEDOUT || error == ENETUNREACH || error == EHOSTUNREACH
                       ? " (no way to the peer's address?)"
                       : "");
}

static enum fc_status to_init(struct fc_lane *lane, int i, struct fc_error *err)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = (uint16_t)lane->plan.pkey_index,
                               .port_num = (uint8_t)lane->plan.port,
                               .qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
                                                  IBV_ACCESS_REMOTE_WRITE |
                                                  IBV_ACCESS_REMOTE_READ};
    int error = ibv_modify_qp(lane->qp[i], &attr,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                  IBV_QP_ACCESS_FLAGS);
    return modified(lane, "INIT", error, err);
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

/* A global header where there is no other way: it costs one percent of the wire. */
static bool is_global(const struct fc_lane *lane)
{
    const struct fc_endpoint_info *own = &lane->own, *peer = &lane->peer;
    enum { PREFIX_BYTES = 8 };
    if (!own->has_gid || !peer->has_gid)
        return false;
    return lane->port.link_layer == IBV_LINK_LAYER_ETHERNET || peer->lid == 0 ||
           (lane->port.flags & IBV_QPF_GRH_REQUIRED) != 0 ||
           memcmp(own->gid, peer->gid, PREFIX_BYTES) != 0;
}

static enum fc_status to_rtr(struct fc_lane *lane, int i, struct fc_error *err)
{
    const struct fc_endpoint_info *peer = &lane->peer;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = fc_lane_mtu_code(lane),
        .dest_qp_num = peer->qpn[i],
        .rq_psn = (peer->psn + (uint32_t)i) & PSN_MASK,
        .max_dest_rd_atomic = (uint8_t)lane->own.rd_atomic,
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.dlid = (uint16_t)peer->lid,
                    .sl = (uint8_t)lane->plan.sl,
                    .port_num = (uint8_t)lane->plan.port,
                    .is_global = is_global(lane)},
    };
    if (attr.ah_attr.is_global) {
        memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof peer->gid);
        attr.ah_attr.grh.sgid_index = (uint8_t)lane->plan.gid_index;
        attr.ah_attr.grh.hop_limit = HOPS;
        attr.ah_attr.grh.traffic_class = (uint8_t)lane->plan.traffic_class;
    }
    int error = ibv_modify_qp(lane->qp[i], &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    return modified(lane, "RTR", error, err);
}

static enum fc_status to_rts(struct fc_lane *lane, int i, struct fc_error *err)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .timeout = (uint8_t)lane->plan.timeout,
        .retry_cnt = (uint8_t)lane->plan.retries,
        .rnr_retry = RNR_FOR_EVER,
        .sq_psn = (lane->own.psn + (uint32_t)i) & PSN_MASK,
        .max_rd_atomic = (uint8_t)at_most(
            at_most(lane->hca->attr.max_qp_init_rd_atom, lane->peer.rd_atomic), 16),
    };
    int error =
        ibv_modify_qp(lane->qp[i], &attr,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                          IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    return modified(lane, "RTS", error, err);
}

static enum fc_status connect_all(struct fc_lane *lane, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    fc_worker_note(lane->call, "ibv_modify_qp");
    for (int i = 0; i <= lane->plan.qps && status == FC_OK; i++) {
        status = to_init(lane, i, err);
        if (status == FC_OK)
            status = to_rtr(lane, i, err);
        if (status == FC_OK)
            status = to_rts(lane, i, err);
    }
    return status;
}

static int post_chain(struct fc_lane *lane, int i, const struct fc_post *post, int n)
{
    static const enum ibv_wr_opcode code[FC_RDMA_OPS] = {
        [FC_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
        [FC_RDMA_READ] = IBV_WR_RDMA_READ,
        [FC_RDMA_SEND] = IBV_WR_SEND};
    struct ibv_send_wr wr[FC_LANE_CHAIN], *bad = NULL;
    struct ibv_sge sge[FC_LANE_CHAIN];
    for (int k = 0; k < n; k++) {
        const struct fc_post *p = &post[k];
        sge[k] =
            (struct ibv_sge){.addr = p->local, .length = p->bytes, .lkey = p->lkey};
        wr[k] = (struct ibv_send_wr){
            .wr_id = p->id,
            .next = k + 1 < n ? &wr[k + 1] : NULL,
            .sg_list = &sge[k],
            .num_sge = 1,
            .opcode = code[p->op],
            .send_flags = (p->signaled ? (unsigned)IBV_SEND_SIGNALED : 0u) |
                          (p->inlined ? (unsigned)IBV_SEND_INLINE : 0u),
            .wr.rdma = {.remote_addr = p->remote, .rkey = lane->peer.rkey}};
    }
    return ibv_post_send(lane->qp[i], wr, &bad);
}

const struct fc_transport_ops fc_transport_rc = {
    .name = "rc",
    .ordered = true,
    .limits = limits,
    .make = make,
    .connect = connect_all,
    .post = post_chain,
};
