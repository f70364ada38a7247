// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck report`: render a run's report. The report is made anew from the journal,
 * so that it is there even when the run was killed before it could write one. */
#include "commands.h"

#include "core/option.h"
#include "core/watchdog.h"
#include "rejudge.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report_options {
    char *format, *output;
};

static const struct fc_option table[] = {
    {.name = "format",
     .type = FC_OPT_CHOICE,
     .offset = offsetof(struct report_options, format),
     .def = "text",
     .choices = "text|json",
     .arg = "FORMAT",
     .help = "what to write"},
    {.name = "output",
     .letter = 'o',
     .type = FC_OPT_STRING,
     .offset = offsetof(struct report_options, output),
     .arg = "FILE",
     .help = "where to; a file that is there already is never overwritten"},
    FC_OPTION_END,
};

static void print_help(void)
{
    printf(
        "usage: fabricheck report RUN [options]\n\n"
        "RUN is a run's folder or its journal.jsonl. Exits with 0 once the report is\n"
        "written, whatever its verdict; `judge` exits by the verdict.\n\n");
    fc_options_help(table, stdout);
}

static enum fc_status render_file(const struct report_options *o, const json_t *report,
                                  struct fc_error *err)
{
    int fd = open(o->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return fc_fail(err, FC_USAGE, "-o: '%.300s' exists and is not overwritten",
                       o->output);
    if (fd < 0)
        return fc_fail(err, FC_USAGE, "-o: '%.300s': %s", o->output, strerror(errno));
    FILE *out = fdopen(fd, "w");
    enum fc_status status =
        out ? fc_renderer_find(o->format)->render(report, out, err)
            : fc_fail(err, FC_IO, "-o: '%.300s': %s", o->output, strerror(errno));
    if (!out)
        close(fd);
    else if (fclose(out) != 0 && status == FC_OK)
        status = fc_fail(err, FC_IO, "-o: '%.300s': %s", o->output, strerror(errno));
    if (status != FC_OK) /* half a report is worse than none */
        unlink(o->output);
    return status;
}

static enum fc_status report(const struct report_options *o,
                             const struct fc_words *runs, int *out_exit,
                             struct fc_error *err)
{
    json_t *json = NULL;
    if (o->output && access(o->output, F_OK) == 0)
        return fc_fail(err, FC_USAGE, "-o: '%.300s' exists and is not overwritten",
                       o->output);
    enum fc_status status = fc_rejudge(runs, NULL, NULL, &json, err);
    if (status == FC_OK && o->output)
        status = render_file(o, json, err);
    else if (status == FC_OK)
        status = fc_renderer_find(o->format)->render(json, stdout, err);
    *out_exit = FC_EXIT_PASS;
    json_decref(json);
    return status;
}

enum fc_status fc_cmd_report(const struct fc_backends *backends, int argc, char **argv,
                             int *out_exit, struct fc_error *err)
{
    struct report_options o = {.format = NULL};
    struct fc_words runs = {0};
    bool done = false;
    (void)backends;
    *out_exit = FC_EXIT_PASS;
    enum fc_status status =
        fc_command_begin(table, argc, argv, &o, &runs, print_help, &done, err);
    if (status == FC_OK && !done && runs.count != 1) {
        status = runs.count
                     ? fc_fail(err, FC_USAGE, "one RUN at a time, not '%.200s' too",
                               runs.word[1])
                     : fc_fail(err, FC_USAGE,
                               "RUN is missing: a run's folder or its "
                               "journal.jsonl");
    } else if (status == FC_OK && !done) {
        status = report(&o, &runs, out_exit, err);
    }
    fc_words_free(&runs);
    fc_options_free(table, &o);
    return status;
}
