// SPDX-License-Identifier: BSD-3-Clause
/* From the evidence's pairs to arenas of links. */
#include "judge/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whose link it is, before members have their indices. */
struct key {
    size_t node; /* FC_NONE: between nodes */
    const char *metric;
    uint32_t from, to; /* NICs, or places in ev->rank */
};

/* A pair of nodes that a record calls bad and no matrix line does. */
struct told {
    struct key key;
    const struct fc_ev_record *record;
};

struct builder {
    const struct fc_evidence *ev;
    enum fc_pairs_of of;
    struct fc_pairs *out;
    struct told *told; /* sorted */
    size_t tolds, next;
    size_t links;
};

static bool same_arena(const struct key *a, const struct key *b)
{
    return a->node == b->node && strcmp(a->metric, b->metric) == 0;
}

static int by_key(const struct key *a, const struct key *b)
{
    if (a->node != b->node) /* FC_NONE, between nodes, comes first */
        return a->node + 1 < b->node + 1 ? -1 : 1;
    int order = strcmp(a->metric, b->metric);
    if (order == 0 && a->from != b->from)
        order = a->from < b->from ? -1 : 1;
    if (order == 0 && a->to != b->to)
        order = a->to < b->to ? -1 : 1;
    return order;
}

static bool same_link(const struct fc_ev_way *a, const struct fc_ev_way *b)
{
    return a->arena == b->arena && a->from == b->from && a->to == b->to;
}

static int by_told_key(const void *pa, const void *pb)
{
    const struct told *a = pa, *b = pb;
    int order = by_key(&a->key, &b->key);
    return order ? order : (a->record < b->record ? -1 : a->record > b->record);
}

/* What one attempt says of a link; false: nothing. */
static bool read_way(const struct fc_evidence *ev, const struct fc_ev_way *way,
                     enum fc_pairs_of of, struct fc_link *out)
{
    const struct fc_ev_pair *p = &ev->pair[way->pair];
    *out = (struct fc_link){.equal = (double)NAN, .pair = p, .again = way->again};
    if (of == FC_PAIRS_BW || of == FC_PAIRS_LATENCY) {
        out->value = of == FC_PAIRS_BW ? way->bw : 1.0 / way->latency;
        return isfinite(out->value);
    }
    if (of == FC_PAIRS_WRONG)
        out->bad = (way->back ? p->wrong_ba : p->wrong_ab) > 0;
    else
        out->bad = p->state == FC_EV_FAILED && p->wrong_ab <= 0 && p->wrong_ba <= 0;
    return out->bad || p->state != FC_EV_UNMEASURED;
}

/* --- links --- */

static void push(struct builder *b, const struct key *key, struct fc_link link)
{
    struct fc_pairs *out = b->out;
    struct fc_arena *last = out->arenas ? &out->arena[out->arenas - 1] : NULL;
    struct key there = {last ? last->node : 0, last ? last->metric : "", 0, 0};
    link.from = key->from;
    link.to = key->to;
    if (!last || !same_arena(&there, key))
        out->arena[out->arenas++] = (struct fc_arena){
            .node = key->node, .metric = key->metric, .link = out->link + b->links};
    out->arena[out->arenas - 1].links++;
    out->link[b->links++] = link;
}

/* Takes what records tell of links up to `key` (NULL: all that is left). True when one
 * tells of that very link. */
static bool take_told(struct builder *b, const struct key *key)
{
    bool this_one = false;
    for (; b->next < b->tolds; b->next++) {
        const struct told *t = &b->told[b->next];
        int order = key ? by_key(&t->key, key) : -1;
        if (order > 0)
            break;
        this_one = this_one || order == 0;
        if (order < 0 && (b->next == 0 || by_key(&t->key, &t[-1].key) != 0))
            push(b, &t->key,
                 (struct fc_link){.equal = (double)NAN,
                                  .record = (uint32_t)(t->record - b->ev->record) + 1,
                                  .bad = true,
                                  .again = t->record->attempt > 1});
    }
    return this_one;
}

/* One link of the ways [from, end), which are of the same one: the newest attempt and
 * of several the slowest; bad when any was. */
static void add_link(struct builder *b, const struct key *key, size_t from, size_t end)
{
    const struct fc_evidence *ev = b->ev;
    struct fc_link best = {0}, link;
    bool found = false, bad = take_told(b, key);
    for (size_t i = from; i < end; i++) {
        if (!read_way(ev, &ev->way[i], b->of, &link))
            continue;
        bad = bad || link.bad;
        int newer = found ? ev->round[link.pair->round].attempt -
                                ev->round[best.pair->round].attempt
                          : 1;
        if (newer > 0 || (newer == 0 && link.value < best.value))
            best = link;
        found = true;
    }
    best.bad = bad;
    if (found)
        push(b, key, best);
}

static void add_links(struct builder *b)
{
    const struct fc_evidence *ev = b->ev;
    for (size_t i = 0; i < ev->ways;) {
        const struct fc_ev_way *way = &ev->way[i];
        const struct fc_ev_arena *arena = &ev->arena[way->arena];
        struct key key = {arena->node, arena->metric, way->from, way->to};
        size_t end = i + 1;
        while (end < ev->ways && same_link(way, &ev->way[end]))
            end++;
        add_link(b, &key, i, end);
        i = end;
    }
    (void)take_told(b, NULL);
}

/* --- what records tell: nothing is lost when a matrix line is --- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t couple(size_t a, size_t b)
{
    return (uint64_t)(a < b ? a : b) << 32 | (uint64_t)(a < b ? b : a);
}

/* The pairs of nodes with a bad way, sorted; NULL without memory. */
static uint64_t *known_bad(const struct builder *b, size_t *count)
{
    const struct fc_evidence *ev = b->ev;
    uint64_t *out = malloc((ev->ways + 1) * sizeof *out);
    struct fc_link link;
    *count = 0;
    for (size_t i = 0; out && i < ev->ways; i++)
        if (read_way(ev, &ev->way[i], b->of, &link) && link.bad)
            out[(*count)++] = couple(link.pair->a_node, link.pair->b_node);
    if (*count)
        qsort(out, *count, sizeof *out, by_number);
    return out;
}

static bool gather_told(struct builder *b, size_t room)
{
    const struct fc_evidence *ev = b->ev;
    size_t count;
    uint64_t *bad = known_bad(b, &count);
    b->told = malloc((2 * room + 1) * sizeof *b->told);
    for (size_t i = 0; bad && b->told && i < ev->records; i++) {
        const struct fc_ev_record *r = &ev->record[i];
        bool wrong = r->wrong > 0;
        bool mine =
            b->of == FC_PAIRS_WRONG ? wrong : r->state == FC_EV_FAILED && !wrong;
        if (!mine || !fc_ev_of_pair(r) || r->node == r->peer)
            continue;
        uint64_t key = couple(r->node, r->peer);
        if (count && bsearch(&key, bad, count, sizeof *bad, by_number))
            continue;
        uint32_t x = (uint32_t)(r->node * ev->rails);
        uint32_t y = (uint32_t)(r->peer * ev->rails);
        const char *metric = fc_ev_pair_bandwidth(r->metric);
        b->told[b->tolds++] = (struct told){{FC_NONE, metric, x, y}, r};
        b->told[b->tolds++] = (struct told){{FC_NONE, metric, y, x}, r};
    }
    bool ok = bad && b->told;
    if (ok && b->tolds)
        qsort(b->told, b->tolds, sizeof *b->told, by_told_key);
    free(bad);
    return ok;
}

/* --- members --- */

static struct fc_member member_of(const struct fc_evidence *ev, size_t node,
                                  uint32_t key)
{
    struct fc_member m = {.leaf = FC_EV_NO_LEAF};
    if (node != FC_NONE) {
        m.node = (uint32_t)node;
        m.id = (uint32_t)ev->rank[key].rank;
        return m;
    }
    m.node = key / (uint32_t)ev->rails;
    m.id = key % (uint32_t)ev->rails;
    m.leaf = ev->leaf[key];
    return m;
}

/* Links are sorted by sender; `place` is scratch for all keys, `seen` is all false
 * before and after. `member` has room for two a link. */
static void make_members(const struct fc_evidence *ev, struct fc_arena *a,
                         uint32_t *place, bool *seen)
{
    uint32_t low = UINT32_MAX, high = 0;
    for (size_t i = 0; i < a->links; i++) {
        const uint32_t end[] = {a->link[i].from, a->link[i].to};
        for (size_t k = 0; k < 2; k++) {
            seen[end[k]] = true;
            low = end[k] < low ? end[k] : low;
            high = end[k] > high ? end[k] : high;
        }
    }
    for (uint32_t key = low; a->links && key <= high; key++) {
        if (!seen[key])
            continue;
        seen[key] = false;
        place[key] = (uint32_t)a->members;
        struct fc_member m = member_of(ev, a->node, key);
        a->nodes += a->members == 0 || a->member[a->members - 1].node != m.node;
        a->member[a->members++] = m;
    }
    for (size_t i = 0; i < a->links; i++) {
        a->link[i].from = place[a->link[i].from];
        a->link[i].to = place[a->link[i].to];
    }
}

/* Lines of all rails together tell none. */
static bool tells_rails(const struct fc_evidence *ev, const struct fc_arena *a)
{
    if (a->node != FC_NONE || ev->rails < 2)
        return false;
    for (size_t i = 0; i < a->links; i++)
        if (a->link[i].pair)
            return ev->round[a->link[i].pair->round].rail >= 0;
    return true;
}

static bool make_all_members(const struct fc_evidence *ev, struct fc_pairs *out)
{
    size_t keys = ev->nodes * ev->rails;
    keys = keys > ev->ranks ? keys : ev->ranks;
    uint32_t *place = malloc((keys + 1) * sizeof *place);
    bool *seen = calloc(keys + 1, sizeof *seen);
    struct fc_member *next = out->member;
    for (size_t i = 0; place && seen && i < out->arenas; i++) {
        struct fc_arena *a = &out->arena[i];
        a->member = next;
        a->rails = tells_rails(ev, a);
        make_members(ev, a, place, seen);
        next += a->members;
    }
    bool ok = place && seen;
    free(place);
    free(seen);
    return ok;
}

/* --- the whole --- */

/* True when some pair is wrong (failed): without one there is no need to look at who
 * met whom. */
static bool any_bad(const struct fc_evidence *ev, enum fc_pairs_of of, size_t records)
{
    bool bad = records > 0;
    for (size_t i = 0; i < ev->pairs && !bad; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        bool wrong = p->wrong_ab > 0 || p->wrong_ba > 0;
        bad = of == FC_PAIRS_WRONG ? wrong : p->state == FC_EV_FAILED && !wrong;
    }
    return bad;
}

bool fc_pairs_open(const struct fc_evidence *ev, enum fc_pairs_of of,
                   struct fc_pairs *out)
{
    struct builder b = {.ev = ev, .of = of, .out = out};
    bool told = of == FC_PAIRS_WRONG || of == FC_PAIRS_FAILED;
    size_t records = 0;
    *out = (struct fc_pairs){0};
    for (size_t i = 0; told && i < ev->records; i++)
        records += fc_ev_of_pair(&ev->record[i]);
    if (told && !any_bad(ev, of, records))
        return true;
    bool ok = records == 0 || gather_told(&b, records);
    size_t room = ev->ways + b.tolds + 1;
    size_t arenas = ev->arenas + b.tolds + 1;
    size_t ends = (ev->nodes * ev->rails + ev->ranks) * arenas;
    ends = ends < 2 * room ? ends : 2 * room;
    out->link = malloc(room * sizeof *out->link);
    out->arena = malloc(arenas * sizeof *out->arena);
    out->member = malloc((ends + 1) * sizeof *out->member);
    ok = ok && out->link && out->arena && out->member;
    if (ok) {
        add_links(&b);
        ok = make_all_members(ev, out);
    }
    free(b.told);
    if (!ok)
        fc_pairs_close(out);
    return ok;
}

void fc_pairs_close(struct fc_pairs *pairs)
{
    free(pairs->link);
    free(pairs->member);
    free(pairs->arena);
    *pairs = (struct fc_pairs){0};
}

struct fc_pairs *fc_pairs_share(const struct fc_evidence *ev, enum fc_pairs_of of,
                                struct fc_pairs_shelf *shelf)
{
    struct fc_pairs *pairs = &shelf->pairs;
    if (!shelf->full || shelf->of != of) {
        fc_pairs_close(pairs);
        shelf->of = of;
        shelf->full = fc_pairs_open(ev, of, pairs);
        return shelf->full ? pairs : NULL;
    }
    for (size_t i = 0; i < pairs->arenas; i++)
        for (size_t k = 0; k < pairs->arena[i].links; k++) {
            struct fc_link *l = &pairs->arena[i].link[k];
            l->skip = l->bad = l->mild = l->near = false;
        }
    return pairs;
}

/* One connection of sockets is bound by a core, not by its link: 36 to 40 % of 100 Gb/s
 * are published, so its floor is so much of the others'. */
double fc_pairs_floor(double floor, const char *path)
{
    return path && strcmp(path, "sockets") == 0 ? 0.375 * floor : floor;
}

static size_t mark_below(const struct fc_evidence *ev, struct fc_arena *a, double floor,
                         int64_t from_bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < a->links; i++) {
        struct fc_link *l = &a->link[i];
        int64_t bytes = l->pair ? ev->round[l->pair->round].bytes : -1;
        bool slow = l->bad;
        l->skip =
            !l->pair || !isfinite(l->pair->limit) || (bytes >= 0 && bytes < from_bytes);
        l->bad = !l->skip &&
                 l->value < fc_pairs_floor(floor, l->pair->path) * l->pair->limit;
        l->near = !l->skip && !l->bad && slow;
        l->mild = false;
        count += l->bad;
    }
    return count;
}

/* False when bad links are so few among so many that no member stands behind them:
 * then it is not worth the time to ask who is slow. */
static bool any_meet(const struct fc_arena *a)
{
    enum { MANY_LINKS = 1 << 16, MEET = 3 };
    if (a->links < MANY_LINKS)
        return true;
    size_t *bad = calloc(2 * a->members, sizeof *bad), most = 0;
    for (size_t i = 0; bad && i < a->links; i++) {
        size_t sent = bad[a->link[i].from] += a->link[i].bad;
        size_t got = bad[a->members + a->link[i].to] += a->link[i].bad;
        most = sent > most ? sent : most;
        most = got > most ? got : most;
    }
    bool meet = !bad || most >= MEET;
    free(bad);
    return meet;
}

bool fc_pairs_mark_floor(const struct fc_evidence *ev, struct fc_arena *a, double floor,
                         int64_t from_bytes)
{
    struct fc_pairs_level level;
    if (mark_below(ev, a, floor, from_bytes) == 0 || !any_meet(a))
        return true;
    if (!fc_pairs_mark_slow(ev, a, FC_PAIRS_DROP, &level))
        return false;
    (void)mark_below(ev, a, floor, from_bytes);
    return true;
}

bool fc_pairs_drop_across(struct fc_arena *a)
{
    size_t of[2] = {0}, bad[2] = {0};
    for (size_t i = 0; i < a->links && a->rails; i++) {
        const struct fc_link *l = &a->link[i];
        bool across = a->member[l->from].id != a->member[l->to].id;
        of[across] += !l->skip;
        bad[across] += l->bad;
    }
    if (of[0] == 0 || of[1] == 0 || 20 * bad[1] < 19 * of[1] || 10 * bad[0] > of[0])
        return false;
    for (size_t i = 0; i < a->links; i++) {
        struct fc_link *l = &a->link[i];
        l->skip = l->skip || a->member[l->from].id != a->member[l->to].id;
        l->bad = l->bad && !l->skip;
        l->near = l->near && !l->skip;
    }
    return true;
}
