// SPDX-License-Identifier: BSD-3-Clause
/* A fault behind another one: links that are far below even what the part to blame
 * explains. pairs.h says when. */
#include "judge/pairs.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double link_drop = 0.10, link_scales = 6.0;

/* What the part's links reach of what their equals do. */
static double level_of(const struct fc_arena *a, const struct fc_culprit *k, double *x)
{
    size_t count = 0;
    for (size_t i = 0; i < a->links; i++)
        if (fc_culprit_explains(a, k, &a->link[i]))
            x[count++] = a->link[i].value / a->link[i].equal;
    return count ? fc_select_median(x, count) : 1.0;
}

bool fc_pairs_mark_deeper(struct fc_arena *a, const struct fc_blame *blame,
                          const struct fc_pairs_level *level)
{
    double *left = malloc((a->links + 1) * sizeof *left);
    double *x = malloc((a->links + 1) * sizeof *x);
    double floor = 1.0 - fmax(link_drop, link_scales * level->scale);
    size_t explained = 0, deeper = 0;
    bool ok = left && x;
    for (size_t i = 0; ok && i < a->links; i++)
        left[i] = 1.0;
    for (size_t k = 0; ok && k < blame->count; k++) {
        const struct fc_culprit *c = &blame->culprit[k];
        if (c->kind == FC_CULPRIT_LINK || c->kind == FC_CULPRIT_ALL)
            continue;
        double share = level_of(a, c, x);
        for (size_t i = 0; i < a->links; i++)
            if (fc_culprit_explains(a, c, &a->link[i]))
                left[i] = fmin(left[i], share);
    }
    for (size_t i = 0; ok && i < a->links; i++) {
        struct fc_link *l = &a->link[i];
        explained += left[i] < 1.0;
        l->mild = false;
        l->bad = left[i] < 1.0 && l->value < floor * left[i] * l->equal;
        l->equal *= left[i];
        deeper += l->bad;
    }
    /* Many of them mean that the part is not alike in itself. */
    for (size_t i = 0; ok && i < a->links && 20 * deeper > explained; i++)
        a->link[i].bad = false;
    free(left);
    free(x);
    return ok;
}
