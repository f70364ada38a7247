// SPDX-License-Identifier: BSD-3-Clause
/* After a reader: puts GPUs and NICs in the order of the bus, tells virtual functions
 * from cards, names NICs, and flags what no machine can have. Who is near whom, and the
 * rails, are in rails.c. */
#include "topology/model_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

/* Domains of more than four digits sort after the others. */
static int by_bdf(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la != lb && la && lb)
        return la < lb ? -1 : 1;
    return strcmp(a, b);
}

static const char *bdf_of(const struct fc_topo *topo, int pci)
{
    return pci >= 0 ? topo->pci[pci].bdf : "~"; /* after all others */
}

struct order {
    int group;
    const char *key;
    size_t index;
};

static int by_key(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    int c = x->group != y->group ? x->group - y->group : by_bdf(x->key, y->key);
    return c ? c : x->index < y->index ? -1 : 1;
}

/* Moves elements of `size` bytes into the order of their keys; order[i].index is where
 * element i was. */
static bool reorder(void *array, size_t n, size_t size, struct order *order)
{
    char *copy = malloc(n * size);
    if (!copy)
        return false;
    qsort(order, n, sizeof *order, by_key);
    for (size_t i = 0; i < n; i++)
        memcpy(copy + i * size, (char *)array + order[i].index * size, size);
    memcpy(array, copy, n * size);
    free(copy);
    return true;
}

static enum fc_status sort_gpus(struct fc_topo *topo, struct fc_error *err)
{
    struct order order[FC_TOPO_MAX_GPUS];
    int now[FC_TOPO_MAX_GPUS];
    for (size_t i = 0; i < topo->gpus; i++)
        order[i] = (struct order){0, bdf_of(topo, topo->gpu[i].pci), i};
    if (topo->gpus > 0 && !reorder(topo->gpu, topo->gpus, sizeof *topo->gpu, order))
        return fc_topo_full(err);
    for (size_t i = 0; i < topo->gpus; i++)
        now[order[i].index] = (int)i;
    for (size_t i = 0; i < topo->peers; i++) {
        struct fc_topo_peer *p = &topo->peer[i];
        p->gpu = now[p->gpu];
        p->peer = p->peer >= 0 ? now[p->peer] : -1;
    }
    return FC_OK;
}

/* Those that a matrix shows first, so that its numbers have no gaps. */
static enum fc_status sort_nics(struct fc_topo *topo, struct fc_error *err)
{
    struct order *order = calloc(topo->nics + 1, sizeof *order);
    for (size_t i = 0; order && i < topo->nics; i++)
        order[i] =
            (struct order){topo->nic[i].role != FC_NIC_FABRIC && !topo->nic[i].rdma[0],
                           bdf_of(topo, topo->nic[i].pci), i};
    bool good = order && (topo->nics == 0 ||
                          reorder(topo->nic, topo->nics, sizeof *topo->nic, order));
    free(order);
    return good ? FC_OK : fc_topo_full(err);
}

/* A captured tree may be edited by hand; a bridge above itself would hang every walk.
 * */
static void cut_loops(struct fc_topo *topo)
{
    for (size_t i = 0; i < topo->pcis; i++) {
        int up = topo->pci[i].parent, depth = 0;
        while (up >= 0 && up != (int)i && depth <= MAX_DEPTH)
            up = topo->pci[up].parent, depth++;
        if (up < 0)
            continue;
        topo->pci[i].parent = -1;
        fc_topo_odd(topo, "%s is its own bridge, or lies below more than %d",
                    topo->pci[i].bdf, MAX_DEPTH);
    }
}

/* Same domain and bus; of "0000:0b:00.1" what stands before the last ':'. */
static bool same_bus(const char *a, const char *b)
{
    const char *end = strrchr(a, ':');
    return end && strncmp(a, b, (size_t)(end - a) + 1) == 0;
}

/* Sources other than /sys do not mark virtual functions: a function without interface
 * beside one of the same maker that has one, and that is another device. */
static bool looks_virtual(const struct fc_topo *topo, const struct fc_topo_pci *f)
{
    if (f->role != FC_PCI_NIC || f->has_interface || f->vendor < 0)
        return false;
    for (size_t i = 0; i < topo->pcis; i++) {
        const struct fc_topo_pci *card = &topo->pci[i];
        if (card->has_interface && card->role == FC_PCI_NIC &&
            card->parent == f->parent && card->device != f->device &&
            same_bus(f->bdf, card->bdf))
            return true;
    }
    return false;
}

/* A virtual function is no NIC of its own, unless it is all that this machine was given
 * (a virtual machine sees it without its card). */
static void drop_virtual(struct fc_topo *topo)
{
    size_t kept = 0, dropped = 0;
    for (size_t i = 0; i < topo->pcis; i++)
        if (looks_virtual(topo, &topo->pci[i]))
            topo->pci[i].vf = true;
    for (size_t i = 0; i < topo->nics; i++) {
        struct fc_topo_nic nic = topo->nic[i];
        if (nic.pci >= 0 && topo->pci[nic.pci].vf) {
            for (size_t j = 0; j < nic.ports; j++)
                free(nic.port[j].gid);
            free(nic.port);
            dropped++;
        } else {
            topo->nic[kept++] = nic;
        }
    }
    topo->nics = kept;
    if (dropped > 0)
        fc_topo_unknown(topo, "%zu virtual functions are not counted as NICs", dropped);
}

static void name_nic(struct fc_topo *topo, struct fc_topo_nic *nic)
{
    if (nic->rdma[0])
        memcpy(nic->name, nic->rdma, sizeof nic->name);
    else if (!nic->name[0] && nic->nets > 0)
        snprintf(nic->name, sizeof nic->name, "%s", nic->net[0]);
    else if (!nic->name[0])
        snprintf(nic->name, sizeof nic->name, "%s", bdf_of(topo, nic->pci));
    for (size_t j = 0; j < nic->ports; j++)
        if (nic->port[j].Gbps > nic->Gbps)
            nic->Gbps = nic->port[j].Gbps;
    if (nic->pci >= 0)
        topo->pci[nic->pci].role = FC_PCI_NIC;
}

/* NVIDIA's and AMD's numbers of products, names only. */
static const struct {
    int64_t vendor, device;
    const char *name;
} products[] = {
    {0x10de, 0x15f9, "Tesla P100-SXM2-16GB"},
    {0x10de, 0x1db1, "Tesla V100-SXM2-16GB"},
    {0x10de, 0x1db5, "Tesla V100-SXM2-32GB"},
    {0x10de, 0x1eb8, "Tesla T4"},
    {0x10de, 0x20b0, "A100-SXM4-40GB"},
    {0x10de, 0x20b2, "A100-SXM4-80GB"},
    {0x10de, 0x20b5, "A100 80GB PCIe"},
    {0x10de, 0x2237, "A10G"},
    {0x10de, 0x2321, "H100 NVL"},
    {0x10de, 0x2330, "H100 80GB HBM3"},
    {0x10de, 0x2331, "H100 PCIe"},
    {0x10de, 0x2335, "H200"},
    {0x10de, 0x2901, "B200"},
    {0x1002, 0x738c, "Instinct MI100"},
    {0x1002, 0x7408, "Instinct MI250X"},
    {0x1002, 0x740c, "Instinct MI250X"},
    {0x1002, 0x740f, "Instinct MI210"},
    {0x1002, 0x74a1, "Instinct MI300X"},
};

static void name_gpu(const struct fc_topo *topo, struct fc_topo_gpu *gpu)
{
    const struct fc_topo_pci *pci = &topo->pci[gpu->pci];
    for (size_t i = 0; !gpu->name[0] && i < sizeof products / sizeof *products; i++)
        if (products[i].vendor == pci->vendor && products[i].device == pci->device)
            snprintf(gpu->name, sizeof gpu->name, "%s", products[i].name);
    if (!gpu->name[0])
        snprintf(gpu->name, sizeof gpu->name, "%s",
                 pci->name[0] ? pci->name : gpu->arch);
    if (!gpu->name[0] && pci->vendor >= 0 && pci->device >= 0)
        snprintf(gpu->name, sizeof gpu->name, "[%04x:%04x]",
                 (unsigned)pci->vendor & 0xffff, (unsigned)pci->device & 0xffff);
    if (!gpu->vendor[0] && pci->vendor >= 0)
        snprintf(gpu->vendor, sizeof gpu->vendor, "%s",
                 pci->vendor == 0x10de   ? "NVIDIA"
                 : pci->vendor == 0x1002 ? "AMD"
                 : pci->vendor == 0x8086 ? "Intel"
                                         : "");
}

/* A virtual machine's cells may contradict its sockets; hwloc then drops the nodes. */
static void check_nesting(struct fc_topo *topo)
{
    char cpus[48];
    for (size_t i = 0; i < topo->numas; i++)
        for (size_t j = 0; j < topo->packages; j++) {
            const struct fc_cpuset *numa = &topo->numa[i].cpus,
                                   *package = &topo->package[j].cpus;
            if (!fc_cpuset_intersects(numa, package) ||
                fc_cpuset_contains(package, numa) || fc_cpuset_contains(numa, package))
                continue;
            fc_cpuset_print(numa, cpus, sizeof cpus);
            fc_topo_odd(topo,
                        "NUMA node %d (CPUs %s) cuts across packages: the virtual "
                        "machine's or the firmware's definition is wrong",
                        topo->numa[i].os_index, cpus);
            break;
        }
}

static void check_numbers(struct fc_topo *topo)
{
    if (topo->cores > topo->pus && topo->pus >= 0)
        fc_topo_odd(topo, "%lld cores with only %lld hardware threads",
                    (long long)topo->cores, (long long)topo->pus);
    if (topo->packages_n > topo->cores && topo->cores > 0)
        fc_topo_odd(topo, "%lld packages with only %lld cores",
                    (long long)topo->packages_n, (long long)topo->cores);
    for (size_t i = 0; i < topo->numas; i++)
        if (topo->numa[i].bytes > INT64_C(1) << 50)
            fc_topo_odd(topo, "NUMA node %d with %lld TiB of memory",
                        topo->numa[i].os_index, (long long)(topo->numa[i].bytes >> 40));
    for (size_t i = 0; i < topo->pcis; i++) {
        const struct fc_topo_pci *p = &topo->pci[i];
        const struct fc_topo_link *l = &p->link;
        if ((l->max_GTps > 0 && l->GTps > l->max_GTps) ||
            (l->max_width > 0 && l->width > l->max_width))
            fc_topo_odd(topo,
                        "%s: the link is faster now (%g GT/s x%d) than it can be "
                        "(%g GT/s x%d)",
                        p->bdf, l->GTps, l->width, l->max_GTps, l->max_width);
    }
}

/* Firmware of machines with one NUMA node often gives devices none. */
static void place_in_only_numa(struct fc_topo *topo)
{
    for (size_t i = 0; topo->numas == 1 && i < topo->pcis; i++) {
        topo->pci[i].numa = 0;
        topo->pci[i].package = topo->numa[0].package;
    }
}

enum fc_status fc_topo_relate(struct fc_topo *topo, struct fc_error *err)
{
    cut_loops(topo);
    place_in_only_numa(topo);
    drop_virtual(topo);
    enum fc_status status = sort_gpus(topo, err);
    for (size_t i = 0; i < topo->nics; i++)
        name_nic(topo, &topo->nic[i]);
    for (size_t i = 0; i < topo->gpus; i++)
        name_gpu(topo, &topo->gpu[i]);
    if (status == FC_OK)
        status = fc_topo_pairs(topo, err);
    fc_topo_fabric(topo);
    if (status == FC_OK)
        status = sort_nics(topo, err);
    if (status != FC_OK)
        return status;
    check_numbers(topo);
    check_nesting(topo);
    fc_topo_rails(topo);
    return FC_OK;
}
