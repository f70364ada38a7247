// SPDX-License-Identifier: BSD-3-Clause
/* From bad links to culprits; pairs.h says how. */
#include "judge/pairs.h"

#include <stdlib.h>

enum { SENDS, RECEIVES, ROLES };

static const size_t links_least = 2;
/* Bad links that meet in a member: so many, and so many times what each of the members
 * has of the others on average. */
static const size_t meet_least = 3, meet_more = 8;

/* What a member's links in one role are. */
struct tally {
    size_t bad, of, again;
};

struct inquiry {
    const struct fc_link *link;
    size_t links, members;
    struct tally *tally; /* [members][ROLES], of the links not yet explained */
    bool *taken;         /* [members] */
    bool *explained;     /* [links] */
    size_t bad;          /* links that are bad and not yet explained */
};

static struct tally *tally_of(const struct inquiry *q, size_t member, int role)
{
    return &q->tally[ROLES * member + (size_t)role];
}

static void count_link(struct inquiry *q, const struct fc_link *l)
{
    struct tally *end[ROLES] = {tally_of(q, l->from, SENDS),
                                tally_of(q, l->to, RECEIVES)};
    q->bad += l->bad;
    for (size_t i = 0; i < ROLES; i++) {
        end[i]->of++;
        end[i]->bad += l->bad;
        end[i]->again += l->bad && l->again;
    }
}

static bool mostly_bad(const struct tally *t)
{
    return t->of >= links_least && 4 * t->bad >= 3 * t->of;
}

/* Bad links meet in the member far more often than they would by chance. */
static bool stands_out(const struct inquiry *q, size_t member, int role)
{
    size_t own = tally_of(q, member, SENDS)->bad + tally_of(q, member, RECEIVES)->bad;
    size_t rest = q->bad > own ? q->bad - own : 0;
    size_t bad = tally_of(q, member, role)->bad;
    return bad >= meet_least && (bad - meet_least) * q->members >= meet_more * rest;
}

static bool explains(const struct inquiry *q, size_t member, int role)
{
    return mostly_bad(tally_of(q, member, role)) || stands_out(q, member, role);
}

/* Bad links that the member would explain; 0: it is no culprit. */
static size_t weight(const struct inquiry *q, size_t member)
{
    size_t bad = 0;
    for (int role = 0; role < ROLES && !q->taken[member]; role++)
        if (explains(q, member, role))
            bad += tally_of(q, member, role)->bad;
    return bad;
}

/* Takes the member; its links, all of them, are no longer looked at. */
static struct fc_culprit take(struct inquiry *q, size_t member)
{
    struct fc_culprit c = {.kind = FC_CULPRIT_MEMBER, .member = (uint32_t)member};
    c.other = c.member;
    for (int role = 0; role < ROLES; role++) {
        const struct tally *t = tally_of(q, member, role);
        if (!explains(q, member, role))
            continue;
        *(role == SENDS ? &c.sends : &c.receives) = true;
        c.bad += t->bad;
        c.of += t->of;
        c.again += t->again;
    }
    q->taken[member] = true;
    q->bad = 0;
    for (size_t i = 0; i < ROLES * q->members; i++)
        q->tally[i] = (struct tally){0};
    for (size_t i = 0; i < q->links; i++) {
        const struct fc_link *l = &q->link[i];
        q->explained[i] = q->explained[i] || l->from == member || l->to == member;
        if (!q->explained[i])
            count_link(q, l);
    }
    return c;
}

static int by_member(const void *pa, const void *pb)
{
    const struct fc_culprit *a = pa, *b = pb;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

static size_t take_members(struct inquiry *q, struct fc_culprit *out)
{
    size_t count = 0;
    while (2 * count <= q->members && q->members > 2) {
        size_t best = 0, most = 0;
        for (size_t i = 0; i < q->members; i++)
            if (weight(q, i) > most) {
                most = weight(q, i);
                best = i;
            }
        if (most == 0)
            break;
        out[count++] = take(q, best);
    }
    return count;
}

/* The links that nobody explains, both directions of a pair as one, sorted. */
static size_t take_links(const struct inquiry *q, struct fc_culprit *out)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < q->links; i++) {
        const struct fc_link *l = &q->link[i];
        bool up = l->from < l->to;
        if (l->bad && !q->explained[i])
            out[count++] = (struct fc_culprit){.kind = FC_CULPRIT_LINK,
                                               .member = up ? l->from : l->to,
                                               .other = up ? l->to : l->from,
                                               .sends = up,
                                               .receives = !up,
                                               .bad = 1,
                                               .of = 1,
                                               .again = l->again};
    }
    if (count)
        qsort(out, count, sizeof *out, by_member);
    for (size_t i = 0; i < count; i++) {
        struct fc_culprit *last = kept ? &out[kept - 1] : NULL;
        if (last && by_member(last, &out[i]) == 0) {
            last->sends = last->sends || out[i].sends;
            last->receives = last->receives || out[i].receives;
            last->bad++;
            last->of++;
            last->again += out[i].again;
        } else {
            out[kept++] = out[i];
        }
    }
    return kept;
}

static bool too_many(const struct inquiry *q, size_t culprits)
{
    size_t bad = 0, left = 0;
    for (size_t i = 0; i < q->links; i++) {
        left += !q->explained[i];
        bad += !q->explained[i] && q->link[i].bad;
    }
    return q->members > 2 && (2 * culprits > q->members || 2 * bad > left);
}

static struct fc_culprit all_together(const struct inquiry *q)
{
    struct fc_culprit c = {.kind = FC_CULPRIT_ALL, .of = q->links};
    for (size_t i = 0; i < q->links; i++) {
        c.bad += q->link[i].bad;
        c.again += q->link[i].bad && q->link[i].again;
    }
    return c;
}

bool fc_blame_open(const struct fc_link *link, size_t links, size_t members,
                   struct fc_blame *out)
{
    struct inquiry q = {.link = link,
                        .links = links,
                        .members = members,
                        .tally = calloc(ROLES * members + 1, sizeof(struct tally)),
                        .taken = calloc(members + 1, sizeof(bool)),
                        .explained = calloc(links + 1, sizeof(bool))};
    struct fc_culprit *culprit = malloc((links + members + 1) * sizeof *culprit);
    bool ok = q.tally && q.taken && q.explained && culprit;
    size_t count = 0;
    if (ok) {
        for (size_t i = 0; i < links; i++)
            count_link(&q, &link[i]);
        count = take_members(&q, culprit);
        if (too_many(&q, count)) {
            culprit[0] = all_together(&q);
            count = 1;
        } else {
            if (count)
                qsort(culprit, count, sizeof *culprit, by_member);
            count += take_links(&q, culprit + count);
        }
    }
    free(q.tally);
    free(q.taken);
    free(q.explained);
    if (!ok) {
        free(culprit);
        culprit = NULL;
    }
    *out = (struct fc_blame){culprit, count};
    return ok;
}

void fc_blame_close(struct fc_blame *blame)
{
    free(blame->culprit);
    *blame = (struct fc_blame){0};
}

bool fc_culprit_confirmed(const struct fc_culprit *c)
{
    return c->again > 0 && 2 * c->again >= c->bad;
}

bool fc_culprit_explains(const struct fc_culprit *c, const struct fc_link *l)
{
    bool mine =
        (l->from == c->member && c->sends) || (l->to == c->member && c->receives);
    bool far = l->from == c->other || l->to == c->other;
    return l->bad && (c->kind == FC_CULPRIT_ALL || (mine && far));
}
