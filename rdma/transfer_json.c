// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/transfer_json.h"

#include "core/record.h"

#include <math.h>
#include <stdio.h>

/* ---- little helpers ---- */

static int64_t whole(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

static double real(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool truth(const json_t *json, const char *key)
{
    return json_is_true(json_object_get(json, key));
}

static bool text(const json_t *json, const char *key, char *out, size_t bytes)
{
    const char *value = json_string_value(json_object_get(json, key));
    return value && snprintf(out, bytes, "%s", value) < (int)bytes;
}

/* ---- plans ---- */

json_t *fc_lane_plan_json(const struct fc_lane_plan *p)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, "
                     "s:b, s:I, s:s, s:i, s:b}",
                     "device", p->device, "port", p->port, "gid", p->gid_index, "pkey",
                     p->pkey_index, "sl", p->sl, "tc", p->traffic_class, "mtu", p->mtu,
                     "timeout", p->timeout, "retries", p->retries, "qps", p->qps,
                     "depth", p->depth, "inline", p->inline_bytes, "relaxed",
                     p->relaxed_ordering, "bytes", (json_int_t)p->max_bytes, "memory",
                     p->memory, "numa", p->numa, "cm", p->rdma_cm);
}

bool fc_lane_plan_read(json_t *json, struct fc_lane_plan *out)
{
    struct fc_lane_plan p = {.port = 0};
    int relaxed = 0, cm = 0;
    json_int_t bytes = 0;
    if (!text(json, "device", p.device, sizeof p.device) ||
        !text(json, "memory", p.memory, sizeof p.memory) ||
        json_unpack(json,
                    "{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:I, "
                    "s:i, s:b}",
                    "port", &p.port, "gid", &p.gid_index, "pkey", &p.pkey_index, "sl",
                    &p.sl, "tc", &p.traffic_class, "mtu", &p.mtu, "timeout", &p.timeout,
                    "retries", &p.retries, "qps", &p.qps, "depth", &p.depth, "inline",
                    &p.inline_bytes, "relaxed", &relaxed, "bytes", &bytes, "numa",
                    &p.numa, "cm", &cm) != 0 ||
        bytes < 0)
        return false;
    p.relaxed_ordering = relaxed;
    p.rdma_cm = cm;
    p.max_bytes = (uint64_t)bytes;
    *out = p;
    return true;
}

json_t *fc_transfer_plan_json(const struct fc_transfer_plan *p)
{
    return json_pack("{s:i, s:b, s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:I}", "op",
                     (int)p->op, "latency", p->latency, "bytes", (json_int_t)p->bytes,
                     "box_ns", (json_int_t)p->box_ns, "iterations",
                     (json_int_t)p->iterations, "bursts", (json_int_t)p->bursts,
                     "depth", p->depth, "seed", (json_int_t)p->data_seed, "round",
                     (json_int_t)p->round, "patience_ns", (json_int_t)p->patience_ns);
}

bool fc_transfer_plan_read(json_t *json, struct fc_transfer_plan *out)
{
    int op = 0, latency = 0, depth = 0;
    json_int_t bytes = 0, box = 0, iterations = 0, bursts = 0, seed = 0, round = 0,
               patience = 0;
    if (json_unpack(json, "{s:i, s:b, s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:I}", "op",
                    &op, "latency", &latency, "bytes", &bytes, "box_ns", &box,
                    "iterations", &iterations, "bursts", &bursts, "depth", &depth,
                    "seed", &seed, "round", &round, "patience_ns", &patience) != 0 ||
        op < 0 || op >= FC_RDMA_OPS || bytes < 0 || box < 0 || iterations < 0 ||
        iterations > UINT32_MAX || bursts < 0 || bursts > FC_RDMA_SAMPLES_MAX ||
        depth < 0 || patience < 0)
        return false;
    *out = (struct fc_transfer_plan){.op = (enum fc_rdma_op)op,
                                     .latency = latency,
                                     .bytes = (uint64_t)bytes,
                                     .box_ns = (uint64_t)box,
                                     .iterations = (uint32_t)iterations,
                                     .bursts = (unsigned)bursts,
                                     .depth = depth,
                                     .data_seed = (uint64_t)seed,
                                     .round = (uint32_t)round,
                                     .patience_ns = (uint64_t)patience};
    return true;
}

json_t *fc_lane_tasks_json(const struct fc_lane_task *task, size_t tasks)
{
    json_t *list = json_array();
    for (size_t i = 0; i < tasks; i++)
        json_array_append_new(list,
                              json_pack("[i, i]", task[i].lane, (int)task[i].role));
    return list;
}

int fc_lane_tasks_read(json_t *json, struct fc_lane_task *out, size_t room)
{
    size_t n = json_array_size(json);
    if (!json_is_array(json) || n > room)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int lane = 0, role = 0;
        if (json_unpack(json_array_get(json, i), "[i, i]", &lane, &role) != 0 ||
            role < FC_LANE_INITIATES || role > FC_LANE_BOTH)
            return -1;
        out[i] = (struct fc_lane_task){lane, (enum fc_lane_role)role};
    }
    return (int)n;
}

/* ---- answers ---- */

json_t *fc_lane_answer_json(const struct fc_lane_answer *a)
{
    json_t *most = json_array();
    for (int op = 0; op < FC_RDMA_OPS; op++)
        json_array_append_new(most, json_integer((json_int_t)a->max_message[op]));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:I, s:o}", "name",
                     a->name, "transport", a->transport, "memory", a->memory, "by",
                     a->registered_by, "note", a->registered_note, "numa", a->numa,
                     "inline", a->inline_bytes, "relaxed", a->relaxed_ordering, "ops",
                     (json_int_t)a->ops, "max", most);
}

bool fc_lane_answer_read(json_t *json, struct fc_lane_answer *out)
{
    struct fc_lane_answer a = {.numa = (int)whole(json, "numa"),
                               .inline_bytes = (int)whole(json, "inline"),
                               .relaxed_ordering = truth(json, "relaxed"),
                               .ops = (unsigned)whole(json, "ops")};
    const json_t *most = json_object_get(json, "max");
    for (int op = 0; op < FC_RDMA_OPS; op++)
        a.max_message[op] =
            (uint64_t)json_integer_value(json_array_get(most, (size_t)op));
    if (!text(json, "name", a.name, sizeof a.name) ||
        !text(json, "transport", a.transport, sizeof a.transport) ||
        !text(json, "memory", a.memory, sizeof a.memory) ||
        !text(json, "by", a.registered_by, sizeof a.registered_by) ||
        !text(json, "note", a.registered_note, sizeof a.registered_note))
        return false;
    *out = a;
    return true;
}

json_t *fc_lane_link_json(const struct fc_lane_link *l)
{
    return json_pack("{s:i, s:i, s:i, s:s}", "mtu", l->mtu, "own_mtu", l->own_mtu,
                     "peer_mtu", l->peer_mtu, "note", l->note);
}

bool fc_lane_link_read(json_t *json, struct fc_lane_link *out)
{
    struct fc_lane_link l = {.mtu = (int)whole(json, "mtu"),
                             .own_mtu = (int)whole(json, "own_mtu"),
                             .peer_mtu = (int)whole(json, "peer_mtu")};
    if (!text(json, "note", l.note, sizeof l.note))
        return false;
    *out = l;
    return true;
}

/* ---- results ---- */

static json_t *latency_json(const struct fc_lane_latency *l)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "n",
                     (json_int_t)l->n, "min", l->min, "max", l->max, "typical",
                     l->typical, "mean", l->mean, "stdev", l->stdev, "p99", l->p99,
                     "p999", l->p999, "completion", l->by_completion);
}

json_t *fc_lane_result_json(const struct fc_lane_result *r)
{
    json_t *samples = json_array();
    for (size_t i = 0; i < r->samples; i++)
        json_array_append_new(samples, fc_json_real(r->sample[i]));
    return json_pack(
        "{s:i, s:s, s:b, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:f, s:o, s:I, "
        "s:I, s:I}",
        "status", (int)r->status, "reason", r->reason, "reopen", r->reopen, "wc",
        r->wc_status, "vendor", (json_int_t)r->vendor_error, "bw",
        fc_json_real(r->bw_GBps), "average", fc_json_real(r->average_GBps), "peak",
        fc_json_real(r->peak_GBps), "rate", fc_json_real(r->messages_per_s), "samples",
        samples, "payload", (json_int_t)r->payload, "messages", (json_int_t)r->messages,
        "seconds", r->seconds, "latency", latency_json(&r->latency), "checked",
        (json_int_t)r->checked, "wrong", (json_int_t)r->wrong, "first",
        (json_int_t)r->first_wrong);
}

static void read_latency(const json_t *json, struct fc_lane_latency *out)
{
    *out = (struct fc_lane_latency){.n = (size_t)whole(json, "n"),
                                    .min = real(json, "min"),
                                    .max = real(json, "max"),
                                    .typical = real(json, "typical"),
                                    .mean = real(json, "mean"),
                                    .stdev = real(json, "stdev"),
                                    .p99 = real(json, "p99"),
                                    .p999 = real(json, "p999"),
                                    .by_completion = truth(json, "completion")};
}

bool fc_lane_result_read(json_t *json, struct fc_lane_result *out)
{
    const json_t *samples = json_object_get(json, "samples");
    int64_t status = whole(json, "status");
    struct fc_lane_result r = {.status = (enum fc_status)status,
                               .reopen = truth(json, "reopen"),
                               .wc_status = (int)whole(json, "wc"),
                               .vendor_error = (uint32_t)whole(json, "vendor"),
                               .bw_GBps = real(json, "bw"),
                               .average_GBps = real(json, "average"),
                               .peak_GBps = real(json, "peak"),
                               .messages_per_s = real(json, "rate"),
                               .samples = json_array_size(samples),
                               .payload = (uint64_t)whole(json, "payload"),
                               .messages = (uint64_t)whole(json, "messages"),
                               .seconds = real(json, "seconds"),
                               .checked = (uint64_t)whole(json, "checked"),
                               .wrong = (uint64_t)whole(json, "wrong"),
                               .first_wrong = (uint64_t)whole(json, "first")};
    if (status < FC_OK || status > FC_LOST || r.samples > FC_RDMA_SAMPLES_MAX ||
        !text(json, "reason", r.reason, sizeof r.reason))
        return false;
    for (size_t i = 0; i < r.samples; i++)
        r.sample[i] = json_number_value(json_array_get(samples, i));
    read_latency(json_object_get(json, "latency"), &r.latency);
    *out = r;
    return true;
}
