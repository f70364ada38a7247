// SPDX-License-Identifier: BSD-3-Clause
#include "core/pair_steps.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A pair that is not yet in a step. */
struct waiting {
    int low, high, concurrency;
    size_t order;
};

static int by_members(const void *pa, const void *pb)
{
    const struct waiting *a = pa, *b = pb;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_order(const void *pa, const void *pb)
{
    const struct waiting *a = pa, *b = pb;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Each pair once, where it is named first. */
static size_t list_once(const struct fc_focus *focus, struct waiting *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < focus->pairs; i++) {
        const struct fc_focus_pair *p = &focus->pair[i];
        bool up = p->node < p->partner;
        out[i] = (struct waiting){.low = up ? p->node : p->partner,
                                  .high = up ? p->partner : p->node,
                                  .concurrency = p->concurrency,
                                  .order = i};
    }
    if (focus->pairs)
        qsort(out, focus->pairs, sizeof *out, by_members);
    for (size_t i = 0; i < focus->pairs; i++)
        if (kept == 0 || out[i].low != out[kept - 1].low ||
            out[i].high != out[kept - 1].high)
            out[kept++] = out[i];
    if (kept)
        qsort(out, kept, sizeof *out, by_order);
    return kept;
}

/* Moves what fits into the step behind `done` pairs; how many are left. busy[member]:
 * the last step it is in, from 1. */
static size_t fill_step(struct waiting *wait, size_t left, uint32_t *busy,
                        struct fc_pair_steps *out, uint32_t done)
{
    size_t kept = 0;
    uint32_t step = out->steps + 1;
    int room = INT_MAX, count = 0;
    for (size_t i = 0; i < left; i++) {
        const struct waiting *w = &wait[i];
        int limit = w->concurrency < room ? w->concurrency : room;
        if (count >= limit || busy[w->low] == step || busy[w->high] == step) {
            wait[kept++] = *w;
            continue;
        }
        room = limit;
        busy[w->low] = busy[w->high] = step;
        out->pair[done + (uint32_t)count][0] = w->low;
        out->pair[done + (uint32_t)count++][1] = w->high;
    }
    out->start[step] = done + (uint32_t)count;
    out->steps = step;
    return kept;
}

enum fc_status fc_pair_steps_open(const struct fc_focus *focus, uint32_t members,
                                  struct fc_pair_steps *out, struct fc_error *err)
{
    struct waiting *wait = malloc((focus->pairs + 1) * sizeof *wait);
    uint32_t *busy = calloc(members + 1, sizeof *busy);
    *out =
        (struct fc_pair_steps){.start = calloc(focus->pairs + 2, sizeof *out->start),
                               .pair = malloc((focus->pairs + 1) * sizeof *out->pair)};
    bool ok = wait && busy && out->start && out->pair;
    size_t left = ok ? list_once(focus, wait) : 0;
    while (left)
        left = fill_step(wait, left, busy, out, out->start[out->steps]);
    free(wait);
    free(busy);
    return ok ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory for the order of pairs");
}

void fc_pair_steps_close(struct fc_pair_steps *steps)
{
    free(steps->start);
    free(steps->pair);
    *steps = (struct fc_pair_steps){0};
}

int64_t fc_pair_steps_partner(const struct fc_pair_steps *steps, uint32_t step,
                              uint32_t member)
{
    if (step >= steps->steps)
        return -1;
    for (uint32_t i = steps->start[step]; i < steps->start[step + 1]; i++)
        for (size_t end = 0; end < 2; end++)
            if (steps->pair[i][end] == (int)member)
                return steps->pair[i][1 - end];
    return -1;
}
