// SPDX-License-Identifier: BSD-3-Clause
/* The program without libibverbs: it has no RDMA ports, and says why. */
#include "rdma/port.h"
#include "rdma/port_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum fc_status fc_rdma_ports_open(const struct fc_rdma_source *source,
                                  struct fc_rdma_ports **out_ports,
                                  struct fc_error *err)
{
    struct fc_tree tree = {
        .source = {.root = source->root, .note = source->note, .arg = source->arg}};
    struct fc_rdma_ports *ports = calloc(1, sizeof *ports);
    if (!ports)
        return fc_rdma_full(err);
    struct fc_names names = fc_rdma_sys_devices(&tree);
    char more[32] = "";
    if (names.count > 1)
        snprintf(more, sizeof more, " and %zu more", names.count - 1);
    if (names.count > 0)
        snprintf(ports->none, sizeof ports->none,
                 "built without libibverbs: the node's RDMA devices (%s%s) are out of "
                 "reach",
                 names.name[0], more);
    else
        snprintf(ports->none, sizeof ports->none, "built without libibverbs");
    fc_names_free(&names);
    *out_ports = ports;
    return FC_OK;
}
