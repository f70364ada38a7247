// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/port_attr.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

/* enum ibv_mtu; 0: none of it. EFA's frames of 8928 bytes are no value of it. */
static int mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << (int)mtu : 0;
}

/* Gb/s of a lane and its name; the codes are those of the InfiniBand specification. */
static double lane_Gbps(unsigned speed, const char **out_name)
{
    static const struct {
        unsigned code;
        double Gbps;
        const char *name;
    } lanes[] = {{1, 2.5, "SDR"}, {2, 5, "DDR"},   {4, 10, "QDR"},  {8, 10, "FDR10"},
                 {16, 14, "FDR"}, {32, 25, "EDR"}, {64, 50, "HDR"}, {128, 100, "NDR"}};
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (lanes[i].code == speed) {
            *out_name = lanes[i].name;
            return lanes[i].Gbps;
        }
    return 0;
}

static int lanes_of(unsigned width)
{
    return width == 1    ? 1
           : width == 2  ? 4
           : width == 4  ? 8
           : width == 8  ? 12
           : width == 16 ? 2
                         : 0;
}

/* The kernel's text knows newer speeds than these codes (XDR has none of 8 bits). */
static void set_rate(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                     const struct ibv_port_attr *attr)
{
    const char *name = "";
    double told = port->Gbps;
    double Gbps = lane_Gbps(attr->active_speed, &name) * lanes_of(attr->active_width);
    if (port->state != FC_RDMA_PORT_ACTIVE)
        return;
    if (Gbps > 0 && told > 0 && (told > Gbps * 1.1 || told < Gbps * 0.9))
        fc_rdma_ports_note(ports, "%s: /sys says %.4g Gb/s, libibverbs %.4g",
                           port->name, told, Gbps);
    if (told > 0)
        return;
    if (Gbps <= 0) {
        fc_rdma_ports_note(ports, "%s: width code %u and speed code %u mean nothing",
                           port->name, attr->active_width, attr->active_speed);
        return;
    }
    port->Gbps = Gbps;
    snprintf(port->speed, sizeof port->speed, "%dX %s", lanes_of(attr->active_width),
             name);
}

static void set_mtu(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                    const struct ibv_port_attr *attr)
{
    int active = mtu_bytes(attr->active_mtu);
    port->max_mtu = mtu_bytes(attr->max_mtu);
    if (port->state != FC_RDMA_PORT_ACTIVE)
        return; /* what such a port reports means nothing */
    if (active == 0 || port->max_mtu == 0 || active > port->max_mtu)
        fc_rdma_ports_note(ports, "%s: its MTU codes are %d of at most %d", port->name,
                           (int)attr->active_mtu, (int)attr->max_mtu);
    port->mtu = active;
}

static void set_state(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                      const struct ibv_port_attr *attr)
{
    static const char *const names[] = {"nop",   "down",   "init",
                                        "armed", "active", "active, deferred"};
    if ((unsigned)attr->state >= sizeof names / sizeof *names) {
        fc_rdma_ports_note(ports, "%s: no port has the state %d", port->name,
                           (int)attr->state);
        port->state = -1;
        return;
    }
    port->state = (int)attr->state;
    fc_rdma_text(port->state_name, sizeof port->state_name, names[port->state]);
    if (port->state != FC_RDMA_PORT_ACTIVE) {
        port->Gbps = 0;
        port->speed[0] = '\0';
    }
}

static void set_link(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                     const struct ibv_port_attr *attr)
{
    static const char *const layers[] = {"Unspecified", "InfiniBand", "Ethernet"};
    if (attr->link_layer < 3)
        fc_rdma_text(port->link_layer, sizeof port->link_layer,
                     layers[attr->link_layer]);
    else
        fc_rdma_ports_note(ports, "%s: no link layer has the number %d", port->name,
                           attr->link_layer);
    port->lid = attr->lid > 0 ? attr->lid : -1;
    port->sm_lid = attr->sm_lid > 0 ? attr->sm_lid : -1;
    port->grh_required = attr->flags & IBV_QPF_GRH_REQUIRED;
    port->max_message_bytes = attr->max_msg_sz;
    bool up = port->state == FC_RDMA_PORT_ACTIVE;
    if (up && attr->link_layer == IBV_LINK_LAYER_INFINIBAND && attr->lid == 0)
        fc_rdma_ports_note(ports, "%s: it is active and has no LID", port->name);
}

void fc_rdma_port_attr(struct fc_rdma_ports *ports, struct fc_rdma_port *port,
                       const struct ibv_port_attr *attr)
{
    set_state(ports, port, attr);
    set_link(ports, port, attr);
    set_rate(ports, port, attr);
    set_mtu(ports, port, attr);
}
