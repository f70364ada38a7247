// SPDX-License-Identifier: BSD-3-Clause
/* The picture as JSON: unknown numbers are null, unknown texts are left out. */
#include "topology/limits.h"
#include "topology/print.h"
#include "topology/tier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_text(json_t *object, const char *key, const char *text)
{
    if (*text)
        json_object_set_new(object, key, json_string(text));
}

static json_t *known(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

/* Two decimals: a limit is no measurement. */
static json_t *rate(double value)
{
    return value > 0 ? json_real(round(value * 100) / 100) : json_null();
}

static json_t *numa_of(const struct fc_topo *topo, int numa)
{
    return numa >= 0 ? json_integer(topo->numa[numa].os_index) : json_null();
}

static json_t *link_json(const struct fc_topo_link *link)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "GTps", rate(link->GTps), "width",
                     known(link->width > 0 ? link->width : -1), "max_GTps",
                     rate(link->max_GTps), "max_width",
                     known(link->max_width > 0 ? link->max_width : -1), "GBps",
                     rate(fc_limit_lanes(link)));
}

static json_t *limit_json(const struct fc_limit *limit)
{
    return json_pack("{s:o, s:s}", "GBps", rate(limit->GBps), "basis", limit->basis);
}

static json_t *gpu_json(const struct fc_topo *topo, size_t g)
{
    const struct fc_topo_gpu *gpu = &topo->gpu[g];
    const struct fc_topo_pci *pci = &topo->pci[gpu->pci];
    struct fc_limit host = fc_limit_pcie(&pci->link, 0);
    json_t *json =
        json_pack("{s:i, s:s, s:o, s:o}", "index", (int)g, "bdf", pci->bdf, "numa",
                  numa_of(topo, pci->numa), "memory_bytes", known(gpu->memory_bytes));
    json_t *nics = json_array(), *paths = json_array();
    put_text(json, "name", gpu->name);
    put_text(json, "vendor", gpu->vendor);
    put_text(json, "uuid", gpu->uuid);
    put_text(json, "serial", gpu->serial);
    put_text(json, "arch", gpu->arch);
    put_text(json, "driver", pci->driver);
    put_text(json, "iommu", pci->iommu);
    if (gpu->memory_numa >= 0)
        json_object_set_new(json, "memory_numa", numa_of(topo, gpu->memory_numa));
    if (gpu->gdr >= 0)
        json_object_set_new(json, "gdr", json_boolean(gpu->gdr));
    for (size_t i = 0; i < gpu->nics; i++) {
        struct fc_limit path = fc_limit_path(topo, g, topo->gpus + (size_t)gpu->nic[i]);
        json_array_append_new(nics, json_string(topo->nic[gpu->nic[i]].name));
        json_array_append_new(paths, limit_json(&path));
    }
    json_object_set_new(json, "link", link_json(&pci->link));
    json_object_set_new(json, "host_limit", limit_json(&host));
    json_object_set_new(json, "nics", nics);
    json_object_set_new(json, "nic_limits", paths);
    json_object_set_new(json, "nic_near",
                        gpu->nics ? json_string(fc_topo_near_name(gpu->nic_near))
                                  : json_null());
    return json;
}

static json_t *port_json(const struct fc_topo_port *port)
{
    json_t *json = json_pack("{s:i, s:o, s:o}", "number", port->number, "Gbps",
                             rate(port->Gbps), "lid", known(port->lid));
    json_t *gids = json_array();
    put_text(json, "name", port->name);
    put_text(json, "state", port->state);
    put_text(json, "phys_state", port->phys_state);
    put_text(json, "link_layer", port->layer);
    put_text(json, "rate", port->rate);
    put_text(json, "guid", port->guid);
    put_text(json, "pkeys", port->pkeys);
    for (size_t i = 0; i < port->gids; i++) {
        json_t *gid = json_pack("{s:i, s:s}", "index", port->gid[i].index, "gid",
                                port->gid[i].gid);
        put_text(gid, "type", port->gid[i].type);
        put_text(gid, "net", port->gid[i].net);
        json_array_append_new(gids, gid);
    }
    json_object_set_new(json, "gids", gids);
    return json;
}

static json_t *nic_json(const struct fc_topo *topo, size_t n)
{
    static const char *const roles[] = {"fabric", "other", "virtual"};
    const struct fc_topo_nic *nic = &topo->nic[n];
    struct fc_limit limit = fc_limit_nic(nic);
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:o, s:o}", "index", (int)n, "name", nic->name,
                  "role", roles[nic->role], "rail", known(nic->rail), "numa",
                  numa_of(topo, nic->pci >= 0 ? topo->pci[nic->pci].numa : nic->numa));
    json_t *nets = json_array(), *ports = json_array();
    put_text(json, "rdma", nic->rdma);
    put_text(json, "type", nic->type);
    put_text(json, "board", nic->board);
    put_text(json, "firmware", nic->firmware);
    put_text(json, "node_guid", nic->node_guid);
    put_text(json, "net_state", nic->net_state);
    for (size_t i = 0; i < nic->nets; i++)
        json_array_append_new(nets, json_string(nic->net[i]));
    for (size_t i = 0; i < nic->ports; i++)
        json_array_append_new(ports, port_json(&nic->port[i]));
    json_object_set_new(json, "nets", nets);
    json_object_set_new(json, "mtu", known(nic->mtu));
    json_object_set_new(json, "Gbps", rate(nic->Gbps));
    json_object_set_new(json, "limit", limit_json(&limit));
    json_object_set_new(json, "ports", ports);
    if (nic->uverbs_known && nic->rdma[0])
        json_object_set_new(json, "uverbs", json_boolean(nic->has_uverbs));
    if (nic->pci < 0)
        return json;
    put_text(json, "bdf", topo->pci[nic->pci].bdf);
    put_text(json, "driver", topo->pci[nic->pci].driver);
    json_object_set_new(json, "link", link_json(&topo->pci[nic->pci].link));
    return json;
}

static json_t *pci_json(const struct fc_topo *topo, size_t i)
{
    static const char *const roles[] = {"other", "bridge",   "gpu",
                                        "nic",   "nvswitch", "storage"};
    const struct fc_topo_pci *p = &topo->pci[i];
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o}", "bdf", p->bdf, "role",
                             roles[p->role], "numa", numa_of(topo, p->numa), "host",
                             known(p->host), "link", link_json(&p->link));
    if (p->parent >= 0)
        put_text(json, "parent", topo->pci[p->parent].bdf);
    put_text(json, "name", p->name);
    put_text(json, "driver", p->driver);
    if (p->class_code >= 0)
        json_object_set_new(json, "class",
                            json_sprintf("%04x", (unsigned)p->class_code));
    if (p->vendor >= 0)
        json_object_set_new(json, "id",
                            json_sprintf("%04x:%04x", (unsigned)p->vendor,
                                         (unsigned)p->device & 0xffff));
    if (p->vf)
        json_object_set_new(json, "virtual_function", json_true());
    return json;
}

static json_t *numa_json(const struct fc_topo *topo, size_t i)
{
    const struct fc_topo_numa *n = &topo->numa[i];
    char cpus[1024];
    fc_cpuset_print(&n->cpus, cpus, sizeof cpus);
    return json_pack("{s:i, s:o, s:s, s:o, s:b, s:b}", "index", n->os_index, "package",
                     n->package >= 0 ? json_integer(topo->package[n->package].os_index)
                                     : json_null(),
                     "cpus", cpus, "bytes", known(n->bytes), "without_cpus",
                     n->without_cpus, "gpu_memory", n->is_gpu_memory);
}

static json_t *peers_json(const struct fc_topo *topo)
{
    static const char *const kinds[] = {"gpu", "switch", "cpu"};
    json_t *list = json_array();
    for (size_t i = 0; i < topo->peers; i++) {
        const struct fc_topo_peer *p = &topo->peer[i];
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:o, s:s, s:o, s:o}", "gpu", p->gpu,
                                        "to", kinds[p->kind], "peer", known(p->peer),
                                        "kind", p->xgmi ? "xgmi" : "nvlink", "links",
                                        known(p->links > 0 ? p->links : -1), "GBps",
                                        rate(p->GBps)));
    }
    return list;
}

static json_t *matrix_json(const struct fc_topo *topo)
{
    size_t *ends, n;
    if (!fc_topo_matrix_ends(topo, true, &ends, &n))
        return NULL;
    json_t *names = json_array(), *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        bool gpu = ends[i] < topo->gpus;
        json_array_append_new(names,
                              gpu ? json_sprintf("GPU%zu", ends[i])
                                  : json_string(topo->nic[ends[i] - topo->gpus].name));
        json_t *row = json_array();
        for (size_t j = 0; j < n; j++) {
            char word[16];
            fc_topo_word(topo, ends[i], ends[j], word, sizeof word);
            json_array_append_new(row, json_string(word));
        }
        json_array_append_new(rows, row);
    }
    free(ends);
    return json_pack("{s:o, s:o}", "names", names, "rows", rows);
}

static json_t *notes_json(const struct fc_topo *topo, bool odd)
{
    json_t *list = json_array();
    for (size_t i = 0; i < topo->notes; i++)
        if (topo->note[i].odd == odd)
            json_array_append_new(list, json_string(topo->note[i].text));
    return list;
}

#define LIST(name, count, make)                                                        \
    json_t *name = json_array();                                                       \
    for (size_t i = 0; i < (count); i++)                                               \
    json_array_append_new(name, make(topo, i))

static json_t *package_json(const struct fc_topo *topo, size_t i)
{
    char cpus[1024];
    fc_cpuset_print(&topo->package[i].cpus, cpus, sizeof cpus);
    return json_pack("{s:i, s:s, s:s}", "index", topo->package[i].os_index, "model",
                     topo->package[i].model, "cpus", cpus);
}

static json_t *rail_json(const struct fc_topo *topo, size_t rail)
{
    for (size_t i = 0; i < topo->nics; i++)
        if (topo->nic[i].rail == (int)rail)
            return json_string(topo->nic[i].name);
    return json_null();
}

static json_t *tier_json(const struct fc_topo *topo)
{
    struct fc_tier tier = fc_tier_of(topo);
    json_t *suits = json_array();
    for (size_t i = 0; i < FC_TIER_WORKLOADS; i++)
        json_array_append_new(suits, json_pack("{s:s, s:s, s:s}", "workload",
                                               tier.workload[i].name, "suits",
                                               fc_suits_name(tier.workload[i].suits),
                                               "reason", tier.workload[i].reason));
    return json_pack("{s:s, s:s, s:s, s:o}", "isolation", tier.isolation, "inside",
                     tier.inside, "outside", tier.outside, "suits", suits);
}

json_t *fc_topo_json(const struct fc_topo *topo)
{
    LIST(gpus, topo->gpus, gpu_json);
    LIST(nics, topo->nics, nic_json);
    LIST(rails, (size_t)topo->rails, rail_json);
    LIST(packages, topo->packages, package_json);
    LIST(numas, topo->numas, numa_json);
    LIST(pcis, topo->pcis, pci_json);
    json_t *counts =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "packages", known(topo->packages_n),
                  "numa_nodes", known(topo->numa_n), "cores", known(topo->cores), "pus",
                  known(topo->pus), "gpus", known(fc_topo_gpu_count(topo)), "nics",
                  known(fc_topo_nic_count(topo)));
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                             "schema", "fabricheck-topo/1", "source", topo->source,
                             "counts", counts, "gpus", gpus, "nics", nics, "rails",
                             rails, "matrix", matrix_json(topo), "packages", packages,
                             "numa", numas, "peers", peers_json(topo), "pci", pcis);
    if (!json)
        return NULL;
    json_object_set_new(json, "kind", json_string(fc_topo_kind_name(topo->kind)));
    json_object_set_new(json, "ports_told", json_boolean(topo->ports_told));
    json_object_set_new(json, "links_known", json_boolean(topo->links_known));
    json_object_set_new(json, "tier", tier_json(topo));
    put_text(json, "hypervisor", topo->hypervisor);
    put_text(json, "container", topo->container);
    put_text(json, "gpus_by", topo->gpus_by);
    json_object_set_new(json, "gpu_files", known(topo->gpu_files));
    json_object_set_new(json, "mig",
                        json_pack("{s:i, s:i, s:i}", "gpus", topo->mig.gpus, "slices",
                                  topo->mig.slices, "open", topo->mig.open));
    put_text(json, "host", topo->host_name);
    put_text(json, "machine", topo->machine);
    json_object_set_new(json, "unknown", notes_json(topo, false));
    json_object_set_new(json, "odd", notes_json(topo, true));
    return json;
}

enum fc_status fc_topo_print_json(const struct fc_topo *topo, FILE *out,
                                  struct fc_error *err)
{
    json_t *json = fc_topo_json(topo);
    if (!json)
        return fc_fail(err, FC_NOMEM, "json: out of memory");
    json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    putc('\n', out);
    json_decref(json);
    return FC_OK;
}
