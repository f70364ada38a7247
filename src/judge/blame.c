// SPDX-License-Identifier: BSD-3-Clause
/* From bad links to culprits; pairs.h says how. */
#include "judge/pairs_parts.h"

#include <stdlib.h>

enum { SENDS, RECEIVES, ROLES };
enum { FIRST_KIND = FC_CULPRIT_LEAF, END_KIND = FC_CULPRIT_MEMBER + 1 };

static const uint32_t no_part = UINT32_MAX;
static const size_t links_least = 2, nodes_least = 3, leaves_least = 3;
/* Bad links that meet in a member: so many, and so many times what each of the members
 * has of the others on average. */
static const size_t meet_least = 3, meet_more = 8;

/* Links that are not yet explained. */
struct tally {
    size_t bad, near, of, again; /* again: of the bad */
    size_t met;                  /* of all: measured again */
};

struct part {
    enum fc_culprit_kind kind;
    uint32_t first; /* member */
    size_t members, nodes;
    struct tally role[ROLES]; /* links across its border, by what it does there */
    struct tally inside;
    bool taken;
};

struct inquiry {
    const struct fc_arena *arena;
    struct part *part;
    size_t parts, leaves;
    uint32_t *part_of[END_KIND]; /* [members] */
    uint32_t *start, *touching; /* links of a member: touching[start[m]…start[m+1]) */
    bool *explained;            /* [links] */
    bool *blamed;               /* [members] */
    bool *cleared[ROLES];       /* [members] by a retest */
    size_t bad;                 /* links that are bad and not yet explained */
};

/* --- parts --- */

struct keyed {
    uint32_t key, member;
};

static int by_key(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->member < b->member ? -1 : a->member > b->member;
}

static void make_parts(struct inquiry *q, int kind, struct keyed *keyed)
{
    const struct fc_arena *a = q->arena;
    size_t count = 0;
    for (uint32_t m = 0; m < a->members; m++) {
        q->part_of[kind][m] = no_part;
        if (fc_culprit_key(a, m, kind, &keyed[count].key))
            keyed[count++].member = m;
    }
    qsort(keyed, count, sizeof *keyed, by_key);
    for (size_t i = 0; i < count; i++) {
        const struct fc_member *m = &a->member[keyed[i].member];
        bool head = i == 0 || keyed[i].key != keyed[i - 1].key;
        if (head)
            q->part[q->parts++] = (struct part){.kind = (enum fc_culprit_kind)kind,
                                                .first = keyed[i].member};
        struct part *p = &q->part[q->parts - 1];
        p->nodes += head || m->node != a->member[keyed[i - 1].member].node;
        p->members++;
        q->part_of[kind][keyed[i].member] = (uint32_t)(q->parts - 1);
        q->leaves += head && kind == FC_CULPRIT_LEAF;
    }
}

static void add(struct tally *t, const struct fc_link *l, size_t one)
{
    t->of += one;
    t->bad += l->bad ? one : 0;
    t->near += l->near ? one : 0;
    t->again += l->bad && l->again ? one : 0;
    t->met += l->again ? one : 0;
}

/* one: 1 to count the link, SIZE_MAX to take it out again. */
static void count_link(struct inquiry *q, const struct fc_link *l, size_t one)
{
    q->bad += l->bad ? one : 0;
    for (int kind = FIRST_KIND; kind < END_KIND; kind++) {
        uint32_t from = q->part_of[kind][l->from], to = q->part_of[kind][l->to];
        if (from == to && from != no_part) {
            add(&q->part[from].inside, l, one);
            continue;
        }
        bool member = kind == FC_CULPRIT_MEMBER;
        if (from != no_part && !(member && l->guest_from))
            add(&q->part[from].role[SENDS], l, one);
        if (to != no_part && !(member && l->guest_to))
            add(&q->part[to].role[RECEIVES], l, one);
    }
}

static void find_touching(struct inquiry *q)
{
    const struct fc_arena *a = q->arena;
    for (size_t i = 0; i < a->links; i++) {
        q->start[a->link[i].from + 1]++;
        q->start[a->link[i].to + 1]++;
    }
    for (size_t m = 0; m < a->members; m++)
        q->start[m + 1] += q->start[m];
    for (size_t i = 0; i < a->links; i++) {
        q->touching[q->start[a->link[i].from]++] = (uint32_t)i;
        q->touching[q->start[a->link[i].to]++] = (uint32_t)i;
    }
    for (size_t m = a->members; m > 0; m--)
        q->start[m] = q->start[m - 1];
    q->start[0] = 0;
}

/* --- who explains what --- */

static bool mostly_bad(const struct tally *t)
{
    return t->of >= links_least && t->bad > 0 && 4 * (t->bad + t->near) >= 3 * t->of;
}

static bool nearly_all_bad(const struct tally *t)
{
    return t->of >= links_least && t->bad > 0 && 10 * (t->bad + t->near) >= 9 * t->of;
}

/* What was measured again of it is well: the rest was bad for a reason that is gone. */
static bool is_cleared(const struct tally *t)
{
    return t->met >= links_least && 4 * t->again <= t->met;
}

/* Bad links meet in the member far more often than they would by chance. */
static bool stands_out(const struct inquiry *q, const struct part *p, int role)
{
    size_t own = p->role[SENDS].bad + p->role[RECEIVES].bad, bad = p->role[role].bad;
    size_t rest = q->bad > own ? q->bad - own : 0;
    return bad >= meet_least &&
           (bad - meet_least) * q->arena->members >= meet_more * rest;
}

/* Three of four members of a leaf have two bad links of five or more: what it has in
 * common, and not some members that a retest measured very often. */
static bool shared_by_members(const struct inquiry *q, const struct part *p, int role)
{
    const struct fc_arena *a = q->arena;
    size_t with = 0, bad = 0;
    for (uint32_t m = p->first; m < a->members; m++) {
        if (a->member[m].leaf != a->member[p->first].leaf)
            continue;
        const struct tally *t = &q->part[q->part_of[FC_CULPRIT_MEMBER][m]].role[role];
        with += t->of > 0;
        bad += t->of > 0 && 5 * (t->bad + t->near) >= 2 * t->of;
    }
    return 4 * bad >= 3 * with;
}

/* What of a part would be to blame, in `out`; of its bad links, how many that would
 * explain. */
static size_t weigh(const struct inquiry *q, const struct part *p,
                    struct fc_culprit *out)
{
    bool member = p->kind == FC_CULPRIT_MEMBER, role[ROLES];
    bool crosses = p->role[SENDS].of + p->role[RECEIVES].of > 0;
    size_t bad = 0;
    *out = (struct fc_culprit){.kind = p->kind, .member = p->first, .other = p->first};
    for (int i = 0; i < ROLES; i++) {
        const struct tally *t = &p->role[i];
        role[i] = member ? mostly_bad(t) || stands_out(q, p, i) : nearly_all_bad(t);
        if (role[i] && p->kind == FC_CULPRIT_LEAF)
            role[i] = shared_by_members(q, p, i);
        role[i] = role[i] && !is_cleared(t);
        bad += role[i] ? t->bad : 0;
        out->of += role[i] ? t->of : 0;
        out->again += role[i] ? t->again : 0;
        out->met += role[i] ? t->met : 0;
    }
    out->sends = role[SENDS];
    out->receives = role[RECEIVES];
    out->inside = nearly_all_bad(&p->inside);
    bool all = out->inside && (!crosses || (role[SENDS] && role[RECEIVES]));
    /* Two nodes whose own link is well are more likely one switch than two nodes. */
    bool two = p->nodes == 2 && p->inside.of > 0 && p->inside.bad == 0;
    if ((p->kind == FC_CULPRIT_RAIL && (!all || p->nodes < nodes_least)) ||
        (p->kind == FC_CULPRIT_LEAF &&
         ((p->nodes < nodes_least && !two) || (q->leaves < leaves_least && !all))) ||
        (p->kind == FC_CULPRIT_NODE && p->members < 2))
        return 0;
    if (bad > 0 || (all && p->kind == FC_CULPRIT_RAIL)) {
        bad += out->inside ? p->inside.bad : 0;
        out->of += out->inside ? p->inside.of : 0;
        out->again += out->inside ? p->inside.again : 0;
        out->met += out->inside ? p->inside.met : 0;
    }
    out->bad = bad;
    return bad;
}

/* Takes a part; its links, but for those inside that are none of its fault, are no
 * longer looked at. */
static void take(struct inquiry *q, const struct fc_culprit *c)
{
    const struct fc_arena *a = q->arena;
    for (uint32_t m = c->member; m < a->members; m++) {
        if (!fc_culprit_has(a, c, m))
            continue;
        q->blamed[m] = true;
        for (uint32_t i = q->start[m]; i < q->start[m + 1]; i++) {
            uint32_t at = q->touching[i];
            const struct fc_link *l = &a->link[at];
            bool inner = fc_culprit_has(a, c, l->from == m ? l->to : l->from);
            if (q->explained[at] || (inner && !c->inside))
                continue;
            q->explained[at] = true;
            count_link(q, l, SIZE_MAX);
        }
    }
}

/* The part that explains most bad links, of equals the smallest; NULL: none does. */
static struct part *find_best(const struct inquiry *q, struct fc_culprit *best)
{
    struct part *found = NULL;
    size_t most = 0;
    for (size_t i = 0; i < q->parts; i++) {
        struct part *p = &q->part[i];
        struct fc_culprit c;
        size_t bad = p->taken ? 0 : weigh(q, p, &c);
        if (bad == 0 || bad < most || (bad == most && found && found->kind >= p->kind))
            continue;
        most = bad;
        found = p;
        *best = c;
    }
    return found;
}

static size_t count_blamed(const struct inquiry *q)
{
    size_t count = 0;
    for (size_t m = 0; m < q->arena->members; m++)
        count += q->blamed[m];
    return count;
}

static size_t take_parts(struct inquiry *q, struct fc_culprit *out)
{
    struct part *part;
    size_t count = 0;
    while (q->bad > 0 && 2 * count <= q->arena->members && q->arena->members > 2 &&
           (part = find_best(q, &out[count]))) {
        part->taken = true;
        take(q, &out[count++]);
    }
    return count;
}

static int by_part(const void *pa, const void *pb)
{
    const struct fc_culprit *a = pa, *b = pb;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

/* Bad, as it was measured once, and an end of it was cleared since. */
static bool is_forgiven(const struct inquiry *q, const struct fc_link *l)
{
    return !l->again && (q->cleared[SENDS][l->from] || q->cleared[RECEIVES][l->to]);
}

static bool is_unexplained(const struct inquiry *q, size_t at)
{
    const struct fc_link *l = &q->arena->link[at];
    return l->bad && !l->mild && !q->explained[at] && !is_forgiven(q, l);
}

/* The links that nobody explains, both directions of a pair as one, sorted. */
static size_t take_links(const struct inquiry *q, struct fc_culprit *out)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < q->arena->links; i++) {
        const struct fc_link *l = &q->arena->link[i];
        bool up = l->from < l->to;
        if (is_unexplained(q, i))
            out[count++] = (struct fc_culprit){.kind = FC_CULPRIT_LINK,
                                               .member = up ? l->from : l->to,
                                               .other = up ? l->to : l->from,
                                               .sends = up,
                                               .receives = !up,
                                               .bad = 1,
                                               .of = 1,
                                               .again = l->again,
                                               .met = l->again};
    }
    if (count)
        qsort(out, count, sizeof *out, by_part);
    for (size_t i = 0; i < count; i++) {
        struct fc_culprit *last = kept ? &out[kept - 1] : NULL;
        if (last && by_part(last, &out[i]) == 0) {
            last->sends = last->sends || out[i].sends;
            last->receives = last->receives || out[i].receives;
            last->bad++;
            last->of++;
            last->again += out[i].again;
            last->met += out[i].met;
        } else {
            out[kept++] = out[i];
        }
    }
    return kept;
}

static bool too_many(const struct inquiry *q)
{
    const struct fc_arena *a = q->arena;
    size_t bad = 0, left = 0;
    for (size_t i = 0; i < a->links; i++) {
        left += !q->explained[i];
        bad += is_unexplained(q, i);
    }
    return a->members > 2 && (2 * count_blamed(q) > a->members || 2 * bad > left);
}

static struct fc_culprit all_together(const struct fc_arena *a)
{
    struct fc_culprit c = {.kind = FC_CULPRIT_ALL};
    for (size_t i = 0; i < a->links; i++) {
        c.of += !a->link[i].skip;
        c.bad += a->link[i].bad;
        c.again += a->link[i].bad && a->link[i].again;
        c.met += a->link[i].again;
    }
    return c;
}

/* --- the whole --- */

static void find_cleared(struct inquiry *q)
{
    for (size_t i = 0; i < q->parts; i++)
        for (int role = 0; role < ROLES; role++)
            if (q->part[i].kind == FC_CULPRIT_MEMBER)
                q->cleared[role][q->part[i].first] = is_cleared(&q->part[i].role[role]);
}

static bool inquiry_open(struct inquiry *q)
{
    const struct fc_arena *a = q->arena;
    size_t kinds = END_KIND - FIRST_KIND;
    struct keyed *keyed = malloc((a->members + 1) * sizeof *keyed);
    q->part = malloc((kinds * a->members + 1) * sizeof *q->part);
    q->start = calloc(a->members + 2, sizeof *q->start);
    q->touching = malloc((2 * a->links + 1) * sizeof *q->touching);
    q->explained = calloc(a->links + 1, sizeof *q->explained);
    q->blamed = calloc(a->members + 1, sizeof *q->blamed);
    bool ok = keyed && q->part && q->start && q->touching && q->explained && q->blamed;
    for (int role = 0; role < ROLES; role++) {
        q->cleared[role] = calloc(a->members + 1, sizeof(bool));
        ok = ok && q->cleared[role];
    }
    for (int kind = FIRST_KIND; kind < END_KIND; kind++) {
        q->part_of[kind] = malloc((a->members + 1) * sizeof(uint32_t));
        ok = ok && q->part_of[kind];
    }
    for (int kind = FIRST_KIND; ok && kind < END_KIND; kind++)
        make_parts(q, kind, keyed);
    for (size_t i = 0; ok && i < a->links; i++) {
        q->explained[i] = a->link[i].skip;
        if (!a->link[i].skip)
            count_link(q, &a->link[i], 1);
    }
    if (ok) {
        find_touching(q);
        find_cleared(q);
    }
    free(keyed);
    return ok;
}

static void inquiry_close(struct inquiry *q)
{
    for (int kind = FIRST_KIND; kind < END_KIND; kind++)
        free(q->part_of[kind]);
    for (int role = 0; role < ROLES; role++)
        free(q->cleared[role]);
    free(q->part);
    free(q->start);
    free(q->touching);
    free(q->explained);
    free(q->blamed);
}

bool fc_blame_open(const struct fc_arena *arena, struct fc_blame *out)
{
    struct inquiry q = {.arena = arena};
    size_t bad = 0, count = 0;
    for (size_t i = 0; i < arena->links; i++)
        bad += arena->link[i].bad;
    *out = (struct fc_blame){0};
    if (bad == 0)
        return true;
    out->culprit = malloc((bad + arena->members + 2) * sizeof *out->culprit);
    bool ok = out->culprit && inquiry_open(&q);
    if (ok) {
        count = take_parts(&q, out->culprit);
        if (too_many(&q)) {
            out->culprit[0] = all_together(arena);
            count = 1;
        } else {
            if (count)
                qsort(out->culprit, count, sizeof *out->culprit, by_part);
            count += take_links(&q, out->culprit + count);
        }
    }
    out->count = count;
    inquiry_close(&q);
    if (!ok)
        fc_blame_close(out);
    return ok;
}

void fc_blame_close(struct fc_blame *blame)
{
    free(blame->culprit);
    *blame = (struct fc_blame){0};
}
