// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/step_events.h"

#include "core/record.h"

#include <stdio.h>

static char *event_line(const struct fc_run *run, const json_t *told)
{
    const char *device = json_string_value(json_object_get(told, "device"));
    const char *what = json_string_value(json_object_get(told, "event"));
    int port = (int)json_integer_value(json_object_get(told, "port"));
    char text[160];
    if (port > 0)
        snprintf(text, sizeof text, "%.63s:%d: %.63s", device ? device : "?", port,
                 what ? what : "?");
    else
        snprintf(text, sizeof text, "%.63s: %.63s", device ? device : "?",
                 what ? what : "?");
    return fc_event_line(&(struct fc_event){.kind = "verbs",
                                            .node = fc_run_node(run),
                                            .rank = run->rte->rank,
                                            .phase = "rdma",
                                            .what = what ? what : "?",
                                            .wait = "none",
                                            .seconds = -1,
                                            .message = text});
}

enum fc_status fc_rdma_events_take(const struct fc_rdma_seats *seats,
                                   const struct fc_transfer *transfer,
                                   struct fc_error *err)
{
    json_t *events = NULL, *one;
    enum fc_status status = FC_OK;
    struct fc_error gap;
    size_t i;
    if (fc_transfer_events(transfer, &events, &gap) != FC_OK)
        return FC_OK;
    json_array_foreach(events, i, one) if (status == FC_OK) status =
        fc_sink_add_line(seats->run->sink, event_line(seats->run, one), err);
    json_decref(events);
    return status;
}
