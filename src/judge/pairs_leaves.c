// SPDX-License-Identifier: BSD-3-Clause
/* Leaf switches that nobody told, from latencies: two nodes of one switch answer each
 * other sooner. Only where nearly all pairs of nodes with one NIC were measured and the
 * latencies form two clusters that lie apart. */
#include "judge/pairs.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>

/* A square of bytes must fit; fewer nodes have no three switches of three. */
enum { MEMBERS_LEAST = 9, MEMBERS_MOST = 8192, STEPS = 20 };

static const double apart = 1.15, apart_scales = 6.0;

static bool has_latency(const struct fc_link *l)
{
    return l->from < l->to && l->pair && isfinite(l->pair->latency);
}

/* The middle and the spread of the logarithms below (above) `cut`. */
static size_t side(const double *x, size_t n, double cut, bool above, double *scratch,
                   double *centre, double *scale)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if ((x[i] > cut) == above)
            scratch[count++] = x[i];
    if (count == 0)
        return 0;
    *centre = fc_select_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(scratch[i] - *centre);
    *scale = 1.4826 * fc_select_median(scratch, count);
    return count;
}

/* Between the two clusters; NaN when there are not two. */
static double find_cut(double *x, size_t n, double *scratch)
{
    double low = fc_select(x, n, n / 200), high = fc_select(x, n, n / 2);
    double low_scale = 0.0, high_scale = 0.0, cut = 0.5 * (low + high);
    size_t lows = 0, highs = 0;
    for (int step = 0; step < STEPS; step++) {
        lows = side(x, n, cut, false, scratch, &low, &low_scale);
        highs = side(x, n, cut, true, scratch, &high, &high_scale);
        double next = 0.5 * (low + high);
        if (next == cut)
            break;
        cut = next;
    }
    double gap = high - low, noise = fmax(low_scale, high_scale);
    bool two = lows > 0 && highs > 0 && gap > log(apart) && gap > apart_scales * noise;
    return two ? cut : (double)NAN;
}

static bool is_near(const unsigned char *near, size_t members, size_t a, size_t b)
{
    return a == b || near[a * members + b];
}

/* Those near to `seed` and to most of the others that are; false: none but itself. */
static bool make_group(struct fc_arena *a, const unsigned char *near, size_t seed,
                       uint32_t *group, uint32_t leaf)
{
    size_t count = 0, kept = 0;
    for (size_t m = seed; m < a->members; m++)
        if (a->member[m].leaf == FC_EV_NO_LEAF && is_near(near, a->members, seed, m))
            group[count++] = (uint32_t)m;
    for (size_t i = 0; i < count; i++) {
        size_t friends = 0;
        for (size_t k = 0; k < count; k++)
            friends += is_near(near, a->members, group[i], group[k]);
        if (2 * friends <= count)
            continue;
        a->member[group[i]].leaf = leaf;
        kept++;
    }
    return kept > 1;
}

/* The share of links that are near exactly when both ends are of one group. */
static double agreement(const struct fc_arena *a, const unsigned char *near)
{
    size_t of = 0, fits = 0;
    for (size_t i = 0; i < a->links; i++) {
        const struct fc_link *l = &a->link[i];
        if (!has_latency(l))
            continue;
        bool same = a->member[l->from].leaf == a->member[l->to].leaf;
        fits += same == is_near(near, a->members, l->from, l->to);
        of++;
    }
    return of ? (double)fits / (double)of : 0.0;
}

static void group_all(struct fc_arena *a, const unsigned char *near, uint32_t *group)
{
    uint32_t leaf = 0;
    bool any = false;
    for (size_t m = 0; m < a->members; m++)
        if (a->member[m].leaf == FC_EV_NO_LEAF) {
            any = make_group(a, near, m, group, leaf) || any;
            a->member[m].leaf = leaf++;
        }
    a->inferred = any && leaf > 1 && agreement(a, near) > 0.98;
    for (size_t m = 0; m < a->members && !a->inferred; m++)
        a->member[m].leaf = FC_EV_NO_LEAF;
}

static bool worth_a_look(const struct fc_arena *a)
{
    size_t pairs = 0;
    if (a->node != FC_NONE || a->rails || a->members < MEMBERS_LEAST ||
        a->members > MEMBERS_MOST)
        return false;
    for (size_t m = 0; m < a->members; m++)
        if (a->member[m].leaf != FC_EV_NO_LEAF)
            return false;
    for (size_t i = 0; i < a->links; i++)
        pairs += has_latency(&a->link[i]);
    return 20 * pairs >= 9 * a->members * (a->members - 1);
}

bool fc_pairs_infer_leaves(struct fc_arena *a)
{
    size_t count = 0;
    if (!worth_a_look(a))
        return true;
    double *x = malloc(a->links * sizeof *x), *scratch = malloc(a->links * sizeof *x);
    unsigned char *near = calloc(a->members, a->members);
    uint32_t *group = malloc(a->members * sizeof *group);
    bool ok = x && scratch && near && group;
    for (size_t i = 0; ok && i < a->links; i++)
        if (has_latency(&a->link[i]))
            x[count++] = log(a->link[i].pair->latency);
    double cut = ok ? find_cut(x, count, scratch) : (double)NAN;
    for (size_t i = 0; !isnan(cut) && i < a->links; i++) {
        const struct fc_link *l = &a->link[i];
        if (has_latency(l) && log(l->pair->latency) <= cut)
            near[l->from * a->members + l->to] = near[l->to * a->members + l->from] = 1;
    }
    if (!isnan(cut))
        group_all(a, near, group);
    free(x);
    free(scratch);
    free(near);
    free(group);
    return ok;
}
