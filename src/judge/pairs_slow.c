// SPDX-License-Identifier: BSD-3-Clause
/* Which links are slow against the others; pairs.h says when. A link is looked at as a
 * share of what its equals reach. */
#include "judge/pairs_parts.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENDS, RECEIVES, ROLES };

static const double normal_mad = 1.4826, scale_min = 0.003;
static const double member_scales = 4.0, link_scales = 6.0;
/* Standard deviation of the value that a quarter of n normal ones exceed, times root
 * n. */
static const double better_deviation = 1.36;
static const size_t leaves_least = 3;
/* Of few members even the best link is below: that is no chance from a smaller drop on,
 * the more links it is the best of. */
static double few_drop(size_t members)
{
    return members < FC_PAIRS_SOME ? 0.05 : 0.025;
}

static double few_scales(size_t members)
{
    return members < FC_PAIRS_SOME ? 4.0 : 2.5;
}

/* With three or four members there are too few links to know their spread. */
static double tiny_drop(size_t members)
{
    return members > 4 ? 0.0 : members == 4 ? 0.30 : 0.40;
}

/* One link in a great many is by chance the worst. */
static const double link_drop = 0.10, link_drop_few = 0.20;

struct study {
    struct fc_arena *arena;
    double least;
    double *share; /* [links]: of what its equals reach */
    double *x;     /* [links], scratch */
    bool *out;     /* [members]: no longer part of the yardstick */
    bool firsts;   /* links that were measured again are no part of it */
};

static uint32_t end_of(const struct fc_link *l, int role)
{
    return role == SENDS ? l->from : l->to;
}

static bool counts_for(const struct fc_link *l, int role)
{
    return role == SENDS ? !l->guest_from : !l->guest_to;
}

static bool measured(const struct study *s, const struct fc_link *l)
{
    return !s->out[l->from] && !s->out[l->to] && !l->bad;
}

/* Of s->x[0..count), which is spoilt; count > 0. */
static void centre_of(const struct study *s, size_t count, double *centre,
                      double *scale)
{
    *centre = fc_select_median(s->x, count);
    for (size_t i = 0; i < count; i++)
        s->x[i] = fabs(s->x[i] - *centre);
    *scale = fmax(normal_mad * fc_select_median(s->x, count) / *centre, scale_min);
}

/* As many of s->x[0..count) as know a spread well enough, evenly taken. */
static size_t thin_out(const struct study *s, size_t count)
{
    enum { PLENTY = 1 << 16 };
    size_t step = count / PLENTY + 1, kept = 0;
    for (size_t i = 0; i < count; i += step)
        s->x[kept++] = s->x[i];
    return kept;
}

/* What slow links are looked for in: one member, or all of a leaf switch. */
struct few_part {
    uint32_t member; /* the first */
    bool leaf;
};

static bool has(const struct study *s, const struct few_part *p, uint32_t member)
{
    const struct fc_member *m = s->arena->member;
    return p->leaf ? m[member].leaf == m[p->member].leaf : member == p->member;
}

/* The links without that part (NULL: all that are measured). */
static size_t gather_others(const struct study *s, const struct few_part *p)
{
    size_t count = 0;
    for (size_t i = 0; i < s->arena->links; i++) {
        const struct fc_link *l = &s->arena->link[i];
        if (measured(s, l) && !(p && (has(s, p, l->from) || has(s, p, l->to))) &&
            !(s->firsts && l->again))
            s->x[count++] = s->share[i];
    }
    return count;
}

/* --- three to eight members: every link of one, or that leaves one switch --- */

/* The part is that end of the link, and not the other one. */
static bool crosses(const struct study *s, const struct few_part *p,
                    const struct fc_link *l, int role)
{
    return has(s, p, end_of(l, role)) && !has(s, p, end_of(l, !role));
}

static void mark_role(const struct study *s, const struct few_part *p, int role)
{
    for (size_t i = 0; i < s->arena->links; i++)
        if (crosses(s, p, &s->arena->link[i], role))
            s->arena->link[i].bad = true;
}

/* The best of the part's links in this role; NaN with fewer than two. */
static double best_of(const struct study *s, const struct few_part *p, int role)
{
    double best = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < s->arena->links; i++) {
        const struct fc_link *l = &s->arena->link[i];
        if (!measured(s, l) || !crosses(s, p, l, role))
            continue;
        best = fmax(best, s->share[i]);
        count++;
    }
    return count >= 2 ? best : (double)NAN;
}

/* How far below the others' middle the part is in its worse role, when that is far;
 * else 0. slow[role] says which. */
static double drop_of(const struct study *s, const struct few_part *p, bool *slow)
{
    double centre, scale, most = 0.0;
    size_t others = gather_others(s, p);
    slow[SENDS] = slow[RECEIVES] = false;
    if (others < 2)
        return 0.0;
    centre_of(s, others, &centre, &scale);
    size_t members = s->arena->members;
    double least = fmax(fmax(s->least, few_drop(members)), few_scales(members) * scale);
    least = fmax(least, tiny_drop(members));
    for (int role = 0; role < ROLES; role++) {
        double drop = 1.0 - best_of(s, p, role) / centre;
        slow[role] = drop > least;
        most = slow[role] ? fmax(most, drop) : most;
    }
    return most;
}

/* How many members, all still part of the yardstick; 0: no part. A leaf switch of one
 * is that member. */
static size_t size_of(const struct study *s, const struct few_part *p)
{
    const struct fc_arena *a = s->arena;
    size_t size = 0;
    if (p->leaf && a->member[p->member].leaf == FC_EV_NO_LEAF)
        return 0;
    for (uint32_t m = 0; m < a->members; m++) {
        if (!has(s, p, m))
            continue;
        if (s->out[m] || m < p->member)
            return 0;
        size++;
    }
    return p->leaf && size < 2 ? 0 : size;
}

/* The slowest part of at most that many members; its size, 0: none. Where a member's
 * own links are as slow as those of its switch, it is the member. */
static size_t find_slowest(const struct study *s, size_t size_most,
                           struct few_part *out)
{
    double most = 0.0;
    size_t found = 0;
    bool slow[ROLES];
    for (int leaf = 0; leaf < 2; leaf++)
        for (uint32_t m = 0; m < s->arena->members; m++) {
            struct few_part part = {m, leaf};
            size_t size = size_of(s, &part);
            double drop = size && size <= size_most ? drop_of(s, &part, slow) : 0.0;
            if (drop > most) {
                most = drop;
                found = size;
                *out = part;
            }
        }
    return found;
}

static void mark_among_few(struct study *s)
{
    size_t left = (s->arena->members - 1) / 2, size;
    struct few_part worst;
    bool slow[ROLES];
    while (left > 0 && (size = find_slowest(s, left, &worst))) {
        (void)drop_of(s, &worst, slow);
        for (int role = 0; role < ROLES; role++)
            if (slow[role])
                mark_role(s, &worst, role);
        for (uint32_t m = 0; m < s->arena->members; m++)
            s->out[m] = s->out[m] || has(s, &worst, m);
        left -= size;
    }
}

/* --- more members: the better ones of each part's links --- */

/* The links of parts in one role: of[start[p]…start[p + 1]) belong to part p. */
struct lists {
    size_t parts;
    size_t *start;
    uint32_t *of;
    double *score; /* [parts]: of the better links; NaN: too few */
    double *x;     /* [parts] */
    size_t least;  /* links that make a score */
};

/* The part that the link counts for in this role; UINT32_MAX: none. */
static uint32_t part_of(const struct study *s, const struct fc_link *l, int role,
                        bool leaves)
{
    const struct fc_arena *a = s->arena;
    uint32_t from = a->member[l->from].leaf, to = a->member[l->to].leaf;
    if (!counts_for(l, role))
        return UINT32_MAX;
    if (!leaves)
        return end_of(l, role);
    return from == to ? UINT32_MAX : role == SENDS ? from : to;
}

static void sort_links(const struct study *s, int role, bool leaves, struct lists *out)
{
    const struct fc_arena *a = s->arena;
    memset(out->start, 0, (out->parts + 2) * sizeof *out->start);
    for (size_t i = 0; i < a->links; i++) {
        uint32_t part = part_of(s, &a->link[i], role, leaves);
        if (part != UINT32_MAX)
            out->start[part + 2]++;
    }
    for (size_t p = 0; p < out->parts; p++)
        out->start[p + 2] += out->start[p + 1];
    for (size_t i = 0; i < a->links; i++) {
        uint32_t part = part_of(s, &a->link[i], role, leaves);
        if (part != UINT32_MAX)
            out->of[out->start[part + 1]++] = (uint32_t)i;
    }
}

/* The scores' middle and spread; how many parts have one. */
static size_t score_parts(const struct study *s, struct lists *l, double *centre,
                          double *scale)
{
    size_t scores = 0;
    for (size_t p = 0; p < l->parts; p++) {
        size_t n = l->start[p + 1] - l->start[p];
        for (size_t i = 0; i < n; i++)
            s->x[i] = s->share[l->of[l->start[p] + i]];
        l->score[p] = n >= l->least ? fc_better_of(s->x, n) : (double)NAN;
        if (n >= l->least)
            l->x[scores++] = l->score[p];
    }
    if (scores == 0)
        return 0;
    memcpy(s->x, l->x, scores * sizeof *l->x);
    centre_of(s, scores, centre, scale);
    return scores;
}

/* Marks what is low of the links of each part that is far below the others. Few scores
 * know their own spread badly; that of all links says what it should be. */
static void mark_parts(struct study *s, struct lists *l, double spread,
                       size_t parts_least, struct fc_pairs_level *level)
{
    double centre, scale;
    size_t scores = score_parts(s, l, &centre, &scale);
    if (scores < parts_least || scores < 2)
        return;
    for (size_t p = 0; p < l->parts; p++) {
        size_t n = l->start[p + 1] - l->start[p];
        double chance = better_deviation * spread / sqrt((double)(n ? n : 1));
        double drop = 1.0 - l->score[p] / centre;
        if (!(drop > fmax(s->least, member_scales * fmax(scale, chance))))
            continue;
        for (size_t i = l->start[p]; i < l->start[p + 1]; i++)
            if (s->share[l->of[i]] < centre * (1.0 - drop / 2.0)) {
                s->arena->link[l->of[i]].bad = true;
                s->arena->link[l->of[i]].mild = true;
            }
    }
    if (level)
        level->part = isnan(level->part) ? scale : fmax(level->part, scale);
}

/* Leaf switches that have three nodes; how many there are. */
static size_t count_leaves(const struct fc_arena *a, size_t *bound)
{
    size_t leaves = 0;
    uint32_t most = 0;
    bool any = false;
    *bound = 0;
    for (size_t m = 0; m < a->members; m++)
        if (a->member[m].leaf != FC_EV_NO_LEAF) {
            most = a->member[m].leaf > most ? a->member[m].leaf : most;
            any = true;
        }
    if (!any)
        return 0;
    *bound = (size_t)most + 1;
    bool *seen = calloc(*bound, sizeof *seen);
    for (size_t m = 0; seen && m < a->members; m++)
        if (a->member[m].leaf != FC_EV_NO_LEAF && !seen[a->member[m].leaf]) {
            seen[a->member[m].leaf] = true;
            leaves++;
        }
    free(seen);
    return leaves;
}

static bool lists_open(const struct study *s, size_t parts, struct lists *out)
{
    *out = (struct lists){.parts = parts,
                          .start = malloc((parts + 3) * sizeof *out->start),
                          .of = malloc((s->arena->links + 1) * sizeof *out->of),
                          .score = malloc((parts + 1) * sizeof *out->score),
                          .x = malloc((parts + 1) * sizeof *out->x)};
    return out->start && out->of && out->score && out->x;
}

static void lists_close(struct lists *l)
{
    free(l->start);
    free(l->of);
    free(l->score);
    free(l->x);
}

static bool mark_among_many(struct study *s, struct fc_pairs_level *level)
{
    size_t bound, leaves = count_leaves(s->arena, &bound);
    double middle, spread;
    struct lists l;
    centre_of(s, thin_out(s, gather_others(s, NULL)), &middle, &spread);
    bool ok = true;
    if (leaves >= leaves_least) {
        ok = lists_open(s, bound, &l);
        l.least = leaves_least * leaves_least;
        for (int role = 0; ok && role < ROLES; role++) {
            sort_links(s, role, true, &l);
            mark_parts(s, &l, spread, leaves_least, NULL);
        }
        lists_close(&l);
    }
    if (!ok)
        return false;
    ok = lists_open(s, s->arena->members, &l);
    l.least = 2;
    for (int role = 0; ok && role < ROLES; role++) {
        sort_links(s, role, false, &l);
        mark_parts(s, &l, spread, 2, level);
    }
    lists_close(&l);
    return ok;
}

/* --- single links --- */

static void mark_links(struct study *s, struct fc_pairs_level *level)
{
    struct fc_arena *a = s->arena;
    size_t count = gather_others(s, NULL), low = 0;
    double centre;
    if (count == 0)
        return;
    centre_of(s, thin_out(s, count), &centre, &level->scale);
    double least = a->members <= FC_PAIRS_FEW ? link_drop_few : link_drop;
    least = fmax(least, tiny_drop(a->members));
    least = fmax(fmax(s->least, least), link_scales * level->scale);
    double floor = (1.0 - least) * centre;
    for (size_t i = 0; i < a->links; i++) {
        a->link[i].equal *= centre; /* now their middle, not that of the better ones */
        low += measured(s, &a->link[i]) && s->share[i] < floor;
        a->link[i].mild = a->link[i].mild && !(s->share[i] < floor);
    }
    level->spread = low > 2 && 10 * low > count;
    for (size_t i = 0; i < a->links && !level->spread; i++)
        if (measured(s, &a->link[i]) && s->share[i] < floor)
            a->link[i].bad = true;
    level->top = centre;
    for (size_t i = 0; i < a->links; i++)
        s->x[i] = s->share[i];
    count = thin_out(s, a->links);
    double best = fc_select(s->x, count, count - 1 - count / 10);
    for (count = 0, low = 0; low < a->links; low++)
        if (measured(s, &a->link[low]))
            s->x[count++] = a->link[low].value;
    count = thin_out(s, count);
    level->centre = count ? fc_select_median(s->x, count) : (double)NAN;
    level->top = level->centre * best / centre;
}

/* A link was measured again for the sake of that end of it which has more such links.
 */
static bool mark_guests(const struct study *s)
{
    struct fc_arena *a = s->arena;
    uint32_t *again = calloc(a->members + 1, sizeof *again);
    if (!again)
        return false;
    for (size_t i = 0; i < a->links; i++) {
        again[a->link[i].from] += a->link[i].again;
        again[a->link[i].to] += a->link[i].again;
    }
    for (size_t i = 0; i < a->links; i++) {
        struct fc_link *l = &a->link[i];
        bool guest = s->firsts && l->again;
        l->guest_from = guest && again[l->from] < again[l->to];
        l->guest_to = guest && again[l->to] < again[l->from];
    }
    free(again);
    return true;
}

bool fc_pairs_mark_slow(const struct fc_evidence *ev, struct fc_arena *a, double least,
                        struct fc_pairs_level *out)
{
    size_t room = a->links > a->members ? a->links : a->members;
    bool few = a->members <= FC_PAIRS_FEW, ok = true;
    *out = (struct fc_pairs_level){(double)NAN, (double)NAN, (double)NAN, (double)NAN,
                                   false};
    for (size_t i = 0; i < a->links; i++)
        a->link[i].bad = a->link[i].mild = a->link[i].near = false;
    if (a->members < 3 || a->links == 0)
        return true;
    struct study s = {.arena = a,
                      .least = least,
                      .share = malloc((room + 1) * sizeof *s.share),
                      .x = malloc((room + 1) * sizeof *s.x),
                      .firsts = !few && fc_pairs_firsts(a),
                      .out = calloc(a->members + 1, sizeof *s.out)};
    ok = s.share && s.x && s.out && mark_guests(&s) && fc_pairs_set_equals(ev, a, few);
    for (size_t i = 0; ok && i < a->links; i++)
        s.share[i] = a->link[i].value / a->link[i].equal;
    if (ok && few)
        mark_among_few(&s);
    else if (ok)
        ok = mark_among_many(&s, out);
    if (ok) {
        memset(s.out, 0, a->members * sizeof *s.out);
        mark_links(&s, out);
    }
    free(s.share);
    free(s.x);
    free(s.out);
    return ok;
}
