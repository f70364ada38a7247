// SPDX-License-Identifier: BSD-3-Clause
/* What nodes of another class have otherwise than the usual node of the run. The run
 * found the differences, in words, when it had both pictures; here nodes that differ
 * alike make one finding of config.differs, in place of one a fact. */
#include "judge/nodefacts.h"
#include "judge/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAJORITY_OF = 3, MOST_TEXTS = 5, MOST_GROUPS = 16 };

/* A node that is not of the usual node's class. */
struct odd {
    const char *text;   /* its differences, interned */
    size_t usual, node; /* indices */
};

static int by_text(const void *pa, const void *pb)
{
    const struct odd *a = pa, *b = pb;
    if (a->usual != b->usual)
        return a->usual < b->usual ? -1 : 1;
    int order = strcmp(a->text, b->text);
    return order ? order : a->node < b->node ? -1 : a->node > b->node;
}

static bool same_group(const struct odd *a, const struct odd *b)
{
    return a->usual == b->usual && strcmp(a->text, b->text) == 0;
}

/* The texts of a node line's differences, joined; NULL: there are none, or no memory,
 * which *status tells. */
static const char *join(const struct fc_evidence *ev, const json_t *differs,
                        enum fc_status *status)
{
    const json_t *list = json_object_get(differs, "topology");
    size_t n = json_array_size(list), bytes = 0;
    char *text = NULL;
    FILE *out = n > 0 ? open_memstream(&text, &bytes) : NULL;
    if (!out)
        return NULL;
    for (size_t i = 0; i < n && i < MOST_TEXTS; i++) {
        const char *one = json_string_value(json_array_get(list, i));
        fprintf(out, "%s%s", i ? "; " : "", fc_clip(one ? one : "?").s);
    }
    int64_t more = fc_ev_int(differs, "more", 0, 1000000, 0);
    more += n > MOST_TEXTS ? (int64_t)n - MOST_TEXTS : 0;
    if (more > 0)
        fprintf(out, "; and %lld more differences", (long long)more);
    const char *kept = fclose(out) == 0 ? fc_ev_intern(ev, text) : NULL;
    free(text);
    if (!kept)
        *status = FC_NOMEM;
    return kept;
}

static size_t collect(const struct fc_case *c, const char *const *value,
                      struct odd *odd)
{
    size_t odds = 0;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        const struct fc_ev_node *node = &c->ev->node[i];
        size_t usual = node->usual;
        if (usual == FC_NONE || !value[i] || !value[usual] ||
            strcmp(value[i], value[usual]) == 0)
            continue;
        const char *text = join(c->ev, node->differs, &c->out->status);
        if (text)
            odd[odds++] = (struct odd){text, usual, i};
    }
    return odds;
}

/* How many nodes are of the usual node's class, and of any. */
struct share {
    size_t alike, all;
};

static struct share share_of(const struct fc_evidence *ev, const char *const *value,
                             size_t usual)
{
    struct share s = {0, 0};
    for (size_t i = 0; i < ev->nodes; i++) {
        s.all += value[i] != NULL;
        s.alike += value[i] && strcmp(value[i], value[usual]) == 0;
    }
    return s;
}

/* Which nodes it is of is the finding's to say. */
static struct fc_finding finding_of(const struct fc_finding *base, const size_t *node,
                                    size_t nodes)
{
    struct fc_finding f = *base;
    f.odd = node;
    f.odds = nodes;
    f.node = nodes == 1 ? node[0] : FC_NONE;
    f.cause = "a part that did not come up, was swapped or sits in another slot, or a "
              "kind of node of its own";
    f.remedy = "look at the parts that are named; kinds of node are judged in runs of "
               "their own";
    return f;
}

static void tell_group(const struct fc_case *c, const struct fc_finding *base,
                       struct share share, const struct odd *odd, const size_t *node,
                       size_t nodes)
{
    struct fc_finding f = finding_of(base, node, nodes);
    bool most = share.all >= MAJORITY_OF && 2 * share.alike > share.all;
    const char *usual = c->ev->node[odd->usual].name;
    f.confidence = most ? FC_CONF_HIGH : FC_CONF_LOW;
    if (most)
        fc_find(c->out, &f, "unlike %zu of %zu nodes, such as %s: %s", share.alike,
                share.all, fc_clip(usual).s, odd->text);
    else
        fc_find(c->out, &f, "unlike %s: %s; %s", fc_clip(usual).s, odd->text,
                share.all < MAJORITY_OF ? "two nodes cannot say which is right"
                                        : "no class has most of the nodes");
}

/* Those beyond the first groups, which the reader has got the idea from. */
static void tell_rest(const struct fc_case *c, const struct fc_finding *base,
                      const struct odd *odd, size_t *node, size_t odds)
{
    size_t groups = 0;
    for (size_t i = 0; i < odds; i++) {
        node[i] = odd[i].node;
        groups += i == 0 || !same_group(&odd[i - 1], &odd[i]);
    }
    struct fc_finding f = finding_of(base, node, odds);
    fc_find(c->out, &f, "unlike the usual node in %zu more ways: see their node lines",
            groups);
}

static void tell(const struct fc_case *c, const struct fc_finding *base,
                 const char *const *value, const struct odd *odd, size_t odds,
                 size_t *node, bool *told)
{
    size_t groups = 0;
    for (size_t i = 0; i < odds; i++)
        told[odd[i].node] = true;
    for (size_t i = 0, end; i < odds; i = end) {
        if (++groups == MOST_GROUPS && !same_group(&odd[i], &odd[odds - 1])) {
            tell_rest(c, base, &odd[i], node, odds - i);
            return;
        }
        for (end = i; end < odds && same_group(&odd[i], &odd[end]); end++)
            node[end - i] = odd[end].node;
        tell_group(c, base, share_of(c->ev, value, odd[i].usual), &odd[i], node,
                   end - i);
    }
}

void fc_tell_classes(const struct fc_case *c, const struct fc_finding *base, bool *told)
{
    size_t room = c->ev->nodes + 1;
    const char **value = malloc(room * sizeof(*value));
    struct odd *odd = malloc(room * sizeof *odd);
    size_t *node = malloc(room * sizeof *node);
    if (value && odd && node && fc_nodefacts(c->ev, "topo.class", value)) {
        size_t odds = collect(c, value, odd);
        if (odds > 0)
            qsort(odd, odds, sizeof *odd, by_text);
        tell(c, base, value, odd, odds, node, told);
    } else {
        c->out->status = FC_NOMEM;
    }
    free(node);
    free(odd);
    free(value);
}
