// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck worker`: the process in which calls that can hang are made. Started by a
 * rank's spawner (core/worker.h), never by a person. */
#include "commands.h"
#include "core/worker.h"
#include "rdma/commands.h"
#include "topology/probe_config.h"

#include <string.h>

enum fc_status fc_cmd_worker(const struct fc_backends *backends, int argc, char **argv,
                             int *out_exit, struct fc_error *err)
{
    (void)backends, (void)argc, (void)argv, (void)err;
    struct fc_worker_command table[FC_RDMA_COMMANDS + 2] = {fc_facts_command};
    memcpy(table + 1, fc_rdma_commands, sizeof fc_rdma_commands);
    *out_exit = fc_worker_main(table);
    return FC_OK;
}
