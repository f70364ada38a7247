// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/port.h"
#include "rdma/port_parts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fc_rdma_wire_name(enum fc_rdma_wire wire)
{
    switch (wire) {
    case FC_RDMA_IB:
        return "InfiniBand";
    case FC_RDMA_ROCE:
        return "RoCE";
    case FC_RDMA_EFA:
        return "EFA";
    case FC_RDMA_IWARP:
        return "iWARP";
    case FC_RDMA_WIRE_UNKNOWN:
        break;
    }
    return "unknown";
}

const char *fc_rdma_gid_kind_name(enum fc_rdma_gid_kind kind)
{
    switch (kind) {
    case FC_RDMA_GID_IB:
        return "IB";
    case FC_RDMA_GID_ROCE_V1:
        return "RoCE v1";
    case FC_RDMA_GID_ROCE_V2:
        return "RoCE v2";
    case FC_RDMA_GID_UNKNOWN:
        break;
    }
    return "unknown";
}

const struct fc_rdma_port *fc_rdma_port_find(const struct fc_rdma_ports *ports,
                                             const char *device, int port)
{
    for (size_t i = 0; i < ports->ports; i++)
        if (ports->port[i].port == port && strcmp(ports->port[i].device, device) == 0)
            return &ports->port[i];
    return NULL;
}

const struct fc_rdma_gid *fc_rdma_gid_at(const struct fc_rdma_port *port, int index)
{
    for (size_t i = 0; i < port->gids; i++)
        if (port->gid[i].index == index)
            return &port->gid[i];
    return NULL;
}

void fc_rdma_ports_close(struct fc_rdma_ports *ports)
{
    if (!ports)
        return;
    for (size_t i = 0; i < ports->ports; i++) {
        free(ports->port[i].gid);
        free(ports->port[i].pkey);
    }
    free(ports->port);
    free(ports->note);
    free(ports);
}

/* ---- parts ---- */

/* One more element, all zero; NULL: out of memory, or `max` are there. */
static void *grow(void **array, size_t *count, size_t bytes, size_t max)
{
    if (*count >= max)
        return NULL;
    char *wider = realloc(*array, (*count + 1) * bytes);
    if (!wider)
        return NULL;
    *array = wider;
    memset(wider + *count * bytes, 0, bytes);
    return wider + (*count)++ * bytes;
}

enum fc_status fc_rdma_full(struct fc_error *err)
{
    return fc_fail(err, FC_NOMEM, "no memory for the description of RDMA ports");
}

struct fc_rdma_port *fc_rdma_ports_add(struct fc_rdma_ports *ports, const char *device,
                                       int number)
{
    void *array = ports->port;
    struct fc_rdma_port *port =
        grow(&array, &ports->ports, sizeof *port, FC_RDMA_MAX_PORTS);
    ports->port = array;
    if (!port)
        return NULL;
    fc_rdma_text(port->device, sizeof port->device, device);
    port->port = number;
    snprintf(port->name, sizeof port->name, "%.60s:%d", port->device, number);
    port->state = port->lid = port->sm_lid = port->numa = -1;
    port->gid_slots = port->relaxed_ordering = -1;
    port->vendor_id = port->part_id = -1;
    port->max_qp = port->max_qp_wr = port->max_sge = port->max_cqe = -1;
    port->max_mr_bytes = port->max_message_bytes = -1;
    port->max_rd_atomic = port->max_init_rd_atomic = -1;
    port->srd_max_sq_wr = port->srd_max_rq_wr = port->srd_inline_bytes = -1;
    port->srd_max_rdma_bytes = -1;
    port->srd_read = port->srd_write = -1;
    return port;
}

struct fc_rdma_gid *fc_rdma_port_add_gid(struct fc_rdma_port *port)
{
    void *array = port->gid;
    struct fc_rdma_gid *gid = grow(&array, &port->gids, sizeof *gid, FC_RDMA_MAX_GIDS);
    port->gid = array;
    return gid;
}

struct fc_rdma_pkey *fc_rdma_port_add_pkey(struct fc_rdma_port *port)
{
    void *array = port->pkey;
    struct fc_rdma_pkey *pkey =
        grow(&array, &port->pkeys, sizeof *pkey, FC_RDMA_MAX_PKEYS);
    port->pkey = array;
    return pkey;
}

void fc_rdma_text(char *out, size_t bytes, const char *text)
{
    size_t n = 0;
    while (text && (*text == ' ' || *text == '\t' || *text == '\n'))
        text++;
    for (; text && *text && n + 1 < bytes; text++)
        out[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

void fc_rdma_ports_note(struct fc_rdma_ports *ports, const char *fmt, ...)
{
    char text[sizeof ports->note->text];
    void *array = ports->note;
    struct fc_rdma_note *note =
        grow(&array, &ports->notes, sizeof *note, FC_RDMA_MAX_NOTES);
    ports->note = array;
    if (!note)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fc_rdma_text(note->text, sizeof note->text, text);
}

void fc_rdma_gid_describe(struct fc_rdma_gid *gid)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool roce = gid->kind == FC_RDMA_GID_ROCE_V1 || gid->kind == FC_RDMA_GID_ROCE_V2;
    bool ipv4 = memcmp(gid->raw, mapped, sizeof mapped) == 0;
    gid->family = !roce ? FC_RDMA_NO_FAMILY : ipv4 ? FC_RDMA_IPV4 : FC_RDMA_IPV6;
    gid->link_local = gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
    if (!inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? gid->raw + 12 : gid->raw,
                   gid->address, sizeof gid->address))
        gid->address[0] = '\0';
}

static int by_name(const void *a, const void *b)
{
    const struct fc_rdma_port *x = a, *y = b;
    int order = strverscmp(x->device, y->device);
    return order ? order : (x->port > y->port) - (x->port < y->port);
}

void fc_rdma_ports_sort(struct fc_rdma_ports *ports)
{
    if (ports->ports > 1)
        qsort(ports->port, ports->ports, sizeof *ports->port, by_name);
}
