// SPDX-License-Identifier: BSD-3-Clause
#include "rdma_lib.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct rdma_lib rdma_lib;

static bool fails(const char *call)
{
    if (!rdma_lib.fail || strcmp(rdma_lib.fail, call) != 0)
        return false;
    errno = rdma_lib.error;
    return true;
}

static int index_of(const struct ibv_context *context)
{
    return (int)(context - rdma_lib.context);
}

struct ibv_device **__wrap_ibv_get_device_list(int *n);
struct ibv_device **__wrap_ibv_get_device_list(int *n)
{
    if (rdma_lib.devices < 0) {
        errno = rdma_lib.list_errno;
        return NULL;
    }
    for (int i = 0; i < rdma_lib.devices; i++)
        rdma_lib.list[i] = &rdma_lib.device[i];
    rdma_lib.lists++;
    *n = rdma_lib.devices;
    return rdma_lib.list;
}

void __wrap_ibv_free_device_list(struct ibv_device **list);
void __wrap_ibv_free_device_list(struct ibv_device **list)
{
    assert_ptr_equal(list, rdma_lib.list);
    rdma_lib.lists--;
}

struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device);
struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device)
{
    if (fails("ibv_open_device"))
        return NULL;
    rdma_lib.open++;
    return &rdma_lib.context[device - rdma_lib.device];
}

int __wrap_ibv_close_device(struct ibv_context *context);
int __wrap_ibv_close_device(struct ibv_context *context)
{
    (void)context;
    rdma_lib.open--;
    return 0;
}

int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr);
int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    *attr = rdma_lib.attr[index_of(context)];
    return fails("ibv_query_device") ? rdma_lib.error : 0;
}

int __wrap_ibv_query_port(struct ibv_context *context, uint8_t number,
                          struct ibv_port_attr *attr);
int __wrap_ibv_query_port(struct ibv_context *context, uint8_t number,
                          struct ibv_port_attr *attr)
{
    if (fails("ibv_query_port"))
        return rdma_lib.error;
    *attr = rdma_lib.port[index_of(context)][number - 1];
    return 0;
}

int __wrap_ibv_query_pkey(struct ibv_context *context, uint8_t number, int index,
                          __be16 *key);
int __wrap_ibv_query_pkey(struct ibv_context *context, uint8_t number, int index,
                          __be16 *key)
{
    (void)context, (void)number;
    *key = htons(index < 8 ? rdma_lib.pkey[index] : 0);
    return fails("ibv_query_pkey") ? -1 : 0;
}

ssize_t __wrap__ibv_query_gid_table(struct ibv_context *context,
                                    struct ibv_gid_entry *entries, size_t max,
                                    uint32_t flags, size_t bytes);
ssize_t __wrap__ibv_query_gid_table(struct ibv_context *context,
                                    struct ibv_gid_entry *entries, size_t max,
                                    uint32_t flags, size_t bytes)
{
    (void)context;
    assert_int_equal(flags, 0);
    assert_int_equal(bytes, sizeof *entries);
    assert_true(max >= 8);
    if (fails("ibv_query_gid_table"))
        return -rdma_lib.error;
    memcpy(entries, rdma_lib.gid, sizeof rdma_lib.gid);
    return rdma_lib.gids;
}

struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context);
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context)
{
    (void)context;
    if (fails("ibv_alloc_pd"))
        return NULL;
    rdma_lib.pds++;
    return &rdma_lib.pd;
}

int __wrap_ibv_dealloc_pd(struct ibv_pd *pd);
int __wrap_ibv_dealloc_pd(struct ibv_pd *pd)
{
    assert_ptr_equal(pd, &rdma_lib.pd);
    rdma_lib.pds--;
    return 0;
}

struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t bytes,
                                       uint64_t iova, unsigned access);
struct ibv_mr *__wrap_ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t bytes,
                                       uint64_t iova, unsigned access)
{
    assert_ptr_equal(pd, &rdma_lib.pd);
    assert_non_null(at);
    assert_int_equal(bytes, 4096);
    assert_true(iova == (uintptr_t)at);
    assert_true(access & IBV_ACCESS_RELAXED_ORDERING);
    if (fails("ibv_reg_mr"))
        return NULL;
    rdma_lib.mrs++;
    return &rdma_lib.mr;
}

int __wrap_ibv_dereg_mr(struct ibv_mr *mr);
int __wrap_ibv_dereg_mr(struct ibv_mr *mr)
{
    assert_ptr_equal(mr, &rdma_lib.mr);
    rdma_lib.mrs--;
    return 0;
}

#ifdef HAVE_EFADV
int __wrap_efadv_query_device(struct ibv_context *context,
                              struct efadv_device_attr *attr, uint32_t bytes);
int __wrap_efadv_query_device(struct ibv_context *context,
                              struct efadv_device_attr *attr, uint32_t bytes)
{
    (void)context;
    assert_int_equal(bytes, sizeof *attr);
    *attr = rdma_lib.efa;
    return fails("efadv_query_device") ? rdma_lib.error : 0;
}
#endif

void rdma_lib_gid(size_t i, uint32_t port, uint32_t index, uint32_t type,
                  const char *text)
{
    rdma_lib.gid[i] =
        (struct ibv_gid_entry){.gid_index = index, .port_num = port, .gid_type = type};
    assert_int_equal(inet_pton(AF_INET6, text, rdma_lib.gid[i].gid.raw), 1);
    rdma_lib.gids = (ssize_t)i + 1;
}

struct ibv_port_attr rdma_lib_port(uint8_t layer)
{
    return (struct ibv_port_attr){.state = IBV_PORT_ACTIVE,
                                  .max_mtu = IBV_MTU_4096,
                                  .active_mtu = IBV_MTU_4096,
                                  .gid_tbl_len = 8,
                                  .max_msg_sz = 1u << 30,
                                  .pkey_tbl_len = 4,
                                  .lid = layer == IBV_LINK_LAYER_INFINIBAND ? 17 : 0,
                                  .sm_lid = 1,
                                  .active_width = 2,
                                  .active_speed = 128,
                                  .link_layer = layer};
}

void rdma_lib_add(const char *name, uint8_t layer, int ports)
{
    int i = rdma_lib.devices++;
    rdma_lib.device[i] = (struct ibv_device){.node_type = IBV_NODE_CA,
                                             .transport_type = IBV_TRANSPORT_IB};
    snprintf(rdma_lib.device[i].name, sizeof rdma_lib.device[i].name, "%s", name);
    snprintf(rdma_lib.device[i].dev_name, sizeof rdma_lib.device[i].dev_name,
             "uverbs%d", i);
    rdma_lib.attr[i] = (struct ibv_device_attr){.vendor_id = 0x2c9,
                                                .vendor_part_id = 4129,
                                                .max_mr_size = UINT64_MAX,
                                                .max_qp = 131072,
                                                .max_qp_wr = 32768,
                                                .max_sge = 30,
                                                .max_cqe = 4194303,
                                                .max_qp_rd_atom = 16,
                                                .max_qp_init_rd_atom = 16,
                                                .phys_port_cnt = (uint8_t)ports};
    snprintf(rdma_lib.attr[i].fw_ver, sizeof rdma_lib.attr[i].fw_ver, "28.39.1002");
    for (int p = 0; p < ports; p++)
        rdma_lib.port[i][p] = rdma_lib_port(layer);
}
