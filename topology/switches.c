// SPDX-License-Identifier: BSD-3-Clause
/* What the formats have in common: pieces of text, and from rails to nodes. */
#include "topology/switches_parts.h"

#include "core/hostlist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_BYTES ((size_t)256 << 20)

/* --- pieces of text --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

bool fc_span_line(struct fc_span *text, struct fc_span *out_line)
{
    if (text->bytes == 0)
        return false;
    const char *end = memchr(text->at, '\n', text->bytes);
    size_t bytes = end ? (size_t)(end - text->at) : text->bytes;
    *out_line = (struct fc_span){text->at, bytes};
    text->at += bytes + (end != NULL);
    text->bytes -= bytes + (end != NULL);
    return true;
}

struct fc_span fc_span_trim(struct fc_span span)
{
    while (span.bytes && is_blank(*span.at)) {
        span.at++;
        span.bytes--;
    }
    while (span.bytes && is_blank(span.at[span.bytes - 1]))
        span.bytes--;
    return span;
}

bool fc_span_begins(struct fc_span span, const char *word)
{
    size_t bytes = strlen(word);
    return span.bytes >= bytes && strncasecmp(span.at, word, bytes) == 0;
}

struct fc_span fc_span_word(struct fc_span *span)
{
    *span = fc_span_trim(*span);
    struct fc_span word = {span->at, 0};
    while (word.bytes < span->bytes && !is_blank(word.at[word.bytes]))
        word.bytes++;
    span->at += word.bytes;
    span->bytes -= word.bytes;
    return word;
}

/* --- places --- */

/* What JSON cannot hold, or a terminal should not be sent, becomes a question mark. */
static char *copy(struct fc_span span)
{
    char *text = malloc(span.bytes + 1);
    for (size_t i = 0; text && i < span.bytes; i++)
        text[i] = span.at[i] >= ' ' && span.at[i] <= '~' ? span.at[i] : '?';
    if (text)
        text[span.bytes] = '\0';
    return text;
}

static bool make_room(struct fc_switches_list *list)
{
    if (list->places < list->room)
        return true;
    size_t room = 2 * list->room + 64;
    struct fc_switches_place *more = realloc(list->place, room * sizeof *more);
    if (!more)
        return false;
    list->place = more;
    list->room = room;
    return true;
}

enum fc_status fc_switches_add(struct fc_switches_list *list, struct fc_span node,
                               struct fc_span rail, struct fc_span leaf,
                               struct fc_error *err)
{
    if (list->places >= FC_SWITCHES_PLACES)
        return fc_fail(err, FC_USAGE, "more than %d places of nodes at switches",
                       (int)FC_SWITCHES_PLACES);
    if (!make_room(list))
        return fc_fail(err, FC_NOMEM, "out of memory for the switches");
    struct fc_switches_place *p = &list->place[list->places];
    *p = (struct fc_switches_place){.node = copy(node),
                                    .rail = copy(rail),
                                    .leaf = copy(leaf),
                                    .order = list->places};
    list->places++;
    return p->node && p->rail && p->leaf
               ? FC_OK
               : fc_fail(err, FC_NOMEM, "out of memory for the switches");
}

static void list_fini(struct fc_switches_list *list)
{
    for (size_t i = 0; i < list->places; i++) {
        free(list->place[i].node);
        free(list->place[i].rail);
        free(list->place[i].leaf);
    }
    free(list->place);
}

static int by_rail(const void *pa, const void *pb)
{
    const struct fc_switches_place *a = pa, *b = pb;
    int order = strcmp(a->node, b->node);
    if (order == 0)
        order = fc_natural_cmp(a->rail, b->rail);
    if (order == 0)
        order = a->order < b->order ? -1 : a->order > b->order;
    return order;
}

enum { RAILS_MAX = 64 };

static bool holds(const json_t *list, const char *text)
{
    size_t i;
    json_t *value;
    json_array_foreach(list, i, value) if (strcmp(json_string_value(value), text) ==
                                           0) return true;
    return false;
}

/* Of the places [from, end), which are of one node: one a rail; of rails without a
 * name, one a switch. NULL when memory is short. */
static json_t *value_of(const struct fc_switches_place *place, size_t from, size_t end)
{
    json_t *list = json_array();
    bool one = true;
    for (size_t i = from; i < end && json_array_size(list) < RAILS_MAX; i++) {
        const struct fc_switches_place *p = &place[i];
        bool known = *p->rail ? i > from && strcmp(p->rail, p[-1].rail) == 0
                              : holds(list, p->leaf);
        if (known)
            continue;
        one = one && strcmp(p->leaf, place[from].leaf) == 0;
        json_array_append_new(list, json_string(p->leaf));
    }
    if (!one)
        return list;
    json_decref(list);
    return json_string(place[from].leaf);
}

/* The part before the first dot stands for the name as well. */
static void add_short(json_t *leaf, const char *node, json_t *value)
{
    char name[256];
    size_t bytes = strcspn(node, ".");
    if (!node[bytes] || bytes == 0 || bytes >= sizeof name)
        return;
    snprintf(name, sizeof name, "%.*s", (int)bytes, node);
    if (!json_object_get(leaf, name))
        json_object_set(leaf, name, value);
}

static enum fc_status make_values(struct fc_switches_list *list, json_t *leaf,
                                  struct fc_error *err)
{
    struct fc_switches_place *place = list->place;
    bool ok = leaf != NULL;
    if (list->places)
        qsort(place, list->places, sizeof *place, by_rail);
    for (size_t i = 0, end; ok && i < list->places; i = end) {
        for (end = i + 1;
             end < list->places && strcmp(place[end].node, place[i].node) == 0;)
            end++;
        ok = json_object_set_new(leaf, place[i].node, value_of(place, i, end)) == 0;
    }
    for (size_t i = 0; ok && i < list->places; i++)
        add_short(leaf, place[i].node, json_object_get(leaf, place[i].node));
    return ok ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory for the switches");
}

/* --- the whole --- */

enum fc_status fc_switches_parse(const char *text, size_t bytes,
                                 struct fc_switches *out, struct fc_error *err)
{
    struct fc_span all = {text, bytes}, rest = all, line;
    struct fc_switches_list list = {0};
    bool slurm = false, ib = false;
    enum fc_status status = FC_OK;
    *out = (struct fc_switches){0};
    while (!slurm && !ib && fc_span_line(&rest, &line)) {
        slurm = fc_switches_slurm_line(fc_span_trim(line));
        ib = fc_switches_ib_line(fc_span_trim(line));
    }
    if ((!slurm && !ib) || memchr(text, '\0', bytes))
        return fc_fail(
            err, FC_USAGE,
            "neither a topology.conf of Slurm nor what ibnetdiscover prints");
    status =
        slurm ? fc_switches_slurm(all, &list, err) : fc_switches_ib(all, &list, err);
    if (status == FC_OK && list.places == 0)
        status = fc_fail(err, FC_USAGE, "%s places no node at a switch",
                         slurm ? "this topology.conf" : "this output of ibnetdiscover");
    if (status == FC_OK) {
        out->from = slurm ? "topology.conf" : "ibnetdiscover";
        out->leaf = json_object();
        status = make_values(&list, out->leaf, err);
    }
    list_fini(&list);
    if (status != FC_OK)
        fc_switches_fini(out);
    return status;
}

void fc_switches_fini(struct fc_switches *switches)
{
    json_decref(switches->leaf);
    *switches = (struct fc_switches){0};
}

/* All that `in` holds, malloc'd; NULL: errno says why. */
static char *read_all(FILE *in, size_t *out_bytes)
{
    size_t room = 1 << 16, bytes = 0;
    char *text = malloc(room);
    while (text) {
        bytes += fread(text + bytes, 1, room - bytes, in);
        if (bytes < room)
            break;
        char *more = room < 2 * MAX_BYTES ? realloc(text, 2 * room) : NULL;
        if (!more) {
            free(text);
            errno = room < 2 * MAX_BYTES ? ENOMEM : EFBIG;
            return NULL;
        }
        text = more;
        room *= 2;
    }
    *out_bytes = bytes;
    if (text && ferror(in)) {
        free(text);
        return NULL;
    }
    return text;
}

enum fc_status fc_switches_read(const char *path, struct fc_switches *out,
                                struct fc_error *err)
{
    size_t bytes = 0;
    *out = (struct fc_switches){0};
    FILE *in = fopen(path, "re");
    char *text = in ? read_all(in, &bytes) : NULL;
    enum fc_status status =
        text ? FC_OK : fc_fail(err, FC_USAGE, "'%.300s': %s", path, strerror(errno));
    if (in)
        fclose(in);
    if (status == FC_OK && bytes > MAX_BYTES) {
        status = fc_fail(err, FC_USAGE, "'%.300s' is larger than 256 MiB", path);
    } else if (status == FC_OK) {
        status = fc_switches_parse(text, bytes, out, err);
        if (status != FC_OK)
            fc_prefix(err, "'%.200s'", path);
    }
    free(text);
    return status;
}

/* --- nodes --- */

const json_t *fc_switches_of(const struct fc_switches *switches, const char *node)
{
    const json_t *exact = json_object_get(switches->leaf, node);
    size_t bytes = strcspn(node, ".");
    char name[256];
    if (exact || bytes == 0 || bytes >= sizeof name)
        return exact;
    snprintf(name, sizeof name, "%.*s", (int)bytes, node);
    return json_object_get(switches->leaf, name);
}

json_t *fc_switches_told(const struct fc_switches *switches, const char *file,
                         const char *const *node, size_t nodes)
{
    const char **missing = malloc((nodes + 1) * sizeof(*missing));
    json_t *leaf = json_object(), *told = json_object();
    size_t misses = 0;
    for (size_t i = 0; missing && i < nodes; i++) {
        const json_t *value = fc_switches_of(switches, node[i]);
        if (value)
            json_object_set_new(leaf, node[i], json_deep_copy(value));
        else
            missing[misses++] = node[i];
    }
    char *list = missing && misses ? fc_hostlist(missing, misses) : NULL;
    bool ok = missing && (list || misses == 0) && told && leaf;
    free(missing);
    json_object_set_new(told, "from", json_string(switches->from));
    if (file)
        json_object_set_new(told, "file", json_string(file));
    json_object_set_new(told, "nodes", json_integer((json_int_t)(nodes - misses)));
    if (list)
        json_object_set_new(told, "missing", json_string(list));
    json_object_set_new(told, "leaf", leaf);
    free(list);
    if (!ok) {
        json_decref(told);
        told = NULL;
    }
    return told;
}
