// SPDX-License-Identifier: BSD-3-Clause
/* Are results right? Wrong data and operations that failed, and who is to blame.
 *
 * A device's own operation blames its rank. A collective goes through many: when
 * only some ranks (at most half) hold a wrong result, those are named; when a group
 * inside one node is wrong, the node; else nobody, and the whole group fails. The
 * fabric is not named again when a part of it was. */
#include "judge/hints.h"
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*bad_fn)(const struct fc_ev_record *r);

static bool is_wrong(const struct fc_ev_record *r)
{
    return r->wrong > 0;
}

static bool is_failed(const struct fc_ev_record *r)
{
    return r->state == FC_EV_FAILED && r->wrong <= 0;
}

static bool is_collective(const struct fc_ev_record *r)
{
    return strncmp(r->metric, "collective.", 11) == 0;
}

/* What rule_pairs.c tells, out of the same records. */
static bool is_told(const struct fc_evidence *ev, const struct fc_ev_record *r)
{
    return fc_ev_of_pair(r) && (r->node != r->peer || ev->pairs > 0);
}

/* Bad records, in order of the series. */
struct bad {
    const struct fc_ev_record **record;
    size_t count;
};

static struct bad gather(const struct fc_case *c, bad_fn is_bad, bool collective)
{
    const struct fc_evidence *ev = c->ev;
    struct bad bad = {malloc((ev->records ? ev->records : 1) * sizeof(*bad.record)), 0};
    if (!bad.record)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; bad.record && i < ev->records; i++)
        if (is_bad(ev->by_series[i]) && !is_told(ev, ev->by_series[i]) &&
            is_collective(ev->by_series[i]) == collective)
            bad.record[bad.count++] = ev->by_series[i];
    return bad;
}

/* One finding of records that share a metric and a subject (or, for collectives, a
 * rank). `node` is the blamed one. */
static void report(const struct fc_case *c, const struct bad *bad, size_t node,
                   enum fc_confidence confidence)
{
    const struct fc_ev_record *first = bad->record[0], *told = first;
    int64_t wrong = 0;
    for (size_t i = 0; i < bad->count; i++) {
        if (bad->record[i]->wrong > wrong)
            wrong = bad->record[i]->wrong;
        if (!told->reason && bad->record[i]->reason)
            told = bad->record[i];
    }
    bool is_fail = wrong <= 0;
    struct fc_hint hint = is_fail ? (struct fc_hint){"the device, its driver or the "
                                                     "communication path is dead "
                                                     "or refuses the operation",
                                                     "read the reason; look at the "
                                                     "kernel log of the node; run "
                                                     "the probe again on it alone"}
                                  : fc_hint_wrong(first->metric);
    struct fc_finding f = {.severity = FC_SEV_FAIL,
                           .confidence = confidence,
                           .check = c->rule->id,
                           .node = node,
                           .rank = first->rank,
                           .subject = node == FC_NONE && fc_ev_of_node(first)
                                          ? NULL
                                          : json_object_get(first->line, "subject"),
                           .metric = first->metric,
                           .cause = hint.cause,
                           .remedy = hint.remedy,
                           .probe = first->probe[0] ? first->probe : NULL,
                           .evidence = bad->record,
                           .evidences = bad->count};
    const char *reason = told->reason ? told->reason : "no reason was recorded";
    if (is_fail)
        fc_find(c->out, &f, "%s failed (%zu record%s): %s", fc_clip(first->metric).s,
                bad->count, bad->count > 1 ? "s" : "", fc_clip(reason).s);
    else
        fc_find(c->out, &f, "%s: wrong data, up to %lld %s%s in %zu record%s: %s",
                fc_clip(first->metric).s, (long long)wrong,
                fc_ev_wrong_unit(first->probe), wrong > 1 ? "s" : "", bad->count,
                bad->count > 1 ? "s" : "", fc_clip(reason).s);
}

static void single(const struct fc_case *c, bad_fn is_bad)
{
    struct bad bad = gather(c, is_bad, false);
    for (size_t i = 0; i < bad.count;) {
        size_t end = i + 1;
        while (end < bad.count && bad.record[end]->who == bad.record[i]->who &&
               strcmp(bad.record[end]->metric, bad.record[i]->metric) == 0)
            end++;
        struct bad part = {bad.record + i, end - i};
        size_t node = fc_ev_of_node(bad.record[i]) ? bad.record[i]->node : FC_NONE;
        report(c, &part, node, FC_CONF_HIGH);
        i = end;
    }
    free(bad.record);
}

/* --- collectives --- */

static bool is_rank(const struct fc_ev_record *r)
{
    return fc_ev_of_node(r) && r->rank >= 0;
}

/* Ranks of the communicator. */
static int64_t group_size(const struct fc_ev_record *r)
{
    return fc_ev_int(json_object_get(r->line, "params"), "n", 1, INT32_MAX, 0);
}

/* True when the communicator is that of one node's ranks, so that there are several
 * of the same size. */
static bool is_inside_node(const struct fc_evidence *ev, const struct fc_ev_record *r)
{
    const char *variant = fc_ev_text(json_object_get(r->line, "params"), "variant");
    int64_t n = group_size(r);
    return n < (int64_t)ev->ranks && n <= (int64_t)ev->node[r->node].ranks &&
           !(variant && strcmp(variant, "one rank a node") == 0);
}

/* Ranks that took part in the same operation stand together: the same `what` and
 * attempt, and, when the group is one node's, the same node. */
static int by_operation(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = *(const struct fc_ev_record *const *)pa;
    const struct fc_ev_record *b = *(const struct fc_ev_record *const *)pb;
    int order = a->what == b->what ? 0 : strcmp(a->what, b->what);
    if (order == 0)
        order = a->attempt < b->attempt ? -1 : a->attempt > b->attempt;
    if (order == 0 && a->node != b->node)
        order = a->node < b->node ? -1 : 1;
    if (order == 0)
        order = a->rank < b->rank ? -1 : a->rank > b->rank;
    return order ? order : (a < b ? -1 : a > b);
}

static bool same_operation(const struct fc_evidence *ev, const struct fc_ev_record *a,
                           const struct fc_ev_record *b)
{
    return a->what == b->what && a->attempt == b->attempt &&
           (a->node == b->node || !is_inside_node(ev, a));
}

static size_t count_ranks(const struct bad *bad)
{
    size_t ranks = 0;
    for (size_t i = 0; i < bad->count; i++)
        ranks += i == 0 || bad->record[i]->rank != bad->record[i - 1]->rank;
    return ranks;
}

static int by_rank(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = *(const struct fc_ev_record *const *)pa;
    const struct fc_ev_record *b = *(const struct fc_ev_record *const *)pb;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    int order = strcmp(a->metric, b->metric);
    return order ? order : (a->seq < b->seq ? -1 : a->seq > b->seq);
}

/* Moves to the front the records of ranks that can be blamed; their number. */
static size_t blame_ranks(const struct fc_evidence *ev, struct bad *bad)
{
    size_t blamed = 0;
    qsort(bad->record, bad->count, sizeof(*bad->record), by_operation);
    for (size_t i = 0; i < bad->count;) {
        size_t end = i + 1;
        while (end < bad->count && same_operation(ev, bad->record[i], bad->record[end]))
            end++;
        struct bad part = {bad->record + i, end - i};
        int64_t n = group_size(bad->record[i]);
        bool few = n == 0 || 2 * (int64_t)count_ranks(&part) <= n;
        for (size_t k = i; few && k < end; k++)
            bad->record[blamed++] = bad->record[k];
        i = end;
    }
    qsort(bad->record, blamed, sizeof(*bad->record), by_rank);
    return blamed;
}

/* One finding for each node, or for each of its ranks. */
static void report_parts(const struct fc_case *c, const struct bad *bad, bool *blamed,
                         bool rank_wise)
{
    for (size_t i = 0; i < bad->count;) {
        const struct fc_ev_record *first = bad->record[i];
        size_t end = i + 1;
        while (end < bad->count && bad->record[end]->node == first->node &&
               (!rank_wise || bad->record[end]->rank == first->rank))
            end++;
        struct bad part = {bad->record + i, end - i};
        if (rank_wise || !blamed[first->node])
            report(c, &part, first->node, FC_CONF_MEDIUM);
        blamed[first->node] = true;
        i = end;
    }
}

static void collective(const struct fc_case *c, bad_fn is_bad)
{
    struct bad all = gather(c, is_bad, true);
    size_t nodes = c->ev->nodes ? c->ev->nodes : 1;
    struct bad rank = {malloc((all.count + 1) * sizeof(*rank.record)), 0};
    struct bad node = {malloc((all.count + 1) * sizeof(*node.record)), 0};
    bool *blamed = calloc(nodes, sizeof *blamed), any = false;
    if (!rank.record || !node.record || !blamed) {
        c->out->status = FC_NOMEM;
        all.count = 0;
    }
    for (size_t i = 0; i < all.count; i++) {
        if (is_rank(all.record[i]))
            rank.record[rank.count++] = all.record[i];
        else if (fc_ev_of_node(all.record[i]))
            node.record[node.count++] = all.record[i];
    }
    if (all.count) {
        rank.count = blame_ranks(c->ev, &rank);
        report_parts(c, &rank, blamed, true);
        qsort(node.record, node.count, sizeof(*node.record), by_rank);
        report_parts(c, &node, blamed, false);
    }
    for (size_t i = 0; blamed && i < c->ev->nodes; i++)
        any = any || blamed[i];
    if (all.count && !any)
        report(c, &all, FC_NONE, FC_CONF_LOW);
    free(blamed);
    free(node.record);
    free(rank.record);
    free(all.record);
}

void fc_rule_wrong(const struct fc_case *c)
{
    single(c, is_wrong);
    collective(c, is_wrong);
}

void fc_rule_failed(const struct fc_case *c)
{
    single(c, is_failed);
    collective(c, is_failed);
}

static bool wants_verification(const struct fc_ev_record *r)
{
    size_t length = strlen(r->metric);
    if (strncmp(r->metric, "device.gemm.", 12) == 0 ||
        strcmp(r->metric, "training.step_time") == 0)
        return true;
    return is_collective(r) && length > 6 &&
           strcmp(r->metric + length - 6, ".busbw") == 0;
}

void fc_rule_unverified(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    for (size_t i = 0; i < ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&ev->series[i]);
        if (!r || r->wrong >= 0 || !wants_verification(r))
            continue;
        struct fc_missing m = {.class = c->rule->class,
                               .check = c->rule->id,
                               .probe = r->probe,
                               .what = r->metric,
                               .node = r->node};
        fc_miss(c->out, &m, "%sit was timed, but its results were not verified",
                fc_rank_prefix(r).s);
    }
}
