// SPDX-License-Identifier: BSD-3-Clause
/* Is a value near the limit that was found for it? Judged on the last attempt of each
 * measurement, so that a retest can clear a part. */
#include "core/units.h"
#include "judge/hints.h"
#include "judge/peers.h"
#include "judge/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* " at 4M" for messages, "" where there is no size. */
struct size_text {
    char s[48];
};

static struct size_text size_of(const struct fc_ev_record *r)
{
    struct size_text text = {""};
    if (r->bytes >= 0)
        snprintf(text.s, sizeof text.s, " at %s", fc_format_size((uint64_t)r->bytes).s);
    return text;
}

/* True when the floor counts for this record. */
static bool has_floor(const struct fc_case *c, const struct fc_ev_record *r,
                      double *out)
{
    *out = fc_expectation_floor(c->expect, r->info);
    const struct fc_floor *row = r->info ? fc_floor_find(r->metric) : NULL;
    bool large =
        !row || row->from_bytes == 0 || r->bytes < 0 || r->bytes >= row->from_bytes;
    return isfinite(*out) && large;
}

static bool below_floor(const struct fc_case *c, const struct fc_ev_record *r)
{
    double floor;
    return r && isfinite(r->limit) && has_floor(c, r, &floor) && fc_ev_share(r) < floor;
}

/* Series [from, end) share metric and subject; `worst` is the one furthest below. */
static void report_floor(const struct fc_case *c, const struct fc_ev_record *worst,
                         size_t others)
{
    char more[64] = "";
    struct fc_hint hint = fc_hint_slow(worst->metric);
    struct fc_finding f = {.severity = FC_SEV_FAIL,
                           .confidence =
                               worst->attempt > 1 ? FC_CONF_HIGH : FC_CONF_MEDIUM,
                           .check = c->rule->id,
                           .node = fc_ev_of_node(worst) ? worst->node : FC_NONE,
                           .rank = worst->rank,
                           .subject = json_object_get(worst->line, "subject"),
                           .metric = worst->metric,
                           .cause = hint.cause,
                           .remedy = hint.remedy,
                           .probe = worst->probe,
                           .evidence = &worst,
                           .evidences = 1};
    if (others)
        snprintf(more, sizeof more, "; %zu other measurement%s as well", others,
                 others > 1 ? "s" : "");
    fc_find_slow(c, &f,
                 "%s %.3g %s%s is %.3g %% of its limit %.3g %s (%s); expected at least "
                 "%.3g %%%s%s",
                 worst->metric, worst->median, worst->unit, size_of(worst).s,
                 100.0 * fc_ev_share(worst), worst->limit, worst->unit,
                 fc_clip(worst->limit_basis ? worst->limit_basis : "basis unknown").s,
                 100.0 * fc_expectation_floor(c->expect, worst->info), more,
                 worst->attempt > 1 ? "; confirmed by a retest" : "");
}

void fc_rule_floor(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    for (size_t i = 0; i < ev->series_count;) {
        const struct fc_ev_record *worst = NULL, *first = ev->series[i].record[0];
        size_t below = 0, end = i;
        for (; end < ev->series_count; end++) {
            const struct fc_ev_record *r = fc_ev_latest(&ev->series[end]);
            if (ev->series[end].record[0]->who != first->who ||
                strcmp(ev->series[end].record[0]->metric, first->metric) != 0)
                break;
            if (!below_floor(c, r))
                continue;
            below++;
            if (!worst || fc_ev_share(r) < fc_ev_share(worst))
                worst = r;
        }
        if (worst)
            report_floor(c, worst, below - 1);
        i = end;
    }
}

/* Pairs that carry more than their link can, by one metric. */
struct above {
    const char *metric;
    const struct fc_ev_pair *worst;
    double most;
    size_t count;
};

static void report_above(const struct fc_case *c, const struct above *above)
{
    const struct fc_evidence *ev = c->ev;
    const struct fc_ev_pair *worst = above->worst;
    const char *probe = fc_ev_pair_probe(above->metric);
    struct fc_missing m = {
        .class = c->rule->class,
        .check = c->rule->id,
        .probe = probe,
        .what = above->metric,
        .node = FC_NONE,
        .substitute = ev->nodes > 2 ? "comparison with the other pairs" : NULL};
    struct fc_finding f = {
        .severity = FC_SEV_WARN,
        .confidence = FC_CONF_MEDIUM,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .metric = above->metric,
        .cause = "the rate that the interface tells is not that of the link, or other "
                 "links carried the bytes as well",
        .remedy =
            "look at the rate of the port and at the path; the values say nothing "
            "about the links' health until the limit is right",
        .probe = probe};
    fc_find(c->out, &f,
            "%s of %zu pair%s is above the link rate, up to %.3g GB/s between %s "
            "and %s, %.3g %% of %.3g GB/s: the limit is wrong",
            fc_clip(above->metric).s, above->count, above->count > 1 ? "s" : "",
            fmax(worst->bw_ab, worst->bw_ba), fc_clip(ev->node[worst->a_node].name).s,
            fc_clip(ev->node[worst->b_node].name).s, 100.0 * above->most, worst->limit);
    fc_miss(c->out, &m, "values are above the link rate, so it is no yardstick");
}

static void pairs_exceeded(const struct fc_case *c)
{
    enum { METRICS = 8 };
    const struct fc_evidence *ev = c->ev;
    struct above above[METRICS];
    size_t metrics = 0;
    for (size_t i = 0; i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        double share = fmax(p->bw_ab, p->bw_ba) / p->limit;
        if (!(share > FC_LIMIT_SHARE_MAX))
            continue;
        const char *metric = ev->round[p->round].metric;
        size_t k = 0;
        while (k < metrics && strcmp(above[k].metric, metric) != 0)
            k++;
        if (k == METRICS)
            continue;
        if (k == metrics)
            above[metrics++] = (struct above){.metric = metric};
        above[k].count++;
        if (share > above[k].most) {
            above[k].most = share;
            above[k].worst = p;
        }
    }
    for (size_t k = 0; k < metrics; k++)
        report_above(c, &above[k]);
}

void fc_rule_exceeded(const struct fc_case *c)
{
    pairs_exceeded(c);
    const struct fc_evidence *ev = c->ev;
    for (size_t i = 0; i < ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&ev->series[i]);
        if (!r || !(fc_ev_share(r) > FC_LIMIT_SHARE_MAX))
            continue;
        const struct fc_peer_group *group = fc_peers_find(c->peers, ev, r);
        struct fc_missing m = {.class = c->rule->class,
                               .check = c->rule->id,
                               .probe = r->probe,
                               .what = r->metric,
                               .node = fc_ev_of_node(r) ? r->node : FC_NONE,
                               .substitute = group && group->compared && !group->few
                                                 ? "comparison with equal nodes"
                                                 : NULL};
        struct fc_finding f = {
            .severity = FC_SEV_WARN,
            .confidence = FC_CONF_MEDIUM,
            .check = c->rule->id,
            .node = m.node,
            .rank = r->rank,
            .subject = json_object_get(r->line, "subject"),
            .metric = r->metric,
            .cause = "the limit was measured while something disturbed it, "
                     "or it does not bound this operation",
            .remedy = "run again on an idle machine; the value says nothing "
                      "about health until its limit is right",
            .probe = r->probe,
            .evidence = &r,
            .evidences = 1};
        fc_find(c->out, &f,
                "%s %.3g %s%s is %.3g %% of its limit %.3g %s (%s): the limit is wrong",
                fc_clip(r->metric).s, r->median, fc_clip(r->unit).s, size_of(r).s,
                100.0 * fc_ev_share(r), r->limit, fc_clip(r->unit).s,
                fc_clip(r->limit_basis ? r->limit_basis : "basis unknown").s);
        fc_miss(c->out, &m,
                "%sthe value is above its limit, so the limit is no yardstick",
                fc_rank_prefix(r).s);
    }
}

void fc_rule_no_limit(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    for (size_t i = 0; i < ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&ev->series[i]);
        double floor;
        const struct fc_floor *row = r && r->info ? fc_floor_find(r->metric) : NULL;
        if (!row || !row->limit_needed || isfinite(r->limit) ||
            !has_floor(c, r, &floor))
            continue;
        const struct fc_peer_group *group = fc_peers_find(c->peers, ev, r);
        struct fc_missing m = {.class = c->rule->class,
                               .check = c->rule->id,
                               .probe = r->probe,
                               .what = r->metric,
                               .node = r->node,
                               .substitute = group && group->compared && !group->few
                                                 ? "comparison with equal nodes"
                                                 : NULL};
        const char *variant = fc_ev_text(json_object_get(r->line, "params"), "variant");
        fc_miss(c->out, &m, "%s%s%s%s%s", fc_rank_prefix(r).s,
                r->reason ? fc_clip(r->reason).s
                          : "no limit was found to hold the value against",
                variant ? " (" : "", fc_clip(variant ? variant : "").s,
                variant ? ")" : "");
    }
}
