// SPDX-License-Identifier: BSD-3-Clause
/* Are the nodes set up alike, and are they ours alone? */
#include "judge/nodefacts.h"
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAJORITY_OF = 3 }; /* fewer nodes cannot say which is odd */

struct vote {
    const char *value;
    size_t node;
};

static int by_value(const void *pa, const void *pb)
{
    const struct vote *a = pa, *b = pb;
    int order = strcmp(a->value, b->value);
    if (order)
        return order;
    return a->node < b->node ? -1 : a->node > b->node;
}

struct camp {
    const struct vote *vote; /* those with one value */
    size_t count;
};

/* The two largest camps of `vote`, which is sorted; of equal ones the first by
 * value. */
static size_t find_camps(const struct vote *vote, size_t votes, struct camp best[2])
{
    size_t camps = 0;
    best[0] = best[1] = (struct camp){NULL, 0};
    for (size_t i = 0; i < votes; camps++) {
        size_t end = i + 1;
        while (end < votes && strcmp(vote[end].value, vote[i].value) == 0)
            end++;
        struct camp camp = {vote + i, end - i};
        if (camp.count > best[0].count) {
            best[1] = best[0];
            best[0] = camp;
        } else if (camp.count > best[1].count) {
            best[1] = camp;
        }
        i = end;
    }
    return camps;
}

static const char *shown(const char *value)
{
    return value[0] ? value : "(empty)";
}

/* `told`: nodes of which something else has said so; may be NULL. */
static void report_odd(const struct fc_case *c, const struct fc_finding *base,
                       const char *key, const struct vote *vote, size_t votes,
                       const struct camp *major, const bool *told)
{
    struct fc_finding f = *base;
    size_t *odd = malloc(votes * sizeof *odd), odds = 0;
    const struct vote *sample = NULL;
    if (!odd) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < votes; i++) {
        if (strcmp(vote[i].value, major->vote->value) == 0 ||
            (told && told[vote[i].node]))
            continue;
        sample = sample && sample->node < vote[i].node ? sample : &vote[i];
        odd[odds++] = vote[i].node;
    }
    f.odd = odd;
    f.odds = odds;
    f.node = odds == 1 ? odd[0] : FC_NONE;
    if (odds > 0)
        fc_find(c->out, &f, "%s is '%s' on %s, '%s' on %zu of %zu nodes", key,
                fc_clip(shown(sample->value)).s, fc_hosts(c->ev, odd, odds).s,
                fc_clip(shown(major->vote->value)).s, major->count, votes);
    free(odd);
}

static void report_split(const struct fc_case *c, const struct fc_finding *base,
                         const char *key, size_t votes, size_t camps,
                         const struct camp best[2])
{
    struct fc_finding f = *base;
    f.confidence = FC_CONF_LOW;
    if (votes < MAJORITY_OF)
        fc_find(c->out, &f,
                "%s differs: '%s' on %s, '%s' on %s; two nodes cannot say which "
                "is right",
                key, fc_clip(shown(best[0].vote->value)).s,
                fc_clip(c->ev->node[best[0].vote->node].name).s,
                fc_clip(shown(best[1].vote->value)).s,
                fc_clip(c->ev->node[best[1].vote->node].name).s);
    else
        fc_find(c->out, &f,
                "%s has %zu values on %zu nodes and no majority: '%s' on %zu, "
                "'%s' on %zu%s",
                key, camps, votes, fc_clip(shown(best[0].vote->value)).s, best[0].count,
                fc_clip(shown(best[1].vote->value)).s, best[1].count,
                camps > 2 ? ", others" : "");
}

/* Facts that a picture's differences speak of as well. */
static bool is_of_class(const char *key)
{
    static const char *const keys[] = {
        "topo.class",     "topo.rails",   "gpu.count",      "rdma.count",
        "cpu.sockets",    "cpu.cores",    "cpu.threads",    "numa.nodes",
        "virt.gpu_files", "virt.gpus_by", "virt.container", "virt.hypervisor"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* True when every node with another value than the first is told of. */
static bool all_told(const struct vote *vote, size_t votes, const bool *told)
{
    const char *usual = NULL;
    for (size_t i = 0; i < votes; i++) {
        if (told[vote[i].node])
            continue;
        if (usual && strcmp(usual, vote[i].value) != 0)
            return false;
        usual = vote[i].value;
    }
    return true;
}

static void compare_key(const struct fc_case *c, const struct fc_finding *base,
                        const struct fc_fact_key *key, const char **value,
                        struct vote *vote, const bool *told)
{
    const struct fc_evidence *ev = c->ev;
    size_t votes = 0;
    struct camp best[2];
    if (!fc_nodefacts(ev, key->key, value)) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < ev->nodes; i++)
        if (value[i])
            vote[votes++] = (struct vote){value[i], i};
    qsort(vote, votes, sizeof *vote, by_value);
    size_t camps = find_camps(vote, votes, best);
    told = is_of_class(key->key) ? told : NULL;
    if (camps < 2)
        return;
    if (votes >= MAJORITY_OF && 2 * best[0].count > votes)
        report_odd(c, base, key->key, vote, votes, &best[0], told);
    else if (!told || !all_told(vote, votes, told))
        report_split(c, base, key->key, votes, camps, best);
}

void fc_rule_differs(const struct fc_case *c)
{
    size_t room = c->ev->nodes + 1;
    const char **value = malloc(room * sizeof(*value));
    struct vote *vote = malloc(room * sizeof *vote);
    bool *told = calloc(room, sizeof *told);
    const struct fc_finding base = {
        .severity = FC_SEV_WARN,
        .confidence = FC_CONF_HIGH,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .cause =
            "nodes that were installed, updated or configured at different times, or "
            "unlike hardware in one fleet",
        .remedy = "make them alike, or judge the kinds of node in runs of their own",
        .probe = "config"};
    if (!value || !vote || !told)
        c->out->status = FC_NOMEM;
    else
        fc_tell_classes(c, &base, told);
    for (size_t i = 0; value && vote && told && fc_fact_key_at(i); i++)
        if (fc_fact_key_at(i)->equal)
            compare_key(c, &base, fc_fact_key_at(i), value, vote, told);
    free(told);
    free(vote);
    free(value);
}

/* --- who else is here --- */

void fc_rule_foreign(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->nodes; i++) {
        struct fc_load_text load = fc_nodefacts_load(c->ev, i, NULL);
        struct fc_finding f = {.severity = FC_SEV_WARN,
                               .confidence = FC_CONF_MEDIUM,
                               .check = c->rule->id,
                               .node = i,
                               .rank = -1,
                               .cause = "the node is not ours alone",
                               .remedy =
                                   "run again when nothing else runs there; until then "
                                   "slow results of this node prove nothing",
                               .probe = "config"};
        if (load.s[0])
            fc_find(c->out, &f, "%s", load.s);
    }
}

void fc_rule_oversubscribed(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    size_t *odd = malloc((ev->nodes + 1) * sizeof *odd), odds = 0;
    if (!odd) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < ev->nodes; i++)
        if (c->crowded[i])
            odd[odds++] = i;
    struct fc_finding f = {
        .severity = FC_SEV_INFO,
        .confidence = FC_CONF_HIGH,
        .check = c->rule->id,
        .node = odds == 1 ? odd[0] : FC_NONE,
        .rank = -1,
        .odd = odd,
        .odds = odds,
        .cause = "more ranks were started than there are CPUs for them",
        .remedy = "start no more ranks a node than it has cores; slow "
                  "results of such a run prove nothing",
        .probe = "config"};
    if (odds)
        fc_find(c->out, &f, "%s", c->crowded[odd[0]]);
    free(odd);
}

/* --- what could not be read --- */

struct unread {
    const char *key, *reason, *right;
    size_t node;
};

static int by_key(const void *pa, const void *pb)
{
    const struct unread *a = pa, *b = pb;
    int order = strcmp(a->key, b->key);
    if (!order)
        order = strcmp(a->reason, b->reason);
    if (!order)
        order = strcmp(a->right, b->right);
    return order ? order : (a->node < b->node ? -1 : a->node > b->node);
}

static bool same_gap(const struct unread *a, const struct unread *b)
{
    return strcmp(a->key, b->key) == 0 && strcmp(a->reason, b->reason) == 0 &&
           strcmp(a->right, b->right) == 0;
}

static size_t collect_unread(const struct fc_evidence *ev, struct unread *out)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->facts; i++) {
        const char *key;
        json_t *gap;
        json_object_foreach((json_t *)(uintptr_t)ev->fact[i].unreadable, key, gap)
        {
            const char *reason = fc_ev_text(gap, "reason"),
                       *right = fc_ev_text(gap, "right");
            if (out)
                out[count] = (struct unread){key, reason ? reason : "no reason",
                                             right ? right : "", ev->fact[i].node};
            count++;
        }
    }
    return count;
}

static void report_unread(const struct fc_case *c, const struct unread *u, size_t count)
{
    size_t *node = malloc(count * sizeof *node), nodes = 0;
    struct fc_missing m = {.class = c->rule->class,
                           .check = c->rule->id,
                           .probe = "config",
                           .what = u->key,
                           .node = FC_NONE};
    if (!node) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (nodes == 0 || node[nodes - 1] != u[i].node)
            node[nodes++] = u[i].node;
    if (nodes == 1)
        m.node = node[0];
    const char *sign = u->right[0] ? ": " : "";
    bool named = nodes == 1 || nodes == c->ev->nodes;
    fc_miss(c->out, &m, "unreadable (%s%s%s)%s%s", fc_clip(u->reason).s, sign,
            fc_clip(u->right).s, named ? "" : " on ",
            named ? "" : fc_hosts(c->ev, node, nodes).s);
    free(node);
}

/* Reading hung or crashed: nobody decided that it may not be read. */
static bool is_fault(const struct unread *u)
{
    return strcmp(u->reason, "timeout") == 0 || strcmp(u->reason, "failed") == 0;
}

static int by_fault(const void *pa, const void *pb)
{
    const struct unread *a = pa, *b = pb;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    int order = strcmp(a->reason, b->reason);
    if (!order)
        order = strcmp(a->right, b->right);
    return order ? order : strcmp(a->key, b->key);
}

/* One entry for all that one node lost for one reason. */
static void report_faults(const struct fc_case *c, struct unread *u, size_t count)
{
    qsort(u, count, sizeof *u, by_fault);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1, keys = 1;
        for (; end < count && u[end].node == u[i].node &&
               strcmp(u[end].reason, u[i].reason) == 0 &&
               strcmp(u[end].right, u[i].right) == 0;
             end++)
            keys += strcmp(u[end].key, u[end - 1].key) != 0;
        struct fc_missing m = {.class = FC_CLASS_REQUIRED,
                               .check = c->rule->id,
                               .probe = "config",
                               .what = "facts of the node",
                               .node = u[i].node};
        fc_miss(c->out, &m, "reading %zu of them (first: %s) ended as %s: %s", keys,
                fc_clip(u[i].key).s, fc_clip(u[i].reason).s, fc_clip(u[i].right).s);
        i = end;
    }
}

void fc_rule_unreadable(const struct fc_case *c)
{
    size_t count = collect_unread(c->ev, NULL), rest = 0, faults = 0;
    struct unread *unread = malloc((count + 1) * sizeof *unread);
    struct unread *fault = malloc((count + 1) * sizeof *fault);
    if (!unread || !fault) {
        c->out->status = FC_NOMEM;
        free(fault);
        free(unread);
        return;
    }
    collect_unread(c->ev, unread);
    for (size_t i = 0; i < count; i++) {
        if (is_fault(&unread[i]))
            fault[faults++] = unread[i];
        else
            unread[rest++] = unread[i];
    }
    qsort(unread, rest, sizeof *unread, by_key);
    for (size_t i = 0; i < rest;) {
        size_t end = i + 1;
        while (end < rest && same_gap(&unread[i], &unread[end]))
            end++;
        report_unread(c, unread + i, end - i);
        i = end;
    }
    report_faults(c, fault, faults);
    free(fault);
    free(unread);
}
