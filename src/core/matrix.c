// SPDX-License-Identifier: BSD-3-Clause
#include "core/matrix.h"

#include "core/record.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* One list of the line: an entry a pair, and whether the entry says something. */
struct column {
    const char *key;
    json_t *(*entry)(const struct fc_matrix_pair *p);
    bool (*says)(const struct fc_matrix_pair *p); /* NULL: always */
};

static json_t *two(json_t *first, json_t *second)
{
    json_t *list = json_array();
    json_array_append_new(list, first);
    json_array_append_new(list, second);
    return list;
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *pair(const struct fc_matrix_pair *p)
{
    return two(json_integer(p->a), json_integer(p->b));
}

static json_t *bw(const struct fc_matrix_pair *p)
{
    return two(fc_json_real(p->a_to_b), fc_json_real(p->b_to_a));
}

static json_t *latency(const struct fc_matrix_pair *p)
{
    return fc_json_real(p->latency_s);
}

static bool has_latency(const struct fc_matrix_pair *p)
{
    return isfinite(p->latency_s);
}

static json_t *wrong(const struct fc_matrix_pair *p)
{
    return two(count(p->wrong_b), count(p->wrong_a));
}

static bool is_wrong(const struct fc_matrix_pair *p)
{
    return p->wrong_a || p->wrong_b;
}

static json_t *status(const struct fc_matrix_pair *p)
{
    return json_string(fc_status_name(p->status));
}

static json_t *reason(const struct fc_matrix_pair *p)
{
    /* A driver's text need not be UTF-8. */
    json_t *text = p->status != FC_OK && p->reason ? json_string(p->reason) : NULL;
    return text ? text : json_null();
}

static bool is_bad(const struct fc_matrix_pair *p)
{
    return p->status != FC_OK;
}

static json_t *path(const struct fc_matrix_pair *p)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(p->path ? p->path : "unknown"));
    if (p->path_how && p->path_how[0])
        json_object_set_new(o, "how", json_string(p->path_how));
    return o;
}

static bool has_path(const struct fc_matrix_pair *p)
{
    return p->path &&
           (strcmp(p->path, "unknown") != 0 || (p->path_how && p->path_how[0]));
}

static json_t *limit(const struct fc_matrix_pair *p)
{
    return fc_json_real(p->limit_GBps);
}

static bool has_limit(const struct fc_matrix_pair *p)
{
    return isfinite(p->limit_GBps);
}

static const struct column columns[] = {
    {"pair", pair, NULL},
    {"bw", bw, NULL},
    {"latency", latency, has_latency},
    {"wrong", wrong, is_wrong},
    {"status", status, is_bad},
    {"reason", reason, is_bad},
    {"path", path, has_path},
    {"limit", limit, has_limit},
};

/* False when memory is short: a list with a hole would tell of the wrong pair. */
static bool add_column(json_t *body, const struct fc_matrix *m, const struct column *c)
{
    bool says = !c->says;
    for (size_t i = 0; i < m->pairs && !says; i++)
        says = c->says(&m->pair[i]);
    if (!says)
        return true;
    json_t *list = json_array();
    for (size_t i = 0; i < m->pairs; i++)
        json_array_append_new(list, c->entry(&m->pair[i]));
    bool whole = json_array_size(list) == m->pairs;
    return json_object_set_new(body, c->key, list) == 0 && whole;
}

char *fc_matrix_line(const struct fc_matrix *m)
{
    json_t *body = json_object();
    json_object_set_new(body, "probe", json_string(m->probe));
    if (m->metric)
        json_object_set_new(body, "metric", json_string(m->metric));
    if (m->rails) {
        json_object_set_new(body, "rail", json_integer(m->rail));
        json_object_set_new(body, "peer_rail", json_integer(m->peer_rail));
    }
    json_object_set_new(body, "attempt", json_integer(m->attempt));
    json_object_set_new(body, "round", json_integer(m->round));
    json_object_set_new(body, "rounds", json_integer(m->rounds));
    json_object_set_new(body, "seed", count(m->seed));
    json_object_set_new(body, "bytes", count(m->bytes));
    json_object_set_new(body, "concurrency",
                        count(m->concurrency ? m->concurrency : m->pairs));
    json_object_set_new(body, "samples", json_integer(m->samples));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!add_column(body, m, &columns[i])) {
            json_decref(body);
            return NULL;
        }
    return fc_line("matrix", body);
}
