// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck judge`: judge a run again from its journal, or from several parts of it.
 * */
#include "commands.h"

#include "core/journal.h"
#include "core/option.h"
#include "core/watchdog.h"
#include "judge/judge.h"
#include "judge/merge.h"
#include "judge/profile.h"
#include "rejudge.h"
#include "report/report.h"

#include <stddef.h>
#include <stdio.h>

struct judge_options {
    char *profile, *switches;
    bool json;
};

static const struct fc_option table[] = {
    {.name = "profile",
     .type = FC_OPT_STRING,
     .offset = offsetof(struct judge_options, profile),
     .arg = "FILE",
     .help = "expectations to judge by, instead of those the run had"},
    {.name = "switches",
     .type = FC_OPT_STRING,
     .offset = offsetof(struct judge_options, switches),
     .arg = "FILE",
     .help = "which leaf switch each node hangs on (topology.conf or the output of "
             "ibnetdiscover), instead of what the run knew"},
    {.name = "json",
     .type = FC_OPT_FLAG,
     .offset = offsetof(struct judge_options, json),
     .help = "write report.json on standard output, not the summary"},
    FC_OPTION_END,
};

static void print_help(void)
{
    printf("usage: fabricheck judge RUN… [options]\n\n"
           "RUN is a run's folder or its journal.jsonl; several parts of one run are "
           "merged.\n"
           "Prints the summary and exits as `run` does: 0 PASS, 1 FAIL, 3 "
           "INCONCLUSIVE.\n\n");
    fc_options_help(table, stdout);
}

static enum fc_status judge(const struct judge_options *o, const struct fc_words *runs,
                            int *out_exit, struct fc_error *err)
{
    json_t *report = NULL;
    enum fc_status status = fc_rejudge(runs, o->profile, o->switches, &report, err);
    if (status == FC_OK)
        status =
            fc_renderer_find(o->json ? "json" : "text")->render(report, stdout, err);
    if (status == FC_OK)
        *out_exit = fc_judge_exit_status(report);
    json_decref(report);
    return status;
}

enum fc_status fc_cmd_judge(const struct fc_backends *backends, int argc, char **argv,
                            int *out_exit, struct fc_error *err)
{
    struct judge_options o = {.profile = NULL};
    struct fc_words runs = {0};
    bool done = false;
    (void)backends;
    *out_exit = FC_EXIT_PASS;
    enum fc_status status =
        fc_command_begin(table, argc, argv, &o, &runs, print_help, &done, err);
    if (status == FC_OK && !done && runs.count == 0) {
        status = fc_fail(err, FC_USAGE,
                         "RUN is missing: a run's folder or its journal.jsonl");
    } else if (status == FC_OK && !done) {
        status = judge(&o, &runs, out_exit, err);
    }
    fc_words_free(&runs);
    fc_options_free(table, &o);
    return status;
}
