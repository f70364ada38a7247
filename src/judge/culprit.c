// SPDX-License-Identifier: BSD-3-Clause
/* What a culprit is made of: its members, and the links that it explains. */
#include "judge/pairs_parts.h"

/* Links that were measured again and are bad still: so many are no chance. */
static const size_t surely = 3;

bool fc_culprit_key(const struct fc_arena *a, uint32_t member, int kind, uint32_t *key)
{
    const struct fc_member *m = &a->member[member];
    *key = kind == FC_CULPRIT_LEAF   ? m->leaf
           : kind == FC_CULPRIT_RAIL ? m->id
           : kind == FC_CULPRIT_NODE ? m->node
                                     : member;
    if (kind == FC_CULPRIT_LEAF)
        return m->leaf != FC_EV_NO_LEAF;
    return a->rails || kind == FC_CULPRIT_MEMBER;
}

bool fc_culprit_has(const struct fc_arena *a, const struct fc_culprit *c,
                    uint32_t member)
{
    uint32_t key, own;
    if (c->kind == FC_CULPRIT_ALL)
        return true;
    if (c->kind == FC_CULPRIT_LINK)
        return member == c->member || member == c->other;
    return fc_culprit_key(a, member, (int)c->kind, &key) &&
           fc_culprit_key(a, c->member, (int)c->kind, &own) && key == own;
}

bool fc_culprit_confirmed(const struct fc_culprit *c)
{
    bool nearly_all = c->again >= surely && 4 * c->again >= 3 * c->met;
    return c->again > 0 && (2 * c->again >= c->bad || nearly_all);
}

bool fc_culprit_explains(const struct fc_arena *a, const struct fc_culprit *c,
                         const struct fc_link *l)
{
    if (!l->bad || c->kind == FC_CULPRIT_ALL)
        return l->bad;
    if (c->kind == FC_CULPRIT_LINK)
        return (l->from == c->member && l->to == c->other && c->sends) ||
               (l->to == c->member && l->from == c->other && c->receives);
    bool from = fc_culprit_has(a, c, l->from), to = fc_culprit_has(a, c, l->to);
    return from && to ? c->inside : (from && c->sends) || (to && c->receives);
}

/* Where the link from one to the other is; a->links: nowhere. */
static size_t find_link(const struct fc_arena *a, uint32_t from, uint32_t to)
{
    size_t low = 0, high = a->links;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct fc_link *l = &a->link[mid];
        if (l->from < from || (l->from == from && l->to < to))
            low = mid + 1;
        else
            high = mid;
    }
    bool there = low < a->links && a->link[low].from == from && a->link[low].to == to;
    return there ? low : a->links;
}

size_t fc_culprit_next(const struct fc_arena *a, const struct fc_culprit *c, size_t at)
{
    if (c->kind == FC_CULPRIT_LINK) {
        /* A link's member comes before the other. */
        size_t way[] = {find_link(a, c->member, c->other),
                        find_link(a, c->other, c->member)};
        for (size_t i = 0; i < 2; i++)
            if (way[i] >= at && way[i] < a->links &&
                fc_culprit_explains(a, c, &a->link[way[i]]))
                return way[i];
        return SIZE_MAX;
    }
    while (at < a->links && !fc_culprit_explains(a, c, &a->link[at]))
        at++;
    return at < a->links ? at : SIZE_MAX;
}
