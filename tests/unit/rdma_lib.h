// SPDX-License-Identifier: BSD-3-Clause
/* libibverbs and efadv as a test wants them: what they answer, which call fails, and
 * what is still open. The calls are wrapped at link time (tests/local.mk). */
#ifndef FC_TESTS_UNIT_RDMA_LIB_H
#define FC_TESTS_UNIT_RDMA_LIB_H

#include "config.h"

#include <infiniband/verbs.h>
#include <stdint.h>
#include <sys/types.h>
#ifdef HAVE_EFADV
#include <infiniband/efadv.h>
#endif

enum { DEVICES = 3, PORTS = 2 };

extern struct rdma_lib {
    int devices;      /* how many it lists; -1: none, and errno */
    int list_errno;   /* of a list that is NULL */
    const char *fail; /* the call that fails */
    int error;
    struct ibv_device device[DEVICES];
    struct ibv_context context[DEVICES];
    struct ibv_device_attr attr[DEVICES];
    struct ibv_port_attr port[DEVICES][PORTS];
    struct ibv_gid_entry gid[8];
    ssize_t gids;
    uint16_t pkey[8];
#ifdef HAVE_EFADV
    struct efadv_device_attr efa;
#endif
    int open, pds, mrs, lists; /* still held */
    struct ibv_device *list[DEVICES + 1];
    struct ibv_pd pd;
    struct ibv_mr mr;
} rdma_lib;

/* A healthy device with ports of this link layer, after those there are. */
void rdma_lib_add(const char *name, uint8_t layer, int ports);
/* What a healthy port answers. */
struct ibv_port_attr rdma_lib_port(uint8_t layer);
/* Entry i of the GID table, which then ends with it. */
void rdma_lib_gid(size_t i, uint32_t port, uint32_t index, uint32_t type,
                  const char *text);

#endif
