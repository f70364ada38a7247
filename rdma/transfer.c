// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/transfer.h"

#include "core/clock.h"
#include "core/watchdog.h"
#include "core/worker.h"
#include "rdma/choose.h"
#include "rdma/transfer_json.h"

#include <stdio.h>
#include <string.h>

/* Opening pins memory and creates queue pairs; a driver that takes longer is stuck. */
#define SMALL_NS (20 * FC_NS_PER_S)
#define GRACE_NS (5 * FC_NS_PER_S) /* for killing a worker that passed its deadline */
#define PATIENCE_NS (5 * FC_NS_PER_S)
#define ITERATIONS_NS (600 * FC_NS_PER_S)

enum { BOXES = 16, PATIENCES = 6 };

void fc_lane_plan_set(struct fc_lane_plan *plan, const struct fc_rdma_port *port,
                      const struct fc_rdma_chosen *chosen)
{
    *plan = (struct fc_lane_plan){.port = port->port,
                                  .gid_index = chosen->gid_index,
                                  .pkey_index = chosen->pkey_index,
                                  .sl = chosen->sl,
                                  .traffic_class = chosen->tc,
                                  .timeout = port->software ? 17 : 14,
                                  .retries = 6,
                                  .qps = 1,
                                  .depth = 128,
                                  .inline_bytes = -1,
                                  .relaxed_ordering = chosen->relaxed_ordering,
                                  .max_bytes = (uint64_t)8 << 20,
                                  .memory = "host",
                                  .numa = port->numa};
    snprintf(plan->device, sizeof plan->device, "%s", port->device);
}

const char *fc_rdma_op_name(enum fc_rdma_op op)
{
    static const char *const names[FC_RDMA_OPS] = {
        [FC_RDMA_WRITE] = "write", [FC_RDMA_READ] = "read", [FC_RDMA_SEND] = "send"};
    return (unsigned)op < FC_RDMA_OPS ? names[op] : "unknown";
}

/* Steals `args`. */
static enum fc_status ask(const struct fc_transfer *t, const char *command,
                          json_t *args, uint64_t deadline_ns, json_t **out_reply,
                          struct fc_error *err)
{
    if (!args)
        return fc_fail(err, FC_NOMEM, "no memory for %s", command);
    fc_watchdog_push(t->watchdog, command, FC_WAIT_LOCAL, deadline_ns + GRACE_NS);
    enum fc_status status = fc_worker_call(t->worker, command, args, deadline_ns, NULL,
                                           NULL, out_reply, err);
    fc_watchdog_pop(t->watchdog);
    json_decref(args);
    return status;
}

static enum fc_status nonsense(const char *command, struct fc_error *err)
{
    return fc_fail(err, FC_FAILED, "%s: the worker's answer is malformed", command);
}

enum fc_status fc_transfer_ports(const struct fc_transfer *t,
                                 struct fc_rdma_ports **out, struct fc_error *err)
{
    json_t *reply = NULL;
    enum fc_status status = ask(t, "rdma.ports", json_object(), SMALL_NS, &reply, err);
    if (status == FC_OK)
        status = fc_rdma_ports_read(reply, out, err);
    json_decref(reply);
    return status;
}

enum fc_status fc_transfer_open(const struct fc_transfer *t, int lane,
                                const struct fc_lane_plan *plan,
                                struct fc_endpoint *out_endpoint,
                                struct fc_lane_answer *out_answer, struct fc_error *err)
{
    static const char command[] = "rdma.open";
    struct fc_endpoint endpoint = {""};
    json_t *reply = NULL;
    enum fc_status status =
        ask(t, command,
            json_pack("{s:i, s:o}", "lane", lane, "plan", fc_lane_plan_json(plan)),
            SMALL_NS, &reply, err);
    if (status != FC_OK)
        return status;
    const char *text = json_string_value(json_object_get(reply, "endpoint"));
    if (!text ||
        snprintf(endpoint.text, sizeof endpoint.text, "%s", text) >=
            (int)sizeof endpoint.text ||
        !fc_lane_answer_read(json_object_get(reply, "answer"), out_answer))
        status = nonsense(command, err);
    else
        *out_endpoint = endpoint;
    json_decref(reply);
    return status;
}

enum fc_status fc_transfer_connect(const struct fc_transfer *t, int lane,
                                   const struct fc_endpoint *peer,
                                   struct fc_lane_link *out_link, struct fc_error *err)
{
    static const char command[] = "rdma.connect";
    struct fc_lane_link link;
    char text[FC_RDMA_ENDPOINT_BYTES + 1];
    json_t *reply = NULL;
    snprintf(text, sizeof text, "%.*s", FC_RDMA_ENDPOINT_BYTES, peer->text);
    enum fc_status status =
        ask(t, command, json_pack("{s:i, s:s}", "lane", lane, "peer", text), SMALL_NS,
            &reply, err);
    if (status == FC_OK && !fc_lane_link_read(reply, &link))
        status = nonsense(command, err);
    if (status == FC_OK && out_link)
        *out_link = link;
    json_decref(reply);
    return status;
}

uint64_t fc_transfer_limit_ns(const struct fc_transfer_plan *plan)
{
    uint64_t patience = plan->patience_ns ? plan->patience_ns : PATIENCE_NS;
    uint64_t work = plan->iterations ? ITERATIONS_NS : BOXES * plan->box_ns;
    return work + PATIENCES * patience;
}

enum fc_status fc_transfer_measure(const struct fc_transfer *t,
                                   const struct fc_transfer_plan *plan,
                                   const struct fc_lane_task *task, size_t tasks,
                                   struct fc_lane_result *out, struct fc_error *err)
{
    static const char command[] = "rdma.measure";
    json_t *reply = NULL;
    enum fc_status status =
        ask(t, command,
            json_pack("{s:o, s:o}", "plan", fc_transfer_plan_json(plan), "tasks",
                      fc_lane_tasks_json(task, tasks)),
            fc_transfer_limit_ns(plan), &reply, err);
    if (status != FC_OK)
        return status;
    const json_t *results = json_object_get(reply, "results");
    if (json_array_size(results) != tasks)
        status = nonsense(command, err);
    for (size_t i = 0; i < tasks && status == FC_OK; i++)
        if (!fc_lane_result_read(json_array_get(results, i), &out[i]))
            status = nonsense(command, err);
    json_decref(reply);
    return status;
}

enum fc_status fc_transfer_close(const struct fc_transfer *t, int lane,
                                 struct fc_error *err)
{
    return ask(t, "rdma.close", json_pack("{s:i}", "lane", lane), SMALL_NS, NULL, err);
}

enum fc_status fc_transfer_reset(const struct fc_transfer *t, struct fc_error *err)
{
    return ask(t, "rdma.reset", json_object(), SMALL_NS, NULL, err);
}

enum fc_status fc_transfer_events(const struct fc_transfer *t, json_t **out,
                                  struct fc_error *err)
{
    json_t *reply = NULL;
    enum fc_status status = ask(t, "rdma.events", json_object(), SMALL_NS, &reply, err);
    if (status != FC_OK)
        return status;
    json_t *events = json_object_get(reply, "events");
    if (json_is_array(events))
        *out = json_incref(events);
    else
        status = nonsense("rdma.events", err);
    json_decref(reply);
    return status;
}
