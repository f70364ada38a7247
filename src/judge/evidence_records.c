// SPDX-License-Identifier: BSD-3-Clause
/* Record lines, checked member by member, and their grouping into series of
 * attempts. */
#include "judge/evidence_parts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEQ (INT64_C(1) << 53)

/* A number, or NaN for null and for a member that is not there; false for anything
 * else. */
static bool read_number(const json_t *object, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return !value || json_is_null(value) || json_is_number(value);
}

/* A whole number of at least 0, or -1 for null and absent; false for anything else. */
static bool read_count(const json_t *object, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = -1;
    if (!value || json_is_null(value))
        return true;
    *out = fc_ev_int(object, key, 0, INT64_MAX, -1);
    return *out >= 0 || (json_is_integer(value) && json_integer_value(value) == -1);
}

static bool read_small(const json_t *object, const char *key, int min, int fallback,
                       int *out)
{
    const json_t *value = json_object_get(object, key);
    *out = fallback;
    if (!value || json_is_null(value))
        return true;
    int64_t number = fc_ev_int(object, key, min, INT_MAX, INT64_MIN);
    if (number == INT64_MIN)
        return json_is_integer(value) && json_integer_value(value) == -1;
    *out = (int)number;
    return true;
}

static bool text_or_absent(const json_t *object, const char *key, const char **out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_string_value(value);
    return !value || json_is_null(value) || *out;
}

static bool read_subject(const struct fc_evidence *ev, const json_t *line,
                         struct fc_ev_record *r)
{
    const json_t *subject = json_object_get(line, "subject");
    const char *node, *peer;
    bool ok = json_is_object(subject) && text_or_absent(subject, "kind", &r->kind) &&
              text_or_absent(subject, "node", &node) &&
              text_or_absent(subject, "peer", &peer) &&
              read_small(subject, "rank", 0, -1, &r->rank);
    if (!ok || (node && !fc_ev_name_ok(node)) || (peer && !fc_ev_name_ok(peer)))
        return false;
    r->node = fc_ev_node_index(ev, node);
    r->peer = fc_ev_node_index(ev, peer);
    if (!r->kind)
        r->kind = node ? "node" : "fabric";
    return true;
}

static bool read_value(const json_t *line, struct fc_ev_record *r)
{
    const json_t *limit = json_object_get(line, "limit");
    bool limit_ok = !limit || json_is_null(limit) || json_is_object(limit);
    return limit_ok && read_number(line, "median", &r->median) &&
           read_number(line, "mad", &r->mad) && read_number(line, "p99", &r->p99) &&
           read_number(limit, "value", &r->limit) &&
           text_or_absent(limit, "basis", &r->limit_basis) &&
           read_count(line, "samples", &r->samples) &&
           read_count(line, "wrong", &r->wrong) && read_count(line, "bytes", &r->bytes);
}

static bool read_status(const json_t *line, struct fc_ev_record *r)
{
    if (!text_or_absent(line, "reason", &r->reason))
        return false;
    r->status = fc_ev_text(line, "status");
    if (!r->status)
        return false;
    if (strcmp(r->status, "ok") == 0)
        r->state = FC_EV_OK;
    else
        r->state = strcmp(r->status, "failed") == 0 ? FC_EV_FAILED : FC_EV_UNMEASURED;
    return true;
}

static bool read_metric(const json_t *line, struct fc_ev_record *r)
{
    const char *better;
    r->metric = fc_ev_text(line, "metric");
    if (!r->metric || !*r->metric || !text_or_absent(line, "probe", &r->probe) ||
        !text_or_absent(line, "unit", &r->unit) ||
        !text_or_absent(line, "better", &better))
        return false;
    r->info = fc_metric_find(r->metric);
    if (r->info) {
        /* A number in another unit is no such value. */
        if (r->unit && strcmp(r->unit, r->info->unit) != 0)
            return false;
        r->probe = r->info->probe;
        r->unit = r->info->unit;
        r->higher = r->info->higher_is_better;
        return true;
    }
    r->probe = r->probe ? r->probe : "";
    r->unit = r->unit ? r->unit : "";
    r->higher = !better || strcmp(better, "lower") != 0;
    return true;
}

/* The parameters as text, without the attempt; malloc'd. */
static char *params_text(const json_t *params)
{
    json_t *copy =
        json_is_object(params) ? json_copy((json_t *)(uintptr_t)params) : json_object();
    json_object_del(copy, "attempt");
    char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(copy);
    return text;
}

/* --- names --- */

/* Lines share equal values, and records of a rank, or of a metric, tend to follow each
 * other: what was named last need not be named again. */
enum { NAMED = 64 };

struct names {
    struct fc_evidence *ev;
    const json_t *subject; /* of the last record */
    const char *who;
    struct {
        const json_t *params;
        const char *metric, *what;
        int64_t bytes;
    } last[NAMED];
};

static bool name_who(struct names *n, const json_t *subject, struct fc_ev_record *r)
{
    if (n->subject != subject) {
        char *who = json_dumps(subject, JSON_COMPACT | JSON_SORT_KEYS);
        n->who = who ? fc_ev_intern(n->ev, who) : NULL;
        n->subject = n->who ? subject : NULL;
        free(who);
    }
    r->who = n->who;
    return r->who != NULL;
}

static const char *make_what(struct names *n, const json_t *params,
                             const struct fc_ev_record *r)
{
    char *text = params_text(params), *what = NULL;
    int bytes =
        text ? asprintf(&what, "%s %s %lld", r->metric, text, (long long)r->bytes) : -1;
    const char *kept = bytes >= 0 ? fc_ev_intern(n->ev, what) : NULL;
    free(text);
    if (bytes >= 0)
        free(what);
    return kept;
}

static bool name_what(struct names *n, const json_t *params, struct fc_ev_record *r)
{
    size_t mix = (uintptr_t)params / 16 + (uintptr_t)r->metric / 16 + (size_t)r->bytes;
    size_t at = (mix ^ mix >> 6 ^ mix >> 12) % NAMED;
    if (!n->last[at].what || n->last[at].params != params ||
        n->last[at].metric != r->metric || n->last[at].bytes != r->bytes) {
        n->last[at].what = make_what(n, params, r);
        n->last[at].params = params;
        n->last[at].metric = r->metric;
        n->last[at].bytes = r->bytes;
    }
    r->what = n->last[at].what;
    return r->what != NULL;
}

/* Sets who and what; false without memory. */
static bool name_series(struct names *n, const json_t *line, struct fc_ev_record *r)
{
    return name_who(n, json_object_get(line, "subject"), r) &&
           name_what(n, json_object_get(line, "params"), r);
}

static bool read_record(const struct fc_evidence *ev, json_t *line,
                        struct fc_ev_record *r)
{
    const json_t *params = json_object_get(line, "params");
    *r = (struct fc_ev_record){.line = line,
                               .seq = fc_ev_int(line, "seq", 0, MAX_SEQ, -1)};
    if (params && !json_is_null(params) && !json_is_object(params))
        return false;
    if (!read_metric(line, r) || !read_subject(ev, line, r) || !read_value(line, r) ||
        !read_status(line, r) || !read_small(params, "attempt", 1, 1, &r->attempt))
        return false;
    r->path = fc_ev_text(json_object_get(line, "path"), "name");
    if (!(r->limit > 0.0))
        r->limit = (double)NAN;
    if (r->node == FC_NONE && r->rank >= 0 &&
        !fc_ev_text(json_object_get(line, "subject"), "node"))
        r->node = fc_ev_node_of_rank(ev, r->rank);
    return true;
}

/* Records that no commit numbered (they come last) get the next numbers, so that every
 * record of the report can be referred to. */
static bool number_rest(struct fc_evidence *ev)
{
    int64_t next = 0;
    for (size_t i = 0; i < ev->records; i++) {
        struct fc_ev_record *r = &ev->record[i];
        if (r->seq >= 0) {
            next = r->seq;
            continue;
        }
        r->seq = ++next;
        json_t *line = json_copy(r->line);
        if (!line || json_object_set_new(line, "seq", json_integer(r->seq)) != 0 ||
            json_array_append_new(ev->made, line) != 0)
            return false;
        r->line = line;
    }
    return true;
}

/* --- series --- */

static int by_series(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = *(const struct fc_ev_record *const *)pa;
    const struct fc_ev_record *b = *(const struct fc_ev_record *const *)pb;
    int order = strcmp(a->metric, b->metric);
    if (order == 0 && a->node != b->node)
        order = a->node < b->node ? -1 : 1;
    if (order == 0 && a->rank != b->rank)
        order = a->rank < b->rank ? -1 : 1;
    if (order == 0 && a->who != b->who)
        order = strcmp(a->who, b->who);
    if (order == 0 && a->bytes != b->bytes)
        order = a->bytes < b->bytes ? -1 : 1;
    if (order == 0 && a->what != b->what)
        order = strcmp(a->what, b->what);
    if (order == 0 && a->attempt != b->attempt)
        order = a->attempt < b->attempt ? -1 : 1;
    if (order == 0 && a->seq != b->seq)
        order = a->seq < b->seq ? -1 : 1;
    return order ? order : (a < b ? -1 : a > b);
}

static bool make_series(struct fc_evidence *ev)
{
    size_t room = ev->records ? ev->records : 1;
    ev->by_series = malloc(room * sizeof(*ev->by_series));
    ev->series = malloc(room * sizeof *ev->series);
    if (!ev->by_series || !ev->series)
        return false;
    for (size_t i = 0; i < ev->records; i++)
        ev->by_series[i] = &ev->record[i];
    qsort(ev->by_series, ev->records, sizeof(*ev->by_series), by_series);
    for (size_t i = 0; i < ev->records; i++) {
        const struct fc_ev_record *r = ev->by_series[i];
        struct fc_ev_series *last =
            ev->series_count ? &ev->series[ev->series_count - 1] : NULL;
        if (last && last->record[0]->who == r->who && last->record[0]->what == r->what)
            last->count++;
        else
            ev->series[ev->series_count++] =
                (struct fc_ev_series){.record = &ev->by_series[i], .count = 1};
    }
    return true;
}

enum fc_status fc_ev_read_records(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                  struct fc_error *err)
{
    struct names names = {.ev = ev};
    ev->record = malloc((bag->count ? bag->count : 1) * sizeof *ev->record);
    bool ok = ev->record != NULL;
    for (size_t i = 0; ok && i < bag->count; i++) {
        struct fc_ev_record *r = &ev->record[ev->records];
        if (!read_record(ev, bag->line[i], r)) {
            ev->malformed++;
            continue;
        }
        ok = name_series(&names, bag->line[i], r);
        ev->records++;
    }
    if (!ok || !number_rest(ev) || !make_series(ev))
        return fc_fail(err, FC_NOMEM, "out of memory for the records");
    return FC_OK;
}

const struct fc_ev_record *fc_ev_last(const struct fc_ev_series *series)
{
    return series->record[series->count - 1];
}

const struct fc_ev_record *fc_ev_latest(const struct fc_ev_series *series)
{
    for (size_t i = series->count; i > 0; i--) {
        const struct fc_ev_record *r = series->record[i - 1];
        if (r->state == FC_EV_OK && isfinite(r->median) && r->median >= 0.0)
            return r;
    }
    return NULL;
}

bool fc_ev_of_node(const struct fc_ev_record *r)
{
    static const char *const kinds[] = {"node", "gpu", "nic", "link"};
    if (r->node == FC_NONE || r->peer != FC_NONE)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(r->kind, kinds[i]) == 0)
            return true;
    return false;
}

bool fc_ev_of_pair(const struct fc_ev_record *r)
{
    bool verbs =
        strncmp(r->metric, "rdma.", 5) == 0 && strcmp(r->metric, "rdma.counter") != 0;
    return (verbs || strncmp(r->metric, "pair.", 5) == 0) && r->node != FC_NONE &&
           r->peer != FC_NONE;
}

double fc_ev_share(const struct fc_ev_record *r)
{
    return r->higher ? r->median / r->limit : r->limit / r->median;
}
