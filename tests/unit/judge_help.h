// SPDX-License-Identifier: BSD-3-Clause
/* What the judge's tests share: journals from files and text in memory, and a report's
 * essence as sorted lines (see tests/fixtures/judge/make.py for their form). */
#ifndef FC_TESTS_JUDGE_HELP_H
#define FC_TESTS_JUDGE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#include "core/journal.h"
#include "core/rng.h"
#include "judge/judge.h"
#include "judge/rules.h"

#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines {
    char **line;
    size_t count;
};

static inline int by_string(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void lines_add(struct lines *lines, const char *text)
{
    lines->line = realloc(lines->line, (lines->count + 1) * sizeof *lines->line);
    assert_non_null(lines->line);
    lines->line[lines->count] = strdup(text);
    assert_non_null(lines->line[lines->count++]);
}

static inline void lines_sort(struct lines *lines)
{
    if (lines->count)
        qsort(lines->line, lines->count, sizeof *lines->line, by_string);
}

static inline void lines_free(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->line[i]);
    free(lines->line);
    *lines = (struct lines){0};
}

static inline struct lines lines_split(const char *text)
{
    struct lines lines = {0};
    char *copy = strdup(text), *rest = NULL;
    for (char *l = strtok_r(copy, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        lines_add(&lines, l);
    free(copy);
    return lines;
}

static inline bool lines_equal(const struct lines *a, const struct lines *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->line[i], b->line[i]) != 0)
            return false;
    return true;
}

static inline char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s cannot be read", path);
    enum { ROOM = 1 << 21 };
    char *text = malloc(ROOM);
    assert_non_null(text);
    size_t bytes = fread(text, 1, ROOM - 1, file);
    assert_true(feof(file));
    fclose(file);
    text[bytes] = '\0';
    return text;
}

/* A journal from text, one object a line; what is no such line counts as bad. */
static inline struct fc_journal_text journal_of(const char *text)
{
    struct lines lines = lines_split(text);
    struct fc_journal_text journal = {0};
    journal.line = calloc(lines.count + 1, sizeof(json_t *));
    assert_non_null(journal.line);
    for (size_t i = 0; i < lines.count; i++) {
        json_t *line = json_loads(lines.line[i], 0, NULL);
        if (json_is_string(json_object_get(line, "type"))) {
            journal.line[journal.lines++] = line;
        } else {
            json_decref(line);
            journal.bad_lines++;
        }
    }
    lines_free(&lines);
    return journal;
}

static inline void shuffle(struct fc_journal_text *journal, uint64_t seed)
{
    struct fc_rng rng;
    fc_rng_seed(&rng, seed);
    for (size_t i = journal->lines; i > 1; i--) {
        size_t k = (size_t)fc_rng_below(&rng, i);
        json_t *line = journal->line[k];
        journal->line[k] = journal->line[i - 1];
        journal->line[i - 1] = line;
    }
}

static inline const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && *text ? text : "-";
}

/* Names of the nodes whose findings list `id`, sorted, joined by commas; "-" for
 * none. */
static inline void nodes_of(const json_t *report, const char *id, char *out,
                            size_t room)
{
    struct lines names = {0};
    size_t i, k;
    json_t *node, *found;
    json_array_foreach(json_object_get(report, "nodes"), i, node)
        json_array_foreach(json_object_get(node, "findings"), k,
                           found) if (strcmp(json_string_value(found), id) == 0)
            lines_add(&names, text_of(node, "name"));
    lines_sort(&names);
    snprintf(out, room, "%s", names.count ? "" : "-");
    for (i = 0; i < names.count; i++) {
        size_t used = strlen(out);
        snprintf(out + used, room - used, "%s%s", i ? "," : "", names.line[i]);
    }
    lines_free(&names);
}

static inline void add_finding(struct lines *lines, const json_t *report,
                               const json_t *finding)
{
    char nodes[1024], rank[32] = "-", line[2048];
    const json_t *number = json_object_get(json_object_get(finding, "subject"), "rank");
    nodes_of(report, text_of(finding, "id"), nodes, sizeof nodes);
    if (json_is_integer(number))
        snprintf(rank, sizeof rank, "%lld", (long long)json_integer_value(number));
    snprintf(line, sizeof line, "%s %s %s %s %s", text_of(finding, "severity"),
             text_of(finding, "check"), text_of(finding, "metric"), nodes, rank);
    lines_add(lines, line);
}

static inline void add_coverage(struct lines *lines, const json_t *entry)
{
    char line[2048];
    bool neutral = strcmp(text_of(entry, "class"), "informative") == 0 ||
                   json_is_string(json_object_get(entry, "substitute"));
    snprintf(line, sizeof line, "%s %s ", neutral ? "neutral" : "missing",
             text_of(entry, "check"));
    size_t used = strlen(line);
    for (const char *c = text_of(entry, "what"); *c && used + 1 < sizeof line; c++)
        line[used++] = *c == ' ' ? '_' : *c;
    snprintf(line + used, sizeof line - used, " %s", text_of(entry, "node"));
    lines_add(lines, line);
}

/* The report's essence, sorted. */
static inline struct lines essence_of(const json_t *report)
{
    struct lines lines = {0};
    char line[4096];
    size_t i;
    json_t *entry;
    snprintf(line, sizeof line, "verdict %s", text_of(report, "verdict"));
    lines_add(&lines, line);
    if (strcmp(text_of(report, "verdict"), "FAIL") == 0) {
        snprintf(line, sizeof line, "bad %s", text_of(report, "bad_nodes"));
        lines_add(&lines, line);
    }
    json_array_foreach(json_object_get(report, "findings"), i, entry)
        add_finding(&lines, report, entry);
    json_array_foreach(json_object_get(report, "coverage"), i, entry)
        add_coverage(&lines, entry);
    lines_sort(&lines);
    return lines;
}

/* Judges, with one rule left out (NULL: none). The report is a new reference. */
static inline json_t *judge_text(const struct fc_journal_text *journal,
                                 const char *without)
{
    json_t *report = NULL;
    struct fc_error err = {""};
    enum fc_status status = fc_judge_without(journal, NULL, without, &report, &err);
    if (status != FC_OK)
        fail_msg("judge: %s", err.text);
    return report;
}

/* "TOP/tests/fixtures/NAME" into `out`. */
static inline void fixture_path(const char *name, char *out, size_t room)
{
    const char *top = getenv("top_srcdir");
    snprintf(out, room, "%s/tests/fixtures/%s", top ? top : ".", name);
}

/* Names of the cases in fixtures/judge, without ".jsonl", sorted. */
static inline struct lines fixture_names(void)
{
    struct lines names = {0};
    char path[4096];
    fixture_path("judge", path, sizeof path);
    DIR *dir = opendir(path);
    if (!dir)
        fail_msg("%s cannot be read", path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char *end = strstr(entry->d_name, ".jsonl");
        if (!end || strcmp(end, ".jsonl") != 0)
            continue;
        *end = '\0';
        lines_add(&names, entry->d_name);
    }
    closedir(dir);
    lines_sort(&names);
    return names;
}

static inline struct fc_journal_text fixture_journal(const char *name)
{
    char path[4096], file[300];
    snprintf(file, sizeof file, "judge/%s.jsonl", name);
    fixture_path(file, path, sizeof path);
    char *text = read_text(path);
    struct fc_journal_text journal = journal_of(text);
    free(text);
    return journal;
}

static inline struct lines fixture_expectation(const char *name)
{
    char path[4096], file[300];
    snprintf(file, sizeof file, "judge/%s.expect", name);
    fixture_path(file, path, sizeof path);
    char *text = read_text(path);
    struct lines lines = lines_split(text);
    free(text);
    lines_sort(&lines);
    return lines;
}

static inline void print_difference(const char *name, const struct lines *want,
                                    const struct lines *have)
{
    for (size_t i = 0; i < want->count; i++)
        print_message("# %s wants: %s\n", name, want->line[i]);
    for (size_t i = 0; i < have->count; i++)
        print_message("# %s has:   %s\n", name, have->line[i]);
}

#endif
