// SPDX-License-Identifier: BSD-3-Clause
/* hwloc's XML, formats 1 and 2, read as text rather than through hwloc: hwloc trusts
 * its input and may abort the process, and a picture of another machine needs none of
 * what it would add. Where objects are is told by their nodeset in both formats. */
#include "topology/model_parts.h"
#include "topology/read_xml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 128 };

/* Where the walk is. */
struct place {
    int package, numa, host, parent, depth;
};

struct walk {
    struct fc_topo *topo;
    struct fc_error *err;
    int64_t packages, cores, pus;
};

static const char *info(const xmlNode *object, const char *name)
{
    for (const xmlNode *n = object->children; n; n = n->next)
        if (fc_xml_is(n, "info") && strcmp(fc_xml_attr(n, "name"), name) == 0)
            return fc_xml_attr(n, "value");
    return "";
}

static int64_t number(const char *text, int64_t otherwise)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return end == text || *end || errno ? otherwise : value;
}

/* An index; -1: none, or none that can be. */
static int small(const char *text)
{
    int64_t value = number(text, -1);
    return value >= 0 && value < 65536 ? (int)value : -1;
}

/* Not strtod, which follows the locale. */
static double decimal(const char *text)
{
    char *end;
    double value = (double)strtol(text, &end, 10), place = 0.1;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, place /= 10)
            value += (*end - '0') * place;
    return value >= 0 && value < 10000 ? value : 0;
}

static long line_of(const xmlNode *node)
{
    return xmlGetLineNo((xmlNode *)(uintptr_t)node);
}

/* The object's mask `name`; a missing one is empty. */
static enum fc_status read_mask(struct walk *w, const xmlNode *node, const char *name,
                                struct fc_cpuset *out)
{
    const char *text = fc_xml_attr(node, name);
    *out = (struct fc_cpuset){{0}};
    if (!*text || fc_cpuset_mask(text, out))
        return FC_OK;
    return fc_fail(w->err, FC_USAGE,
                   "line %ld: %s with the %s \"%.60s\", which is no "
                   "mask",
                   line_of(node), fc_xml_attr(node, "type"), name, text);
}

static enum fc_status read_package(struct walk *w, const xmlNode *node)
{
    struct fc_topo_package *package = fc_topo_add_package(w->topo);
    if (!package)
        return fc_topo_full(w->err);
    package->os_index = small(fc_xml_attr(node, "os_index"));
    fc_topo_text(package->model, sizeof package->model, info(node, "CPUModel"));
    return read_mask(w, node, "cpuset", &package->cpus);
}

static enum fc_status read_numa(struct walk *w, const xmlNode *node, int package)
{
    struct fc_topo_numa *numa = fc_topo_add_numa(w->topo);
    if (!numa)
        return fc_topo_full(w->err);
    numa->os_index = small(fc_xml_attr(node, "os_index"));
    numa->package = package;
    numa->bytes = number(fc_xml_attr(node, "local_memory"), -1);
    numa->is_gpu_memory = strcmp(fc_xml_attr(node, "subtype"), "GPUMemory") == 0;
    enum fc_status status = read_mask(w, node, "cpuset", &numa->cpus);
    numa->without_cpus = status == FC_OK && fc_cpuset_count(&numa->cpus) == 0;
    return status;
}

/* "0302 [10de:1eb8] [10de:12a2] a1" */
static void read_type(struct fc_topo_pci *pci, const char *text)
{
    unsigned class, vendor, device;
    if (sscanf(text, "%4x [%4x:%4x]", &class, &vendor, &device) != 3)
        return;
    pci->class_code = class;
    pci->vendor = vendor;
    pci->device = device;
}

static enum fc_status read_function(struct walk *w, const xmlNode *node,
                                    const struct place *at, int *out)
{
    char bdf[24];
    if (!fc_topo_bdf(fc_xml_attr(node, "pci_busid"), bdf, sizeof bdf))
        return fc_fail(w->err, FC_USAGE, "line %ld: %s with the pci_busid \"%.40s\"",
                       line_of(node), fc_xml_attr(node, "type"),
                       fc_xml_attr(node, "pci_busid"));
    if (fc_topo_find_pci(w->topo, bdf) >= 0)
        fc_topo_odd(w->topo, "%s is there twice", bdf);
    struct fc_topo_pci *pci = fc_topo_add_pci(w->topo);
    if (!pci)
        return fc_topo_full(w->err);
    memcpy(pci->bdf, bdf, sizeof bdf);
    pci->parent = at->parent;
    pci->host = at->host;
    pci->numa = at->numa;
    pci->package = at->package;
    read_type(pci, fc_xml_attr(node, "pci_type"));
    pci->link.GBps = decimal(fc_xml_attr(node, "pci_link_speed"));
    fc_topo_classify(pci);
    fc_topo_text(pci->name, sizeof pci->name, info(node, "PCIDevice"));
    *out = (int)w->topo->pcis - 1;
    return FC_OK;
}

static enum fc_status read_gpu(struct walk *w, const xmlNode *node, int pci)
{
    struct fc_topo_gpu *gpu = fc_topo_gpu_of(w->topo, pci);
    if (!gpu)
        return fc_topo_full(w->err);
    w->topo->pci[pci].role = FC_PCI_GPU;
    static const char *const uuids[] = {"NVIDIAUUID", "AMDUUID"};
    static const char *const serials[] = {"NVIDIASerial", "AMDSerial"};
    for (size_t i = 0; i < 2; i++) {
        if (*info(node, uuids[i]))
            fc_topo_text(gpu->uuid, sizeof gpu->uuid, info(node, uuids[i]));
        if (*info(node, serials[i]))
            fc_topo_text(gpu->serial, sizeof gpu->serial, info(node, serials[i]));
    }
    if (*info(node, "GPUModel"))
        fc_topo_text(gpu->name, sizeof gpu->name, info(node, "GPUModel"));
    if (*info(node, "GPUVendor"))
        fc_topo_text(gpu->vendor, sizeof gpu->vendor, info(node, "GPUVendor"));
    int64_t kib = number(info(node, "CUDAGlobalMemorySize"), -1);
    if (kib < 0)
        kib = number(info(node, "RSMIVRAMSize"), -1);
    if (kib > 0 && kib < INT64_C(1) << 40)
        gpu->memory_bytes = kib * 1024;
    return FC_OK;
}

static enum fc_status read_ports(struct walk *w, const xmlNode *node,
                                 struct fc_topo_nic *nic)
{
    static const char *const states[] = {"?", "DOWN", "INIT", "ARMED", "ACTIVE"};
    for (int i = 1; i <= 16; i++) {
        char key[32];
        snprintf(key, sizeof key, "Port%dState", i);
        int64_t state = number(info(node, key), -1);
        if (state < 0)
            continue;
        struct fc_topo_port *port = fc_topo_add_port(nic);
        if (!port)
            return fc_topo_full(w->err);
        port->number = i;
        snprintf(port->state, sizeof port->state, "%s",
                 state <= 4 ? states[state] : "?");
        snprintf(key, sizeof key, "Port%dLID", i);
        char *end;
        const char *lid = info(node, key);
        long value = strtol(lid, &end, 0);
        port->lid = *lid && !*end && value >= 0 && value < 65536 ? (int)value : -1;
        snprintf(key, sizeof key, "Port%dGID0", i);
        struct fc_topo_gid *gid = *info(node, key) ? fc_topo_add_gid(port) : NULL;
        if (gid)
            fc_topo_text(gid->gid, sizeof gid->gid, info(node, key));
    }
    return FC_OK;
}

static enum fc_status read_nic(struct walk *w, const xmlNode *node, int pci, bool verbs)
{
    struct fc_topo_nic *nic =
        pci >= 0 ? fc_topo_nic_of(w->topo, pci) : fc_topo_add_nic(w->topo);
    if (!nic)
        return fc_topo_full(w->err);
    if (pci >= 0)
        w->topo->pci[pci].has_interface = true;
    if (!verbs) {
        fc_topo_add_net(nic, fc_xml_attr(node, "name"));
        return FC_OK;
    }
    fc_topo_text(nic->rdma, sizeof nic->rdma, fc_xml_attr(node, "name"));
    fc_topo_text(nic->node_guid, sizeof nic->node_guid, info(node, "NodeGUID"));
    return read_ports(w, node, nic);
}

/* Kinds: 1 GPU (NVML, RSMI, displays), 2 network, 3 verbs, 5 co-processor (CUDA,
 * OpenCL). A display or an OpenCL device alone makes no GPU for compute. */
static enum fc_status read_os_device(struct walk *w, const xmlNode *node, int pci)
{
    int64_t kind = number(fc_xml_attr(node, "osdev_type"), -1);
    const char *sub = fc_xml_attr(node, "subtype"), *name = fc_xml_attr(node, "name");
    if (!*sub)
        sub = info(node, "CoProcType");
    bool compute = strcmp(sub, "CUDA") == 0 || strcmp(sub, "NVML") == 0 ||
                   strcmp(sub, "RSMI") == 0 || strcmp(sub, "LevelZero") == 0 ||
                   strncmp(name, "cuda", 4) == 0 || strncmp(name, "nvml", 4) == 0 ||
                   strncmp(name, "rsmi", 4) == 0;
    if ((kind == 1 || kind == 5) && compute && pci >= 0)
        return read_gpu(w, node, pci);
    if (kind == 2 || kind == 3)
        return read_nic(w, node, pci, kind == 3);
    return FC_OK;
}

/* Several NUMA nodes: none in particular. */
static enum fc_status locate(struct walk *w, const xmlNode *node, struct place *at)
{
    struct fc_cpuset nodes;
    enum fc_status status = read_mask(w, node, "nodeset", &nodes);
    size_t n = fc_cpuset_count(&nodes);
    if (status == FC_OK && n > 0)
        at->numa = n == 1 ? fc_cpuset_next(&nodes, 0) : -1;
    return status;
}

static enum fc_status visit(struct walk *w, const xmlNode *node, struct place at);

static enum fc_status visit_children(struct walk *w, const xmlNode *node,
                                     struct place at)
{
    enum fc_status status = FC_OK;
    for (const xmlNode *n = node->children; n && status == FC_OK; n = n->next)
        if (fc_xml_is(n, "object"))
            status = visit(w, n, at);
    return status;
}

static enum fc_status visit_io(struct walk *w, const xmlNode *node, const char *type,
                               struct place at)
{
    enum fc_status status = FC_OK;
    int pci = -1;
    if (strcmp(type, "OSDev") == 0)
        status = read_os_device(w, node, at.parent);
    else if (strcmp(type, "Bridge") == 0 &&
             strncmp(fc_xml_attr(node, "bridge_type"), "0", 1) == 0)
        at.host = w->topo->hosts++, at.parent = -1;
    else if (strcmp(type, "Bridge") == 0 || strcmp(type, "PCIDev") == 0)
        status = read_function(w, node, &at, &pci);
    if (status != FC_OK)
        return status;
    if (pci >= 0)
        at.parent = pci;
    status = visit_children(w, node, at);
    if (status != FC_OK || pci < 0)
        return status;
    enum fc_pci_role role = w->topo->pci[pci].role;
    if ((role == FC_PCI_GPU && !fc_topo_gpu_of(w->topo, pci)) ||
        (role == FC_PCI_NIC && !fc_topo_nic_of(w->topo, pci)))
        return fc_topo_full(w->err);
    return FC_OK;
}

static enum fc_status visit(struct walk *w, const xmlNode *node, struct place at)
{
    const char *type = fc_xml_attr(node, "type");
    enum fc_status status = FC_OK;
    if (++at.depth > MAX_DEPTH)
        return fc_fail(w->err, FC_USAGE, "line %ld: objects are nested deeper than %d",
                       line_of(node), MAX_DEPTH);
    if (strcmp(type, "Bridge") == 0 || strcmp(type, "PCIDev") == 0 ||
        strcmp(type, "OSDev") == 0)
        return visit_io(w, node, type, at);
    if (strcmp(type, "Package") == 0 || strcmp(type, "Socket") == 0) {
        status = read_package(w, node);
        at.package = (int)w->packages++;
    } else if (strcmp(type, "NUMANode") == 0) {
        status = read_numa(w, node, at.package);
    } else if (strcmp(type, "Core") == 0) {
        w->cores++;
    } else if (strcmp(type, "PU") == 0) {
        w->pus++;
    }
    struct fc_cpuset cpus; /* read for the sake of its form */
    if (status == FC_OK)
        status = read_mask(w, node, "cpuset", &cpus);
    if (status == FC_OK)
        status = locate(w, node, &at);
    return status == FC_OK ? visit_children(w, node, at) : status;
}

/* Numbers of all <NAME> below `node` into `out`, at most `max`; how many there were. */
static size_t read_numbers(const xmlNode *node, const char *name, bool objects,
                           int64_t *out, size_t max)
{
    size_t n = 0;
    for (const xmlNode *c = node->children; c; c = c->next) {
        if (!fc_xml_is(c, name) || !c->children || !c->children->content)
            continue;
        const char *p = (const char *)c->children->content;
        while (*p) {
            char *end;
            p += strspn(p, " \n\t");
            /* "OSDev:332": a GPU; anything else is no GPU */
            bool other = objects && strncmp(p, "OSDev:", 6) != 0 && strchr(p, ':');
            const char *colon = objects ? strchr(p, ':') : NULL;
            size_t word = strcspn(p, " \n\t");
            if (colon && colon < p + word)
                p = colon + 1;
            long long value = strtoll(p, &end, 10);
            if (end == p)
                break;
            if (n < max)
                out[n] = other ? -1 : value;
            n++;
            p = end;
        }
    }
    return n;
}

static const xmlNode *find_object(const xmlNode *node, int64_t gp_index, int depth)
{
    for (const xmlNode *n = node->children; n && depth < MAX_DEPTH; n = n->next) {
        if (!fc_xml_is(n, "object"))
            continue;
        if (number(fc_xml_attr(n, "gp_index"), -1) == gp_index)
            return n;
        const xmlNode *found = find_object(n, gp_index, depth + 1);
        if (found)
            return found;
    }
    return NULL;
}

/* The GPU that an OS device belongs to; -1: none. */
static int gpu_of_object(const struct fc_topo *topo, const xmlNode *root, int64_t gp)
{
    char bdf[24];
    const xmlNode *node = gp >= 0 ? find_object(root, gp, 0) : NULL;
    while (node && strcmp(fc_xml_attr(node, "type"), "OSDev") == 0)
        node = node->parent;
    if (!node || !fc_topo_bdf(fc_xml_attr(node, "pci_busid"), bdf, sizeof bdf))
        return -1;
    int pci = fc_topo_find_pci(topo, bdf);
    for (size_t i = 0; i < topo->gpus; i++)
        if (topo->gpu[i].pci == pci)
            return (int)i;
    return -1;
}

/* GB/s of one link, each way, as hwloc counts them. */
static double link_GBps(const struct fc_topo_gpu *gpu)
{
    return strstr(gpu->name, "P100")                                ? 20
           : strstr(gpu->name, "B200") || strstr(gpu->name, "B300") ? 50
                                                                    : 25;
}

/* NVLinkBandwidth and XGMIBandwidth: MB/s of each pair; 1000000 is an object itself. */
static enum fc_status read_bandwidths(struct walk *w, const xmlNode *root,
                                      const xmlNode *node, bool xgmi)
{
    struct fc_topo *topo = w->topo;
    int64_t object[64], value[64 * 64];
    int gpu[64];
    size_t n = read_numbers(node, "indexes", true, object, 64);
    if (n > 64 || read_numbers(node, "u64values", false, value, 64 * 64) != n * n) {
        fc_topo_odd(topo, "line %ld: a matrix %.30s that is not square", line_of(node),
                    fc_xml_attr(node, "name"));
        return FC_OK;
    }
    for (size_t i = 0; i < n; i++)
        gpu[i] = gpu_of_object(topo, root, object[i]);
    for (size_t i = 0; i < n * n; i++) {
        int from = gpu[i / n], to = gpu[i % n];
        if (from < 0 || from == to || value[i] <= 0)
            continue;
        struct fc_topo_peer *peer = fc_topo_add_peer(topo);
        if (!peer)
            return fc_topo_full(w->err);
        double GBps = (double)value[i] / 1000;
        double links = xgmi ? 0 : GBps / link_GBps(&topo->gpu[from]);
        *peer = (struct fc_topo_peer){.gpu = from,
                                      .kind = to < 0 ? FC_PEER_CPU : FC_PEER_GPU,
                                      .peer = to,
                                      .xgmi = xgmi,
                                      .links = links <= 64 ? (int)(links + 0.5) : 0,
                                      .GBps = GBps};
    }
    return FC_OK;
}

/* The walk noted the NUMA nodes' own numbers; indices are what the model holds. */
static void settle(struct fc_topo *topo)
{
    for (size_t i = 0; i < topo->pcis; i++) {
        struct fc_topo_pci *p = &topo->pci[i];
        p->numa = p->numa < 0 ? -1 : fc_topo_find_numa(topo, p->numa);
        if (p->package < 0 && p->numa >= 0)
            p->package = topo->numa[p->numa].package;
    }
    for (size_t i = 0; i < topo->numas; i++)
        for (size_t j = 0; topo->numa[i].package < 0 && j < topo->packages; j++)
            if (fc_cpuset_intersects(&topo->numa[i].cpus, &topo->package[j].cpus))
                topo->numa[i].package = (int)j;
}

static const xmlNode *machine_of(const xmlNode *root)
{
    for (const xmlNode *n = root->children; n; n = n->next)
        if (fc_xml_is(n, "object"))
            return n;
    return NULL;
}

enum fc_status fc_topo_read_hwloc_xml(struct fc_topo *topo, xmlNode *root,
                                      struct fc_error *err)
{
    struct walk w = {.topo = topo, .err = err};
    const char *version = fc_xml_attr(root, "version");
    const xmlNode *machine = machine_of(root);
    if (number(version, 0) > 2 || version[0] > '2')
        return fc_fail(err, FC_USAGE,
                       "an hwloc XML of format %.20s; formats 1 and 2 are read (export "
                       "it with lstopo of hwloc 2)",
                       version);
    if (!machine)
        return fc_fail(err, FC_USAGE,
                       "a <topology> without any <object>: nothing to show");
    fc_topo_text(topo->host_name, sizeof topo->host_name, info(machine, "HostName"));
    fc_topo_text(topo->machine, sizeof topo->machine, info(machine, "DMIProductName"));
    const struct place top = {-1, -1, -1, -1, 0};
    enum fc_status status = visit(&w, machine, top);
    if (status == FC_OK && w.pus == 0)
        return fc_fail(err, FC_USAGE, "an hwloc XML without a single processor (PU)");
    settle(topo);
    for (const xmlNode *n = root->children; n && status == FC_OK; n = n->next)
        if (fc_xml_is(n, "distances2") || fc_xml_is(n, "distances2hetero")) {
            const char *name = fc_xml_attr(n, "name");
            if (strcmp(name, "NVLinkBandwidth") == 0 ||
                strcmp(name, "XGMIBandwidth") == 0)
                status = read_bandwidths(&w, root, n, name[0] == 'X');
        }
    topo->links_known = topo->peers > 0;
    topo->packages_n = w.packages;
    topo->cores = w.cores;
    topo->pus = w.pus;
    topo->numa_n = (int64_t)topo->numas;
    topo->ports_told = true;
    topo->gpus_known = topo->nics_known = topo->pcis > 0;
    if (topo->pcis == 0)
        fc_topo_unknown(topo, "GPUs and NICs: the file holds no PCI functions (lstopo "
                              "--no-io, or another part of hwloc's tests)");
    return status;
}
