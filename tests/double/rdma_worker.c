// SPDX-License-Identifier: BSD-3-Clause
/* What the doubles' worker says of ports (rdma/observe.h). */
#include "rdma/transfer_json.h"
#include "rdma_double.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *node_name(void)
{
    const char *name = getenv("FABRICHECK_NODE");
    return name ? name : "alone";
}

static enum fc_status rails(struct fc_worker_call *call, json_t *args, json_t **out,
                            struct fc_error *err)
{
    json_t *ports = json_array();
    (void)call, (void)args, (void)err;
    for (int i = 0; i < rdma_rails(); i++) {
        char name[32];
        const char *down = rdma_fault(node_name(), i, "down");
        const char *locked = rdma_fault(node_name(), i, "locked");
        snprintf(name, sizeof name, "fake_%d:1", i);
        struct fc_lane_plan plan = {.port = 1, .memory = "host"};
        snprintf(plan.device, sizeof plan.device, "fake_%d", i);
        json_array_append_new(
            ports,
            json_pack("{s:s, s:i, s:b, s:s, s:s, s:f, s:s, s:s, s:b, s:o}", "name",
                      name, "rail", i, "used", !down && !locked, "reason",
                      down     ? "it is down"
                      : locked ? "no right to it"
                               : "",
                      "doubt", "", "limit", 12.5, "basis", "100 Gb/s", "guid",
                      "0000:0000:0000:0001", "no_right", locked != NULL, "plan",
                      fc_lane_plan_json(&plan)));
    }
    *out = json_pack("{s:s, s:o, s:[]}", "none",
                     rdma_rails() ? "" : "no RDMA device: the doubles have none",
                     "ports", ports, "notes");
    return FC_OK;
}

static enum fc_status mark(struct fc_worker_call *call, json_t *args, json_t **out,
                           struct fc_error *err)
{
    (void)args, (void)out, (void)err;
    fc_worker_note(call, "read of a sick card's counters");
    if (rdma_fault(node_name(), 0, "crash"))
        raise(SIGSEGV);
    return FC_OK;
}

static enum fc_status growth(struct fc_worker_call *call, json_t *args, json_t **out,
                             struct fc_error *err)
{
    json_t *list = json_array(), *wanted;
    size_t i;
    (void)call, (void)err;
    json_array_foreach(json_object_get(args, "ports"), i, wanted)
    {
        const char *name = json_string_value(json_object_get(wanted, "name"));
        int rail = atoi(name + strlen("fake_"));
        json_t *grown = json_array();
        const char *counter = rdma_fault(node_name(), rail, "grows");
        if (counter)
            json_array_append_new(grown, json_pack("{s:s, s:s, s:i, s:b}", "name",
                                                   counter, "meaning", "errors",
                                                   "value", 4711, "at_least", 0));
        bool proven = !rdma_fault(node_name(), rail, "idle");
        json_array_append_new(list,
                              json_pack("{s:s, s:b, s:s, s:o}", "name", name, "proven",
                                        proven, "how",
                                        proven ? "its counters moved by the payload"
                                               : "its counters did not move",
                                        "grown", grown));
    }
    *out = json_pack("{s:o}", "ports", list);
    return FC_OK;
}

const struct fc_worker_command rdma_double_commands[RDMA_DOUBLE_COMMANDS] = {
    {.name = "rdma.rails", .run = rails},
    {.name = "rdma.mark", .run = mark},
    {.name = "rdma.growth", .run = growth},
};
