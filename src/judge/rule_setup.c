// SPDX-License-Identifier: BSD-3-Clause
/* Is each node set up for what its hardware is for? Limits and settings matter where
 * there are GPUs or verbs devices, and are nothing to a node that has none: those that
 * many nodes share make one finding. */
#include "judge/nodefacts.h"
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 3 }; /* fewer nodes that are alike may all be set up wrong */

static const json_t *fact_array(const struct fc_ev_fact *fact, const char *key)
{
    const json_t *list = fact->rank < 0 ? json_object_get(fact->facts, key) : NULL;
    return json_is_array(list) ? list : NULL;
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = fc_ev_text(o, key);
    return s ? s : "";
}

typedef bool (*node_fn)(const struct fc_evidence *ev, size_t node);

/* The array `key` of a node's own facts; NULL: none. */
static const json_t *array_of(const struct fc_evidence *ev, size_t node,
                              const char *key)
{
    size_t n;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    for (size_t i = 0; i < n; i++)
        if (fact_array(&fact[i], key))
            return fact_array(&fact[i], key);
    return NULL;
}

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

static size_t count_gpus(const struct fc_evidence *ev, size_t node, const char *iommu)
{
    const json_t *list = array_of(ev, node, "topo.functions");
    size_t gpus = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        gpus += json_is_object(o) && strcmp(text(o, "what"), "gpu") == 0 &&
                strncmp(text(o, "iommu"), iommu, strlen(iommu)) == 0;
    }
    return gpus;
}

static bool translates(const struct fc_evidence *ev, size_t node)
{
    return count_gpus(ev, node, "DMA") > 1;
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
        if (control & harmful && strcmp(text(o, "bdf"), bdf) == 0) {
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
    const json_t *acs = array_of(ev, node, "root.acs");
    const json_t *list = array_of(ev, node, "topo.functions");
    for (size_t i = 0; acs && i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        if (!json_is_object(o) || strcmp(text(o, "what"), "gpu") != 0)
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
        const json_t *list = array_of(c->ev, i, "topo.odd");
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

static bool has_verbs(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = array_of(ev, node, "topo.ports");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_true(json_object_get(json_array_get(list, i), "fabric")))
            return true;
    return false;
}

static bool locks_little(const struct fc_evidence *ev, size_t node)
{
    const int64_t little = INT64_C(64) << 20;
    size_t n;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    bool few = false;
    for (size_t i = 0; i < n; i++) /* "unlimited" is no number */
        few |= fc_ev_int(fact[i].facts, "limit.memlock", 0, little, -1) >= 0;
    return few && has_verbs(ev, node);
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
           count_gpus(ev, node, "") > 0;
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
           (has_verbs(ev, node) || count_gpus(ev, node, "") > 0);
}

void fc_rule_setup_balancing(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "the kernel's default; it takes pages away from running threads to see "
              "who uses them, which costs spikes of milliseconds";
    f.remedy = "sysctl kernel.numa_balancing=0";
    report_nodes(c, &f, balances, false, "automatic NUMA balancing is on");
}

/* Any rank's environment of NCCL holds `word` (a name, or NAME=value). */
static bool nccl_has(const struct fc_evidence *ev, size_t node, const char *word)
{
    size_t n, length = strlen(word);
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    for (size_t i = 0; i < n; i++)
        for (const char *p = text(fact[i].facts, "env.nccl"); *p;) {
            size_t end = strcspn(p, " ");
            if (end >= length && strncmp(p, word, length) == 0 &&
                (end == length || p[length] == '='))
                return true;
            p += end;
            p += strspn(p, " ");
        }
    return false;
}

static bool is_flat(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = array_of(ev, node, "topo.near");
    const char *hypervisor = NULL;
    size_t n, together = 0;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    for (size_t i = 0; i < n; i++)
        if (fact[i].rank < 0 && text(fact[i].facts, "virt.hypervisor")[0])
            hypervisor = text(fact[i].facts, "virt.hypervisor");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        together += word && strncmp(word, "P", 1) == 0 && strcmp(word, "PHB") != 0;
    }
    return hypervisor && strcmp(hypervisor, "none") != 0 && json_array_size(list) > 1 &&
           together == 0 && has_verbs(ev, node) &&
           !nccl_has(ev, node, "NCCL_TOPO_FILE") &&
           strcmp(text(fc_nodefact_json(ev, node, "nccl.topo_file"), "status"), "ok") !=
               0;
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

static bool sets_harmful(const struct fc_evidence *ev, size_t node)
{
    static const char *const words[] = {
        "NCCL_ALGO",
        "NCCL_PROTO",
        "NCCL_MIN_NCHANNELS",
        "NCCL_P2P_DISABLE=1",
        "NCCL_IB_DISABLE=1",
        "NCCL_SHM_DISABLE=1",
        "NCCL_NET_GDR_LEVEL=LOC",
        "NCCL_NVLS_ENABLE=0",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (nccl_has(ev, node, words[i]))
            return true;
    return false;
}

void fc_rule_setup_nccl(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "a setting from a test or another machine that stayed in the environment";
    f.remedy = "unset NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, NCCL_NVLS_ENABLE=0, "
               "NCCL_NET_GDR_LEVEL and NCCL_*_DISABLE, and let NCCL choose";
    report_nodes(c, &f, sets_harmful, false,
                 "NCCL's choices are overridden by variables that are known to hurt");
}

/* NCCL_IB_HCA names prefixes unless it begins with "=": mlx5_1 takes mlx5_10, too. */
static bool has_prefix_trap(const struct fc_evidence *ev, size_t node)
{
    const json_t *ports = array_of(ev, node, "topo.ports");
    size_t n, length = strlen("NCCL_IB_HCA=");
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    for (size_t i = 0; i < n; i++) {
        const char *p = strstr(text(fact[i].facts, "env.nccl"), "NCCL_IB_HCA=");
        if (!p || p[length] == '=' || p[length] == '^')
            continue;
        for (p += length; *p && *p != ' '; p += *p == ',') {
            size_t word = strcspn(p, ", :");
            bool exact = false, longer = false;
            for (size_t j = 0; word > 0 && j < json_array_size(ports); j++) {
                const char *name = text(json_array_get(ports, j), "nic");
                bool fits = strncmp(name, p, word) == 0;
                exact |= fits && !name[word];
                longer |= fits && name[word];
            }
            if (exact && longer)
                return true;
            p += strcspn(p, ", ");
        }
    }
    return false;
}

void fc_rule_setup_hca(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "NCCL_IB_HCA takes prefixes: mlx5_1 also takes mlx5_10";
    f.remedy = "begin its value with '=': NCCL_IB_HCA==mlx5_1,...";
    report_nodes(c, &f, has_prefix_trap, false,
                 "NCCL_IB_HCA names more devices than it seems to");
}
