// SPDX-License-Identifier: BSD-3-Clause
#include "verbs_wire.h"

#include "verbs_wire_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct wire wire;
static struct ibv_device devices[WIRE_DEVICES];
static struct wire_mr mrs[WIRE_MRS];

void wire_reset(void)
{
    wire = (struct wire){.devices = WIRE_DEVICES,
                         .fail_status = IBV_WC_RETRY_EXC_ERR,
                         .max_inline = 128,
                         .srd_caps = 1 | 8,
                         .max_cqe = 1 << 16,
                         .reg_errno = EINVAL,
                         .event = -1};
    for (int i = 0; i < WIRE_DEVICES; i++)
        wire.device[i] = (struct wire_device){
            .name = i == 0   ? "wire0"
                    : i == 1 ? "wire1"
                             : "efa0",
            .efa = i == 2,
            .layer = i == 2 ? IBV_LINK_LAYER_UNSPECIFIED : IBV_LINK_LAYER_ETHERNET,
            .state = IBV_PORT_ACTIVE,
            .mtu = IBV_MTU_4096,
            .pkey = 0xffff,
            .gid_type = i == 2 ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2,
            .gid = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)(i + 1)}};
    memset(mrs, 0, sizeof mrs);
    wire_queues_reset();
}

bool wire_all_closed(void)
{
    return !wire.contexts && !wire.pds && !wire.mrs && !wire.cqs && !wire.qps &&
           !wire.ahs && !wire.lists && !wire.broken;
}

void wire_broken(const char *rule)
{
    fprintf(stderr, "wire: %s\n", rule);
    wire.broken = true;
}

bool wire_fails(const char *call)
{
    if (!wire.fail || strcmp(wire.fail, call) != 0 || --wire.fail_at != 0)
        return false;
    errno = wire.fail_errno;
    return true;
}

struct wire_device *wire_device_of(const struct ibv_context *context)
{
    return &wire.device[context->device - devices];
}

/* ---- devices ---- */

struct ibv_device **__wrap_ibv_get_device_list(int *n);
struct ibv_device **__wrap_ibv_get_device_list(int *n)
{
    struct ibv_device **list = calloc(WIRE_DEVICES + 1, sizeof(struct ibv_device *));
    if (!list || wire.devices < 0) {
        free(list);
        errno = wire.list_errno;
        return NULL;
    }
    for (int i = 0; i < wire.devices; i++) {
        snprintf(devices[i].name, sizeof devices[i].name, "%s", wire.device[i].name);
        devices[i].transport_type =
            wire.device[i].efa ? IBV_TRANSPORT_UNSPECIFIED : IBV_TRANSPORT_IB;
        list[i] = &devices[i];
    }
    *n = wire.devices;
    wire.lists++;
    return list;
}

void __wrap_ibv_free_device_list(struct ibv_device **list);
void __wrap_ibv_free_device_list(struct ibv_device **list)
{
    wire.lists--;
    free(list);
}

const char *__wrap_ibv_get_device_name(struct ibv_device *device);
const char *__wrap_ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device);
struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device)
{
    if (wire_fails("ibv_open_device"))
        return NULL;
    struct ibv_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->device = device;
    context->async_fd = eventfd(wire.event >= 0, EFD_NONBLOCK);
    context->ops.poll_cq = wire_poll;
    context->ops.post_send = wire_post_send;
    context->ops.post_recv = wire_post_recv;
    wire.contexts++;
    return context;
}

int __wrap_ibv_close_device(struct ibv_context *context);
int __wrap_ibv_close_device(struct ibv_context *context)
{
    close(context->async_fd);
    free(context);
    wire.contexts--;
    return 0;
}

int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr);
int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    if (wire_fails("ibv_query_device"))
        return errno;
    *attr = (struct ibv_device_attr){.phys_port_cnt = 1,
                                     .max_qp_wr = 4096,
                                     .max_cqe = wire.max_cqe,
                                     .max_qp_rd_atom =
                                         wire_device_of(context)->efa ? 0 : 16,
                                     .max_qp_init_rd_atom = 16};
    return 0;
}

int __wrap_ibv_query_port(struct ibv_context *context, uint8_t port, void *out);
int __wrap_ibv_query_port(struct ibv_context *context, uint8_t port, void *out)
{
    const struct wire_device *d = wire_device_of(context);
    struct ibv_port_attr *attr = out;
    if (port != 1 || wire_fails("ibv_query_port"))
        return EINVAL;
    attr->state = d->state;
    attr->max_mtu = IBV_MTU_4096;
    attr->active_mtu = d->mtu;
    attr->gid_tbl_len = 2;
    attr->pkey_tbl_len = 1;
    attr->max_msg_sz = d->efa ? 8192 : 1u << 30;
    attr->lid = d->lid;
    attr->link_layer = d->layer;
    return 0;
}

int __wrap__ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                             struct ibv_gid_entry *entry, uint32_t flags, size_t bytes);
int __wrap__ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                             struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
    const struct wire_device *d = wire_device_of(context);
    (void)flags, (void)bytes;
    if (port != 1 || index > 1 || wire_fails("ibv_query_gid_ex"))
        return ENODATA;
    *entry = (struct ibv_gid_entry){
        .gid_index = index, .port_num = 1, .gid_type = d->gid_type};
    memcpy(entry->gid.raw, d->gid, sizeof d->gid);
    return 0;
}

int __wrap_ibv_query_pkey(struct ibv_context *context, uint8_t port, int index,
                          __be16 *key);
int __wrap_ibv_query_pkey(struct ibv_context *context, uint8_t port, int index,
                          __be16 *key)
{
    (void)port;
    if (index != 0 || wire_fails("ibv_query_pkey"))
        return EINVAL;
    *key = htons(wire_device_of(context)->pkey);
    return 0;
}

int __wrap_efadv_query_device(struct ibv_context *context,
                              struct efadv_device_attr *attr, uint32_t bytes);
int __wrap_efadv_query_device(struct ibv_context *context,
                              struct efadv_device_attr *attr, uint32_t bytes)
{
    (void)bytes;
    if (!wire_device_of(context)->efa || wire_fails("efadv_query_device"))
        return EOPNOTSUPP;
    *attr = (struct efadv_device_attr){.max_sq_wr = 64,
                                       .max_rq_wr = 64,
                                       .inline_buf_size = 32,
                                       .device_caps = (uint32_t)wire.srd_caps,
                                       .max_rdma_size = 1 << 20};
    return 0;
}

int __wrap_ibv_get_async_event(struct ibv_context *context,
                               struct ibv_async_event *event);
int __wrap_ibv_get_async_event(struct ibv_context *context,
                               struct ibv_async_event *event)
{
    uint64_t count;
    if (wire.event < 0 || read(context->async_fd, &count, sizeof count) < 0)
        return -1;
    *event = (struct ibv_async_event){.element.port_num = 1,
                                      .event_type = (enum ibv_event_type)wire.event};
    wire.event = -1;
    return 0;
}

void __wrap_ibv_ack_async_event(struct ibv_async_event *event);
void __wrap_ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

/* ---- memory ---- */

struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context);
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = wire_fails("ibv_alloc_pd") ? NULL : calloc(1, sizeof *pd);
    if (!pd)
        return NULL;
    pd->context = context;
    wire.pds++;
    return pd;
}

int __wrap_ibv_dealloc_pd(struct ibv_pd *pd);
int __wrap_ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    wire.pds--;
    return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *at, size_t bytes,
                                      unsigned access)
{
    uint32_t key = 1;
    while (key < WIRE_MRS && mrs[key].bytes)
        key++;
    if (key == WIRE_MRS)
        abort();
    mrs[key] = (struct wire_mr){.at = (uintptr_t)at, .bytes = bytes, .access = access};
    mrs[key].mr = (struct ibv_mr){.context = pd->context,
                                  .pd = pd,
                                  .addr = at,
                                  .length = bytes,
                                  .lkey = key,
                                  .rkey = key + WIRE_MRS};
    wire.mrs++;
    return &mrs[key].mr;
}

struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t bytes,
                                       uint64_t iova, unsigned access);
struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t bytes,
                                       uint64_t iova, unsigned access)
{
    (void)iova;
    if (wire.pointer_fails || wire_fails("ibv_reg_mr")) {
        errno = wire.reg_errno;
        return NULL;
    }
    return register_memory(pd, at, bytes, access);
}

struct ibv_mr *__wrap_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
                                        size_t bytes, uint64_t iova, int fd,
                                        int access);
struct ibv_mr *__wrap_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
                                        size_t bytes, uint64_t iova, int fd, int access)
{
    (void)offset, (void)fd;
    if (wire.dmabuf_fails) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    return register_memory(pd, (void *)(uintptr_t)iova, bytes, (unsigned)access);
}

int __wrap_ibv_dereg_mr(struct ibv_mr *mr);
int __wrap_ibv_dereg_mr(struct ibv_mr *mr)
{
    mrs[mr->lkey].bytes = 0;
    wire.mrs--;
    return 0;
}

bool wire_may(uint32_t key, uint64_t at, uint64_t bytes, unsigned access)
{
    const struct wire_mr *mr = key < WIRE_MRS ? &mrs[key] : NULL;
    return mr && mr->bytes && at >= mr->at && bytes <= mr->bytes &&
           at - mr->at <= mr->bytes - bytes && (mr->access & access) == access;
}
