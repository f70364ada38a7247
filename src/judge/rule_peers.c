// SPDX-License-Identifier: BSD-3-Clause
/* Are equal nodes alike? Unlike alone is a warning; a FAIL needs a retest that says so
 * again and an effect that is worth a ticket. */
#include "judge/hints.h"
#include "judge/peers.h"
#include "judge/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node's case in one metric, the worst of its sizes and parameters. */
struct unlike {
    const struct fc_peer_group *group;
    const struct fc_peer *peer;
    bool confirmed, fails;
    double deficit;
};

static bool judge_peer(const struct fc_case *c, const struct fc_peer_group *g,
                       const struct fc_peer *p, struct unlike *out)
{
    if (!fc_peer_suspect(g, p->first) || !fc_peer_condemned(g, p))
        return false;
    double effect = fc_expectation_effect(c->expect, g->sample->info);
    *out = (struct unlike){.group = g, .peer = p, .confirmed = p->again != NULL};
    out->deficit = fc_peer_deficit(g, p->again ? p->again : p->first);
    out->fails =
        fc_peer_beyond_doubt(g, p) && isfinite(effect) && out->deficit > effect;
    return true;
}

static int by_node_and_metric(const void *pa, const void *pb)
{
    const struct unlike *a = pa, *b = pb;
    if (a->peer->node != b->peer->node)
        return a->peer->node < b->peer->node ? -1 : 1;
    int order = strcmp(a->group->sample->metric, b->group->sample->metric);
    if (order == 0 && a->fails != b->fails)
        order = a->fails ? -1 : 1;
    if (order == 0 && a->deficit != b->deficit)
        order = a->deficit > b->deficit ? -1 : 1;
    return order ? order : strcmp(a->group->what, b->group->what);
}

static void report(const struct fc_case *c, const struct unlike *u, size_t others)
{
    const struct fc_ev_record *r = u->confirmed ? u->peer->again : u->peer->first;
    const struct fc_ev_record *evidence[] = {u->peer->first, r};
    struct fc_hint hint = fc_hint_slow(r->metric);
    double effect = fc_expectation_effect(c->expect, r->info);
    char more[64] = "", worth[80] = "";
    if (others)
        snprintf(more, sizeof more, "; %zu other measurement%s as well", others,
                 others > 1 ? "s" : "");
    if (u->fails)
        snprintf(worth, sizeof worth, ", more than the %.2g %% that is worth a ticket",
                 100.0 * effect);
    struct fc_finding f = {.severity = u->fails ? FC_SEV_FAIL : FC_SEV_WARN,
                           .confidence = u->confirmed ? FC_CONF_HIGH : FC_CONF_LOW,
                           .check = c->rule->id,
                           .node = r->node,
                           .rank = r->rank,
                           .subject = json_object_get(r->line, "subject"),
                           .metric = r->metric,
                           .cause = hint.cause,
                           .remedy = hint.remedy,
                           .probe = r->probe[0] ? r->probe : NULL,
                           .evidence = evidence,
                           .evidences = 2};
    fc_find_slow(c, &f,
                 "%s %.4g %s is %.3g %% worse than the %s %.4g %s of %zu %sequal nodes "
                 "(their spread is %.2g %%)%s; %s%s",
                 fc_clip(r->metric).s, r->median, fc_clip(r->unit).s,
                 100.0 * u->deficit, u->group->few ? "mean" : "median", u->peer->centre,
                 fc_clip(r->unit).s, u->peer->others, u->group->few ? "other " : "",
                 100.0 * u->peer->scale, worth,
                 u->confirmed ? "confirmed by a retest" : "not retested", more);
}

static size_t collect(const struct fc_case *c, struct unlike *unlike, size_t *largest)
{
    size_t count = 0;
    for (size_t i = 0; i < c->peers->groups; i++) {
        const struct fc_peer_group *g = &c->peers->group[i];
        if (g->peers > *largest)
            *largest = g->peers;
        for (size_t k = 0; k < g->peers; k++)
            count += judge_peer(c, g, &g->peer[k], &unlike[count]);
    }
    return count;
}

static void report_few(const struct fc_case *c, size_t largest)
{
    struct fc_missing m = {.class = c->rule->class,
                           .check = c->rule->id,
                           .what = "comparison with peers",
                           .node = FC_NONE};
    if (largest < FC_PEERS_FEW)
        fc_miss(c->out, &m,
                "the largest group of equal nodes has %zu; from %d on the worst can be "
                "held against the others, from %d on the median is a yardstick",
                largest, FC_PEERS_FEW, FC_PEERS_MIN);
    else if (largest < FC_PEERS_MIN)
        fc_miss(c->out, &m,
                "the largest group of equal nodes has %zu, of which the worst was held "
                "against the others; smaller differences, and several bad nodes, are "
                "found from %d on, where the median is a yardstick",
                largest, FC_PEERS_MIN);
}

void fc_rule_peers(const struct fc_case *c)
{
    size_t room = c->ev->series_count + 1, largest = 0;
    struct unlike *unlike = malloc(room * sizeof *unlike);
    size_t count = unlike ? collect(c, unlike, &largest) : 0;
    if (!unlike)
        c->out->status = FC_NOMEM;
    else
        qsort(unlike, count, sizeof *unlike, by_node_and_metric);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && unlike[end].peer->node == unlike[i].peer->node &&
               strcmp(unlike[end].group->sample->metric,
                      unlike[i].group->sample->metric) == 0)
            end++;
        report(c, &unlike[i], end - i - 1);
        i = end;
    }
    if (unlike)
        report_few(c, largest);
    free(unlike);
}

void fc_rule_spread(const struct fc_case *c)
{
    for (size_t i = 0; i < c->peers->groups; i++) {
        const struct fc_peer_group *g = &c->peers->group[i];
        double effect = fc_expectation_effect(c->expect, g->sample->info);
        if (!g->compared || g->few || !isfinite(effect) ||
            fc_peer_detectable(g) <= effect)
            continue;
        double own = 100.0 * fmin(1.0, g->noise / (g->scale * g->scale));
        struct fc_finding f = {
            .severity = FC_SEV_INFO,
            .confidence = FC_CONF_HIGH,
            .check = c->rule->id,
            .node = FC_NONE,
            .rank = -1,
            .metric = g->sample->metric,
            .cause = own > 50.0 ? "the measurement itself is noisy"
                                : "the nodes differ among themselves, or many are slow",
            .remedy = own > 50.0
                          ? "measure longer (a higher level), on idle nodes"
                          : "look at the values of all nodes; judge them by their "
                            "limits"};
        fc_find(c->out, &f,
                "%s: %zu equal nodes spread by %.2g %%, so only a degradation of %.2g "
                "%% or "
                "more is found (wanted: %.2g %%); %.0f %% of it is noise within a run",
                fc_clip(g->sample->metric).s, g->peers, 100.0 * g->scale,
                100.0 * fc_peer_detectable(g), 100.0 * effect, own);
    }
}
