// SPDX-License-Identifier: BSD-3-Clause
#include "judge/rdma_ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- ports --- */

static bool read_place(const json_t *port, size_t node, struct fc_rdma_place *out)
{
    const char *name = fc_ev_text(port, "name");
    out->node = node;
    out->rail = (int)fc_ev_int(port, "rail", 0, FC_EV_RAILS - 1, -1);
    out->name = name;
    out->port = port;
    return json_is_object(port) && out->rail >= 0 && name && *name &&
           json_is_true(json_object_get(port, "used"));
}

static int by_place(const void *pa, const void *pb)
{
    const struct fc_rdma_place *a = pa, *b = pb;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->rail != b->rail)
        return a->rail < b->rail ? -1 : 1;
    return strcmp(a->name, b->name);
}

bool fc_rdma_places(const struct fc_evidence *ev, struct fc_rdma_places *out)
{
    size_t room = 1, n;
    for (size_t i = 0; i < ev->facts; i++)
        room += json_array_size(json_object_get(ev->fact[i].facts, "rdma.ports"));
    *out = (struct fc_rdma_places){malloc(room * sizeof *out->place), 0};
    for (size_t i = 0; out->place && i < ev->facts; i++) {
        const json_t *list = json_object_get(ev->fact[i].facts, "rdma.ports");
        n = json_array_size(list);
        for (size_t k = 0; k < n; k++)
            out->count += read_place(json_array_get(list, k), ev->fact[i].node,
                                     &out->place[out->count]);
    }
    if (out->count)
        qsort(out->place, out->count, sizeof *out->place, by_place);
    return out->place != NULL;
}

/* --- perftest --- */

static const struct {
    const char *metric, *tool;
    bool latency;
} tools[] = {
    {"rdma.write_bw", "ib_write_bw", false}, {"rdma.read_bw", "ib_read_bw", false},
    {"rdma.send_bw", "ib_send_bw", false},   {"rdma.write_lat", "ib_write_lat", true},
    {"rdma.read_lat", "ib_read_lat", true},  {"rdma.send_lat", "ib_send_lat", true},
};

static size_t node_named(const struct fc_evidence *ev, const char *name)
{
    for (size_t i = 0; name && i < ev->nodes; i++)
        if (strcmp(ev->node[i].name, name) == 0)
            return i;
    return FC_NONE;
}

/* The node's port of that name or rail, where one is asked for (NULL, -1: not). */
static const struct fc_rdma_place *find(const struct fc_rdma_places *all, size_t node,
                                        const char *name, int rail)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct fc_rdma_place *p = &all->place[i];
        if (p->node == node && (!name || strcmp(p->name, name) == 0) &&
            (rail < 0 || p->rail == rail))
            return p;
    }
    return NULL;
}

/* Another node with such a rail; NULL: none. */
static const struct fc_rdma_place *find_partner(const struct fc_rdma_places *all,
                                                const struct fc_rdma_place *mine)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->place[i].node != mine->node && all->place[i].rail == mine->rail)
            return &all->place[i];
    return NULL;
}

/* Both ends; false: they are not known. */
static bool find_ends(const struct fc_finding *f, const struct fc_evidence *ev,
                      const struct fc_rdma_places *all,
                      const struct fc_rdma_place **mine,
                      const struct fc_rdma_place **other)
{
    const json_t *s = f->subject;
    const char *nic = fc_ev_text(s, "nic"), *peer_nic = fc_ev_text(s, "peer_nic");
    int rail = (int)fc_ev_int(s, "rail", 0, FC_EV_RAILS - 1, -1);
    size_t node = node_named(ev, fc_ev_text(s, "node"));
    size_t peer = node_named(ev, fc_ev_text(s, "peer"));
    int peer_rail = (int)fc_ev_int(s, "peer_rail", 0, FC_EV_RAILS - 1, rail);
    if (node == FC_NONE)
        node = f->node;
    if (node == FC_NONE && f->odds == 2) {
        node = f->odd[0];
        peer = f->odd[1];
    }
    *mine = find(all, node, nic, nic ? -1 : rail);
    if (peer == FC_NONE && peer_nic)
        peer = node;
    if (peer != FC_NONE)
        *other = find(all, peer, peer_nic, peer_nic ? -1 : peer_rail);
    else
        *other = *mine ? find_partner(all, *mine) : NULL;
    return *mine && *other;
}

/* " -d mlx5_0 -i 1 -x 3", what names the port; false: it cannot be said. */
static bool name_port(const struct fc_rdma_place *p, char *out, size_t room)
{
    const json_t *plan = json_object_get(p->port, "plan");
    const char *wire = fc_ev_text(p->port, "wire");
    char device[64], gid[24] = "";
    size_t length = strcspn(p->name, ":");
    int64_t index = fc_ev_int(plan, "gid_index", 0, 65535, -1);
    if (length >= sizeof device)
        return false;
    memcpy(device, p->name, length);
    device[length] = '\0';
    if (index >= 0)
        snprintf(gid, sizeof gid, " -x %lld", (long long)index);
    int64_t port = fc_ev_int(plan, "port", 1, 255, 1);
    snprintf(out, room, " -d %s -i %lld%s%s", device, (long long)port, gid,
             wire && strcmp(wire, "EFA") == 0 ? " -c SRD" : "");
    return fc_plain_name(device);
}

bool fc_rdma_reproduce(const struct fc_finding *f, const struct fc_evidence *ev,
                       char **out)
{
    struct fc_rdma_places all;
    const struct fc_rdma_place *mine, *other;
    char a[128], b[128];
    size_t k = 0, count = sizeof tools / sizeof *tools;
    *out = NULL;
    while (k < count && (!f->metric || strcmp(tools[k].metric, f->metric) != 0))
        k++;
    if (k == count)
        return true;
    if (!fc_rdma_places(ev, &all))
        return false;
    bool ok = true;
    if (find_ends(f, ev, &all, &mine, &other) && name_port(mine, a, sizeof a) &&
        name_port(other, b, sizeof b) && fc_plain_name(ev->node[mine->node].name) &&
        fc_plain_name(ev->node[other->node].name)) {
        const char *how = tools[k].latency ? "-s 8" : "-s 1048576 --report_gbits";
        const char *server = ev->node[other->node].name;
        ok = asprintf(out, "%s: %s%s %s; %s: %s%s %s %s", server, tools[k].tool, b, how,
                      ev->node[mine->node].name, tools[k].tool, a, how, server) >= 0;
    }
    free(all.place);
    return ok;
}
