// SPDX-License-Identifier: BSD-3-Clause
/* RDMA ports made by hand, for the tests of what is done with them. */
#ifndef FC_TESTS_UNIT_RDMA_BUILD_H
#define FC_TESTS_UNIT_RDMA_BUILD_H

#include "rdma/choose.h"
#include "rdma/port.h"
#include "rdma/port_parts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void rdma_must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static inline struct fc_rdma_ports *rdma_new(void)
{
    struct fc_rdma_ports *ports = calloc(1, sizeof *ports);
    rdma_must(ports != NULL, "calloc");
    return ports;
}

/* An active port of a card; the pointer holds until the next one is added. */
static inline struct fc_rdma_port *rdma_add(struct fc_rdma_ports *ports,
                                            const char *device, int number,
                                            enum fc_rdma_wire wire, double Gbps)
{
    struct fc_rdma_port *port = fc_rdma_ports_add(ports, device, number);
    rdma_must(port != NULL, "fc_rdma_ports_add");
    port->wire = wire;
    port->usable = true;
    port->state = FC_RDMA_PORT_ACTIVE;
    snprintf(port->state_name, sizeof port->state_name, "active");
    snprintf(port->link_layer, sizeof port->link_layer, "%s",
             wire == FC_RDMA_IB     ? "InfiniBand"
             : wire == FC_RDMA_ROCE ? "Ethernet"
                                    : "Unspecified");
    snprintf(port->driver, sizeof port->driver, "mlx5_core");
    snprintf(port->board, sizeof port->board, "MT_0000000838");
    port->Gbps = Gbps;
    port->mtu = 4096;
    port->relaxed_ordering = 1;
    return port;
}

/* `text` is an IPv6 address, "::ffff:192.0.2.1" too. */
static inline void rdma_gid(struct fc_rdma_port *port, int index,
                            enum fc_rdma_gid_kind kind, const char *text)
{
    struct fc_rdma_gid *gid = fc_rdma_port_add_gid(port);
    rdma_must(gid != NULL, "fc_rdma_port_add_gid");
    gid->index = index;
    gid->kind = kind;
    rdma_must(inet_pton(AF_INET6, text, gid->raw) == 1, text);
    fc_rdma_gid_describe(gid);
    if (port->gid_slots <= index)
        port->gid_slots = index + 1;
}

static inline void rdma_pkey(struct fc_rdma_port *port, int index, uint16_t key)
{
    struct fc_rdma_pkey *pkey = fc_rdma_port_add_pkey(port);
    rdma_must(pkey != NULL, "fc_rdma_port_add_pkey");
    *pkey = (struct fc_rdma_pkey){.index = index, .key = key};
}

/* What NCCL would take from "NAME=value" texts, NULL-ended; NULL: none. */
static inline struct fc_rdma_wish rdma_wishes(const char *const *env)
{
    struct fc_nccl_source source = {.env = env, .home = "/nowhere", .root = "/nowhere"};
    struct fc_nccl_conf *conf = NULL;
    struct fc_rdma_wish wish;
    struct fc_error err;
    rdma_must(fc_nccl_conf_open(&source, &conf, &err) == FC_OK, "fc_nccl_conf_open");
    fc_rdma_wish_read(conf, &wish);
    fc_nccl_conf_close(conf);
    return wish;
}

static inline struct fc_rdma_wish rdma_wish(const char *text)
{
    const char *const env[] = {text, NULL};
    return rdma_wishes(env);
}

#endif
