// SPDX-License-Identifier: BSD-3-Clause
/* Can programs use the RDMA devices, and can these reach the memory of GPUs? All that
 * is seen here is what should work: opening a device and registering memory decide.
 */
#include "judge/rules.h"
#include "judge/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_fabric(const struct fc_evidence *ev, size_t node, const char *nic)
{
    const json_t *ports = fc_setup_array(ev, node, "topo.ports");
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        if (strcmp(fc_setup_member(port, "nic"), nic) == 0)
            return json_is_true(json_object_get(port, "fabric"));
    }
    return false;
}

/* ---- files of devices ---- */

static const char *words_of(const char *access)
{
    static const struct {
        const char *access, *words;
    } table[] = {
        {"no ib_uverbs", "the kernel offers no uverbs device: ib_uverbs is not loaded"},
        {"ENOENT", "/dev/infiniband has no file for it"},
        {"EACCES", "the file's rights forbid it (EACCES)"},
        {"cgroup", "the control group's list of devices forbids it (EPERM)"},
        {"ENXIO", "the file is of a device that is gone (ENXIO)"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].access, access) == 0)
            return table[i].words;
    return "it cannot be opened";
}

/* A container that was given some of the cards sees all in /sys. */
static enum fc_setup_level lacks_uverbs(const struct fc_case *c, size_t node,
                                        struct fc_setup_why *why)
{
    const json_t *list = fc_setup_array(c->ev, node, "rdma.uverbs");
    const char *container = fc_setup_text(c->ev, node, "virt.container");
    size_t good = 0, bad = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const char *nic = fc_setup_member(o, "nic");
        const char *access = fc_setup_member(o, "access");
        if (!access[0] || !is_fabric(c->ev, node, nic))
            continue;
        if (strcmp(access, "ok") == 0) {
            good++;
            continue;
        }
        if (bad++ == 0)
            snprintf(why->s, sizeof why->s, "%.63s: %s", nic, words_of(access));
    }
    if (bad == 0)
        return FC_SETUP_FINE;
    bool given = good > 0 && container[0] && strcmp(container, "none") != 0;
    return given ? FC_SETUP_INFO : FC_SETUP_WARN;
}

void fc_rule_setup_uverbs(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "a container that was not given /dev/infiniband, rights of its files, or "
              "a module that is not loaded; NCCL then takes sockets without a word";
    f.remedy = "give the container --device=/dev/infiniband, make uverbs* readable and "
               "writable for all (udev), or load ib_uverbs";
    fc_setup_report(c, &f, lacks_uverbs, "programs cannot open NICs of the fabric");
}

/* ---- GPU memory ---- */

/* As far as can be seen: -1 unknown. */
static int can_dmabuf(const struct fc_evidence *ev, size_t node)
{
    const char *kind = fc_setup_text(ev, node, "gpu.driver_kind");
    const json_t *kernel = fc_setup_object(ev, node, "kernel.dmabuf");
    const json_t *options = json_object_get(kernel, "options");
    const json_t *recent = json_object_get(kernel, "kernel");
    if (!kind[0] || !json_is_boolean(recent))
        return -1;
    bool left_out =
        strcmp(fc_setup_member(options, "CONFIG_DMA_SHARED_BUFFER"), "n") == 0 ||
        strcmp(fc_setup_member(options, "CONFIG_INFINIBAND_USER_MEM"), "n") == 0;
    return strcmp(kind, "open") == 0 && json_is_true(recent) && !left_out;
}

/* NVIDIA's GPUs with a driver, NICs with verbs, and all that is asked was readable. */
static bool wants_gpudirect(const struct fc_evidence *ev, size_t node)
{
    const char *kind = fc_setup_text(ev, node, "gpu.driver_kind");
    return fc_setup_has_function(ev, node, "gpu", "10de:") && kind[0] &&
           strcmp(kind, "none") != 0 && fc_setup_has_verbs(ev, node) &&
           fc_setup_text(ev, node, "gpu.peermem")[0] && can_dmabuf(ev, node) >= 0;
}

static bool is_registered(const struct fc_evidence *ev, size_t node)
{
    size_t n;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    for (size_t i = 0; i < n; i++)
        if (json_is_true(json_object_get(fact[i].facts, "gpu.peermem_registered")))
            return true;
    return false;
}

static enum fc_setup_level lacks_gpudirect(const struct fc_case *c, size_t node,
                                           struct fc_setup_why *why)
{
    const char *module = fc_setup_text(c->ev, node, "gpu.peermem");
    if (!wants_gpudirect(c->ev, node) || strcmp(module, "none") != 0 ||
        can_dmabuf(c->ev, node))
        return FC_SETUP_FINE;
    snprintf(why->s, sizeof why->s,
             "no nvidia_peermem; the driver is %.20s, kernel %.60s",
             fc_setup_text(c->ev, node, "gpu.driver_kind"),
             fc_setup_text(c->ev, node, "kernel.release"));
    return FC_SETUP_WARN;
}

static enum fc_setup_level is_not_registered(const struct fc_case *c, size_t node,
                                             struct fc_setup_why *why)
{
    const char *module = fc_setup_text(c->ev, node, "gpu.peermem");
    if (!wants_gpudirect(c->ev, node) || strcmp(module, "none") == 0 ||
        is_registered(c->ev, node))
        return FC_SETUP_FINE;
    bool other_way = can_dmabuf(c->ev, node) > 0;
    snprintf(why->s, sizeof why->s, "%.60s%s", module,
             other_way ? "; DMA-BUF may do instead" : "");
    return other_way ? FC_SETUP_INFO : FC_SETUP_WARN;
}

void fc_rule_setup_gpudirect(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.confidence = FC_CONF_MEDIUM;
    f.cause = "without a peer-memory module, DMA-BUF takes NVIDIA's open kernel module "
              "and Linux 5.12; traffic between nodes then goes through the host";
    f.remedy =
        "install the open kernel module, or load nvidia_peermem; registering GPU "
        "memory shows whether it works";
    fc_setup_report(c, &f, lacks_gpudirect, "NICs cannot reach the memory of GPUs");
    f.cause = "a module that was built against another RDMA stack than the one that "
              "runs (built before OFED was installed, or inbox)";
    f.remedy = "build it again against the installed OFED (reinstall the driver's "
               "package), then load it";
    fc_setup_report(c, &f, is_not_registered,
                    "a peer-memory module is loaded, but RDMA's core does not know it");
}

/* ---- management of NVLink ---- */

/* Boards whose NVSwitches are managed through the InfiniBand stack of the node itself:
 * HGX with B200 and B300. (Of racks, another host does that.) */
static bool manages_nvlink(const struct fc_evidence *ev, size_t node)
{
    static const char *const gpus[] = {"10de:2901", "10de:3182"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (fc_setup_has_function(ev, node, "gpu", gpus[i]))
            return strcmp(fc_setup_text(ev, node, "virt.hypervisor"), "none") == 0 &&
                   fc_setup_gpus(ev, node, "") > 1;
    return false;
}

static enum fc_setup_level lacks_umad(const struct fc_case *c, size_t node,
                                      struct fc_setup_why *why)
{
    size_t n;
    const struct fc_ev_fact *fact = fc_ev_facts_of(c->ev, node, &n);
    bool none = false;
    for (size_t i = 0; i < n; i++)
        none |=
            fact[i].rank < 0 && fc_ev_int(fact[i].facts, "rdma.umad", 0, 0, -1) == 0;
    (void)why;
    return none && manages_nvlink(c->ev, node) ? FC_SETUP_WARN : FC_SETUP_FINE;
}

void fc_rule_setup_umad(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause =
        "a kernel or image without ib_umad; NVLink's subnet manager starts in the "
        "wrong mode or not at all, and CUDA says 802 (system not ready)";
    f.remedy = "load ib_umad (and mlx5_ib) at boot, then start nvidia-fabricmanager "
               "again";
    fc_setup_report(c, &f, lacks_umad,
                    "NVSwitches are managed through ib_umad, which is not loaded");
}

/* ---- the order of writes ---- */

/* 1: the function may relax its order; 0: it may not; -1: not told. */
static int relaxes(const json_t *list, const char *bdf)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const json_t *relaxed = json_object_get(o, "relaxed");
        if (json_is_boolean(relaxed) && strcmp(fc_setup_member(o, "bdf"), bdf) == 0)
            return json_is_true(relaxed);
    }
    return -1;
}

struct orders {
    size_t strict, relaxed;
    const char *strict_one, *relaxed_one; /* names */
};

static struct orders orders_of(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_setup_array(ev, node, "root.relaxed");
    const json_t *functions = fc_setup_array(ev, node, "topo.functions");
    struct orders o = {0, 0, "", ""};
    for (size_t i = 0; list && i < json_array_size(functions); i++) {
        const json_t *f = json_array_get(functions, i);
        int r = strcmp(fc_setup_member(f, "what"), "nic") == 0
                    ? relaxes(list, fc_setup_member(f, "bdf"))
                    : -1;
        if (r == 0 && o.strict++ == 0)
            o.strict_one = fc_setup_member(f, "name");
        if (r == 1 && o.relaxed++ == 0)
            o.relaxed_one = fc_setup_member(f, "name");
    }
    return o;
}

/* True where most NICs of all nodes may relax their order. */
static bool most_relax(const struct fc_case *c, bool *out_clear)
{
    size_t strict = 0, relaxed = 0;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        struct orders o = orders_of(c->ev, i);
        strict += o.strict;
        relaxed += o.relaxed;
    }
    *out_clear = strict + relaxed >= 3 && strict > 0 && relaxed > 0;
    return relaxed >= strict;
}

static enum fc_setup_level is_strict(const struct fc_case *c, size_t node,
                                     struct fc_setup_why *why)
{
    struct orders o = orders_of(c->ev, node);
    snprintf(why->s, sizeof why->s, "%.63s", o.strict_one);
    return o.strict > 0 ? FC_SETUP_WARN : FC_SETUP_FINE;
}

static enum fc_setup_level is_relaxed(const struct fc_case *c, size_t node,
                                      struct fc_setup_why *why)
{
    struct orders o = orders_of(c->ev, node);
    snprintf(why->s, sizeof why->s, "%.63s", o.relaxed_one);
    return o.relaxed > 0 ? FC_SETUP_WARN : FC_SETUP_FINE;
}

void fc_rule_setup_ordering(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    bool clear, relaxed = most_relax(c, &clear);
    f.cause = "a setting of the firmware or of the card; strict order costs bandwidth, "
              "forced relaxed order lets data arrive after its flag";
    f.remedy =
        "compare the firmware's setting and mlxconfig's PCI_WR_ORDERING with the "
        "others'";
    if (clear && relaxed)
        fc_setup_report(c, &f, is_strict,
                        "NICs may not relax the order of PCIe writes, as most others "
                        "may");
    else if (clear)
        fc_setup_report(c, &f, is_relaxed,
                        "NICs may relax the order of PCIe writes, as most others may "
                        "not");
}
