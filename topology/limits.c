// SPDX-License-Identifier: BSD-3-Clause
#include "topology/limits.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 66, USUAL_PAYLOAD = 256, HEADER_BYTES = 26 };

/* GB/s of one lane: 8b/10b up to 5 GT/s, 128b/130b up to 32, then flits (242 of 256).
 * */
static double lane_GBps(double GTps)
{
    if (GTps <= 5)
        return GTps * 0.8 / 8;
    return GTps <= 32 ? GTps * 128 / 130 / 8 : GTps * 242 / 256 / 8;
}

static int generation(double GTps)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64, 128};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (GTps <= speeds[i])
            return (int)i + 1;
    return 0;
}

static double speed_of(const struct fc_topo_link *link)
{
    return link->max_GTps > 0 ? link->max_GTps : link->GTps;
}

static int width_of(const struct fc_topo_link *link)
{
    return link->max_width > 0 ? link->max_width : link->width;
}

double fc_limit_lanes(const struct fc_topo_link *link)
{
    if (speed_of(link) > 0 && width_of(link) > 0)
        return lane_GBps(speed_of(link)) * width_of(link);
    return link->GBps;
}

struct fc_limit fc_limit_pcie(const struct fc_topo_link *link, int payload)
{
    struct fc_limit limit = {0, "the PCIe link's speed or width is unknown"};
    int bytes = payload > 0 ? payload : USUAL_PAYLOAD;
    double raw = fc_limit_lanes(link);
    if (raw <= 0)
        return limit;
    limit.GBps = raw * bytes / (bytes + HEADER_BYTES);
    const char *assumed = payload > 0 ? "" : " (assumed)";
    if (speed_of(link) > 0 && width_of(link) > 0)
        snprintf(limit.basis, sizeof limit.basis, "PCIe %d.0 x%d, %d-byte payload%s",
                 generation(speed_of(link)), width_of(link), bytes, assumed);
    else
        snprintf(limit.basis, sizeof limit.basis,
                 "PCIe, %.1f GB/s as it is trained now, %d-byte payload%s", raw, bytes,
                 assumed);
    return limit;
}

struct fc_limit fc_limit_nic(const struct fc_topo_nic *nic)
{
    struct fc_limit limit = {0, "the port's rate is unknown"};
    if (nic->Gbps <= 0)
        return limit;
    limit.GBps = nic->Gbps / 8;
    const char *layer =
        nic->ports > 0 && nic->port[0].layer[0] ? nic->port[0].layer : "port";
    snprintf(limit.basis, sizeof limit.basis, "%s of %.30s at %g Gb/s", layer,
             nic->name, nic->Gbps);
    return limit;
}

/* Generations 1 to 5 by the product: GB/s of one link, each way; 0: not known. */
static double nvlink_GBps(const char *name, int *out_generation)
{
    static const struct {
        const char *part;
        int generation;
        double GBps;
    } table[] = {{"P100", 1, 20},  {"V100", 2, 25},  {"A100", 3, 25},  {"A800", 3, 25},
                 {"GH200", 4, 25}, {"H100", 4, 25},  {"H200", 4, 25},  {"H20", 4, 25},
                 {"H800", 4, 25},  {"GB200", 5, 50}, {"GB300", 5, 50}, {"B200", 5, 50},
                 {"B300", 5, 50}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strstr(name, table[i].part)) {
            *out_generation = table[i].generation;
            return table[i].GBps;
        }
    return 0;
}

static struct fc_limit between_gpus(const struct fc_topo *topo, size_t a, size_t b,
                                    int links, bool xgmi)
{
    struct fc_limit limit = {0, ""};
    int gen = 0;
    double told = 0, each = nvlink_GBps(topo->gpu[a].name, &gen);
    for (size_t i = 0; i < topo->peers; i++)
        if (topo->peer[i].gpu == (int)a && topo->peer[i].peer == (int)b)
            told += topo->peer[i].GBps;
    if (told > 0) {
        limit.GBps = told;
        snprintf(limit.basis, sizeof limit.basis, "%s, %g GB/s as the source tells",
                 xgmi ? "XGMI" : "NVLink", told);
    } else if (!xgmi && each > 0 && links > 0) {
        limit.GBps = each * links;
        snprintf(limit.basis, sizeof limit.basis, "NVLink %d, %d links of %g GB/s", gen,
                 links, each);
    } else {
        snprintf(limit.basis, sizeof limit.basis,
                 "%s, whose rate or number of links is unknown",
                 xgmi ? "XGMI" : "NVLink");
    }
    return limit;
}

/* Keeps the narrower one, with the place it is at. */
static void narrow(struct fc_limit *limit, const struct fc_limit *by, const char *where)
{
    if (by->GBps <= 0 || (limit->GBps > 0 && limit->GBps <= by->GBps))
        return;
    limit->GBps = by->GBps;
    snprintf(limit->basis, sizeof limit->basis, "%.120s%s%s", by->basis,
             *where ? " at " : "", where);
}

static int chain(const struct fc_topo *topo, int pci, int *out)
{
    int n = 0;
    for (int i = pci; i >= 0 && n < MAX_DEPTH; i = topo->pci[i].parent)
        out[n++] = i;
    return n;
}

/* The links from `pci` up to, not including, the bridge `top` (-1: the host). A bridge
 * that tells only what it does now is not believed: files of real machines have 5 GT/s
 * there while the traffic is full rate. */
static void narrow_by_chain(const struct fc_topo *topo, int pci, int top,
                            struct fc_limit *limit)
{
    for (int i = pci; i >= 0 && i != top; i = topo->pci[i].parent) {
        const struct fc_topo_pci *p = &topo->pci[i];
        if (i != pci && p->link.max_GTps <= 0)
            continue;
        struct fc_limit link = fc_limit_pcie(&p->link, 0);
        narrow(limit, &link, p->bdf);
    }
}

static int common_bridge(const struct fc_topo *topo, int a, int b)
{
    int up_a[MAX_DEPTH], up_b[MAX_DEPTH];
    int na = chain(topo, a, up_a), nb = chain(topo, b, up_b);
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++)
            if (up_a[i] == up_b[j])
                return up_a[i];
    return -1;
}

struct fc_limit fc_limit_path(const struct fc_topo *topo, size_t a, size_t b)
{
    struct fc_limit limit = {0, ""};
    bool xgmi;
    int links = fc_topo_links(topo, a, b, &xgmi);
    if (a == b)
        return limit;
    if (links != 0)
        return between_gpus(topo, a, b, links, xgmi);
    const size_t ends[] = {a, b};
    int pci[2];
    for (size_t i = 0; i < 2; i++)
        pci[i] = ends[i] < topo->gpus ? topo->gpu[ends[i]].pci
                                      : topo->nic[ends[i] - topo->gpus].pci;
    int top = pci[0] >= 0 && pci[1] >= 0 ? common_bridge(topo, pci[0], pci[1]) : -1;
    for (size_t i = 0; i < 2; i++) {
        if (pci[i] >= 0)
            narrow_by_chain(topo, pci[i], top, &limit);
        if (ends[i] < topo->gpus)
            continue;
        struct fc_limit port = fc_limit_nic(&topo->nic[ends[i] - topo->gpus]);
        narrow(&limit, &port, "");
    }
    if (limit.GBps <= 0)
        snprintf(limit.basis, sizeof limit.basis, "no link on the way tells its speed");
    else if (fc_topo_near(topo, a, b) == FC_NEAR_SYS)
        strncat(limit.basis, "; through the CPUs' own link, which is not known",
                sizeof limit.basis - strlen(limit.basis) - 1);
    return limit;
}
