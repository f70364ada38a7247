// SPDX-License-Identifier: BSD-3-Clause
/* The text summary: who ran, one line a probe, the findings with cause and next
 * step, what is not known, the bad nodes, the verdict. Plain text; nothing of the
 * report reaches the terminal unchecked. */
#include "report/text.h"

#include "core/hostlist.h"
#include "core/units.h"
#include "report/render.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FINDINGS_SHOWN = 20, MISSING_SHOWN = 10, NAMES_SHOWN = 8, NAMES_MAX = 4096 };

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static const char *plural(json_int_t count)
{
    return count == 1 ? "" : "s";
}

/* --- who ran --- */

static void put_header(FILE *out, const json_t *run)
{
    json_int_t ranks = json_integer_value(json_object_get(run, "ranks"));
    json_int_t nodes = json_integer_value(json_object_get(run, "nodes"));
    double seconds = number_of(run, "duration_s");
    fputs("fabricheck ", out);
    fc_text_put(out, text_of(run, "version"));
    fputs("  level ", out);
    fc_text_put(out, text_of(run, "level"));
    fprintf(out, "  %" JSON_INTEGER_FORMAT " rank%s on %" JSON_INTEGER_FORMAT " node%s",
            ranks, plural(ranks), nodes, plural(nodes));
    if (seconds >= 0.0 && seconds < 1e9)
        fprintf(out, "  %s", fc_format_duration((uint64_t)(seconds * 1e9)).s);
    fputs("  started ", out);
    fc_text_put(out, text_of(run, "started"));
    fputc('\n', out);
    if (json_is_true(json_object_get(run, "simulated")))
        fputs("SIMULATED: these are a test double's numbers, not a machine's\n", out);
}

/* --- what was measured --- */

/* "gemm.fp32" of "device.gemm.fp32". */
static const char *short_name(const char *metric, const char *probe)
{
    const char *dot = strchr(metric, '.');
    size_t length = strlen(probe);
    if (!dot)
        return metric;
    if (strncmp(metric, probe, length) == 0 && metric[length] == '.')
        return metric + length + 1;
    return dot + 1;
}

/* "47 ms" rather than 0.047 s. */
static void put_value(FILE *out, double value, const char *unit)
{
    if (unit && strcmp(unit, "s") == 0 && value < 1e-3)
        fprintf(out, "%.3g us", 1e6 * value);
    else if (unit && strcmp(unit, "s") == 0 && value < 1.0)
        fprintf(out, "%.3g ms", 1e3 * value);
    else
        fprintf(out, "%.3g%s%s", value, unit && strcmp(unit, "1") == 0 ? "" : " ",
                unit && strcmp(unit, "1") != 0 ? unit : "");
}

static void put_metric(FILE *out, const json_t *m, const char *probe)
{
    const char *metric = text_of(m, "metric"), *unit = text_of(m, "unit");
    double share = number_of(m, "share"), worst = number_of(m, "worst_share");
    json_int_t bytes = json_integer_value(json_object_get(m, "bytes"));
    json_int_t count = json_integer_value(json_object_get(m, "count"));
    fprintf(out, "%s ", metric ? short_name(metric, probe) : "-");
    put_value(out, number_of(m, "median"), unit);
    if (bytes > 0)
        fprintf(out, " at %s", fc_format_size((uint64_t)bytes).s);
    if (isfinite(share))
        fprintf(out, " (%.3g%% of limit", 100.0 * share);
    if (isfinite(share) && count > 1 && isfinite(worst))
        fprintf(out, ", worst %.3g%%", 100.0 * worst);
    if (isfinite(share))
        fputc(')', out);
}

/* "ok", or the metrics, or why there are none; malloc'd. */
static char *probe_text(const json_t *probe, const char *name)
{
    const json_t *metrics = json_object_get(probe, "metrics");
    const char *status = text_of(probe, "status");
    char *text = NULL;
    size_t bytes, i;
    json_t *metric;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    if (!same_text(status, "ok") || json_array_size(metrics) == 0)
        fputs(status ? status : "-", out);
    if (!same_text(status, "ok") && json_array_size(metrics))
        fputs(": ", out);
    json_array_foreach(metrics, i, metric)
    {
        fputs(i ? "; " : "", out);
        put_metric(out, metric, name);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool put_probes(FILE *out, const json_t *probes)
{
    enum { COLUMN = 15 };
    size_t i;
    json_t *probe;
    json_array_foreach(probes, i, probe)
    {
        const char *name = text_of(probe, "name");
        char *text = probe_text(probe, name ? name : "");
        size_t columns = 2 + fc_text_columns(name ? name : "-");
        if (!text)
            return false;
        fputs("  ", out);
        fc_text_put(out, name);
        fprintf(out, "%*s", columns < COLUMN ? (int)(COLUMN - columns) : 1, "");
        fc_text_wrap(out, text, COLUMN, COLUMN);
        free(text);
    }
    return true;
}

/* --- findings --- */

static const char *severity_word(const json_t *finding)
{
    const char *severity = text_of(finding, "severity");
    if (same_text(severity, "fail"))
        return "FAIL";
    return same_text(severity, "warn") ? "WARN" : "info";
}

static void put_hint(FILE *out, const char *word, const char *text)
{
    if (!text)
        return;
    fprintf(out, "      %-7s ", word);
    fc_text_wrap(out, text, 14, 14);
}

static bool put_finding(FILE *out, const json_t *f, const json_t *last)
{
    char *subject = fc_text_subject(json_object_get(f, "subject"));
    char *line = NULL;
    const char *message = text_of(f, "message");
    if (!subject || asprintf(&line, "%s: %s", subject, message ? message : "-") < 0) {
        free(subject);
        return false;
    }
    fprintf(out, "%-4s  ", severity_word(f));
    fc_text_wrap(out, line, 6, 6);
    free(line);
    free(subject);
    /* What was said a line ago is not said again. */
    bool again = last && same_text(text_of(f, "cause"), text_of(last, "cause")) &&
                 same_text(text_of(f, "remedy"), text_of(last, "remedy"));
    if (!again && !same_text(text_of(f, "severity"), "info")) {
        put_hint(out, "likely", text_of(f, "cause"));
        put_hint(out, "next", text_of(f, "remedy"));
    }
    if (same_text(text_of(f, "severity"), "fail"))
        put_hint(out, "again", text_of(f, "reproduce"));
    return true;
}

static bool put_findings(FILE *out, const json_t *report)
{
    const json_t *findings = json_object_get(report, "findings");
    size_t count = json_array_size(findings);
    json_int_t more = json_integer_value(json_object_get(report, "findings_omitted"));
    for (size_t i = 0; i < count && i < FINDINGS_SHOWN; i++)
        if (!put_finding(out, json_array_get(findings, i),
                         i ? json_array_get(findings, i - 1) : NULL))
            return false;
    if (count > FINDINGS_SHOWN)
        more += (json_int_t)(count - FINDINGS_SHOWN);
    if (more > 0)
        fprintf(out, "and %" JSON_INTEGER_FORMAT " more finding%s (see report.json)\n",
                more, plural(more));
    return true;
}

/* --- what is not known --- */

static bool counts(const json_t *entry)
{
    return !same_text(text_of(entry, "class"), "informative") &&
           json_is_null(json_object_get(entry, "substitute"));
}

static bool same_but_node(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"check",  "probe", "what",
                                       "reason", "class", "substitute"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!same_text(text_of(a, keys[i]), text_of(b, keys[i])))
            return false;
    return true;
}

/* Entries [from, end) differ in their node only. */
static bool put_missing(FILE *out, const json_t *coverage, size_t from, size_t end)
{
    const json_t *entry = json_array_get(coverage, from);
    const char *what = text_of(entry, "what"), *probe = text_of(entry, "probe");
    const char *substitute = text_of(entry, "substitute"),
               *reason = text_of(entry, "reason");
    const char **name = malloc((end - from) * sizeof(*name));
    char *line = NULL, *hosts;
    size_t names = 0;
    for (size_t i = from; name && i < end && names < NAMES_MAX; i++) {
        const char *node = text_of(json_array_get(coverage, i), "node");
        if (node)
            name[names++] = node;
    }
    hosts = name ? fc_hostlist(name, names) : NULL;
    free(name);
    bool own = same_text(what, probe) || !probe;
    int n =
        hosts ? asprintf(&line, "%s%s%s%s%s: %s%s%s", own ? "" : probe, own ? "" : " ",
                         what ? what : "-", *hosts ? " on " : "", hosts,
                         reason ? reason : "-", substitute ? "; instead: " : "",
                         substitute ? substitute : "")
              : -1;
    free(hosts);
    if (n < 0)
        return false;
    fputs("  ", out);
    fc_text_wrap(out, line, 2, 6);
    free(line);
    return true;
}

/* What makes the run inconclusive. */
static bool put_missing_list(FILE *out, const json_t *coverage)
{
    size_t size = json_array_size(coverage), lines = 0, left = 0;
    for (size_t i = 0, end; i < size; i = end) {
        const json_t *entry = json_array_get(coverage, i);
        end = i + 1;
        while (end < size && same_but_node(entry, json_array_get(coverage, end)))
            end++;
        if (!counts(entry))
            continue;
        if (lines == MISSING_SHOWN) {
            left += end - i;
            continue;
        }
        if (lines++ == 0)
            fputs("not measured:\n", out);
        if (!put_missing(out, coverage, i, end))
            return false;
    }
    if (left)
        fprintf(out, "  and %zu more (see coverage in report.json)\n", left);
    return true;
}

/* Entries [from, end) are of one check: their names alone. */
static bool put_names(FILE *out, const json_t *coverage, size_t from, size_t end)
{
    const char *probe = text_of(json_array_get(coverage, from), "probe"), *last = NULL;
    char *line = NULL;
    size_t bytes, names = 0;
    FILE *text = open_memstream(&line, &bytes);
    if (!text)
        return false;
    for (size_t i = from; i < end; i++) {
        const char *what = text_of(json_array_get(coverage, i), "what");
        if (last && same_text(what, last))
            continue;
        if (names < NAMES_SHOWN)
            fprintf(text, "%s%s", names ? ", " : "", what ? what : "-");
        names++;
        last = what;
    }
    fprintf(text, "%s (why: coverage in report.json)",
            names > NAMES_SHOWN ? ", …" : "");
    bool ok = fclose(text) == 0;
    if (ok) {
        fprintf(out, "  %s%s", probe ? probe : "", probe ? ": " : "");
        fc_text_wrap(out, line, 2 + (probe ? fc_text_columns(probe) + 2 : 0), 6);
    }
    free(line);
    return ok;
}

/* What is not known and does not count; many of one kind in one line. */
static bool put_neutral_list(FILE *out, const json_t *coverage)
{
    size_t size = json_array_size(coverage), lines = 0;
    bool ok = true;
    for (size_t i = 0, end; ok && i < size; i = end) {
        const json_t *entry = json_array_get(coverage, i);
        end = i + 1;
        while (end < size && !counts(entry) && !counts(json_array_get(coverage, end)) &&
               same_text(text_of(entry, "check"),
                         text_of(json_array_get(coverage, end), "check")))
            end++;
        if (counts(entry))
            continue;
        if (lines++ == 0)
            fputs("not known, and no matter:\n", out);
        ok = end - i > 1 ? put_names(out, coverage, i, end)
                         : put_missing(out, coverage, i, end);
    }
    return ok;
}

/* --- the end --- */

static void put_verdict(FILE *out, const json_t *report)
{
    const char *verdict = text_of(report, "verdict"),
               *bad = text_of(report, "bad_nodes");
    if (same_text(verdict, "FAIL")) {
        fputs("bad nodes: ", out);
        fc_text_put(out, bad && *bad ? bad : "none singled out");
        fputc('\n', out);
    }
    fputs("verdict: ", out);
    fc_text_put(out, verdict ? verdict : "INCONCLUSIVE");
    fputc(' ', out);
    fc_text_put(out, text_of(report, "reason"));
    fputc('\n', out);
}

enum fc_status fc_render_text(const json_t *report, FILE *out, struct fc_error *err)
{
    const json_t *coverage = json_object_get(report, "coverage");
    put_header(out, json_object_get(report, "run"));
    bool ok = put_probes(out, json_object_get(report, "probes")) &&
              put_findings(out, report) && put_missing_list(out, coverage) &&
              put_neutral_list(out, coverage);
    if (!ok)
        return fc_fail(err, FC_NOMEM, "out of memory for the summary");
    put_verdict(out, report);
    if (fflush(out) != 0 || ferror(out))
        return fc_fail(err, FC_IO, "the summary could not be written");
    return FC_OK;
}
