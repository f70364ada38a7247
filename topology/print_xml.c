// SPDX-License-Identifier: BSD-3-Clause
/* hwloc's XML, format 2. A source that is hwloc's own is passed on; others are written
 * from the model: Machine, Package, a Group for each NUMA node, PUs, bridges,
 * functions, OS devices. hwloc itself reads it (tests/unit/topo_print.c). */
#include "topology/print.h"

#include <stdlib.h>
#include <string.h>

struct page {
    const struct fc_topo *topo;
    FILE *out;
    unsigned next; /* gp_index */
};

static void open_object(struct page *page, const char *type)
{
    fprintf(page->out, "<object type=\"%s\" gp_index=\"%u\"", type, page->next++);
}

static void put_attr(const struct page *page, const char *name, const char *value)
{
    fprintf(page->out, " %s=\"", name);
    fc_topo_put_xml(page->out, value);
    putc('"', page->out);
}

static void put_sets(const struct page *page, const struct fc_cpuset *cpus,
                     const struct fc_cpuset *nodes)
{
    char text[FC_CPUSET_MAX / 32 * 11 + 1];
    fc_cpuset_print_mask(cpus, text, sizeof text);
    fprintf(page->out, " cpuset=\"%s\" complete_cpuset=\"%s\"", text, text);
    fc_cpuset_print_mask(nodes, text, sizeof text);
    fprintf(page->out, " nodeset=\"%s\" complete_nodeset=\"%s\"", text, text);
}

static void put_info(const struct page *page, const char *name, const char *value)
{
    if (!*value)
        return;
    fprintf(page->out, "<info");
    put_attr(page, "name", name);
    put_attr(page, "value", value);
    fprintf(page->out, "/>\n");
}

static void put_os_device(struct page *page, const char *name, int kind)
{
    open_object(page, "OSDev");
    put_attr(page, "name", name);
    fprintf(page->out, " osdev_type=\"%d\"/>\n", kind);
}

static unsigned bus_of(const char *bdf)
{
    const char *colon = strrchr(bdf, ':');
    return colon ? (unsigned)strtoul(colon - 2, NULL, 16) : 0;
}

static unsigned domain_of(const char *bdf)
{
    return (unsigned)strtoul(bdf, NULL, 16) & 0xffff;
}

/* The buses below function `pci`; with -1 those of host bridge `host`. */
static void bus_range(const struct fc_topo *topo, int pci, int host, unsigned *first,
                      unsigned *last)
{
    bool any = false;
    for (size_t i = 0; i < topo->pcis; i++) {
        int up = topo->pci[i].parent;
        while (pci >= 0 && up >= 0 && up != pci)
            up = topo->pci[up].parent;
        if (pci >= 0 ? up != pci : topo->pci[i].host != host)
            continue;
        unsigned bus = bus_of(topo->pci[i].bdf);
        *first = any && *first < bus ? *first : bus;
        *last = any && *last > bus ? *last : bus;
        any = true;
    }
}

static void put_devices(struct page *page, int pci)
{
    const struct fc_topo *topo = page->topo;
    for (size_t i = 0; i < topo->gpus; i++)
        if (topo->gpu[i].pci == pci) {
            char name[32];
            snprintf(name, sizeof name, "gpu%zu", i);
            open_object(page, "OSDev");
            put_attr(page, "name", name);
            fprintf(page->out, " osdev_type=\"1\">\n");
            put_info(page, "GPUModel", topo->gpu[i].name);
            put_info(page, "GPUVendor", topo->gpu[i].vendor);
            fprintf(page->out, "</object>\n");
        }
    for (size_t i = 0; i < topo->nics; i++) {
        const struct fc_topo_nic *nic = &topo->nic[i];
        for (size_t j = 0; nic->pci == pci && j < nic->nets; j++)
            put_os_device(page, nic->net[j], 2);
        if (nic->pci == pci && nic->rdma[0])
            put_os_device(page, nic->rdma, 3);
    }
}

static void put_function(struct page *page, int pci)
{
    const struct fc_topo *topo = page->topo;
    const struct fc_topo_pci *p = &topo->pci[pci];
    bool parent = false;
    unsigned first = 0, last = 0;
    for (size_t i = 0; i < topo->pcis; i++)
        parent |= topo->pci[i].parent == pci;
    open_object(page, parent ? "Bridge" : "PCIDev");
    if (parent) {
        bus_range(topo, pci, -1, &first, &last);
        fprintf(page->out,
                " bridge_type=\"1-1\" depth=\"0\" bridge_pci=\"%04x:[%02x-%02x]\"",
                domain_of(p->bdf), first, last);
    }
    fprintf(page->out,
            " pci_busid=\"%04x:%s\" pci_type=\"%04x [%04x:%04x] [0000:0000] 00\" "
            "pci_link_speed=\"%d.%06d\">\n",
            domain_of(p->bdf), strchr(p->bdf, ':') + 1,
            p->class_code < 0 ? 0u : (unsigned)p->class_code & 0xffff,
            p->vendor < 0 ? 0u : (unsigned)p->vendor & 0xffff,
            p->device < 0 ? 0u : (unsigned)p->device & 0xffff, (int)p->link.GBps,
            (int)((p->link.GBps - (int)p->link.GBps) * 1e6));
    put_info(page, "PCIDevice", p->name);
    put_devices(page, pci);
    for (size_t i = 0; i < topo->pcis; i++)
        if (topo->pci[i].parent == pci)
            put_function(page, (int)i);
    fprintf(page->out, "</object>\n");
}

/* The host bridges of one NUMA node (-1: near none), each with what is on its bus. */
static void put_hosts(struct page *page, int numa)
{
    const struct fc_topo *topo = page->topo;
    for (int host = -1; host < topo->hosts; host++) {
        bool opened = false;
        for (size_t i = 0; i < topo->pcis; i++) {
            const struct fc_topo_pci *p = &topo->pci[i];
            if (p->parent >= 0 || p->host != host || p->numa != numa)
                continue;
            if (!opened) {
                unsigned first = 0, last = 0;
                bus_range(topo, -1, host, &first, &last);
                open_object(page, "Bridge");
                fprintf(page->out,
                        " bridge_type=\"0-1\" depth=\"0\" "
                        "bridge_pci=\"%04x:[%02x-%02x]\">\n",
                        domain_of(p->bdf), first, last);
                opened = true;
            }
            put_function(page, (int)i);
        }
        if (opened)
            fprintf(page->out, "</object>\n");
    }
}

static void put_pu(struct page *page, unsigned cpu, const struct fc_cpuset *nodes)
{
    struct fc_cpuset self = {{0}};
    fc_cpuset_add(&self, cpu);
    open_object(page, "PU");
    fprintf(page->out, " os_index=\"%u\"", cpu);
    put_sets(page, &self, nodes);
    fprintf(page->out, "/>\n");
}

static void put_memory(struct page *page, size_t numa, const struct fc_cpuset *nodes)
{
    const struct fc_topo_numa *n = &page->topo->numa[numa];
    open_object(page, "NUMANode");
    fprintf(page->out, " os_index=\"%d\"", n->os_index);
    put_sets(page, &n->cpus, nodes);
    fprintf(page->out, " local_memory=\"%lld\"/>\n",
            (long long)(n->bytes > 0 ? n->bytes : 0));
}

static void put_numa(struct page *page, size_t numa)
{
    const struct fc_topo_numa *n = &page->topo->numa[numa];
    struct fc_cpuset nodes = {{0}};
    fc_cpuset_add(&nodes, (unsigned)n->os_index);
    if (fc_cpuset_count(&n->cpus) > 0) {
        open_object(page, "Group");
        put_sets(page, &n->cpus, &nodes);
        fprintf(page->out, " kind=\"0\" subkind=\"0\">\n");
    }
    put_memory(page, numa, &nodes);
    if (fc_cpuset_count(&n->cpus) == 0)
        return;
    for (int cpu = fc_cpuset_next(&n->cpus, 0); cpu >= 0;
         cpu = fc_cpuset_next(&n->cpus, cpu + 1))
        put_pu(page, (unsigned)cpu, &nodes);
    put_hosts(page, (int)numa);
    fprintf(page->out, "</object>\n");
}

/* NUMA nodes of package `package` (-1: of none), in the order of their first CPUs, as
 * hwloc wants them; those without CPUs come first. */
static void put_numas(struct page *page, int package)
{
    const struct fc_topo *topo = page->topo;
    for (int first = -1; first < FC_CPUSET_MAX; first++)
        for (size_t i = 0; i < topo->numas; i++)
            if (topo->numa[i].package == package &&
                fc_cpuset_next(&topo->numa[i].cpus, 0) == first)
                put_numa(page, i);
}

static void put_package(struct page *page, size_t i)
{
    const struct fc_topo *topo = page->topo;
    struct fc_cpuset nodes = {{0}};
    for (size_t j = 0; j < topo->numas; j++)
        if (topo->numa[j].package == (int)i)
            fc_cpuset_add(&nodes, (unsigned)topo->numa[j].os_index);
    open_object(page, "Package");
    fprintf(page->out, " os_index=\"%d\"", topo->package[i].os_index);
    put_sets(page, &topo->package[i].cpus, &nodes);
    fprintf(page->out, ">\n");
    put_info(page, "CPUModel", topo->package[i].model);
    put_numas(page, (int)i);
    fprintf(page->out, "</object>\n");
}

/* hwloc wants each CPU once, in one NUMA node with a number. */
static bool is_sound(const struct fc_topo *topo, struct fc_cpuset *cpus,
                     struct fc_cpuset *nodes)
{
    for (size_t i = 0; i < topo->numas; i++) {
        if (fc_cpuset_intersects(cpus, &topo->numa[i].cpus) ||
            topo->numa[i].os_index < 0 || topo->numa[i].os_index >= FC_CPUSET_MAX ||
            fc_cpuset_has(nodes, (unsigned)topo->numa[i].os_index))
            return false;
        fc_cpuset_merge(cpus, &topo->numa[i].cpus);
        fc_cpuset_add(nodes, (unsigned)topo->numa[i].os_index);
    }
    return fc_cpuset_count(cpus) > 0;
}

enum fc_status fc_topo_print_xml(const struct fc_topo *topo, FILE *out,
                                 struct fc_error *err)
{
    struct page page = {topo, out, 1};
    struct fc_cpuset cpus = {{0}}, nodes = {{0}};
    if (topo->hwloc_xml) {
        fputs(topo->hwloc_xml, out);
        return FC_OK;
    }
    if (!is_sound(topo, &cpus, &nodes))
        return fc_fail(err, FC_USAGE,
                       "--format xml: the source does not tell which CPUs are near "
                       "which NUMA node, and hwloc's XML cannot do without");
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
                 "<topology version=\"2.0\">\n");
    open_object(&page, "Machine");
    put_sets(&page, &cpus, &nodes);
    char mask[FC_CPUSET_MAX / 32 * 11 + 1];
    fc_cpuset_print_mask(&cpus, mask, sizeof mask);
    fprintf(out, " os_index=\"0\" allowed_cpuset=\"%s\"", mask);
    fc_cpuset_print_mask(&nodes, mask, sizeof mask);
    fprintf(out, " allowed_nodeset=\"%s\">\n", mask);
    put_info(&page, "HostName", topo->host_name);
    put_info(&page, "DMIProductName", topo->machine);
    /* memory without CPUs comes before all children that have some */
    for (size_t i = 0; i < topo->packages; i++)
        put_package(&page, i);
    put_numas(&page, -1);
    put_hosts(&page, -1);
    for (size_t i = 0; i < topo->numas; i++)
        if (fc_cpuset_count(&topo->numa[i].cpus) == 0)
            put_hosts(&page, (int)i);
    fprintf(out, "</object>\n</topology>\n");
    return FC_OK;
}
