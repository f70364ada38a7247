// SPDX-License-Identifier: BSD-3-Clause
/* Slurm's topology.conf: lines of KEY=VALUE, the first of which names a switch or a
 * block; and the address that Slurm gives each task. */
#include "topology/switches_parts.h"

#include "core/hostlist.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct fc_span no_rail = {"", 0};

/* --- lines --- */

/* What is left of it before a comment. */
static struct fc_span without_comment(struct fc_span line)
{
    for (size_t i = 0; i < line.bytes; i++)
        if (line.at[i] == '#' && (i == 0 || line.at[i - 1] != '\\'))
            line.bytes = i;
    return fc_span_trim(line);
}

/* One line and those that continue it after a backslash, joined. */
struct joined {
    char *text;
    size_t bytes, room;
    size_t number, lines; /* of its first line, from 1; read so far */
};

static bool append(struct joined *j, struct fc_span span)
{
    if (j->bytes + span.bytes + 1 > j->room) {
        size_t room = 2 * (j->room + span.bytes) + 256;
        char *more = realloc(j->text, room);
        if (!more)
            return false;
        j->text = more;
        j->room = room;
    }
    memcpy(j->text + j->bytes, span.at, span.bytes);
    j->bytes += span.bytes;
    j->text[j->bytes++] = ' ';
    return true;
}

/* False at the end of the text, and when memory is short (*nomem). */
static bool next_line(struct fc_span *text, struct joined *j, bool *nomem)
{
    struct fc_span line;
    bool more = true, any = false;
    j->bytes = 0;
    j->number = j->lines + 1;
    while (more && fc_span_line(text, &line)) {
        any = true;
        j->lines++;
        line = without_comment(line);
        more = line.bytes && line.at[line.bytes - 1] == '\\';
        line.bytes -= more;
        if (!append(j, line)) {
            *nomem = true;
            return false;
        }
    }
    return any;
}

/* --- words --- */

struct setting {
    struct fc_span key, value;
};

static bool is_key(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Takes KEY=VALUE or KEY="VALUE" from the line; false: that is not what comes next. */
static bool take_setting(struct fc_span *line, struct setting *out)
{
    struct fc_span rest = fc_span_trim(*line);
    out->key = (struct fc_span){rest.at, 0};
    while (out->key.bytes < rest.bytes && is_key(rest.at[out->key.bytes]))
        out->key.bytes++;
    rest.at += out->key.bytes;
    rest.bytes -= out->key.bytes;
    rest = fc_span_trim(rest);
    if (out->key.bytes == 0 || rest.bytes == 0 || *rest.at != '=')
        return false;
    rest.at++;
    rest.bytes--;
    rest = fc_span_trim(rest);
    if (rest.bytes && *rest.at == '"') {
        const char *end = memchr(rest.at + 1, '"', rest.bytes - 1);
        if (!end)
            return false;
        out->value = (struct fc_span){rest.at + 1, (size_t)(end - rest.at) - 1};
        rest.bytes -= (size_t)(end - rest.at) + 1;
        rest.at = end + 1;
    } else {
        out->value = fc_span_word(&rest);
    }
    *line = fc_span_trim(rest);
    return true;
}

static bool is(const struct setting *s, const char *key)
{
    return s->key.bytes == strlen(key) &&
           strncasecmp(s->key.at, key, s->key.bytes) == 0;
}

bool fc_switches_slurm_line(struct fc_span line)
{
    struct setting s;
    line = without_comment(line);
    return take_setting(&line, &s) &&
           (is(&s, "SwitchName") || is(&s, "BlockName") || is(&s, "BlockSizes"));
}

/* --- a switch and its nodes --- */

struct taking {
    struct fc_switches_list *list;
    struct fc_span leaf;
};

static enum fc_status take_node(void *arg, const char *name, struct fc_error *err)
{
    const struct taking *t = arg;
    struct fc_span node = {name, strlen(name)};
    return fc_switches_add(t->list, node, no_rail, t->leaf, err);
}

static enum fc_status read_settings(struct fc_span line, struct fc_switches_list *out,
                                    struct fc_error *err)
{
    struct taking taking = {.list = out};
    struct fc_span nodes = {"", 0};
    struct setting s;
    while (line.bytes) {
        if (!take_setting(&line, &s))
            return fc_fail(err, FC_USAGE, "'%.*s' is no KEY=VALUE",
                           (int)(line.bytes < 60 ? line.bytes : 60), line.at);
        if (is(&s, "SwitchName") || is(&s, "BlockName"))
            taking.leaf = s.value;
        else if (is(&s, "Nodes"))
            nodes = s.value;
    }
    if (nodes.bytes && taking.leaf.bytes == 0)
        return fc_fail(err, FC_USAGE, "nodes of no switch or block");
    size_t left = out->places < FC_SWITCHES_NODES ? FC_SWITCHES_NODES - out->places : 0;
    return fc_hostlist_expand(nodes.at, nodes.bytes, left, take_node, &taking, err);
}

enum fc_status fc_switches_slurm(struct fc_span text, struct fc_switches_list *out,
                                 struct fc_error *err)
{
    struct joined j = {0};
    bool nomem = false;
    enum fc_status status = FC_OK;
    while (status == FC_OK && next_line(&text, &j, &nomem)) {
        struct fc_span line = fc_span_trim((struct fc_span){j.text, j.bytes});
        status = read_settings(line, out, err);
        if (status == FC_USAGE)
            fc_prefix(err, "line %zu", j.number);
    }
    free(j.text);
    return nomem ? fc_fail(err, FC_NOMEM, "out of memory for the switches") : status;
}

/* --- what Slurm tells a task --- */

/* How many levels the pattern has; 0 when the last is no node. */
static size_t levels_of(const char *pattern)
{
    const char *last = strrchr(pattern, '.');
    size_t levels = 1;
    if (strcmp(last ? last + 1 : pattern, "node") != 0)
        return 0;
    for (const char *c = pattern; *c; c++)
        levels += *c == '.';
    return levels;
}

/* The same host, as far as both names tell. */
static bool same_host(const char *a, const char *b)
{
    size_t a_bytes = strcspn(a, "."), b_bytes = strcspn(b, ".");
    if (a[a_bytes] && b[b_bytes])
        return strcmp(a, b) == 0;
    return a_bytes == b_bytes && strncmp(a, b, a_bytes) == 0;
}

static enum fc_status take_switch(void *arg, const char *name, struct fc_error *err)
{
    json_t *text = json_string(name);
    (void)err;
    return text && json_array_append_new(arg, text) == 0 ? FC_OK : FC_NOMEM;
}

json_t *fc_switches_addr(const char *addr, const char *pattern, const char *node,
                         const char *host)
{
    enum { SWITCHES_MAX = 64 };
    size_t levels = addr && pattern ? levels_of(pattern) : 0;
    const char *leaf = NULL, *rest = addr;
    struct fc_error ignored;
    /* Names of nodes may have dots; so levels are counted from the left. */
    for (size_t i = 1; i < levels && rest; i++) {
        leaf = rest;
        rest = strchr(rest, '.');
        rest = rest ? rest + 1 : NULL;
    }
    if (!leaf || !rest || (!same_host(rest, node) && !same_host(rest, host)))
        return NULL;
    json_t *list = json_array();
    if (fc_hostlist_expand(leaf, (size_t)(rest - leaf) - 1, SWITCHES_MAX, take_switch,
                           list, &ignored) != FC_OK ||
        json_array_size(list) == 0) {
        json_decref(list);
        return NULL;
    }
    if (json_array_size(list) > 1)
        return list;
    json_t *one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}
