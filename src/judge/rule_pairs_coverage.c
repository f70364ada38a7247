// SPDX-License-Identifier: BSD-3-Clause
/* Was every pair measured? Rounds that the level's time did not reach are only said, as
 * long as each member was in a pair; a member that was in none, and a pair that gave no
 * number, leave a question open. */
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One probe's pairs. */
struct view {
    const struct fc_case *c;
    const char *probe, *metric;
    bool *round; /* [rounds]: the line is of this probe */
};

/* True when the probe came to its end; before that, the probe as a whole is missed. */
static bool has_ended(const struct view *v)
{
    const struct fc_evidence *ev = v->c->ev;
    for (size_t i = 0; i < ev->phases; i++)
        if (strcmp(ev->phase[i].name, v->probe) == 0 && ev->phase[i].end)
            return true;
    return false;
}

static struct fc_missing missing(const struct view *v, const char *what)
{
    return (struct fc_missing){.class = v->c->rule->class,
                               .check = v->c->rule->id,
                               .probe = v->probe,
                               .what = what,
                               .node = FC_NONE};
}

/* Rounds of the first attempt: how many were run, of how many. */
static void count_rounds(const struct view *v, size_t *seen, int64_t *planned)
{
    const struct fc_evidence *ev = v->c->ev;
    int64_t last = -1;
    *seen = 0;
    *planned = 0;
    for (size_t i = 0; i < ev->rounds && ev->round[i].attempt == 1; i++) {
        const struct fc_ev_round *r = &ev->round[i];
        if (!v->round[i])
            continue;
        *seen += r->round != last;
        *planned = r->rounds > *planned ? r->rounds : *planned;
        last = r->round;
    }
}

static bool has_value(const struct fc_ev_pair *p)
{
    return p->state == FC_EV_OK && isfinite(p->bw_ab) && isfinite(p->bw_ba);
}

/* met[i]: the node, or on one node the rank, was in a pair that was tried. What failed
 * is told by others. */
static bool *who_met(const struct view *v, bool by_rank)
{
    const struct fc_evidence *ev = v->c->ev;
    bool *met = calloc((by_rank ? ev->ranks : ev->nodes) + 1, sizeof *met);
    for (size_t i = 0; met && i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        if (!v->round[p->round] || p->state == FC_EV_UNMEASURED ||
            by_rank != (p->a_node == p->b_node))
            continue;
        met[by_rank ? fc_ev_rank_index(ev, p->a_rank) : p->a_node] = true;
        met[by_rank ? fc_ev_rank_index(ev, p->b_rank) : p->b_node] = true;
    }
    return met;
}

/* False when some member met nobody. */
static bool check_members(const struct view *v)
{
    const struct fc_case *c = v->c;
    const struct fc_evidence *ev = c->ev;
    struct fc_missing m = missing(v, v->metric);
    bool by_rank = ev->nodes < 2, all = true;
    size_t members = by_rank ? ev->ranks : ev->nodes;
    bool *met = who_met(v, by_rank);
    if (!met)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; met && i < members; i++) {
        if (met[i])
            continue;
        all = false;
        m.node = by_rank ? ev->rank[i].node : i;
        if (by_rank)
            fc_miss(c->out, &m, "rank %d was in no pair", ev->rank[i].rank);
        else
            fc_miss(c->out, &m, "it was in no pair with another node");
    }
    free(met);
    return all;
}

/* True when the lines are of one round along (across) the same rails. */
static bool same_round(const struct fc_ev_round *a, const struct fc_ev_round *b)
{
    return a->attempt == b->attempt && a->round == b->round && a->rail == b->rail &&
           a->peer_rail == b->peer_rail && strcmp(a->metric, b->metric) == 0;
}

static int by_count(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* lost[node]: rounds of the first attempt that it was in no tried pair of; how many
 * rounds there were. A node that was measured again lost none. */
static size_t count_lost(const struct view *v, size_t *lost)
{
    const struct fc_evidence *ev = v->c->ev;
    const struct fc_ev_round *last = NULL;
    size_t rounds = 0;
    for (size_t i = 0; i < ev->rounds && ev->round[i].attempt == 1; i++) {
        if (!v->round[i])
            continue;
        rounds += !last || !same_round(last, &ev->round[i]);
        last = &ev->round[i];
    }
    for (size_t i = 0; i < ev->nodes; i++)
        lost[i] = rounds;
    for (size_t i = 0; i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        const uint32_t node[] = {p->a_node, p->b_node};
        bool tried = v->round[p->round] && p->state != FC_EV_UNMEASURED;
        for (size_t k = 0; k < 2 && tried; k++)
            if (ev->round[p->round].attempt > 1)
                lost[node[k]] = 0;
            else
                lost[node[k]] -= lost[node[k]] > 0;
    }
    return rounds;
}

/* Who is in far fewer rounds than the others was lost on the way; those whose turn it
 * was to meet it miss a round as well, and of an odd number one sits out each round. */
static bool check_lost(const struct view *v)
{
    const struct fc_case *c = v->c;
    const struct fc_evidence *ev = c->ev;
    struct fc_missing m = missing(v, "rounds of pairs");
    size_t *lost = malloc((2 * ev->nodes + 1) * sizeof *lost);
    if (!lost || ev->nodes < 3) {
        free(lost);
        return ev->nodes < 3;
    }
    size_t rounds = count_lost(v, lost), *sorted = lost + ev->nodes;
    memcpy(sorted, lost, ev->nodes * sizeof *lost);
    qsort(sorted, ev->nodes, sizeof *sorted, by_count);
    size_t usual = sorted[ev->nodes / 2];
    for (size_t i = 0; i < ev->nodes; i++) {
        if (lost[i] < 2 || lost[i] <= 2 * usual || lost[i] == rounds)
            continue;
        m.node = i;
        fc_miss(c->out, &m, "it was in %zu of %zu rounds of pairs; most were in %zu",
                rounds - lost[i], rounds, rounds - usual);
    }
    free(lost);
    return true;
}

/* The newest attempt of the pair of ev->way[*i], moved behind all of it; NULL: this is
 * the other way of a pair. A retest fills a gap. */
static const struct fc_ev_pair *newest(const struct fc_evidence *ev, size_t *i)
{
    const struct fc_ev_way *first = &ev->way[*i], *way = first;
    while (*i < ev->ways && ev->way[*i].arena == first->arena &&
           ev->way[*i].from == first->from && ev->way[*i].to == first->to)
        way = &ev->way[(*i)++];
    return first->from < first->to ? &ev->pair[way->pair] : NULL;
}

static void check_values(const struct view *v)
{
    const struct fc_case *c = v->c;
    struct fc_missing m = missing(v, v->metric);
    size_t empty = 0, unverified = 0, skipped = 0;
    const char *why = NULL; /* of several the first in order of text */
    for (size_t i = 0; i < c->ev->ways;) {
        const struct fc_ev_pair *p = newest(c->ev, &i);
        if (!p || !v->round[p->round] || p->state == FC_EV_FAILED)
            continue;
        if (p->state == FC_EV_UNMEASURED) {
            skipped++;
            if (p->reason && (!why || strcmp(p->reason, why) < 0))
                why = p->reason;
        }
        empty += p->state == FC_EV_OK && !has_value(p);
        unverified += has_value(p) && (p->wrong_ab < 0 || p->wrong_ba < 0);
    }
    if (skipped && why)
        fc_miss(c->out, &m, "%zu pair%s not measured: %s", skipped,
                skipped > 1 ? "s were" : " was", fc_clip(why).s);
    else if (skipped)
        fc_miss(c->out, &m, "%zu pair%s skipped or ran out of time", skipped,
                skipped > 1 ? "s were" : " was");
    if (empty)
        fc_miss(c->out, &m, "%zu pair%s measured, but no number came out", empty,
                empty > 1 ? "s were" : " was");
    if (unverified)
        fc_miss(c->out, &m, "%zu pair%s timed, but what arrived was not verified",
                unverified, unverified > 1 ? "s were" : " was");
}

static void check_probe(const struct view *v)
{
    const struct fc_case *c = v->c;
    struct fc_missing m = missing(v, "rounds of pairs");
    size_t seen;
    int64_t planned;
    count_rounds(v, &seen, &planned);
    if (check_members(v))
        m.class = FC_CLASS_INFORMATIVE;
    if (!check_lost(v))
        c->out->status = FC_NOMEM;
    if ((int64_t)seen < planned)
        fc_miss(c->out, &m,
                "%zu of %lld rounds were run; the others did not fit in "
                "the level's time",
                seen, (long long)planned);
    check_values(v);
}

void fc_rule_pair_missing(const struct fc_case *c)
{
    static const char *const probes[][2] = {{"pairs", "pair.bw"},
                                            {"rdma", "rdma.write_bw"}};
    const struct fc_evidence *ev = c->ev;
    bool *round = malloc((ev->rounds + 1) * sizeof *round);
    if (!round)
        c->out->status = FC_NOMEM;
    for (size_t k = 0; round && k < sizeof probes / sizeof *probes; k++) {
        struct view v = {c, probes[k][0], probes[k][1], round};
        size_t mine = 0;
        for (size_t i = 0; i < ev->rounds; i++) {
            round[i] = strcmp(fc_ev_pair_probe(ev->round[i].metric), v.probe) == 0;
            mine += round[i];
        }
        if (mine && has_ended(&v))
            check_probe(&v);
    }
    free(round);
}
