// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/choose.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the choice looks at. */
struct look {
    const struct fc_rdma_ports *ports;
    const struct fc_topo *topo; /* may be NULL */
    const struct fc_rdma_wish *wish;
    struct fc_rdma_chosen *chosen; /* one a port */
    enum fc_rdma_wire wire;        /* the fabric's */
    double top_Gbps;               /* its fastest port; 0: all are down */
    const char *top_name;          /* that port */
    bool hardware;                 /* some port is a card's */
};

static void leave_out(struct fc_rdma_chosen *chosen, enum fc_rdma_why why,
                      const char *fmt, ...) FC_PRINTF(3, 4);
static void leave_out(struct fc_rdma_chosen *chosen, enum fc_rdma_why why,
                      const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(chosen->reason, sizeof chosen->reason, fmt, args);
    va_end(args);
    chosen->why = why;
}

static bool is_up(const struct fc_rdma_port *port)
{
    return port->state == FC_RDMA_PORT_ACTIVE;
}

/* NCCL_IB_HCA lists the ports to use (and not those to leave out). It is NCCL's word
 * for its own verbs transport, which EFA is not. */
static bool is_listed(const struct look *look, const struct fc_rdma_port *port)
{
    const char *hca = look->wish->hca;
    return hca[0] && hca[0] != '^' && port->wire != FC_RDMA_EFA &&
           fc_rdma_hca_names(hca, port);
}

static const struct fc_topo_nic *nic_of(const struct look *look,
                                        const struct fc_rdma_port *port)
{
    for (size_t i = 0; look->topo && i < look->topo->nics; i++)
        if (strcmp(look->topo->nic[i].rdma, port->device) == 0)
            return &look->topo->nic[i];
    return NULL;
}

/* ---- which kind of port is the fabric's ---- */

/* Ports that could be the fabric: of a wire that queue pairs are made for here, and of
 * a card where there is one. */
static bool may_be_fabric(const struct look *look, const struct fc_rdma_port *port)
{
    const struct fc_topo_nic *nic = nic_of(look, port);
    return (port->wire == FC_RDMA_IB || port->wire == FC_RDMA_ROCE ||
            port->wire == FC_RDMA_EFA) &&
           !(port->software && look->hardware) && !(nic && nic->role != FC_NIC_FABRIC);
}

/* The fastest port, and the wire that most of the equally fast ones have: InfiniBand
 * first where it is a draw. */
static void find_fabric(struct look *look)
{
    static const enum fc_rdma_wire order[] = {FC_RDMA_IB, FC_RDMA_EFA, FC_RDMA_ROCE};
    size_t count[FC_RDMA_IWARP + 1] = {0}, all[FC_RDMA_IWARP + 1] = {0};
    for (size_t i = 0; i < look->ports->ports; i++)
        look->hardware |= !look->ports->port[i].software;
    for (size_t i = 0; i < look->ports->ports; i++) {
        const struct fc_rdma_port *port = &look->ports->port[i];
        if (!may_be_fabric(look, port) || !is_up(port) || port->Gbps <= look->top_Gbps)
            continue;
        look->top_Gbps = port->Gbps;
        look->top_name = port->name;
    }
    for (size_t i = 0; i < look->ports->ports; i++) {
        const struct fc_rdma_port *port = &look->ports->port[i];
        if (!may_be_fabric(look, port))
            continue;
        all[port->wire]++;
        count[port->wire] += is_up(port) && port->Gbps >= look->top_Gbps * 0.99;
    }
    const size_t *votes = look->top_Gbps > 0 ? count : all;
    look->wire = order[0];
    for (size_t i = 1; i < sizeof order / sizeof *order; i++)
        if (votes[order[i]] > votes[look->wire])
            look->wire = order[i];
}

static bool same_product(const struct fc_rdma_port *a, const struct fc_rdma_port *b)
{
    return a->vendor_id == b->vendor_id && a->part_id == b->part_id &&
           strcmp(a->board, b->board) == 0 && strcmp(a->type, b->type) == 0 &&
           strcmp(a->driver, b->driver) == 0;
}

/* A port that is down has no rate: it is the fabric's when its product is. */
static bool down_is_fabric(const struct look *look, const struct fc_rdma_port *port)
{
    if (look->top_Gbps <= 0)
        return true;
    for (size_t i = 0; i < look->ports->ports; i++) {
        const struct fc_rdma_port *other = &look->ports->port[i];
        if (may_be_fabric(look, other) && is_up(other) && other->wire == look->wire &&
            other->Gbps >= look->top_Gbps / 2 && same_product(port, other))
            return true;
    }
    return false;
}

/* ---- one port ---- */

/* Fills why and reason where the port is no rail by its kind. */
static void judge_kind(const struct look *look, const struct fc_rdma_port *port,
                       struct fc_rdma_chosen *chosen)
{
    const struct fc_topo_nic *nic = nic_of(look, port);
    if (port->wire == FC_RDMA_WIRE_UNKNOWN || port->wire == FC_RDMA_IWARP)
        leave_out(chosen, FC_RDMA_OTHER_KIND,
                  "%s: only InfiniBand, RoCE and EFA are "
                  "measured",
                  port->wire == FC_RDMA_IWARP ? "iWARP" : "its wire is unknown");
    else if (port->software && look->hardware)
        leave_out(chosen, FC_RDMA_SOFTWARE, "a software device (%s) beside real cards",
                  port->driver[0] ? port->driver : "no driver named");
    else if (port->wire != look->wire)
        leave_out(chosen, FC_RDMA_OTHER_KIND, "%s, where the fabric is %s",
                  fc_rdma_wire_name(port->wire), fc_rdma_wire_name(look->wire));
    else if (is_up(port) && port->Gbps < look->top_Gbps / 2)
        leave_out(chosen, FC_RDMA_SLOWER,
                  "%.4g Gb/s beside the %.4g of %s: storage or management", port->Gbps,
                  look->top_Gbps, look->top_name);
    else if (!is_up(port) && !down_is_fabric(look, port))
        leave_out(chosen, FC_RDMA_OTHER_KIND,
                  "%s, and of another product than the "
                  "fabric's",
                  port->state_name[0] ? port->state_name : "in an unknown state");
    else if (nic && nic->role != FC_NIC_FABRIC)
        leave_out(chosen, FC_RDMA_OTHER_KIND,
                  "management or storage by the node's picture");
}

/* Its card's own function, where that can be used itself. */
static const struct fc_rdma_port *own_function(const struct look *look,
                                               const struct fc_rdma_port *port)
{
    for (size_t i = 0; port->vf && i < look->ports->ports; i++) {
        const struct fc_rdma_port *own = &look->ports->port[i];
        if (!own->vf && own->usable && is_up(own) && own->bdf[0] &&
            strcmp(own->bdf, port->pf_bdf) == 0 &&
            fc_rdma_hca_names(look->wish->hca, own))
            return own;
    }
    return NULL;
}

static void judge_wish(const struct look *look, const struct fc_rdma_port *port,
                       struct fc_rdma_chosen *chosen)
{
    const struct fc_rdma_wish *wish = look->wish;
    if (wish->hca[0] && port->wire != FC_RDMA_EFA &&
        !fc_rdma_hca_names(wish->hca, port))
        leave_out(chosen, FC_RDMA_NOT_ASKED, "NCCL_IB_HCA=%.120s (%.60s) leaves it out",
                  wish->hca, wish->hca_origin);
}

/* Why a port that belongs to the fabric cannot be used. */
static void judge_health(const struct look *look, const struct fc_rdma_port *port,
                         struct fc_rdma_chosen *chosen)
{
    const struct fc_rdma_gid *gid = fc_rdma_gid_at(port, chosen->gid_index);
    bool pkey = false;
    for (size_t i = 0; i < port->pkeys; i++)
        if (port->pkey[i].index == chosen->pkey_index) {
            chosen->pkey = port->pkey[i].key;
            pkey = true;
        }
    if (!port->usable)
        leave_out(chosen, FC_RDMA_UNUSABLE, "%s", port->unusable);
    else if (!is_up(port))
        leave_out(chosen, FC_RDMA_DOWN, "it is %s%s%s%s",
                  port->state_name[0] ? port->state_name : "in an unknown state",
                  port->phys_state[0] ? " (" : "", port->phys_state,
                  port->phys_state[0] ? ")" : "");
    else if (!gid && port->wire == FC_RDMA_ROCE && look->wish->gid_index >= 0)
        leave_out(chosen, FC_RDMA_NO_GID,
                  "GID %d, which NCCL_IB_GID_INDEX names, is "
                  "empty",
                  chosen->gid_index);
    else if (!gid)
        leave_out(chosen, FC_RDMA_NO_GID,
                  "GID %d is empty: has its interface %s an "
                  "address?",
                  chosen->gid_index, port->net[0] ? port->net : "(none)");
    else if (!pkey && port->pkeys > 0 && port->wire == FC_RDMA_IB)
        leave_out(chosen, FC_RDMA_NO_PKEY, "P_Key %d (NCCL_IB_PKEY) is empty",
                  chosen->pkey_index);
}

/* What makes a GID or P_Key doubtful: it works between some hosts and not between
 * others. */
static void doubt(const struct look *look, const struct fc_rdma_port *port,
                  struct fc_rdma_chosen *chosen)
{
    const struct fc_rdma_gid *gid = fc_rdma_gid_at(port, chosen->gid_index);
    int version = gid && gid->kind == FC_RDMA_GID_ROCE_V2 ? 2 : 1;
    if (!gid)
        return;
    if (port->wire == FC_RDMA_ROCE && gid->link_local)
        snprintf(chosen->doubt, sizeof chosen->doubt,
                 "GID %d (%s, RoCE v%d) is link-local: it reaches only its own subnet",
                 gid->index, gid->address, version);
    else if (port->wire == FC_RDMA_ROCE && version == 1)
        snprintf(chosen->doubt, sizeof chosen->doubt,
                 "GID %d (%s) is RoCE v1: it cannot be routed", gid->index,
                 gid->address);
    else if (port->wire == FC_RDMA_ROCE && look->wish->gid_index < 0 &&
             gid->family != look->wish->family)
        snprintf(chosen->doubt, sizeof chosen->doubt,
                 "GID %d (%s) is the best of a table without an %s address", gid->index,
                 gid->address, look->wish->family == FC_RDMA_IPV4 ? "IPv4" : "IPv6");
    else if (port->wire == FC_RDMA_IB && chosen->pkey && !(chosen->pkey & 0x8000))
        snprintf(chosen->doubt, sizeof chosen->doubt,
                 "P_Key 0x%04x is a limited member's: two of them cannot talk",
                 chosen->pkey);
}

static void choose_one(const struct look *look, size_t index)
{
    const struct fc_rdma_port *port = &look->ports->port[index];
    struct fc_rdma_chosen *chosen = &look->chosen[index];
    const struct fc_rdma_wish *wish = look->wish;
    const struct fc_rdma_port *own = own_function(look, port);
    *chosen = (struct fc_rdma_chosen){.port = index,
                                      .rail = -1,
                                      .gid_index = fc_rdma_gid_choose(port, wish),
                                      .pkey_index = wish->pkey_index,
                                      .sl = wish->sl < 0 ? 0 : wish->sl,
                                      .tc = wish->tc < 0 ? 0 : wish->tc,
                                      .timeout = wish->timeout,
                                      .retry = wish->retry};
    chosen->relaxed_ordering = wish->relaxed_ordering && port->relaxed_ordering == 1;
    judge_wish(look, port, chosen);
    if (chosen->why == FC_RDMA_USED && !is_listed(look, port)) {
        judge_kind(look, port, chosen);
        if (chosen->why == FC_RDMA_USED && own)
            leave_out(chosen, FC_RDMA_VIRTUAL,
                      "a virtual function of %s, which is measured itself", own->name);
    }
    if (chosen->why == FC_RDMA_USED)
        judge_health(look, port, chosen);
    if (chosen->why == FC_RDMA_USED)
        doubt(look, port, chosen);
}

/* ---- rails ---- */

static bool is_rail(const struct fc_rdma_chosen *chosen)
{
    return chosen->why <= FC_RDMA_NO_PKEY;
}

/* In the picture's order where it has one, else in that of the bus; then by name and
 * port, as the ports are. */
static bool comes_before(const struct look *look, bool pictured, size_t a, size_t b)
{
    const struct fc_rdma_port *x = &look->ports->port[a], *y = &look->ports->port[b];
    int order = strcmp(x->bdf, y->bdf);
    if (pictured)
        order = nic_of(look, x)->rail - nic_of(look, y)->rail;
    return order != 0 ? order < 0 : a < b;
}

/* Whether the picture has a rail for each; *out_alone: and each of them once. */
static bool is_pictured(const struct look *look, const struct fc_rdma_choice *choice,
                        bool *out_alone)
{
    *out_alone = true;
    for (size_t i = 0; i < choice->count; i++) {
        const struct fc_topo_nic *nic = nic_of(look, &look->ports->port[i]);
        if (!is_rail(&choice->chosen[i]))
            continue;
        if (!nic || nic->rail < 0)
            return false;
        for (size_t j = 0; j < i; j++)
            if (is_rail(&choice->chosen[j]) &&
                nic_of(look, &look->ports->port[j])->rail == nic->rail)
                *out_alone = false;
    }
    return true;
}

/* The picture's own numbers, unless two ports share one. Where NCCL_IB_HCA names the
 * ports, each node may have other ones, and they meet by their place in the list. */
static void number_rails(const struct look *look, struct fc_rdma_choice *out)
{
    bool alone, pictured = is_pictured(look, out, &alone);
    for (size_t i = 0; i < out->count; i++) {
        int rail = 0;
        if (!is_rail(&out->chosen[i]))
            continue;
        for (size_t j = 0; j < out->count; j++)
            rail += j != i && is_rail(&out->chosen[j]) &&
                    comes_before(look, pictured, j, i);
        if (pictured && alone && !look->wish->hca[0])
            rail = nic_of(look, &look->ports->port[i])->rail;
        out->chosen[i].rail = rail;
        out->rails = rail >= out->rails ? rail + 1 : out->rails;
    }
}

enum fc_status fc_rdma_choose(const struct fc_rdma_ports *ports,
                              const struct fc_topo *topo,
                              const struct fc_rdma_wish *wish,
                              struct fc_rdma_choice *out, struct fc_error *err)
{
    struct look look = {.ports = ports, .topo = topo, .wish = wish};
    *out = (struct fc_rdma_choice){0};
    if (ports->ports == 0)
        return FC_OK;
    out->chosen = calloc(ports->ports, sizeof *out->chosen);
    if (!out->chosen)
        return fc_fail(err, FC_NOMEM, "out of memory for the choice of RDMA ports");
    out->count = ports->ports;
    look.chosen = out->chosen;
    find_fabric(&look);
    for (size_t i = 0; i < out->count; i++)
        choose_one(&look, i);
    number_rails(&look, out);
    return FC_OK;
}

void fc_rdma_choice_fini(struct fc_rdma_choice *choice)
{
    if (!choice)
        return;
    free(choice->chosen);
    *choice = (struct fc_rdma_choice){0};
}

const struct fc_rdma_chosen *fc_rdma_rail(const struct fc_rdma_choice *choice, int rail)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->chosen[i].rail == rail && choice->chosen[i].why == FC_RDMA_USED)
            return &choice->chosen[i];
    return NULL;
}
