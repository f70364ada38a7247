// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/commands.h"

#include "rdma/measure.h"
#include "rdma/port.h"
#include "rdma/transfer_json.h"

#include <stdlib.h>

static const char owner[] = "rdma";

static enum fc_status verbs_of(struct fc_worker_call *call, struct fc_verbs **out,
                               struct fc_error *err)
{
    void **kept = fc_worker_keep(call, owner);
    if (kept && !*kept)
        *kept = calloc(1, sizeof **out);
    if (!kept || !*kept)
        return fc_fail(err, FC_NOMEM, "no memory for verbs");
    *out = *kept;
    return FC_OK;
}

static enum fc_status malformed(const char *command, struct fc_error *err)
{
    return fc_fail(err, FC_FAILED, "%s: its arguments are malformed", command);
}

/* The open lane that the arguments name. */
static enum fc_status lane_of(const struct fc_verbs *verbs, const json_t *args,
                              int *out_lane, struct fc_error *err)
{
    const json_t *number = json_object_get(args, "lane");
    json_int_t lane = json_integer_value(number);
    if (!json_is_integer(number) || lane < 0 || lane >= FC_RDMA_LANES_MAX)
        return fc_fail(err, FC_FAILED, "a lane is 0 to %d", FC_RDMA_LANES_MAX - 1);
    if (!verbs->lane[lane])
        return fc_fail(err, FC_FAILED, "lane %d is not open", (int)lane);
    *out_lane = (int)lane;
    return FC_OK;
}

static void note(void *arg, const char *what)
{
    fc_worker_note(arg, what);
}

static enum fc_status run_ports(struct fc_worker_call *call, json_t *args,
                                json_t **out_reply, struct fc_error *err)
{
    const struct fc_rdma_source source = {.root = "", .note = note, .arg = call};
    struct fc_rdma_ports *ports = NULL;
    (void)args;
    enum fc_status status = fc_rdma_ports_open(&source, &ports, err);
    if (status != FC_OK)
        return status;
    *out_reply = fc_rdma_ports_json(ports);
    fc_rdma_ports_close(ports);
    return *out_reply ? FC_OK : fc_fail(err, FC_NOMEM, "no memory for RDMA ports");
}

static enum fc_status run_open(struct fc_worker_call *call, json_t *args,
                               json_t **out_reply, struct fc_error *err)
{
    struct fc_verbs *verbs = NULL;
    struct fc_lane_plan plan;
    struct fc_endpoint endpoint = {""};
    struct fc_lane_answer answer;
    int lane = -1;
    enum fc_status status = verbs_of(call, &verbs, err);
    if (status != FC_OK)
        return status;
    if (json_unpack(args, "{s:i}", "lane", &lane) != 0 ||
        !fc_lane_plan_read(json_object_get(args, "plan"), &plan))
        return malformed("rdma.open", err);
    status = fc_lane_open(verbs, lane, &plan, call, &endpoint, &answer, err);
    if (status == FC_OK)
        *out_reply = json_pack("{s:s, s:o}", "endpoint", endpoint.text, "answer",
                               fc_lane_answer_json(&answer));
    return status;
}

static enum fc_status run_connect(struct fc_worker_call *call, json_t *args,
                                  json_t **out_reply, struct fc_error *err)
{
    struct fc_verbs *verbs = NULL;
    struct fc_endpoint peer = {""};
    struct fc_lane_link link;
    int lane = -1;
    const char *text = json_string_value(json_object_get(args, "peer"));
    enum fc_status status = verbs_of(call, &verbs, err);
    if (status == FC_OK)
        status = lane_of(verbs, args, &lane, err);
    if (status != FC_OK)
        return status;
    if (!text ||
        snprintf(peer.text, sizeof peer.text, "%s", text) >= (int)sizeof peer.text)
        return malformed("rdma.connect", err);
    verbs->lane[lane]->call = call;
    status = fc_lane_connect(verbs->lane[lane], &peer, &link, err);
    if (status == FC_OK)
        *out_reply = fc_lane_link_json(&link);
    return status;
}

static enum fc_status run_measure(struct fc_worker_call *call, json_t *args,
                                  json_t **out_reply, struct fc_error *err)
{
    struct fc_verbs *verbs = NULL;
    struct fc_transfer_plan plan;
    struct fc_lane_task task[FC_RDMA_LANES_MAX];
    enum fc_status status = verbs_of(call, &verbs, err);
    if (status != FC_OK)
        return status;
    int n = fc_lane_tasks_read(json_object_get(args, "tasks"), task, FC_RDMA_LANES_MAX);
    if (n < 1 || !fc_transfer_plan_read(json_object_get(args, "plan"), &plan))
        return malformed("rdma.measure", err);
    struct fc_lane_result *result = calloc((size_t)n, sizeof *result);
    if (!result)
        return fc_fail(err, FC_NOMEM, "no memory for %d results", n);
    status = fc_lanes_measure(verbs, &plan, task, (size_t)n, call, result, err);
    json_t *list = json_array();
    for (int i = 0; i < n && status == FC_OK; i++)
        json_array_append_new(list, fc_lane_result_json(&result[i]));
    *out_reply = json_pack("{s:o}", "results", list);
    free(result);
    return status;
}

static enum fc_status run_close(struct fc_worker_call *call, json_t *args,
                                json_t **out_reply, struct fc_error *err)
{
    struct fc_verbs *verbs = NULL;
    int lane = -1;
    (void)out_reply;
    enum fc_status status = verbs_of(call, &verbs, err);
    /* One that is not open is no error. */
    if (status == FC_OK && lane_of(verbs, args, &lane, NULL) == FC_OK)
        fc_lane_close(verbs, lane, call);
    return status;
}

static enum fc_status run_reset(struct fc_worker_call *call, json_t *args,
                                json_t **out_reply, struct fc_error *err)
{
    struct fc_verbs *verbs = NULL;
    (void)args, (void)out_reply;
    enum fc_status status = verbs_of(call, &verbs, err);
    if (status == FC_OK)
        fc_verbs_close(verbs, call);
    return status;
}

static enum fc_status run_events(struct fc_worker_call *call, json_t *args,
                                 json_t **out_reply, struct fc_error *err)
{
    struct fc_verbs *verbs = NULL;
    (void)args;
    enum fc_status status = verbs_of(call, &verbs, err);
    if (status != FC_OK)
        return status;
    json_t *events = json_array();
    fc_worker_note(call, "ibv_get_async_event");
    for (int i = 0; i < FC_VERBS_HCAS; i++)
        if (verbs->hca[i])
            fc_hca_events(verbs->hca[i], events);
    *out_reply = json_pack("{s:o}", "events", events);
    return FC_OK;
}

const struct fc_worker_command fc_rdma_commands[FC_RDMA_COMMANDS] = {
    {"rdma.ports", run_ports},     {"rdma.open", run_open},
    {"rdma.connect", run_connect}, {"rdma.measure", run_measure},
    {"rdma.close", run_close},     {"rdma.reset", run_reset},
    {"rdma.events", run_events},
};
