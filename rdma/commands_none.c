// SPDX-License-Identifier: BSD-3-Clause
/* A program that was built without libibverbs. */
#include "rdma/commands.h"

#include "rdma/port.h"

/* An empty list with the reason. */
static enum fc_status none(struct fc_worker_call *call, json_t *args,
                           json_t **out_reply, struct fc_error *err)
{
    const struct fc_rdma_source source = {.root = ""};
    struct fc_rdma_ports *ports = NULL;
    (void)call, (void)args;
    enum fc_status status = fc_rdma_ports_open(&source, &ports, err);
    if (status != FC_OK)
        return status;
    *out_reply = fc_rdma_ports_json(ports);
    fc_rdma_ports_close(ports);
    return *out_reply ? FC_OK : fc_fail(err, FC_NOMEM, "no memory for RDMA ports");
}

static enum fc_status refuse(struct fc_worker_call *call, json_t *args,
                             json_t **out_reply, struct fc_error *err)
{
    (void)call, (void)args, (void)out_reply;
    return fc_fail(err, FC_UNSUPPORTED, "this program was built without libibverbs");
}

const struct fc_worker_command fc_rdma_commands[FC_RDMA_COMMANDS] = {
    {"rdma.ports", none},     {"rdma.open", refuse},  {"rdma.connect", refuse},
    {"rdma.measure", refuse}, {"rdma.close", refuse}, {"rdma.reset", refuse},
    {"rdma.events", refuse},
};
