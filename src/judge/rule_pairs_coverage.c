// SPDX-License-Identifier: BSD-3-Clause
/* Was every pair measured? Rounds that the level's time did not reach are only said, as
 * long as each member was in a pair; a member that was in none, and a pair that gave no
 * number, leave a question open. */
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* True when the probe came to its end; before that, the probe as a whole is missed. */
static bool has_ended(const struct fc_evidence *ev)
{
    for (size_t i = 0; i < ev->phases; i++)
        if (strcmp(ev->phase[i].name, "pairs") == 0 && ev->phase[i].end)
            return true;
    return false;
}

static struct fc_missing missing(const struct fc_case *c, const char *what)
{
    return (struct fc_missing){.class = c->rule->class,
                               .check = c->rule->id,
                               .probe = "pairs",
                               .what = what,
                               .node = FC_NONE};
}

/* Rounds of the first attempt: how many were run, of how many. */
static void count_rounds(const struct fc_evidence *ev, size_t *seen, int64_t *planned)
{
    *seen = 0;
    *planned = 0;
    for (size_t i = 0; i < ev->rounds && ev->round[i].attempt == 1; i++) {
        const struct fc_ev_round *r = &ev->round[i];
        *seen += i == 0 || r->round != ev->round[i - 1].round;
        *planned = r->rounds > *planned ? r->rounds : *planned;
    }
}

static bool has_value(const struct fc_ev_pair *p)
{
    return p->state == FC_EV_OK && isfinite(p->bw_ab) && isfinite(p->bw_ba);
}

/* met[i]: the node, or on one node the rank, was in a pair that was tried. What failed
 * is told by others. */
static bool *who_met(const struct fc_evidence *ev, bool by_rank)
{
    bool *met = calloc((by_rank ? ev->ranks : ev->nodes) + 1, sizeof *met);
    for (size_t i = 0; met && i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        if (p->state == FC_EV_UNMEASURED || by_rank != (p->a_node == p->b_node))
            continue;
        met[by_rank ? fc_ev_rank_index(ev, p->a_rank) : p->a_node] = true;
        met[by_rank ? fc_ev_rank_index(ev, p->b_rank) : p->b_node] = true;
    }
    return met;
}

/* False when some member met nobody. */
static bool check_members(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    struct fc_missing m = missing(c, "pair.bw");
    bool by_rank = ev->nodes < 2, all = true;
    size_t members = by_rank ? ev->ranks : ev->nodes;
    bool *met = who_met(ev, by_rank);
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
static size_t count_lost(const struct fc_evidence *ev, size_t *lost)
{
    size_t rounds = 0;
    for (size_t i = 0; i < ev->rounds && ev->round[i].attempt == 1; i++)
        rounds += i == 0 || !same_round(&ev->round[i - 1], &ev->round[i]);
    for (size_t i = 0; i < ev->nodes; i++)
        lost[i] = rounds;
    for (size_t i = 0; i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        const uint32_t node[] = {p->a_node, p->b_node};
        for (size_t k = 0; k < 2 && p->state != FC_EV_UNMEASURED; k++)
            if (ev->round[p->round].attempt > 1)
                lost[node[k]] = 0;
            else
                lost[node[k]] -= lost[node[k]] > 0;
    }
    return rounds;
}

/* Who is in far fewer rounds than the others was lost on the way; those whose turn it
 * was to meet it miss a round as well, and of an odd number one sits out each round. */
static bool check_lost(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    struct fc_missing m = missing(c, "rounds of pairs");
    size_t *lost = malloc((2 * ev->nodes + 1) * sizeof *lost);
    if (!lost || ev->nodes < 3) {
        free(lost);
        return ev->nodes < 3;
    }
    size_t rounds = count_lost(ev, lost), *sorted = lost + ev->nodes;
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

static void check_values(const struct fc_case *c)
{
    struct fc_missing m = missing(c, "pair.bw");
    size_t empty = 0, unverified = 0, skipped = 0;
    for (size_t i = 0; i < c->ev->ways;) {
        const struct fc_ev_pair *p = newest(c->ev, &i);
        if (!p || p->state == FC_EV_FAILED)
            continue;
        skipped += p->state == FC_EV_UNMEASURED;
        empty += p->state == FC_EV_OK && !has_value(p);
        unverified += has_value(p) && (p->wrong_ab < 0 || p->wrong_ba < 0);
    }
    if (skipped)
        fc_miss(c->out, &m, "%zu pair%s skipped or ran out of time", skipped,
                skipped > 1 ? "s were" : " was");
    if (empty)
        fc_miss(c->out, &m, "%zu pair%s measured, but no number came out", empty,
                empty > 1 ? "s were" : " was");
    if (unverified)
        fc_miss(c->out, &m, "%zu pair%s timed, but what arrived was not verified",
                unverified, unverified > 1 ? "s were" : " was");
}

void fc_rule_pair_missing(const struct fc_case *c)
{
    struct fc_missing m = missing(c, "rounds of pairs");
    size_t seen;
    int64_t planned;
    if (c->ev->rounds == 0 || !has_ended(c->ev))
        return;
    count_rounds(c->ev, &seen, &planned);
    if (check_members(c))
        m.class = FC_CLASS_INFORMATIVE;
    if (!check_lost(c))
        c->out->status = FC_NOMEM;
    if ((int64_t)seen < planned)
        fc_miss(c->out, &m,
                "%zu of %lld rounds were run; the others did not fit in "
                "the level's time",
                seen, (long long)planned);
    check_values(c);
}
