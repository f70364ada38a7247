// SPDX-License-Identifier: BSD-3-Clause
/* Two lanes of one process, joined over the double wire. */
#ifndef FC_TESTS_UNIT_RDMA_RIG_H
#define FC_TESTS_UNIT_RDMA_RIG_H

#include "core/clock.h"
#include "rdma/measure.h"
#include "verbs_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rig {
    struct fc_verbs verbs;
    struct fc_lane_plan plan;
    struct fc_endpoint endpoint[2];
    struct fc_lane_answer answer[2];
    struct fc_error err;
    struct fc_lane_result result[2];
};

static inline struct fc_lane_plan rig_plan(void)
{
    return (struct fc_lane_plan){.port = 1,
                                 .timeout = 14,
                                 .retries = 6,
                                 .qps = 1,
                                 .depth = 32,
                                 .inline_bytes = -1,
                                 .max_bytes = 1 << 20,
                                 .memory = "host",
                                 .numa = -1};
}

static inline enum fc_status rig_open(struct rig *rig, int lane, const char *device)
{
    snprintf(rig->plan.device, sizeof rig->plan.device, "%s", device);
    return fc_lane_open(&rig->verbs, lane, &rig->plan, NULL, &rig->endpoint[lane],
                        &rig->answer[lane], &rig->err);
}

static inline enum fc_status rig_connect(struct rig *rig, int lane)
{
    struct fc_lane_link link;
    return fc_lane_connect(rig->verbs.lane[lane], &rig->endpoint[1 - lane], &link,
                           &rig->err);
}

/* Lane 0 on device `a`, lane 1 on `b`. */
static inline void rig_join(struct rig *rig, const char *a, const char *b)
{
    if (rig_open(rig, 0, a) != FC_OK || rig_open(rig, 1, b) != FC_OK ||
        rig_connect(rig, 0) != FC_OK || rig_connect(rig, 1) != FC_OK)
        fail_msg("%s", rig->err.text);
}

static inline void rig_part(struct rig *rig)
{
    fc_verbs_close(&rig->verbs, NULL);
}

/* Opens both lanes anew, as after a fault. */
static inline void rig_rejoin(struct rig *rig, const char *a, const char *b)
{
    fc_lane_close(&rig->verbs, 0, NULL);
    fc_lane_close(&rig->verbs, 1, NULL);
    rig_join(rig, a, b);
}

static inline int rig_set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    wire_reset();
    if (rig)
        rig->plan = rig_plan();
    *state = rig;
    return rig == NULL;
}

static inline int rig_tear_down(void **state)
{
    struct rig *rig = *state;
    rig_part(rig);
    free(rig);
    return !wire_all_closed();
}

#endif
