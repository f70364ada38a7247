// SPDX-License-Identifier: BSD-3-Clause
/* Profiles from INI text, by inih. inih does not tell a handler its line, so the
 * lines are handed to it one by one and counted here. */
#include "judge/profile.h"

#include "core/units.h"
#include "judge/expectation.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* inih cuts longer lines without a word. */
enum { MAX_LINE = 190, MAX_FILE = 1 << 20 };

struct loader {
    const char *path;
    const char *next; /* what the reader hands out */
    int line;
    json_t *profile;
    json_t *seen; /* "section.key" -> true */
    enum fc_status status;
    struct fc_error *err;
};

json_t *fc_profile_default(void)
{
    struct fc_expectation builtin;
    if (fc_expectation_open(NULL, &builtin, NULL) != FC_OK)
        return NULL;
    json_t *profile = fc_expectation_json(&builtin);
    fc_expectation_close(&builtin);
    return profile;
}

static bool is_section(const char *name, size_t length)
{
    static const char *const known[] = {"run", "floor", "effect", "expect"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == length && strncmp(known[i], name, length) == 0)
            return true;
    return false;
}

/* inih passes over a section without keys, so a misspelt one is caught here. */
static enum fc_status check_section(struct loader *l, const char *line)
{
    line += strspn(line, " \t\xEF\xBB\xBF");
    if (*line != '[')
        return FC_OK;
    size_t length = strcspn(line + 1, "]");
    if (line[1 + length] == '\0')
        return fc_fail(l->err, FC_USAGE, "%.200s:%d: '%.60s' has no ']'", l->path,
                       l->line, line);
    if (is_section(line + 1, length))
        return FC_OK;
    return fc_fail(l->err, FC_USAGE,
                   "%.200s:%d: section [%.*s] is not one of [run] [floor] [effect] "
                   "[expect]",
                   l->path, l->line, (int)(length > 60 ? 60 : length), line + 1);
}

/* Like fgets, over the text in memory. */
static char *next_line(char *out, int room, void *arg)
{
    struct loader *l = arg;
    size_t length = strcspn(l->next, "\n");
    if (*l->next == '\0' || l->status != FC_OK)
        return NULL;
    l->line++;
    if (length > MAX_LINE || length + 2 > (size_t)room) {
        l->status = fc_fail(l->err, FC_USAGE,
                            "%.200s:%d: line is longer than %d "
                            "characters",
                            l->path, l->line, MAX_LINE);
        return NULL;
    }
    memcpy(out, l->next, length);
    out[length] = '\0';
    l->next += length + (l->next[length] == '\n');
    l->status = check_section(l, out);
    return l->status == FC_OK ? out : NULL;
}

static enum fc_status set_share(struct loader *l, const char *section, const char *key,
                                const char *value)
{
    bool floor = strcmp(section, "floor") == 0;
    double share;
    if (!fc_metric_find(key))
        return fc_fail(l->err, FC_USAGE,
                       "%.200s:%d: [%s] '%.60s' is no metric; "
                       "`fabricheck list` names them",
                       l->path, l->line, section, key);
    if (!fc_parse_double(value, &share) ||
        !(floor ? fc_floor_ok(share) : fc_effect_ok(share)))
        return fc_fail(l->err, FC_USAGE,
                       "%.200s:%d: %.60s = '%.40s' is no share "
                       "(above 0 and %s 1)",
                       l->path, l->line, key, value, floor ? "at most" : "below");
    json_object_set_new(json_object_get(l->profile, section), key, json_real(share));
    return FC_OK;
}

static enum fc_status set_expect(struct loader *l, const char *key, const char *value)
{
    static const char *const keys[] = {"nodes", "gpus", "nics", "nic_gbps"};
    int64_t count;
    size_t i = 0;
    while (i < sizeof keys / sizeof *keys && strcmp(key, keys[i]) != 0)
        i++;
    if (i == sizeof keys / sizeof *keys)
        return fc_fail(l->err, FC_USAGE,
                       "%.200s:%d: [expect] knows 'nodes', 'gpus', 'nics' and "
                       "'nic_gbps', not '%.60s'",
                       l->path, l->line, key);
    bool none = strcmp(key, "gpus") == 0 || strcmp(key, "nics") == 0;
    if (!fc_parse_int(value, &count) || !fc_expect_ok(count) || (count == 0 && !none))
        return fc_fail(l->err, FC_USAGE,
                       "%.200s:%d: %s = '%.40s' is no number of "
                       "%s",
                       l->path, l->line, key, value, key);
    json_object_set_new(json_object_get(l->profile, "expect"), key,
                        json_integer(count));
    return FC_OK;
}

static enum fc_status set_run(struct loader *l, const char *key, const char *value)
{
    json_t *run = json_object_get(l->profile, "run");
    if (!run) {
        run = json_object();
        json_object_set_new(l->profile, "run", run);
    }
    if (json_object_set_new(run, key, json_string(value)) != 0)
        return fc_fail(l->err, FC_USAGE, "%.200s:%d: %.60s is no UTF-8 text", l->path,
                       l->line, key);
    return FC_OK;
}

static enum fc_status check_twice(struct loader *l, const char *section,
                                  const char *key)
{
    char name[2 * MAX_LINE];
    snprintf(name, sizeof name, "%s.%s", section, key);
    if (json_object_get(l->seen, name))
        return fc_fail(l->err, FC_USAGE,
                       "%.200s:%d: [%.60s] %.60s is given twice "
                       "or over several lines",
                       l->path, l->line, section, key);
    if (json_object_set_new(l->seen, name, json_true()) != 0)
        return fc_fail(l->err, FC_USAGE, "%.200s:%d: no UTF-8 text", l->path, l->line);
    return FC_OK;
}

static int take(void *arg, const char *section, const char *key, const char *value)
{
    struct loader *l = arg;
    if (l->status != FC_OK)
        return 0;
    l->status = check_twice(l, section, key);
    if (l->status != FC_OK)
        return 0;
    if (strcmp(section, "floor") == 0 || strcmp(section, "effect") == 0)
        l->status = set_share(l, section, key, value);
    else if (strcmp(section, "expect") == 0)
        l->status = set_expect(l, key, value);
    else if (strcmp(section, "run") == 0)
        l->status = set_run(l, key, value);
    else
        l->status = fc_fail(l->err, FC_USAGE,
                            "%.200s:%d: '%.60s' stands in no "
                            "section",
                            l->path, l->line, key);
    return l->status == FC_OK;
}

/* The file as malloc'd text. */
static enum fc_status slurp(const char *path, char **out, struct fc_error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fc_fail(err, FC_USAGE, "'%.300s': %s", path, strerror(errno));
    char *text = malloc(MAX_FILE + 1);
    size_t bytes = text ? fread(text, 1, MAX_FILE + 1, file) : 0;
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (!text)
        return fc_fail(err, FC_NOMEM, "out of memory for the profile");
    if (failed || bytes > MAX_FILE || memchr(text, '\0', bytes)) {
        free(text);
        return fc_fail(err, FC_USAGE, "'%.300s': %s", path,
                       failed ? strerror(failed)
                              : "not a profile: too long or not text");
    }
    text[bytes] = '\0';
    *out = text;
    return FC_OK;
}

static enum fc_status parse(struct loader *l)
{
    int bad_line = ini_parse_stream(next_line, l, take, l);
    if (l->status == FC_OK && bad_line > 0)
        l->status = fc_fail(l->err, FC_USAGE,
                            "%.200s:%d: neither [section] nor "
                            "key = value",
                            l->path, bad_line);
    else if (l->status == FC_OK && bad_line < 0)
        l->status = fc_fail(l->err, FC_NOMEM, "out of memory for the profile");
    return l->status;
}

enum fc_status fc_profile_load(const char *path, json_t **out, struct fc_error *err)
{
    char *text = NULL;
    enum fc_status status = slurp(path, &text, err);
    if (status != FC_OK)
        return status;
    struct loader l = {.path = path,
                       .next = text,
                       .profile = fc_profile_default(),
                       .seen = json_object(),
                       .err = err};
    const char *slash = strrchr(path, '/');
    if (!l.profile || !l.seen)
        status = fc_fail(err, FC_NOMEM, "out of memory for the profile");
    if (status == FC_OK)
        status = parse(&l);
    if (status == FC_OK &&
        json_object_set_new(l.profile, "name", json_string(slash ? slash + 1 : path)) !=
            0)
        status = fc_fail(err, FC_USAGE, "the file's name is no UTF-8 text");
    json_decref(l.seen);
    free(text);
    if (status != FC_OK) {
        json_decref(l.profile);
        return status;
    }
    *out = l.profile;
    return FC_OK;
}
