// SPDX-License-Identifier: BSD-3-Clause
/* The command line: finds the subcommand, runs it, prints the one line of an error.
 * Backends are given by main: the program's own, or the test doubles' that wrap them.
 */
#ifndef FC_CLI_H
#define FC_CLI_H

#include <stdbool.h>

struct fc_device;
struct fc_comm;

/* Hooks around what the runner opened; both may be NULL. They may replace the object by
 * a wrapper that owns it. `rank` is the world rank. */
struct fc_backends {
    void (*wrap_device)(struct fc_device **device, int rank);
    void (*wrap_comm)(struct fc_comm **comm, int rank);
    bool simulated; /* stamped on journal, report and terminal */
};

/* Returns the exit status of the process. */
int fc_cli_main(int argc, char **argv, const struct fc_backends *backends);

#endif
