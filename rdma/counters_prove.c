// SPDX-License-Identifier: BSD-3-Clause
/* Whether counters prove that a payload went through a port. */
#include "rdma/counters.h"

#include <stdio.h>
#include <string.h>

/* What counts each direction, the best proof first. Headers only add to the bytes, so
 * that payload is the least. Packets carry at most the MTU each: as many as the payload
 * needs must have gone. An interface's bytes prove only for devices that have no other
 * way out. */
static const struct way {
    const char *sent, *received;
    enum fc_counter_from from;
    bool packets, software;
} ways[] = {
    {"port_xmit_data", "port_rcv_data", FC_COUNTER_PORT, false, false},
    {"tx_bytes", "rx_bytes", FC_COUNTER_HW, false, false},
    {"tx_vport_rdma_unicast_bytes", "rx_vport_rdma_unicast_bytes", FC_COUNTER_ETHTOOL,
     false, false},
    {"sent_pkts", "rcvd_pkts", FC_COUNTER_HW, true, false},
    {"tx_pkts", "rx_pkts", FC_COUNTER_HW, true, false},
    {"tx_bytes", "rx_bytes", FC_COUNTER_NET, false, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const struct fc_counter_delta *find(const struct fc_counter_delta *delta,
                                           size_t count, const char *name,
                                           enum fc_counter_from from)
{
    for (size_t i = 0; i < count; i++)
        if (delta[i].from == from && strcmp(delta[i].name, name) == 0)
            return &delta[i];
    return NULL;
}

/* "1.07 GB" */
static void bytes_text(uint64_t bytes, char *out, size_t room)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t u = 0;
    double value = (double)bytes;
    for (; value >= 1000 && u + 1 < sizeof units / sizeof *units; u++)
        value /= 1000;
    snprintf(out, room, "%.3g %s", value, units[u]);
}

struct proof {
    bool proven, seen;
    uint64_t moved;
    char how[144];
};

/* One direction: the first way that moved enough; else the first that moved at all. */
static void prove_way(const struct fc_counter_delta *delta, size_t count,
                      const struct fc_rdma_port *port, uint64_t payload, int mtu,
                      bool sent, struct proof *out)
{
    char moved_text[32], payload_text[32];
    bytes_text(payload, payload_text, sizeof payload_text);
    snprintf(out->how, sizeof out->how, "no counter says that it %s %s",
             sent ? "sent" : "received", payload_text);
    for (size_t i = 0; i < WAYS && !out->proven; i++) {
        const struct way *way = &ways[i];
        const char *name = sent ? way->sent : way->received;
        const struct fc_counter_delta *d = find(delta, count, name, way->from);
        if (!d || (way->packets && mtu <= 0) || (way->software && !port->software))
            continue;
        uint64_t moved = d->value * (way->packets ? (uint64_t)mtu : 1);
        if (out->seen && moved < payload)
            continue;
        out->proven = moved >= payload;
        out->seen = true;
        out->moved = moved;
        bytes_text(moved, moved_text, sizeof moved_text);
        if (way->packets)
            snprintf(out->how, sizeof out->how,
                     "%s +%llu of at most %d bytes for %s %s", name,
                     (unsigned long long)d->value, mtu, payload_text,
                     sent ? "sent" : "received");
        else
            snprintf(out->how, sizeof out->how, "%s%s%s +%s for %s %s",
                     way->software ? port->net : "", way->software ? " " : "", name,
                     moved_text, payload_text, sent ? "sent" : "received");
    }
}

void fc_counters_prove(const struct fc_counter_delta *delta, size_t count,
                       const struct fc_rdma_port *port,
                       const struct fc_counter_load *load, struct fc_counter_proof *out)
{
    struct proof way[2] = {{.proven = true}, {.proven = true}};
    const uint64_t payload[2] = {load->sent_bytes, load->received_bytes};
    int mtu = load->mtu > 0 ? load->mtu : port->mtu;
    *out = (struct fc_counter_proof){0};
    if (payload[0] == 0 && payload[1] == 0) {
        snprintf(out->how, sizeof out->how, "no payload");
        return;
    }
    out->moved = UINT64_MAX;
    for (size_t i = 0; i < 2; i++) {
        if (payload[i] == 0)
            continue;
        way[i] = (struct proof){0};
        prove_way(delta, count, port, payload[i], mtu, i == 0, &way[i]);
        out->moved = way[i].moved < out->moved ? way[i].moved : out->moved;
    }
    out->proven = way[0].proven && way[1].proven;
    /* of an unproven path, only what is missing */
    bool first = payload[0] > 0 && (out->proven || !way[0].proven);
    bool second = payload[1] > 0 && (out->proven || !way[1].proven);
    snprintf(out->how, sizeof out->how, "%s: %s%s%s%s", port->name,
             first ? way[0].how : "", first && second ? ", " : "",
             second ? way[1].how : "",
             !out->proven && port->vf ? " (a virtual function may not count all)" : "");
}
