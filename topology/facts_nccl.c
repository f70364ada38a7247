// SPDX-License-Identifier: BSD-3-Clause
/* NCCL's files of variables. It reads NCCL_CONF_FILE or else ~/.nccl.conf, then
 * /etc/nccl.conf: lines NAME=value, "#" begins a comment; the environment comes before
 * the first file, and that before the second. Which counts where two disagree is the
 * judge's to say: a rank's environment is its own. */
#include "topology/facts_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 16 * 1024, LINES_MAX = 256 };

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A value's blanks would make two words of it. */
static void join_blanks(char *word)
{
    for (; *word; word++)
        if (*word == ' ' || *word == '\t')
            *word = '_';
}

/* The lines of `text` that set a variable of NCCL, sorted, as words; of a name that is
 * set twice the first counts. */
static json_t *words_json(char *text)
{
    char *line[LINES_MAX], *save = NULL;
    char joined[FILE_BYTES + LINES_MAX] = "";
    size_t n = 0, used = 0;
    for (char *l = strtok_r(text, "\n", &save); l && n < LINES_MAX;
         l = strtok_r(NULL, "\n", &save)) {
        size_t name = strcspn(l, "=");
        bool twice = false;
        for (size_t i = 0; i < n; i++)
            twice |= strncmp(line[i], l, name + 1) == 0;
        if (strncmp(l, "NCCL_", 5) == 0 && l[name] == '=' && !twice)
            line[n++] = l;
    }
    qsort(line, n, sizeof *line, by_text);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(line[i]);
        while (length > 0 && strchr(" \t\r", line[i][length - 1]))
            line[i][--length] = '\0';
        join_blanks(line[i]);
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s",
                                 i ? " " : "", line[i]);
    }
    return fc_facts_string(joined);
}

/* False: there is a file and it cannot be read, `gap` says why. */
static bool add_file(const struct fc_source *source, struct fc_facts *out, json_t *all,
                     const char *path, const char *shown, struct fc_gap *gap)
{
    char text[FILE_BYTES];
    if (!fc_source_read(source, path, text, sizeof text, gap))
        return strcmp(gap->reason, "ENOENT") == 0;
    if (json_object_set_new(all, shown, words_json(text)) != 0)
        out->short_of_memory = true;
    return true;
}

void fc_facts_nccl(const struct fc_source *source, struct fc_facts *out)
{
    const char *given = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
    char path[1024];
    struct fc_gap gap;
    bool good = true;
    json_t *all = json_object();
    if (given && *given) {
        good = add_file(source, out, all, given, given, &gap);
    } else if (home && *home == '/') {
        snprintf(path, sizeof path, "%.1000s/.nccl.conf", home);
        good = add_file(source, out, all, path, "~/.nccl.conf", &gap);
    }
    if (good)
        good = add_file(source, out, all, "/etc/nccl.conf", "/etc/nccl.conf", &gap);
    if (good) {
        fc_facts_set(out, "nccl.conf", all);
        return;
    }
    json_decref(all);
    fc_facts_gap(out, "nccl.conf", &gap);
}
