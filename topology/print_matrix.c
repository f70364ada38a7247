// SPDX-License-Identifier: BSD-3-Clause
/* The matrix of `nvidia-smi topo -m`: GPUs and NICs against each other, the CPUs and
 * the NUMA node of each GPU, then who the NICs are and the rails. */
#include "topology/print.h"

#include <stdlib.h>
#include <string.h>

static struct fc_topo_words end_name(const struct fc_topo *topo, size_t end)
{
    struct fc_topo_words text;
    snprintf(text.s, sizeof text.s, end < topo->gpus ? "GPU%zu" : "NIC%zu",
             end < topo->gpus ? end : end - topo->gpus);
    return text;
}

static void put_row(const struct fc_topo *topo, FILE *out, const size_t *ends, size_t n,
                    size_t row)
{
    fprintf(out, "%-7s", end_name(topo, ends[row]).s);
    for (size_t i = 0; i < n; i++) {
        char word[16];
        fc_topo_word(topo, ends[row], ends[i], word, sizeof word);
        fprintf(out, " %-6s", word);
    }
    if (ends[row] < topo->gpus) {
        char cpus[128] = "";
        int numa = topo->pci[topo->gpu[ends[row]].pci].numa;
        if (numa >= 0)
            fc_cpuset_print(&topo->numa[numa].cpus, cpus, sizeof cpus);
        fprintf(out, "  %-24s", cpus[0] ? cpus : "?");
        fprintf(out, numa >= 0 ? " %d" : " ?",
                numa >= 0 ? topo->numa[numa].os_index : 0);
    }
    putc('\n', out);
}

static void put_nics(const struct fc_topo *topo, FILE *out, const size_t *ends,
                     size_t n)
{
    fprintf(out, "\nNICs\n");
    for (size_t i = 0; i < n; i++) {
        if (ends[i] < topo->gpus)
            continue;
        const struct fc_topo_nic *nic = &topo->nic[ends[i] - topo->gpus];
        fprintf(out, "  %s: %s", end_name(topo, ends[i]).s, nic->name);
        if (nic->pci >= 0 && strcmp(topo->pci[nic->pci].bdf, nic->name) != 0)
            fprintf(out, "  %s", topo->pci[nic->pci].bdf);
        if (nic->Gbps > 0)
            fprintf(out, "  %g Gb/s", nic->Gbps);
        fprintf(out, "%s\n", nic->role == FC_NIC_FABRIC ? "" : "  not of the fabric");
    }
}

static void put_rails(const struct fc_topo *topo, FILE *out)
{
    if (topo->rails > 0)
        fprintf(out, "\nrails\n");
    for (int rail = 0; rail < topo->rails; rail++)
        for (size_t i = 0; i < topo->nics; i++) {
            if (topo->nic[i].rail != rail)
                continue;
            fprintf(out, "  %d: %s", rail, topo->nic[i].name);
            for (size_t g = 0; g < topo->gpus; g++)
                for (size_t k = 0; k < topo->gpu[g].nics; k++)
                    if (topo->gpu[g].nic[k] == (int)i &&
                        topo->gpu[g].nic_near < FC_NEAR_SYS)
                        fprintf(out, "  GPU%zu %s", g,
                                fc_topo_near_name(topo->gpu[g].nic_near));
            putc('\n', out);
        }
}

static void put_others(const struct fc_topo *topo, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < topo->nics; i++) {
        if (topo->nic[i].role == FC_NIC_FABRIC || topo->nic[i].rdma[0])
            continue;
        fprintf(out, "%s%s", any ? ", " : "\nnot shown (no verbs, not of the fabric): ",
                topo->nic[i].name);
        any = true;
    }
    if (any)
        putc('\n', out);
}

static void put_legend(FILE *out)
{
    fprintf(out,
            "\nlegend\n"
            "  X     itself\n"
            "  NV#   # NVLinks      XG#  # XGMI links (XGMI: their number is unknown)\n"
            "  PIX   at most one PCIe switch\n"
            "  PXB   several PCIe switches, no host bridge\n"
            "  PHB   one host bridge\n"
            "  NODE  between host bridges of one NUMA node\n"
            "  SYS   between NUMA nodes\n"
            "  ?     the source does not tell\n");
}

enum fc_status fc_topo_print_matrix(const struct fc_topo *topo, FILE *out,
                                    struct fc_error *err)
{
    size_t *ends, n;
    if (!fc_topo_matrix_ends(topo, false, &ends, &n))
        return fc_fail(err, FC_NOMEM, "matrix: out of memory");
    if (n == 0) {
        fprintf(out, "GPUs %s, NICs %s: no matrix to show\n",
                fc_topo_count_words(fc_topo_gpu_count(topo)).s,
                fc_topo_count_words(fc_topo_nic_count(topo)).s);
    } else {
        fprintf(out, "%7s", "");
        for (size_t i = 0; i < n; i++)
            fprintf(out, " %-6s", end_name(topo, ends[i]).s);
        fprintf(out, topo->gpus > 0 ? "  %-24s NUMA Affinity\n" : "\n", "CPU Affinity");
        for (size_t i = 0; i < n; i++)
            put_row(topo, out, ends, n, i);
        if (n > topo->gpus)
            put_nics(topo, out, ends, n);
        put_rails(topo, out);
    }
    put_others(topo, out);
    for (size_t i = 0; i < topo->notes; i++)
        fprintf(out, "%s%s %s\n", i == 0 ? "\n" : "",
                topo->note[i].odd ? "odd:    " : "unknown:", topo->note[i].text);
    if (n > 0)
        put_legend(out);
    free(ends);
    return FC_OK;
}
