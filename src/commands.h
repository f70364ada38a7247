// SPDX-License-Identifier: BSD-3-Clause
/* The subcommands. Each parses its own option table and returns the exit status; it
 * prints its own output and, on FC_USAGE, leaves the one line to the caller by `err`.
 */
#ifndef FC_COMMANDS_H
#define FC_COMMANDS_H

#include "cli.h"
#include "core/status.h"

struct fc_command {
    const char *name;
    const char *usage; /* "judge RUN… [options]" */
    const char *help;  /* one sentence */
    /* argv[0] is the subcommand's name. On failure (other than FC_OK) cli.c prints err
     * as the one line and chooses the exit status; on FC_OK *out_exit is it. */
    enum fc_status (*run)(const struct fc_backends *backends, int argc, char **argv,
                          int *out_exit, struct fc_error *err);
};

enum fc_status fc_cmd_run(const struct fc_backends *, int, char **, int *,
                          struct fc_error *);
enum fc_status fc_cmd_judge(const struct fc_backends *, int, char **, int *,
                            struct fc_error *);
enum fc_status fc_cmd_report(const struct fc_backends *, int, char **, int *,
                             struct fc_error *);
enum fc_status fc_cmd_list(const struct fc_backends *, int, char **, int *,
                           struct fc_error *);
enum fc_status fc_cmd_bench(const struct fc_backends *, int, char **, int *,
                            struct fc_error *);
enum fc_status fc_cmd_facts(const struct fc_backends *, int, char **, int *,
                            struct fc_error *);
enum fc_status fc_cmd_topo(const struct fc_backends *, int, char **, int *,
                           struct fc_error *);
enum fc_status fc_cmd_worker(const struct fc_backends *, int, char **, int *,
                             struct fc_error *);

#endif
