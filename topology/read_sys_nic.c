// SPDX-License-Identifier: BSD-3-Clause
/* NICs of /sys: verbs devices with their ports, network interfaces. They are looked for
 * below each PCI function, and in /sys/class for those that have none there. */
#include "topology/model_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GIDs beyond are not read: RoCE tables have 256 entries, and each read asks the card.
 * */
enum { MAX_GIDS = 16, MAX_PKEYS = 8, AT_BYTES = 256 };

static void read_text(const struct fc_tree *tree, char *out, size_t bytes,
                      const char *at, const char *file)
{
    char text[512];
    out[0] = '\0';
    if (fc_tree_read(tree, text, sizeof text, "%s/%s", at, file))
        fc_topo_text(out, bytes, text);
}

/* "4: ACTIVE" -> "ACTIVE". */
static void read_state(const struct fc_tree *tree, char *out, size_t bytes,
                       const char *at, const char *file)
{
    char text[64];
    read_text(tree, text, sizeof text, at, file);
    const char *colon = strchr(text, ':');
    fc_topo_text(out, bytes, colon ? colon + 1 : text);
}

static enum fc_status read_gids(struct fc_topo_port *port, const struct fc_tree *tree,
                                const char *at, struct fc_error *err)
{
    static const char empty[] = "0000:0000:0000:0000:0000:0000:0000:0000";
    for (int i = 0; i < MAX_GIDS; i++) {
        char text[64];
        if (!fc_tree_read(tree, text, sizeof text, "%s/gids/%d", at, i))
            break;
        if (strcmp(text, empty) == 0)
            continue;
        struct fc_topo_gid *gid = fc_topo_add_gid(port);
        if (!gid)
            return fc_topo_full(err);
        gid->index = i;
        fc_topo_text(gid->gid, sizeof gid->gid, text);
        if (fc_tree_read(tree, text, sizeof text, "%s/gid_attrs/types/%d", at, i))
            fc_topo_text(gid->type, sizeof gid->type, text);
        if (fc_tree_read(tree, text, sizeof text, "%s/gid_attrs/ndevs/%d", at, i))
            fc_topo_text(gid->net, sizeof gid->net, text);
    }
    return FC_OK;
}

static void read_pkeys(struct fc_topo_port *port, const struct fc_tree *tree,
                       const char *at)
{
    size_t used = 0;
    for (int i = 0; i < MAX_PKEYS; i++) {
        int64_t key;
        if (!fc_tree_int(tree, &key, "%s/pkeys/%d", at, i))
            break;
        if (key > 0 && key <= 0xffff && used + 8 < sizeof port->pkeys)
            used += (size_t)snprintf(port->pkeys + used, sizeof port->pkeys - used,
                                     "%s0x%04x", used ? " " : "", (unsigned)key);
    }
}

static enum fc_status read_port(struct fc_topo *topo, struct fc_topo_nic *nic,
                                const struct fc_tree *tree, const char *at,
                                const char *name, struct fc_error *err)
{
    char *end;
    long number = strtol(name, &end, 10);
    if (*end || number < 1 || number > 255)
        return FC_OK;
    struct fc_topo_port *port = fc_topo_add_port(nic);
    if (!port)
        return fc_topo_full(err);
    port->number = (int)number;
    read_state(tree, port->state, sizeof port->state, at, "state");
    read_state(tree, port->phys_state, sizeof port->phys_state, at, "phys_state");
    read_text(tree, port->layer, sizeof port->layer, at, "link_layer");
    read_text(tree, port->rate, sizeof port->rate, at, "rate");
    /* "2.5 Gb/sec (1X SDR)" */
    long whole = strtol(port->rate, &end, 10);
    long tenths = whole >= 0 && whole <= 10000 ? whole * 10 : -1;
    if (tenths >= 0 && *end == '.' && end[1] >= '0' && end[1] <= '9')
        tenths += end[1] - '0';
    if (end != port->rate && tenths >= 0)
        port->Gbps = (double)tenths / 10;
    else if (port->rate[0])
        fc_topo_odd(topo, "%s port %ld: the rate is \"%s\"", nic->rdma, number,
                    port->rate);
    int64_t lid;
    if (fc_tree_int(tree, &lid, "%s/lid", at) && lid >= 0 && lid <= 0xffff)
        port->lid = (int)lid;
    read_pkeys(port, tree, at);
    return read_gids(port, tree, at, err);
}

static enum fc_status read_verbs(struct fc_topo *topo, struct fc_topo_nic *nic,
                                 const struct fc_tree *tree, const char *at,
                                 const char *name, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    fc_topo_text(nic->rdma, sizeof nic->rdma, name);
    read_text(tree, nic->firmware, sizeof nic->firmware, at, "fw_ver");
    read_text(tree, nic->board, sizeof nic->board, at, "board_id");
    read_text(tree, nic->type, sizeof nic->type, at, "hca_type");
    read_text(tree, nic->node_guid, sizeof nic->node_guid, at, "node_guid");
    nic->uverbs_known = fc_tree_exists(tree, "/sys/class/infiniband_verbs");
    nic->has_uverbs = fc_tree_exists(tree, "%s/device/infiniband_verbs", at);
    struct fc_names ports = fc_tree_list(tree, "%s/ports", at);
    for (size_t i = 0; i < ports.count && status == FC_OK; i++) {
        char port_at[AT_BYTES * 2];
        snprintf(port_at, sizeof port_at, "%s/ports/%s", at, ports.name[i]);
        status = read_port(topo, nic, tree, port_at, ports.name[i], err);
    }
    fc_names_free(&ports);
    return status;
}

static void read_net(struct fc_topo_nic *nic, const struct fc_tree *tree,
                     const char *at, const char *name)
{
    int64_t value;
    fc_topo_add_net(nic, name);
    if (nic->mtu < 0 && fc_tree_int(tree, &value, "%s/mtu", at) && value > 0 &&
        value < 1 << 24)
        nic->mtu = (int)value;
    if (!nic->net_state[0])
        read_text(tree, nic->net_state, sizeof nic->net_state, at, "operstate");
    /* -1: the driver does not know; Mb/s */
    if (fc_tree_int(tree, &value, "%s/speed", at) && value > 0 && value <= 10000000 &&
        (double)value / 1000 > nic->Gbps)
        nic->Gbps = (double)value / 1000;
}

/* The interfaces below `at`; of virtio there is one more folder between. */
static struct fc_names list_nets(const struct fc_tree *tree, char *at, size_t bytes)
{
    struct fc_names nets = fc_tree_list(tree, "%s/net", at);
    struct fc_names names = {0};
    if (nets.count == 0)
        names = fc_tree_list(tree, "%s", at);
    for (size_t i = 0; i < names.count; i++) {
        if (strncmp(names.name[i], "virtio", 6) != 0)
            continue;
        size_t n = strlen(at);
        fc_names_free(&nets);
        nets = fc_tree_list(tree, "%s/%s/net", at, names.name[i]);
        snprintf(at + n, bytes - n, "/%s", names.name[i]);
        break;
    }
    fc_names_free(&names);
    return nets;
}

/* What hangs below one PCI function. */
static enum fc_status read_below(struct fc_topo *topo, const struct fc_tree *tree,
                                 int pci, struct fc_error *err)
{
    char at[AT_BYTES], below[AT_BYTES * 2];
    enum fc_status status = FC_OK;
    snprintf(at, sizeof at, "/sys/bus/pci/devices/%s", topo->pci[pci].bdf);
    struct fc_names verbs = fc_tree_list(tree, "%s/infiniband", at);
    char net_at[AT_BYTES];
    memcpy(net_at, at, sizeof net_at);
    struct fc_names nets = list_nets(tree, net_at, sizeof net_at);
    bool any = verbs.count > 0 || nets.count > 0;
    topo->pci[pci].has_interface = any;
    if ((any || topo->pci[pci].role == FC_PCI_NIC) && !fc_topo_nic_of(topo, pci))
        status = fc_topo_full(err);
    for (size_t i = 0; i < verbs.count && status == FC_OK; i++) {
        snprintf(below, sizeof below, "%s/infiniband/%s", at, verbs.name[i]);
        struct fc_topo_nic *nic = fc_topo_nic_of(topo, pci);
        /* several verbs devices of one function: each is a NIC of its own */
        if (nic && nic->rdma[0] && (nic = fc_topo_add_nic(topo)))
            nic->pci = pci;
        status = nic ? read_verbs(topo, nic, tree, below, verbs.name[i], err)
                     : fc_topo_full(err);
    }
    for (size_t i = 0; i < nets.count && status == FC_OK; i++) {
        snprintf(below, sizeof below, "%s/net/%s", net_at, nets.name[i]);
        read_net(fc_topo_nic_of(topo, pci), tree, below, nets.name[i]);
    }
    fc_names_free(&verbs);
    fc_names_free(&nets);
    return status;
}

static bool known_verbs(const struct fc_topo *topo, const char *name)
{
    char clean[sizeof topo->nic->rdma];
    fc_topo_text(clean, sizeof clean, name);
    for (size_t i = 0; i < topo->nics; i++)
        if (strcmp(topo->nic[i].rdma, clean) == 0)
            return true;
    return false;
}

/* Verbs devices that no PCI function above has: software ones, or a capture of
 * /sys/class alone. */
static enum fc_status read_class(struct fc_topo *topo, const struct fc_tree *tree,
                                 struct fc_error *err)
{
    enum fc_status status = FC_OK;
    struct fc_names names = fc_tree_list(tree, "/sys/class/infiniband");
    for (size_t i = 0; i < names.count && status == FC_OK; i++) {
        char at[AT_BYTES], bdf[24], target[64];
        if (known_verbs(topo, names.name[i]))
            continue;
        snprintf(at, sizeof at, "/sys/class/infiniband/%s", names.name[i]);
        int pci = fc_tree_link_name(tree, target, sizeof target, "%s/device", at) &&
                          fc_topo_bdf(target, bdf, sizeof bdf)
                      ? fc_topo_find_pci(topo, bdf)
                      : -1;
        struct fc_topo_nic *nic =
            pci >= 0 ? fc_topo_nic_of(topo, pci) : fc_topo_add_nic(topo);
        status = nic ? read_verbs(topo, nic, tree, at, names.name[i], err)
                     : fc_topo_full(err);
        if (pci >= 0)
            topo->pci[pci].has_interface = true;
    }
    fc_names_free(&names);
    return status;
}

enum fc_status fc_topo_read_sys_nics(struct fc_topo *topo, const struct fc_tree *tree,
                                     struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (size_t i = 0; i < topo->pcis && status == FC_OK; i++)
        if (topo->pci[i].role == FC_PCI_NIC || topo->pci[i].role == FC_PCI_OTHER)
            status = read_below(topo, tree, (int)i, err);
    if (status == FC_OK)
        status = read_class(topo, tree, err);
    topo->nics_known |= topo->nics > 0;
    return status;
}
