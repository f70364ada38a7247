// SPDX-License-Identifier: BSD-3-Clause
/* The journal's reader: whole lines in, JSON objects out, spools merged, twins dropped.
 * The long lists of a matrix line are not parsed: as JSON values, a full schedule of
 * pairs would take ten times the memory of its text. */
#include "core/journal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_LINE = 64 << 20 }; /* a matrix line of the largest fleet is far below this */
enum { SHORT_LINE = 2048, SHORT_LIST = 64, MAX_LISTS = 16 };

/* --- one line --- */

/* Past the string that begins at `at`; NULL when it does not end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : NULL;
}

/* Past the list or object that begins at `at`; NULL when it does not end. Which bracket
 * closes which is not looked at: whoever parses the text does. */
static const char *skip_nested(const char *at, const char *end)
{
    size_t depth = 0;
    while (at && at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        at++;
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* A long list among the members of a line's object. */
struct list {
    const char *key, *text;
    int key_bytes;
    size_t bytes;
};

struct split {
    char *head; /* the line with null in place of its long lists */
    size_t bytes;
    struct list list[MAX_LISTS];
    size_t lists;
};

static void copy(struct split *s, const char *text, size_t bytes)
{
    memcpy(s->head + s->bytes, text, bytes);
    s->bytes += bytes;
}

/* Fills `s`, whose head has room for the line; false when it has no long list or is not
 * what it should be. */
static bool split_line(const char *line, size_t length, struct split *s)
{
    const char *end = line + length, *at = line, *key = NULL, *key_end = NULL;
    if (*at != '{')
        return false;
    copy(s, at++, 1);
    while (at < end) {
        const char *from = at;
        if (*at == '"') {
            key = from; /* the last string before a list is its key */
            key_end = at = skip_string(at, end);
        } else if (*at == '[' || *at == '{') {
            at = skip_nested(at, end);
        } else {
            at++;
        }
        if (!at)
            return false;
        bool list = *from == '[' && at - from > SHORT_LIST && key;
        if (list && s->lists < MAX_LISTS) {
            s->list[s->lists++] = (struct list){key + 1, from, (int)(key_end - key - 2),
                                                (size_t)(at - from)};
            copy(s, "null", 4);
        } else {
            copy(s, from, (size_t)(at - from));
        }
    }
    return s->lists > 0;
}

/* The line's object with text in place of its long lists; NULL when it is no matrix
 * line or no JSON. */
static json_t *parse_matrix(const char *line, size_t length)
{
    struct split s = {.head = malloc(length + 1)};
    json_t *object = NULL;
    if (s.head && split_line(line, length, &s))
        object = json_loadb(s.head, s.bytes, JSON_REJECT_DUPLICATES, NULL);
    free(s.head);
    const char *type = json_string_value(json_object_get(object, "type"));
    bool ok = type && strcmp(type, "matrix") == 0;
    for (size_t i = 0; ok && i < s.lists; i++) {
        char key[32];
        const struct list *l = &s.list[i];
        snprintf(key, sizeof key, "%.*s", l->key_bytes < 31 ? l->key_bytes : 31,
                 l->key);
        ok = json_is_null(json_object_get(object, key)) &&
             json_object_set_new(object, key, json_stringn(l->text, l->bytes)) == 0;
    }
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *parse_line(const char *line, size_t length)
{
    json_t *object = NULL;
    if (length > MAX_LINE)
        return NULL;
    if (length > SHORT_LINE)
        object = parse_matrix(line, length);
    return object ? object : json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
}

/* --- files --- */

static enum fc_status add_line(struct fc_journal_text *text, json_t *line, size_t *room,
                               struct fc_error *err)
{
    if (text->lines == *room) {
        size_t larger = *room ? 2 * *room : 256;
        json_t **lines = realloc(text->line, larger * sizeof *lines);
        if (!lines) {
            json_decref(line);
            return fc_fail(err, FC_NOMEM, "out of memory for the journal's lines");
        }
        text->line = lines;
        *room = larger;
    }
    text->line[text->lines++] = line;
    return FC_OK;
}

/* `seen` maps "src" to true. A twin of an earlier line is dropped. */
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

static enum fc_status read_file(const char *path, struct fc_journal_text *text,
                                size_t *room, json_t *seen, struct fc_error *err)
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
        json_t *object = parse_line(line, (size_t)length);
        if (!json_is_string(json_object_get(object, "type"))) {
            json_decref(object);
            if (whole)
                text->bad_lines++;
            else
                text->cut = true;
        } else if (is_twin(seen, object)) {
            json_decref(object);
        } else {
            status = add_line(text, object, room, err);
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

static enum fc_status read_spools(const char *dir, struct fc_journal_text *text,
                                  size_t *room, json_t *seen, struct fc_error *err)
{
    struct dirent **entry = NULL;
    int count = scandir(dir, &entry, spool_filter, versionsort);
    enum fc_status status = FC_OK;
    for (int i = 0; i < count; i++) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s", dir, entry[i]->d_name);
        if (status == FC_OK && n > 0 && (size_t)n < sizeof path) {
            status = read_file(path, text, room, seen, err);
            text->spools++;
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
    struct fc_journal_text text = {0};
    size_t room = 0;
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
    json_t *seen = json_object();
    enum fc_status status = seen ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory");
    if (status == FC_OK)
        status = read_file(file, &text, &room, seen, err);
    if (status == FC_OK)
        status = check_head(file, &text, err);
    if (status == FC_OK)
        status = read_spools(slash ? dir : ".", &text, &room, seen, err);
    json_decref(seen);
    if (status != FC_OK) {
        fc_journal_text_free(&text);
        return status;
    }
    *out = text;
    return FC_OK;
}

void fc_journal_text_free(struct fc_journal_text *text)
{
    for (size_t i = 0; i < text->lines; i++)
        json_decref(text->line[i]);
    free(text->line);
    *text = (struct fc_journal_text){0};
}
