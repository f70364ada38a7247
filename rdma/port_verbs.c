// SPDX-License-Identifier: BSD-3-Clause
/* What libibverbs says of devices and ports, over what /sys has said. Each call is
 * named before it is made: a sick device can hold any of them for ever. */
#include "config.h"

#include "rdma/ethtool.h"
#include "rdma/port.h"
#include "rdma/port_attr.h"
#include "rdma/port_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_EFADV
#include <infiniband/efadv.h>
#endif

enum { PAGE_BYTES = 4096 };
/* Of efadv's device_caps; older headers do not name the second. */
enum { EFA_CAN_READ = 1 << 0, EFA_CAN_WRITE = 1 << 3 };

struct reading {
    const struct fc_rdma_source *source;
    struct fc_tree tree;
    struct fc_rdma_ports *ports;
};

static void tell(const struct reading *r, const char *call, const char *device)
{
    char what[96];
    snprintf(what, sizeof what, "%s %s", call, device);
    if (r->source->note)
        r->source->note(r->source->arg, what);
}

/* A device's ports, from `first` on, cannot be used. */
static void set_unusable(struct fc_rdma_ports *ports, size_t first, const char *why)
{
    for (size_t i = first; i < ports->ports; i++) {
        ports->port[i].usable = false;
        snprintf(ports->port[i].unusable, sizeof ports->port[i].unusable, "%s", why);
    }
}

/* ---- one port ---- */

static enum fc_status read_pkeys(const struct reading *r, struct ibv_context *context,
                                 struct fc_rdma_port *port, int length,
                                 struct fc_error *err)
{
    tell(r, "ibv_query_pkey", port->name);
    if (length > FC_RDMA_MAX_PKEYS) {
        fc_rdma_ports_note(r->ports, "%s: a table of %d P_Keys", port->name, length);
        length = FC_RDMA_MAX_PKEYS;
    }
    for (int i = 0; i < length; i++) {
        __be16 key = 0;
        if (ibv_query_pkey(context, (uint8_t)port->port, i, &key) != 0) {
            fc_rdma_ports_note(r->ports, "%s: P_Key %d cannot be read", port->name, i);
            break;
        }
        if (key == 0)
            continue;
        struct fc_rdma_pkey *pkey = fc_rdma_port_add_pkey(port);
        if (!pkey)
            return fc_rdma_full(err);
        *pkey = (struct fc_rdma_pkey){.index = i, .key = ntohs(key)};
    }
    return FC_OK;
}

static enum fc_status query_port(const struct reading *r, struct ibv_context *context,
                                 struct fc_rdma_port *port, struct fc_error *err)
{
    struct ibv_port_attr attr;
    char why[96];
    tell(r, "ibv_query_port", port->name);
    int error = ibv_query_port(context, (uint8_t)port->port, &attr);
    if (error != 0) {
        snprintf(why, sizeof why, "ibv_query_port: %s", strerror(error));
        fc_rdma_text(port->unusable, sizeof port->unusable, why);
        return FC_OK;
    }
    fc_rdma_port_attr(r->ports, port, &attr);
    port->gid_slots = attr.gid_tbl_len;
    if (attr.gid_tbl_len < 0 || attr.gid_tbl_len > 65536) {
        fc_rdma_ports_note(r->ports, "%s: a table of %d GIDs", port->name,
                           attr.gid_tbl_len);
        port->gid_slots = -1;
    }
    port->usable = true;
    return read_pkeys(r, context, port, attr.pkey_tbl_len, err);
}

/* ---- one device ---- */

static enum fc_rdma_gid_kind gid_kind(uint32_t type)
{
    return type == IBV_GID_TYPE_IB        ? FC_RDMA_GID_IB
           : type == IBV_GID_TYPE_ROCE_V1 ? FC_RDMA_GID_ROCE_V1
           : type == IBV_GID_TYPE_ROCE_V2 ? FC_RDMA_GID_ROCE_V2
                                          : FC_RDMA_GID_UNKNOWN;
}

static enum fc_status add_gid(const struct reading *r, struct fc_rdma_port *port,
                              const struct ibv_gid_entry *entry, struct fc_error *err)
{
    struct fc_rdma_gid *gid = fc_rdma_port_add_gid(port);
    char net[IF_NAMESIZE] = "";
    if (!gid)
        return fc_rdma_full(err);
    gid->index = (int)entry->gid_index;
    memcpy(gid->raw, entry->gid.raw, sizeof gid->raw);
    gid->kind = gid_kind(entry->gid_type);
    if (gid->kind == FC_RDMA_GID_UNKNOWN)
        fc_rdma_ports_note(r->ports, "%s: GID %d is of type %u", port->name, gid->index,
                           (unsigned)entry->gid_type);
    if (entry->ndev_ifindex == 0 || !if_indextoname(entry->ndev_ifindex, net))
        (void)fc_tree_read(&r->tree, net, sizeof net,
                           "/sys/class/infiniband/%s/ports/%d/gid_attrs/ndevs/%d",
                           port->device, port->port, gid->index);
    if (gid->kind == FC_RDMA_GID_IB && gid->index == 0)
        snprintf(port->port_guid, sizeof port->port_guid,
                 "%02x%02x:%02x%02x:%02x%02x:%02x%02x", gid->raw[8], gid->raw[9],
                 gid->raw[10], gid->raw[11], gid->raw[12], gid->raw[13], gid->raw[14],
                 gid->raw[15]);
    fc_rdma_text(gid->net, sizeof gid->net, net);
    if (!port->net[0])
        fc_rdma_text(port->net, sizeof port->net, net);
    fc_rdma_gid_describe(gid);
    return FC_OK;
}

/* One call for the tables of all ports; empty entries are not in it. */
static enum fc_status read_gids(const struct reading *r, struct ibv_context *context,
                                size_t first, struct fc_error *err)
{
    const char *device = r->ports->port[first].device;
    struct ibv_gid_entry *entries = calloc(FC_RDMA_MAX_GIDS, sizeof *entries);
    if (!entries)
        return fc_rdma_full(err);
    tell(r, "ibv_query_gid_table", device);
    ssize_t n = ibv_query_gid_table(context, entries, FC_RDMA_MAX_GIDS, 0);
    enum fc_status status = FC_OK;
    if (n < 0 || n > FC_RDMA_MAX_GIDS) {
        fc_rdma_ports_note(r->ports, "%s: its GIDs cannot be read: %s", device,
                           n < 0 ? strerror((int)-n) : "too many");
        n = 0;
    }
    for (ssize_t i = 0; i < n && status == FC_OK; i++)
        for (size_t p = first; p < r->ports->ports && status == FC_OK; p++)
            if ((uint32_t)r->ports->port[p].port == entries[i].port_num &&
                entries[i].gid_index <= INT16_MAX)
                status = add_gid(r, &r->ports->port[p], &entries[i], err);
    free(entries);
    return status;
}

/* Whether memory can be registered so that the card may reorder its writes: by really
 * registering a page. */
static int try_relaxed(const struct reading *r, struct ibv_context *context,
                       const char *device)
{
    int relaxed = -1;
    tell(r, "ibv_alloc_pd", device);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    void *page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
    if (pd && page) {
        tell(r, "ibv_reg_mr", device);
        struct ibv_mr *mr =
            ibv_reg_mr(pd, page, PAGE_BYTES,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_RELAXED_ORDERING);
        relaxed = mr != NULL;
        if (!mr && errno == ENOMEM) {
            fc_rdma_ports_note(r->ports,
                               "%s: not one page of memory can be "
                               "registered: is `ulimit -l` too small?",
                               device);
            relaxed = -1;
        }
        if (mr)
            (void)ibv_dereg_mr(mr);
    }
    if (pd)
        (void)ibv_dealloc_pd(pd);
    free(page);
    return relaxed;
}

#ifdef HAVE_EFADV
static void set_srd(const struct reading *r, struct ibv_context *context,
                    struct fc_rdma_port *port)
{
    struct efadv_device_attr attr = {0};
    tell(r, "efadv_query_device", port->device);
    int error = efadv_query_device(context, &attr, sizeof attr);
    if (error != 0) {
        fc_rdma_ports_note(r->ports, "%s: efadv_query_device: %s", port->name,
                           strerror(error));
        return;
    }
    port->srd_max_sq_wr = attr.max_sq_wr;
    port->srd_max_rq_wr = attr.max_rq_wr;
    port->srd_inline_bytes = attr.inline_buf_size;
    port->srd_max_rdma_bytes = attr.max_rdma_size;
    port->srd_read = (attr.device_caps & EFA_CAN_READ) != 0;
    port->srd_write = (attr.device_caps & EFA_CAN_WRITE) != 0;
}
#else
static void set_srd(const struct reading *r, struct ibv_context *context,
                    struct fc_rdma_port *port)
{
    (void)context;
    fc_rdma_ports_note(r->ports, "%s: built without libefa, so no SRD", port->name);
}
#endif

static int64_t positive(int64_t value)
{
    return value > 0 ? value : -1;
}

static void set_device(struct fc_rdma_port *port, const struct ibv_device_attr *attr,
                       const struct ibv_device *device)
{
    char firmware[sizeof attr->fw_ver + 1];
    memcpy(firmware, attr->fw_ver, sizeof attr->fw_ver);
    firmware[sizeof attr->fw_ver] = '\0';
    if (!port->firmware[0])
        fc_rdma_text(port->firmware, sizeof port->firmware, firmware);
    port->vendor_id = attr->vendor_id;
    port->part_id = attr->vendor_part_id;
    port->max_qp = positive(attr->max_qp);
    port->max_qp_wr = positive(attr->max_qp_wr);
    port->max_sge = positive(attr->max_sge);
    port->max_cqe = positive(attr->max_cqe);
    port->max_mr_bytes =
        attr->max_mr_size > INT64_MAX ? INT64_MAX : (int64_t)attr->max_mr_size;
    port->max_rd_atomic = attr->max_qp_rd_atom >= 0 ? attr->max_qp_rd_atom : -1;
    port->max_init_rd_atomic =
        attr->max_qp_init_rd_atom >= 0 ? attr->max_qp_init_rd_atom : -1;
    if (device->transport_type == IBV_TRANSPORT_IWARP ||
        device->node_type == IBV_NODE_RNIC)
        port->wire = FC_RDMA_IWARP;
}

/* The fastest mode of its interface; only this machine's can be asked. */
static void set_max_rate(const struct reading *r, struct fc_rdma_port *port)
{
    if (!port->net[0] || r->source->root[0])
        return;
    tell(r, "ioctl SIOCETHTOOL", port->net);
    port->max_Gbps = fc_ethtool_max_Gbps(port->net);
}

/* After libibverbs has had its say of the link layer. */
static void settle(const struct reading *r, struct ibv_context *context,
                   struct fc_rdma_port *port)
{
    bool ethernet = strcmp(port->link_layer, "Ethernet") == 0;
    if (port->wire == FC_RDMA_WIRE_UNKNOWN && ethernet)
        port->wire = FC_RDMA_ROCE;
    else if (port->wire == FC_RDMA_WIRE_UNKNOWN &&
             strcmp(port->link_layer, "InfiniBand") == 0)
        port->wire = FC_RDMA_IB;
    if (port->wire == FC_RDMA_EFA)
        set_srd(r, context, port);
    port->rate_is_nominal = port->software || port->wire == FC_RDMA_EFA;
    if (!port->software)
        set_max_rate(r, port);
}

static enum fc_status query_device(const struct reading *r, struct ibv_device *device,
                                   struct ibv_context *context, size_t first,
                                   struct fc_error *err)
{
    struct fc_rdma_ports *ports = r->ports;
    struct ibv_device_attr attr;
    char why[160];
    tell(r, "ibv_query_device", device->name);
    int error = ibv_query_device(context, &attr);
    if (error != 0) {
        snprintf(why, sizeof why, "ibv_query_device: %s", strerror(error));
        set_unusable(ports, first, why);
        return FC_OK;
    }
    if (attr.phys_port_cnt != ports->ports - first)
        fc_rdma_ports_note(ports, "%s: %d ports, of which /sys shows %zu", device->name,
                           attr.phys_port_cnt, ports->ports - first);
    int relaxed = try_relaxed(r, context, device->name);
    enum fc_status status = FC_OK;
    for (size_t i = first; i < ports->ports && status == FC_OK; i++) {
        set_device(&ports->port[i], &attr, device);
        ports->port[i].relaxed_ordering = relaxed;
        status = query_port(r, context, &ports->port[i], err);
        if (status == FC_OK)
            settle(r, context, &ports->port[i]);
    }
    return status == FC_OK ? read_gids(r, context, first, err) : status;
}

/* Why a device does not open, for whoever can change it. */
static void open_failed(char *out, size_t bytes, const struct ibv_device *device,
                        int error)
{
    const char *hint = error == EACCES || error == EPERM
                           ? ": no right to it (it must be read and written)"
                       : error == ENOENT || error == ENODEV || error == ENXIO
                           ? ": is it given to this container?"
                           : "";
    snprintf(out, bytes, "ibv_open_device: /dev/infiniband/%.32s: %s%s",
             device->dev_name, strerror(error ? error : EIO), hint);
}

static enum fc_status read_device(const struct reading *r, struct ibv_device *device,
                                  struct fc_error *err)
{
    char why[160];
    size_t first = r->ports->ports;
    enum fc_status status = fc_rdma_sys_device(r->ports, &r->tree, device->name, err);
    if (status != FC_OK)
        return status;
    tell(r, "ibv_open_device", device->name);
    errno = 0;
    struct ibv_context *context = ibv_open_device(device);
    if (!context) {
        int error = errno;
        open_failed(why, sizeof why, device, error);
        set_unusable(r->ports, first, why);
        for (size_t i = first; i < r->ports->ports; i++)
            r->ports->port[i].no_right =
                error == EACCES || error == EPERM || error == ENOENT;
        return FC_OK;
    }
    status = query_device(r, device, context, first, err);
    tell(r, "ibv_close_device", device->name);
    (void)ibv_close_device(context);
    return status;
}

/* ---- all devices ---- */

static bool is_skipped(const struct fc_rdma_source *source, const char *device)
{
    for (size_t i = 0; i < source->skips; i++)
        if (strcmp(source->skip[i], device) == 0)
            return true;
    return false;
}

static bool is_listed(struct ibv_device **list, int n, const char *device)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i]->name, device) == 0)
            return true;
    return false;
}

/* Devices that the kernel shows and libibverbs does not, and those to be left alone. */
static enum fc_status add_others(const struct reading *r, struct ibv_device **list,
                                 int n, struct fc_error *err)
{
    struct fc_names names = fc_rdma_sys_devices(&r->tree);
    enum fc_status status = FC_OK;
    for (size_t i = 0; i < names.count && status == FC_OK; i++) {
        size_t first = r->ports->ports;
        if (is_skipped(r->source, names.name[i])) {
            if (!fc_rdma_ports_add(r->ports, names.name[i], 1))
                status = fc_rdma_full(err);
            set_unusable(r->ports, first, "left alone: it did not answer before");
        } else if (!is_listed(list, n, names.name[i])) {
            status = fc_rdma_sys_device(r->ports, &r->tree, names.name[i], err);
            set_unusable(r->ports, first,
                         "libibverbs does not list it: is ib_uverbs loaded, and "
                         "/dev/infiniband given to this container?");
        }
    }
    fc_names_free(&names);
    return status;
}

static enum fc_status list_devices(const struct reading *r, struct ibv_device ***out,
                                   int *out_n, struct fc_error *err)
{
    tell(r, "ibv_get_device_list", "");
    errno = 0;
    *out_n = 0;
    *out = ibv_get_device_list(out_n);
    if (*out)
        return FC_OK;
    *out_n = 0;
    if (errno == ENOMEM)
        return fc_fail(err, FC_NOMEM, "ibv_get_device_list: out of memory");
    if (errno == ENOSYS || errno == ENOENT || errno == 0)
        return FC_OK; /* the kernel has no RDMA */
    return fc_fail(err, FC_UNREADABLE, "ibv_get_device_list: %s", strerror(errno));
}

enum fc_status fc_rdma_ports_open(const struct fc_rdma_source *source,
                                  struct fc_rdma_ports **out_ports,
                                  struct fc_error *err)
{
    struct ibv_device **list = NULL;
    int n = 0;
    struct reading r = {.source = source,
                        .tree = {.source = {.root = source->root,
                                            .note = source->note,
                                            .arg = source->arg}}};
    r.ports = calloc(1, sizeof *r.ports);
    if (!r.ports)
        return fc_rdma_full(err);
    enum fc_status status = list_devices(&r, &list, &n, err);
    for (int i = 0; i < n && status == FC_OK; i++)
        if (!is_skipped(source, list[i]->name))
            status = read_device(&r, list[i], err);
    if (status == FC_OK)
        status = add_others(&r, list, n, err);
    if (r.ports->ports == 0)
        snprintf(r.ports->none, sizeof r.ports->none, "no RDMA device%s",
                 list ? "" : ": the kernel has no RDMA");
    if (list)
        ibv_free_device_list(list);
    fc_rdma_ports_sort(r.ports);
    if (status == FC_OK)
        *out_ports = r.ports;
    else
        fc_rdma_ports_close(r.ports);
    return status;
}
