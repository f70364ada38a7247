// SPDX-License-Identifier: BSD-3-Clause
/* Is each node set up for what its hardware is for? Limits and settings matter where
 * there are GPUs or verbs devices, and are nothing to a node that has none: those that
 * many nodes share make one finding. */
#include "judge/nodefacts.h"
#include "judge/rules.h"
#include "judge/setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 3 }; /* fewer nodes that are alike may all be set up wrong */

typedef bool (*node_fn)(const struct fc_evidence *ev, size_t node);

/* One finding for all nodes of which `is_so` holds. Where `alike_is_fine`, three nodes
 * or more that are all so are made so. */
static void report_nodes(const struct fc_case *c, const struct fc_finding *base,
                         node_fn is_so, bool alike_is_fine, const char *what)
{
    const struct fc_evidence *ev = c->ev;
    struct fc_finding f = *base;
    size_t *odd = malloc((ev->nodes + 1) * sizeof *odd), odds = 0;
    if (!odd) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < ev->nodes; i++)
        if (is_so(ev, i))
            odd[odds++] = i;
    if (alike_is_fine && odds == ev->nodes && odds >= ENOUGH)
        f.severity = FC_SEV_INFO;
    f.odd = odd;
    f.odds = odds;
    f.node = odds == 1 ? odd[0] : FC_NONE;
    if (odds > 0)
        fc_find(c->out, &f, "%s: %s", what, fc_hosts(ev, odd, odds).s);
    free(odd);
}

/* ---- distances, IOMMU, impossible values ---- */

static bool translates(const struct fc_evidence *ev, size_t node)
{
    return fc_setup_gpus(ev, node, "DMA") > 1;
}

void fc_rule_topo_iommu(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "an IOMMU that translates sends traffic between GPUs through the root "
              "complex, where it is slow or hangs";
    f.remedy = "boot with iommu=pt, or without an IOMMU";
    report_nodes(c, &f, translates, false, "the IOMMU translates what GPUs send");
}

/* ACS bits that turn peer traffic around: request redirect, completion redirect,
 * upstream forwarding, egress control. Source validation alone (bit 0) is harmless. */
static bool redirects(const json_t *acs, const char *bdf, int64_t *out_control)
{
    const int64_t harmful = 0x3c;
    for (size_t i = 0; i < json_array_size(acs); i++) {
        const json_t *o = json_array_get(acs, i);
        int64_t control = json_is_object(o) ? fc_ev_int(o, "control", 0, 0xffff, 0) : 0;
        if (control & harmful && strcmp(fc_setup_member(o, "bdf"), bdf) == 0) {
            *out_control = control;
            return true;
        }
    }
    return false;
}

/* The first bridge above a GPU of the node that redirects; "": none. */
static const char *redirecting_bridge(const struct fc_evidence *ev, size_t node,
                                      int64_t *out_control)
{
    const json_t *acs = fc_setup_array(ev, node, "root.acs");
    const json_t *list = fc_setup_array(ev, node, "topo.functions");
    for (size_t i = 0; acs && i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        if (!json_is_object(o) || strcmp(fc_setup_member(o, "what"), "gpu") != 0)
            continue;
        const json_t *above = json_object_get(o, "above");
        for (size_t j = 0; j < json_array_size(above); j++) {
            const char *bdf = json_string_value(json_array_get(above, j));
            if (bdf && redirects(acs, bdf, out_control))
                return bdf;
        }
    }
    return "";
}

void fc_rule_topo_acs(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->nodes; i++) {
        int64_t control = 0;
        const char *bdf = redirecting_bridge(c->ev, i, &control);
        struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, i);
        f.cause =
            "ACS redirects peer traffic of GPUs through the root complex, where it "
            "is slow or hangs";
        f.remedy =
            "clear ReqRedir, CmpltRedir and UpstreamFwd on all bridges above GPUs "
            "and NICs (setpci), or switch ACS off in the firmware's setup";
        if (*bdf)
            fc_find(c->out, &f,
                    "bridge %s, which is above a GPU, redirects peer traffic (ACSCtl "
                    "0x%04llx)",
                    fc_clip(bdf).s, (unsigned long long)control);
    }
}

void fc_rule_topo_odd(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->nodes; i++) {
        const json_t *list = fc_setup_array(c->ev, i, "topo.odd");
        const char *first = json_string_value(json_array_get(list, 0));
        struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, i);
        f.cause = "firmware or a virtual machine's definition that contradicts itself";
        f.remedy = "see what `fabricheck topo` says there, and what the maker says";
        if (json_array_size(list) > 0)
            fc_find(c->out, &f, "%s%s",
                    first ? fc_clip(first).s : "an impossible value",
                    json_array_size(list) > 1 ? ", and more like it" : "");
    }
}

/* ---- settings ---- */

static bool locks_little(const struct fc_evidence *ev, size_t node)
{
    const int64_t little = INT64_C(64) << 20;
    size_t n;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    bool few = false;
    for (size_t i = 0; i < n; i++) /* "unlimited" is no number */
        few |= fc_ev_int(fact[i].facts, "limit.memlock", 0, little, -1) >= 0;
    return few && fc_setup_has_verbs(ev, node);
}

void fc_rule_setup_memlock(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "the daemon that starts the ranks has this limit itself: a systemd unit "
              "without LimitMEMLOCK, or a session older than limits.conf";
    f.remedy = "LimitMEMLOCK=infinity in slurmd's unit (or limits.conf and a new "
               "session), then start the daemon again";
    report_nodes(c, &f, locks_little, false,
                 "ranks may lock 64 MiB of memory or less, too little for RDMA");
}

static bool shares_little(const struct fc_evidence *ev, size_t node)
{
    double bytes = fc_nodefact_number(ev, node, "shm.bytes");
    return isfinite(bytes) && bytes < (double)(INT64_C(1) << 30) &&
           fc_setup_gpus(ev, node, "") > 0;
}

void fc_rule_setup_shm(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "a container runtime's default of 64 MiB";
    f.remedy = "start the container with --shm-size=1g or more, or with --ipc=host";
    report_nodes(c, &f, shares_little, false,
                 "/dev/shm is smaller than 1 GiB, where NCCL needs it for each GPU");
}

static bool balances(const struct fc_evidence *ev, size_t node)
{
    return fc_nodefact_number(ev, node, "numa.balancing") > 0 &&
           fc_nodefact_number(ev, node, "numa.nodes") > 1 &&
           (fc_setup_has_verbs(ev, node) || fc_setup_gpus(ev, node, "") > 0);
}

void fc_rule_setup_balancing(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "the kernel's default; it takes pages away from running threads to see "
              "who uses them, which costs spikes of milliseconds";
    f.remedy = "sysctl kernel.numa_balancing=0";
    report_nodes(c, &f, balances, false, "automatic NUMA balancing is on");
}

/* Some rank is told of a topology, or all are by a file, or NCCL finds one itself. */
static bool knows_topology(const struct fc_evidence *ev, size_t node)
{
    size_t n;
    const char *from;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    const json_t *file = fc_setup_object(ev, node, "nccl.topo_file");
    for (size_t i = 0; i < n; i++)
        if (fc_setup_nccl(ev, node, fact[i].facts, "NCCL_TOPO_FILE", &from))
            return true;
    return strcmp(fc_setup_member(file, "status"), "ok") == 0;
}

static bool is_flat(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_setup_array(ev, node, "topo.near");
    const char *hypervisor = fc_setup_text(ev, node, "virt.hypervisor");
    size_t together = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        together += word && strncmp(word, "P", 1) == 0 && strcmp(word, "PHB") != 0;
    }
    return hypervisor[0] && strcmp(hypervisor, "none") != 0 &&
           json_array_size(list) > 1 && together == 0 && fc_setup_has_verbs(ev, node) &&
           !knows_topology(ev, node);
}

void fc_rule_topo_flat(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "the virtual machine shows no PCIe switches, so that NCCL takes GPU and "
              "NIC for too far apart and leaves GPUDirect";
    f.remedy =
        "set NCCL_TOPO_FILE to the file that the cloud's maker gives for this type";
    report_nodes(c, &f, is_flat, false,
                 "a virtual machine without a switch between any GPU and NIC, and no "
                 "NCCL_TOPO_FILE");
}
