// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/plan.h"

/* What a level asks for; -b, -e and -f come first. */
static const struct {
    uint64_t min_bytes,
        max_bytes; /* of all-reduce, and of the others up to other_max */
    uint64_t other_min, other_max;
    double factor;
    double seconds, other_seconds; /* of a series */
    bool types;                    /* all types and reductions too */
} levels[] = {
    [FC_LEVEL_QUICK] = {1 << 10, 4 << 20, 1 << 20, 1 << 20, 64, 1, 0.1, false},
    [FC_LEVEL_STANDARD] = {8, 64 << 20, 8, 16 << 20, 8, 10, 4, true},
    [FC_LEVEL_FULL] = {8, 256 << 20, 8, 64 << 20, 4, 40, 15, true},
    [FC_LEVEL_SOAK] = {8, 256 << 20, 8, 64 << 20, 4, 40, 15, true},
};

#define TYPES_BYTES ((uint64_t)256 << 10)
#define TYPES_SECONDS 0.2

static const enum fc_dtype dtypes[] = {FC_DTYPE_FP32, FC_DTYPE_FP64, FC_DTYPE_BF16,
                                       FC_DTYPE_INT32, FC_DTYPE_INT8};

static void set_range(const struct fc_settings *s, struct fc_coll_series *series)
{
    if (s->min_bytes)
        series->min_bytes = s->min_bytes;
    if (s->max_bytes)
        series->max_bytes = s->max_bytes;
    if (s->factor > 1)
        series->factor = s->factor;
    if (series->max_bytes < series->min_bytes) /* only one of the two was given */
        *(s->min_bytes ? &series->max_bytes : &series->min_bytes) =
            s->min_bytes ? series->min_bytes : series->max_bytes;
}

static size_t add_types(struct fc_coll_series *out, size_t n)
{
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int redop = 0; redop < FC_REDOP_COUNT; redop++)
            out[n++] = (struct fc_coll_series){.op = FC_COLL_ALL_REDUCE,
                                               .dtype = dtypes[d],
                                               .redop = (enum fc_redop)redop,
                                               .min_bytes = TYPES_BYTES,
                                               .max_bytes = TYPES_BYTES,
                                               .factor = 2,
                                               .seconds = TYPES_SECONDS};
    return n;
}

size_t fc_coll_plan(const struct fc_settings *s, bool main, struct fc_coll_series *out)
{
    size_t n = 0;
    for (int op = 0; op < (main ? 1 : FC_COLL_COUNT); op++) {
        bool first = op == FC_COLL_ALL_REDUCE;
        out[n] =
            (struct fc_coll_series){.op = (enum fc_coll)op,
                                    .dtype = FC_DTYPE_FP32,
                                    .redop = FC_REDOP_SUM,
                                    .min_bytes = first ? levels[s->level].min_bytes
                                                       : levels[s->level].other_min,
                                    .max_bytes = first ? levels[s->level].max_bytes
                                                       : levels[s->level].other_max,
                                    .factor = levels[s->level].factor,
                                    .seconds = first ? levels[s->level].seconds
                                                     : levels[s->level].other_seconds};
        set_range(s, &out[n++]);
    }
    return main || !levels[s->level].types ? n : add_types(out, n);
}

uint64_t fc_coll_next_size(const struct fc_coll_series *series, uint64_t bytes)
{
    if (bytes >= series->max_bytes)
        return 0;
    double next = (double)bytes * series->factor;
    uint64_t rounded =
        next >= (double)series->max_bytes ? series->max_bytes : (uint64_t)next & ~3ULL;
    if (rounded <= bytes)
        rounded = bytes + 4;
    return rounded < series->max_bytes ? rounded : series->max_bytes;
}

unsigned fc_coll_count_sizes(const struct fc_coll_series *series)
{
    unsigned n = 0;
    for (uint64_t b = series->min_bytes; b; b = fc_coll_next_size(series, b))
        n++;
    return n;
}
