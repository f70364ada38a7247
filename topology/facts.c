// SPDX-License-Identifier: BSD-3-Clause
#include "topology/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { TEXT_BYTES = 8192 };

enum fc_status fc_facts_init(struct fc_facts *facts, struct fc_error *err)
{
    facts->values = json_object();
    facts->unreadable = json_object();
    facts->short_of_memory = false;
    if (facts->values && facts->unreadable)
        return FC_OK;
    fc_facts_fini(facts);
    return fc_fail(err, FC_NOMEM, "facts: out of memory");
}

void fc_facts_fini(struct fc_facts *facts)
{
    json_decref(facts->values);
    json_decref(facts->unreadable);
    facts->values = facts->unreadable = NULL;
}

enum fc_status fc_facts_check(const struct fc_facts *facts, struct fc_error *err)
{
    if (facts->short_of_memory)
        return fc_fail(err, FC_NOMEM, "facts: out of memory");
    return FC_OK;
}

void fc_facts_set(struct fc_facts *facts, const char *key, json_t *value)
{
    if (json_object_set_new(facts->values, key, value) != 0)
        facts->short_of_memory = true;
    json_object_del(facts->unreadable, key);
}

json_t *fc_facts_string(const char *text)
{
    size_t n = strnlen(text, TEXT_BYTES);
    char *clean = malloc(n + 1);
    if (!clean)
        return NULL;
    memcpy(clean, text, n);
    clean[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)clean[i] < ' ' || clean[i] == 0x7f)
            clean[i] = '?';
    json_t *json = json_stringn(clean, n);
    for (size_t i = 0; !json && i < n; i++)
        if ((unsigned char)clean[i] >= 0x80)
            clean[i] = '?';
    if (!json)
        json = json_stringn(clean, n);
    free(clean);
    return json;
}

void fc_facts_text(struct fc_facts *facts, const char *key, const char *text)
{
    fc_facts_set(facts, key, fc_facts_string(text));
}

void fc_facts_int(struct fc_facts *facts, const char *key, int64_t value)
{
    fc_facts_set(facts, key, json_integer(value));
}

void fc_facts_limit(struct fc_facts *facts, const char *key, int64_t value)
{
    if (value < 0)
        fc_facts_text(facts, key, "unlimited");
    else
        fc_facts_int(facts, key, value);
}

void fc_facts_gap(struct fc_facts *facts, const char *key, const struct fc_gap *gap)
{
    if (json_object_get(facts->values, key))
        return;
    json_t *json = json_object();
    if (json_object_set_new(json, "reason", json_string(gap->reason)) != 0 ||
        json_object_set_new(json, "right", fc_facts_string(gap->right)) != 0)
        facts->short_of_memory = true;
    if (json_object_set_new(facts->unreadable, key, json) != 0)
        facts->short_of_memory = true;
}

bool fc_facts_file(struct fc_facts *facts, const char *key,
                   const struct fc_source *source, const char *path)
{
    char text[TEXT_BYTES];
    struct fc_gap gap;
    bool read = fc_source_read(source, path, text, sizeof text, &gap);
    if (read)
        fc_facts_text(facts, key, text);
    else
        fc_facts_gap(facts, key, &gap);
    return read;
}

bool fc_facts_int_file(struct fc_facts *facts, const char *key,
                       const struct fc_source *source, const char *path)
{
    int64_t value;
    struct fc_gap gap;
    bool read = fc_source_int(source, path, &value, &gap);
    if (read)
        fc_facts_int(facts, key, value);
    else
        fc_facts_gap(facts, key, &gap);
    return read;
}

void fc_facts_merge(struct fc_facts *facts, const json_t *from)
{
    const char *key;
    json_t *value, *object = json_object_get(from, "facts");
    json_object_foreach(object, key, value)
        fc_facts_set(facts, key, json_incref(value));
    object = json_object_get(from, "unreadable");
    json_object_foreach(object, key,
                        value) if (!json_object_get(facts->values, key) &&
                                   json_object_set(facts->unreadable, key, value) != 0)
        facts->short_of_memory = true;
}

enum fc_status fc_facts_class(const struct fc_facts *facts, uint64_t *out_class,
                              json_t **out_picture, struct fc_error *err)
{
    /* Hardware that sets what a node can reach, and nothing that an update changes. */
    static const char *const keys[] = {
        "cpu.model",  "cpu.sockets", "cpu.cores",  "cpu.threads", "mem.gib",
        "numa.nodes", "gpu.count",   "rdma.count", "topo.class",
    };
    bool any = false, good = true;
    json_t *picture = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(facts->values, keys[i]);
        any |= value != NULL;
        good &= json_object_set_new(picture, keys[i],
                                    value ? json_incref(value) : json_null()) == 0;
    }
    char *text = good ? json_dumps(picture, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    if (!text) {
        json_decref(picture);
        return fc_fail(err, FC_NOMEM, "class of this node: out of memory");
    }
    uint64_t hash = any ? XXH64(text, strlen(text), 0) : 0;
    free(text);
    *out_class = any && hash == 0 ? 1 : hash;
    *out_picture = picture;
    return FC_OK;
}
