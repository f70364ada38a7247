// SPDX-License-Identifier: BSD-3-Clause
#include "topology/svg_layout.h"

#include "topology/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 8, NIC_ROWS = 4, CHAR_W = 8, MAX_DEPTH = 66 };

struct builder {
    const struct fc_topo *topo;
    struct fc_layout *layout;
    bool *leads; /* functions that are, or lead to, a GPU or a NIC */
    bool *done;
    bool short_of_memory;
};

static int add_box(struct builder *b, enum fc_box_kind kind, int parent)
{
    struct fc_layout *l = b->layout;
    struct fc_box *more = realloc(l->box, (l->boxes + 1) * sizeof *more);
    if (!more) {
        b->short_of_memory = true;
        return parent;
    }
    l->box = more;
    l->box[l->boxes] = (struct fc_box){.kind = kind, .parent = parent};
    return (int)l->boxes++;
}

static void put_leaves(struct builder *b, int pci, int box)
{
    const struct fc_topo *topo = b->topo;
    struct fc_box *into = &b->layout->box[box];
    for (size_t i = 0; i < topo->gpus; i++)
        if (topo->gpu[i].pci == pci)
            b->layout->gpu[i] = (struct fc_place){.box = box, .slot = into->gpus++};
    for (size_t i = 0; i < topo->nics; i++)
        if (topo->nic[i].pci == pci)
            b->layout->nic[i] = (struct fc_place){.box = box, .slot = into->nics++};
}

static int branches(const struct builder *b, int pci)
{
    int n = 0;
    for (size_t i = 0; i < b->topo->pcis; i++)
        n += b->leads[i] && b->topo->pci[i].parent == pci;
    return n;
}

/* A bridge with several branches is a box; others are only on the way. */
static void put_function(struct builder *b, int pci, int box, int depth)
{
    const struct fc_topo_pci *p = &b->topo->pci[pci];
    b->done[pci] = true;
    put_leaves(b, pci, box);
    if (branches(b, pci) > 1 && depth < MAX_DEPTH) {
        box = add_box(b, FC_BOX_SWITCH, box);
        struct fc_box *made = &b->layout->box[box];
        snprintf(made->title, sizeof made->title, "%s %s",
                 b->topo->ports_told && p->parent < 0 ? "bridge" : "switch",
                 p->bdf + (strncmp(p->bdf, "0000:", 5) == 0 ? 5 : 0));
        snprintf(made->detail, sizeof made->detail, "up: %s",
                 fc_topo_link_words(&p->link).s);
    }
    for (size_t i = 0; i < b->topo->pcis; i++)
        if (b->leads[i] && !b->done[i] && b->topo->pci[i].parent == pci)
            put_function(b, (int)i, box, depth + 1);
}

static bool is_root(const struct builder *b, size_t i, int numa, int package)
{
    const struct fc_topo_pci *p = &b->topo->pci[i];
    return b->leads[i] && !b->done[i] && p->parent < 0 && p->numa == numa &&
           (numa >= 0 || p->package == package);
}

/* What is on the root buses near one NUMA node (-1: of a package, or of none). */
static void put_roots(struct builder *b, int numa, int package, int box)
{
    for (int host = -1; host < b->topo->hosts; host++) {
        int here = 0, elsewhere = 0, into = box;
        for (size_t i = 0; i < b->topo->pcis; i++)
            if (is_root(b, i, numa, package))
                *(b->topo->pci[i].host == host ? &here : &elsewhere) += 1;
        if (here > 1 && elsewhere > 0 && host >= 0) {
            into = add_box(b, FC_BOX_HOST, box);
            snprintf(b->layout->box[into].title, sizeof b->layout->box->title,
                     "host bridge");
        }
        for (size_t i = 0; i < b->topo->pcis; i++)
            if (is_root(b, i, numa, package) && b->topo->pci[i].host == host)
                put_function(b, (int)i, into, 0);
    }
    struct fc_box *into = &b->layout->box[box];
    for (size_t i = 0; i < b->topo->nics; i++)
        if (b->topo->nic[i].pci < 0 && b->topo->nic[i].numa == numa && package < 0)
            b->layout->nic[i] = (struct fc_place){.box = box, .slot = into->nics++};
}

static void put_numa(struct builder *b, size_t i, int box)
{
    const struct fc_topo_numa *n = &b->topo->numa[i];
    char cpus[40];
    fc_cpuset_print(&n->cpus, cpus, sizeof cpus);
    box = add_box(b, FC_BOX_NUMA, box);
    struct fc_box *made = &b->layout->box[box];
    snprintf(made->title, sizeof made->title, "NUMA node %d", n->os_index);
    snprintf(made->detail, sizeof made->detail, "%s%s%s", cpus[0] ? "CPUs " : "", cpus,
             n->is_gpu_memory  ? "a GPU's memory"
             : n->without_cpus ? "without CPUs"
                               : "");
    put_roots(b, (int)i, -1, box);
}

static void build(struct builder *b)
{
    const struct fc_topo *topo = b->topo;
    int page = add_box(b, FC_BOX_PAGE, -1);
    for (size_t i = 0; i < topo->packages; i++) {
        int box = add_box(b, FC_BOX_PACKAGE, page);
        struct fc_box *made = &b->layout->box[box];
        snprintf(made->title, sizeof made->title, "package %d",
                 topo->package[i].os_index);
        snprintf(made->detail, sizeof made->detail, "%s", topo->package[i].model);
        for (size_t j = 0; j < topo->numas; j++)
            if (topo->numa[j].package == (int)i)
                put_numa(b, j, box);
        put_roots(b, -1, (int)i, box);
    }
    for (size_t j = 0; j < topo->numas; j++)
        if (topo->numa[j].package < 0)
            put_numa(b, j, page);
    bool left = false;
    for (size_t i = 0; i < topo->pcis; i++)
        left |= b->leads[i] && !b->done[i];
    for (size_t i = 0; i < topo->nics; i++)
        left |= topo->nic[i].pci < 0 && topo->nic[i].numa < 0;
    if (left) {
        int box = add_box(b, FC_BOX_NUMA, page);
        snprintf(b->layout->box[box].title, sizeof b->layout->box->title,
                 "near no NUMA node in particular");
        put_roots(b, -1, -1, box);
    }
}

/* ---- sizes, from the innermost box outwards ---- */

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

static void size_leaves(const struct fc_box *box, int *w, int *h)
{
    int nic_rows = box->columns ? ceil_div(box->nics, box->columns) : 0;
    int gpu_rows = box->columns ? ceil_div(box->gpus, box->columns) : 0;
    *w = box->columns * (FC_LEAF_W + FC_LEAF_GAP);
    *h = nic_rows * (FC_NIC_H + FC_LEAF_GAP) + gpu_rows * (FC_GPU_H + FC_LEAF_GAP);
}

static int text_width(const char *text)
{
    return (int)strlen(text) * CHAR_W;
}

static void size_box(struct fc_layout *l, size_t index)
{
    struct fc_box *box = &l->box[index];
    int w, h, row = 0, tallest = 0, title = text_width(box->title),
              detail = text_width(box->detail) * 7 / 8;
    int columns = box->gpus > ceil_div(box->nics, NIC_ROWS)
                      ? box->gpus
                      : ceil_div(box->nics, NIC_ROWS);
    box->columns = columns < MAX_COLUMNS ? columns : MAX_COLUMNS;
    size_leaves(box, &w, &h);
    for (size_t i = index + 1; i < l->boxes; i++) {
        if (l->box[i].parent != (int)index)
            continue;
        row += l->box[i].w + FC_BOX_PAD;
        tallest = l->box[i].h > tallest ? l->box[i].h : tallest;
    }
    box->inside = tallest > h ? tallest : h;
    w += row;
    w = w > title ? w : title;
    w = w > detail ? w : detail;
    box->w = w + FC_BOX_PAD;
    box->h = box->inside + FC_BOX_PAD + (box->kind == FC_BOX_PAGE ? 0 : FC_BOX_HEAD);
}

/* Children side by side, as tall as the row; leaves to their right, at the bottom. */
static void place_children(struct fc_layout *l, size_t index)
{
    const struct fc_box *box = &l->box[index];
    int x = box->x + FC_BOX_PAD, w, h;
    int head = box->kind == FC_BOX_PAGE ? 0 : FC_BOX_HEAD;
    int room = box->h - head - FC_BOX_PAD;
    for (size_t i = index + 1; i < l->boxes; i++) {
        if (l->box[i].parent != (int)index)
            continue;
        l->box[i].x = x;
        l->box[i].y = box->y + head;
        l->box[i].h = room;
        x += l->box[i].w + FC_BOX_PAD;
    }
    size_leaves(box, &w, &h);
    l->box[index].leaves_x = x;
    l->box[index].leaves_y = box->y + head + room - h + FC_LEAF_GAP;
}

static void place_leaves(const struct fc_topo *topo, struct fc_layout *l)
{
    for (size_t i = 0; i < topo->nics; i++) {
        const struct fc_box *box = &l->box[l->nic[i].box];
        int slot = l->nic[i].slot, columns = box->columns > 0 ? box->columns : 1;
        l->nic[i].x = box->leaves_x + slot % columns * (FC_LEAF_W + FC_LEAF_GAP);
        l->nic[i].y = box->leaves_y + slot / columns * (FC_NIC_H + FC_LEAF_GAP);
    }
    for (size_t i = 0; i < topo->gpus; i++) {
        const struct fc_box *box = &l->box[l->gpu[i].box];
        int slot = l->gpu[i].slot, columns = box->columns > 0 ? box->columns : 1;
        int above = ceil_div(box->nics, columns) * (FC_NIC_H + FC_LEAF_GAP);
        l->gpu[i].x = box->leaves_x + slot % columns * (FC_LEAF_W + FC_LEAF_GAP);
        l->gpu[i].y = box->leaves_y + above + slot / columns * (FC_GPU_H + FC_LEAF_GAP);
    }
}

bool fc_layout_open(const struct fc_topo *topo, int top, struct fc_layout *out)
{
    struct fc_layout l = {.gpu = calloc(topo->gpus + 1, sizeof *l.gpu),
                          .nic = calloc(topo->nics + 1, sizeof *l.nic)};
    struct builder b = {topo, &l, calloc(topo->pcis + 1, sizeof(bool)),
                        calloc(topo->pcis + 1, sizeof(bool)), false};
    bool good = l.gpu && l.nic && b.leads && b.done;
    for (size_t i = 0; good && i < topo->pcis; i++) {
        enum fc_pci_role role = topo->pci[i].role;
        bool leaf = (role == FC_PCI_GPU || role == FC_PCI_NIC) && !topo->pci[i].vf;
        for (int up = (int)i; leaf && up >= 0; up = topo->pci[up].parent)
            b.leads[up] = true;
    }
    if (good)
        build(&b);
    free(b.leads);
    free(b.done);
    if (!good || b.short_of_memory || l.boxes == 0) {
        fc_layout_close(&l);
        return false;
    }
    for (size_t i = l.boxes; i-- > 0;)
        size_box(&l, i);
    l.box[0].y = top;
    for (size_t i = 0; i < l.boxes; i++)
        place_children(&l, i);
    place_leaves(topo, &l);
    l.w = l.box[0].w + FC_BOX_PAD;
    l.h = top + l.box[0].h;
    *out = l;
    return true;
}

void fc_layout_close(struct fc_layout *layout)
{
    free(layout->box);
    free(layout->gpu);
    free(layout->nic);
    *layout = (struct fc_layout){0};
}
