// SPDX-License-Identifier: BSD-3-Clause
/* Are pairs right, near their limits and like each other? Which links are bad is told
 * by the evidence (wrong, failed), by limits or by the other links; who is to blame is
 * always pairs.h's answer. */
#include "judge/accused.h"
#include "judge/doubtful.h"
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
/* Standard deviations of what is found with 99 % power at 0.1 % false alarms. */
static const double power_scales = 5.42;
enum { EVIDENCE = 64 };

static bool names_node(const struct fc_arena *a, const struct fc_culprit *k,
                       size_t node)
{
    if (k->kind > FC_CULPRIT_RAIL)
        return node == a->member[k->member].node || node == a->member[k->other].node;
    for (uint32_t m = 0; m < a->members; m++)
        if (a->member[m].node == node && fc_culprit_has(a, k, m))
            return true;
    return false;
}

/* Records of pairs that speak of what the culprit explains; at most EVIDENCE. */
static size_t find_evidence(const struct fc_case *c, const struct fc_arena *a,
                            const struct fc_culprit *k, const struct fc_ev_record **out)
{
    size_t count = 0;
    for (size_t i = 0; i < c->ev->records && count < EVIDENCE; i++) {
        const struct fc_ev_record *r = &c->ev->record[i];
        if (!fc_ev_of_pair(r) || !(r->wrong > 0 || r->state == FC_EV_FAILED) ||
            strcmp(r->probe, fc_ev_pair_probe(a->metric)) != 0)
            continue;
        bool mine = r->node == a->node && r->peer == a->node;
        if (a->node == FC_NONE) {
            bool node = names_node(a, k, r->node), peer = names_node(a, k, r->peer);
            mine = k->kind == FC_CULPRIT_LINK ? node && peer : node || peer;
        }
        if (mine)
            out[count++] = r;
    }
    return count;
}

/* --- right --- */

struct told {
    int64_t wrong; /* the most elements */
    const char *reason;
};

static struct told tell(const struct fc_evidence *ev, const struct fc_arena *a,
                        const struct fc_culprit *k)
{
    struct told told = {0, NULL};
    for (size_t i = fc_culprit_next(a, k, 0); i < a->links;
         i = fc_culprit_next(a, k, i + 1)) {
        const struct fc_link *l = &a->link[i];
        const struct fc_ev_pair *p = l->pair;
        const struct fc_ev_record *r = l->record ? &ev->record[l->record - 1] : NULL;
        int64_t wrong = r ? r->wrong : 0;
        const char *reason = r ? r->reason : NULL;
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

static bool report_bad(const struct fc_case *c, const struct fc_arena *a,
                       const struct fc_culprit *k, bool wrong)
{
    const struct fc_ev_record *evidence[EVIDENCE];
    struct fc_accused accused;
    struct fc_hint hint = wrong ? fc_hint_wrong(a->metric) : fc_hint_dead(a->metric);
    struct told told = tell(c->ev, a, k);
    char up_to[64] = "", why[200] = "";
    if (!fc_accused_open(c, a, k, a->metric, &accused))
        return false;
    struct fc_finding *f = &accused.finding;
    f->cause = hint.cause;
    f->remedy = hint.remedy;
    f->evidence = evidence;
    f->evidences = find_evidence(c, a, k, evidence);
    if (told.wrong > 0)
        snprintf(up_to, sizeof up_to, ", up to %lld %ss", (long long)told.wrong,
                 fc_ev_wrong_unit(f->probe));
    if (told.reason)
        snprintf(why, sizeof why, ": %s", fc_clip(told.reason).s);
    fc_find(c->out, f, "%s %s%s%s", wrong ? "wrong data" : "nothing came through",
            accused.scope, up_to, why);
    fc_accused_close(&accused);
    return true;
}

/* Rails that meet only inside the nodes are a way to build a fabric, not a fault. */
static void report_across(const struct fc_case *c, const struct fc_arena *a,
                          const char *what)
{
    struct fc_finding f = {
        .severity = FC_SEV_INFO,
        .confidence = FC_CONF_HIGH,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .metric = a->metric,
        .probe = fc_ev_pair_probe(a->metric),
        .cause = "the fabric connects rails only along themselves, or routes across "
                 "them are not configured",
        .remedy = "nothing, where jobs keep to rails; else look at the routes"};
    fc_find(c->out, &f, "%s, on all nodes alike, and not along them: not judged", what);
}

static void judge_bad(const struct fc_case *c, enum fc_pairs_of of)
{
    struct fc_pairs pairs;
    bool ok = fc_pairs_open(c->ev, of, &pairs);
    for (size_t i = 0; ok && i < pairs.arenas; i++) {
        struct fc_arena *a = &pairs.arena[i];
        struct fc_blame blame;
        if (of == FC_PAIRS_FAILED && fc_pairs_drop_across(a))
            report_across(c, a, "nothing came through across rails");
        ok = fc_blame_open(a, &blame);
        for (size_t k = 0; ok && k < blame.count; k++)
            ok = report_bad(c, a, &blame.culprit[k], of == FC_PAIRS_WRONG);
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

/* A link's own value, the limit, or what its equals reach. */
enum what { VALUE, LIMIT, EQUAL };

/* Median over what the culprit explains; NaN without memory. */
static double middle(const struct fc_arena *a, const struct fc_culprit *k,
                     enum what what)
{
    size_t room = k->kind == FC_CULPRIT_LINK ? 2 : a->links + 1, count = 0;
    double *x = malloc(room * sizeof *x), median = (double)NAN;
    for (size_t i = fc_culprit_next(a, k, 0); x && i < a->links;
         i = fc_culprit_next(a, k, i + 1)) {
        const struct fc_link *l = &a->link[i];
        x[count++] = what == LIMIT   ? l->pair->limit
                     : what == EQUAL ? l->equal
                                     : l->value;
    }
    if (count)
        median = fc_select_median(x, count);
    free(x);
    return median;
}

static const char *retested(const struct fc_culprit *k)
{
    return fc_culprit_confirmed(k) ? "; confirmed by a retest" : "; not retested";
}

static bool report_floor(const struct fc_case *c, const struct fc_arena *a,
                         const struct fc_culprit *k, double floor,
                         struct fc_doubtful *doubtful)
{
    struct fc_accused accused;
    struct fc_hint hint = fc_hint_slow(a->metric);
    double value = middle(a, k, VALUE), limit = middle(a, k, LIMIT);
    size_t first = fc_culprit_next(a, k, 0);
    double least =
        fc_pairs_floor(floor, first < a->links ? a->link[first].pair->path : NULL);
    if (fc_doubtful_take(doubtful, a, k, value, limit))
        return true;
    if (!fc_accused_open(c, a, k, a->metric, &accused))
        return false;
    struct fc_finding *f = &accused.finding;
    f->cause = hint.cause;
    f->remedy = hint.remedy;
    if (fc_culprit_confirmed(k) && f->confidence == FC_CONF_MEDIUM)
        f->confidence = FC_CONF_HIGH;
    if (k->kind == FC_CULPRIT_LINK && !fc_culprit_confirmed(k) &&
        a->links >= FC_DOUBTFUL_SINGLE) {
        f->severity = FC_SEV_WARN;
        f->confidence = FC_CONF_LOW;
    }
    fc_find_slow(c, f,
                 "%s %.3g GB/s %s is %.3g %% of the link rate %.3g GB/s; expected at "
                 "least %.3g %%%s",
                 fc_clip(a->metric).s, value, accused.scope, 100.0 * value / limit,
                 limit, 100.0 * least, retested(k));
    fc_accused_close(&accused);
    return true;
}

static bool any_limit(const struct fc_evidence *ev)
{
    for (size_t i = 0; i < ev->pairs; i++)
        if (isfinite(ev->pair[i].limit))
            return true;
    return false;
}

static bool judge_floor(const struct fc_case *c, struct fc_arena *a)
{
    const struct fc_metric *metric = fc_metric_find(a->metric);
    const struct fc_floor *row = fc_floor_find(a->metric);
    double floor = fc_expectation_floor(c->expect, metric);
    struct fc_doubtful doubtful = {0};
    struct fc_blame blame;
    if (!isfinite(floor))
        return true;
    bool ok = fc_pairs_infer_leaves(a) &&
              fc_pairs_mark_floor(c->ev, a, floor, row ? row->from_bytes : 0);
    if (ok && fc_pairs_drop_across(a))
        report_across(c, a, "pairs across rails are below their floor");
    ok = ok && fc_blame_open(a, &blame);
    for (size_t k = 0; ok && k < blame.count; k++)
        ok = report_floor(c, a, &blame.culprit[k], floor, &doubtful);
    ok = ok && fc_doubtful_report(c, a, &doubtful, "are below the floor of their link");
    if (ok)
        fc_blame_close(&blame);
    return ok;
}

void fc_rule_pair_floor(const struct fc_case *c)
{
    if (!any_limit(c->ev))
        return;
    struct fc_pairs *pairs = fc_pairs_share(c->ev, FC_PAIRS_BW, c->shelf);
    bool ok = pairs != NULL;
    for (size_t i = 0; ok && i < pairs->arenas; i++)
        ok = judge_floor(c, &pairs->arena[i]);
    if (!ok)
        c->out->status = FC_NOMEM;
}

/* --- like each other --- */

/* Inside a node distance alone makes pairs differ, so nobody fails there. */
static bool is_fault(const struct fc_case *c, const struct fc_arena *a,
                     const struct fc_culprit *k, double drop)
{
    double effect = fc_expectation_effect(c->expect, fc_metric_find(a->metric));
    bool few = a->members < FC_PAIRS_SOME || k->kind == FC_CULPRIT_LINK;
    return a->node == FC_NONE && fc_culprit_confirmed(k) &&
           drop > (few ? plain_drop : effect);
}

static bool report_slow(const struct fc_case *c, const struct fc_arena *a,
                        const struct fc_culprit *k, const struct fc_pairs_level *level,
                        bool latency, struct fc_doubtful *doubtful)
{
    const char *metric = latency ? fc_ev_pair_latency(a->metric) : a->metric;
    struct fc_accused accused;
    struct fc_hint hint = fc_hint_slow(metric);
    double value = middle(a, k, VALUE), equal = middle(a, k, EQUAL);
    double drop = 1.0 - value / equal;
    if (!latency && fc_doubtful_take(doubtful, a, k, value, equal))
        return true;
    if (!fc_accused_open(c, a, k, metric, &accused))
        return false;
    struct fc_finding *f = &accused.finding;
    f->cause = hint.cause;
    f->remedy = hint.remedy;
    if (!fc_culprit_confirmed(k))
        f->confidence = FC_CONF_LOW;
    if (latency || !is_fault(c, a, k, drop))
        f->severity = FC_SEV_WARN;
    if (latency)
        fc_find(c->out, f,
                "%s %.3g us %s is %.3g times the middle of the others, %.3g us%s",
                metric, 1e6 / value, accused.scope, equal / value, 1e6 / equal,
                retested(k));
    else
        fc_find_slow(c, f,
                     "%s %.3g GB/s %s is %.3g %% below the middle of the others, %.3g "
                     "GB/s (their spread is %.2g %%)%s",
                     fc_clip(metric).s, value, accused.scope, 100.0 * drop, equal,
                     100.0 * level->scale, retested(k));
    fc_accused_close(&accused);
    return true;
}

/* The least degradation of a member that is found for sure is more than is wanted. */
static void report_spread(const struct fc_case *c, const struct fc_arena *a,
                          const struct fc_pairs_level *level)
{
    double effect = fc_expectation_effect(c->expect, fc_metric_find(a->metric));
    double detectable = power_scales * level->part;
    struct fc_finding f = {
        .severity = FC_SEV_INFO,
        .confidence = FC_CONF_HIGH,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .metric = a->metric,
        .probe = fc_ev_pair_probe(a->metric),
        .cause =
            "the nodes' links differ among themselves, or the measurement is noisy",
        .remedy = "measure longer (a higher level), on idle nodes; judge the pairs by "
                  "their limits"};
    if (!(detectable > effect))
        return;
    fc_find(c->out, &f,
            "%s: the links of %zu nodes spread by %.2g %%, so only a degradation of a "
            "node by %.2g %% or more is found (wanted: %.2g %%)",
            fc_clip(a->metric).s, a->nodes, 100.0 * level->part, 100.0 * detectable,
            100.0 * effect);
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
        .metric = a->metric,
        .probe = fc_ev_pair_probe(a->metric),
        .cause = "the network between the nodes is loaded or oversubscribed, or the "
                 "nodes are at different distances",
        .remedy = "run again with fewer pairs at once or on an idle network; judge the "
                  "pairs by their limits"};
    fc_find(c->out, &f,
            "most pairs of %zu nodes are slow together, and no part stands out: their "
            "middle is %.3g GB/s, the best tenth reaches %.3g GB/s",
            a->nodes, level->centre, level->top);
}

/* What pairs across rails reach of what those along them do; NaN: no such pairs. */
static double across_share(const struct fc_arena *a)
{
    double x[2] = {(double)NAN, (double)NAN};
    for (size_t i = 0; i < a->links; i++) {
        const struct fc_link *l = &a->link[i];
        x[a->member[l->from].id != a->member[l->to].id] = l->equal;
    }
    return a->rails ? x[1] / x[0] : (double)NAN;
}

/* Links that are slow beyond what those to blame explain. */
static bool judge_deeper(const struct fc_case *c, struct fc_arena *a,
                         const struct fc_blame *blame,
                         const struct fc_pairs_level *level)
{
    struct fc_doubtful doubtful = {0};
    struct fc_blame deeper = {0};
    bool ok = fc_pairs_mark_deeper(a, blame, level) && fc_blame_open(a, &deeper);
    for (size_t k = 0; ok && k < deeper.count; k++)
        if (deeper.culprit[k].kind == FC_CULPRIT_LINK)
            ok = report_slow(c, a, &deeper.culprit[k], level, false, &doubtful);
    ok = ok &&
         fc_doubtful_report(c, a, &doubtful, "are slower still than the part above");
    fc_blame_close(&deeper);
    return ok;
}

static bool judge_arena(const struct fc_case *c, struct fc_arena *a, bool latency)
{
    struct fc_pairs_level level;
    struct fc_doubtful doubtful = {0};
    struct fc_blame blame = {0};
    double least = latency ? 1.0 - 1.0 / latency_factor : FC_PAIRS_DROP;
    bool ok = (latency || fc_pairs_infer_leaves(a)) &&
              fc_pairs_mark_slow(c->ev, a, least, &level) && fc_blame_open(a, &blame);
    bool nobody = blame.count == 0 || blame.culprit[0].kind == FC_CULPRIT_ALL;
    for (size_t k = 0; ok && !nobody && k < blame.count; k++)
        ok = report_slow(c, a, &blame.culprit[k], &level, latency, &doubtful);
    ok = ok && fc_doubtful_report(c, a, &doubtful, "are slower than the others");
    if (ok && !latency && a->node == FC_NONE) {
        if (nobody &&
            (level.spread || blame.count || level.centre < fabric_share * level.top))
            report_fabric(c, a, &level);
        else if (isfinite(level.part))
            report_spread(c, a, &level);
        if (across_share(a) < fabric_share)
            report_across(c, a, "pairs across rails are slower");
        if (!nobody && a->members > FC_PAIRS_FEW)
            ok = judge_deeper(c, a, &blame, &level);
    }
    fc_blame_close(&blame);
    return ok;
}

static void judge_slow(const struct fc_case *c, bool latency)
{
    struct fc_pairs *pairs =
        fc_pairs_share(c->ev, latency ? FC_PAIRS_LATENCY : FC_PAIRS_BW, c->shelf);
    bool ok = pairs != NULL;
    /* Where ranks share cores, latency is the time that they wait for them. */
    for (size_t i = 0; latency && i < c->ev->nodes; i++)
        if (c->crowded[i])
            return;
    for (size_t i = 0; ok && i < pairs->arenas; i++)
        ok = judge_arena(c, &pairs->arena[i], latency);
    if (!ok)
        c->out->status = FC_NOMEM;
}

void fc_rule_pair_slow(const struct fc_case *c)
{
    judge_slow(c, false);
}

void fc_rule_pair_latency(const struct fc_case *c)
{
    judge_slow(c, true);
}
