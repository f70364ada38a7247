// SPDX-License-Identifier: BSD-3-Clause
/* The tree as text: what the node is, what is where, then what may be near and fast,
 * then what is unknown or odd. Bridges in a row without a branch, and the device at
 * their end, are one line. */
#include "topology/limits.h"
#include "topology/print.h"
#include "topology/tier.h"

#include <stdlib.h>
#include <string.h>

struct page {
    const struct fc_topo *topo;
    FILE *out;
    bool *shown; /* PCI functions: lead to a GPU, a NIC or an NVSwitch */
    bool *done;
};

static void indent(FILE *out, int depth)
{
    fprintf(out, "%*s", depth * 2, "");
}

static int gpu_at(const struct fc_topo *topo, int pci)
{
    for (size_t i = 0; i < topo->gpus; i++)
        if (topo->gpu[i].pci == pci)
            return (int)i;
    return -1;
}

static void mark_shown(struct page *page)
{
    const struct fc_topo *topo = page->topo;
    for (size_t i = 0; i < topo->pcis; i++) {
        enum fc_pci_role role = topo->pci[i].role;
        bool leaf =
            (role == FC_PCI_GPU || role == FC_PCI_NIC || role == FC_PCI_NVSWITCH) &&
            !topo->pci[i].vf;
        for (int up = (int)i; leaf && up >= 0; up = topo->pci[up].parent)
            page->shown[up] = true;
    }
}

static void put_nic(const struct page *page, const struct fc_topo_nic *nic)
{
    FILE *out = page->out;
    if (nic->pci < 0 || strcmp(nic->name, page->topo->pci[nic->pci].bdf) != 0)
        fprintf(out, "  %s", nic->name);
    for (size_t i = 0; i < nic->nets; i++)
        if (strcmp(nic->net[i], nic->name) != 0)
            fprintf(out, "%s%s", i ? "," : " ", nic->net[i]);
    if (nic->rail >= 0)
        fprintf(out, "  rail %d", nic->rail);
    if (nic->Gbps > 0)
        fprintf(out, "  %g Gb/s", nic->Gbps);
    if (nic->type[0] || nic->firmware[0])
        fprintf(out, "  %s fw %s", nic->type, nic->firmware[0] ? nic->firmware : "?");
    for (size_t i = 0; i < nic->ports; i++) {
        const struct fc_topo_port *p = &nic->port[i];
        if (p->state[0] || p->layer[0])
            fprintf(out, "  port %d %s%s%s", p->number, p->state[0] ? p->state : "?",
                    p->layer[0] ? " " : "", p->layer);
    }
    if (nic->role == FC_NIC_OTHER)
        fprintf(out, "  not of the fabric");
}

static void put_bridge(const struct page *page, int pci, const char *link)
{
    static const char *const roles[] = {"function", "bridge",   "GPU",
                                        "NIC",      "NVSwitch", "storage"};
    const struct fc_topo_pci *p = &page->topo->pci[pci];
    fprintf(page->out, "%s %s%s%s", roles[p->role], p->bdf, *link ? "  " : "", link);
}

static void put_function(const struct page *page, int pci)
{
    const struct fc_topo *topo = page->topo;
    const struct fc_topo_pci *p = &topo->pci[pci];
    FILE *out = page->out;
    int gpu = gpu_at(topo, pci), nics = 0;
    if (gpu >= 0)
        fprintf(out, "GPU%d %s  %s  %s", gpu, p->bdf, topo->gpu[gpu].name,
                fc_topo_link_words(&p->link).s);
    for (size_t i = 0; i < topo->nics; i++)
        if (topo->nic[i].pci == pci) {
            fprintf(out, "%sNIC%zu %s", nics++ ? "; " : "", i, p->bdf);
            put_nic(page, &topo->nic[i]);
        }
    if (nics > 0)
        fprintf(out, "  %s", fc_topo_link_words(&p->link).s);
    if (gpu < 0 && nics == 0)
        put_bridge(page, pci, fc_topo_link_words(&p->link).s);
}

static int only_child(const struct page *page, int pci)
{
    int child = -1;
    for (size_t i = 0; i < page->topo->pcis; i++) {
        if (!page->shown[i] || page->topo->pci[i].parent != pci)
            continue;
        if (child >= 0)
            return -1;
        child = (int)i;
    }
    return child;
}

static void put_tree(const struct page *page, int pci, int depth)
{
    const struct fc_topo *topo = page->topo;
    int child;
    indent(page->out, depth);
    page->done[pci] = true;
    /* of equal links in a row the last one's speaks for all */
    while (topo->pci[pci].role == FC_PCI_BRIDGE &&
           (child = only_child(page, pci)) >= 0) {
        struct fc_topo_words mine = fc_topo_link_words(&topo->pci[pci].link),
                             next = fc_topo_link_words(&topo->pci[child].link);
        put_bridge(page, pci, strcmp(mine.s, next.s) == 0 ? "" : mine.s);
        fprintf(page->out, " > ");
        pci = child;
        page->done[pci] = true;
    }
    put_function(page, pci);
    putc('\n', page->out);
    for (size_t i = 0; i < topo->pcis; i++)
        if (page->shown[i] && !page->done[i] && topo->pci[i].parent == pci)
            put_tree(page, (int)i, depth + 1);
}

/* The functions on the root buses that are near this NUMA node and package (-1: near
 * none in particular). */
static void put_roots(const struct page *page, int numa, int package, int depth)
{
    const struct fc_topo *topo = page->topo;
    for (size_t i = 0; i < topo->pcis; i++)
        if (page->shown[i] && !page->done[i] && topo->pci[i].parent < 0 &&
            topo->pci[i].numa == numa && (numa >= 0 || topo->pci[i].package == package))
            put_tree(page, (int)i, depth);
    for (size_t i = 0; i < topo->nics; i++)
        if (topo->nic[i].pci < 0 && topo->nic[i].numa == numa && package < 0) {
            indent(page->out, depth);
            fprintf(page->out, "NIC%zu", i);
            put_nic(page, &topo->nic[i]);
            putc('\n', page->out);
        }
}

static void put_numa(const struct page *page, size_t i, int depth)
{
    const struct fc_topo_numa *n = &page->topo->numa[i];
    char cpus[256];
    fc_cpuset_print(&n->cpus, cpus, sizeof cpus);
    indent(page->out, depth);
    fprintf(page->out, "NUMA node %d", n->os_index);
    if (n->bytes >= 0)
        fprintf(page->out, "  %.1f GiB", (double)n->bytes / (double)(1 << 30));
    if (cpus[0])
        fprintf(page->out, "  CPUs %s", cpus);
    fprintf(page->out, "%s%s\n", n->without_cpus ? "  without CPUs" : "",
            n->is_gpu_memory ? "  a GPU's memory" : "");
    put_roots(page, (int)i, -1, depth + 1);
}

static void put_places(const struct page *page)
{
    const struct fc_topo *topo = page->topo;
    for (size_t i = 0; i < topo->packages; i++) {
        fprintf(page->out, "package %d  %s\n", topo->package[i].os_index,
                topo->package[i].model);
        for (size_t j = 0; j < topo->numas; j++)
            if (topo->numa[j].package == (int)i)
                put_numa(page, j, 1);
        put_roots(page, -1, (int)i, 1);
    }
    for (size_t j = 0; j < topo->numas; j++)
        if (topo->numa[j].package < 0)
            put_numa(page, j, 0);
    bool left = false;
    for (size_t i = 0; i < topo->pcis; i++)
        left |= page->shown[i] && !page->done[i];
    for (size_t i = 0; i < topo->nics; i++)
        left |= topo->nic[i].pci < 0 && topo->nic[i].numa < 0;
    if (left) {
        fprintf(page->out, "near no NUMA node in particular\n");
        put_roots(page, -1, -1, 1);
    }
}

/* What all GPUs have to their hosts, or each its own. */
static void put_hosts(const struct page *page)
{
    const struct fc_topo *topo = page->topo;
    struct fc_limit first = fc_limit_pcie(&topo->pci[topo->gpu[0].pci].link, 0);
    bool same = true;
    for (size_t g = 1; g < topo->gpus; g++) {
        struct fc_limit host = fc_limit_pcie(&topo->pci[topo->gpu[g].pci].link, 0);
        same &= strcmp(host.basis, first.basis) == 0;
    }
    for (size_t g = 0; g < topo->gpus; g++) {
        struct fc_limit host = fc_limit_pcie(&topo->pci[topo->gpu[g].pci].link, 0);
        if (same && g > 0)
            break;
        if (same)
            fprintf(page->out, "  every GPU to its host: ");
        else
            fprintf(page->out, "  GPU%zu to its host: ", g);
        if (host.GBps > 0)
            fprintf(page->out, "%.1f, ", host.GBps);
        fprintf(page->out, "%s\n", host.basis);
    }
}

/* "mlx5_0 50.0"; with the reason, where it is not the port's own rate. */
static void put_path(const struct page *page, size_t g, int nic)
{
    const struct fc_topo *topo = page->topo;
    struct fc_limit path = fc_limit_path(topo, g, topo->gpus + (size_t)nic);
    struct fc_limit port = fc_limit_nic(&topo->nic[nic]);
    fprintf(page->out, "%s ", topo->nic[nic].name);
    if (path.GBps > 0)
        fprintf(page->out, "%.1f", path.GBps);
    else
        fprintf(page->out, "?");
    if (strcmp(path.basis, port.basis) != 0)
        fprintf(page->out, " (%s)", path.basis);
}

static void put_near(const struct page *page)
{
    enum { SHOWN = 8 };
    const struct fc_topo *topo = page->topo;
    FILE *out = page->out;
    if (topo->gpus == 0)
        return;
    fprintf(out, "\nlimits, GB/s each way; to the nearest NICs the port's rate, or why "
                 "less\n");
    put_hosts(page);
    for (size_t g = 0; g < topo->gpus; g++) {
        const struct fc_topo_gpu *gpu = &topo->gpu[g];
        fprintf(out, "  GPU%-3zu %-4s ", g,
                gpu->nics ? fc_topo_near_name(gpu->nic_near) : "no NIC of the fabric");
        for (size_t i = 0; i < gpu->nics && i < SHOWN; i++) {
            if (i > 0)
                fprintf(out, ", ");
            put_path(page, g, gpu->nic[i]);
        }
        if (gpu->nics > SHOWN)
            fprintf(out, " and %zu more, as near", gpu->nics - SHOWN);
        putc('\n', out);
    }
}

static void put_links(const struct page *page)
{
    const struct fc_topo *topo = page->topo;
    char first[16] = "", word[16];
    size_t pairs = 0, same = 0;
    for (size_t a = 0; a < topo->gpus; a++)
        for (size_t b = 0; b < topo->gpus; b++) {
            if (a == b)
                continue;
            fc_topo_word(topo, a, b, word, sizeof word);
            if (pairs++ == 0)
                memcpy(first, word, sizeof first);
            same += strcmp(first, word) == 0;
        }
    if (pairs == 0)
        return;
    if (same < pairs) {
        fprintf(page->out, "\nGPUs among each other: see --format matrix\n");
        return;
    }
    struct fc_limit limit = fc_limit_path(topo, 0, 1);
    fprintf(page->out, "\nevery GPU to every other: %s", first);
    if (limit.GBps > 0)
        fprintf(page->out, ", %.1f GB/s", limit.GBps);
    fprintf(page->out, "  (%s)\n", limit.basis);
}

static void put_tier(const struct page *page)
{
    struct fc_tier tier = fc_tier_of(page->topo);
    FILE *out = page->out;
    fprintf(out, "isolation  %s\ninside     %s\noutside    %s\n", tier.isolation,
            tier.inside, tier.outside);
    for (size_t i = 0; i < FC_TIER_WORKLOADS; i++)
        fprintf(out, "%s%-20s %s: %s\n", i == 0 ? "suits      " : "           ",
                tier.workload[i].name, fc_suits_name(tier.workload[i].suits),
                tier.workload[i].reason);
    putc('\n', out);
}

static void put_notes(const struct page *page)
{
    const struct fc_topo *topo = page->topo;
    for (size_t i = 0; i < topo->notes; i++)
        fprintf(page->out, "%s%s %s\n", i == 0 ? "\n" : "",
                topo->note[i].odd ? "odd:    " : "unknown:", topo->note[i].text);
}

enum fc_status fc_topo_print_text(const struct fc_topo *topo, FILE *out,
                                  struct fc_error *err)
{
    struct page page = {topo, out, calloc(topo->pcis + 1, sizeof(bool)),
                        calloc(topo->pcis + 1, sizeof(bool))};
    if (!page.shown || !page.done) {
        free(page.shown);
        free(page.done);
        return fc_fail(err, FC_NOMEM, "text: out of memory");
    }
    mark_shown(&page);
    fprintf(out, "%s%s%s%s%s (%s)\n", topo->host_name[0] ? topo->host_name : "node",
            topo->machine[0] ? ", " : "", topo->machine,
            topo->kind == FC_TOPO_LIVE ? "" : ", ",
            topo->kind == FC_TOPO_LIVE ? "" : topo->source,
            fc_topo_kind_name(topo->kind));
    fprintf(out,
            "packages %s, NUMA nodes %s, cores %s, hardware threads %s, GPUs %s, "
            "NICs %s\n",
            fc_topo_count_words(topo->packages_n).s,
            fc_topo_count_words(topo->numa_n).s, fc_topo_count_words(topo->cores).s,
            fc_topo_count_words(topo->pus).s,
            fc_topo_count_words(fc_topo_gpu_count(topo)).s,
            fc_topo_count_words(fc_topo_nic_count(topo)).s);
    put_tier(&page);
    put_places(&page);
    put_links(&page);
    put_near(&page);
    put_notes(&page);
    free(page.shown);
    free(page.done);
    return FC_OK;
}
