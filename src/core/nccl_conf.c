// SPDX-License-Identifier: BSD-3-Clause
#include "core/nccl_conf.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES_MAX = 4096, FILE_BYTES_MAX = 1 << 20, TEXT_BYTES = 1024 };

struct entry {
    char *name, *value;
    const char *origin; /* borrowed: static, or of the conf */
};

struct fc_nccl_conf {
    struct entry *entry;
    size_t entries;
    char user_file[512], system_file[512];
};

static const struct entry *find(const struct fc_nccl_conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->entries; i++)
        if (strcmp(conf->entry[i].name, name) == 0)
            return &conf->entry[i];
    return NULL;
}

/* "NAME=value"; a name that is there already keeps its value. NCCL cuts both at 1023
 * bytes. */
static enum fc_status add(struct fc_nccl_conf *conf, const char *line,
                          const char *origin, struct fc_error *err)
{
    const char *equals = strchr(line, '=');
    if (!equals || equals == line || conf->entries == ENTRIES_MAX)
        return FC_OK;
    size_t length = (size_t)(equals - line);
    struct entry new = {
        .name = strndup(line, length < TEXT_BYTES ? length : TEXT_BYTES - 1),
        .value = strndup(equals + 1, TEXT_BYTES - 1),
        .origin = origin};
    struct entry *wider = NULL;
    bool known = new.name &&find(conf, new.name);
    if (new.name &&new.value && !known)
        wider = realloc(conf->entry, (conf->entries + 1) * sizeof *wider);
    if (wider) {
        conf->entry = wider;
        conf->entry[conf->entries++] = new;
        return FC_OK;
    }
    free(new.name);
    free(new.value);
    return known ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory for NCCL's variables");
}

/* A file of the user may be anything: what is longer than any of its kind is cut. */
static enum fc_status add_file(struct fc_nccl_conf *conf, const char *path,
                               struct fc_error *err)
{
    char *line = NULL;
    size_t room = 0, total = 0;
    enum fc_status status = FC_OK;
    FILE *file = path[0] ? fopen(path, "re") : NULL;
    if (!file)
        return FC_OK;
    for (ssize_t n; status == FC_OK && total < FILE_BYTES_MAX &&
                    (n = getline(&line, &room, file)) > 0;
         total += (size_t)n) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (line[0] != '#')
            status = add(conf, line, path, err);
    }
    free(line);
    fclose(file);
    return status;
}

static void set_files(struct fc_nccl_conf *conf, const struct fc_nccl_source *source)
{
    const char *named = fc_nccl_conf_get(conf, "NCCL_CONF_FILE", NULL);
    const char *home = source->home;
    if (!named && !home) {
        const struct passwd *user = getpwuid(getuid());
        home = user ? user->pw_dir : NULL;
    }
    if (named)
        snprintf(conf->user_file, sizeof conf->user_file, "%s", named);
    else if (home)
        snprintf(conf->user_file, sizeof conf->user_file, "%s/.nccl.conf", home);
    snprintf(conf->system_file, sizeof conf->system_file, "%s/etc/nccl.conf",
             source->root);
}

enum fc_status fc_nccl_conf_open(const struct fc_nccl_source *source,
                                 struct fc_nccl_conf **out, struct fc_error *err)
{
    struct fc_nccl_conf *conf = calloc(1, sizeof *conf);
    enum fc_status status = FC_OK;
    if (!conf)
        return fc_fail(err, FC_NOMEM, "out of memory for NCCL's variables");
    for (const char *const *e = source->env; e && *e && status == FC_OK; e++)
        if (strncmp(*e, "NCCL_", 5) == 0)
            status = add(conf, *e, "environment", err);
    set_files(conf, source);
    if (status == FC_OK)
        status = add_file(conf, conf->user_file, err);
    if (status == FC_OK)
        status = add_file(conf, conf->system_file, err);
    if (status == FC_OK)
        *out = conf;
    else
        fc_nccl_conf_close(conf);
    return status;
}

void fc_nccl_conf_close(struct fc_nccl_conf *conf)
{
    if (!conf)
        return;
    for (size_t i = 0; i < conf->entries; i++) {
        free(conf->entry[i].name);
        free(conf->entry[i].value);
    }
    free(conf->entry);
    free(conf);
}

const char *fc_nccl_conf_get(const struct fc_nccl_conf *conf, const char *name,
                             const char **out_origin)
{
    const struct entry *entry = find(conf, name);
    if (!entry || !entry->value[0])
        return NULL;
    if (out_origin)
        *out_origin = entry->origin;
    return entry->value;
}

int64_t fc_nccl_conf_int(const struct fc_nccl_conf *conf, const char *name,
                         int64_t fallback, bool *out_odd)
{
    const char *text = fc_nccl_conf_get(conf, name, NULL);
    char *end;
    if (out_odd)
        *out_odd = false;
    if (!text)
        return fallback;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (out_odd)
        *out_odd = errno || end == text || *end;
    return errno ? fallback : value;
}
