// SPDX-License-Identifier: BSD-3-Clause
#include "judge/peers_parts.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double normal_mad = 1.4826;    /* MAD to standard deviation */
static const double median_variance = 1.57; /* of R normal samples, times R */
static const double first_least = 0.015, first_scales = 2.5;
static const double again_least = 0.02, again_scales = 3.1;
static const double power_scales = 5.42;
static const double family_chance = 1e-3; /* of a false alarm, over a node's tests */
static const double small_group = 16.0;

/* One series of a node in a group. */
struct member {
    const char *class;
    size_t node;
    const struct fc_ev_record *first, *again;
};

static bool usable(const struct fc_ev_record *r)
{
    return r->state == FC_EV_OK && isfinite(r->median) && r->median > 0.0;
}

/* Metrics that say the same as another one, or that have a rule of their own (of a
 * training step's ranks, of counters), and sizes where latency rules, are left out:
 * each test that adds nothing still adds false alarms. */
static bool comparable(const struct fc_ev_record *r)
{
    const struct fc_floor *row = fc_floor_find(r->metric);
    size_t length = strlen(r->metric);
    if (!fc_ev_of_node(r) || (row && r->bytes >= 0 && r->bytes < row->from_bytes))
        return false;
    if (strncmp(r->metric, "training.", 9) == 0 ||
        strcmp(r->metric, "rdma.counter") == 0)
        return false;
    return strncmp(r->metric, "collective.", 11) != 0 || length < 5 ||
           strcmp(r->metric + length - 5, ".time") != 0;
}

static bool make_member(const struct fc_evidence *ev, const struct fc_ev_series *series,
                        struct member *out)
{
    *out = (struct member){.node = series->record[0]->node};
    if (!comparable(series->record[0]))
        return false;
    for (size_t i = 0; i < series->count; i++) {
        const struct fc_ev_record *r = series->record[i];
        if (!usable(r))
            continue;
        if (r->attempt > 1)
            out->again = r;
        else if (!out->first)
            out->first = r;
    }
    out->class = ev->node[out->node].class;
    return out->first != NULL;
}

static int group_order(const char *what, const char *class, const char *other_what,
                       const char *other_class)
{
    int order = what == other_what ? 0 : strcmp(what, other_what);
    return order ? order : strcmp(class, other_class);
}

static int by_group(const void *pa, const void *pb)
{
    const struct member *a = pa, *b = pb;
    int order = group_order(a->first->what, a->class, b->first->what, b->class);
    if (order == 0 && a->node != b->node)
        order = a->node < b->node ? -1 : 1;
    if (order == 0)
        order = a->first->rank < b->first->rank ? -1 : a->first->rank > b->first->rank;
    return order ? order : (a->first < b->first ? -1 : a->first > b->first);
}

static bool worse(const struct fc_ev_record *a, const struct fc_ev_record *b)
{
    return a->higher ? a->median < b->median : a->median > b->median;
}

/* The worst of a node's ranks. A retest counts only when the worst rank had one. */
static struct fc_peer join_ranks(const struct member *member, size_t count)
{
    const struct member *worst = &member[0];
    struct fc_peer peer = {.node = member[0].node};
    for (size_t i = 0; i < count; i++) {
        if (worse(member[i].first, worst->first))
            worst = &member[i];
        if (member[i].again && (!peer.again || worse(member[i].again, peer.again)))
            peer.again = member[i].again;
    }
    peer.first = worst->first;
    if (!worst->again)
        peer.again = NULL;
    return peer;
}

/* Variance of this record's median, as a share squared; NaN when it is not told. */
static double own_noise(const struct fc_ev_record *r)
{
    if (!(r->mad >= 0.0) || r->samples < 2)
        return (double)NAN;
    double sigma = normal_mad * r->mad / r->median;
    return median_variance * sigma * sigma / (double)r->samples;
}

static bool measure(struct fc_peer_group *g)
{
    double *x = malloc(2 * g->peers * sizeof *x);
    size_t noises = 0;
    if (!x)
        return false;
    for (size_t i = 0; i < g->peers; i++)
        x[i] = g->peer[i].first->median;
    g->centre = fc_median_in_place(x, g->peers);
    double mad = fc_mad(x, g->peers, g->centre, x + g->peers);
    g->compared = g->peers >= FC_PEERS_MIN && isfinite(g->centre) && g->centre > 0.0 &&
                  isfinite(mad / g->centre);
    g->scale = fmax(normal_mad * mad / g->centre, FC_PEERS_SCALE_MIN);
    for (size_t i = 0; i < g->peers; i++) {
        double noise = own_noise(g->peer[i].first);
        if (isfinite(noise))
            x[noises++] = noise;
    }
    g->noise = noises ? fc_median_in_place(x, noises) : 0.0;
    free(x);
    for (size_t i = 0; i < g->peers; i++) {
        g->peer[i].centre = g->centre;
        g->peer[i].scale = g->scale;
        g->peer[i].others = g->peers;
    }
    g->few = g->peers >= FC_PEERS_FEW && g->peers < FC_PEERS_MIN;
    g->compared = g->compared || g->few; /* for who asks on the way */
    if (g->few)
        g->compared = fc_peers_few_measure(g);
    return true;
}

static bool make_groups(const struct member *member, size_t count, struct fc_peers *out)
{
    size_t used = 0;
    for (size_t i = 0; i < count;) {
        const struct member *head = &member[i];
        struct fc_peer_group *g = &out->group[out->groups++];
        *g = (struct fc_peer_group){.class = head->class,
                                    .what = head->first->what,
                                    .sample = head->first,
                                    .peer = out->peer + used};
        while (i < count && group_order(g->what, g->class, member[i].first->what,
                                        member[i].class) == 0) {
            size_t end = i + 1;
            while (end < count && member[end].node == member[i].node &&
                   group_order(g->what, g->class, member[end].first->what,
                               member[end].class) == 0)
                end++;
            g->peer[g->peers++] = join_ranks(member + i, end - i);
            i = end;
        }
        used += g->peers;
        if (!measure(g))
            return false;
    }
    return true;
}

static bool may_fail(const struct fc_expectation *expect, const struct fc_peer_group *g)
{
    return g->compared && isfinite(fc_expectation_effect(expect, g->sample->info));
}

static bool count_tests(const struct fc_evidence *ev,
                        const struct fc_expectation *expect, struct fc_peers *peers)
{
    size_t *tests = calloc(ev->nodes + 1, sizeof *tests);
    for (int pass = 0; tests && pass < 2; pass++)
        for (size_t i = 0; i < peers->groups; i++)
            for (size_t k = 0; k < peers->group[i].peers; k++) {
                struct fc_peer *p = &peers->group[i].peer[k];
                tests[p->node] += pass == 0 && may_fail(expect, &peers->group[i]);
                p->tests = tests[p->node];
            }
    free(tests);
    return tests != NULL;
}

bool fc_peers_open(const struct fc_evidence *ev, const struct fc_expectation *expect,
                   struct fc_peers *out)
{
    size_t room = ev->series_count ? ev->series_count : 1, count = 0;
    struct member *member = malloc(room * sizeof *member);
    *out = (struct fc_peers){.group = malloc(room * sizeof(struct fc_peer_group)),
                             .peer = malloc(room * sizeof(struct fc_peer))};
    bool ok = member && out->group && out->peer;
    for (size_t i = 0; ok && i < ev->series_count; i++)
        count += make_member(ev, &ev->series[i], &member[count]);
    if (ok) {
        qsort(member, count, sizeof *member, by_group);
        ok = make_groups(member, count, out) && count_tests(ev, expect, out);
    }
    free(member);
    if (!ok)
        fc_peers_close(out);
    return ok;
}

void fc_peers_close(struct fc_peers *peers)
{
    free(peers->group);
    free(peers->peer);
    *peers = (struct fc_peers){0};
}

const struct fc_peer_group *fc_peers_find(const struct fc_peers *peers,
                                          const struct fc_evidence *ev,
                                          const struct fc_ev_record *r)
{
    size_t low = 0, high = peers->groups;
    if (r->node == FC_NONE || !comparable(r))
        return NULL;
    const char *class = ev->node[r->node].class;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct fc_peer_group *g = &peers->group[mid];
        int order = group_order(g->what, g->class, r->what, class);
        if (order == 0)
            return g;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* The peer that the record is of; NULL: none. */
static const struct fc_peer *peer_of(const struct fc_peer_group *g,
                                     const struct fc_ev_record *r)
{
    size_t low = 0, high = g->peers;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        *(g->peer[mid].node <= r->node ? &low : &high) = mid;
    }
    return g->peers && g->peer[low].node == r->node ? &g->peer[low] : NULL;
}

double fc_peer_deficit(const struct fc_peer_group *g, const struct fc_ev_record *r)
{
    const struct fc_peer *peer = g->few ? peer_of(g, r) : NULL;
    double centre = peer ? peer->centre : g->centre;
    double rise = (r->median - centre) / centre;
    return g->sample->higher ? -rise : rise;
}

bool fc_peer_suspect(const struct fc_peer_group *g, const struct fc_ev_record *first)
{
    const struct fc_peer *peer = g->few ? peer_of(g, first) : NULL;
    double deficit = g->compared ? fc_peer_deficit(g, first) : 0.0;
    if (!(deficit > first_least) || (g->few && !peer))
        return false;
    return g->few ? fc_peers_few_far(peer, deficit, FC_PEERS_FEW_FIRST)
                  : deficit > first_scales * g->scale;
}

/* s', for the record that is judged. */
static double scale_of(const struct fc_peer_group *g, const struct fc_ev_record *r)
{
    double before = (double)(g->sample->samples > 0 ? g->sample->samples : 1);
    double now = (double)(r->samples > 0 ? r->samples : 1);
    double variance = g->scale * g->scale - g->noise + g->noise * before / now;
    return variance > FC_PEERS_SCALE_MIN * FC_PEERS_SCALE_MIN ? sqrt(variance)
                                                              : FC_PEERS_SCALE_MIN;
}

bool fc_peer_condemned(const struct fc_peer_group *g, const struct fc_peer *peer)
{
    const struct fc_ev_record *r = peer->again ? peer->again : peer->first;
    double deficit = g->compared ? fc_peer_deficit(g, r) : 0.0;
    if (!(deficit > again_least))
        return false;
    return g->few ? fc_peers_few_far(peer, deficit, FC_PEERS_FEW_AGAIN)
                  : deficit > again_scales * scale_of(g, r);
}

/* How many standard deviations a normal value exceeds with this chance. */
static double normal_scales(double chance)
{
    double low = 0.0, high = 12.0;
    for (int step = 0; step < 50; step++) {
        double mid = 0.5 * (low + high);
        *(0.5 * erfc(mid / sqrt(2.0)) > chance ? &low : &high) = mid;
    }
    return high;
}

bool fc_peer_beyond_doubt(const struct fc_peer_group *g, const struct fc_peer *peer)
{
    double tests = (double)(peer->tests ? peer->tests : 1);
    double chance = -expm1(log1p(-family_chance) / tests);
    double wide = 1.0 + small_group / (double)g->peers;
    if (!peer->again || !fc_peer_condemned(g, peer))
        return false;
    double deficit = fc_peer_deficit(g, peer->again);
    return g->few ? fc_peers_few_far(peer, deficit, chance)
                  : deficit > normal_scales(chance) * wide * scale_of(g, peer->again);
}

double fc_peer_detectable(const struct fc_peer_group *g)
{
    return power_scales * g->scale;
}
