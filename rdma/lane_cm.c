// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/lane_cm.h"

#include "core/clock.h"
#include "core/worker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS (10 * FC_NS_PER_S)
enum { RESOLVE_MS = 3000, RNR_FOR_EVER = 7, BACKLOG = FC_RDMA_QPS_MAX + 1 };

struct fc_lane_cm {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct rdma_cm_id *id[FC_RDMA_QPS_MAX + 1];
    uint64_t end_ns; /* of the connecting that goes on */
};

/* What a connection carries: whose, and for which queue pair. */
struct hello {
    uint64_t tag;
    uint32_t index;
};

static enum fc_status failed(const struct fc_lane *lane, const char *call, int error,
                             struct fc_error *err)
{
    return fc_fail(err, FC_FAILED, "%s -> %s: %s: %s", lane->name, lane->peer.name,
                   call, strerror(error));
}

static enum fc_status address_of(const struct fc_endpoint_info *end, uint16_t port,
                                 struct sockaddr_storage *out, struct fc_error *err)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool link_local = end->gid[0] == 0xfe && (end->gid[1] & 0xc0) == 0x80;
    memset(out, 0, sizeof *out);
    if (!end->has_gid || strcmp(end->layer, "Ethernet") != 0 ||
        (!end->ipv4 && link_local))
        return fc_fail(err, FC_UNSUPPORTED,
                       "%s: rdma_cm needs a GID that is an IP address", end->name);
    memcpy(&v4.sin_addr, end->gid + 12, sizeof v4.sin_addr);
    memcpy(&v6.sin6_addr, end->gid, sizeof v6.sin6_addr);
    if (end->ipv4)
        memcpy(out, &v4, sizeof v4);
    else
        memcpy(out, &v6, sizeof v6);
    return FC_OK;
}

/* The next event of the wanted type, or of the other one; the caller acknowledges it.
 * */
static enum fc_status await(struct fc_lane *lane, enum rdma_cm_event_type wanted,
                            enum rdma_cm_event_type or_this, struct rdma_cm_event **out,
                            struct fc_error *err)
{
    struct rdma_event_channel *channel = lane->cm->channel;
    struct pollfd on = {.fd = channel->fd, .events = POLLIN};
    while (rdma_get_cm_event(channel, out) != 0) {
        uint64_t now = fc_now_ns();
        if (errno != EAGAIN && errno != EINTR)
            return failed(lane, "rdma_get_cm_event", errno, err);
        if (now >= lane->cm->end_ns)
            return fc_fail(err, FC_TIMEOUT, "%s -> %s: rdma_cm: no %s", lane->name,
                           lane->peer.name, rdma_event_str(wanted));
        (void)poll(&on, 1, (int)((lane->cm->end_ns - now) / FC_NS_PER_MS) + 1);
    }
    struct rdma_cm_event *event = *out;
    if (event->status == 0 && (event->event == wanted || event->event == or_this))
        return FC_OK;
    enum fc_status status =
        fc_fail(err, FC_FAILED, "%s -> %s: rdma_cm: %s (%d)", lane->name,
                lane->peer.name, rdma_event_str(event->event), event->status);
    rdma_ack_cm_event(event);
    return status;
}

static enum fc_status await_one(struct fc_lane *lane, enum rdma_cm_event_type wanted,
                                struct fc_error *err)
{
    struct rdma_cm_event *event;
    enum fc_status status = await(lane, wanted, wanted, &event, err);
    if (status == FC_OK)
        rdma_ack_cm_event(event);
    return status;
}

enum fc_status fc_lane_cm_open(struct fc_lane *lane, struct fc_error *err)
{
    struct sockaddr_storage own;
    enum fc_status status = address_of(&lane->own, 0, &own, err);
    if (status != FC_OK)
        return status;
    struct fc_lane_cm *cm = lane->cm = calloc(1, sizeof *cm);
    if (!cm)
        return fc_fail(err, FC_NOMEM, "no memory for rdma_cm");
    fc_worker_note(lane->call, "rdma_listen");
    cm->channel = rdma_create_event_channel();
    if (!cm->channel)
        return failed(lane, "rdma_create_event_channel", errno, err);
    if (fcntl(cm->channel->fd, F_SETFL, O_NONBLOCK) != 0)
        return failed(lane, "fcntl", errno, err);
    if (rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP) != 0)
        return failed(lane, "rdma_create_id", errno, err);
    if (rdma_bind_addr(cm->listener, (struct sockaddr *)&own) != 0)
        return failed(lane, "rdma_bind_addr", errno, err);
    if (rdma_listen(cm->listener, BACKLOG) != 0)
        return failed(lane, "rdma_listen", errno, err);
    lane->own.cm_port = ntohs(rdma_get_src_port(cm->listener));
    return FC_OK;
}

void fc_lane_cm_close(struct fc_lane *lane)
{
    struct fc_lane_cm *cm = lane->cm;
    if (!cm)
        return;
    fc_worker_note(lane->call, "rdma_destroy_id");
    for (int i = 0; i <= FC_RDMA_QPS_MAX; i++)
        if (cm->id[i])
            (void)rdma_destroy_id(cm->id[i]);
    if (cm->listener)
        (void)rdma_destroy_id(cm->listener);
    if (cm->channel)
        rdma_destroy_event_channel(cm->channel);
    free(cm);
    lane->cm = NULL;
}

/* ---- queue pairs, as rdma_cm says ---- */

static enum fc_status step(struct fc_lane *lane, int i, enum ibv_qp_state state,
                           struct fc_error *err)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = 0;
    if (rdma_init_qp_attr(lane->cm->id[i], &attr, &mask) != 0)
        return failed(lane, "rdma_init_qp_attr", errno, err);
    if (mask & IBV_QP_ACCESS_FLAGS)
        attr.qp_access_flags |=
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (mask & IBV_QP_PATH_MTU && fc_lane_mtu_code(lane) < attr.path_mtu)
        attr.path_mtu = fc_lane_mtu_code(lane);
    if (mask & IBV_QP_TIMEOUT)
        attr.timeout = (uint8_t)lane->plan.timeout;
    if (mask & IBV_QP_RETRY_CNT)
        attr.retry_cnt = (uint8_t)lane->plan.retries;
    int error = ibv_modify_qp(lane->qp[i], &attr, mask);
    return error ? failed(lane, "ibv_modify_qp", error, err) : FC_OK;
}

static enum fc_status steps(struct fc_lane *lane, int i, struct fc_error *err)
{
    enum fc_status status = step(lane, i, IBV_QPS_INIT, err);
    if (status == FC_OK)
        status = step(lane, i, IBV_QPS_RTR, err);
    return status == FC_OK ? step(lane, i, IBV_QPS_RTS, err) : status;
}

static struct rdma_conn_param parameters(const struct fc_lane *lane, int i)
{
    return (struct rdma_conn_param){.responder_resources = (uint8_t)lane->own.rd_atomic,
                                    .initiator_depth = (uint8_t)lane->peer.rd_atomic,
                                    .retry_count = (uint8_t)lane->plan.retries,
                                    .rnr_retry_count = RNR_FOR_EVER,
                                    .qp_num = lane->qp[i]->qp_num};
}

static enum fc_status same_device(const struct fc_lane *lane,
                                  const struct rdma_cm_id *id, struct fc_error *err)
{
    const char *name = id->verbs ? ibv_get_device_name(id->verbs->device) : "nowhere";
    if (strcmp(name, lane->hca->name) == 0)
        return FC_OK;
    return fc_fail(err, FC_FAILED, "%s -> %s: rdma_cm leads over %s", lane->name,
                   lane->peer.name, name);
}

/* ---- who connects ---- */

static enum fc_status reach(struct fc_lane *lane, int i, struct fc_error *err)
{
    struct fc_lane_cm *cm = lane->cm;
    struct sockaddr_storage own, peer;
    enum fc_status status = address_of(&lane->own, 0, &own, err);
    if (status == FC_OK)
        status = address_of(&lane->peer, (uint16_t)lane->peer.cm_port, &peer, err);
    if (status != FC_OK)
        return status;
    if (rdma_create_id(cm->channel, &cm->id[i], NULL, RDMA_PS_TCP) != 0)
        return failed(lane, "rdma_create_id", errno, err);
    if (rdma_resolve_addr(cm->id[i], (struct sockaddr *)&own, (struct sockaddr *)&peer,
                          RESOLVE_MS) != 0)
        return failed(lane, "rdma_resolve_addr", errno, err);
    status = await_one(lane, RDMA_CM_EVENT_ADDR_RESOLVED, err);
    if (status == FC_OK)
        status = same_device(lane, cm->id[i], err);
    if (status == FC_OK && rdma_resolve_route(cm->id[i], RESOLVE_MS) != 0)
        return failed(lane, "rdma_resolve_route", errno, err);
    return status == FC_OK ? await_one(lane, RDMA_CM_EVENT_ROUTE_RESOLVED, err)
                           : status;
}

static enum fc_status call(struct fc_lane *lane, int i, struct fc_error *err)
{
    const struct hello hello = {lane->own.tag, (uint32_t)i};
    struct rdma_conn_param param = parameters(lane, i);
    enum fc_status status = reach(lane, i, err);
    if (status != FC_OK)
        return status;
    param.private_data = &hello;
    param.private_data_len = sizeof hello;
    if (rdma_connect(lane->cm->id[i], &param) != 0)
        return failed(lane, "rdma_connect", errno, err);
    status = await_one(lane, RDMA_CM_EVENT_CONNECT_RESPONSE, err);
    if (status == FC_OK)
        status = steps(lane, i, err);
    if (status == FC_OK && rdma_establish(lane->cm->id[i]) != 0)
        return failed(lane, "rdma_establish", errno, err);
    return status;
}

/* ---- who is connected to ---- */

/* Which queue pair a request is for; -1: it is nobody's we know. */
static int wanted_by(const struct fc_lane *lane, const struct rdma_cm_event *event)
{
    struct hello hello;
    if (!event->param.conn.private_data ||
        event->param.conn.private_data_len < sizeof hello)
        return -1;
    memcpy(&hello, event->param.conn.private_data, sizeof hello);
    if (hello.tag != lane->peer.tag || hello.index > (uint32_t)lane->plan.qps ||
        lane->cm->id[hello.index])
        return -1;
    return (int)hello.index;
}

static enum fc_status accept_one(struct fc_lane *lane, struct rdma_cm_event *event,
                                 struct fc_error *err)
{
    struct rdma_cm_id *id = event->id;
    int i = wanted_by(lane, event);
    rdma_ack_cm_event(event);
    if (i < 0) {
        (void)rdma_reject(id, NULL, 0);
        (void)rdma_destroy_id(id);
        return FC_OK;
    }
    lane->cm->id[i] = id;
    struct rdma_conn_param param = parameters(lane, i);
    enum fc_status status = same_device(lane, id, err);
    if (status == FC_OK)
        status = steps(lane, i, err);
    if (status == FC_OK && rdma_accept(id, &param) != 0)
        return failed(lane, "rdma_accept", errno, err);
    return status;
}

static enum fc_status answer_calls(struct fc_lane *lane, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (int established = 0; established <= lane->plan.qps && status == FC_OK;) {
        struct rdma_cm_event *event;
        status = await(lane, RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_ESTABLISHED,
                       &event, err);
        if (status != FC_OK)
            return status;
        if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
            rdma_ack_cm_event(event);
            established++;
        } else {
            status = accept_one(lane, event, err);
        }
    }
    return status;
}

enum fc_status fc_lane_cm_connect(struct fc_lane *lane, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    fc_worker_note(lane->call, "rdma_connect");
    lane->cm->end_ns = fc_now_ns() + LIMIT_NS;
    if (lane->own.tag > lane->peer.tag)
        return answer_calls(lane, err);
    for (int i = 0; i <= lane->plan.qps && status == FC_OK; i++)
        status = call(lane, i, err);
    return status;
}
