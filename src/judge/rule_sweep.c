// SPDX-License-Identifier: BSD-3-Clause
/* Is the shape of a sweep over sizes plausible, and do single operations take much
 * longer than the others? Shapes warn and never fail: they say where to look.
 *
 * Nothing here speaks where other load spoils the measurement. */
#include "core/stats.h"
#include "core/units.h"
#include "judge/hints.h"
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A change of protocol or algorithm costs up to twice the time at its edge; that a
 * message which is four times larger takes less than half is no such edge. */
static const double shorter = 0.5;
enum { LARGER = 4 };
/* On a network the rate rises to a plateau. In memory it falls when the last cache is
 * left (up to 3x) and where fresh pages are taken for each call (together 7x, see
 * floors.def), so only less than a tenth is no cliff of a healthy machine. The same
 * where the path is not known. */
static const double collapse_network = 1.0 / 3.0, collapse_memory = 0.1;
enum { COLLAPSE_FROM = 1 << 20 };
/* p99 / median of a series, and of it against its equals. */
static const double tail_ratio = 3.0, tail_unlike = 2.0;
enum { TAIL_SAMPLES = 20, TAIL_EQUALS = 3 };

struct size_text {
    char s[48];
};

static const char *size_of(const struct fc_ev_record *r, struct size_text *room)
{
    snprintf(room->s, sizeof room->s, "%s", fc_format_size((uint64_t)r->bytes).s);
    return room->s;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* --- sweeps --- */

/* `what` without the size at its end: the same for all points of a sweep. */
static int by_parameters(const struct fc_ev_record *a, const struct fc_ev_record *b)
{
    size_t m = (size_t)(strrchr(a->what, ' ') - a->what);
    size_t n = (size_t)(strrchr(b->what, ' ') - b->what);
    int order = strncmp(a->what, b->what, m < n ? m : n);
    return order ? order : m < n ? -1 : m > n;
}

static int by_sweep(const struct fc_ev_record *a, const struct fc_ev_record *b)
{
    int order = strcmp(a->metric, b->metric);
    if (order == 0 && a->who != b->who)
        order = strcmp(a->who, b->who);
    return order ? order : by_parameters(a, b);
}

static int by_point(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = *(const struct fc_ev_record *const *)pa;
    const struct fc_ev_record *b = *(const struct fc_ev_record *const *)pb;
    int order = by_sweep(a, b);
    if (order == 0 && a->bytes != b->bytes)
        order = a->bytes < b->bytes ? -1 : 1;
    return order ? order : a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Two points of a sweep that do not fit, and how badly. */
struct misfit {
    const struct fc_ev_record *bad, *good;
    double ratio; /* of the bad one to the good one; more is worse */
};

typedef struct misfit (*shape_fn)(const struct fc_ev_record *const *point,
                                  size_t count);

/* The point that takes longest against a much larger one. */
static struct misfit find_longer(const struct fc_ev_record *const *point, size_t count)
{
    struct misfit worst = {NULL, NULL, 0.0};
    const struct fc_ev_record *best = NULL;
    for (size_t i = count, j = count; i > 0; i--) {
        const struct fc_ev_record *r = point[i - 1];
        while (j > 0 && point[j - 1]->bytes / LARGER >= r->bytes) {
            const struct fc_ev_record *large = point[--j];
            if (!best || large->median < best->median)
                best = large;
        }
        if (!best)
            continue;
        double surely = r->median - (r->mad >= 0.0 ? r->mad : 0.0);
        double at_most = best->median + (best->mad >= 0.0 ? best->mad : 0.0);
        double ratio = r->median / best->median;
        if (shorter * surely > at_most && ratio > worst.ratio)
            worst = (struct misfit){r, best, ratio};
    }
    return worst;
}

static double collapse_share(const struct fc_ev_record *r)
{
    bool network =
        r->path && (strcmp(r->path, "sockets") == 0 || strcmp(r->path, "verbs") == 0);
    return network ? collapse_network : collapse_memory;
}

/* The large point that falls furthest below a smaller one. */
static struct misfit find_collapse(const struct fc_ev_record *const *point,
                                   size_t count)
{
    struct misfit worst = {NULL, NULL, 0.0};
    const struct fc_ev_record *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct fc_ev_record *r = point[i];
        double ratio = best ? best->median / r->median : 0.0;
        if (best && r->bytes >= COLLAPSE_FROM &&
            r->median < collapse_share(r) * best->median && ratio > worst.ratio)
            worst = (struct misfit){r, best, ratio};
        if (!best || r->median > best->median)
            best = r;
    }
    return worst;
}

static void report_misfit(const struct fc_case *c, const struct misfit *m,
                          size_t others)
{
    const struct fc_ev_record *evidence[] = {m->bad, m->good}, *r = m->bad;
    bool time = !r->higher;
    char more[64] = "";
    struct size_text bad, good;
    struct fc_finding f = {
        .severity = FC_SEV_WARN,
        .confidence = FC_CONF_MEDIUM,
        .check = c->rule->id,
        .node = fc_ev_of_node(r) ? r->node : FC_NONE,
        .rank = r->rank,
        .subject = json_object_get(r->line, "subject"),
        .metric = r->metric,
        .cause = time ? "an algorithm or protocol that MPI chooses badly at this size, "
                        "or something that disturbed this one measurement"
                      : "buffers or queues that overflow, lost packets, or memory that "
                        "is taken afresh for large messages",
        .remedy = time
                      ? "measure this size again; if it stays, look at the thresholds "
                        "of the MPI library (coll_tuned, eager limit)"
                      : "measure the sizes around it; look at drops and retransmits of "
                        "the interfaces and at the MPI library's pipelining",
        .probe = r->probe,
        .evidence = evidence,
        .evidences = 2};
    if (others)
        snprintf(more, sizeof more, "; %zu other sweep%s as well", others,
                 others > 1 ? "s" : "");
    if (time)
        fc_find(c->out, &f, "%s at %s takes %.3g ms, but only %.3g ms at %s%s",
                fc_clip(r->metric).s, size_of(r, &bad), 1e3 * r->median,
                1e3 * m->good->median, size_of(m->good, &good), more);
    else
        fc_find(c->out, &f,
                "%s falls to %.3g GB/s at %s, from %.3g GB/s at %s: the curve "
                "collapses instead of reaching a plateau%s",
                fc_clip(r->metric).s, r->median, size_of(r, &bad), m->good->median,
                size_of(m->good, &good), more);
}

static size_t gather_points(const struct fc_case *c, const char *end,
                            const struct fc_ev_record **out)
{
    size_t count = 0;
    for (size_t i = 0; i < c->ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&c->ev->series[i]);
        if (r && r->bytes > 0 && r->median > 0.0 && ends_in(r->metric, end) &&
            strncmp(r->metric, "collective.", 11) == 0 &&
            !fc_speed_spoiled(c, r->node, r->probe))
            out[count++] = r;
    }
    if (count)
        qsort(out, count, sizeof(*out), by_point);
    return count;
}

/* One finding for each metric and subject: the worst of its sweeps. */
static void judge_shapes(const struct fc_case *c, const char *end, shape_fn shape)
{
    const struct fc_ev_record **point =
        malloc((c->ev->series_count + 1) * sizeof(*point));
    size_t count = point ? gather_points(c, end, point) : 0;
    if (!point)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; i < count;) {
        const struct fc_ev_record *first = point[i];
        struct misfit worst = {NULL, NULL, 0.0};
        size_t misfits = 0;
        while (i < count && point[i]->who == first->who &&
               strcmp(point[i]->metric, first->metric) == 0) {
            size_t from = i;
            while (i < count && by_sweep(point[from], point[i]) == 0)
                i++;
            struct misfit m = shape(point + from, i - from);
            misfits += m.bad != NULL;
            if (m.ratio > worst.ratio)
                worst = m;
        }
        if (worst.bad)
            report_misfit(c, &worst, misfits - 1);
    }
    free(point);
}

void fc_rule_monotone(const struct fc_case *c)
{
    judge_shapes(c, ".time", find_longer);
}

void fc_rule_collapse(const struct fc_case *c)
{
    judge_shapes(c, ".busbw", find_collapse);
}

/* --- tails --- */

/* A record and what its equals have. */
struct tail {
    const struct fc_ev_record *record;
    double ratio, equals;
    size_t count; /* of the equals */
};

static double tail_of(const struct fc_ev_record *r)
{
    return r->p99 / r->median;
}

static int by_equals(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = ((const struct tail *)pa)->record;
    const struct fc_ev_record *b = ((const struct tail *)pb)->record;
    int order = a->what == b->what ? 0 : strcmp(a->what, b->what);
    if (order == 0)
        order = strcmp(a->kind, b->kind);
    return order ? order : a->seq < b->seq ? -1 : a->seq > b->seq;
}

static bool are_equals(const struct fc_ev_record *a, const struct fc_ev_record *b)
{
    return a->what == b->what && strcmp(a->kind, b->kind) == 0;
}

/* By metric and subject, the longest tail first. */
static int by_subject(const void *pa, const void *pb)
{
    const struct tail *a = pa, *b = pb;
    int order = strcmp(a->record->metric, b->record->metric);
    if (order == 0 && a->record->who != b->record->who)
        order = strcmp(a->record->who, b->record->who);
    if (order == 0 && a->ratio != b->ratio)
        order = a->ratio > b->ratio ? -1 : 1;
    return order ? order : by_equals(pa, pb);
}

static void report_tail(const struct fc_case *c, const struct tail *t, size_t others)
{
    const struct fc_ev_record *r = t->record;
    char more[64] = "";
    struct fc_finding f = {
        .severity = FC_SEV_WARN,
        .confidence = FC_CONF_LOW,
        .check = c->rule->id,
        .node = fc_ev_of_node(r) ? r->node : FC_NONE,
        .rank = r->rank,
        .subject = json_object_get(r->line, "subject"),
        .metric = r->metric,
        .cause = "something that comes and goes: a link that retransmits, a clock that "
                 "throttles, memory errors that are corrected, a daemon",
        .remedy = "run it again for longer and watch error counters, clocks and "
                  "corrected memory errors of this part meanwhile",
        .probe = r->probe[0] ? r->probe : NULL,
        .evidence = &r,
        .evidences = 1};
    if (others)
        snprintf(more, sizeof more, "; %zu other measurement%s as well", others,
                 others > 1 ? "s" : "");
    fc_find(c->out, &f,
            "%s: the slowest of %lld samples (p99) take %.3g times the median; among "
            "%zu equals that is %.3g times%s",
            fc_clip(r->metric).s, (long long)r->samples, t->ratio, t->count, t->equals,
            more);
}

/* Moves to the front those whose tail is long for their equals; how many. */
static size_t keep_long(const struct fc_case *c, struct tail *tail, size_t count,
                        double *x)
{
    size_t kept = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i;
        for (; end < count && are_equals(tail[i].record, tail[end].record); end++)
            x[end - i] = tail[end].ratio;
        double equals = fc_median_in_place(x, end - i);
        bool enough = end - i >= TAIL_EQUALS;
        for (size_t n = end - i; i < end; i++) {
            struct tail t = tail[i];
            t.equals = equals;
            t.count = n;
            if (enough && t.ratio > tail_ratio && t.ratio > tail_unlike * equals &&
                !fc_speed_spoiled(c, t.record->node, t.record->probe))
                tail[kept++] = t;
        }
    }
    return kept;
}

void fc_rule_tail(const struct fc_case *c)
{
    size_t room = c->ev->series_count + 1, count = 0;
    struct tail *tail = malloc(room * sizeof *tail);
    double *x = malloc(room * sizeof *x);
    if (!tail || !x)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; tail && x && i < c->ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&c->ev->series[i]);
        if (r && !r->higher && r->samples >= TAIL_SAMPLES && isfinite(tail_of(r)))
            tail[count++] = (struct tail){.record = r, .ratio = tail_of(r)};
    }
    if (count) {
        qsort(tail, count, sizeof *tail, by_equals);
        count = keep_long(c, tail, count, x);
        qsort(tail, count, sizeof *tail, by_subject);
    }
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && tail[end].record->who == tail[i].record->who &&
               strcmp(tail[end].record->metric, tail[i].record->metric) == 0)
            end++;
        report_tail(c, &tail[i], end - i - 1);
        i = end;
    }
    free(x);
    free(tail);
}
