// SPDX-License-Identifier: BSD-3-Clause
#include "judge/expectation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEEDED true
#define WHERE_KNOWN false
#define FC_FLOOR(metric_, floor_, effect_, from_bytes_, limit_, basis_)                \
    {.metric = metric_,                                                                \
     .floor = floor_,                                                                  \
     .effect = effect_,                                                                \
     .from_bytes = from_bytes_,                                                        \
     .limit_needed = limit_,                                                           \
     .basis = basis_},
static const struct fc_floor floors[] = {
#include "judge/floors.def"
};

const struct fc_floor *fc_floor_at(size_t i)
{
    return i < sizeof floors / sizeof *floors ? &floors[i] : NULL;
}

const struct fc_floor *fc_floor_find(const char *metric)
{
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        if (strcmp(floors[i].metric, metric) == 0)
            return &floors[i];
    return NULL;
}

bool fc_floor_ok(double share)
{
    return share > 0.0 && share <= 1.0;
}

bool fc_effect_ok(double share)
{
    return share > 0.0 && share < 1.0;
}

bool fc_expect_ok(int64_t count)
{
    return count >= 0 && count <= INT32_MAX;
}

static double builtin(const char *metric, bool floor)
{
    const struct fc_floor *row = fc_floor_find(metric);
    if (!row)
        return (double)NAN;
    return floor ? row->floor : row->effect;
}

static void fill(double *out, bool floor)
{
    for (size_t i = 0; i < fc_metric_count(); i++)
        out[i] = builtin(fc_metric_at(i)->name, floor);
}

static void read_shares(const json_t *map, bool floor, struct fc_expectation *e)
{
    double *out = floor ? e->floor : e->effect;
    if (!map || (json_is_object(map) && json_object_size(map) == 0))
        return;
    if (!json_is_object(map)) {
        e->bad++;
        return;
    }
    for (size_t i = 0; i < fc_metric_count(); i++) {
        const char *name = fc_metric_at(i)->name;
        const json_t *value = json_object_get(map, name);
        double share = json_is_number(value) ? json_number_value(value) : (double)NAN;
        if (!value)
            out[i] = (double)NAN;
        else if (floor ? fc_floor_ok(share) : fc_effect_ok(share))
            out[i] = share;
        else
            e->bad++;
    }
}

static void read_count(const json_t *map, const char *key, int64_t *out, size_t *bad)
{
    const json_t *value = json_object_get(map, key);
    if (!value || json_is_null(value))
        return;
    if (json_is_integer(value) && fc_expect_ok(json_integer_value(value)))
        *out = json_integer_value(value);
    else
        ++*bad;
}

enum fc_status fc_expectation_open(const json_t *profile, struct fc_expectation *out,
                                   struct fc_error *err)
{
    struct fc_expectation e = {.nodes = -1, .gpus = -1, .nics = -1, .nic_gbps = -1};
    size_t count = fc_metric_count() ? fc_metric_count() : 1;
    e.floor = malloc(count * sizeof *e.floor);
    e.effect = malloc(count * sizeof *e.effect);
    if (!e.floor || !e.effect) {
        fc_expectation_close(&e);
        return fc_fail(err, FC_NOMEM, "out of memory for the profile");
    }
    fill(e.floor, true);
    fill(e.effect, false);
    const char *name = json_string_value(json_object_get(profile, "name"));
    snprintf(e.name, sizeof e.name, "%s",
             name && strlen(name) < sizeof e.name ? name : "default");
    read_shares(json_object_get(profile, "floor"), true, &e);
    read_shares(json_object_get(profile, "effect"), false, &e);
    const json_t *expect = json_object_get(profile, "expect");
    if (expect && !json_is_object(expect))
        e.bad++;
    read_count(expect, "nodes", &e.nodes, &e.bad);
    read_count(expect, "gpus", &e.gpus, &e.bad);
    read_count(expect, "nics", &e.nics, &e.bad);
    read_count(expect, "nic_gbps", &e.nic_gbps, &e.bad);
    *out = e;
    return FC_OK;
}

void fc_expectation_close(struct fc_expectation *e)
{
    free(e->floor);
    free(e->effect);
    e->floor = e->effect = NULL;
}

static double lookup(const double *share, const struct fc_metric *metric)
{
    return metric ? share[metric - fc_metric_at(0)] : (double)NAN;
}

double fc_expectation_floor(const struct fc_expectation *e,
                            const struct fc_metric *metric)
{
    return lookup(e->floor, metric);
}

double fc_expectation_effect(const struct fc_expectation *e,
                             const struct fc_metric *metric)
{
    return lookup(e->effect, metric);
}

static json_t *shares_json(const double *share)
{
    json_t *map = json_object();
    for (size_t i = 0; map && i < fc_metric_count(); i++)
        if (isfinite(share[i]))
            json_object_set_new(map, fc_metric_at(i)->name, json_real(share[i]));
    return map;
}

json_t *fc_expectation_json(const struct fc_expectation *e)
{
    json_t *expect = json_object();
    if (e->nodes >= 0)
        json_object_set_new(expect, "nodes", json_integer(e->nodes));
    if (e->gpus >= 0)
        json_object_set_new(expect, "gpus", json_integer(e->gpus));
    if (e->nics >= 0)
        json_object_set_new(expect, "nics", json_integer(e->nics));
    if (e->nic_gbps >= 0)
        json_object_set_new(expect, "nic_gbps", json_integer(e->nic_gbps));
    return json_pack("{s:s, s:o, s:o, s:o}", "name", e->name, "floor",
                     shares_json(e->floor), "effect", shares_json(e->effect), "expect",
                     expect);
}
