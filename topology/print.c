// SPDX-License-Identifier: BSD-3-Clause
#include "topology/print.h"

#include <stdlib.h>

static int generation(double GTps)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64, 128};
    int n = 0;
    while (n < 7 && GTps > speeds[n])
        n++;
    return n + 1;
}

/* "5.0 x16", "?.0 x16" with what is not known as "?". */
static void words_of(char *out, size_t bytes, double GTps, int width)
{
    char gen[16] = "?", lanes[16] = "?";
    if (GTps > 0)
        snprintf(gen, sizeof gen, "%d.0", generation(GTps));
    if (width > 0)
        snprintf(lanes, sizeof lanes, "%d", width);
    snprintf(out, bytes, "%s x%s", gen, lanes);
}

struct fc_topo_words fc_topo_link_words(const struct fc_topo_link *link)
{
    struct fc_topo_words text = {"link unknown"};
    char now[32], most[32];
    bool told = link->GTps > 0 || link->width > 0;
    bool slower = (link->max_GTps > 0 && link->max_GTps > link->GTps) ||
                  (link->max_width > 0 && link->max_width > link->width);
    words_of(now, sizeof now, link->GTps, link->width);
    words_of(most, sizeof most, link->max_GTps, link->max_width);
    if (told && slower)
        snprintf(text.s, sizeof text.s, "PCIe %s (can %s)", now, most);
    else if (told)
        snprintf(text.s, sizeof text.s, "PCIe %s", now);
    else if (link->GBps > 0)
        snprintf(text.s, sizeof text.s, "%.1f GB/s", link->GBps);
    return text;
}

struct fc_topo_words fc_topo_count_words(int64_t n)
{
    struct fc_topo_words text = {"unknown"};
    if (n >= 0)
        snprintf(text.s, sizeof text.s, "%lld", (long long)n);
    return text;
}

int64_t fc_topo_gpu_count(const struct fc_topo *topo)
{
    return topo->gpus_known ? (int64_t)topo->gpus : -1;
}

int64_t fc_topo_nic_count(const struct fc_topo *topo)
{
    int64_t n = 0;
    for (size_t i = 0; i < topo->nics; i++)
        n += topo->nic[i].role != FC_NIC_VIRTUAL;
    return topo->nics_known ? n : -1;
}

const char *fc_topo_kind_name(enum fc_topo_kind kind)
{
    static const char *const names[] = {
        "this machine", "captured /sys",     "captured /sys (JSON)",
        "hwloc XML",    "NCCL topology XML", "fabricheck topo",
        "journal",
    };
    return names[kind];
}

bool fc_topo_matrix_ends(const struct fc_topo *topo, bool all, size_t **out,
                         size_t *out_n)
{
    size_t *ends = calloc(topo->gpus + topo->nics + 1, sizeof *ends), n = 0;
    if (!ends)
        return false;
    for (size_t i = 0; i < topo->gpus; i++)
        ends[n++] = i;
    for (size_t i = 0; i < topo->nics; i++)
        if (all || topo->nic[i].role == FC_NIC_FABRIC || topo->nic[i].rdma[0])
            ends[n++] = topo->gpus + i;
    *out = ends;
    *out_n = n;
    return true;
}

void fc_topo_put_xml(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        const char *entity = *p == '&'    ? "&amp;"
                             : *p == '<'  ? "&lt;"
                             : *p == '>'  ? "&gt;"
                             : *p == '"'  ? "&quot;"
                             : *p == '\'' ? "&#39;"
                                          : NULL;
        if (entity)
            fputs(entity, out);
        else
            putc(*p, out);
    }
}
