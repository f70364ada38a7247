// SPDX-License-Identifier: BSD-3-Clause
/* What the readers of port descriptions share: growing arrays, clean texts, notes.
 * Collective: no. Refuses to know: where values come from.
 */
#ifndef FC_RDMA_PORT_PARTS_H
#define FC_RDMA_PORT_PARTS_H

#include "rdma/port.h"
#include "topology/tree.h"

/* Bounds that no node reaches; what is beyond is noted and left out. */
enum {
    FC_RDMA_MAX_PORTS = 1024,
    FC_RDMA_MAX_GIDS = 1024,
    FC_RDMA_MAX_PKEYS = 1024,
    FC_RDMA_MAX_NOTES = 64,
};

/* A new last element with everything unknown; NULL: out of memory, or too many. The
 * pointers to earlier elements become invalid. Collective: no. */
struct fc_rdma_port *fc_rdma_ports_add(struct fc_rdma_ports *ports, const char *device,
                                       int port);
struct fc_rdma_gid *fc_rdma_port_add_gid(struct fc_rdma_port *port);
struct fc_rdma_pkey *fc_rdma_port_add_pkey(struct fc_rdma_port *port);
enum fc_status fc_rdma_full(struct fc_error *err) FC_MUST_USE;

/* Notes beyond the bound are dropped. Collective: no. */
void fc_rdma_ports_note(struct fc_rdma_ports *ports, const char *fmt, ...)
    FC_PRINTF(2, 3);
/* Copies printable ASCII, anything else becomes '?', blanks at both ends go; NULL is
 * "". Collective: no. */
void fc_rdma_text(char *out, size_t bytes, const char *text);
/* Family, link_local and address from the raw bytes. Collective: no. */
void fc_rdma_gid_describe(struct fc_rdma_gid *gid);
/* Into the order that port.h promises. Collective: no. */
void fc_rdma_ports_sort(struct fc_rdma_ports *ports);

/* What /sys says of one device: its ports are appended, not usable yet. No ports there
 * is one with the number 1. Collective: no. */
enum fc_status fc_rdma_sys_device(struct fc_rdma_ports *ports,
                                  const struct fc_tree *tree, const char *device,
                                  struct fc_error *err) FC_MUST_USE;
/* Its devices, sorted; the caller frees. Collective: no. */
struct fc_names fc_rdma_sys_devices(const struct fc_tree *tree);

#endif
