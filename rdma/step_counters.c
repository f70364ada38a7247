// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/step_counters.h"

#include "core/clock.h"
#include "core/record.h"

#include <stdio.h>
#include <string.h>

static const uint64_t read_ns = 20 * FC_NS_PER_S;

enum fc_status fc_rdma_counters_mark(struct fc_rdma_seats *seats, struct fc_error *err)
{
    json_t *args = json_object();
    enum fc_status status =
        fc_rdma_seats_ask(seats, "rdma.mark", args, read_ns, NULL, err);
    json_decref(args);
    return status;
}

/* "verbs RC, host memory": what the queue pairs were, which the counters then prove. */
static void name_path(const struct fc_lane_answer *answer, bool proven, char *out,
                      size_t bytes)
{
    bool srd = strcmp(answer->transport, "srd") == 0;
    bool host = strcmp(answer->memory, "host") == 0;
    if (!proven)
        snprintf(out, bytes, "unknown");
    else if (host)
        snprintf(out, bytes, "verbs %s", srd ? "SRD" : "RC");
    else
        snprintf(out, bytes, "verbs %s GDR %s", srd ? "SRD" : "RC",
                 answer->registered_by);
}

static enum fc_status add_grown(const struct fc_rdma_step *step, int slot,
                                const json_t *grown, struct fc_error *err)
{
    const struct fc_rdma_own *own = &step->seats->own[slot];
    const struct fc_rdma_match *m = &step->match[slot];
    const struct fc_run *run = step->seats->run;
    double value = (double)json_integer_value(json_object_get(grown, "value"));
    struct fc_record r = fc_record_new("rdma.counter");
    r.subject = fc_run_subject(run);
    r.subject.kind = "nic";
    r.subject.nic = own->name;
    r.subject.rail = own->rail;
    r.subject.peer = run->rte->node_name[m->peer_node];
    r.subject.peer_nic = fc_rdma_seat(step->seats, m->peer_node, m->peer_rail)->name;
    r.subject.bdf = own->bdf[0] ? own->bdf : NULL;
    r.subject.guid = own->guid[0] ? own->guid : NULL;
    r.params.op = "rdma";
    r.params.variant = json_string_value(json_object_get(grown, "name"));
    r.params.attempt = step->attempt;
    if (!fc_summarize(&value, 1, &r.value, NULL))
        return fc_fail(err, FC_NOMEM, "out of memory for a counter's record");
    return fc_sink_add(run->sink, &r, err);
}

static enum fc_status take_port(struct fc_rdma_step *step, int slot, const json_t *port,
                                const struct fc_lane_answer *answer,
                                struct fc_error *err)
{
    struct fc_rdma_entry *e = &step->out[slot];
    const char *how = json_string_value(json_object_get(port, "how"));
    enum fc_status status = FC_OK;
    size_t i;
    json_t *grown;
    name_path(answer, json_is_true(json_object_get(port, "proven")), e->path,
              sizeof e->path);
    snprintf(e->how, sizeof e->how, "%s", how ? how : "");
    json_array_foreach(json_object_get(port, "grown"), i, grown) if (status == FC_OK)
        status = add_grown(step, slot, grown, err);
    return status;
}

enum fc_status fc_rdma_counters_take(struct fc_rdma_step *step,
                                     const struct fc_lane_answer *answer,
                                     const struct fc_lane_link *link,
                                     const struct fc_rdma_moved *moved,
                                     struct fc_error *err)
{
    json_t *wanted = json_array(), *reply = NULL;
    enum fc_status status = FC_OK;
    struct fc_error gap;
    for (int i = 0; i < step->seats->slots; i++) {
        snprintf(step->out[i].path, sizeof step->out[i].path, "unknown");
        if (step->match[i].peer_node >= 0)
            json_array_append_new(
                wanted,
                json_pack("{s:s, s:I, s:I, s:i}", "name", step->seats->own[i].name,
                          "sent", (json_int_t)moved[i].sent, "received",
                          (json_int_t)moved[i].received, "mtu", link[i].mtu));
    }
    json_t *args = json_pack("{s:o}", "ports", wanted);
    if (json_array_size(wanted) && fc_rdma_seats_ask(step->seats, "rdma.growth", args,
                                                     read_ns, &reply, &gap) == FC_OK) {
        const json_t *ports = json_object_get(reply, "ports");
        size_t at = 0;
        for (int i = 0; i < step->seats->slots && status == FC_OK; i++)
            if (step->match[i].peer_node >= 0)
                status =
                    take_port(step, i, json_array_get(ports, at++), &answer[i], err);
    }
    json_decref(reply);
    json_decref(args);
    return status;
}
