// SPDX-License-Identifier: BSD-3-Clause
#include "judge/summary.h"

#include "core/record.h"
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct picked {
    const struct fc_ev_record **record;
    size_t count;
};

/* The latest record of each series of `metric` that has the largest size. */
static void pick(const struct fc_evidence *ev, const char *metric, struct picked *out)
{
    int64_t largest = -1;
    out->count = 0;
    for (size_t i = 0; i < ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&ev->series[i]);
        if (!r || strcmp(r->metric, metric) != 0 || r->bytes < largest)
            continue;
        if (r->bytes > largest)
            out->count = 0;
        largest = r->bytes;
        out->record[out->count++] = r;
    }
}

static bool worse(const struct fc_ev_record *a, const struct fc_ev_record *b)
{
    double x = fc_ev_share(a), y = fc_ev_share(b);
    if (isfinite(x) && isfinite(y) && x != y)
        return x < y;
    return a->higher ? a->median < b->median : a->median > b->median;
}

static json_t *metric_json(const struct fc_metric *info, const struct picked *p,
                           double *x)
{
    const struct fc_ev_record *worst = p->record[0];
    size_t shares = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (worse(p->record[i], worst))
            worst = p->record[i];
        x[i] = p->record[i]->median;
    }
    double median = fc_median_in_place(x, p->count);
    for (size_t i = 0; i < p->count; i++)
        if (isfinite(fc_ev_share(p->record[i])))
            x[shares++] = fc_ev_share(p->record[i]);
    double share = shares ? fc_median_in_place(x, shares) : (double)NAN;
    return json_pack("{s:s, s:s, s:o, s:I, s:o, s:o, s:O, s:o, s:o}", "metric",
                     info->name, "unit", info->unit, "bytes",
                     worst->bytes < 0 ? json_null() : json_integer(worst->bytes),
                     "count", (json_int_t)p->count, "median", fc_json_real(median),
                     "worst", fc_json_real(worst->median), "worst_subject",
                     json_object_get(worst->line, "subject"), "share",
                     fc_json_real(share), "worst_share",
                     fc_json_real(fc_ev_share(worst)));
}

static const char *status_of(const struct fc_evidence *ev, const char *probe)
{
    const char *status = "not begun";
    for (size_t i = 0; i < ev->phases; i++) {
        const struct fc_ev_phase *phase = &ev->phase[i];
        if (strcmp(phase->name, probe) != 0)
            continue;
        if (phase->end && strcmp(phase->status, "ok") != 0)
            return phase->status;
        if (phase->end)
            status = phase->status;
        else if (strcmp(status, "not begun") == 0)
            status = "not ended";
    }
    return status;
}

/* What a training step is known by, floor or not. */
static bool is_headline(const char *metric)
{
    return strcmp(metric, "training.step_time") == 0 ||
           strcmp(metric, "training.exposed_comm") == 0 ||
           strcmp(metric, "training.mfu") == 0;
}

/* Only metrics that are held against a floor, or all when the probe has none of
 * those. */
static bool is_key(const struct fc_expectation *expect, const struct fc_metric *info)
{
    if (is_headline(info->name) || isfinite(fc_expectation_floor(expect, info)))
        return true;
    for (size_t i = 0; i < fc_metric_count(); i++)
        if (strcmp(fc_metric_at(i)->probe, info->probe) == 0 &&
            isfinite(fc_expectation_floor(expect, fc_metric_at(i))))
            return false;
    return true;
}

/* --- pairs --- */

static json_t *pair_subject(const struct fc_evidence *ev, const struct fc_arena *a,
                            const struct fc_link *l)
{
    if (a->node == FC_NONE)
        return json_pack("{s:s, s:s, s:s}", "kind", "pair", "node",
                         ev->node[a->member[l->from].node].name, "peer",
                         ev->node[a->member[l->to].node].name);
    return json_pack("{s:s, s:s, s:I}", "kind", "pair", "node", ev->node[a->node].name,
                     "rank", (json_int_t)a->member[l->from].id);
}

/* Of the last attempt of each pair; `x` has room for all links. */
static json_t *arena_json(const struct fc_evidence *ev, const struct fc_arena *a,
                          bool latency, double *x)
{
    const struct fc_metric *info =
        fc_metric_find(latency ? fc_ev_pair_latency(a->metric) : a->metric);
    const struct fc_link *worst = &a->link[0];
    size_t shares = 0;
    for (size_t i = 0; i < a->links; i++) {
        x[i] = a->link[i].value;
        worst = a->link[i].value < worst->value ? &a->link[i] : worst;
    }
    double median = fc_select_median(x, a->links), least = (double)NAN;
    for (size_t i = 0; i < a->links && !latency; i++)
        if (isfinite(a->link[i].pair->limit)) {
            x[shares] = a->link[i].value / a->link[i].pair->limit;
            least = fmin(least, x[shares++]);
        }
    double share = shares ? fc_select_median(x, shares) : (double)NAN;
    int64_t bytes = latency ? -1 : ev->round[worst->pair->round].bytes;
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "metric", info->name, "unit",
        info->unit, "bytes", bytes < 0 ? json_null() : json_integer(bytes), "count",
        (json_int_t)a->links, "median", fc_json_real(latency ? 1.0 / median : median),
        "worst", fc_json_real(latency ? 1.0 / worst->value : worst->value),
        "worst_subject", pair_subject(ev, a, worst), "share", fc_json_real(share),
        "worst_share", fc_json_real(least));
}

/* Of the pairs between nodes each metric once, else those of the first node that has
 * some. NULL without memory. */
static json_t *pairs_json(const struct fc_evidence *ev, struct fc_pairs_shelf *shelf,
                          bool latency)
{
    const struct fc_pairs *pairs =
        fc_pairs_share(ev, latency ? FC_PAIRS_LATENCY : FC_PAIRS_BW, shelf);
    json_t *list = pairs ? json_array() : NULL;
    double *x = malloc((2 * ev->pairs + 1) * sizeof *x);
    bool ok = list && x;
    for (size_t i = 0; ok && i < pairs->arenas; i++) {
        const struct fc_arena *a = &pairs->arena[i];
        if (a->node != pairs->arena[0].node || !fc_metric_find(a->metric))
            continue;
        ok = json_array_append_new(list, arena_json(ev, a, latency, x)) == 0;
    }
    free(x);
    if (!ok) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* Bandwidths, then latencies; which, see fc_ev_pair_probe. Latency is on the shelf,
 * since its rule is the last of those that look at pairs. NULL without memory. */
static json_t *all_pairs_json(const struct fc_evidence *ev,
                              struct fc_pairs_shelf *shelf)
{
    json_t *latency = pairs_json(ev, shelf, true), *bw = pairs_json(ev, shelf, false);
    bool ok = latency && bw && json_array_extend(bw, latency) == 0;
    json_decref(latency);
    if (!ok) {
        json_decref(bw);
        return NULL;
    }
    return bw;
}

static bool add_pairs(json_t *pairs, const char *probe, json_t *metrics)
{
    size_t i;
    json_t *sum;
    json_array_foreach(pairs, i, sum)
    {
        const char *metric = json_string_value(json_object_get(sum, "metric"));
        if (strcmp(fc_ev_pair_probe(metric), probe) == 0 &&
            json_array_append(metrics, sum) != 0)
            return false;
    }
    return true;
}

static json_t *probe_json(const struct fc_evidence *ev,
                          const struct fc_expectation *expect, json_t *pairs,
                          const char *probe, struct picked *p, double *x)
{
    json_t *metrics = json_array();
    for (size_t i = 0; i < fc_metric_count(); i++) {
        const struct fc_metric *info = fc_metric_at(i);
        /* Pairs are summed up from their rounds, where there are some. */
        if (strcmp(info->probe, probe) != 0 || !is_key(expect, info) ||
            fc_ev_in_matrix(ev, info->name))
            continue;
        pick(ev, info->name, p);
        if (p->count && json_array_append_new(metrics, metric_json(info, p, x)) != 0) {
            json_decref(metrics);
            return NULL;
        }
    }
    if (!add_pairs(pairs, probe, metrics)) {
        json_decref(metrics);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:o}", "name", probe, "status", status_of(ev, probe),
                     "metrics", metrics);
}

json_t *fc_summary_json(const struct fc_evidence *ev,
                        const struct fc_expectation *expect,
                        struct fc_pairs_shelf *shelf)
{
    size_t room = ev->series_count + 1;
    struct picked p = {malloc(room * sizeof(*p.record)), 0};
    double *x = malloc(room * sizeof *x);
    json_t *pairs = all_pairs_json(ev, shelf);
    json_t *list = p.record && x && pairs ? json_array() : NULL;
    for (size_t i = 0; list && i < ev->plans; i++) {
        if (ev->plan[i].reason)
            continue;
        json_t *probe = probe_json(ev, expect, pairs, ev->plan[i].name, &p, x);
        if (json_array_append_new(list, probe) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    json_decref(pairs);
    free(x);
    free(p.record);
    return list;
}
