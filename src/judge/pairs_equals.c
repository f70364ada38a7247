// SPDX-License-Identifier: BSD-3-Clause
/* Which links are equals, and what they reach: the middle of what each sender's better
 * links of a kind reach, so that slow members, up to 40 % of all, do not move it. */
#include "judge/pairs_parts.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 64, PATHS = 16 };

/* What makes links equals; what is not told is a value as well. */
struct kind {
    const char *low, *high; /* classes of the two nodes, interned */
    int hop;                /* 1: one switch, 2: two */
    bool across;            /* rails */
    int size;               /* log2 of the bytes */
    const char *path;
};

struct sorter {
    const struct fc_evidence *ev;
    const struct fc_arena *arena;
    bool few;
    const char *path[PATHS];
    size_t of_path[PATHS], paths;
    const char *most_path;
    bool alike;              /* all pairs are of one size and path */
    struct kind kind[KINDS]; /* the last one holds what does not fit as well */
    size_t kinds, last;
    unsigned char *of; /* [links]: its kind */
};

double fc_better_of(double *x, size_t n)
{
    return fc_select(x, n, n - 1 - n / 4);
}

/* A path that few links have is no kind of its own: that link may be the slow one
 * because of it. */
static void count_paths(struct sorter *s)
{
    size_t most = 0, at = 0;
    for (size_t i = 0; i < s->arena->links; i++) {
        const char *path = s->arena->link[i].pair->path;
        for (at = at < s->paths && s->path[at] == path ? at : 0;
             at < s->paths && s->path[at] != path;)
            at++;
        if (at == s->paths && s->paths < PATHS)
            s->path[s->paths++] = path;
        if (at < s->paths)
            s->of_path[at]++;
    }
    for (at = 0; at < s->paths; at++)
        if (s->of_path[at] > most) {
            most = s->of_path[at];
            s->most_path = s->path[at];
        }
}

static const char *path_kind(const struct sorter *s, const char *path)
{
    for (size_t i = 0; i < s->paths; i++)
        if (s->path[i] == path && 4 * s->of_path[i] >= s->arena->links)
            return path;
    return s->most_path;
}

static int log2_of(int64_t bytes)
{
    int size = -1;
    for (; bytes > 0; bytes /= 2)
        size++;
    return size;
}

static struct kind kind_of(const struct sorter *s, const struct fc_link *l)
{
    const struct fc_member *a = &s->arena->member[l->from];
    const struct fc_member *b = &s->arena->member[l->to];
    struct kind kind = {.across = s->arena->rails && a->id != b->id};
    if (s->few)
        return kind;
    const char *x = s->ev->node[a->node].class, *y = s->ev->node[b->node].class;
    bool swap = x != y && strcmp(x, y) > 0;
    kind.low = swap ? y : x;
    kind.high = swap ? x : y;
    if (a->leaf != FC_EV_NO_LEAF && b->leaf != FC_EV_NO_LEAF)
        kind.hop = a->leaf == b->leaf ? 1 : 2;
    if (s->alike)
        return kind;
    kind.size = log2_of(s->ev->round[l->pair->round].bytes);
    kind.path = path_kind(s, l->pair->path);
    return kind;
}

static bool all_alike(const struct fc_evidence *ev)
{
    for (size_t i = 1; i < ev->pairs; i++)
        if (ev->pair[i].path != ev->pair[0].path ||
            ev->round[ev->pair[i].round].bytes != ev->round[ev->pair[0].round].bytes)
            return false;
    return true;
}

static bool same_kind(const struct kind *a, const struct kind *b)
{
    return a->hop == b->hop && a->across == b->across && a->size == b->size &&
           a->path == b->path && a->low == b->low && a->high == b->high;
}

static unsigned char number_of(struct sorter *s, const struct kind *kind)
{
    if (s->kinds && same_kind(&s->kind[s->last], kind))
        return (unsigned char)s->last;
    for (s->last = 0; s->last < s->kinds; s->last++)
        if (same_kind(&s->kind[s->last], kind))
            return (unsigned char)s->last;
    if (s->kinds < KINDS)
        s->kind[s->kinds++] = *kind;
    s->last = s->kinds - 1;
    return (unsigned char)s->last;
}

bool fc_pairs_firsts(const struct fc_arena *a)
{
    size_t firsts = 0;
    for (size_t i = 0; i < a->links; i++)
        firsts += !a->link[i].again;
    return firsts >= a->members;
}

/* centre[kind]: median over the senders of their better links; NaN: none. `x` and
 * `better` have room for the links and the members. */
static void find_centres(const struct sorter *s, double *x, double *better,
                         double *centre)
{
    const struct fc_arena *a = s->arena;
    bool firsts = !s->few && fc_pairs_firsts(a);
    for (size_t kind = 0; kind < s->kinds; kind++) {
        size_t senders = 0;
        for (size_t i = 0; i < a->links;) {
            uint32_t from = a->link[i].from;
            size_t n = 0;
            for (; i < a->links && a->link[i].from == from; i++)
                if (s->of[i] == kind && !(firsts && a->link[i].again))
                    x[n++] = a->link[i].value;
            if (n)
                better[senders++] = fc_better_of(x, n);
        }
        centre[kind] = senders ? fc_median_in_place(better, senders) : (double)NAN;
    }
}

bool fc_pairs_set_equals(const struct fc_evidence *ev, struct fc_arena *a, bool few)
{
    struct sorter s = {.ev = ev, .arena = a, .few = few};
    double centre[KINDS];
    double *x = malloc((a->links + 1) * sizeof *x);
    double *better = malloc((a->links + 1) * sizeof *better);
    s.of = malloc(a->links + 1);
    bool ok = x && better && s.of;
    s.alike = few || all_alike(ev);
    if (ok && !s.alike)
        count_paths(&s);
    for (size_t i = 0; ok && i < a->links; i++) {
        struct kind kind = kind_of(&s, &a->link[i]);
        s.of[i] = number_of(&s, &kind);
    }
    if (ok)
        find_centres(&s, x, better, centre);
    for (size_t i = 0; ok && i < a->links; i++)
        a->link[i].equal = centre[s.of[i]];
    free(x);
    free(better);
    free(s.of);
    return ok;
}
