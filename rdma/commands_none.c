// SPDX-License-Identifier: BSD-3-Clause
/* A program that was built without libibverbs. */
#include "rdma/commands.h"

static enum fc_status refuse(struct fc_worker_call *call, json_t *args,
                             json_t **out_reply, struct fc_error *err)
{
    (void)call, (void)args, (void)out_reply;
    return fc_fail(err, FC_UNSUPPORTED, "this program was built without libibverbs");
}

const struct fc_worker_command fc_rdma_commands[FC_RDMA_COMMANDS] = {
    {"rdma.open", refuse},  {"rdma.connect", refuse}, {"rdma.measure", refuse},
    {"rdma.close", refuse}, {"rdma.reset", refuse},   {"rdma.events", refuse},
};
