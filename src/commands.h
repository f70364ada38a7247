// SPDX-License-Identifier: BSD-3-Clause
/* The subcommands. Each parses its own option table and returns the exit status; it
 * prints its own output and, on FC_USAGE, leaves the one line to the caller by `err`.
 */
#ifndef FC_COMMANDS_H
#define FC_COMMANDS_H

#include "cli.h"
#include "core/option.h"
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

/* How the offline commands begin: sets `options` to their defaults and to what the
 * command line says, and prints the help where that is asked for: *out_done, nothing is
 * left to do. `words` takes what is no option; NULL: nothing else is allowed. */
enum fc_status fc_command_begin(const struct fc_option *table, int argc, char **argv,
                                void *options, struct fc_words *words,
                                void (*print_help)(void), bool *out_done,
                                struct fc_error *err) FC_MUST_USE;

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
