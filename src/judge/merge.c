// SPDX-License-Identifier: BSD-3-Clause
#include "judge/merge.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *run_line(const struct fc_journal_text *text)
{
    for (size_t i = 0; i < text->lines; i++) {
        const char *type = json_string_value(json_object_get(text->line[i], "type"));
        if (type && strcmp(type, "run") == 0)
            return text->line[i];
    }
    return NULL;
}

/* What makes a line the same as another; malloc'd. A record's seq is not part of it: a
 * record of a spool has none. */
static char *identity(const json_t *line)
{
    const char *src = json_string_value(json_object_get(line, "src"));
    char *text = NULL;
    if (!src)
        return json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS);
    return asprintf(&text, "src %s", src) < 0 ? NULL : text;
}

/* Moves the lines of `part` that are not yet in `seen`. */
static enum fc_status take(struct fc_journal_text *part, struct fc_journal_text *all,
                           json_t *seen, struct fc_error *err)
{
    for (size_t i = 0; i < part->lines; i++) {
        char *id = identity(part->line[i]);
        bool twin = id && json_object_get(seen, id);
        bool ok = id && (twin || json_object_set_new(seen, id, json_true()) == 0);
        free(id);
        if (!ok)
            return fc_fail(err, FC_NOMEM, "out of memory for %zu lines", part->lines);
        if (!twin)
            all->line[all->lines++] = json_incref(part->line[i]);
    }
    all->bad_lines += part->bad_lines;
    all->spools += part->spools;
    all->cut = all->cut || part->cut;
    return FC_OK;
}

enum fc_status fc_journal_merge(struct fc_journal_text *part, const char *const *path,
                                size_t parts, struct fc_journal_text *out,
                                struct fc_error *err)
{
    struct fc_journal_text all = {0};
    enum fc_status status = FC_OK;
    size_t lines = 1;
    if (parts == 1) { /* nothing to compare */
        *out = part[0];
        part[0] = all;
        return FC_OK;
    }
    for (size_t i = 0; i < parts; i++) {
        if (!json_equal((json_t *)(uintptr_t)run_line(&part[0]),
                        (json_t *)(uintptr_t)run_line(&part[i])))
            return fc_fail(
                err, FC_USAGE,
                "'%.200s' and '%.200s' are different runs and cannot be merged",
                path[0], path[i]);
        lines += part[i].lines;
    }
    json_t *seen = json_object();
    all.line = malloc(lines * sizeof(json_t *));
    if (!seen || !all.line)
        status = fc_fail(err, FC_NOMEM, "out of memory for %zu lines", lines);
    for (size_t i = 0; status == FC_OK && i < parts; i++)
        status = take(&part[i], &all, seen, err);
    json_decref(seen);
    if (status != FC_OK) {
        fc_journal_text_free(&all);
        return status;
    }
    for (size_t i = 0; i < parts; i++)
        fc_journal_text_free(&part[i]);
    *out = all;
    return FC_OK;
}
