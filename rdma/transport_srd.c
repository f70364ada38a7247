// SPDX-License-Identifier: BSD-3-Clause
/* Scalable reliable datagrams of AWS EFA, through efadv.
 *
 * One queue pair may talk to anyone: an address handle and a number name the peer. A
 * send is at most one packet; reads and writes exist where the device says so. Nothing
 * arrives in order, neither messages nor the bytes of one, so only completions tell
 * that something is there; every request has one. The device repeats lost packets by
 * itself and for as long as it likes: time-outs and retries cannot be set, and a dead
 * path ends in a completion with an error or in the measurement's own patience.
 */
#include "core/worker.h"
#include "rdma/lane.h"

#include <errno.h>
#include <infiniband/efadv.h>
#include <string.h>

enum { RNR_FOR_EVER = 7 };

static void limits(struct fc_lane *lane)
{
    const struct fc_hca *hca = lane->hca;
    lane->ops = 1u << FC_RDMA_SEND;
    lane->max_message[FC_RDMA_SEND] = (uint64_t)lane->own.mtu;
    if (hca->srd_read) {
        lane->ops |= 1u << FC_RDMA_READ;
        lane->max_message[FC_RDMA_READ] = hca->rdma_bytes;
    }
    if (hca->srd_write) {
        lane->ops |= 1u << FC_RDMA_WRITE;
        lane->max_message[FC_RDMA_WRITE] = hca->rdma_bytes;
    }
    if (lane->max_inline > hca->srd_inline)
        lane->max_inline = hca->srd_inline;
    if (hca->srd_send_depth && lane->depth > hca->srd_send_depth)
        lane->depth = hca->srd_send_depth;
    if (hca->srd_recv_depth && lane->depth > hca->srd_recv_depth)
        lane->depth = hca->srd_recv_depth;
}

static enum fc_status make(struct fc_lane *lane, int i, struct ibv_qp_cap *cap,
                           struct fc_error *err)
{
    struct ibv_cq *cq = i ? lane->data_cq : lane->word_cq;
    struct efadv_qp_init_attr srd = {.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD};
    struct ibv_qp_init_attr_ex attr = {.send_cq = cq,
                                       .recv_cq = cq,
                                       .cap = *cap,
                                       .qp_type = IBV_QPT_DRIVER,
                                       .sq_sig_all = 1,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD |
                                                    IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                       .pd = lane->hca->pd,
                                       .send_ops_flags = IBV_QP_EX_WITH_SEND};
    if (i && lane->hca->srd_read)
        attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ;
    if (i && lane->hca->srd_write)
        attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE;
    lane->qp[i] = efadv_create_qp_ex(lane->hca->context, &attr, &srd, sizeof srd);
    if (!lane->qp[i])
        return fc_fail(err, FC_FAILED, "%s: efadv_create_qp_ex: %s", lane->name,
                       strerror(errno));
    if (attr.cap.max_inline_data < cap->max_inline_data)
        cap->max_inline_data = attr.cap.max_inline_data;
    return FC_OK;
}

static enum fc_status modified(const struct fc_lane *lane, const char *to, int error,
                               struct fc_error *err)
{
    if (error == 0)
        return FC_OK;
    return fc_fail(err, FC_FAILED, "%s -> %s: ibv_modify_qp to %s: %s", lane->name,
                   lane->peer.name, to, strerror(error));
}

static enum fc_status ready(struct fc_lane *lane, int i, struct fc_error *err)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = (uint16_t)lane->plan.pkey_index,
                               .port_num = (uint8_t)lane->plan.port,
                               .qkey = lane->own.qkey};
    int error =
        ibv_modify_qp(lane->qp[i], &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    enum fc_status status = modified(lane, "INIT", error, err);
    if (status != FC_OK)
        return status;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR};
    status =
        modified(lane, "RTR", ibv_modify_qp(lane->qp[i], &attr, IBV_QP_STATE), err);
    if (status != FC_OK)
        return status;
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .sq_psn = lane->own.psn, .rnr_retry = RNR_FOR_EVER};
    error = ibv_modify_qp(lane->qp[i], &attr,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY);
    if (error == EINVAL || error == EOPNOTSUPP) /* a device that waits in its own way */
        error = ibv_modify_qp(lane->qp[i], &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    return modified(lane, "RTS", error, err);
}

static enum fc_status connect_all(struct fc_lane *lane, struct fc_error *err)
{
    struct ibv_ah_attr attr = {.port_num = (uint8_t)lane->plan.port, .is_global = 1};
    enum fc_status status = FC_OK;
    memcpy(attr.grh.dgid.raw, lane->peer.gid, sizeof lane->peer.gid);
    attr.grh.sgid_index = (uint8_t)lane->plan.gid_index;
    fc_worker_note(lane->call, "ibv_create_ah");
    lane->ah = ibv_create_ah(lane->hca->pd, &attr);
    if (!lane->ah)
        return fc_fail(err, FC_FAILED, "%s -> %s: ibv_create_ah: %s", lane->name,
                       lane->peer.name, strerror(errno));
    fc_worker_note(lane->call, "ibv_modify_qp");
    for (int i = 0; i <= lane->plan.qps && status == FC_OK; i++)
        status = ready(lane, i, err);
    return status;
}

static void put(struct fc_lane *lane, int i, struct ibv_qp_ex *qp,
                const struct fc_post *post)
{
    qp->wr_id = post->id;
    qp->wr_flags = IBV_SEND_SIGNALED | (post->inlined ? (unsigned)IBV_SEND_INLINE : 0u);
    if (post->op == FC_RDMA_WRITE)
        ibv_wr_rdma_write(qp, lane->peer.rkey, post->remote);
    else if (post->op == FC_RDMA_READ)
        ibv_wr_rdma_read(qp, lane->peer.rkey, post->remote);
    else
        ibv_wr_send(qp);
    if (post->inlined)
        ibv_wr_set_inline_data(qp, (void *)(uintptr_t)post->local,
                               post->bytes); // NOLINT
    else
        ibv_wr_set_sge(qp, post->lkey, post->local, post->bytes);
    ibv_wr_set_ud_addr(qp, lane->ah, lane->peer.qpn[i], lane->peer.qkey);
}

static int post_chain(struct fc_lane *lane, int i, const struct fc_post *post, int n)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(lane->qp[i]);
    ibv_wr_start(qp);
    for (int k = 0; k < n; k++)
        put(lane, i, qp, &post[k]);
    return ibv_wr_complete(qp);
}

static void disconnect(struct fc_lane *lane)
{
    fc_worker_note(lane->call, "ibv_destroy_ah");
    if (lane->ah)
        (void)ibv_destroy_ah(lane->ah);
    lane->ah = NULL;
}

const struct fc_transport_ops fc_transport_srd = {
    .name = "srd",
    .ordered = false,
    .signal_all = true,
    .limits = limits,
    .make = make,
    .connect = connect_all,
    .post = post_chain,
    .disconnect = disconnect,
};
