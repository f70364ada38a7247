// SPDX-License-Identifier: BSD-3-Clause
/* What everyone who looks at pairs needs, made once: both ways of each pair in the
 * order of who sends to whom, and the leaf switch of each NIC. */
#include "judge/evidence_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 1 << 30 };

/* --- what pairs are measured by --- */

static const struct {
    const char *bw, *latency;
} metrics[] = {
    {"pair.bw", "pair.latency"},
    {"rdma.write_bw", "rdma.write_lat"},
    {"rdma.read_bw", "rdma.read_lat"},
    {"rdma.send_bw", "rdma.send_lat"},
};

const char *fc_ev_pair_probe(const char *metric)
{
    const struct fc_metric *info = fc_metric_find(metric);
    return info ? info->probe : "pairs";
}

const char *fc_ev_pair_latency(const char *metric)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i].bw, metric) == 0)
            return metrics[i].latency;
    return "pair.latency";
}

const char *fc_ev_pair_bandwidth(const char *metric)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i].latency, metric) == 0)
            return metrics[i].bw;
    return metric;
}

const char *fc_ev_wrong_unit(const char *probe)
{
    return strcmp(probe, "rdma") == 0 ? "byte" : "element";
}

bool fc_ev_has_rounds(const struct fc_evidence *ev, const char *probe)
{
    for (size_t i = 0; i < ev->rounds; i++)
        if (strcmp(fc_ev_pair_probe(ev->round[i].metric), probe) == 0)
            return true;
    return false;
}

bool fc_ev_in_matrix(const struct fc_evidence *ev, const char *metric)
{
    const char *bw = fc_ev_pair_bandwidth(metric);
    for (size_t i = 0; i < ev->arenas; i++)
        if (strcmp(ev->arena[i].metric, bw) == 0)
            return true;
    return false;
}

struct sorting {
    const struct fc_evidence *ev;
    struct fc_ev_way *way, *other; /* [ways], the latter is scratch */
    size_t ways;
    const uint32_t *metric; /* [rounds]: number of its metric */
    size_t metrics;
    bool inside; /* some pair is of two ranks of a node */
};

static const struct fc_ev_pair *pair_of(const struct sorting *s,
                                        const struct fc_ev_way *way)
{
    return &s->ev->pair[way->pair];
}

static uint32_t nic(const struct fc_evidence *ev, uint32_t node, int rail)
{
    return node * (uint32_t)ev->rails + (uint32_t)(rail > 0 ? rail : 0);
}

static void make_ways(const struct fc_evidence *ev, struct fc_ev_way *out)
{
    for (size_t i = 0; i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        const struct fc_ev_round *r = &ev->round[p->round];
        bool inside = p->a_node == p->b_node;
        uint32_t a = inside ? (uint32_t)fc_ev_rank_index(ev, p->a_rank)
                            : nic(ev, p->a_node, r->rail);
        uint32_t b = inside ? (uint32_t)fc_ev_rank_index(ev, p->b_rank)
                            : nic(ev, p->b_node, r->peer_rail);
        bool ok = p->state == FC_EV_OK;
        double latency = ok ? p->latency : (double)NAN;
        struct fc_ev_way way = {.bw = ok ? p->bw_ab : latency,
                                .latency = latency,
                                .again = r->attempt > 1,
                                .pair = (uint32_t)i & (MOST_PAIRS - 1),
                                .from = a,
                                .to = b};
        *out++ = way;
        way.bw = ok ? p->bw_ba : latency;
        way.back = 1;
        way.from = b;
        way.to = a;
        *out++ = way;
    }
}

static uint32_t from_key(const struct sorting *s, const struct fc_ev_way *way)
{
    (void)s;
    return way->from;
}

static uint32_t to_key(const struct sorting *s, const struct fc_ev_way *way)
{
    (void)s;
    return way->to;
}

static uint32_t metric_key(const struct sorting *s, const struct fc_ev_way *way)
{
    return s->metric[pair_of(s, way)->round];
}

static uint32_t inside_key(const struct sorting *s, const struct fc_ev_way *way)
{
    const struct fc_ev_pair *p = pair_of(s, way);
    return p->a_node == p->b_node ? p->a_node + 1 : 0;
}

typedef uint32_t key_of_way(const struct sorting *s, const struct fc_ev_way *way);

/* By counting, since keys are small numbers; stable. */
static bool sort_by(struct sorting *s, key_of_way *key, size_t bound)
{
    size_t *start = calloc(bound + 1, sizeof *start);
    if (!start)
        return false;
    for (size_t i = 0; i < s->ways; i++)
        start[key(s, &s->way[i]) + 1]++;
    for (size_t i = 0; i < bound; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < s->ways; i++)
        s->other[start[key(s, &s->way[i])]++] = s->way[i];
    struct fc_ev_way *swap = s->way;
    s->way = s->other;
    s->other = swap;
    free(start);
    return true;
}

/* Where arenas begin in what is sorted. */
static bool number_arenas(const struct sorting *s, struct fc_evidence *ev)
{
    uint32_t last_metric = 0, last_inside = 0;
    size_t room = 0, ways = s->metrics == 1 && !s->inside ? s->ways > 0 : s->ways;
    for (size_t i = 0; i < ways; i++) {
        uint32_t metric = metric_key(s, &s->way[i]);
        uint32_t inside = inside_key(s, &s->way[i]);
        if (i == 0 || metric != last_metric || inside != last_inside) {
            if (ev->arenas == room) {
                room = 2 * room + 16;
                struct fc_ev_arena *more = realloc(ev->arena, room * sizeof *more);
                if (!more)
                    return false;
                ev->arena = more;
            }
            const struct fc_ev_round *r = &ev->round[pair_of(s, &s->way[i])->round];
            ev->arena[ev->arenas++] =
                (struct fc_ev_arena){inside ? inside - 1 : FC_NONE, r->metric};
        }
        last_metric = metric;
        last_inside = inside;
        s->way[i].arena = (uint32_t)(ev->arenas - 1);
    }
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each once; how many. */
static size_t unique(const char **name, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(name, count, sizeof *name, by_text);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(name[i], name[kept - 1]) != 0)
            name[kept++] = name[i];
    return kept;
}

static uint32_t number_of(const char **name, size_t count, const char *key)
{
    const char **at = bsearch(&key, name, count, sizeof *name, by_text);
    return (uint32_t)(at - name);
}

/* The numbers of the rounds' metrics; how many there are, 0 without memory. */
static size_t number_metrics(const struct fc_evidence *ev, uint32_t *out)
{
    const char **name = malloc((ev->rounds + 1) * sizeof(*name));
    if (!name || !out) {
        free(name);
        return 0;
    }
    for (size_t i = 0; i < ev->rounds; i++)
        name[i] = ev->round[i].metric;
    size_t count = unique(name, ev->rounds);
    for (size_t i = 0; i < ev->rounds; i++)
        out[i] = number_of(name, count, ev->round[i].metric);
    free(name);
    return count ? count : 1;
}

/* --- leaf switches --- */

/* The switch that a node line gives for a NIC; NULL: none. */
static const char *leaf_name(const struct fc_evidence *ev, size_t node, size_t rail)
{
    const json_t *leaf = ev->node[node].leaf;
    const json_t *name = json_is_array(leaf) ? json_array_get(leaf, rail) : leaf;
    const char *text = json_string_value(name);
    return text && *text ? text : NULL;
}

static bool number_leaves(struct fc_evidence *ev)
{
    size_t nics = ev->nodes * ev->rails, count = 0;
    ev->leaf = malloc((nics + 1) * sizeof *ev->leaf);
    ev->leaf_name = malloc((nics + 1) * sizeof(*ev->leaf_name));
    if (!ev->leaf || !ev->leaf_name)
        return false;
    for (size_t i = 0; i < nics; i++) {
        const char *name = leaf_name(ev, i / ev->rails, i % ev->rails);
        if (name)
            ev->leaf_name[count++] = name;
    }
    ev->leaves = unique(ev->leaf_name, count);
    for (size_t i = 0; i < nics; i++) {
        const char *name = leaf_name(ev, i / ev->rails, i % ev->rails);
        ev->leaf[i] = name ? number_of(ev->leaf_name, ev->leaves, name) : FC_EV_NO_LEAF;
    }
    return true;
}

static void count_rails(struct fc_evidence *ev)
{
    size_t rails = 1;
    for (size_t i = 0; i < ev->rounds; i++) {
        const struct fc_ev_round *r = &ev->round[i];
        int most = r->rail > r->peer_rail ? r->rail : r->peer_rail;
        if (most >= (int)rails)
            rails = (size_t)most + 1;
    }
    ev->rails = rails;
}

bool fc_ev_sort_ways(struct fc_evidence *ev)
{
    struct sorting s = {.ev = ev, .ways = 2 * ev->pairs};
    count_rails(ev);
    size_t ends = ev->nodes * ev->rails;
    ends = (ends > ev->ranks ? ends : ev->ranks) + 1;
    uint32_t *metric = malloc((ev->rounds + 1) * sizeof *metric);
    s.way = malloc((s.ways + 1) * sizeof *s.way);
    s.other = malloc((s.ways + 1) * sizeof *s.other);
    s.metric = metric;
    s.metrics = number_metrics(ev, metric);
    for (size_t i = 0; i < ev->pairs && !s.inside; i++)
        s.inside = ev->pair[i].a_node == ev->pair[i].b_node;
    bool ok = ev->pairs < MOST_PAIRS && s.way && s.other && s.metrics;
    ok = ok && number_leaves(ev);
    if (ok)
        make_ways(ev, s.way);
    ok = ok && sort_by(&s, to_key, ends) && sort_by(&s, from_key, ends);
    if (s.metrics > 1)
        ok = ok && sort_by(&s, metric_key, s.metrics);
    if (s.inside)
        ok = ok && sort_by(&s, inside_key, ev->nodes + 1);
    ok = ok && number_arenas(&s, ev);
    free(s.other);
    free(metric);
    ev->way = s.way;
    ev->ways = s.ways;
    return ok;
}
