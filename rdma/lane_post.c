// SPDX-License-Identifier: BSD-3-Clause
/* The calls that are made for each message: post and poll. */
#include "rdma/lane.h"

#include <stdio.h>
#include <string.h>

uint64_t fc_lane_source(const struct fc_lane *lane)
{
    return (uintptr_t)lane->region->data.at;
}

uint64_t fc_lane_target(const struct fc_lane *lane)
{
    return (uintptr_t)lane->region->data.at + lane->region->ring_bytes;
}

static enum fc_status failed(const struct fc_lane *lane, const char *what, int error,
                             struct fc_error *err)
{
    return fc_fail(err, FC_FAILED, "%s -> %s: %s: %s", lane->name, lane->peer.name,
                   what, strerror(error));
}

enum fc_status fc_lane_post(struct fc_lane *lane, int i, const struct fc_post *post,
                            int n, struct fc_error *err)
{
    int error = lane->transport->post(lane, i, post, n);
    return error == 0 ? FC_OK : failed(lane, "a request cannot be posted", error, err);
}

enum fc_status fc_lane_receive(struct fc_lane *lane, int i,
                               const struct fc_receive *receive, int n,
                               struct fc_error *err)
{
    struct ibv_recv_wr wr[FC_LANE_CHAIN], *bad = NULL;
    struct ibv_sge sge[FC_LANE_CHAIN];
    for (int k = 0; k < n; k++) {
        sge[k] = (struct ibv_sge){
            .addr = receive[k].at, .length = receive[k].bytes, .lkey = receive[k].lkey};
        wr[k] = (struct ibv_recv_wr){.wr_id = receive[k].id,
                                     .next = k + 1 < n ? &wr[k + 1] : NULL,
                                     .sg_list = &sge[k],
                                     .num_sge = 1};
    }
    int error = ibv_post_recv(lane->qp[i], wr, &bad);
    return error == 0 ? FC_OK : failed(lane, "a receive cannot be posted", error, err);
}

static enum fc_status told(struct fc_lane *lane, const struct ibv_wc *wc,
                           struct fc_error *err)
{
    if (lane->failed.status == IBV_WC_SUCCESS)
        lane->failed = *wc;
    return fc_fail(err, FC_FAILED, "%s -> %s: %s (%d), vendor error 0x%x", lane->name,
                   lane->peer.name, ibv_wc_status_str(wc->status), (int)wc->status,
                   wc->vendor_err);
}

enum fc_status fc_lane_poll(struct fc_lane *lane, struct ibv_cq *cq, int room,
                            struct ibv_wc *out, int *out_n, struct fc_error *err)
{
    int n = ibv_poll_cq(cq, room, out);
    if (n < 0)
        return fc_fail(err, FC_FAILED, "%s -> %s: ibv_poll_cq failed", lane->name,
                       lane->peer.name);
    for (int i = 0; i < n; i++)
        if (out[i].status != IBV_WC_SUCCESS)
            return told(lane, &out[i], err);
    *out_n = n;
    return FC_OK;
}
