// SPDX-License-Identifier: BSD-3-Clause
#include "topology/tier.h"

#include "topology/model_parts.h"

#include <stdio.h>
#include <string.h>

const char *fc_suits_name(enum fc_suits suits)
{
    static const char *const names[] = {"no", "yes", "unknown"};
    return names[suits];
}

/* NVIDIA's name of a share of a GPU that a hypervisor gives: "NVIDIA A40-48Q",
 * "GRID A100-4-20C". Names of whole GPUs end in no such letter. */
static bool is_vgpu(const struct fc_topo_gpu *gpu)
{
    size_t n = strlen(gpu->name);
    const char *dash = strrchr(gpu->name, '-');
    return dash && strchr("ABCQ", gpu->name[n - 1]) &&
           &dash[1 + strspn(dash + 1, "0123456789")] == &gpu->name[n - 1] &&
           dash + 1 < &gpu->name[n - 1];
}

static bool is_told(const char *word)
{
    return word[0] && strcmp(word, "none") != 0;
}

/* A container sees all GPUs on the bus, and can use those that it was given. */
static bool gives_none(const struct fc_topo *topo)
{
    return is_told(topo->container) && strcmp(topo->gpus_by, "none") == 0 &&
           topo->gpus > 0;
}

/* GPUs on the bus that the ranks can use at all. */
static size_t usable_gpus(const struct fc_topo *topo)
{
    bool fewer = is_told(topo->container) && topo->gpu_files > 0 &&
                 (size_t)topo->gpu_files < topo->gpus;
    return fewer ? (size_t)topo->gpu_files : topo->gpus;
}

/* What the ranks have is slices, which reach no other GPU. */
static bool is_sliced(const struct fc_topo *topo)
{
    return topo->mig.open > 0 &&
           (topo->mig.slices == 0 || topo->mig.open < topo->mig.slices ||
            (size_t)topo->mig.gpus >= usable_gpus(topo));
}

static void put_machine(const struct fc_topo *topo, FILE *out)
{
    bool vm = strcmp(topo->hypervisor, "none") != 0;
    size_t shares = 0;
    for (size_t i = 0; i < topo->gpus; i++)
        shares += is_vgpu(&topo->gpu[i]);
    if (vm)
        fprintf(out, "virtual machine, %s", topo->hypervisor);
    else
        fprintf(out, "bare metal");
    if (vm && topo->gpus > 0)
        fprintf(out,
                shares > 0 ? ", %zu of %zu GPUs are shares (vGPU)"
                           : ", GPUs passed through",
                shares, topo->gpus);
}

static void put_container(const struct fc_topo *topo, FILE *out)
{
    fprintf(out, ", in a container: %s", topo->container);
    if (gives_none(topo))
        fprintf(out, ", which was given none of %zu GPUs", topo->gpus);
    else if (is_told(topo->gpus_by) && usable_gpus(topo) < topo->gpus)
        fprintf(out, ", %zu of %zu GPUs by %s", usable_gpus(topo), topo->gpus,
                topo->gpus_by);
    else if (is_told(topo->gpus_by))
        fprintf(out, ", GPUs by %s", topo->gpus_by);
}

static void put_slices(const struct fc_topo_mig *mig, FILE *out)
{
    if (mig->slices > 0)
        fprintf(out, ", MIG: %d of %d slices on %d GPU%s", mig->open, mig->slices,
                mig->gpus, mig->gpus > 1 ? "s" : "");
    else if (mig->open > 0)
        fprintf(out, ", MIG: %d slice%s", mig->open, mig->open > 1 ? "s" : "");
}

static void set_isolation(const struct fc_topo *topo, struct fc_tier *out)
{
    snprintf(out->isolation, sizeof out->isolation, "unknown");
    if (!topo->hypervisor[0])
        return;
    char text[sizeof out->isolation] = "";
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    if (!file)
        return;
    put_machine(topo, file);
    if (is_told(topo->container))
        put_container(topo, file);
    put_slices(&topo->mig, file);
    fclose(file);
    fc_topo_text(out->isolation, sizeof out->isolation, text);
}

/* How many of all pairs of GPUs have links of their own. */
static size_t linked_pairs(const struct fc_topo *topo, bool *xgmi)
{
    size_t n = 0;
    for (size_t a = 0; a < topo->gpus; a++)
        for (size_t b = 0; b < a; b++)
            n += fc_topo_links(topo, a, b, xgmi) != 0;
    return n;
}

static enum fc_topo_near farthest_pair(const struct fc_topo *topo)
{
    enum fc_topo_near far = FC_NEAR_SELF;
    for (size_t a = 0; a < topo->gpus; a++)
        for (size_t b = 0; b < a; b++) {
            enum fc_topo_near near = fc_topo_near(topo, a, b);
            far = near > far ? near : far;
        }
    return far;
}

static bool through_switches(const struct fc_topo *topo)
{
    for (size_t i = 0; i < topo->peers; i++)
        if (topo->peer[i].kind == FC_PEER_SWITCH)
            return true;
    return false;
}

static void set_inside(const struct fc_topo *topo, struct fc_tier *out)
{
    bool xgmi = false;
    size_t pairs = topo->gpus * (topo->gpus - (topo->gpus > 0)) / 2;
    size_t linked = linked_pairs(topo, &xgmi);
    char word[16];
    if (!topo->gpus_known)
        snprintf(out->inside, sizeof out->inside, "unknown");
    else if (topo->gpus < 2)
        snprintf(out->inside, sizeof out->inside, "%s",
                 topo->gpus ? "one GPU" : "no GPU");
    else if (linked == pairs) {
        fc_topo_word(topo, 0, 1, word, sizeof word);
        snprintf(out->inside, sizeof out->inside, "%s between all %zu GPUs (%s)",
                 xgmi                     ? "XGMI"
                 : through_switches(topo) ? "NVSwitch"
                                          : "NVLink",
                 topo->gpus, word);
    } else if (linked > 0)
        snprintf(out->inside, sizeof out->inside, "%s between %zu of %zu pairs of GPUs",
                 xgmi ? "XGMI" : "NVLink", linked, pairs);
    else
        snprintf(out->inside, sizeof out->inside, "PCIe, at most %s apart%s",
                 fc_topo_near_name(farthest_pair(topo)),
                 topo->links_known ? "" : "; links between GPUs are not told");
}

/* The fabric: how many NICs, their rate together, what they are. */
struct outside {
    size_t nics;
    double Gbps, first; /* of the first NIC, which all are like, or 0 */
    bool rdma, rates_told;
    const char *kind;
};

/* What a NIC speaks; NULL: Ethernet without RDMA. */
static const char *kind_of(const struct fc_topo *topo, const struct fc_topo_nic *nic)
{
    const int64_t amazon = 0x1d0f, cray = 0x17db;
    const struct fc_topo_pci *pci = nic->pci >= 0 ? &topo->pci[nic->pci] : NULL;
    bool told = nic->ports > 0 && nic->port[0].layer[0];
    bool infiniband = told ? strcmp(nic->port[0].layer, "InfiniBand") == 0
                           : pci && pci->class_code == 0x0207;
    if ((pci && strcmp(pci->driver, "efa") == 0) ||
        (pci && pci->vendor == amazon && pci->device >> 4 == 0xefa) ||
        strncmp(nic->name, "rdmap", 5) == 0 || strncmp(nic->name, "efa_", 4) == 0)
        return "EFA";
    if (pci && pci->vendor == cray)
        return "Slingshot";
    return infiniband ? "InfiniBand" : nic->rdma[0] ? "RoCE" : NULL;
}

static struct outside outside_of(const struct fc_topo *topo)
{
    struct outside o = {.rates_told = true, .kind = "Ethernet"};
    for (size_t i = 0; i < topo->nics; i++) {
        const struct fc_topo_nic *nic = &topo->nic[i];
        if (nic->role != FC_NIC_FABRIC)
            continue;
        const char *kind = kind_of(topo, nic);
        o.nics++;
        o.rates_told &= nic->Gbps > 0;
        double Gbps = nic->ports == 0 ? nic->Gbps : 0;
        for (size_t j = 0; j < nic->ports; j++)
            Gbps += nic->port[j].Gbps;
        o.first = o.nics == 1 || !(Gbps < o.first || Gbps > o.first) ? Gbps : 0;
        o.Gbps += Gbps;
        o.rdma |= kind != NULL;
        o.kind = kind ? kind : o.kind;
    }
    return o;
}

static void set_outside(const struct fc_topo *topo, const struct outside *o,
                        struct fc_tier *out)
{
    if (!topo->nics_known)
        snprintf(out->outside, sizeof out->outside, "unknown");
    else if (o->nics == 0)
        snprintf(out->outside, sizeof out->outside, "no NIC");
    else if (o->rates_told && o->first > 0 && topo->rails == (int)o->nics &&
             o->nics > 1)
        snprintf(out->outside, sizeof out->outside,
                 "%s, %d rails of %g Gb/s, %g together", o->kind, topo->rails, o->first,
                 o->Gbps);
    else if (o->rates_told)
        snprintf(out->outside, sizeof out->outside, "%s, %zu NIC%s, %g Gb/s together",
                 o->kind, o->nics, o->nics > 1 ? "s" : "", o->Gbps);
    else
        snprintf(out->outside, sizeof out->outside, "%s, %zu NIC%s of unknown rate",
                 o->kind, o->nics, o->nics > 1 ? "s" : "");
}

static void judge(struct fc_tier *out, size_t i, const char *name, enum fc_suits suits,
                  const char *reason)
{
    out->workload[i].name = name;
    out->workload[i].suits = suits;
    snprintf(out->workload[i].reason, sizeof out->workload[i].reason, "%s", reason);
}

/* Why no GPU is there for training with others; NULL: they are. */
static const char *no_gpu_whole(const struct fc_topo *topo)
{
    if (gives_none(topo))
        return "the container was given no GPU";
    return is_sliced(topo) ? "slices of GPUs (MIG) reach no other GPU" : NULL;
}

static void judge_many_nodes(const struct fc_topo *topo, const struct outside *o,
                             struct fc_tier *out)
{
    static const char name[] = "multi-node training";
    char reason[160];
    size_t far = 0;
    for (size_t i = 0; i < topo->gpus; i++)
        far += topo->gpu[i].nics == 0 || topo->gpu[i].nic_near >= FC_NEAR_SYS;
    double each = topo->gpus > 0 ? o->Gbps / (double)topo->gpus : 0;
    if (no_gpu_whole(topo))
        judge(out, 0, name, FC_SUITS_NO, no_gpu_whole(topo));
    else if (!topo->gpus_known || !topo->nics_known)
        judge(out, 0, name, FC_SUITS_UNKNOWN, "GPUs or NICs are not told");
    else if (topo->gpus == 0)
        judge(out, 0, name, FC_SUITS_NO, "no GPU");
    else if (!o->rdma)
        judge(out, 0, name, FC_SUITS_NO, "no NIC with RDMA");
    else if (!o->rates_told)
        judge(out, 0, name, FC_SUITS_UNKNOWN, "the NICs' rates are not told");
    else {
        snprintf(reason, sizeof reason, "%g Gb/s a GPU%s", each,
                 far > 0 ? ", but some GPUs have no NIC near them" : ", each near one");
        judge(out, 0, name, each >= FC_TIER_GBPS_A_GPU ? FC_SUITS_YES : FC_SUITS_NO,
              reason);
    }
}

static void judge_one_node(const struct fc_topo *topo, struct fc_tier *out)
{
    static const char name[] = "single-node training";
    bool xgmi = false;
    size_t pairs = topo->gpus * (topo->gpus - (topo->gpus > 0)) / 2;
    size_t linked = linked_pairs(topo, &xgmi);
    if (no_gpu_whole(topo))
        judge(out, 1, name, FC_SUITS_NO, no_gpu_whole(topo));
    else if (!topo->gpus_known)
        judge(out, 1, name, FC_SUITS_UNKNOWN, "GPUs are not told");
    else if (usable_gpus(topo) < 2)
        judge(out, 1, name, FC_SUITS_NO, "fewer than two GPUs");
    else if (linked == pairs)
        judge(out, 1, name, FC_SUITS_YES, "every GPU has links to every other");
    else if (!topo->links_known && linked == 0)
        judge(out, 1, name, FC_SUITS_UNKNOWN, "links between GPUs are not told");
    else
        judge(out, 1, name, FC_SUITS_NO, "not all GPUs have links to each other");
}

static void judge_smaller(const struct fc_topo *topo, struct fc_tier *out)
{
    enum fc_suits any = gives_none(topo)    ? FC_SUITS_NO
                        : is_sliced(topo)   ? FC_SUITS_YES
                        : !topo->gpus_known ? FC_SUITS_UNKNOWN
                        : topo->gpus > 0    ? FC_SUITS_YES
                                            : FC_SUITS_NO;
    const char *reason = gives_none(topo)          ? no_gpu_whole(topo)
                         : is_sliced(topo)         ? "what fits one slice of a GPU"
                         : any == FC_SUITS_UNKNOWN ? "GPUs are not told"
                         : any == FC_SUITS_NO      ? "no GPU"
                                              : "what fits one GPU or a few over PCIe";
    judge(out, 2, "fine-tuning", any, reason);
    judge(out, 3, "inference", any, reason);
}

struct fc_tier fc_tier_of(const struct fc_topo *topo)
{
    struct fc_tier tier = {.isolation = ""};
    struct outside o = outside_of(topo);
    set_isolation(topo, &tier);
    set_inside(topo, &tier);
    set_outside(topo, &o, &tier);
    judge_many_nodes(topo, &o, &tier);
    judge_one_node(topo, &tier);
    judge_smaller(topo, &tier);
    return tier;
}
