// SPDX-License-Identifier: BSD-3-Clause
/* Which links are slow against the others; pairs.h says when. */
#include "judge/pairs.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENDS, RECEIVES, ROLES, FEW = 8 };

static const double normal_mad = 1.4826, scale_min = 0.003;
static const double member_scales = 4.0, link_scales = 6.0;
static const double median_deviation = 1.2533; /* of n normal values, times root n */
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
    double *x, *scratch; /* [links] */
    bool *out;           /* [members]: no longer part of the yardstick */
};

static size_t end_of(const struct fc_link *l, int role)
{
    return role == SENDS ? l->from : l->to;
}

static bool measured(const struct study *s, const struct fc_link *l)
{
    return !s->out[l->from] && !s->out[l->to] && !l->bad;
}

static void centre_of(const struct study *s, size_t count, double *centre,
                      double *scale)
{
    *centre = fc_median_in_place(s->x, count);
    *scale = fmax(normal_mad * fc_mad(s->x, count, *centre, s->scratch) / *centre,
                  scale_min);
}

/* The links without `member` (SIZE_MAX: all that are measured). */
static size_t gather_others(const struct study *s, size_t member)
{
    size_t count = 0;
    for (size_t i = 0; i < s->arena->links; i++) {
        const struct fc_link *l = &s->arena->link[i];
        if (measured(s, l) && l->from != member && l->to != member)
            s->x[count++] = l->value;
    }
    return count;
}

static void mark_role(const struct study *s, size_t member, int role)
{
    for (size_t i = 0; i < s->arena->links; i++)
        if (end_of(&s->arena->link[i], role) == member)
            s->arena->link[i].bad = true;
}

/* --- three to eight members: every link of one --- */

/* The best of the member's links in this role; NaN with fewer than two. */
static double best_of(const struct study *s, size_t member, int role)
{
    double best = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < s->arena->links; i++) {
        const struct fc_link *l = &s->arena->link[i];
        if (!measured(s, l) || end_of(l, role) != member)
            continue;
        best = fmax(best, l->value);
        count++;
    }
    return count >= 2 ? best : (double)NAN;
}

/* How far below the others' middle the member is in its worse role, when that is far;
 * else 0. slow[role] says which. */
static double drop_of(const struct study *s, size_t member, bool *slow)
{
    double centre, scale, most = 0.0;
    size_t others = gather_others(s, member);
    slow[SENDS] = slow[RECEIVES] = false;
    if (others < 2)
        return 0.0;
    centre_of(s, others, &centre, &scale);
    double least = fmax(s->least, member_scales * scale);
    least = fmax(least, tiny_drop(s->arena->members));
    for (int role = 0; role < ROLES; role++) {
        double drop = 1.0 - best_of(s, member, role) / centre;
        slow[role] = drop > least;
        most = slow[role] ? fmax(most, drop) : most;
    }
    return most;
}

static void mark_among_few(struct study *s)
{
    for (size_t left = (s->arena->members - 1) / 2; left > 0; left--) {
        size_t worst = 0;
        double most = 0.0;
        bool slow[ROLES];
        for (size_t i = 0; i < s->arena->members; i++) {
            double drop = s->out[i] ? 0.0 : drop_of(s, i, slow);
            if (drop > most) {
                most = drop;
                worst = i;
            }
        }
        if (most <= 0.0)
            return;
        (void)drop_of(s, worst, slow);
        for (int role = 0; role < ROLES; role++)
            if (slow[role])
                mark_role(s, worst, role);
        s->out[worst] = true;
    }
}

/* --- more members: the median of each one's links --- */

struct of_member {
    size_t member;
    double value;
    size_t links; /* that it is the median of */
};

static int by_member_and_value(const void *pa, const void *pb)
{
    const struct of_member *a = pa, *b = pb;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* Medians of the members' links in a role, for those with at least two; how many. */
static size_t medians(const struct study *s, int role, struct of_member *link,
                      struct of_member *out)
{
    const struct fc_arena *a = s->arena;
    size_t count = 0;
    for (size_t i = 0; i < a->links; i++)
        link[i] = (struct of_member){end_of(&a->link[i], role), a->link[i].value, 1};
    qsort(link, a->links, sizeof *link, by_member_and_value);
    for (size_t i = 0; i < a->links;) {
        size_t end = i + 1;
        while (end < a->links && link[end].member == link[i].member)
            end++;
        size_t n = end - i;
        double upper = link[i + n / 2].value, lower = link[i + (n - 1) / 2].value;
        if (n >= 2)
            out[count++] = (struct of_member){link[i].member, (upper + lower) / 2.0, n};
        i = end;
    }
    return count;
}

/* Members whose median is far below the middle of the medians. Few medians know their
 * own spread badly; that of all links says what it should be. */
static void mark_members(const struct study *s, int role,
                         const struct of_member *median, size_t count, double spread)
{
    double centre, scale;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        s->x[i] = median[i].value;
    centre_of(s, count, &centre, &scale);
    for (size_t i = 0; i < count; i++) {
        double chance = median_deviation * spread / sqrt((double)median[i].links);
        if (1.0 - median[i].value / centre >
            fmax(s->least, member_scales * fmax(scale, chance)))
            mark_role(s, median[i].member, role);
    }
}

static bool mark_among_many(struct study *s)
{
    struct of_member *link = malloc((s->arena->links + 1) * sizeof *link);
    struct of_member *median[ROLES];
    size_t count[ROLES] = {0};
    for (int role = 0; role < ROLES; role++)
        median[role] = malloc((s->arena->members + 1) * sizeof(struct of_member));
    bool ok = link && median[SENDS] && median[RECEIVES];
    for (int role = 0; ok && role < ROLES; role++)
        count[role] = medians(s, role, link, median[role]);
    double middle, spread;
    centre_of(s, gather_others(s, SIZE_MAX), &middle, &spread);
    for (int role = 0; role < ROLES; role++)
        mark_members(s, role, median[role], count[role], spread);
    for (int role = 0; role < ROLES; role++)
        free(median[role]);
    free(link);
    return ok;
}

/* --- single links --- */

static bool is_low(const struct study *s, const struct fc_link *l, double floor)
{
    return measured(s, l) && l->value < floor;
}

static void mark_links(struct study *s, struct fc_pairs_level *level)
{
    struct fc_arena *a = s->arena;
    size_t count = gather_others(s, SIZE_MAX), low = 0;
    if (count == 0)
        return;
    centre_of(s, count, &level->centre, &level->scale);
    double least = a->members <= FEW ? link_drop_few : link_drop;
    least = fmax(least, tiny_drop(a->members));
    least = fmax(fmax(s->least, least), link_scales * level->scale);
    double floor = (1.0 - least) * level->centre;
    for (size_t i = 0; i < a->links; i++)
        low += is_low(s, &a->link[i], floor);
    level->spread = low > 2 && 10 * low > count;
    for (size_t i = 0; i < a->links && !level->spread; i++)
        if (is_low(s, &a->link[i], floor))
            a->link[i].bad = true;
}

bool fc_pairs_mark_slow(struct fc_arena *a, double least, struct fc_pairs_level *out)
{
    struct study s = {.arena = a,
                      .least = least,
                      .x = malloc((a->links + 1) * sizeof *s.x),
                      .scratch = malloc((a->links + 1) * sizeof *s.scratch),
                      .out = calloc(a->members + 1, sizeof *s.out)};
    bool ok = s.x && s.scratch && s.out;
    *out = (struct fc_pairs_level){(double)NAN, (double)NAN, (double)NAN, false};
    for (size_t i = 0; ok && i < a->links; i++)
        a->link[i].bad = false;
    if (ok && a->members > 2 && a->links > 0) {
        if (a->members <= FEW)
            mark_among_few(&s);
        else
            ok = mark_among_many(&s);
        memset(s.out, 0, a->members * sizeof *s.out);
        mark_links(&s, out);
        for (size_t i = 0; i < a->links; i++)
            s.x[i] = a->link[i].value;
        (void)fc_median_in_place(s.x, a->links);
        out->top = fc_quantile_sorted(s.x, a->links, 0.9);
    }
    free(s.x);
    free(s.scratch);
    free(s.out);
    return ok;
}
