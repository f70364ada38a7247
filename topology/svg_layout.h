// SPDX-License-Identifier: BSD-3-Clause
/* Where things stand in the drawing: boxes in boxes, in pixels from the upper left.
 * Nearness is containment: a package holds NUMA nodes, they hold host bridges (where
 * that says something) and switches, and those hold NICs above and GPUs in the last
 * row. Collective: no. Refuses to know: SVG.
 */
#ifndef FC_TOPOLOGY_SVG_LAYOUT_H
#define FC_TOPOLOGY_SVG_LAYOUT_H

#include "topology/model.h"

enum fc_box_kind {
    FC_BOX_PAGE,
    FC_BOX_PACKAGE,
    FC_BOX_NUMA,
    FC_BOX_HOST,
    FC_BOX_SWITCH
};

struct fc_box {
    enum fc_box_kind kind;
    char title[160], detail[160];
    int parent;     /* index; -1: the page */
    int x, y, w, h; /* the box itself */
    int leaves_x, leaves_y, columns;
    int inside;     /* height of what it holds */
    int gpus, nics; /* how many */
};

struct fc_place {
    int box, slot; /* which box, which place in its row of its kind */
    int x, y;
};

struct fc_layout {
    struct fc_box *box; /* a box stands after its parent; 0 is the page */
    size_t boxes;
    struct fc_place *gpu; /* one for each GPU, and each NIC */
    struct fc_place *nic;
    int w, h;
};

enum {
    FC_LEAF_W = 132,
    FC_GPU_H = 64,
    FC_NIC_H = 50,
    FC_LEAF_GAP = 8,
    FC_BOX_PAD = 10,
    FC_BOX_HEAD = 36,
};

/* False: out of memory. `top` pixels are left free above. Collective: no. */
bool fc_layout_open(const struct fc_topo *topo, int top, struct fc_layout *out);
/* NULL-safe members. Collective: no. */
void fc_layout_close(struct fc_layout *layout);

#endif
