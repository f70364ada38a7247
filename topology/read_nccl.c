// SPDX-License-Identifier: BSD-3-Clause
/* NCCL's topology file (NCCL_TOPO_FILE, or a dump): <system><cpu numaid affinity>,
 * below it <pci busid class link_speed link_width>, <gpu>, <nvlink target count
 * tclass>, <xgmi>, <nic><net name speed>. Files of clouds leave out what NCCL itself
 * would add: a <pci> of class 0302 is a GPU without a <gpu>, one of class 02 a NIC
 * without a <net>. Each bridge stands for a whole switch. */
#include "topology/model_parts.h"
#include "topology/read_xml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

static int64_t number(const char *text, int base, int64_t otherwise)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, base);
    return end == text || *end || errno ? otherwise : value;
}

/* An index; -1: none, or none that can be. */
static int small(const char *text)
{
    int64_t value = number(text, 10, -1);
    return value >= 0 && value < 65536 ? (int)value : -1;
}

static enum fc_status read_net(struct fc_topo *topo, const xmlNode *net, int pci,
                               int numa, struct fc_error *err)
{
    char name[32];
    fc_topo_text(name, sizeof name, fc_xml_attr(net, "name"));
    struct fc_topo_nic *nic =
        pci >= 0 ? fc_topo_nic_of(topo, pci) : fc_topo_add_nic(topo);
    struct fc_topo_port *port = nic ? fc_topo_add_port(nic) : NULL;
    if (!port)
        return fc_topo_full(err);
    int64_t speed = number(fc_xml_attr(net, "speed"), 10, 0);
    if (speed < 0 || speed > 10000000) {
        fc_topo_odd(topo, "network device %s: a speed of \"%.40s\" Mb/s", name,
                    fc_xml_attr(net, "speed"));
        speed = 0;
    }
    nic->numa = numa;
    port->Gbps = (double)speed / 1000;
    port->number = small(fc_xml_attr(net, "port"));
    snprintf(port->name, sizeof port->name, "%s", name);
    fc_topo_text(port->guid, sizeof port->guid, fc_xml_attr(net, "guid"));
    if (pci >= 0)
        topo->pci[pci].has_interface = true;
    /* NCCL's socket transport names interfaces, its verbs transport devices: the kernel
     * numbers ports of devices from 1, the socket transport gives 0. */
    bool socket = port->number <= 0;
    port->number = socket ? 0 : port->number;
    if (socket)
        fc_topo_add_net(nic, name);
    else if (!nic->rdma[0])
        snprintf(nic->rdma, sizeof nic->rdma, "%s", name);
    if (!nic->name[0])
        snprintf(nic->name, sizeof nic->name, "%s", name);
    return FC_OK;
}

static enum fc_status read_nets(struct fc_topo *topo, const xmlNode *nic, int pci,
                                int numa, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (const xmlNode *n = nic->children; n && status == FC_OK; n = n->next)
        if (fc_xml_is(n, "net"))
            status = read_net(topo, n, pci, numa, err);
    return status;
}

static enum fc_status read_peers(struct fc_topo *topo, const xmlNode *gpu, int pci,
                                 struct fc_error *err)
{
    const struct fc_topo_gpu *g = fc_topo_gpu_of(topo, pci);
    if (!g)
        return fc_topo_full(err);
    for (const xmlNode *n = gpu->children; n; n = n->next) {
        bool xgmi = fc_xml_is(n, "xgmi");
        if (!xgmi && !fc_xml_is(n, "nvlink"))
            continue;
        struct fc_topo_peer *peer = fc_topo_add_peer(topo);
        if (!peer)
            return fc_topo_full(err);
        int64_t class = number(fc_xml_attr(n, "tclass"), 16, -1) >> 8;
        int64_t count = number(fc_xml_attr(n, "count"), 10, 0);
        peer->gpu = pci; /* resolve_peers makes GPUs of both */
        peer->xgmi = xgmi;
        peer->links = count > 0 && count <= 64 ? (int)count : 0;
        if (!peer->links)
            fc_topo_odd(topo, "%s: %s of \"%.20s\" links", topo->pci[pci].bdf,
                        xgmi ? "XGMI" : "NVLink", fc_xml_attr(n, "count"));
        peer->kind = class == 0x0680   ? FC_PEER_SWITCH
                     : class >> 8 == 6 ? FC_PEER_CPU
                                       : FC_PEER_GPU;
        char bdf[24];
        if (peer->kind != FC_PEER_GPU)
            continue;
        peer->peer = fc_topo_bdf(fc_xml_attr(n, "target"), bdf, sizeof bdf)
                         ? fc_topo_find_pci(topo, bdf)
                         : -1;
    }
    return FC_OK;
}

static enum fc_status read_gpu(struct fc_topo *topo, const xmlNode *node, int pci,
                               struct fc_error *err)
{
    struct fc_topo_gpu *gpu = fc_topo_gpu_of(topo, pci);
    if (!gpu)
        return fc_topo_full(err);
    topo->pci[pci].role = FC_PCI_GPU;
    gpu->dev = small(fc_xml_attr(node, "dev"));
    gpu->gdr = small(fc_xml_attr(node, "gdr"));
    const char *arch = fc_xml_attr(node, "gcn"), *sm = fc_xml_attr(node, "sm");
    char text[sizeof gpu->arch];
    snprintf(text, sizeof text, *arch ? "%s%.20s" : "sm_%.0s%.20s",
             strncmp(arch, "gfx", 3) == 0 ? "" : "gfx", *arch ? arch : sm);
    fc_topo_text(gpu->arch, sizeof gpu->arch, *arch || *sm ? text : "");
    return FC_OK;
}

/* Fills a new PCI function from its attributes; -1: err says why not. */
static int read_function(struct fc_topo *topo, const xmlNode *node, int parent,
                         int host, int numa, struct fc_error *err)
{
    char bdf[24];
    if (!fc_topo_bdf(fc_xml_attr(node, "busid"), bdf, sizeof bdf)) {
        (void)!fc_fail(err, FC_USAGE, "line %ld: <pci> with the busid \"%.40s\"",
                       xmlGetLineNo((xmlNode *)(uintptr_t)node),
                       fc_xml_attr(node, "busid"));
        return -1;
    }
    if (fc_topo_find_pci(topo, bdf) >= 0)
        fc_topo_odd(topo, "%s is there twice", bdf);
    struct fc_topo_pci *pci = fc_topo_add_pci(topo);
    if (!pci) {
        (void)!fc_topo_full(err);
        return -1;
    }
    memcpy(pci->bdf, bdf, sizeof bdf);
    pci->parent = parent;
    pci->host = host;
    pci->numa = numa;
    int64_t class = number(fc_xml_attr(node, "class"), 16, -1);
    pci->class_code = class < 0 || class > 0xffffff ? -1 : class >> 8;
    pci->vendor = number(fc_xml_attr(node, "vendor"), 16, -1);
    pci->device = number(fc_xml_attr(node, "device"), 16, -1);
    fc_topo_classify(pci);
    int index = (int)topo->pcis - 1;
    double speed = fc_topo_speed(topo, bdf, fc_xml_attr(node, "link_speed"));
    int width = fc_topo_width(topo, bdf, fc_xml_attr(node, "link_width"));
    topo->pci[index].link.GTps = speed;
    topo->pci[index].link.width = width;
    return index;
}

static enum fc_status read_pci(struct fc_topo *topo, const xmlNode *node, int parent,
                               int host, int numa, int depth, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    if (depth > MAX_DEPTH)
        return fc_fail(err, FC_USAGE, "line %ld: more than %d bridges in a row",
                       xmlGetLineNo((xmlNode *)(uintptr_t)node), MAX_DEPTH);
    int pci = read_function(topo, node, parent, host, numa, err);
    if (pci < 0)
        return FC_USAGE;
    for (const xmlNode *n = node->children; n && status == FC_OK; n = n->next) {
        if (fc_xml_is(n, "pci"))
            status = read_pci(topo, n, pci, host, numa, depth + 1, err);
        else if (fc_xml_is(n, "gpu"))
            status = read_gpu(topo, n, pci, err);
        else if (fc_xml_is(n, "nic"))
            status = read_nets(topo, n, pci, numa, err);
    }
    if (status != FC_OK)
        return status;
    enum fc_pci_role role = topo->pci[pci].role;
    if ((role == FC_PCI_GPU && !fc_topo_gpu_of(topo, pci)) ||
        (role == FC_PCI_NIC && !fc_topo_nic_of(topo, pci)))
        return fc_topo_full(err);
    return FC_OK;
}

/* The NUMA node of one <cpu>; -1: err says why not. */
static int read_cpu(struct fc_topo *topo, const xmlNode *node, struct fc_error *err)
{
    const char *mask = fc_xml_attr(node, "affinity");
    struct fc_cpuset cpus = {{0}};
    int64_t id = number(fc_xml_attr(node, "numaid"), 10, -2);
    if (*mask && !fc_cpuset_mask(mask, &cpus)) {
        (void)!fc_fail(err, FC_USAGE,
                       "line %ld: <cpu> with the affinity \"%.60s\", which is no mask",
                       xmlGetLineNo((xmlNode *)(uintptr_t)node), mask);
        return -1;
    }
    if (id < -1 || id > 65535) {
        (void)!fc_fail(err, FC_USAGE, "line %ld: <cpu> with the numaid \"%.20s\"",
                       xmlGetLineNo((xmlNode *)(uintptr_t)node),
                       fc_xml_attr(node, "numaid"));
        return -1;
    }
    struct fc_topo_numa *numa = fc_topo_add_numa(topo);
    if (!numa) {
        (void)!fc_topo_full(err);
        return -1;
    }
    numa->os_index = (int)id;
    numa->cpus = cpus;
    return (int)topo->numas - 1;
}

static void count_cpus(struct fc_topo *topo)
{
    struct fc_cpuset all = {{0}};
    bool told = true;
    for (size_t i = 0; i < topo->numas; i++) {
        told &= fc_cpuset_count(&topo->numa[i].cpus) > 0;
        if (fc_cpuset_intersects(&all, &topo->numa[i].cpus))
            fc_topo_odd(topo, "NUMA node %d shares CPUs with another one",
                        topo->numa[i].os_index);
        fc_cpuset_merge(&all, &topo->numa[i].cpus);
    }
    topo->numa_n = (int64_t)topo->numas;
    topo->pus = told && topo->numas > 0 ? (int64_t)fc_cpuset_count(&all) : -1;
    fc_topo_unknown(topo, "packages and cores: an NCCL topology file has none");
}

/* From PCI functions to GPUs; what leads nowhere goes. */
static void resolve_peers(struct fc_topo *topo)
{
    size_t kept = 0;
    for (size_t i = 0; i < topo->peers; i++) {
        struct fc_topo_peer p = topo->peer[i];
        int from = -1, to = -1;
        for (size_t g = 0; g < topo->gpus; g++) {
            from = topo->gpu[g].pci == p.gpu ? (int)g : from;
            to = p.kind == FC_PEER_GPU && topo->gpu[g].pci == p.peer ? (int)g : to;
        }
        const char *bdf = topo->pci[p.gpu].bdf;
        if (p.kind == FC_PEER_GPU && (to < 0 || to == from)) {
            fc_topo_odd(topo, "%s: a link to %s", bdf,
                        to < 0 ? "a device that is not there" : "itself");
            continue;
        }
        p.gpu = from;
        p.peer = to;
        topo->peer[kept++] = p;
    }
    topo->peers = kept;
}

/* A second walk, once every target is known; functions come in the order of read_pci.
 * */
static enum fc_status read_all_peers(struct fc_topo *topo, const xmlNode *node,
                                     int *pci, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (const xmlNode *n = node->children; n && status == FC_OK; n = n->next) {
        if (fc_xml_is(n, "pci")) {
            int mine = (*pci)++;
            for (const xmlNode *g = n->children; g && status == FC_OK; g = g->next)
                if (fc_xml_is(g, "gpu"))
                    status = read_peers(topo, g, mine, err);
        }
        if (status == FC_OK && (fc_xml_is(n, "cpu") || fc_xml_is(n, "pci")))
            status = read_all_peers(topo, n, pci, err);
    }
    return status;
}

enum fc_status fc_topo_read_nccl_xml(struct fc_topo *topo, xmlNode *root,
                                     struct fc_error *err)
{
    enum fc_status status = FC_OK;
    int pci = 0;
    for (const xmlNode *n = root->children; n && status == FC_OK; n = n->next) {
        if (!fc_xml_is(n, "cpu"))
            continue;
        int numa = read_cpu(topo, n, err);
        if (numa < 0)
            return FC_USAGE;
        int host = topo->hosts++;
        for (const xmlNode *c = n->children; c && status == FC_OK; c = c->next) {
            if (fc_xml_is(c, "pci"))
                status = read_pci(topo, c, -1, host, numa, 0, err);
            else if (fc_xml_is(c, "nic"))
                status = read_nets(topo, c, -1, numa, err);
        }
    }
    if (status == FC_OK && topo->numas == 0)
        return fc_fail(err, FC_USAGE, "a <system> without any <cpu>: nothing to show");
    if (status == FC_OK)
        status = read_all_peers(topo, root, &pci, err);
    if (status != FC_OK)
        return status;
    resolve_peers(topo);
    topo->links_known = topo->peers > 0; /* NCCL adds NVLinks to files without any */
    count_cpus(topo);
    size_t unclassed = 0;
    for (size_t i = 0; i < topo->pcis; i++)
        unclassed += topo->pci[i].class_code < 0 && topo->pci[i].role == FC_PCI_OTHER;
    topo->gpus_known = topo->gpus > 0 || unclassed == 0;
    topo->nics_known = topo->nics > 0 || unclassed == 0;
    if (unclassed > 0)
        fc_topo_unknown(topo,
                        "what %zu of %zu PCI functions are: the file gives no "
                        "class for them",
                        unclassed, topo->pcis);
    return FC_OK;
}
