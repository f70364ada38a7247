// SPDX-License-Identifier: BSD-3-Clause
/* The containers of a picture: elements, texts, notes. Opening is in model_open.c. */
#include "topology/model.h"

#include "topology/model_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more element, zeroed; arrays grow by doubling, at powers of two. */
static void *grow(void **array, size_t *count, size_t size, size_t max)
{
    size_t n = *count;
    if (n >= max)
        return NULL;
    if (n == 0 || (n & (n - 1)) == 0) {
        void *bigger = realloc(*array, (n ? 2 * n : 1) * size);
        if (!bigger)
            return NULL;
        *array = bigger;
    }
    (*count)++;
    return memset((char *)*array + n * size, 0, size);
}

#define GROW(array, count, max)                                                        \
    grow((void **)&(array), &(count), sizeof *(array), (size_t)(max))

enum fc_status fc_topo_full(struct fc_error *err)
{
    return fc_fail(err, FC_USAGE,
                   "out of memory, or more devices than any machine has");
}

struct fc_topo_package *fc_topo_add_package(struct fc_topo *topo)
{
    struct fc_topo_package *p = GROW(topo->package, topo->packages, FC_TOPO_MAX_PARTS);
    if (p)
        p->os_index = -1;
    return p;
}

struct fc_topo_numa *fc_topo_add_numa(struct fc_topo *topo)
{
    struct fc_topo_numa *n = GROW(topo->numa, topo->numas, FC_TOPO_MAX_PARTS);
    if (n)
        n->os_index = n->package = -1, n->bytes = -1;
    return n;
}

struct fc_topo_pci *fc_topo_add_pci(struct fc_topo *topo)
{
    struct fc_topo_pci *p = GROW(topo->pci, topo->pcis, FC_TOPO_MAX_PCI);
    if (p) {
        p->parent = p->host = p->numa = p->package = -1;
        p->class_code = p->vendor = p->device = -1;
    }
    return p;
}

struct fc_topo_nic *fc_topo_add_nic(struct fc_topo *topo)
{
    struct fc_topo_nic *n = GROW(topo->nic, topo->nics, FC_TOPO_MAX_NICS);
    if (n)
        n->pci = n->mtu = n->rail = n->numa = -1;
    return n;
}

struct fc_topo_gpu *fc_topo_add_gpu(struct fc_topo *topo)
{
    struct fc_topo_gpu *g = GROW(topo->gpu, topo->gpus, FC_TOPO_MAX_GPUS);
    if (g) {
        g->pci = g->memory_numa = g->dev = g->gdr = -1;
        g->memory_bytes = -1;
        g->nic_near = FC_NEAR_UNKNOWN;
    }
    return g;
}

struct fc_topo_peer *fc_topo_add_peer(struct fc_topo *topo)
{
    struct fc_topo_peer *p =
        GROW(topo->peer, topo->peers, FC_TOPO_MAX_GPUS * FC_TOPO_MAX_PARTS);
    if (p)
        p->gpu = p->peer = -1;
    return p;
}

struct fc_topo_port *fc_topo_add_port(struct fc_topo_nic *nic)
{
    struct fc_topo_port *p = GROW(nic->port, nic->ports, FC_TOPO_MAX_PORTS);
    if (p)
        p->lid = -1;
    return p;
}

struct fc_topo_gid *fc_topo_add_gid(struct fc_topo_port *port)
{
    return GROW(port->gid, port->gids, FC_TOPO_MAX_PORTS);
}

void fc_topo_close(struct fc_topo *topo)
{
    if (!topo)
        return;
    for (size_t i = 0; i < topo->nics; i++) {
        for (size_t j = 0; j < topo->nic[i].ports; j++)
            free(topo->nic[i].port[j].gid);
        free(topo->nic[i].port);
    }
    free(topo->package);
    free(topo->numa);
    free(topo->pci);
    free(topo->gpu);
    free(topo->nic);
    free(topo->peer);
    free(topo->pair);
    free(topo->note);
    free(topo->hwloc_xml);
    free(topo);
}

static void add_note(struct fc_topo *topo, bool odd, const char *fmt, va_list args)
{
    char text[sizeof topo->note->text * 2];
    struct fc_topo_note *note = GROW(topo->note, topo->notes, FC_TOPO_MAX_NOTES);
    if (!note) {
        if (topo->notes > 0)
            snprintf(topo->note[topo->notes - 1].text, sizeof note->text,
                     "more than %d such notes; the rest is left out",
                     FC_TOPO_MAX_NOTES);
        return;
    }
    vsnprintf(text, sizeof text, fmt, args);
    note->odd = odd;
    fc_topo_text(note->text, sizeof note->text, text);
    for (struct fc_topo_note *old = topo->note; old < note; old++)
        if (strcmp(old->text, note->text) == 0) {
            topo->notes--; /* said already; the array may keep its room */
            return;
        }
}

void fc_topo_unknown(struct fc_topo *topo, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_note(topo, false, fmt, args);
    va_end(args);
}

void fc_topo_odd(struct fc_topo *topo, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_note(topo, true, fmt, args);
    va_end(args);
}

/* Bytes of the UTF-8 character at `p`; 0: none begins there. */
static size_t utf8_length(const unsigned char *p)
{
    size_t n = *p < 0x80                  ? 1
               : *p >= 0xc2 && *p <= 0xdf ? 2
               : (*p & 0xf0) == 0xe0      ? 3
               : *p >= 0xf0 && *p <= 0xf4 ? 4
                                          : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f))) ||
        (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))))
        return 0;
    /* not allowed in XML 1.0, whatever the escape; C1 controls drive terminals */
    if ((n == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe) ||
        (n == 2 && p[0] == 0xc2 && p[1] < 0xa0))
        return 0;
    return n;
}

void fc_topo_text(char *out, size_t bytes, const char *text)
{
    static const char blanks[] = " \t\r\n";
    size_t used = 0;
    text = text ? text : "";
    text += strspn(text, blanks);
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
    while (end > p && strchr(blanks, end[-1]))
        end--;
    while (p < end) {
        size_t n = *p < ' ' || *p == 0x7f ? 0 : utf8_length(p);
        if (used + (n ? n : 1) >= bytes)
            break;
        if (n)
            memcpy(out + used, p, n);
        else
            out[used] = '?';
        used += n ? n : 1;
        p += n ? n : 1;
    }
    out[used] = '\0';
}

bool fc_topo_bdf(const char *text, char *out, size_t bytes)
{
    unsigned domain = 0, bus, slot, function;
    int end = -1;
    if (!text || strlen(text) > 16)
        return false;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) < 4) {
        domain = 0;
        if (sscanf(text, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) < 3)
            return false;
    }
    if (end < 0 || text[end] || slot > 31 || function > 7 ||
        !isxdigit((unsigned char)text[0]))
        return false;
    snprintf(out, bytes, "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return true;
}

int fc_topo_find_pci(const struct fc_topo *topo, const char *bdf)
{
    for (size_t i = 0; i < topo->pcis; i++)
        if (strcmp(topo->pci[i].bdf, bdf) == 0)
            return (int)i;
    return -1;
}

int fc_topo_find_numa(const struct fc_topo *topo, int os_index)
{
    for (size_t i = 0; i < topo->numas; i++)
        if (topo->numa[i].os_index == os_index)
            return (int)i;
    return -1;
}

double fc_topo_speed(struct fc_topo *topo, const char *bdf, const char *text)
{
    static const double known[] = {2.5, 5, 8, 16, 32, 64, 128};
    double value;
    char *end;
    if (!text || !*text || strncmp(text, "Unknown", 7) == 0)
        return 0;
    /* not strtod, which follows the locale's decimal mark */
    long whole = strtol(text, &end, 10);
    value = (double)whole;
    if (*end == '.' && isdigit((unsigned char)end[1]))
        value += (end[1] - '0') / 10.0;
    for (size_t i = 0; end != text && i < sizeof known / sizeof *known; i++)
        if (value > known[i] - 0.05 && value < known[i] + 0.05)
            return known[i];
    fc_topo_odd(topo, "%s: no PCIe link has the speed \"%.40s\"", bdf, text);
    return 0;
}

int fc_topo_width(struct fc_topo *topo, const char *bdf, const char *text)
{
    char *end;
    if (!text || !*text || strcmp(text, "Unknown") == 0)
        return 0;
    long width = strtol(text, &end, 10);
    /* 0 and 255 are what drivers and files write for "not known" */
    if (end != text && !*end && (width == 0 || width == 255))
        return 0;
    if (end != text && !*end &&
        (width == 1 || width == 2 || width == 4 || width == 8 || width == 12 ||
         width == 16 || width == 32))
        return (int)width;
    fc_topo_odd(topo, "%s: no PCIe link has the width \"%.40s\"", bdf, text);
    return 0;
}

/* Classes: 0300 display, 0302 3D, 0380 other display, 1200 accelerator. A display of
 * another maker than NVIDIA is the board's console, except AMD's cards of the Vega
 * family, whose servers' models (MI25, MI50) have that class too. */
void fc_topo_classify(struct fc_topo_pci *pci)
{
    const int64_t nvidia = 0x10de, amd = 0x1002, code = pci->class_code;
    const int64_t id = pci->device;
    bool vega = pci->vendor == amd &&
                ((id >= 0x6860 && id <= 0x687f) || (id >= 0x66a0 && id <= 0x66af));
    pci->role = FC_PCI_OTHER;
    if (code == 0x0302 || (code == 0x0300 && (pci->vendor == nvidia || vega)) ||
        ((code == 0x0380 || code == 0x1200) && (pci->vendor == amd || pci->vendor < 0)))
        pci->role = FC_PCI_GPU;
    else if (code == 0x0604)
        pci->role = FC_PCI_BRIDGE;
    else if (code == 0x0680 && pci->vendor == nvidia)
        pci->role = FC_PCI_NVSWITCH;
    else if (code >> 8 == 0x02 || code == 0x0c06)
        pci->role = FC_PCI_NIC;
    else if (code >> 8 == 0x01)
        pci->role = FC_PCI_STORAGE;
}

struct fc_topo_gpu *fc_topo_gpu_of(struct fc_topo *topo, int pci)
{
    for (size_t i = 0; i < topo->gpus; i++)
        if (topo->gpu[i].pci == pci)
            return &topo->gpu[i];
    struct fc_topo_gpu *gpu = fc_topo_add_gpu(topo);
    if (gpu)
        gpu->pci = pci;
    return gpu;
}

struct fc_topo_nic *fc_topo_nic_of(struct fc_topo *topo, int pci)
{
    for (size_t i = 0; i < topo->nics; i++)
        if (topo->nic[i].pci == pci)
            return &topo->nic[i];
    struct fc_topo_nic *nic = fc_topo_add_nic(topo);
    if (nic)
        nic->pci = pci;
    return nic;
}

void fc_topo_add_net(struct fc_topo_nic *nic, const char *name)
{
    char clean[sizeof *nic->net];
    fc_topo_text(clean, sizeof clean, name);
    for (size_t i = 0; i < nic->nets; i++)
        if (strcmp(nic->net[i], clean) == 0)
            return;
    if (clean[0] && nic->nets < sizeof nic->net / sizeof *nic->net)
        memcpy(nic->net[nic->nets++], clean, sizeof clean);
}
