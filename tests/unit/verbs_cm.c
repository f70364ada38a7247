// SPDX-License-Identifier: BSD-3-Clause
/* The double of librdmacm that goes with verbs_wire.c: events are queued on channels of
 * this process, and whoever connects meets who listens on that port. */
#include "verbs_cm.h"

#include "verbs_wire_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 128, LISTENERS = 8 };

struct channel {
    struct rdma_event_channel base;
    struct rdma_cm_event *event[EVENTS];
    int first, last;
};

struct id {
    struct rdma_cm_id base;
    struct id *peer;
    uint16_t port; /* listened on */
    uint32_t qpn;
    char private_data[56];
};

int cm_open; /* channels, ids and events that are not acknowledged */
bool cm_rejects;
static struct id *listeners[LISTENERS];
static struct ibv_context contexts[WIRE_DEVICES];
static struct ibv_device cm_devices[WIRE_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct channel *channel_of(const struct id *id)
{
    return (struct channel *)(void *)id->base.channel;
}

static void tell(struct id *id, enum rdma_cm_event_type type, const struct id *from)
{
    struct channel *channel = channel_of(id);
    struct rdma_cm_event *event = calloc(1, sizeof *event);
    uint64_t one = 1;
    if (!event || channel->last == EVENTS)
        abort();
    event->id = &id->base;
    event->event = type;
    event->status = wire_fails("event") ? -errno : 0;
    if (from) {
        event->param.conn.private_data = from->private_data;
        event->param.conn.private_data_len = sizeof from->private_data;
        event->param.conn.qp_num = from->qpn;
    }
    channel->event[channel->last++] = event;
    cm_open++;
    if (write(channel->base.fd, &one, sizeof one) < 0)
        abort();
}

struct rdma_event_channel *__wrap_rdma_create_event_channel(void);
struct rdma_event_channel *__wrap_rdma_create_event_channel(void)
{
    struct channel *channel =
        wire_fails("rdma_create_event_channel") ? NULL : calloc(1, sizeof *channel);
    if (!channel)
        return NULL;
    channel->base.fd = eventfd(0, EFD_NONBLOCK);
    cm_open++;
    return &channel->base;
}

void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *base);
void __wrap_rdma_destroy_event_channel(struct rdma_event_channel *base)
{
    struct channel *channel = (struct channel *)(void *)base;
    for (; channel->first < channel->last; channel->first++, cm_open--)
        free(channel->event[channel->first]);
    close(base->fd);
    free(channel);
    cm_open--;
}

int __wrap_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out,
                          void *context, enum rdma_port_space space);
int __wrap_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out,
                          void *context, enum rdma_port_space space)
{
    (void)context, (void)space;
    struct id *id = wire_fails("rdma_create_id") ? NULL : calloc(1, sizeof *id);
    if (!id)
        return -1;
    id->base.channel = channel;
    *out = &id->base;
    pthread_mutex_lock(&lock);
    cm_open++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int __wrap_rdma_destroy_id(struct rdma_cm_id *base);
int __wrap_rdma_destroy_id(struct rdma_cm_id *base)
{
    struct id *id = (struct id *)(void *)base;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < LISTENERS; i++)
        if (listeners[i] == id)
            listeners[i] = NULL;
    if (id->peer)
        id->peer->peer = NULL;
    cm_open--;
    pthread_mutex_unlock(&lock);
    free(id);
    return 0;
}

/* Device n has the address 10.0.0.n+1. */
static void lead(struct id *id, const struct sockaddr *own)
{
    struct sockaddr_in v4;
    memcpy(&v4, own, sizeof v4);
    unsigned last = ((ntohl(v4.sin_addr.s_addr) & 0xff) - 1) % WIRE_DEVICES;
    memcpy(cm_devices[last].name, wire.device[last].name, 6);
    contexts[last].device = &cm_devices[last];
    id->base.verbs = &contexts[last];
}

int __wrap_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *own);
int __wrap_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *own)
{
    lead((struct id *)(void *)id, own);
    return wire_fails("rdma_bind_addr") ? -1 : 0;
}

int __wrap_rdma_listen(struct rdma_cm_id *base, int backlog);
int __wrap_rdma_listen(struct rdma_cm_id *base, int backlog)
{
    static uint16_t port = 1000;
    struct id *id = (struct id *)(void *)base;
    (void)backlog;
    if (wire_fails("rdma_listen"))
        return -1;
    id->port = port++;
    for (int i = 0; i < LISTENERS; i++)
        if (!listeners[i]) {
            listeners[i] = id;
            return 0;
        }
    abort();
}

__be16 __wrap_rdma_get_src_port(struct rdma_cm_id *id);
__be16 __wrap_rdma_get_src_port(struct rdma_cm_id *id)
{
    return htons(((struct id *)(void *)id)->port);
}

int __wrap_rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *own,
                             struct sockaddr *peer, int ms);
int __wrap_rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *own,
                             struct sockaddr *peer, int ms)
{
    struct id *id = (struct id *)(void *)base;
    struct sockaddr_in v4;
    (void)ms;
    if (wire_fails("rdma_resolve_addr"))
        return -1;
    memcpy(&v4, peer, sizeof v4);
    id->port = ntohs(v4.sin_port);
    pthread_mutex_lock(&lock);
    lead(id, own);
    tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
    pthread_mutex_unlock(&lock);
    return 0;
}

int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int ms);
int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
    (void)ms;
    if (wire_fails("rdma_resolve_route"))
        return -1;
    pthread_mutex_lock(&lock);
    tell((struct id *)(void *)id, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
    pthread_mutex_unlock(&lock);
    return 0;
}

int __wrap_rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param);
int __wrap_rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
    struct id *id = (struct id *)(void *)base, *asked = calloc(1, sizeof *asked);
    if (wire_fails("rdma_connect") || !asked) {
        free(asked);
        return -1;
    }
    memcpy(id->private_data, param->private_data, param->private_data_len);
    id->qpn = param->qp_num;
    pthread_mutex_lock(&lock);
    struct id *listener = NULL;
    for (int i = 0; i < LISTENERS; i++)
        if (listeners[i] && listeners[i]->port == id->port)
            listener = listeners[i];
    if (!listener || cm_rejects) {
        free(asked);
        tell(id, RDMA_CM_EVENT_REJECTED, NULL);
    } else {
        asked->base = listener->base;
        asked->peer = id;
        id->peer = asked;
        cm_open++;
        tell(asked, RDMA_CM_EVENT_CONNECT_REQUEST, id);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int __wrap_rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param);
int __wrap_rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
    struct id *id = (struct id *)(void *)base;
    if (wire_fails("rdma_accept"))
        return -1;
    id->qpn = param->qp_num;
    pthread_mutex_lock(&lock);
    if (id->peer)
        tell(id->peer, RDMA_CM_EVENT_CONNECT_RESPONSE, id);
    pthread_mutex_unlock(&lock);
    return 0;
}

int __wrap_rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t bytes);
int __wrap_rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t bytes)
{
    (void)id, (void)data, (void)bytes;
    return 0;
}

int __wrap_rdma_establish(struct rdma_cm_id *base);
int __wrap_rdma_establish(struct rdma_cm_id *base)
{
    struct id *id = (struct id *)(void *)base;
    if (wire_fails("rdma_establish"))
        return -1;
    pthread_mutex_lock(&lock);
    if (id->peer)
        tell(id->peer, RDMA_CM_EVENT_ESTABLISHED, NULL);
    pthread_mutex_unlock(&lock);
    return 0;
}

int __wrap_rdma_get_cm_event(struct rdma_event_channel *base,
                             struct rdma_cm_event **out);
int __wrap_rdma_get_cm_event(struct rdma_event_channel *base,
                             struct rdma_cm_event **out)
{
    struct channel *channel = (struct channel *)(void *)base;
    int status = -1;
    if (wire_fails("rdma_get_cm_event"))
        return -1;
    pthread_mutex_lock(&lock);
    errno = EAGAIN;
    if (channel->first < channel->last) {
        *out = channel->event[channel->first++];
        status = 0;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event);
int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event)
{
    pthread_mutex_lock(&lock);
    cm_open--;
    pthread_mutex_unlock(&lock);
    free(event);
    return 0;
}

int __wrap_rdma_init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr,
                             int *mask);
int __wrap_rdma_init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr,
                             int *mask)
{
    struct id *id = (struct id *)(void *)base;
    if (wire_fails("rdma_init_qp_attr"))
        return -1;
    *mask = IBV_QP_STATE;
    if (attr->qp_state == IBV_QPS_RTR) {
        pthread_mutex_lock(&lock);
        attr->dest_qp_num = id->peer ? id->peer->qpn : 0;
        pthread_mutex_unlock(&lock);
        attr->path_mtu = IBV_MTU_4096;
        *mask |= IBV_QP_DEST_QPN | IBV_QP_PATH_MTU;
    }
    if (attr->qp_state == IBV_QPS_RTS) {
        attr->retry_cnt = 7;
        *mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT;
    }
    return 0;
}
