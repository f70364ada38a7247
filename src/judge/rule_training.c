// SPDX-License-Identifier: BSD-3-Clause
/* The training step: who is late, in what, and whether computation and communication
 * get in each other's way. Replicas that differ are wrong results and another rule's;
 * overlap is never judged: on the host the same cores do both. */
#include "core/stats.h"
#include "judge/hints.h"
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double normal_mad = 1.4826, scale_min = 0.003;
/* A rank that is late by this share of the middle makes all wait. */
static const double late_share = 0.15, late_scales = 3.0;
/* Of two ranks either may be the odd one. */
static const double late_of_two = 0.50;
/* Ranks that share cores take turns. */
static const double late_when_spoiled = 1.0;
/* What neither computation nor communication explains. */
static const double step_share = 1.3;

static bool is_metric(const struct fc_ev_record *r, const char *name)
{
    return strcmp(r->metric, name) == 0;
}

/* --- stragglers --- */

static bool is_of_rank(const struct fc_ev_record *r)
{
    return r->rank >= 0 && fc_ev_of_node(r) && r->median > 0.0 &&
           (is_metric(r, "training.compute_time") ||
            is_metric(r, "training.comm_time"));
}

static int by_work_and_rank(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = *(const struct fc_ev_record *const *)pa;
    const struct fc_ev_record *b = *(const struct fc_ev_record *const *)pb;
    int order = a->what == b->what ? 0 : strcmp(a->what, b->what);
    if (order == 0 && a->node != b->node)
        order = a->node < b->node ? -1 : 1;
    if (order == 0)
        order = a->rank < b->rank ? -1 : a->rank > b->rank;
    return order ? order : a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* All ranks' times of the same work. */
struct field {
    const struct fc_ev_record *const *rank;
    size_t ranks;
    double centre, scale; /* of two ranks: the faster one */
};

static void measure(struct field *f, double *x)
{
    for (size_t i = 0; i < f->ranks; i++)
        x[i] = f->rank[i]->median;
    f->centre = fc_median_in_place(x, f->ranks);
    f->scale =
        fmax(normal_mad * fc_mad(x, f->ranks, f->centre, x + f->ranks) / f->centre,
             scale_min);
    if (f->ranks == 2) {
        f->centre = x[0];
        f->scale = 0.0;
    }
}

static double lateness(const struct field *f, const struct fc_ev_record *r)
{
    return r->median / f->centre - 1.0;
}

static bool is_late(const struct fc_case *c, const struct field *f,
                    const struct fc_ev_record *r)
{
    double least = f->ranks == 2 ? late_of_two : late_share;
    if (fc_speed_spoiled(c, r->node, r->probe))
        least = late_when_spoiled;
    return lateness(f, r) > fmax(least, late_scales * f->scale);
}

/* `rank`: -1 when all ranks of the node are late, of which `r` is the latest. */
static void report_late(const struct fc_case *c, const struct field *f,
                        const struct fc_ev_record *r, int rank)
{
    struct fc_hint hint = fc_hint_slow(r->metric);
    struct fc_finding found = {.severity = FC_SEV_WARN,
                               .confidence = f->ranks > 2 && f->scale < late_share
                                                 ? FC_CONF_MEDIUM
                                                 : FC_CONF_LOW,
                               .check = c->rule->id,
                               .node = r->node,
                               .rank = rank,
                               .metric = r->metric,
                               .cause = hint.cause,
                               .remedy = hint.remedy,
                               .probe = r->probe,
                               .evidence = &r,
                               .evidences = 1};
    bool compute = is_metric(r, "training.compute_time");
    fc_find(
        c->out, &found, "late in %s: %.3g ms a step, %.3g %% longer than %s, %.3g ms%s",
        compute ? "compute" : "communication", 1e3 * r->median, 100.0 * lateness(f, r),
        f->ranks == 2 ? "the other rank"
                      : "the middle of "
                        "all ranks",
        1e3 * f->centre, rank < 0 ? "; all its ranks are late" : "");
}

/* The ranks of one node. */
static void judge_node(const struct fc_case *c, const struct field *f,
                       const struct fc_ev_record *const *rank, size_t ranks)
{
    const struct fc_ev_record *latest = rank[0];
    size_t late = 0;
    for (size_t i = 0; i < ranks; i++) {
        late += is_late(c, f, rank[i]);
        latest = rank[i]->median > latest->median ? rank[i] : latest;
    }
    if (late == ranks && ranks > 1) {
        report_late(c, f, latest, -1);
        return;
    }
    for (size_t i = 0; late && i < ranks; i++)
        if (is_late(c, f, rank[i]))
            report_late(c, f, rank[i], rank[i]->rank);
}

static void judge_field(const struct fc_case *c, const struct field *f)
{
    for (size_t i = 0; i < f->ranks;) {
        size_t end = i + 1;
        while (end < f->ranks && f->rank[end]->node == f->rank[i]->node)
            end++;
        judge_node(c, f, f->rank + i, end - i);
        i = end;
    }
}

void fc_rule_straggler(const struct fc_case *c)
{
    size_t room = c->ev->series_count + 1, count = 0;
    const struct fc_ev_record **list = malloc(room * sizeof(*list));
    double *x = malloc(2 * room * sizeof *x);
    if (!list || !x)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; list && x && i < c->ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&c->ev->series[i]);
        if (r && is_of_rank(r))
            list[count++] = r;
    }
    if (count)
        qsort(list, count, sizeof(*list), by_work_and_rank);
    for (size_t i = 0; i < count;) {
        struct field f = {.rank = list + i, .ranks = 1};
        while (i + f.ranks < count && list[i + f.ranks]->what == list[i]->what)
            f.ranks++;
        if (f.ranks > 1) {
            measure(&f, x);
            judge_field(c, &f);
        }
        i += f.ranks;
    }
    free(x);
    free(list);
}

/* --- interference --- */

static const char *variant_of(const struct fc_ev_record *r)
{
    const char *text = fc_ev_text(json_object_get(r->line, "params"), "variant");
    return text ? text : "";
}

static int by_step(const struct fc_ev_record *a, const struct fc_ev_record *b)
{
    int order = a->who == b->who ? 0 : strcmp(a->who, b->who);
    return order ? order : strcmp(variant_of(a), variant_of(b));
}

static int by_step_and_metric(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = *(const struct fc_ev_record *const *)pa;
    const struct fc_ev_record *b = *(const struct fc_ev_record *const *)pb;
    int order = by_step(a, b);
    if (order == 0)
        order = strcmp(a->metric, b->metric);
    return order ? order : a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* The longest of the records of this metric; NULL: none. */
static const struct fc_ev_record *longest(const struct fc_ev_record *const *r,
                                          size_t count, const char *metric)
{
    const struct fc_ev_record *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_metric(r[i], metric) && (!found || r[i]->median > found->median))
            found = r[i];
    return found;
}

/* The records of one group of ranks and one variant. */
static void judge_step(const struct fc_case *c, const struct fc_ev_record *const *r,
                       size_t count)
{
    const struct fc_ev_record *part[] = {
        longest(r, count, "training.step_time"),
        longest(r, count, "training.compute_time"),
        longest(r, count, "training.comm_time"),
    };
    if (!part[0] || !part[1] || !part[2])
        return;
    const struct fc_ev_record *step = part[0];
    double parts = part[1]->median + part[2]->median;
    if (!(step->median > step_share * parts) ||
        fc_speed_spoiled(c, step->node, step->probe))
        return;
    struct fc_hint hint = fc_hint_slow(step->metric);
    struct fc_finding f = {.severity = FC_SEV_WARN,
                           .confidence = FC_CONF_MEDIUM,
                           .check = c->rule->id,
                           .node = fc_ev_of_node(step) ? step->node : FC_NONE,
                           .rank = -1,
                           .subject = json_object_get(step->line, "subject"),
                           .metric = step->metric,
                           .cause = hint.cause,
                           .remedy = hint.remedy,
                           .probe = step->probe,
                           .evidence = part,
                           .evidences = 3};
    fc_find(c->out, &f,
            "a step takes %.3g ms, %.3g times its compute (%.3g ms) and communication "
            "(%.3g ms) one after the other",
            1e3 * step->median, step->median / parts, 1e3 * part[1]->median,
            1e3 * part[2]->median);
}

void fc_rule_exposed(const struct fc_case *c)
{
    const struct fc_ev_record **list =
        malloc((c->ev->series_count + 1) * sizeof(*list));
    size_t count = 0;
    if (!list)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; list && i < c->ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&c->ev->series[i]);
        if (r && r->rank < 0 && strncmp(r->metric, "training.", 9) == 0)
            list[count++] = r;
    }
    if (count)
        qsort(list, count, sizeof(*list), by_step_and_metric);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && by_step(list[i], list[end]) == 0)
            end++;
        judge_step(c, list + i, end - i);
        i = end;
    }
    free(list);
}
