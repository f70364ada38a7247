// SPDX-License-Identifier: BSD-3-Clause
/* Is memory set up as on the others, and as the hardware wants it? Firmware cuts a
 * package into NUMA nodes (AMD: NPS, Intel: SNC); EFA's endpoints want huge pages. */
#include "judge/nodefacts.h"
#include "judge/rules.h"
#include "judge/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 3 }; /* fewer nodes cannot say what is usual */

/* ---- NUMA nodes a package ---- */

struct cut {
    const char *model;
    int64_t sockets, numas;
    size_t node;
};

static int by_cut(const void *pa, const void *pb)
{
    const struct cut *a = pa, *b = pb;
    int order = strcmp(a->model, b->model);
    order = order ? order : (a->sockets > b->sockets) - (a->sockets < b->sockets);
    order = order ? order : (a->numas > b->numas) - (a->numas < b->numas);
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

static bool same_kind(const struct cut *a, const struct cut *b)
{
    return strcmp(a->model, b->model) == 0 && a->sockets == b->sockets;
}

static int64_t whole(const struct fc_evidence *ev, size_t node, const char *key)
{
    double value = fc_nodefact_number(ev, node, key);
    return value >= 1 && value < 4096 ? (int64_t)value : -1;
}

static size_t collect_cuts(const struct fc_evidence *ev, struct cut *out)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->nodes; i++) {
        out[count] =
            (struct cut){fc_setup_text(ev, i, "cpu.model"), whole(ev, i, "cpu.sockets"),
                         whole(ev, i, "numa.nodes"), i};
        count += out[count].sockets > 0 && out[count].numas > 0;
    }
    qsort(out, count, sizeof *out, by_cut);
    return count;
}

/* The nodes of one kind, of which `usual` nodes have `most`->numas. */
static void report_cuts(const struct fc_case *c, const struct cut *group, size_t count,
                        const struct cut *most, size_t usual)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    size_t *odd = malloc(count * sizeof *odd), odds = 0;
    const struct cut *first = NULL;
    bool clear = count >= ENOUGH && 2 * usual > count;
    if (!odd) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (clear && group[i].numas == most->numas)
            continue;
        odd[odds++] = group[i].node;
        first = first || group[i].numas == most->numas ? first : &group[i];
    }
    f.confidence = clear ? FC_CONF_HIGH : FC_CONF_LOW;
    f.odd = odd;
    f.odds = odds;
    f.node = odds == 1 ? odd[0] : FC_NONE;
    f.cause = "another setting of the firmware: NPS (AMD) or SNC (Intel); it decides "
              "how fast GPUs and NICs reach the host's memory";
    f.remedy = "give all nodes of one kind the same setting, as the GPUs' maker wants";
    fc_find(c->out, &f,
            "%lld NUMA nodes on %lld packages, %lld on %zu of %zu nodes like it: %s",
            (long long)first->numas, (long long)first->sockets, (long long)most->numas,
            usual, count, fc_hosts(c->ev, odd, odds).s);
    free(odd);
}

static void compare_cuts(const struct fc_case *c, const struct cut *group, size_t count)
{
    const struct cut *most = group;
    size_t usual = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && group[end].numas == group[i].numas;)
            end++;
        if (end - i > usual) {
            usual = end - i;
            most = &group[i];
        }
    }
    if (usual < count)
        report_cuts(c, group, count, most, usual);
}

/* One NUMA node a package of many cores, and GPUs: only a measured copy from the host
 * says whether that costs anything. A virtual machine does not show what there is. */
static enum fc_setup_level is_uncut(const struct fc_case *c, size_t node,
                                    struct fc_setup_why *why)
{
    const struct fc_evidence *ev = c->ev;
    int64_t sockets = whole(ev, node, "cpu.sockets");
    int64_t numas = whole(ev, node, "numa.nodes");
    int64_t cores = whole(ev, node, "cpu.cores");
    bool bare = strcmp(fc_setup_text(ev, node, "virt.hypervisor"), "none") == 0;
    if (!bare || !strstr(fc_setup_text(ev, node, "cpu.model"), "AMD") || sockets < 1 ||
        numas != sockets || cores < 32 * sockets || fc_setup_gpus(ev, node, "") < 2)
        return FC_SETUP_FINE;
    snprintf(why->s, sizeof why->s, "%lld cores each", (long long)(cores / sockets));
    return FC_SETUP_INFO;
}

void fc_rule_setup_nps(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_INFO, FC_NONE);
    struct cut *cut = malloc((c->ev->nodes + 1) * sizeof *cut);
    if (!cut) {
        c->out->status = FC_NOMEM;
        return;
    }
    size_t count = collect_cuts(c->ev, cut);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && same_kind(&cut[i], &cut[end]);)
            end++;
        compare_cuts(c, cut + i, end - i);
    }
    free(cut);
    f.cause = "the firmware's setting NPS1";
    f.remedy = "if copies between GPUs and the host are slow, try NPS4";
    fc_setup_report(c, &f, is_uncut, "one NUMA node a package (AMD)");
}

/* ---- huge pages ---- */

/* Two endpoints a rank at about 110 MB, in pages of 2 MiB. */
enum { PAGES_A_RANK = 110 };

struct pages {
    int64_t total, free;
    int64_t empty_numas, numas; /* NUMA nodes without any; all of them */
};

static struct pages pages_of(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_setup_array(ev, node, "mem.hugepage_pools");
    struct pages pages = {0, 0, 0, 0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        int64_t total = fc_ev_int(o, "total", 0, INT64_C(1) << 40, 0);
        if (fc_ev_int(o, "kB", 0, INT64_C(1) << 40, 0) != 2048)
            continue;
        if (json_is_integer(json_object_get(o, "numa"))) {
            pages.numas++;
            pages.empty_numas += total == 0;
            continue;
        }
        pages.total = total;
        pages.free = fc_ev_int(o, "free", 0, INT64_C(1) << 40, 0);
    }
    return pages;
}

static bool has_efa(const struct fc_evidence *ev, size_t node)
{
    return fc_setup_has_function(ev, node, "nic", "1d0f:efa");
}

static enum fc_setup_level lacks_pages(const struct fc_case *c, size_t node,
                                       struct fc_setup_why *why)
{
    const struct fc_evidence *ev = c->ev;
    if (!has_efa(ev, node) || !fc_setup_array(ev, node, "mem.hugepage_pools"))
        return FC_SETUP_FINE;
    struct pages pages = pages_of(ev, node);
    int64_t wanted = PAGES_A_RANK * (int64_t)ev->node[node].ranks;
    snprintf(why->s, sizeof why->s,
             "%lld of %lld pages of 2 MiB are free, %zu ranks may take %lld",
             (long long)pages.free, (long long)pages.total, ev->node[node].ranks,
             (long long)wanted);
    if (pages.total == 0)
        return FC_SETUP_WARN;
    return pages.free < wanted ? FC_SETUP_INFO : FC_SETUP_FINE;
}

static enum fc_setup_level is_lopsided(const struct fc_case *c, size_t node,
                                       struct fc_setup_why *why)
{
    struct pages pages = pages_of(c->ev, node);
    if (!has_efa(c->ev, node) || pages.total == 0 || pages.empty_numas == 0)
        return FC_SETUP_FINE;
    snprintf(why->s, sizeof why->s, "%lld of %lld have none",
             (long long)pages.empty_numas, (long long)pages.numas);
    return FC_SETUP_INFO;
}

void fc_rule_setup_hugepages(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "the installer of EFA's software reserves them, and was not run here, or "
              "memory was too scattered when it was";
    f.remedy = "sysctl vm.nr_hugepages=5128 early in the boot (or more, where many "
               "ranks run), then look at HugePages_Free";
    fc_setup_report(
        c, &f, lacks_pages,
        "too few huge pages for EFA's endpoints, which may fail with ENOMEM");
    f.cause = "they were reserved when memory was scattered or full on some NUMA nodes";
    f.remedy = "reserve them at boot, or node by node in /sys/devices/system/node";
    fc_setup_report(c, &f, is_lopsided, "huge pages on some NUMA nodes only");
}
