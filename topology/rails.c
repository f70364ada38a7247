// SPDX-License-Identifier: BSD-3-Clause
/* Who is near whom, which NICs are the fabric, and the rails.
 *
 * Nearness counts the bridges on the path between two functions. A source that shows
 * each port (hwloc, /sys) has three on the way through one switch: in, and out twice;
 * NCCL's files have one entry a switch.
 *
 * Rails: GPUs in the order of the bus, each with its share of the NICs that are nearest
 * to it; what is left follows in the order of the bus. Equal nodes get equal rails,
 * whatever the devices are called. */
#include "topology/limits.h"
#include "topology/model_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 66 };

const char *fc_topo_near_name(enum fc_topo_near near)
{
    static const char *const names[] = {"X",   "NV",   "PIX", "PXB",
                                        "PHB", "NODE", "SYS", "?"};
    return names[near];
}

struct end {
    int pci, numa;
};

static struct end end_of(const struct fc_topo *topo, size_t i)
{
    int pci = i < topo->gpus ? topo->gpu[i].pci : topo->nic[i - topo->gpus].pci;
    int numa = pci >= 0 ? topo->pci[pci].numa : topo->nic[i - topo->gpus].numa;
    return (struct end){pci, numa};
}

/* The bridges above a function, the highest first. */
static int chain(const struct fc_topo *topo, int pci, int *out)
{
    int n = 0, reversed[MAX_DEPTH];
    for (int up = topo->pci[pci].parent; up >= 0 && n < MAX_DEPTH;
         up = topo->pci[up].parent)
        reversed[n++] = up;
    for (int i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

/* "0000:4f:00": all but the function. */
static bool same_card(const char *a, const char *b)
{
    const char *dot = strrchr(a, '.');
    return dot && strncmp(a, b, (size_t)(dot - a) + 1) == 0;
}

static enum fc_topo_near near_by_bus(const struct fc_topo *topo, int a, int b)
{
    int above_a[MAX_DEPTH], above_b[MAX_DEPTH], common = 0;
    int na = chain(topo, a, above_a), nb = chain(topo, b, above_b);
    if (same_card(topo->pci[a].bdf, topo->pci[b].bdf))
        return FC_NEAR_PIX;
    while (common < na && common < nb && above_a[common] == above_b[common])
        common++;
    if (common > 0) {
        int bridges = na - common + nb - common + 1;
        return bridges <= (topo->ports_told ? 3 : 1) ? FC_NEAR_PIX : FC_NEAR_PXB;
    }
    if (topo->pci[a].host >= 0 && topo->pci[a].host == topo->pci[b].host)
        return FC_NEAR_PHB;
    return FC_NEAR_UNKNOWN;
}

static enum fc_topo_near near_without_links(const struct fc_topo *topo, size_t a,
                                            size_t b)
{
    struct end x = end_of(topo, a), y = end_of(topo, b);
    if (x.pci >= 0 && y.pci >= 0) {
        enum fc_topo_near near = near_by_bus(topo, x.pci, y.pci);
        if (near != FC_NEAR_UNKNOWN)
            return near;
    }
    if (x.numa >= 0 && y.numa >= 0)
        return x.numa == y.numa ? FC_NEAR_NODE : FC_NEAR_SYS;
    if (x.pci >= 0 && y.pci >= 0 && topo->pci[x.pci].package >= 0 &&
        topo->pci[y.pci].package >= 0 &&
        topo->pci[x.pci].package != topo->pci[y.pci].package)
        return FC_NEAR_SYS;
    return topo->numa_n == 1 ? FC_NEAR_NODE : FC_NEAR_UNKNOWN;
}

/* Links that a peer's own side tells, and those of both to NVSwitches. */
enum fc_status fc_topo_pairs(struct fc_topo *topo, struct fc_error *err)
{
    size_t n = topo->gpus;
    int to_switch[FC_TOPO_MAX_GPUS] = {0};
    topo->pair = calloc(n * n + 1, sizeof *topo->pair);
    if (!topo->pair)
        return fc_topo_full(err);
    for (size_t i = 0; i < topo->peers; i++) {
        const struct fc_topo_peer *p = &topo->peer[i];
        if (p->kind == FC_PEER_SWITCH)
            to_switch[p->gpu] += p->links;
        if (p->kind != FC_PEER_GPU)
            continue;
        struct fc_topo_pair *pair = &topo->pair[(size_t)p->gpu * n + (size_t)p->peer];
        pair->xgmi = p->xgmi;
        if (p->links > 0)
            pair->links = pair->links > 0 ? pair->links + p->links : p->links;
        else if (pair->links == 0)
            pair->links = -1;
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            struct fc_topo_pair *x = &topo->pair[a * n + b],
                                *y = &topo->pair[b * n + a];
            int least = to_switch[a] < to_switch[b] ? to_switch[a] : to_switch[b];
            if (x->links == 0) /* one side is enough */
                *x = *y;
            if (x->links == 0 && least > 0)
                x->links = least;
            if (y->links == 0)
                *y = *x;
        }
    return FC_OK;
}

int fc_topo_links(const struct fc_topo *topo, size_t a, size_t b, bool *out_xgmi)
{
    *out_xgmi = false;
    if (a >= topo->gpus || b >= topo->gpus || a == b)
        return 0;
    *out_xgmi = topo->pair[a * topo->gpus + b].xgmi;
    return topo->pair[a * topo->gpus + b].links;
}

enum fc_topo_near fc_topo_near(const struct fc_topo *topo, size_t a, size_t b)
{
    bool xgmi;
    if (a == b)
        return FC_NEAR_SELF;
    if (fc_topo_links(topo, a, b, &xgmi) != 0)
        return FC_NEAR_LINK;
    return near_without_links(topo, a, b);
}

void fc_topo_word(const struct fc_topo *topo, size_t a, size_t b, char *out,
                  size_t bytes)
{
    bool xgmi;
    int links = fc_topo_links(topo, a, b, &xgmi);
    if (links > 0)
        snprintf(out, bytes, "%s%d", xgmi ? "XG" : "NV", links);
    else if (links < 0)
        snprintf(out, bytes, "%s", xgmi ? "XGMI" : "NV?");
    else
        snprintf(out, bytes, "%s", fc_topo_near_name(fc_topo_near(topo, a, b)));
}

/* ---- which NICs are the fabric ---- */

static bool is_up(const struct fc_topo_nic *nic)
{
    bool up = nic->ports == 0;
    for (size_t j = 0; j < nic->ports; j++)
        up |= !nic->port[j].state[0] || strcmp(nic->port[j].state, "ACTIVE") == 0;
    return up;
}

/* The port's rate; where no source tells it, what the slot carries. A port that is down
 * reports a rate that means nothing. */
static double rank_of(const struct fc_topo *topo, const struct fc_topo_nic *nic)
{
    if (!is_up(nic))
        return 0;
    if (nic->Gbps > 0)
        return nic->Gbps;
    return nic->pci >= 0 ? fc_limit_lanes(&topo->pci[nic->pci].link) * 8 : 0;
}

static bool is_virtual(const struct fc_topo_nic *nic)
{
    static const char *const prefixes[] = {"veth", "docker",  "br-",  "virbr",
                                           "cni",  "flannel", "cali", "tun",
                                           "tap",  "dummy"};
    if (nic->pci >= 0 || nic->rdma[0])
        return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(nic->name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static bool is_infiniband(const struct fc_topo *topo, const struct fc_topo_nic *nic)
{
    if (nic->ports > 0 && nic->port[0].layer[0])
        return strcmp(nic->port[0].layer, "InfiniBand") == 0;
    return nic->pci >= 0 && topo->pci[nic->pci].class_code == 0x0207;
}

/* Could carry verbs: a verbs device, or InfiniBand by its class. Topology files of
 * clouds have functions without any name; then all network functions may. */
static bool may_rdma(const struct fc_topo *topo, const struct fc_topo_nic *nic)
{
    return nic->rdma[0] || is_infiniband(topo, nic);
}

/* `rdma`: some NIC has verbs, then others are not asked. 0280 is Wi-Fi. */
static bool may_be_fabric(const struct fc_topo *topo, const struct fc_topo_nic *nic,
                          bool rdma)
{
    bool wireless = nic->pci >= 0 && topo->pci[nic->pci].class_code == 0x0280;
    return nic->role != FC_NIC_VIRTUAL && !wireless && (!rdma || may_rdma(topo, nic));
}

static bool same_product(const struct fc_topo *topo, const struct fc_topo_nic *a,
                         const struct fc_topo_nic *b)
{
    if (strcmp(a->board, b->board) != 0)
        return false;
    if (a->pci < 0 || b->pci < 0 || topo->pci[a->pci].device < 0)
        return a->type[0] && strcmp(a->type, b->type) == 0;
    return topo->pci[a->pci].vendor == topo->pci[b->pci].vendor &&
           topo->pci[a->pci].device == topo->pci[b->pci].device;
}

/* The fastest are the fabric, with all that are at least half as fast on the same kind
 * of link, and those of the same product (a port that is down has no rate). */
void fc_topo_fabric(struct fc_topo *topo)
{
    bool rdma = false;
    double top = 0;
    size_t layers[2] = {0, 0};
    for (size_t i = 0; i < topo->nics; i++)
        rdma |= may_rdma(topo, &topo->nic[i]);
    for (size_t i = 0; i < topo->nics; i++) {
        struct fc_topo_nic *nic = &topo->nic[i];
        nic->role = is_virtual(nic) ? FC_NIC_VIRTUAL : FC_NIC_OTHER;
        double rank = rank_of(topo, nic);
        if (may_be_fabric(topo, nic, rdma) && rank > top)
            top = rank;
    }
    for (size_t i = 0; i < topo->nics; i++)
        if (rank_of(topo, &topo->nic[i]) >= top * 0.99 &&
            may_be_fabric(topo, &topo->nic[i], rdma))
            layers[is_infiniband(topo, &topo->nic[i])]++;
    for (size_t i = 0; i < topo->nics; i++) {
        struct fc_topo_nic *nic = &topo->nic[i];
        if (may_be_fabric(topo, nic, rdma) && rank_of(topo, nic) >= top / 2 &&
            (is_infiniband(topo, nic) == (layers[1] >= layers[0]) || !rdma))
            nic->role = FC_NIC_FABRIC;
    }
    for (size_t i = 0; i < topo->nics; i++)
        for (size_t j = 0; topo->nic[i].role == FC_NIC_OTHER && j < topo->nics; j++)
            if (rdma && topo->nic[j].role == FC_NIC_FABRIC && !is_up(&topo->nic[i]) &&
                same_product(topo, &topo->nic[i], &topo->nic[j]))
                topo->nic[i].role = FC_NIC_FABRIC;
}

/* ---- affinity and rails ---- */

static void find_nearest(struct fc_topo *topo, size_t g)
{
    struct fc_topo_gpu *gpu = &topo->gpu[g];
    gpu->nics = 0;
    gpu->nic_near = FC_NEAR_UNKNOWN;
    for (size_t n = 0; n < topo->nics; n++) {
        enum fc_topo_near near = fc_topo_near(topo, g, topo->gpus + n);
        if (topo->nic[n].role != FC_NIC_FABRIC || near == FC_NEAR_UNKNOWN ||
            near > gpu->nic_near)
            continue;
        if (near < gpu->nic_near)
            gpu->nics = 0;
        gpu->nic_near = near;
        if (gpu->nics < FC_TOPO_NEAREST)
            gpu->nic[gpu->nics++] = (int)n;
    }
}

static bool same_nearest(const struct fc_topo_gpu *a, const struct fc_topo_gpu *b)
{
    return a->nics == b->nics && a->nic_near == b->nic_near &&
           memcmp(a->nic, b->nic, a->nics * sizeof *a->nic) == 0;
}

/* GPUs with the same NICs nearest share them: each begins its list with its own part.
 * *out_share: how many NICs that part has. */
static size_t share_of(const struct fc_topo *topo, size_t g, size_t *out_share)
{
    const struct fc_topo_gpu *gpu = &topo->gpu[g];
    size_t mates = 0, rank = 0;
    for (size_t i = 0; i < topo->gpus; i++) {
        bool mate = same_nearest(&topo->gpu[i], gpu);
        mates += mate;
        rank += mate && i < g;
    }
    size_t begin = rank * gpu->nics / mates, end = (rank + 1) * gpu->nics / mates;
    *out_share = end > begin ? end - begin : 1;
    return begin;
}

static void rotate(struct fc_topo_gpu *gpu, size_t by)
{
    int old[FC_TOPO_NEAREST];
    memcpy(old, gpu->nic, sizeof old);
    for (size_t i = 0; i < gpu->nics; i++)
        gpu->nic[i] = old[(i + by) % gpu->nics];
}

void fc_topo_rails(struct fc_topo *topo)
{
    size_t begin[FC_TOPO_MAX_GPUS], share[FC_TOPO_MAX_GPUS];
    topo->rails = 0;
    for (size_t n = 0; n < topo->nics; n++)
        topo->nic[n].rail = -1;
    for (size_t g = 0; g < topo->gpus; g++)
        find_nearest(topo, g);
    for (size_t g = 0; g < topo->gpus; g++)
        begin[g] = share_of(topo, g, &share[g]);
    for (size_t g = 0; g < topo->gpus; g++) {
        struct fc_topo_gpu *gpu = &topo->gpu[g];
        if (gpu->nics == 0)
            continue;
        rotate(gpu, begin[g]);
        for (size_t i = 0; i < share[g] && gpu->nic_near < FC_NEAR_SYS; i++)
            if (topo->nic[gpu->nic[i]].rail < 0)
                topo->nic[gpu->nic[i]].rail = topo->rails++;
    }
    for (size_t n = 0; n < topo->nics; n++)
        if (topo->nic[n].role == FC_NIC_FABRIC && topo->nic[n].rail < 0)
            topo->nic[n].rail = topo->rails++;
}
