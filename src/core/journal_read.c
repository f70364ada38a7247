// SPDX-License-Identifier: BSD-3-Clause
/* The journal's reader: whole lines in, JSON objects out, spools merged, twins
 * dropped. */
#include "core/journal.h"
#include "core/journal_parse.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is being read, and what was read so far. */
struct reading {
    struct fc_journal_text text;
    size_t room;
    json_t *seen; /* "src" of each line: true */
    struct fc_journal_parser *parser;
};

static enum fc_status add_line(struct reading *r, json_t *line, struct fc_error *err)
{
    struct fc_journal_text *text = &r->text;
    if (text->lines == r->room) {
        size_t larger = r->room ? 2 * r->room : 256;
        json_t **lines = realloc(text->line, larger * sizeof *lines);
        if (!lines) {
            json_decref(line);
            return fc_fail(err, FC_NOMEM, "out of memory for the journal's lines");
        }
        text->line = lines;
        r->room = larger;
    }
    text->line[text->lines++] = line;
    return FC_OK;
}

/* A twin of an earlier line is dropped. */
static bool is_twin(json_t *seen, const json_t *line)
{
    const char *src = json_string_value(json_object_get(line, "src"));
    if (!src)
        return false;
    if (json_object_get(seen, src))
        return true;
    json_object_set_new(seen, src, json_true());
    return false;
}

static enum fc_status read_file(const char *path, struct reading *r,
                                struct fc_error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fc_fail(err, FC_USAGE, "'%.300s': cannot be read: %s", path,
                       strerror(errno));
    char *line = NULL;
    size_t line_room = 0;
    enum fc_status status = FC_OK;
    ssize_t length;
    errno = 0;
    while (status == FC_OK && (length = getline(&line, &line_room, file)) > 0) {
        bool whole = line[length - 1] == '\n';
        json_t *object = fc_journal_parse(r->parser, line, (size_t)length);
        if (!json_is_string(json_object_get(object, "type"))) {
            json_decref(object);
            if (whole)
                r->text.bad_lines++;
            else
                r->text.cut = true;
        } else if (is_twin(r->seen, object)) {
            json_decref(object);
        } else {
            status = add_line(r, object, err);
        }
    }
    if (status == FC_OK && ferror(file))
        status = fc_fail(err, FC_USAGE, "'%.300s': cannot be read: %s", path,
                         strerror(errno));
    free(line);
    fclose(file);
    return status;
}

static bool is_spool(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return strncmp(entry->d_name, "spool-", 6) == 0 && length > 12 &&
           strcmp(entry->d_name + length - 6, ".jsonl") == 0;
}

static int spool_filter(const struct dirent *entry)
{
    return is_spool(entry);
}

static enum fc_status read_spools(const char *dir, struct reading *r,
                                  struct fc_error *err)
{
    struct dirent **entry = NULL;
    int count = scandir(dir, &entry, spool_filter, versionsort);
    enum fc_status status = FC_OK;
    for (int i = 0; i < count; i++) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s", dir, entry[i]->d_name);
        if (status == FC_OK && n > 0 && (size_t)n < sizeof path) {
            status = read_file(path, r, err);
            r->text.spools++;
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

static enum fc_status check_head(const char *path, const struct fc_journal_text *text,
                                 struct fc_error *err)
{
    if (text->lines == 0)
        return fc_fail(err, FC_USAGE,
                       "'%.300s': no journal: it has no whole line of JSON", path);
    const char *type = json_string_value(json_object_get(text->line[0], "type"));
    const char *schema = json_string_value(json_object_get(text->line[0], "schema"));
    if (strcmp(type, "run") != 0)
        return fc_fail(err, FC_USAGE,
                       "'%.300s': no journal: its first line is no 'run' line", path);
    if (!schema || strcmp(schema, FC_JOURNAL_SCHEMA) != 0)
        return fc_fail(err, FC_USAGE,
                       "'%.300s': schema '%.60s' is not " FC_JOURNAL_SCHEMA, path,
                       schema ? schema : "(none)");
    return FC_OK;
}

enum fc_status fc_journal_read(const char *path, struct fc_journal_text *out,
                               struct fc_error *err)
{
    struct stat st;
    char file[4096], dir[4096];
    if (stat(path, &st) != 0)
        return fc_fail(err, FC_USAGE, "'%.300s': cannot be read: %s", path,
                       strerror(errno));
    bool folder = S_ISDIR(st.st_mode);
    snprintf(file, sizeof file, folder ? "%.3900s/" FC_JOURNAL_NAME : "%.3900s", path);
    snprintf(dir, sizeof dir, "%s", file);
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
    struct reading r = {.seen = json_object(), .parser = fc_journal_parser_open()};
    enum fc_status status =
        r.seen && r.parser ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory");
    if (status == FC_OK)
        status = read_file(file, &r, err);
    if (status == FC_OK)
        status = check_head(file, &r.text, err);
    if (status == FC_OK)
        status = read_spools(slash ? dir : ".", &r, err);
    fc_journal_parser_close(r.parser);
    json_decref(r.seen);
    if (status != FC_OK) {
        fc_journal_text_free(&r.text);
        return status;
    }
    *out = r.text;
    return FC_OK;
}

void fc_journal_text_free(struct fc_journal_text *text)
{
    for (size_t i = 0; i < text->lines; i++)
        json_decref(text->line[i]);
    free(text->line);
    *text = (struct fc_journal_text){0};
}
