// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/measure.h"

#include "core/clock.h"
#include "core/worker.h"
#include "rdma/flow.h"
#include "rdma/ping.h"

#include <stdlib.h>

static enum fc_status check_tasks(const struct fc_verbs *verbs,
                                  const struct fc_transfer_plan *plan,
                                  const struct fc_lane_task *task, size_t tasks,
                                  struct fc_error *err)
{
    uint64_t seen = 0;
    if (tasks < 1 || tasks > FC_RDMA_LANES_MAX || (plan->latency && tasks != 1))
        return fc_fail(err, FC_USAGE, "%zu lanes cannot be measured at once%s", tasks,
                       plan->latency ? " (latency: one)" : "");
    if ((unsigned)plan->op >= FC_RDMA_OPS || plan->bursts > FC_RDMA_SAMPLES_MAX ||
        (plan->box_ns == 0 && plan->iterations == 0))
        return fc_fail(err, FC_USAGE, "a measurement without a time, or of no kind");
    for (size_t i = 0; i < tasks; i++) {
        int lane = task[i].lane;
        if (lane < 0 || lane >= FC_RDMA_LANES_MAX || !verbs->lane[lane] ||
            seen & UINT64_C(1) << lane || task[i].role < FC_LANE_INITIATES ||
            task[i].role > FC_LANE_BOTH)
            return fc_fail(err, FC_USAGE,
                           "lane %d is not open, or is named twice, or has no part",
                           lane);
        seen |= UINT64_C(1) << lane;
    }
    return FC_OK;
}

static bool all_ready(const struct fc_flow *flow, size_t flows)
{
    for (size_t i = 0; i < flows; i++)
        if (!flow[i].done && !flow[i].heard_ready)
            return false;
    return true;
}

/* Turns without work before the loop naps; a nap is no part of any timed burst. */
enum { IDLE_TURNS = 200 };
#define NAP_NS (50 * FC_NS_PER_US)

static void drive(struct fc_flow *flow, size_t flows)
{
    bool go = false, going = true;
    unsigned idle = 0;
    while (going) {
        bool busy = false;
        going = false;
        go = go || all_ready(flow, flows);
        for (size_t i = 0; i < flows; i++) {
            busy = fc_flow_step(&flow[i], go) || busy;
            going = going || !flow[i].done;
        }
        idle = busy ? 0 : idle + 1;
        if (idle > IDLE_TURNS)
            fc_sleep_ns(NAP_NS);
    }
}

enum fc_status fc_lanes_measure(struct fc_verbs *verbs,
                                const struct fc_transfer_plan *plan,
                                const struct fc_lane_task *task, size_t tasks,
                                struct fc_worker_call *call, struct fc_lane_result *out,
                                struct fc_error *err)
{
    enum fc_status status = check_tasks(verbs, plan, task, tasks, err);
    if (status != FC_OK)
        return status;
    for (size_t i = 0; i < tasks; i++)
        verbs->lane[task[i].lane]->call = call;
    if (plan->latency) {
        fc_ping_measure(verbs->lane[task[0].lane], plan, task[0].role, out);
        return FC_OK;
    }
    struct fc_flow *flow = calloc(tasks, sizeof *flow);
    if (!flow)
        return fc_fail(err, FC_NOMEM, "no memory for %zu lanes", tasks);
    for (size_t i = 0; i < tasks; i++)
        fc_flow_open(&flow[i], verbs->lane[task[i].lane], plan, task[i].role, &out[i]);
    fc_worker_note(call, "transfer");
    drive(flow, tasks);
    free(flow);
    return FC_OK;
}
