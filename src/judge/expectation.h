// SPDX-License-Identifier: BSD-3-Clause
/* What is expected, as numbers: a profile's JSON, checked, and indexed by the
 * catalogue. Collective: no. Refuses to know: INI files (profile.c), journals. */
#ifndef FC_JUDGE_EXPECTATION_H
#define FC_JUDGE_EXPECTATION_H

#include "core/metric.h"
#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A value that is a larger share of its limit says that the limit is wrong. */
#define FC_LIMIT_SHARE_MAX 1.1

/* One row of floors.def. */
struct fc_floor {
    const char *metric;
    double floor, effect;
    int64_t from_bytes;
    bool limit_needed;
    const char *basis;
};
/* NULL when the metric has no row. */
const struct fc_floor *fc_floor_find(const char *metric);
/* NULL past the last. */
const struct fc_floor *fc_floor_at(size_t i);

struct fc_expectation {
    char name[256];
    double *floor, *effect; /* [fc_metric_count()]; NaN: none */
    int64_t nodes, gpus;    /* -1: not expected */
    int64_t nics, nic_gbps; /* of the fabric, and the rate of their ports; -1 */
    size_t bad; /* entries that are no such value; the built-in one stands */
};

/* The range of what a profile may say. */
bool fc_floor_ok(double share);
bool fc_effect_ok(double share);
bool fc_expect_ok(int64_t count);

/* Reads `profile` (NULL: the built-in one). Where it has a map of floors or effects,
 * that map is the whole truth; entries that cannot be used are counted and replaced
 * by the built-in value. Ownership: fc_expectation_close. */
enum fc_status fc_expectation_open(const json_t *profile, struct fc_expectation *out,
                                   struct fc_error *err) FC_MUST_USE;
void fc_expectation_close(struct fc_expectation *e);

/* NaN when there is none; `metric` may be NULL. */
double fc_expectation_floor(const struct fc_expectation *e,
                            const struct fc_metric *metric);
double fc_expectation_effect(const struct fc_expectation *e,
                             const struct fc_metric *metric);

/* The profile as the report and the journal carry it; new reference, NULL without
 * memory. */
json_t *fc_expectation_json(const struct fc_expectation *e);

#endif
