// SPDX-License-Identifier: BSD-3-Clause
/* Are pairs right, near their limits and like each other? Which links are bad is told
 * by the evidence (wrong, failed), by limits or by the other links; who is to blame is
 * always pairs.h's answer. */
#include "judge/hints.h"
#include "judge/pairs.h"
#include "judge/rules.h"

#include "core/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this is a fault, not a matter of distance, even where the pattern of few
 * pairs is all there is. */
static const double plain_drop = 0.30;
/* Healthy latencies differ by the switches between the nodes. */
static const double latency_factor = 2.1;
/* The middle of all pairs is this share of the best ones: the fabric is slow. */
static const double fabric_share = 0.7;
enum { FEW = 8, EVIDENCE = 64 };

struct text {
    char s[256];
};

static const char *roles(const struct fc_culprit *k)
{
    if (k->sends && k->receives)
        return "sends or receives";
    return k->sends ? "sends" : "receives";
}

static struct text name_of(const struct fc_case *c, const struct fc_arena *a,
                           uint32_t member)
{
    struct text text;
    if (a->node == FC_NONE)
        snprintf(text.s, sizeof text.s, "%s",
                 fc_clip(c->ev->node[a->id[member]].name).s);
    else
        snprintf(text.s, sizeof text.s, "rank %lu", (unsigned long)a->id[member]);
    return text;
}

/* " in 6 of 6 transfers that it sends": where the trouble is. */
static struct text scope(const struct fc_case *c, const struct fc_arena *a,
                         const struct fc_culprit *k)
{
    struct text text;
    uint32_t from = k->sends ? k->member : k->other;
    uint32_t to = k->sends ? k->other : k->member;
    if (k->kind == FC_CULPRIT_MEMBER)
        snprintf(text.s, sizeof text.s, "in %zu of %zu transfers that it %s", k->bad,
                 k->of, roles(k));
    else if (k->kind == FC_CULPRIT_ALL)
        snprintf(text.s, sizeof text.s, "in %zu of %zu transfers between %zu %s",
                 k->bad, k->of, a->members, a->node == FC_NONE ? "nodes" : "ranks");
    else
        snprintf(text.s, sizeof text.s, "%s %.100s %s %.100s",
                 k->sends && k->receives ? "between" : "from", name_of(c, a, from).s,
                 k->sends && k->receives ? "and" : "to", name_of(c, a, to).s);
    return text;
}

/* Records of pairs that speak of what the culprit explains; at most EVIDENCE. */
static size_t find_evidence(const struct fc_case *c, const struct fc_arena *a,
                            const struct fc_culprit *k, const struct fc_ev_record **out)
{
    size_t count = 0;
    for (size_t i = 0; i < c->ev->records && count < EVIDENCE; i++) {
        const struct fc_ev_record *r = &c->ev->record[i];
        if (!fc_ev_of_pair(r) || !(r->wrong > 0 || r->state == FC_EV_FAILED))
            continue;
        bool mine = r->node == a->node && r->peer == a->node;
        if (a->node == FC_NONE && k->kind != FC_CULPRIT_ALL) {
            size_t x = a->id[k->member], y = a->id[k->other];
            mine = (r->node == x || r->peer == x) && (r->node == y || r->peer == y);
        }
        if (mine || (a->node == FC_NONE && k->kind == FC_CULPRIT_ALL))
            out[count++] = r;
    }
    return count;
}

/* What is the same in all findings about a culprit. `odd` has room for two. */
static struct fc_finding finding(const struct fc_case *c, const struct fc_arena *a,
                                 const struct fc_culprit *k, const char *metric,
                                 size_t *odd)
{
    struct fc_finding f = {.severity = FC_SEV_FAIL,
                           .confidence = FC_CONF_MEDIUM,
                           .check = c->rule->id,
                           .node = a->node,
                           .rank = -1,
                           .metric = metric,
                           .probe = "pairs"};
    bool between = a->node == FC_NONE;
    if (k->kind == FC_CULPRIT_MEMBER && between)
        f.node = a->id[k->member];
    else if (k->kind == FC_CULPRIT_MEMBER)
        f.rank = (int)a->id[k->member];
    if (k->kind == FC_CULPRIT_LINK && between) {
        odd[0] = a->id[k->member];
        odd[1] = a->id[k->other];
        f.odd = odd;
        f.odds = 2;
        f.subject = fc_ev_keep(c->ev, json_pack("{s:s, s:s, s:s}", "kind", "pair",
                                                "node", c->ev->node[odd[0]].name,
                                                "peer", c->ev->node[odd[1]].name));
    }
    return f;
}

/* --- right --- */

static const struct fc_hint dead = {
    "a link, port or route between them that does not carry traffic, or a firewall",
    "read the reason; look at link state and counters of both ends; run the pairs "
    "probe "
    "again on them alone"};

struct told {
    int64_t wrong; /* the most elements */
    const char *reason;
};

static struct told tell(const struct fc_arena *a, const struct fc_culprit *k)
{
    struct told told = {0, NULL};
    for (size_t i = 0; i < a->links; i++) {
        const struct fc_link *l = &a->link[i];
        const struct fc_ev_pair *p = l->pair;
        if (!fc_culprit_explains(k, l))
            continue;
        int64_t wrong = l->record ? l->record->wrong : 0;
        const char *reason = l->record ? l->record->reason : NULL;
        if (p) {
            wrong = p->wrong_ab > p->wrong_ba ? p->wrong_ab : p->wrong_ba;
            reason = p->reason;
        }
        told.wrong = wrong > told.wrong ? wrong : told.wrong;
        if (reason && (!told.reason || strcmp(reason, told.reason) < 0))
            told.reason = reason;
    }
    return told;
}

static void report_bad(const struct fc_case *c, const struct fc_arena *a,
                       const struct fc_culprit *k, bool wrong)
{
    size_t odd[2];
    const struct fc_ev_record *evidence[EVIDENCE];
    struct fc_finding f = finding(c, a, k, "pair.bw", odd);
    struct fc_hint hint = wrong ? fc_hint_wrong("pair.bw") : dead;
    struct told told = tell(a, k);
    char up_to[64] = "", why[200] = "";
    f.cause = hint.cause;
    f.remedy = hint.remedy;
    f.evidence = evidence;
    f.evidences = find_evidence(c, a, k, evidence);
    if (told.wrong > 0)
        snprintf(up_to, sizeof up_to, ", up to %lld elements", (long long)told.wrong);
    if (told.reason)
        snprintf(why, sizeof why, ": %s", fc_clip(told.reason).s);
    fc_find(c->out, &f, "%s %s%s%s", wrong ? "wrong data" : "nothing came through",
            scope(c, a, k).s, up_to, why);
}

static void judge_bad(const struct fc_case *c, enum fc_pairs_of of)
{
    struct fc_pairs pairs;
    bool ok = fc_pairs_open(c->ev, of, &pairs);
    for (size_t i = 0; ok && i < pairs.arenas; i++) {
        const struct fc_arena *a = &pairs.arena[i];
        struct fc_blame blame;
        ok = fc_blame_open(a->link, a->links, a->members, &blame);
        for (size_t k = 0; ok && k < blame.count; k++)
            report_bad(c, a, &blame.culprit[k], of == FC_PAIRS_WRONG);
        fc_blame_close(&blame);
    }
    if (!ok)
        c->out->status = FC_NOMEM;
    fc_pairs_close(&pairs);
}

void fc_rule_pair_wrong(const struct fc_case *c)
{
    judge_bad(c, FC_PAIRS_WRONG);
}

void fc_rule_pair_failed(const struct fc_case *c)
{
    judge_bad(c, FC_PAIRS_FAILED);
}

/* --- near their limits --- */

/* Medians over what the culprit explains; NaN without memory. */
static double middle(const struct fc_arena *a, const struct fc_culprit *k, bool limit)
{
    double *x = malloc((a->links + 1) * sizeof *x), median = (double)NAN;
    size_t count = 0;
    for (size_t i = 0; x && i < a->links; i++)
        if (fc_culprit_explains(k, &a->link[i]))
            x[count++] = limit ? a->link[i].pair->limit : a->link[i].value;
    if (count)
        median = fc_median_in_place(x, count);
    free(x);
    return median;
}

static const char *retested(const struct fc_culprit *k)
{
    return fc_culprit_confirmed(k) ? "; confirmed by a retest" : "; not retested";
}

static void report_floor(const struct fc_case *c, const struct fc_arena *a,
                         const struct fc_culprit *k, double floor)
{
    size_t odd[2];
    struct fc_finding f = finding(c, a, k, "pair.bw", odd);
    struct fc_hint hint = fc_hint_slow("pair.bw");
    double value = middle(a, k, false), limit = middle(a, k, true);
    f.cause = hint.cause;
    f.remedy = hint.remedy;
    f.confidence = fc_culprit_confirmed(k) ? FC_CONF_HIGH : FC_CONF_MEDIUM;
    fc_find_slow(c, &f,
                 "pair.bw %.3g GB/s %s is %.3g %% of the link rate %.3g GB/s; expected "
                 "at least %.3g %%%s",
                 value, scope(c, a, k).s, 100.0 * value / limit, limit, 100.0 * floor,
                 retested(k));
}

static bool any_limit(const struct fc_evidence *ev)
{
    for (size_t i = 0; i < ev->pairs; i++)
        if (isfinite(ev->pair[i].limit))
            return true;
    return false;
}

void fc_rule_pair_floor(const struct fc_case *c)
{
    double floor = fc_expectation_floor(c->expect, fc_metric_find("pair.bw"));
    const struct fc_floor *row = fc_floor_find("pair.bw");
    struct fc_pairs pairs;
    if (!isfinite(floor) || !any_limit(c->ev))
        return;
    bool ok = fc_pairs_open(c->ev, FC_PAIRS_BW, &pairs);
    for (size_t i = 0; ok && i < pairs.arenas; i++) {
        struct fc_arena *a = &pairs.arena[i];
        struct fc_blame blame;
        fc_pairs_mark_floor(c->ev, a, floor, row ? row->from_bytes : 0);
        ok = fc_blame_open(a->link, a->links, a->members, &blame);
        for (size_t k = 0; ok && k < blame.count; k++)
            report_floor(c, a, &blame.culprit[k], floor);
        fc_blame_close(&blame);
    }
    if (!ok)
        c->out->status = FC_NOMEM;
    fc_pairs_close(&pairs);
}

/* --- like each other --- */

/* Inside a node distance alone makes pairs differ, so nobody fails there. */
static bool is_fault(const struct fc_case *c, const struct fc_arena *a,
                     const struct fc_culprit *k, double drop)
{
    double effect = fc_expectation_effect(c->expect, fc_metric_find("pair.bw"));
    bool few = a->members <= FEW || k->kind == FC_CULPRIT_LINK;
    return a->node == FC_NONE && fc_culprit_confirmed(k) &&
           drop > (few ? plain_drop : effect);
}

static void report_slow(const struct fc_case *c, const struct fc_arena *a,
                        const struct fc_culprit *k, const struct fc_pairs_level *level,
                        bool latency)
{
    size_t odd[2];
    const char *metric = latency ? "pair.latency" : "pair.bw";
    struct fc_finding f = finding(c, a, k, metric, odd);
    struct fc_hint hint = fc_hint_slow(metric);
    double value = middle(a, k, false), drop = 1.0 - value / level->centre;
    f.cause = hint.cause;
    f.remedy = hint.remedy;
    f.confidence = fc_culprit_confirmed(k) ? FC_CONF_MEDIUM : FC_CONF_LOW;
    if (latency || !is_fault(c, a, k, drop))
        f.severity = FC_SEV_WARN;
    if (latency)
        fc_find(c->out, &f,
                "pair.latency %.3g us %s is %.3g times the middle of the others, %.3g "
                "us%s",
                1e6 / value, scope(c, a, k).s, level->centre / value,
                1e6 / level->centre, retested(k));
    else
        fc_find_slow(c, &f,
                     "pair.bw %.3g GB/s %s is %.3g %% below the middle of the others, "
                     "%.3g GB/s (their spread is %.2g %%)%s",
                     value, scope(c, a, k).s, 100.0 * drop, level->centre,
                     100.0 * level->scale, retested(k));
}

/* Nobody in particular: the pairs differ, or most are slow. */
static void report_fabric(const struct fc_case *c, const struct fc_arena *a,
                          const struct fc_pairs_level *level)
{
    struct fc_finding f = {
        .severity = FC_SEV_INFO,
        .confidence = FC_CONF_LOW,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .metric = "pair.bw",
        .probe = "pairs",
        .cause = "the network between the nodes is loaded or oversubscribed, or the "
                 "nodes are at different distances",
        .remedy = "run again with fewer pairs at once or on an idle network; judge the "
                  "pairs by their limits"};
    fc_find(c->out, &f,
            "most pairs of %zu nodes are slow together, and no part stands out: their "
            "middle is %.3g GB/s, the best tenth reaches %.3g GB/s",
            a->members, level->centre, level->top);
}

static bool judge_arena(const struct fc_case *c, struct fc_arena *a, bool latency)
{
    struct fc_pairs_level level;
    struct fc_blame blame = {0};
    double least = latency ? 1.0 - 1.0 / latency_factor : FC_PAIRS_DROP;
    bool ok = fc_pairs_mark_slow(a, least, &level) &&
              fc_blame_open(a->link, a->links, a->members, &blame);
    bool nobody = blame.count == 0 || blame.culprit[0].kind == FC_CULPRIT_ALL;
    for (size_t k = 0; !nobody && k < blame.count; k++)
        report_slow(c, a, &blame.culprit[k], &level, latency);
    if (ok && nobody && !latency && a->node == FC_NONE &&
        (level.spread || blame.count || level.centre < fabric_share * level.top))
        report_fabric(c, a, &level);
    fc_blame_close(&blame);
    return ok;
}

static void judge_slow(const struct fc_case *c, bool latency)
{
    struct fc_pairs pairs;
    bool ok = fc_pairs_open(c->ev, latency ? FC_PAIRS_LATENCY : FC_PAIRS_BW, &pairs);
    for (size_t i = 0; ok && i < pairs.arenas; i++)
        ok = judge_arena(c, &pairs.arena[i], latency);
    if (!ok)
        c->out->status = FC_NOMEM;
    fc_pairs_close(&pairs);
}

void fc_rule_pair_slow(const struct fc_case *c)
{
    judge_slow(c, false);
}

void fc_rule_pair_latency(const struct fc_case *c)
{
    judge_slow(c, true);
}
