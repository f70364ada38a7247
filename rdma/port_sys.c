// SPDX-License-Identifier: BSD-3-Clause
/* What /sys/class/infiniband says of devices and ports. It is there for devices that
 * cannot be opened too, so that those are named with what is known of them. */
#include "rdma/port_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS "/sys/class/infiniband"

struct fc_names fc_rdma_sys_devices(const struct fc_tree *tree)
{
    return fc_tree_list(tree, CLASS);
}

static void read_text(const struct fc_tree *tree, char *out, size_t bytes,
                      const char *at, const char *file)
{
    char text[256];
    if (fc_tree_read(tree, text, sizeof text, "%s/%s", at, file))
        fc_rdma_text(out, bytes, text);
}

/* "4: ACTIVE": the number, or -1; the word into `out`. */
static int read_state(const struct fc_tree *tree, char *out, size_t bytes,
                      const char *at, const char *file)
{
    char text[64], *end;
    if (!fc_tree_read(tree, text, sizeof text, "%s/%s", at, file))
        return -1;
    long number = strtol(text, &end, 10);
    if (end == text || *end != ':' || number < 0 || number > 255)
        return -1;
    fc_rdma_text(out, bytes, end + 1);
    return (int)number;
}

static void read_numbers(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                         const struct fc_tree *tree, const char *at)
{
    char rate[64] = "", *end;
    int64_t value;
    read_text(tree, rate, sizeof rate, at, "rate");
    /* "400 Gb/sec (4X NDR)"; the C locale is never left (core/launch) */
    double Gbps = strtod(rate, &end);
    if (port->state == FC_RDMA_PORT_ACTIVE && end != rate && Gbps > 0 && Gbps <= 6400)
        port->Gbps = Gbps;
    else if (port->state == FC_RDMA_PORT_ACTIVE && rate[0])
        fc_rdma_ports_note(ports, "%s: its rate is \"%.40s\"", port->name, rate);
    const char *open = strchr(rate, '(');
    if (open && port->state == FC_RDMA_PORT_ACTIVE) {
        fc_rdma_text(port->speed, sizeof port->speed, open + 1);
        port->speed[strcspn(port->speed, ")")] = '\0';
    }
    if (fc_tree_int(tree, &value, "%s/lid", at) && value > 0 && value <= 0xffff)
        port->lid = (int)value;
    if (fc_tree_int(tree, &value, "%s/sm_lid", at) && value > 0 && value <= 0xffff)
        port->sm_lid = (int)value;
}

/* Linux writes "InfiniBand", "Ethernet"; EFA has "Unspecified". */
static enum fc_rdma_wire wire_of(const struct fc_rdma_port *port)
{
    if (strcmp(port->driver, "efa") == 0)
        return FC_RDMA_EFA;
    if (strcmp(port->link_layer, "InfiniBand") == 0)
        return FC_RDMA_IB;
    return strcmp(port->link_layer, "Ethernet") == 0 ? FC_RDMA_ROCE
                                                     : FC_RDMA_WIRE_UNKNOWN;
}

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
}

static void read_port(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                      const struct fc_tree *tree)
{
    char at[256];
    snprintf(at, sizeof at, CLASS "/%s/ports/%d", port->device, port->port);
    port->state =
        read_state(tree, port->state_name, sizeof port->state_name, at, "state");
    if (port->state > 5) {
        fc_rdma_ports_note(ports, "%s: no port has the state %d", port->name,
                           port->state);
        port->state = -1;
    }
    lower(port->state_name);
    (void)read_state(tree, port->phys_state, sizeof port->phys_state, at, "phys_state");
    read_text(tree, port->link_layer, sizeof port->link_layer, at, "link_layer");
    read_numbers(ports, port, tree, at);
    port->wire = wire_of(port);
    read_text(tree, port->net, sizeof port->net, at, "gid_attrs/ndevs/0");
}

/* The interface of the same PCI function; with several ports, the one whose dev_port
 * says so. */
static void read_net(struct fc_rdma_port *port, const struct fc_tree *tree)
{
    struct fc_names nets = fc_tree_list(tree, CLASS "/%s/device/net", port->device);
    for (size_t i = 0; i < nets.count && !port->net[0]; i++) {
        int64_t number = 0;
        (void)fc_tree_int(tree, &number, CLASS "/%s/device/net/%s/dev_port",
                          port->device, nets.name[i]);
        if (nets.count == 1 || number == port->port - 1)
            fc_rdma_text(port->net, sizeof port->net, nets.name[i]);
    }
    fc_names_free(&nets);
    if (!port->net[0]) /* rxe, siw: the interface that they stand on */
        (void)fc_tree_read(tree, port->net, sizeof port->net, CLASS "/%s/parent",
                           port->device);
}

/* Everything that all ports of a device have in common. */
static void read_device(struct fc_rdma_port *port, const struct fc_tree *tree)
{
    char at[128], device[160];
    int64_t value;
    snprintf(at, sizeof at, CLASS "/%s", port->device);
    snprintf(device, sizeof device, "%s/device", at);
    read_text(tree, port->firmware, sizeof port->firmware, at, "fw_ver");
    read_text(tree, port->board, sizeof port->board, at, "board_id");
    read_text(tree, port->type, sizeof port->type, at, "hca_type");
    read_text(tree, port->node_guid, sizeof port->node_guid, at, "node_guid");
    port->software = !fc_tree_exists(tree, "%s", device);
    if (port->software && fc_tree_exists(tree, "%s/parent", at))
        fc_rdma_text(port->driver, sizeof port->driver,
                     strncmp(port->device, "siw", 3) == 0 ? "siw" : "rdma_rxe");
    (void)fc_tree_link_name(tree, port->bdf, sizeof port->bdf, "%s", device);
    if (!strchr(port->bdf, ':'))
        port->bdf[0] = '\0';
    (void)fc_tree_link_name(tree, port->driver, sizeof port->driver, "%s/driver",
                            device);
    port->vf =
        fc_tree_link_name(tree, port->pf_bdf, sizeof port->pf_bdf, "%s/physfn", device);
    if (fc_tree_int(tree, &value, "%s/numa_node", device) && value >= 0 && value < 4096)
        port->numa = (int)value;
}

enum fc_status fc_rdma_sys_device(struct fc_rdma_ports *ports,
                                  const struct fc_tree *tree, const char *device,
                                  struct fc_error *err)
{
    struct fc_names names = fc_tree_list(tree, CLASS "/%s/ports", device);
    enum fc_status status = FC_OK;
    size_t before = ports->ports;
    for (size_t i = 0; i <= names.count && status == FC_OK; i++) {
        bool none = i == names.count && ports->ports == before;
        char *end;
        long number = i < names.count ? strtol(names.name[i], &end, 10) : 1;
        if ((i == names.count && !none) || number < 1 || number > 255 ||
            (i < names.count && *end))
            continue;
        struct fc_rdma_port *port = fc_rdma_ports_add(ports, device, (int)number);
        if (!port) {
            status = fc_rdma_full(err);
            break;
        }
        read_device(port, tree);
        read_port(ports, port, tree);
        read_net(port, tree);
    }
    fc_names_free(&names);
    return status;
}
