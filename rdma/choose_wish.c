// SPDX-License-Identifier: BSD-3-Clause
/* NCCL's variables for RDMA, with NCCL's defaults, and its way of naming devices. */
#include "rdma/choose.h"
#include "rdma/port_parts.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(struct fc_rdma_wish *wish, const char *fmt, ...) FC_PRINTF(2, 3);
static void note(struct fc_rdma_wish *wish, const char *fmt, ...)
{
    char text[sizeof wish->note->text];
    va_list args;
    if (wish->notes == sizeof wish->note / sizeof *wish->note)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fc_rdma_text(wish->note[wish->notes++].text, sizeof text, text);
}

/* A number that must lie between `min` and `max`; else NCCL's default, and a note. */
static int number(struct fc_rdma_wish *wish, const struct fc_nccl_conf *conf,
                  const char *name, int fallback, int min, int max)
{
    const char *origin = "";
    const char *text = fc_nccl_conf_get(conf, name, &origin);
    bool odd;
    int64_t value = fc_nccl_conf_int(conf, name, fallback, &odd);
    if (odd)
        note(wish, "%s=%.40s (%.60s) is no whole number: NCCL takes it for %lld", name,
             text, origin, (long long)value);
    if (value >= min && value <= max)
        return (int)value;
    note(wish, "%s=%.40s (%.60s) is not from %d to %d: taken as not set", name,
         text ? text : "", origin, min, max);
    return fallback;
}

static void read_family(struct fc_rdma_wish *wish, const struct fc_nccl_conf *conf)
{
    const char *text = fc_nccl_conf_get(conf, "NCCL_IB_ADDR_FAMILY", NULL);
    wish->family = FC_RDMA_IPV4;
    if (text && strcmp(text, "AF_INET6") == 0)
        wish->family = FC_RDMA_IPV6;
    else if (text && strcmp(text, "AF_INET") != 0)
        note(wish,
             "NCCL_IB_ADDR_FAMILY=%.40s is neither AF_INET nor AF_INET6: NCCL "
             "takes AF_INET",
             text);
}

/* "10.0.0.0/8" of the wanted family; what is none is as if it were not set. */
static void read_range(struct fc_rdma_wish *wish, const struct fc_nccl_conf *conf)
{
    const char *text = fc_nccl_conf_get(conf, "NCCL_IB_ADDR_RANGE", NULL);
    bool ipv4 = wish->family == FC_RDMA_IPV4;
    char address[128];
    if (!text)
        return;
    const char *slash = strchr(text, '/');
    snprintf(address, sizeof address, "%.*s", slash ? (int)(slash - text) : 0, text);
    long bits = slash ? strtol(slash + 1, NULL, 10) : 0;
    if (!slash || bits > (ipv4 ? 32 : 128) ||
        inet_pton(ipv4 ? AF_INET : AF_INET6, address,
                  ipv4 ? wish->range + 12 : wish->range) != 1) {
        note(wish, "NCCL_IB_ADDR_RANGE=%.60s is no %s range: NCCL ignores it", text,
             ipv4 ? "IPv4" : "IPv6");
        memset(wish->range, 0, sizeof wish->range);
        return;
    }
    if (ipv4)
        wish->range[10] = wish->range[11] = 0xff;
    wish->range_bits = bits < 0 ? -1 : (int)bits + (ipv4 && bits > 0 ? 96 : 0);
}

void fc_rdma_wish_read(const struct fc_nccl_conf *conf, struct fc_rdma_wish *out)
{
    const char *origin = "", *hca = fc_nccl_conf_get(conf, "NCCL_IB_HCA", &origin);
    struct fc_rdma_wish *wish = out;
    *wish = (struct fc_rdma_wish){0};
    fc_rdma_text(wish->hca, sizeof wish->hca, hca);
    fc_rdma_text(wish->hca_origin, sizeof wish->hca_origin, hca ? origin : "");
    wish->gid_index = number(wish, conf, "NCCL_IB_GID_INDEX", -1, -1, 65535);
    wish->routable_gid_index =
        number(wish, conf, "NCCL_IB_ROUTABLE_FLID_GID_INDEX", 1, 0, 65535);
    wish->roce_version = number(wish, conf, "NCCL_IB_ROCE_VERSION_NUM", 2, 1, 2);
    wish->pkey_index = number(wish, conf, "NCCL_IB_PKEY", 0, 0, 65535);
    wish->sl = number(wish, conf, "NCCL_IB_SL", -1, -1, 15);
    wish->tc = number(wish, conf, "NCCL_IB_TC", -1, -1, 255);
    wish->timeout = number(wish, conf, "NCCL_IB_TIMEOUT", 20, 0, 31);
    wish->retry = number(wish, conf, "NCCL_IB_RETRY_CNT", 7, 0, 7);
    wish->qps = number(wish, conf, "NCCL_IB_QPS_PER_CONNECTION", 1, 1, 128);
    wish->relaxed_ordering =
        number(wish, conf, "NCCL_IB_PCI_RELAXED_ORDERING", 2, 0, 2) > 0;
    wish->disabled =
        number(wish, conf, "NCCL_IB_DISABLE", 0, INT32_MIN, INT32_MAX) != 0;
    read_family(wish, conf);
    read_range(wish, conf);
}

/* ---- NCCL_IB_HCA ---- */

/* One name of the list, up to a comma: "mlx5", "mlx5_0:1". */
static bool name_fits(const char *name, size_t length, bool exact,
                      const struct fc_rdma_port *port)
{
    const char *colon = memchr(name, ':', length);
    size_t n = colon ? (size_t)(colon - name) : length;
    if (n == 0 || strncmp(port->device, name, n) != 0 ||
        (exact && port->device[n] != '\0'))
        return false;
    long number = colon ? strtol(colon + 1, NULL, 10) : -1;
    return number == -1 || number == port->port;
}

bool fc_rdma_hca_names(const char *hca, const struct fc_rdma_port *port)
{
    bool others = *hca == '^', found = false, any = false;
    hca += others;
    bool exact = *hca == '=';
    hca += exact;
    while (*hca) {
        size_t length = strcspn(hca, ",");
        any |= length > 0 && *hca != ':';
        found |= name_fits(hca, length, exact, port);
        hca += length + (hca[length] == ',');
    }
    return (found || !any) != others; /* a list without a name names all */
}

/* ---- what a person names ---- */

/* "mlx5_0:1 (active, 400 Gb/s), mlx5_1:1 (down)"; cut with "..." when too many. */
static void list_ports(const struct fc_rdma_ports *ports, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < ports->ports; i++) {
        const struct fc_rdma_port *port = &ports->port[i];
        char one[160], rate[32] = "";
        if (port->Gbps > 0)
            snprintf(rate, sizeof rate, ", %.4g Gb/s", port->Gbps);
        int n = snprintf(one, sizeof one, "%s%s (%s%s)", i ? ", " : "", port->name,
                         !port->usable         ? "not usable"
                         : port->state_name[0] ? port->state_name
                                               : "state unknown",
                         rate);
        if (used + (size_t)n + sizeof ", ..." > bytes) {
            snprintf(out + used, bytes - used, ", ...");
            return;
        }
        used += (size_t)snprintf(out + used, bytes - used, "%s", one);
    }
}

/* Of a device named without a port: the first that is up, else the first. */
static bool find_port(const struct fc_rdma_ports *ports, const char *value,
                      size_t *out_port)
{
    bool found = false, up = false;
    for (size_t i = 0; i < ports->ports; i++) {
        const struct fc_rdma_port *port = &ports->port[i];
        if (strcmp(port->name, value) == 0) {
            *out_port = i;
            return true;
        }
        bool active = port->usable && port->state == FC_RDMA_PORT_ACTIVE;
        if (strcmp(port->device, value) != 0 || (found && (up || !active)))
            continue;
        *out_port = i;
        found = true;
        up = active;
    }
    return found;
}

enum fc_status fc_rdma_port_named(const struct fc_rdma_ports *ports, const char *option,
                                  const char *value, size_t *out_port,
                                  struct fc_error *err)
{
    char list[320];
    size_t at = 0; /* index into the ports */
    if (ports->ports == 0)
        return fc_fail(err, FC_USAGE, "%s %.60s: %s", option, value, ports->none);
    list_ports(ports, list, sizeof list);
    if (!find_port(ports, value, &at))
        return fc_fail(err, FC_USAGE, "%s %.60s: no such RDMA port; there are %s",
                       option, value, list);
    if (!ports->port[at].usable)
        return fc_fail(err, FC_USAGE, "%s %.60s: %s; there are %s", option, value,
                       ports->port[at].unusable, list);
    *out_port = at;
    return FC_OK;
}
