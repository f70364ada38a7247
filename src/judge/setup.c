// SPDX-License-Identifier: BSD-3-Clause
#include "judge/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fc_setup_member(const json_t *object, const char *key)
{
    const char *s = fc_ev_text(object, key);
    return s ? s : "";
}

/* `key` among the facts of the node itself. */
static const json_t *own_fact(const struct fc_evidence *ev, size_t node,
                              const char *key)
{
    size_t n;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    for (size_t i = 0; i < n; i++) {
        const json_t *value =
            fact[i].rank < 0 ? json_object_get(fact[i].facts, key) : NULL;
        if (value)
            return value;
    }
    return NULL;
}

const json_t *fc_setup_array(const struct fc_evidence *ev, size_t node, const char *key)
{
    const json_t *value = own_fact(ev, node, key);
    return json_is_array(value) ? value : NULL;
}

const json_t *fc_setup_object(const struct fc_evidence *ev, size_t node,
                              const char *key)
{
    const json_t *value = own_fact(ev, node, key);
    return json_is_object(value) ? value : NULL;
}

const char *fc_setup_text(const struct fc_evidence *ev, size_t node, const char *key)
{
    const char *s = json_string_value(own_fact(ev, node, key));
    return s ? s : "";
}

bool fc_setup_has_verbs(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_setup_array(ev, node, "topo.ports");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_true(json_object_get(json_array_get(list, i), "fabric")))
            return true;
    return false;
}

size_t fc_setup_gpus(const struct fc_evidence *ev, size_t node, const char *iommu)
{
    const json_t *list = fc_setup_array(ev, node, "topo.functions");
    size_t gpus = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        gpus += json_is_object(o) && strcmp(fc_setup_member(o, "what"), "gpu") == 0 &&
                strncmp(fc_setup_member(o, "iommu"), iommu, strlen(iommu)) == 0;
    }
    return gpus;
}

bool fc_setup_has_function(const struct fc_evidence *ev, size_t node, const char *what,
                           const char *id)
{
    const json_t *list = fc_setup_array(ev, node, "topo.functions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        if (json_is_object(o) && strcmp(fc_setup_member(o, "what"), what) == 0 &&
            strncmp(fc_setup_member(o, "id"), id, strlen(id)) == 0)
            return true;
    }
    return false;
}

const char *fc_setup_word(const char *words, const char *name)
{
    size_t length = strlen(name);
    while (*words) {
        size_t end = strcspn(words, " ");
        if (end > length && strncmp(words, name, length) == 0 && words[length] == '=')
            return words;
        words += end;
        words += strspn(words, " ");
    }
    return NULL;
}

const char *fc_setup_nccl(const struct fc_evidence *ev, size_t node, const json_t *rank,
                          const char *name, const char **out_from)
{
    static const char system_wide[] = "/etc/nccl.conf";
    const json_t *files = fc_setup_object(ev, node, "nccl.conf");
    size_t skip = strlen(name) + 1;
    const char *file, *word;
    const json_t *words;
    *out_from = "the environment";
    if ((word = fc_setup_word(fc_setup_member(rank, "env.nccl"), name)))
        return word + skip;
    json_object_foreach((json_t *)(uintptr_t)files, file, words)
    {
        word = json_is_string(words) && strcmp(file, system_wide) != 0
                   ? fc_setup_word(json_string_value(words), name)
                   : NULL;
        *out_from = file;
        if (word)
            return word + skip;
    }
    *out_from = system_wide;
    word = fc_setup_word(fc_setup_member(files, system_wide), name);
    return word ? word + skip : NULL;
}

struct verdicts {
    size_t *node[3], count[3]; /* by level */
    struct fc_setup_why why[3];
};

static void report_level(const struct fc_case *c, const struct fc_finding *base,
                         const struct verdicts *v, enum fc_setup_level level,
                         const char *what)
{
    struct fc_finding f = *base;
    size_t count = v->count[level];
    const struct fc_setup_why *why = &v->why[level];
    if (count == 0)
        return;
    f.severity = level == FC_SETUP_WARN ? FC_SEV_WARN : FC_SEV_INFO;
    f.odd = v->node[level];
    f.odds = count;
    f.node = count == 1 ? f.odd[0] : FC_NONE;
    if (count == 1)
        fc_find(c->out, &f, "%s%s%s", what, why->s[0] ? ": " : "", why->s);
    else if (why->s[0])
        fc_find(c->out, &f, "%s: %s (%s: %s)", what, fc_hosts(c->ev, f.odd, count).s,
                fc_clip(c->ev->node[f.odd[0]].name).s, why->s);
    else
        fc_find(c->out, &f, "%s: %s", what, fc_hosts(c->ev, f.odd, count).s);
}

void fc_setup_report(const struct fc_case *c, const struct fc_finding *base,
                     fc_setup_fn is_so, const char *what)
{
    struct verdicts v = {{NULL}, {0}, {{""}}};
    for (size_t i = 0; i < 3; i++)
        if (!(v.node[i] = malloc((c->ev->nodes + 1) * sizeof *v.node[i])))
            c->out->status = FC_NOMEM;
    for (size_t i = 0; i < c->ev->nodes && v.node[0] && v.node[1] && v.node[2]; i++) {
        struct fc_setup_why why = {""};
        enum fc_setup_level level = is_so(c, i, &why);
        if (v.count[level] == 0)
            v.why[level] = why;
        v.node[level][v.count[level]++] = i;
    }
    report_level(c, base, &v, FC_SETUP_WARN, what);
    report_level(c, base, &v, FC_SETUP_INFO, what);
    for (size_t i = 0; i < 3; i++)
        free(v.node[i]);
}
