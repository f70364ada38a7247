// SPDX-License-Identifier: BSD-3-Clause
#include "core/record.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fc_record fc_record_new(const char *metric)
{
    return (struct fc_record){
        .metric = metric,
        .subject = {.rank = -1, .rail = -1},
        .params = {.in_place = -1, .attempt = 1},
        .bytes = -1,
        .value = {.median = (double)NAN,
                  .min = (double)NAN,
                  .max = (double)NAN,
                  .p99 = (double)NAN,
                  .mad = (double)NAN,
                  .lo = (double)NAN,
                  .hi = (double)NAN},
        .limit = (double)NAN,
        .wrong = -1,
        .status = FC_OK,
    };
}

json_t *fc_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Puts text under `key` when there is some; bytes that are no UTF-8 become '?'. */
static void put_text(json_t *object, const char *key, const char *text)
{
    if (!text)
        return;
    json_t *value = json_string(text);
    if (!value) {
        char *copy = strdup(text);
        for (char *c = copy; c && *c; c++)
            if ((unsigned char)*c >= 0x80)
                *c = '?';
        value = copy ? json_string(copy) : NULL;
        free(copy);
    }
    json_object_set_new(object, key, value);
}

static void put_int(json_t *object, const char *key, int64_t value, int64_t absent)
{
    if (value != absent)
        json_object_set_new(object, key, json_integer(value));
}

static json_t *subject_json(const struct fc_subject *s)
{
    json_t *o = json_object();
    put_text(o, "kind", s->kind ? s->kind : "node");
    put_text(o, "node", s->node);
    put_text(o, "peer", s->peer);
    put_int(o, "rank", s->rank, -1);
    put_text(o, "gpu", s->gpu);
    put_text(o, "nic", s->nic);
    put_text(o, "peer_nic", s->peer_nic);
    put_int(o, "rail", s->rail, -1);
    put_text(o, "bdf", s->bdf);
    put_text(o, "uuid", s->uuid);
    put_text(o, "serial", s->serial);
    put_text(o, "guid", s->guid);
    put_text(o, "module", s->module);
    put_text(o, "slot", s->slot);
    put_text(o, "switch_port", s->switch_port);
    return o;
}

static json_t *params_json(const struct fc_params *p)
{
    json_t *o = json_object();
    put_text(o, "op", p->op);
    put_text(o, "redop", p->redop);
    put_text(o, "dtype", p->dtype);
    if (p->in_place >= 0)
        json_object_set_new(o, "in_place", json_boolean(p->in_place));
    put_int(o, "n", p->n, 0);
    put_text(o, "algorithm", p->algorithm);
    put_text(o, "memory", p->memory);
    put_text(o, "direction", p->direction);
    put_int(o, "qps", p->qps, 0);
    put_int(o, "concurrency", p->concurrency, 0);
    put_text(o, "variant", p->variant);
    put_int(o, "attempt", p->attempt, 0);
    return o;
}

static void put_value(json_t *o, const struct fc_summary *v)
{
    json_object_set_new(o, "samples", json_integer((json_int_t)v->n));
    json_object_set_new(o, "median", fc_json_real(v->median));
    json_object_set_new(o, "min", fc_json_real(v->min));
    json_object_set_new(o, "max", fc_json_real(v->max));
    json_object_set_new(o, "p99", fc_json_real(v->p99));
    json_object_set_new(o, "mad", fc_json_real(v->mad));
    json_object_set_new(o, "lo", fc_json_real(v->lo));
    json_object_set_new(o, "hi", fc_json_real(v->hi));
}

char *fc_record_line(const struct fc_record *r)
{
    const struct fc_metric *metric = fc_metric_find(r->metric);
    if (!metric)
        return NULL;
    json_t *o = json_object();
    put_text(o, "probe", metric->probe);
    put_text(o, "metric", metric->name);
    put_text(o, "unit", metric->unit);
    put_text(o, "better", metric->higher_is_better ? "higher" : "lower");
    json_object_set_new(o, "subject", subject_json(&r->subject));
    json_object_set_new(o, "params", params_json(&r->params));
    json_object_set_new(o, "bytes",
                        r->bytes < 0 ? json_null() : json_integer(r->bytes));
    put_value(o, &r->value);
    json_t *limit = json_null();
    if (isfinite(r->limit)) {
        limit = json_object();
        json_object_set_new(limit, "value", json_real(r->limit));
        put_text(limit, "basis", r->limit_basis ? r->limit_basis : "unknown");
    }
    json_object_set_new(o, "limit", limit);
    json_t *path = json_object();
    put_text(path, "name", r->path ? r->path : "unknown");
    put_text(path, "how", r->path_how ? r->path_how : "not proven");
    json_object_set_new(o, "path", path);
    json_object_set_new(o, "wrong",
                        r->wrong < 0 ? json_null() : json_integer(r->wrong));
    put_text(o, "status", fc_status_name(r->status));
    put_text(o, "reason", r->reason);
    return fc_line("record", o);
}

char *fc_line(const char *type, json_t *body)
{
    json_t *line = json_object();
    char *text = NULL;
    put_text(line, "type", type);
    /* json_object_update keeps the body's own order behind "type". */
    if (line && body && json_object_update(line, body) == 0)
        text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(line);
    json_decref(body);
    return text;
}

char *fc_event_line(const struct fc_event *e)
{
    json_t *o = json_object();
    put_text(o, "time", fc_timestamp_now().text);
    put_text(o, "kind", e->kind);
    put_text(o, "node", e->node);
    put_int(o, "rank", e->rank, -1);
    put_text(o, "phase", e->phase);
    put_text(o, "what", e->what);
    put_text(o, "wait", e->wait);
    if (e->seconds >= 0)
        json_object_set_new(o, "seconds", json_real(e->seconds));
    put_text(o, "message", e->message);
    return fc_line("event", o);
}
