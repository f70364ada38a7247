// SPDX-License-Identifier: BSD-3-Clause
/* From matrix lines to arenas of links. */
#include "judge/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A link before members have their indices. */
struct raw {
    size_t node;       /* of the arena */
    uint32_t from, to; /* ids */
    int attempt;
    double value;
    const struct fc_ev_pair *pair;
    const struct fc_ev_record *record;
    bool bad;
};

/* FC_NONE, between nodes, comes first. */
static int by_arena(size_t a, size_t b)
{
    return a + 1 < b + 1 ? -1 : a + 1 > b + 1;
}

static int by_ends(const void *pa, const void *pb)
{
    const struct raw *a = pa, *b = pb;
    int order = by_arena(a->node, b->node);
    if (order == 0 && a->from != b->from)
        order = a->from < b->from ? -1 : 1;
    if (order == 0 && a->to != b->to)
        order = a->to < b->to ? -1 : 1;
    return order;
}

/* The newest first; then, of several links between two nodes, the slowest. */
static int by_ends_and_age(const void *pa, const void *pb)
{
    const struct raw *a = pa, *b = pb;
    int order = by_ends(a, b);
    if (order == 0 && a->attempt != b->attempt)
        order = a->attempt > b->attempt ? -1 : 1;
    if (order == 0 && a->value != b->value)
        order = a->value < b->value ? -1 : a->value > b->value;
    if (order == 0 && a->bad != b->bad)
        order = a->bad ? -1 : 1;
    return order ? order : (a->pair < b->pair ? -1 : a->pair > b->pair);
}

static bool fill(const struct fc_ev_pair *p, enum fc_pairs_of of, bool forward,
                 struct raw *out)
{
    int32_t wrong = forward ? p->wrong_ab : p->wrong_ba;
    bool tried = p->state != FC_EV_UNMEASURED;
    out->value = 0.0;
    switch (of) {
    case FC_PAIRS_BW:
        out->value = forward ? p->bw_ab : p->bw_ba;
        return p->state == FC_EV_OK && isfinite(out->value);
    case FC_PAIRS_LATENCY:
        out->value = 1.0 / p->latency;
        return p->state == FC_EV_OK && isfinite(out->value);
    case FC_PAIRS_WRONG:
        out->bad = wrong > 0;
        return tried || out->bad;
    default:
        out->bad = p->state == FC_EV_FAILED && p->wrong_ab <= 0 && p->wrong_ba <= 0;
        return tried;
    }
}

static size_t add_pair(const struct fc_evidence *ev, const struct fc_ev_pair *p,
                       enum fc_pairs_of of, struct raw *out)
{
    bool inside = p->a_node == p->b_node;
    uint32_t a = inside ? (uint32_t)p->a_rank : p->a_node;
    uint32_t b = inside ? (uint32_t)p->b_rank : p->b_node;
    size_t count = 0;
    for (int forward = 1; forward >= 0; forward--) {
        struct raw raw = {.node = inside ? p->a_node : FC_NONE,
                          .from = forward ? a : b,
                          .to = forward ? b : a,
                          .attempt = ev->round[p->round].attempt,
                          .pair = p};
        if (fill(p, of, forward, &raw))
            out[count++] = raw;
    }
    return count;
}

/* One link of each direction: the newest, bad when any was. */
static size_t merge(struct raw *raw, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(raw, count, sizeof *raw, by_ends_and_age);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_ends(&raw[kept - 1], &raw[i]) == 0)
            raw[kept - 1].bad = raw[kept - 1].bad || raw[i].bad;
        else
            raw[kept++] = raw[i];
    }
    return kept;
}

static struct raw *find(struct raw *raw, size_t count, size_t from, size_t to)
{
    struct raw key = {.node = FC_NONE, .from = (uint32_t)from, .to = (uint32_t)to};
    return count ? bsearch(&key, raw, count, sizeof *raw, by_ends) : NULL;
}

/* Pairs of nodes that a record calls bad and no matrix line does: nothing is lost when
 * a line is. */
static size_t add_records(const struct fc_evidence *ev, enum fc_pairs_of of,
                          struct raw *raw, size_t count)
{
    size_t all = count;
    for (size_t i = 0; i < ev->records; i++) {
        const struct fc_ev_record *r = &ev->record[i];
        bool wrong = r->wrong > 0;
        bool bad = of == FC_PAIRS_WRONG ? wrong : r->state == FC_EV_FAILED && !wrong;
        if (!bad || !fc_ev_of_pair(r) || r->node == r->peer)
            continue;
        const struct raw *there = find(raw, count, r->node, r->peer);
        const struct raw *back = find(raw, count, r->peer, r->node);
        if ((there && there->bad) || (back && back->bad))
            continue;
        for (int forward = 1; forward >= 0; forward--)
            raw[all++] = (struct raw){.node = FC_NONE,
                                      .from = (uint32_t)(forward ? r->node : r->peer),
                                      .to = (uint32_t)(forward ? r->peer : r->node),
                                      .record = r,
                                      .bad = true,
                                      .attempt = r->attempt};
    }
    return all;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static const uint32_t *find_id(const uint32_t *id, size_t count, uint32_t key)
{
    return bsearch(&key, id, count, sizeof *id, by_number);
}

/* The ids of raw[0..count), which is sorted by `from`, each once; how many. */
static size_t gather_ids(const struct raw *raw, size_t count, uint32_t *id)
{
    size_t senders = 0, all;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || raw[i].from != id[senders - 1])
            id[senders++] = raw[i].from;
    all = senders;
    for (size_t i = 0; i < count; i++)
        if (!find_id(id, senders, raw[i].to))
            id[all++] = raw[i].to;
    if (all == senders)
        return senders;
    qsort(id, all, sizeof *id, by_number);
    senders = 0;
    for (size_t i = 0; i < all; i++)
        if (i == 0 || id[i] != id[senders - 1])
            id[senders++] = id[i];
    return senders;
}

/* The arena of raw[0..count), which share it. */
static void make_arena(const struct raw *raw, size_t count, struct fc_link *link,
                       uint32_t *id, struct fc_arena *out)
{
    *out = (struct fc_arena){.node = raw->node, .link = link, .links = count, .id = id};
    out->members = gather_ids(raw, count, id);
    for (size_t i = 0; i < count; i++)
        link[i] = (struct fc_link){
            .from = (uint32_t)(find_id(id, out->members, raw[i].from) - id),
            .to = (uint32_t)(find_id(id, out->members, raw[i].to) - id),
            .value = raw[i].value,
            .pair = raw[i].pair,
            .record = raw[i].record,
            .bad = raw[i].bad,
            .again = raw[i].attempt > 1};
}

static void make_arenas(const struct raw *raw, size_t count, struct fc_pairs *out)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && raw[end].node == raw[i].node)
            end++;
        make_arena(raw + i, end - i, out->link + i, out->id + 2 * i,
                   &out->arena[out->arenas++]);
        i = end;
    }
}

/* True when some pair is wrong (failed): without one there is no need to look at who
 * met whom. */
static bool any_bad(const struct fc_evidence *ev, enum fc_pairs_of of)
{
    struct raw raw = {0};
    for (size_t i = 0; i < ev->pairs && !raw.bad; i++)
        for (int forward = 0; forward < 2 && !raw.bad; forward++)
            (void)fill(&ev->pair[i], of, forward, &raw);
    for (size_t i = 0; i < ev->records && !raw.bad; i++)
        raw.bad = fc_ev_of_pair(&ev->record[i]);
    return raw.bad;
}

static bool bad_is_told(enum fc_pairs_of of)
{
    return of == FC_PAIRS_WRONG || of == FC_PAIRS_FAILED;
}

bool fc_pairs_open(const struct fc_evidence *ev, enum fc_pairs_of of,
                   struct fc_pairs *out)
{
    size_t room = 2 * ev->pairs + 1, count = 0;
    for (size_t i = 0; bad_is_told(of) && i < ev->records; i++)
        room += fc_ev_of_pair(&ev->record[i]) ? 2 : 0;
    *out = (struct fc_pairs){0};
    if (bad_is_told(of) && !any_bad(ev, of))
        return true;
    struct raw *raw = malloc(room * sizeof *raw);
    if (!raw)
        return false;
    for (size_t i = 0; i < ev->pairs; i++)
        count += add_pair(ev, &ev->pair[i], of, raw + count);
    count = merge(raw, count);
    if (bad_is_told(of))
        count = merge(raw, add_records(ev, of, raw, count));
    out->link = malloc((count + 1) * sizeof *out->link);
    out->id = malloc((2 * count + 1) * sizeof *out->id);
    out->arena = malloc((count + 1) * sizeof *out->arena);
    bool ok = out->link && out->id && out->arena;
    if (ok)
        make_arenas(raw, count, out);
    else
        fc_pairs_close(out);
    free(raw);
    return ok;
}

void fc_pairs_close(struct fc_pairs *pairs)
{
    free(pairs->link);
    free(pairs->id);
    free(pairs->arena);
    *pairs = (struct fc_pairs){0};
}

void fc_pairs_mark_floor(const struct fc_evidence *ev, struct fc_arena *a, double floor,
                         int64_t from_bytes)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->links; i++) {
        struct fc_link l = a->link[i];
        int64_t bytes = l.pair ? ev->round[l.pair->round].bytes : -1;
        if (!l.pair || !isfinite(l.pair->limit) || (bytes >= 0 && bytes < from_bytes))
            continue;
        l.bad = l.value < floor * l.pair->limit;
        a->link[kept++] = l;
    }
    a->links = kept;
}
