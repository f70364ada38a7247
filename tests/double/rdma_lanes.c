// SPDX-License-Identifier: BSD-3-Clause
/* Lanes that carry nothing and say what they would have carried. Linked in the place of
 * rdma/transfer.h's functions by --wrap. */
#include "rdma/seats.h"
#include "rdma/transfer.h"
#include "rdma_double.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ends of each lane of this rank. */
static struct end {
    char node[64];
    int rail;
} own[FC_RDMA_LANES_MAX], peer[FC_RDMA_LANES_MAX];

bool __wrap_fc_rdma_present(void);
bool __wrap_fc_rdma_present(void)
{
    return rdma_rails() > 0;
}

enum fc_status __wrap_fc_transfer_open(const struct fc_transfer *t, int lane,
                                       const struct fc_lane_plan *plan,
                                       struct fc_endpoint *out,
                                       struct fc_lane_answer *answer,
                                       struct fc_error *err);
enum fc_status __wrap_fc_transfer_open(const struct fc_transfer *t, int lane,
                                       const struct fc_lane_plan *plan,
                                       struct fc_endpoint *out,
                                       struct fc_lane_answer *answer,
                                       struct fc_error *err)
{
    const char *node = getenv("FABRICHECK_NODE");
    (void)t, (void)err;
    memset(out, 0, sizeof *out);
    memset(answer, 0, sizeof *answer);
    snprintf(own[lane].node, sizeof own[lane].node, "%s", node ? node : "alone");
    own[lane].rail = atoi(plan->device + strlen("fake_"));
    snprintf(out->text, sizeof out->text, "%s %d", own[lane].node, own[lane].rail);
    snprintf(answer->transport, sizeof answer->transport, "rc");
    snprintf(answer->memory, sizeof answer->memory, "host");
    return FC_OK;
}

enum fc_status __wrap_fc_transfer_connect(const struct fc_transfer *t, int lane,
                                          const struct fc_endpoint *to,
                                          struct fc_lane_link *link,
                                          struct fc_error *err);
enum fc_status __wrap_fc_transfer_connect(const struct fc_transfer *t, int lane,
                                          const struct fc_endpoint *to,
                                          struct fc_lane_link *link,
                                          struct fc_error *err)
{
    (void)t;
    memset(link, 0, sizeof *link);
    link->mtu = 4096;
    if (sscanf(to->text, "%63s %d", peer[lane].node, &peer[lane].rail) == 2)
        return FC_OK;
    return fc_fail(err, FC_FAILED, "'%.40s' is no endpoint", to->text);
}

static double left(const struct end *e, const char *way)
{
    const char *one = rdma_fault(e->node, e->rail, way);
    double share = one ? atof(one) : 1;
    const char *both = rdma_fault(e->node, e->rail, "slow");
    return both ? share * atof(both) : share;
}

/* 0.98 … 1.02, of the measurement's own. */
static double noise(uint64_t seed, int lane)
{
    uint64_t x = (seed + (uint64_t)lane + 1) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return 0.98 + (double)(x >> 40) / (double)(1 << 24) * 0.04;
}

static void measure(const struct fc_transfer_plan *plan,
                    const struct fc_lane_task *task, struct fc_lane_result *out)
{
    const struct end *a = &own[task->lane], *b = &peer[task->lane];
    bool asks = task->role == FC_LANE_INITIATES, pull = plan->op == FC_RDMA_READ;
    const struct end *from = asks == pull ? b : a, *to = asks == pull ? a : b;
    memset(out, 0, sizeof *out);
    out->bw_GBps = (double)NAN;
    if (rdma_fault(a->node, a->rail, "dead") || rdma_fault(b->node, b->rail, "dead")) {
        out->status = FC_FAILED;
        out->reopen = true;
        snprintf(
            out->reason, sizeof out->reason,
            "fake_%d:1 to fake_%d:1: transport retry counter exceeded (12), vendor "
            "error 0x81",
            a->rail, b->rail);
        return;
    }
    if (to == a && rdma_fault(a->node, a->rail, "corrupt")) {
        out->wrong = 7;
        out->status = FC_WRONG;
        snprintf(out->reason, sizeof out->reason, "7 bytes are wrong, the first at 64");
    }
    double share = left(from, "sends"), theirs = left(to, "receives");
    share = (share < theirs ? share : theirs) * noise(plan->data_seed, task->lane);
    if (asks && plan->latency)
        out->latency.typical = 2e-6 / share;
    else if (asks)
        out->bw_GBps = 12.5 * 0.95 * share;
    out->samples = 5;
    out->payload = asks ? plan->bytes * 100 : 0;
}

enum fc_status __wrap_fc_transfer_measure(const struct fc_transfer *t,
                                          const struct fc_transfer_plan *plan,
                                          const struct fc_lane_task *task, size_t tasks,
                                          struct fc_lane_result *out,
                                          struct fc_error *err);
enum fc_status __wrap_fc_transfer_measure(const struct fc_transfer *t,
                                          const struct fc_transfer_plan *plan,
                                          const struct fc_lane_task *task, size_t tasks,
                                          struct fc_lane_result *out,
                                          struct fc_error *err)
{
    (void)t, (void)err;
    for (size_t i = 0; i < tasks; i++)
        measure(plan, &task[i], &out[i]);
    return FC_OK;
}

enum fc_status __wrap_fc_transfer_close(const struct fc_transfer *t, int lane,
                                        struct fc_error *err);
enum fc_status __wrap_fc_transfer_close(const struct fc_transfer *t, int lane,
                                        struct fc_error *err)
{
    (void)t, (void)lane, (void)err;
    return FC_OK;
}

enum fc_status __wrap_fc_transfer_events(const struct fc_transfer *t, json_t **out,
                                         struct fc_error *err);
enum fc_status __wrap_fc_transfer_events(const struct fc_transfer *t, json_t **out,
                                         struct fc_error *err)
{
    (void)t, (void)err;
    *out = json_array();
    for (int i = 0; i < FC_RDMA_LANES_MAX && own[i].node[0]; i++)
        if (rdma_fault(own[i].node, own[i].rail, "flaps"))
            json_array_append_new(*out, json_pack("{s:s, s:i, s:s, s:b}", "device",
                                                  "fake_0", "port", 1, "event",
                                                  "port error", "fatal", 0));
    return FC_OK;
}
