// SPDX-License-Identifier: BSD-3-Clause
/* The program with faulty devices, communicators and workers: what the tests run to see
 * that each check can fail. Everything it writes is stamped simulated. */
#include "cli.h"
#include "core/launch.h"
#include "core/worker.h"
#include "device_double.h"
#include "fault.h"
#include "rdma/commands.h"
#include "topology/probe_config.h"

#include <signal.h>
#include <string.h>

static struct faults faults;

static enum fc_status facts(struct fc_worker_call *call, json_t *args,
                            json_t **out_reply, struct fc_error *err)
{
    const struct fault *fault = faults_strike(&faults, "facts", 0);
    fc_worker_note(call, "read of a sick /sys file");
    if (fault_is(fault, "hang"))
        fault_hang();
    if (fault_is(fault, "crash"))
        raise(SIGSEGV);
    if (fault_is(fault, "dead"))
        return fc_fail(err, FC_FAILED, "facts: input/output error");
    enum fc_status status = fc_facts_command.run(call, args, out_reply, err);
    if (status == FC_OK && fault_is(fault, "differ"))
        status = fc_worker_emit(
            call, "{\"facts\":{\"kernel.release\":\"6.6.6-odd\"},\"unreadable\":{}}",
            err);
    return status;
}

static int worker_main(void)
{
    struct fc_launch launch;
    fc_launch_read(&launch);
    faults_read(&faults, launch.rank);
    struct fc_worker_command table[FC_RDMA_COMMANDS + 2] = {
        {fc_facts_command.name, facts}};
    memcpy(table + 1, fc_rdma_commands, sizeof fc_rdma_commands);
    return fc_worker_main(table);
}

int main(int argc, char **argv)
{
    static const struct fc_backends backends = {.wrap_device = device_double_wrap,
                                                .wrap_comm = comm_double_wrap,
                                                .simulated = true};
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main();
    return fc_cli_main(argc, argv, &backends);
}
