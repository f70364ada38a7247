// SPDX-License-Identifier: BSD-3-Clause
/* Our own JSON (print_json.c), alone or in the node line of a run's journal. What is
 * derived (roles, nearness, rails, limits) is derived anew. */
#include "topology/model_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* A whole number from 0 to `max`; -1: null, absent, or another thing. */
static int64_t number(const json_t *o, const char *key, int64_t max)
{
    const json_t *value = json_object_get(o, key);
    int64_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    return n >= 0 && n <= max ? n : -1;
}

static int small(const json_t *o, const char *key)
{
    return (int)number(o, key, 65535);
}

static double positive(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    double n = json_is_number(value) ? json_number_value(value) : 0;
    return n > 0 && n < 1e6 ? n : 0;
}

#define TEXT(field, o, key) fc_topo_text((field), sizeof(field), text((o), (key)))

static int find_package(const struct fc_topo *topo, int os_index)
{
    for (size_t i = 0; os_index >= 0 && i < topo->packages; i++)
        if (topo->package[i].os_index == os_index)
            return (int)i;
    return -1;
}

static int numa_of(const struct fc_topo *topo, const json_t *o)
{
    int os_index = small(o, "numa");
    return os_index < 0 ? -1 : fc_topo_find_numa(topo, os_index);
}

/* `max`: a value of the source may be cut there ("0-3..."), which is no list. */
static enum fc_status read_cpus(const json_t *o, struct fc_cpuset *out,
                                struct fc_error *err)
{
    if (fc_cpuset_list(text(o, "cpus"), out))
        return FC_OK;
    return fc_fail(err, FC_USAGE, "the CPUs \"%.60s\" are no list", text(o, "cpus"));
}

static enum fc_status read_places(struct fc_topo *topo, const json_t *json,
                                  struct fc_error *err)
{
    size_t i;
    json_t *o;
    enum fc_status status = FC_OK;
    json_array_foreach(json_object_get(json, "packages"), i, o)
    {
        struct fc_topo_package *p = fc_topo_add_package(topo);
        if (!p)
            return fc_topo_full(err);
        p->os_index = small(o, "index");
        TEXT(p->model, o, "model");
        status = status == FC_OK ? read_cpus(o, &p->cpus, err) : status;
    }
    json_array_foreach(json_object_get(json, "numa"), i, o)
    {
        struct fc_topo_numa *n = fc_topo_add_numa(topo);
        if (!n)
            return fc_topo_full(err);
        n->os_index = small(o, "index");
        n->package = find_package(topo, small(o, "package"));
        n->bytes = number(o, "bytes", INT64_C(1) << 60);
        n->without_cpus = json_is_true(json_object_get(o, "without_cpus"));
        n->is_gpu_memory = json_is_true(json_object_get(o, "gpu_memory"));
        status = status == FC_OK ? read_cpus(o, &n->cpus, err) : status;
    }
    return status;
}

static struct fc_topo_link read_link(struct fc_topo *topo, const char *bdf,
                                     const json_t *o)
{
    char word[32];
    struct fc_topo_link link = {.width = small(o, "width"),
                                .max_width = small(o, "max_width")};
    link.width = link.width > 0 && link.width <= 32 ? link.width : 0;
    link.max_width = link.max_width > 0 && link.max_width <= 32 ? link.max_width : 0;
    const double speeds[] = {positive(o, "GTps"), positive(o, "max_GTps")};
    for (size_t i = 0; i < 2; i++) {
        int tenths = (int)(speeds[i] * 10 + 0.5);
        snprintf(word, sizeof word, "%d.%d", tenths / 10, tenths % 10);
        *(i == 0 ? &link.GTps : &link.max_GTps) =
            tenths > 0 ? fc_topo_speed(topo, bdf, word) : 0;
    }
    if (link.GTps <= 0 || link.width <= 0)
        link.GBps = positive(o, "GBps");
    return link;
}

static enum fc_status read_functions(struct fc_topo *topo, const json_t *json,
                                     struct fc_error *err)
{
    static const char *const roles[] = {"other", "bridge",   "gpu",
                                        "nic",   "nvswitch", "storage"};
    const json_t *list = json_object_get(json, "pci");
    size_t i;
    json_t *o;
    char bdf[24];
    json_array_foreach(list, i, o)
    {
        struct fc_topo_pci *p = fc_topo_add_pci(topo);
        if (!p)
            return fc_topo_full(err);
        if (!fc_topo_bdf(text(o, "bdf"), p->bdf, sizeof p->bdf))
            return fc_fail(err, FC_USAGE, "a function with the bdf \"%.40s\"",
                           text(o, "bdf"));
        unsigned vendor, device;
        char *end;
        long class = strtol(text(o, "class"), &end, 16);
        p->class_code = *text(o, "class") && !*end && class >= 0 ? class & 0xffff : -1;
        if (sscanf(text(o, "id"), "%4x:%4x", &vendor, &device) == 2)
            p->vendor = vendor, p->device = device;
        for (size_t r = 0; r < sizeof roles / sizeof *roles; r++)
            if (strcmp(text(o, "role"), roles[r]) == 0)
                p->role = (enum fc_pci_role)r;
        p->host = (int)number(o, "host", 255);
        topo->hosts = p->host >= topo->hosts ? p->host + 1 : topo->hosts;
        p->numa = numa_of(topo, o);
        p->package = p->numa >= 0 ? topo->numa[p->numa].package : -1;
        p->vf = json_is_true(json_object_get(o, "virtual_function"));
        TEXT(p->name, o, "name");
        TEXT(p->driver, o, "driver");
        memcpy(bdf, p->bdf, sizeof bdf);
        struct fc_topo_link link = read_link(topo, bdf, json_object_get(o, "link"));
        topo->pci[topo->pcis - 1].link = link;
    }
    json_array_foreach(list, i, o) if (fc_topo_bdf(text(o, "parent"), bdf, sizeof bdf))
        topo->pci[i]
            .parent = fc_topo_find_pci(topo, bdf);
    return FC_OK;
}

static enum fc_status read_gpus(struct fc_topo *topo, const json_t *json,
                                struct fc_error *err)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(json, "gpus"), i, o)
    {
        char bdf[24];
        int pci = fc_topo_bdf(text(o, "bdf"), bdf, sizeof bdf)
                      ? fc_topo_find_pci(topo, bdf)
                      : -1;
        if (pci < 0)
            return fc_fail(err, FC_USAGE, "GPU %zu is not among the PCI functions", i);
        struct fc_topo_gpu *gpu = fc_topo_add_gpu(topo);
        if (!gpu)
            return fc_topo_full(err);
        gpu->pci = pci;
        TEXT(gpu->name, o, "name");
        TEXT(gpu->vendor, o, "vendor");
        TEXT(gpu->uuid, o, "uuid");
        TEXT(gpu->serial, o, "serial");
        TEXT(gpu->arch, o, "arch");
        TEXT(topo->pci[pci].iommu, o, "iommu");
        gpu->memory_bytes = number(o, "memory_bytes", INT64_C(1) << 50);
        const json_t *gdr = json_object_get(o, "gdr");
        gpu->gdr = json_is_boolean(gdr) ? json_is_true(gdr) : -1;
    }
    json_array_foreach(json_object_get(json, "peers"), i, o)
    {
        struct fc_topo_peer p = {.gpu = small(o, "gpu"),
                                 .peer = small(o, "peer"),
                                 .xgmi = strcmp(text(o, "kind"), "xgmi") == 0,
                                 .GBps = positive(o, "GBps")};
        int links = small(o, "links");
        p.links = links > 0 && links <= 64 ? links : 0;
        p.kind = strcmp(text(o, "to"), "gpu") == 0      ? FC_PEER_GPU
                 : strcmp(text(o, "to"), "switch") == 0 ? FC_PEER_SWITCH
                                                        : FC_PEER_CPU;
        int gpus = (int)topo->gpus;
        if (p.gpu < 0 || p.gpu >= gpus ||
            (p.kind == FC_PEER_GPU && (p.peer < 0 || p.peer >= gpus)))
            return fc_fail(err, FC_USAGE, "link %zu leads to a GPU that is not there",
                           i);
        p.peer = p.kind == FC_PEER_GPU ? p.peer : -1;
        struct fc_topo_peer *peer = fc_topo_add_peer(topo);
        if (!peer)
            return fc_topo_full(err);
        *peer = p;
    }
    return FC_OK;
}

static enum fc_status read_ports(struct fc_topo_nic *nic, const json_t *list,
                                 struct fc_error *err)
{
    size_t i, j;
    json_t *o, *g;
    json_array_foreach(list, i, o)
    {
        struct fc_topo_port *p = fc_topo_add_port(nic);
        if (!p)
            return fc_topo_full(err);
        p->number = small(o, "number") < 0 ? 0 : small(o, "number");
        p->lid = small(o, "lid");
        p->Gbps = positive(o, "Gbps");
        TEXT(p->name, o, "name");
        TEXT(p->state, o, "state");
        TEXT(p->phys_state, o, "phys_state");
        TEXT(p->layer, o, "link_layer");
        TEXT(p->rate, o, "rate");
        TEXT(p->guid, o, "guid");
        TEXT(p->pkeys, o, "pkeys");
        json_array_foreach(json_object_get(o, "gids"), j, g)
        {
            struct fc_topo_gid *gid = fc_topo_add_gid(p);
            if (!gid)
                return fc_topo_full(err);
            gid->index = small(g, "index");
            TEXT(gid->gid, g, "gid");
            TEXT(gid->type, g, "type");
            TEXT(gid->net, g, "net");
        }
    }
    return FC_OK;
}

static enum fc_status read_nics(struct fc_topo *topo, const json_t *json,
                                struct fc_error *err)
{
    size_t i, j;
    json_t *o, *net;
    enum fc_status status = FC_OK;
    json_array_foreach(json_object_get(json, "nics"), i, o)
    {
        char bdf[24];
        struct fc_topo_nic *nic = fc_topo_add_nic(topo);
        if (!nic)
            return fc_topo_full(err);
        nic->pci = fc_topo_bdf(text(o, "bdf"), bdf, sizeof bdf)
                       ? fc_topo_find_pci(topo, bdf)
                       : -1;
        nic->numa = nic->pci < 0 ? numa_of(topo, o) : -1;
        TEXT(nic->name, o, "name");
        TEXT(nic->rdma, o, "rdma");
        TEXT(nic->type, o, "type");
        TEXT(nic->board, o, "board");
        TEXT(nic->firmware, o, "firmware");
        TEXT(nic->node_guid, o, "node_guid");
        TEXT(nic->net_state, o, "net_state");
        nic->mtu = (int)number(o, "mtu", 1 << 24);
        nic->Gbps = positive(o, "Gbps");
        json_array_foreach(json_object_get(o, "nets"), j, net)
            fc_topo_add_net(nic, json_string_value(net));
        if (nic->pci >= 0 && (nic->nets > 0 || nic->rdma[0]))
            topo->pci[nic->pci].has_interface = true;
        const json_t *uverbs = json_object_get(o, "uverbs");
        nic->uverbs_known = json_is_boolean(uverbs);
        nic->has_uverbs = json_is_true(uverbs);
        status = read_ports(nic, json_object_get(o, "ports"), err);
        if (status != FC_OK)
            return status;
    }
    return FC_OK;
}

struct fc_topo_mig fc_topo_mig_of(const json_t *json)
{
    int64_t gpus = number(json, "gpus", FC_TOPO_MAX_GPUS),
            slices = number(json, "slices", 65535), open = number(json, "open", 65535);
    return (struct fc_topo_mig){.gpus = gpus > 0 ? (int)gpus : 0,
                                .slices = slices > 0 ? (int)slices : 0,
                                .open = open > 0 ? (int)open : 0};
}

enum fc_status fc_topo_read_own(struct fc_topo *topo, const json_t *json,
                                struct fc_error *err)
{
    const json_t *counts = json_object_get(json, "counts");
    size_t i;
    json_t *note;
    if (!json_is_object(counts))
        return fc_fail(err, FC_USAGE, "a picture without counts");
    enum fc_status status = read_places(topo, json, err);
    if (status == FC_OK)
        status = read_functions(topo, json, err);
    if (status == FC_OK)
        status = read_gpus(topo, json, err);
    if (status == FC_OK)
        status = read_nics(topo, json, err);
    TEXT(topo->hypervisor, json, "hypervisor");
    TEXT(topo->container, json, "container");
    TEXT(topo->gpus_by, json, "gpus_by");
    topo->gpu_files = small(json, "gpu_files");
    topo->mig = fc_topo_mig_of(json_object_get(json, "mig"));
    topo->links_known = json_is_true(json_object_get(json, "links_known"));
    TEXT(topo->host_name, json, "host");
    TEXT(topo->machine, json, "machine");
    topo->packages_n = small(counts, "packages");
    topo->numa_n = small(counts, "numa_nodes");
    topo->cores = small(counts, "cores");
    topo->pus = small(counts, "pus");
    topo->gpus_known = small(counts, "gpus") >= 0;
    topo->nics_known = small(counts, "nics") >= 0;
    topo->ports_told = json_is_true(json_object_get(json, "ports_told"));
    json_array_foreach(json_object_get(json, "unknown"), i, note) fc_topo_unknown(
        topo, "%s", json_string_value(note) ? json_string_value(note) : "?");
    json_array_foreach(json_object_get(json, "odd"), i, note) fc_topo_odd(
        topo, "%s", json_string_value(note) ? json_string_value(note) : "?");
    return status;
}
