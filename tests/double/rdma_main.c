// SPDX-License-Identifier: BSD-3-Clause
/* The program with RDMA ports of its own making: what the tests of the rdma probe run.
 * Everything it writes is stamped simulated. */
#include "cli.h"
#include "core/worker.h"
#include "rdma_double.h"
#include "topology/probe_config.h"

#include <string.h>

static int worker_main(void)
{
    struct fc_worker_command table[1 + RDMA_DOUBLE_COMMANDS + 1] = {fc_facts_command};
    memcpy(&table[1], rdma_double_commands, sizeof rdma_double_commands);
    return fc_worker_main(table);
}

int main(int argc, char **argv)
{
    static const struct fc_backends backends = {.simulated = true};
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main();
    return fc_cli_main(argc, argv, &backends);
}
