// SPDX-License-Identifier: BSD-3-Clause
/* The node's picture (model.h) as facts: what the judge compares between siblings of
 * one node and between nodes, and the whole picture as JSON, which the journal keeps
 * once a class. */
#include "topology/facts_parts.h"
#include "topology/limits.h"
#include "topology/model.h"
#include "topology/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static json_t *known(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *text(const char *words)
{
    return *words ? json_string(words) : json_null();
}

/* The bridges above a function, nearest first: where ACS would redirect. */
static json_t *above_json(const struct fc_topo *topo, int pci)
{
    json_t *list = json_array();
    for (int up = topo->pci[pci].parent; up >= 0; up = topo->pci[up].parent)
        json_array_append_new(list, json_string(topo->pci[up].bdf));
    return list;
}

/* A GPU's or NIC's function and its link, now and at most; the slot is what the port
 * above it can do. */
static json_t *function_json(const struct fc_topo *topo, const char *what,
                             const char *name, int pci)
{
    const struct fc_topo_pci *p = &topo->pci[pci];
    const struct fc_topo_link none = {0};
    const struct fc_topo_link *slot =
        p->parent >= 0 ? &topo->pci[p->parent].link : &none;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "what", what, "name", name, "bdf", p->bdf, "id",
                     p->vendor >= 0 ? json_sprintf("%04x:%04x", (unsigned)p->vendor,
                                                   (unsigned)p->device & 0xffff)
                                    : json_null(),
                     "GTps", known(p->link.GTps), "max_GTps", known(p->link.max_GTps),
                     "width", known(p->link.width), "max_width",
                     known(p->link.max_width), "slot_GTps", known(slot->max_GTps),
                     "slot_width", known(slot->max_width), "iommu", text(p->iommu),
                     "above", above_json(topo, pci));
}

/* The NICs nearest to a GPU; none where they are not nearer than any other. */
static json_t *nics_json(const struct fc_topo *topo, const struct fc_topo_gpu *gpu)
{
    json_t *list = json_array();
    for (size_t i = 0; i < gpu->nics && gpu->nic_near < FC_NEAR_SYS; i++)
        json_array_append_new(list, json_string(topo->nic[gpu->nic[i]].name));
    return list;
}

static json_t *functions_json(const struct fc_topo *topo)
{
    json_t *list = json_array();
    char name[32];
    for (size_t i = 0; i < topo->gpus; i++) {
        snprintf(name, sizeof name, "GPU%zu", i);
        json_t *gpu = function_json(topo, "gpu", name, topo->gpu[i].pci);
        json_object_set_new(gpu, "nics", nics_json(topo, &topo->gpu[i]));
        json_array_append_new(list, gpu);
    }
    for (size_t i = 0; i < topo->nics; i++)
        if (topo->nic[i].role == FC_NIC_FABRIC && topo->nic[i].pci >= 0)
            json_array_append_new(
                list, function_json(topo, "nic", topo->nic[i].name, topo->nic[i].pci));
    return list;
}

/* The index of the first GID that can be routed: RoCE v2 with an IPv4 address in it,
 * and its number; null: there is none. */
static json_t *routable_gid(const struct fc_topo_port *port)
{
    static const char mapped[] = "0000:0000:0000:0000:0000:ffff:";
    for (size_t i = 0; i < port->gids; i++)
        if (strstr(port->gid[i].type, "RoCE v2") &&
            strncmp(port->gid[i].gid, mapped, sizeof mapped - 1) == 0)
            return json_integer(port->gid[i].index);
    return json_null();
}

static json_t *port_json(const struct fc_topo_nic *nic, const struct fc_topo_port *p)
{
    json_t *o = json_pack("{s:s, s:i, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "nic",
                          nic->name, "port", p->number, "fabric",
                          nic->role == FC_NIC_FABRIC, "state", text(p->state), "layer",
                          text(p->layer), "Gbps", known(p->Gbps), "rate", text(p->rate),
                          "board", text(nic->board), "firmware", text(nic->firmware));
    json_object_set_new(o, "phys_state", text(p->phys_state));
    json_object_set_new(o, "pkeys", text(p->pkeys));
    json_object_set_new(o, "mtu", nic->mtu > 0 ? json_integer(nic->mtu) : json_null());
    json_object_set_new(o, "net_state", text(nic->net_state));
    if (p->gids > 0 && strcmp(p->layer, "Ethernet") == 0)
        json_object_set_new(o, "gid", routable_gid(p));
    return o;
}

static json_t *ports_json(const struct fc_topo *topo)
{
    json_t *list = json_array();
    for (size_t i = 0; i < topo->nics; i++)
        for (size_t j = 0; j < topo->nic[i].ports; j++)
            json_array_append_new(list,
                                  port_json(&topo->nic[i], &topo->nic[i].port[j]));
    return list;
}

/* How near the nearest NIC of the fabric is to each GPU. */
static json_t *near_json(const struct fc_topo *topo)
{
    json_t *list = json_array();
    for (size_t i = 0; i < topo->gpus; i++)
        json_array_append_new(list, topo->gpu[i].nics ? json_string(fc_topo_near_name(
                                                            topo->gpu[i].nic_near))
                                                      : json_null());
    return list;
}

/* The CPUs of the package that a function hangs on, or where that is not known those of
 * its NUMA node; NULL: neither is. */
static const struct fc_cpuset *cpus_of(const struct fc_topo *topo, int pci)
{
    const struct fc_topo_pci *p = &topo->pci[pci];
    if (p->package >= 0)
        return &topo->package[p->package].cpus;
    return p->numa >= 0 ? &topo->numa[p->numa].cpus : NULL;
}

static void add_local(const struct fc_topo *topo, json_t *list, const char *what,
                      const char *name, int pci)
{
    char text[512];
    const struct fc_cpuset *cpus = pci >= 0 ? cpus_of(topo, pci) : NULL;
    if (!cpus || fc_cpuset_count(cpus) == 0)
        return;
    fc_cpuset_print(cpus, text, sizeof text);
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:s}", "what", what, "name", name, "cpus", text));
}

/* Nothing to say of a node with one package. */
static json_t *local_json(const struct fc_topo *topo)
{
    json_t *list = json_array();
    char name[32];
    for (size_t i = 0; topo->packages > 1 && i < topo->gpus; i++) {
        snprintf(name, sizeof name, "GPU%zu", i);
        add_local(topo, list, "gpu", name, topo->gpu[i].pci);
    }
    for (size_t i = 0; topo->packages > 1 && i < topo->nics; i++)
        if (topo->nic[i].role == FC_NIC_FABRIC)
            add_local(topo, list, "nic", topo->nic[i].name, topo->nic[i].pci);
    return list;
}

static json_t *odd_json(const struct fc_topo *topo)
{
    json_t *list = json_array();
    for (size_t i = 0; i < topo->notes; i++)
        if (topo->note[i].odd)
            json_array_append_new(list, json_string(topo->note[i].text));
    return list;
}

static void set_rails(const struct fc_topo *topo, struct fc_facts *out)
{
    char joined[4096] = "";
    size_t used = 0;
    for (int rail = 0; rail < topo->rails; rail++)
        for (size_t i = 0; i < topo->nics && used < sizeof joined; i++)
            if (topo->nic[i].rail == rail)
                used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s",
                                         used ? " " : "", topo->nic[i].name);
    fc_facts_text(out, "topo.rails", joined);
}

/* What a node can be, not how it is today: products, most of the links, who is near
 * whom. Names, addresses and states are left out, so that a sick node stays in its
 * class and is compared with its equals. */
static void set_class(const struct fc_topo *topo, struct fc_facts *out)
{
    json_t *parts = json_array();
    char word[16], hex[32];
    for (size_t i = 0; i < topo->gpus; i++) {
        const struct fc_topo_pci *p = &topo->pci[topo->gpu[i].pci];
        json_array_append_new(parts, json_sprintf("%s %g x%d", topo->gpu[i].name,
                                                  p->link.max_GTps, p->link.max_width));
    }
    size_t fabric = 0;
    while (fabric < topo->nics && topo->nic[fabric].role == FC_NIC_FABRIC)
        fabric++;
    for (size_t a = 0; a < topo->gpus + fabric; a++)
        for (size_t b = 0; b < a; b++) {
            fc_topo_word(topo, a, b, word, sizeof word);
            json_array_append_new(parts, json_string(word));
        }
    char *line = json_dumps(parts, JSON_COMPACT);
    json_decref(parts);
    if (!line) {
        out->short_of_memory = true;
        return;
    }
    snprintf(hex, sizeof hex, "%016" PRIx64, (uint64_t)XXH64(line, strlen(line), 0));
    free(line);
    fc_facts_text(out, "topo.class", hex);
}

/* A worker's line ends at 1 MiB, and the other facts need some of it. */
static void set_picture(const struct fc_topo *topo, struct fc_facts *out)
{
    const size_t most = (size_t)256 << 10;
    struct fc_gap gap;
    json_t *picture = fc_topo_json(topo);
    if (picture && json_dumpb(picture, NULL, 0, JSON_COMPACT) > most) {
        json_decref(picture);
        fc_gap_set(&gap, "unsupported",
                   "no right helps: %zu PCI functions are too many "
                   "for the journal",
                   topo->pcis);
        fc_facts_gap(out, "topo.picture", &gap);
        return;
    }
    fc_facts_set(out, "topo.picture", picture);
}

void fc_facts_of_picture(const struct fc_topo *topo, struct fc_facts *out)
{
    struct fc_gap gap;
    fc_gap_set(&gap, "unsupported", "no right helps: the PCI functions have no class");
    if (topo->gpus_known)
        fc_facts_int(out, "topo.gpus", fc_topo_gpu_count(topo));
    else
        fc_facts_gap(out, "topo.gpus", &gap);
    int64_t fabric = 0;
    for (size_t i = 0; i < topo->nics; i++)
        fabric += topo->nic[i].role == FC_NIC_FABRIC;
    if (topo->nics_known)
        fc_facts_int(out, "topo.nics", fabric);
    else
        fc_facts_gap(out, "topo.nics", &gap);
    set_rails(topo, out);
    set_class(topo, out);
    fc_facts_set(out, "topo.functions", functions_json(topo));
    fc_facts_set(out, "topo.ports", ports_json(topo));
    fc_facts_set(out, "topo.near", near_json(topo));
    fc_facts_set(out, "topo.local_cpus", local_json(topo));
    fc_facts_set(out, "topo.odd", odd_json(topo));
    set_picture(topo, out);
}

void fc_facts_picture(const struct fc_source *source, struct fc_facts *out)
{
    static const char *const keys[] = {
        "topo.gpus",  "topo.nics", "topo.rails", "topo.class",      "topo.functions",
        "topo.ports", "topo.near", "topo.odd",   "topo.local_cpus", "topo.picture",
    };
    struct fc_topo *topo = NULL;
    struct fc_error err = {""};
    struct fc_gap gap;
    const struct fc_topo_source from = {.sysroot =
                                            source->root[0] ? source->root : NULL,
                                        .note = source->note,
                                        .arg = source->arg};
    if (source->note)
        source->note(source->arg, "the node's picture");
    if (fc_topo_open(&from, &topo, &err) == FC_OK) {
        fc_facts_of_picture(topo, out);
    } else {
        fc_gap_set(&gap, "error", "no right helps: %.230s", err.text);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            fc_facts_gap(out, keys[i], &gap);
    }
    fc_topo_close(topo);
}
