// SPDX-License-Identifier: BSD-3-Clause
/* What the numbers of an ibv_port_attr mean. Collective: no. Refuses to know: how they
 * are asked for.
 */
#ifndef FC_RDMA_PORT_ATTR_H
#define FC_RDMA_PORT_ATTR_H

#include "rdma/port_parts.h"

struct ibv_port_attr;

/* Fills state, link layer, LIDs, rate and MTU, over what /sys has said; notes in
 * `ports` what no port can have. Collective: no. */
void fc_rdma_port_attr(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                       const struct ibv_port_attr *attr);

#endif
