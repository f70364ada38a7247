// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck run`: measure, journal, judge, report. */
#include "commands.h"
#include "core/log.h"
#include "core/watchdog.h"
#include "finish.h"
#include "run_options.h"
#include "runner.h"
#include "session.h"

#include <stdio.h>

static void print_help(void)
{
    printf(
        "usage: fabricheck run [options]\n\n"
        "Launched by srun or mpirun, one rank a GPU, or one or more a node without "
        "GPUs.\n"
        "Writes DIR/journal.jsonl while it runs and DIR/report.json at the end.\n\n");
    fc_options_help(fc_run_option_table, stdout);
}

static enum fc_status parse(struct fc_run_options *o, int argc, char **argv,
                            bool *out_help, struct fc_error *err)
{
    enum fc_status status = fc_options_init(fc_run_option_table, o, err);
    if (status == FC_OK)
        status =
            fc_options_parse(fc_run_option_table, argc, argv, o, NULL, out_help, err);
    if (status == FC_OK && !*out_help)
        status = fc_run_options_check(o, err);
    return status;
}

/* All ranks end with the exit status that rank 0's judgement gave. */
static enum fc_status measure(struct fc_session *s, int *out_exit, struct fc_error *err)
{
    enum fc_status status = fc_session_open(s, err);
    if (status != FC_OK)
        return status;
    if (s->run.journal)
        fc_watchdog_last_words(s->run.watchdog, fc_finish_last_words, s);
    status = fc_runner_begin(s, err);
    if (status == FC_OK)
        status = fc_runner_probes(s, err);
    if (status == FC_LOST)
        fc_watchdog_end(s->run.watchdog, err->text);
    int64_t exit_status = FC_EXIT_PASS;
    if (s->run.journal) {
        /* From here on an interruption must not judge a second time. */
        fc_watchdog_last_words(s->run.watchdog, NULL, NULL);
        exit_status = fc_finish(s, status == FC_OK ? NULL : err->text);
    }
    if (fc_rte_max(s->run.rte, "exit status", &exit_status, 1, err) != FC_OK)
        fc_watchdog_end(s->run.watchdog, err->text);
    *out_exit = (int)exit_status;
    fc_watchdog_done(s->run.watchdog, *out_exit);
    fc_session_close(s);
    return status;
}

enum fc_status fc_cmd_run(const struct fc_backends *backends, int argc, char **argv,
                          int *out_exit, struct fc_error *err)
{
    struct fc_run_options options = {.level = NULL};
    struct fc_launch launch;
    bool help = false;
    fc_launch_read(&launch);
    enum fc_status status = parse(&options, argc, argv, &help, err);
    if (status == FC_OK && help) {
        if (launch.rank == 0)
            print_help();
        *out_exit = FC_EXIT_PASS;
    } else if (status == FC_OK) {
        fc_log_set_level(options.quiet     ? FC_LOG_QUIET
                         : options.verbose ? FC_LOG_VERBOSE
                                           : FC_LOG_NORMAL);
        struct fc_session session = {
            .options = &options, .backends = backends, .argc = argc, .argv = argv};
        status = measure(&session, out_exit, err);
    }
    fc_options_free(fc_run_option_table, &options);
    return status;
}
