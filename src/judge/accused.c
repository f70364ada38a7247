// SPDX-License-Identifier: BSD-3-Clause
#include "judge/accused.h"

#include <stdio.h>
#include <stdlib.h>

struct text {
    char s[256];
};

static const char *roles(const struct fc_culprit *k, bool many)
{
    if (k->sends == k->receives)
        return many ? "send or receive" : "sends or receives";
    if (many)
        return k->sends ? "send" : "receive";
    return k->sends ? "sends" : "receives";
}

static struct text name_of(const struct fc_case *c, const struct fc_arena *a,
                           uint32_t member)
{
    const struct fc_member *m = &a->member[member];
    struct text text;
    if (a->node != FC_NONE)
        snprintf(text.s, sizeof text.s, "rank %lu", (unsigned long)m->id);
    else if (a->rails)
        snprintf(text.s, sizeof text.s, "%.100s rail %lu",
                 fc_clip(c->ev->node[m->node].name).s, (unsigned long)m->id);
    else
        snprintf(text.s, sizeof text.s, "%s", fc_clip(c->ev->node[m->node].name).s);
    return text;
}

/* Nodes with a member in the part. */
static size_t find_nodes(const struct fc_arena *a, const struct fc_culprit *k,
                         size_t *out)
{
    size_t count = 0;
    for (uint32_t m = 0; m < a->members; m++) {
        size_t node = a->member[m].node;
        if (fc_culprit_has(a, k, m) && (count == 0 || out[count - 1] != node))
            out[count++] = node;
    }
    return count;
}

/* Who told which switches there are; nothing where the journal does not say. */
static struct text who_told(const struct fc_case *c)
{
    const char *from = fc_ev_text(json_object_get(c->ev->run, "switches"), "from");
    struct text text = {""};
    if (from)
        snprintf(text.s, sizeof text.s, " (from %.40s)", fc_clip(from).s);
    return text;
}

static void tell_leaf(const struct fc_case *c, const struct fc_arena *a,
                      const struct fc_culprit *k, size_t nodes, struct text *out)
{
    if (a->inferred)
        snprintf(out->s, sizeof out->s,
                 " of the %zu nodes that by their latencies (inferred) share a leaf "
                 "switch,",
                 nodes);
    else
        snprintf(out->s, sizeof out->s, " of the %zu nodes at leaf switch %.100s%.60s,",
                 nodes, fc_clip(c->ev->leaf_name[a->member[k->member].leaf]).s,
                 who_told(c).s);
}

static void tell_scope(const struct fc_case *c, const struct fc_arena *a,
                       const struct fc_culprit *k, size_t nodes, struct fc_accused *out)
{
    uint32_t from = k->sends ? k->member : k->other;
    uint32_t to = k->sends ? k->other : k->member;
    bool both = k->sends && k->receives;
    struct text part = {""};
    switch (k->kind) {
    case FC_CULPRIT_ALL:
        snprintf(out->scope, sizeof out->scope,
                 "in %zu of %zu transfers between %zu %s", k->bad, k->of,
                 a->node == FC_NONE ? a->nodes : a->members,
                 a->node == FC_NONE ? "nodes" : "ranks");
        return;
    case FC_CULPRIT_LINK:
        snprintf(out->scope, sizeof out->scope, "%s %.130s %s %.130s",
                 both ? "between" : "from", name_of(c, a, from).s, both ? "and" : "to",
                 name_of(c, a, to).s);
        return;
    case FC_CULPRIT_LEAF:
        tell_leaf(c, a, k, nodes, &part);
        break;
    case FC_CULPRIT_RAIL:
        snprintf(part.s, sizeof part.s, " of rail %lu of all nodes,",
                 (unsigned long)a->member[k->member].id);
        break;
    default:
        if (a->rails && k->kind == FC_CULPRIT_MEMBER)
            snprintf(part.s, sizeof part.s, " of its rail %lu,",
                     (unsigned long)a->member[k->member].id);
    }
    bool many = k->kind == FC_CULPRIT_LEAF || k->kind == FC_CULPRIT_RAIL;
    snprintf(out->scope, sizeof out->scope, "in %zu of %zu transfers%s that %s %s",
             k->bad, k->of, part.s, many ? "they" : "it", roles(k, many));
}

static json_t *pair_subject(const struct fc_case *c, const struct fc_arena *a,
                            const struct fc_culprit *k)
{
    const struct fc_member *m = &a->member[k->member], *n = &a->member[k->other];
    json_t *subject =
        json_pack("{s:s, s:s, s:s}", "kind", "pair", "node", c->ev->node[m->node].name,
                  "peer", c->ev->node[n->node].name);
    if (a->rails) {
        json_object_set_new(subject, "rail", json_integer(m->id));
        json_object_set_new(subject, "peer_rail", json_integer(n->id));
    }
    return subject;
}

/* The subject of a part of nodes; NULL: what the finding says by itself. */
static json_t *subject_of(const struct fc_case *c, const struct fc_arena *a,
                          const struct fc_culprit *k)
{
    const struct fc_member *m = &a->member[k->member];
    if (k->kind == FC_CULPRIT_LINK)
        return pair_subject(c, a, k);
    if (k->kind == FC_CULPRIT_RAIL)
        return json_pack("{s:s, s:I}", "kind", "fabric", "rail", (json_int_t)m->id);
    if (k->kind == FC_CULPRIT_LEAF && !a->inferred)
        return json_pack("{s:s, s:s}", "kind", "group", "switch",
                         c->ev->leaf_name[m->leaf]);
    if (k->kind == FC_CULPRIT_MEMBER && a->rails)
        return json_pack("{s:s, s:s, s:I}", "kind", "nic", "node",
                         c->ev->node[m->node].name, "rail", (json_int_t)m->id);
    return NULL;
}

bool fc_accused_open(const struct fc_case *c, const struct fc_arena *a,
                     const struct fc_culprit *k, const char *metric,
                     struct fc_accused *out)
{
    bool between = a->node == FC_NONE;
    bool one = k->kind == FC_CULPRIT_MEMBER || k->kind == FC_CULPRIT_NODE;
    bool leaf = k->kind == FC_CULPRIT_LEAF;
    *out = (struct fc_accused){
        .finding = {.severity = FC_SEV_FAIL,
                    .confidence = leaf && a->inferred ? FC_CONF_LOW : FC_CONF_MEDIUM,
                    .check = c->rule->id,
                    .node = a->node,
                    .rank = -1,
                    .metric = metric,
                    .probe = fc_ev_pair_probe(metric)},
        .odd = malloc((a->members + 2) * sizeof *out->odd)};
    if (!out->odd)
        return false;
    struct fc_finding *f = &out->finding;
    size_t nodes = find_nodes(a, k, out->odd);
    tell_scope(c, a, k, nodes, out);
    if (one && between)
        f->node = a->member[k->member].node;
    else if (one)
        f->rank = (int)a->member[k->member].id;
    if (between && (k->kind == FC_CULPRIT_LINK || leaf)) {
        f->odd = out->odd;
        f->odds = nodes;
    }
    json_t *subject = between ? subject_of(c, a, k) : NULL;
    f->subject = subject ? fc_ev_keep(c->ev, subject) : NULL;
    return true;
}

void fc_accused_close(struct fc_accused *accused)
{
    free(accused->odd);
}
