// SPDX-License-Identifier: BSD-3-Clause
/* What carried the bytes: a rate whose path is not known proves little, and nodes whose
 * paths differ are not alike. */
#include "judge/accused.h"
#include "judge/pairs.h"
#include "judge/rules.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 20 };

static bool is_known(const char *path)
{
    return path && strcmp(path, "unknown") != 0;
}

/* --- unknown --- */

static size_t unknown_records(const struct fc_evidence *ev, const char *probe)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->records; i++) {
        const struct fc_ev_record *r = &ev->record[i];
        count += r->path && !is_known(r->path) && r->state == FC_EV_OK &&
                 r->bytes >= LARGE && !fc_ev_of_node(r) &&
                 strcmp(r->unit, "GB/s") == 0 && strcmp(r->probe, probe) == 0;
    }
    return count;
}

static size_t unknown_pairs(const struct fc_evidence *ev, const char *probe)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        count += p->path && !is_known(p->path) && p->state == FC_EV_OK &&
                 p->a_node != p->b_node && ev->round[p->round].bytes >= LARGE &&
                 strcmp(fc_ev_pair_probe(ev->round[p->round].metric), probe) == 0;
    }
    return count;
}

void fc_rule_path_unknown(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    const char *last = "";
    for (size_t i = 0; i < fc_metric_count() && ev->nodes > 1; i++) {
        const char *probe = fc_metric_at(i)->probe;
        if (strcmp(probe, last) == 0)
            continue;
        last = probe;
        size_t count = unknown_records(ev, probe);
        if (fc_ev_has_rounds(ev, probe))
            count += unknown_pairs(ev, probe);
        struct fc_missing m = {.class = c->rule->class,
                               .check = c->rule->id,
                               .probe = probe,
                               .what = "path of the bytes",
                               .node = FC_NONE};
        if (count)
            fc_miss(c->out, &m,
                    "what carried the bytes of %zu measurement%s between nodes could "
                    "not be proven",
                    count, count > 1 ? "s" : "");
    }
}

/* --- different --- */

static struct fc_finding finding(const struct fc_case *c, const char *metric)
{
    return (struct fc_finding){
        .severity = FC_SEV_WARN,
        .confidence = FC_CONF_MEDIUM,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .metric = metric,
        .cause =
            "a transport that fell back on some nodes: a missing module, device or "
            "permission, or another setting of MPI or UCX",
        .remedy = "compare OMPI_MCA_*, UCX_*, limits and devices of the nodes; their "
                  "rates are not comparable until the paths are"};
}

/* The path that most of the records take, or NULL. */
static const char *majority(const struct fc_ev_record *const *r, size_t count)
{
    const char *path = NULL;
    size_t lead = 0, votes = 0;
    for (size_t i = 0; i < count; i++) {
        bool same = path && strcmp(path, r[i]->path) == 0;
        if (lead == 0)
            path = r[i]->path;
        lead = lead == 0 || same ? lead + 1 : lead - 1;
    }
    for (size_t i = 0; i < count; i++)
        votes += strcmp(path, r[i]->path) == 0;
    return 2 * votes > count ? path : NULL;
}

static int by_work(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = *(const struct fc_ev_record *const *)pa;
    const struct fc_ev_record *b = *(const struct fc_ev_record *const *)pb;
    int order = strcmp(a->metric, b->metric);
    if (order == 0 && a->what != b->what)
        order = strcmp(a->what, b->what);
    if (order == 0 && a->node != b->node)
        order = a->node < b->node ? -1 : 1;
    return order ? order : a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* What is odd about one metric. */
struct odd {
    bool *node; /* [nodes] */
    bool no_majority;
    const char *usual, *other;
};

/* Records of the same work on several nodes. */
static void compare(const struct fc_ev_record *const *r, size_t count, struct odd *odd)
{
    const char *usual = majority(r, count);
    odd->no_majority = odd->no_majority || !usual;
    for (size_t i = 0; usual && i < count; i++) {
        if (strcmp(r[i]->path, usual) == 0)
            continue;
        odd->node[r[i]->node] = true;
        if (!odd->usual) {
            odd->usual = usual;
            odd->other = r[i]->path;
        }
    }
}

static void report_odd(const struct fc_case *c, const char *metric,
                       const struct odd *odd, size_t *list)
{
    struct fc_finding f = finding(c, metric);
    for (size_t i = 0; i < c->ev->nodes; i++)
        if (odd->node[i])
            list[f.odds++] = i;
    f.odd = list;
    if (f.odds)
        fc_find(c->out, &f, "%s went by %s here and by %s on most other nodes",
                fc_clip(metric).s, fc_clip(odd->other).s, fc_clip(odd->usual).s);
    else if (odd->no_majority)
        fc_find(c->out, &f, "%s went by different paths on the nodes, none by most",
                fc_clip(metric).s);
}

/* Metrics of whole nodes; records by metric, then work. */
static void judge_records(const struct fc_case *c, const struct fc_ev_record **r,
                          size_t count, struct odd *odd, size_t *list)
{
    for (size_t i = 0; i < count;) {
        const char *metric = r[i]->metric;
        memset(odd->node, 0, (c->ev->nodes + 1) * sizeof *odd->node);
        odd->no_majority = false;
        odd->usual = odd->other = NULL;
        while (i < count && strcmp(r[i]->metric, metric) == 0) {
            size_t end = i + 1;
            while (end < count && r[end]->what == r[i]->what)
                end++;
            compare(r + i, end - i, odd);
            i = end;
        }
        report_odd(c, metric, odd, list);
    }
}

/* --- pairs --- */

/* The path of most links, or NULL. */
static const char *usual_path(const struct fc_arena *a)
{
    const char *path = NULL;
    size_t lead = 0, votes = 0;
    for (size_t i = 0; i < a->links; i++) {
        const char *mine = a->link[i].pair->path;
        bool same = path && strcmp(path, mine) == 0;
        if (lead == 0)
            path = mine;
        lead = lead == 0 || same ? lead + 1 : lead - 1;
    }
    for (size_t i = 0; i < a->links; i++)
        votes += strcmp(path, a->link[i].pair->path) == 0;
    return 2 * votes > a->links ? path : NULL;
}

static bool report_pairs(const struct fc_case *c, const struct fc_arena *a,
                         const struct fc_culprit *k, const char *usual)
{
    struct fc_finding f = finding(c, a->metric);
    struct fc_accused accused;
    if (!fc_accused_open(c, a, k, a->metric, &accused))
        return false;
    size_t one = accused.finding.node;
    f.odd = accused.finding.odds ? accused.odd : &one;
    f.odds = accused.finding.odds ? accused.finding.odds : one != FC_NONE;
    fc_find(c->out, &f, "%zu transfers of pairs did not go by %s, as most do", k->bad,
            fc_clip(usual).s);
    fc_accused_close(&accused);
    return true;
}

/* True when pairs of nodes went by two known paths at least. */
static bool paths_differ(const struct fc_evidence *ev)
{
    const char *first = NULL;
    for (size_t i = 0; i < ev->pairs; i++) {
        const char *path = ev->pair[i].path;
        if (!is_known(path) || ev->pair[i].a_node == ev->pair[i].b_node)
            continue;
        if (first && strcmp(first, path) != 0)
            return true;
        first = path;
    }
    return false;
}

/* *told: whether there was something to tell. */
static bool judge_arena(const struct fc_case *c, struct fc_arena *a, bool *told)
{
    struct fc_blame blame = {0};
    size_t kept = 0;
    for (size_t i = 0; i < a->links; i++)
        if (is_known(a->link[i].pair->path))
            a->link[kept++] = a->link[i];
    a->links = kept;
    const char *usual = usual_path(a);
    for (size_t i = 0; i < kept; i++)
        a->link[i].bad = usual && strcmp(a->link[i].pair->path, usual) != 0;
    bool ok = fc_blame_open(a, &blame);
    for (size_t k = 0; ok && k < blame.count; k++)
        ok = report_pairs(c, a, &blame.culprit[k], usual);
    *told = blame.count > 0;
    fc_blame_close(&blame);
    return ok;
}

/* Of each probe the first metric whose paths differ. */
static bool judge_pairs(const struct fc_case *c)
{
    struct fc_pairs pairs;
    const char *done = "";
    if (!paths_differ(c->ev))
        return true;
    bool ok = fc_pairs_open(c->ev, FC_PAIRS_BW, &pairs), told = false;
    for (size_t i = 0; ok && i < pairs.arenas; i++) {
        struct fc_arena *a = &pairs.arena[i];
        const char *probe = fc_ev_pair_probe(a->metric);
        if (a->node != FC_NONE || strcmp(probe, done) == 0)
            continue;
        ok = judge_arena(c, a, &told);
        done = told ? probe : done;
    }
    fc_pairs_close(&pairs);
    return ok;
}

/* The time of a collective says the same as its bandwidth. */
static bool says_the_same(const struct fc_ev_record *r)
{
    size_t length = strlen(r->metric);
    return strncmp(r->metric, "collective.", 11) == 0 &&
           strcmp(r->metric + length - 5, ".time") == 0;
}

void fc_rule_path_differs(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    const struct fc_ev_record **list = malloc((ev->series_count + 1) * sizeof(*list));
    struct odd odd = {.node = malloc((ev->nodes + 1) * sizeof(bool))};
    size_t *nodes = malloc((ev->nodes + 1) * sizeof *nodes), count = 0;
    bool ok = list && odd.node && nodes;
    for (size_t i = 0; ok && i < ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&ev->series[i]);
        if (r && fc_ev_of_node(r) && is_known(r->path) && !says_the_same(r))
            list[count++] = r;
    }
    if (count)
        qsort(list, count, sizeof(*list), by_work);
    if (ok)
        judge_records(c, list, count, &odd, nodes);
    if (!ok || !judge_pairs(c))
        c->out->status = FC_NOMEM;
    free(nodes);
    free(odd.node);
    free(list);
}
