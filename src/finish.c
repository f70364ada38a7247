// SPDX-License-Identifier: BSD-3-Clause
#include "finish.h"

#include "core/clock.h"
#include "core/journal.h"
#include "core/log.h"
#include "core/record.h"
#include "judge/judge.h"
#include "rejudge.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPORT_FORM (JSON_INDENT(1) | JSON_REAL_PRECISION(9))

static void say(const struct fc_error *err)
{
    fprintf(stderr, "fabricheck run: %s\n", err->text);
}

static enum fc_status write_end(struct fc_session *s, const char *reason,
                                struct fc_error *err)
{
    json_t *o = json_object();
    json_object_set_new(o, "time", json_string(fc_timestamp_now().text));
    json_object_set_new(o, "status", json_string(reason ? "interrupted" : "complete"));
    json_object_set_new(o, "reason", reason ? json_string(reason) : json_null());
    return fc_journal_line(s->run.journal, fc_line("end", o), err);
}

/* Trouble with the journal is itself a finding: the lines are safe, but elsewhere. */
static enum fc_status note_trouble(struct fc_session *s, struct fc_error *err)
{
    const char *trouble = fc_journal_trouble(s->run.journal);
    if (!trouble)
        return FC_OK;
    char message[1024];
    snprintf(message, sizeof message, "%.500s; the journal went on in %.400s", trouble,
             fc_journal_path(s->run.journal));
    fprintf(stderr, "fabricheck run: %s\n", message);
    char *line = fc_event_line(&(struct fc_event){.kind = "journal",
                                                  .node = fc_run_node(&s->run),
                                                  .rank = 0,
                                                  .phase = "",
                                                  .what = "write the journal",
                                                  .wait = "none",
                                                  .seconds = -1,
                                                  .message = message});
    return fc_journal_line(s->run.journal, line, err);
}

/* The journal's own folder, which is another than s->dir after a rescue. */
static void report_path(const struct fc_session *s, char *out, size_t out_bytes)
{
    const char *journal = fc_journal_path(s->run.journal);
    const char *slash = strrchr(journal, '/');
    snprintf(out, out_bytes, "%.*s/report.json", slash ? (int)(slash - journal) : 1,
             slash ? journal : ".");
}

/* Written under another name first: a reader never sees half a report. */
static enum fc_status write_report(const json_t *report, const char *path,
                                   struct fc_error *err)
{
    char part[4200];
    snprintf(part, sizeof part, "%.4100s.part", path);
    errno = 0;
    FILE *file = fopen(part, "we");
    if (!file)
        return fc_fail(err, FC_IO, "cannot write '%.300s': %s", path, strerror(errno));
    bool bad = json_dumpf(report, file, REPORT_FORM) != 0;
    bad |= fputc('\n', file) == EOF;
    bad |= fclose(file) != 0;
    if (bad || rename(part, path) != 0) {
        enum fc_status status = fc_fail(err, FC_IO, "cannot write '%.300s': %s", path,
                                        errno ? strerror(errno) : "write failed");
        unlink(part);
        return status;
    }
    return FC_OK;
}

static enum fc_status print_report(const struct fc_session *s, const json_t *report,
                                   const char *path, bool written, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    if (s->options->json) {
        json_dumpf(report, stdout, REPORT_FORM);
        printf("\n");
    } else if (s->options->quiet) {
        printf("verdict: %s %s\n",
               json_string_value(json_object_get(report, "verdict")),
               json_string_value(json_object_get(report, "reason")));
    } else {
        if (written)
            printf("report: %s\n", path);
        status = fc_renderer_find("text")->render(report, stdout, err);
    }
    if (fflush(stdout) != 0 && status == FC_OK)
        status = fc_fail(err, FC_IO, "standard output could not be written");
    return status;
}

static enum fc_status judge(struct fc_session *s, json_t **out_report,
                            struct fc_error *err)
{
    struct fc_journal_text text;
    enum fc_status status =
        fc_journal_read(fc_journal_path(s->run.journal), &text, err);
    if (status != FC_OK)
        return status;
    status = fc_judge(&text, NULL, out_report, err);
    fc_journal_text_free(&text);
    return status;
}

int fc_finish(struct fc_session *s, const char *reason)
{
    struct fc_error err = {""};
    char path[4200];
    json_t *report = NULL;
    fc_log_step(NULL);
    enum fc_status status = note_trouble(s, &err);
    if (status == FC_OK)
        status = write_end(s, reason, &err);
    if (status == FC_OK)
        status = judge(s, &report, &err);
    if (status != FC_OK) {
        say(&err);
        return FC_EXIT_INCONCLUSIVE;
    }
    report_path(s, path, sizeof path);
    int exit_status = fc_judge_exit_status(report);
    enum fc_status written = write_report(report, path, &err);
    if (written != FC_OK) {
        say(&err);
        exit_status = FC_EXIT_INCONCLUSIVE;
    }
    if (print_report(s, report, path, written == FC_OK, &err) != FC_OK) {
        say(&err);
        exit_status = FC_EXIT_INCONCLUSIVE;
    }
    json_decref(report);
    return exit_status;
}

static int count_missing(const struct fc_session *s)
{
    char path[4200];
    int missing = 0;
    for (int r = 1; r < s->run.rte->size; r++) {
        fc_journal_spool_path(s->dir, r, path, sizeof path);
        missing += access(path, R_OK) != 0;
    }
    return missing;
}

/* Ranks that end through their watchdog leave a spool, within seconds of the first
 * deadline that passed anywhere. Once the launcher tells all to end it will soon kill
 * whoever is left, this rank too: hence the two patiences. */
static int wait_for_spools(const struct fc_session *s)
{
    enum { LOOK_MS = 50, LOOKS = 100, LOOKS_ONCE_TOLD = 12 };
    int told = 0, missing = count_missing(s);
    for (int look = 0; look < LOOKS && told < LOOKS_ONCE_TOLD && missing; look++) {
        fc_sleep_ns(LOOK_MS * FC_NS_PER_MS);
        told += fc_watchdog_told_to_end();
        missing = count_missing(s);
    }
    return missing;
}

static void note_silent(struct fc_session *s, int rank)
{
    const struct fc_rte *rte = s->run.rte;
    char message[128];
    struct fc_error err;
    snprintf(message, sizeof message, "rank %d left no trace when the run ended", rank);
    char *line =
        fc_event_line(&(struct fc_event){.kind = "silent",
                                         .node = rte->node_name[rte->place[rank].node],
                                         .rank = rank,
                                         .phase = "",
                                         .what = "",
                                         .wait = "none",
                                         .seconds = -1,
                                         .message = message});
    if (fc_journal_line(s->run.journal, line, &err) != FC_OK)
        say(&err);
}

int fc_finish_last_words(void *session)
{
    struct fc_session *s = session;
    char path[4200];
    int missing = wait_for_spools(s);
    for (int r = 1; r < s->run.rte->size && missing; r++) {
        fc_journal_spool_path(s->dir, r, path, sizeof path);
        if (access(path, R_OK) != 0)
            note_silent(s, r);
    }
    return fc_finish(s, "ended before all was measured; see the events");
}
