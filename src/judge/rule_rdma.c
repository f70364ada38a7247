// SPDX-License-Identifier: BSD-3-Clause
/* Do the ports of one rail fit each other? What the nodes told of their RDMA ports
 * before anything was measured, rail by rail: link layer, subnet, MTU, kind of GID,
 * P_Key; and ports whose GID or P_Key works between some hosts and not between others.
 * None of it alone makes a run fail: it does where pairs along the rail failed. */
#include "judge/rdma_ports.h"
#include "judge/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct key {
    const char *name, *what;
    const char *cause, *remedy;
} keys[] = {
    {"wire", "link layer",
     "a card that is set to another link layer, or another card in that place",
     "set the link type of the port (mlxconfig LINK_TYPE), or take the node out of "
     "this fabric"},
    {"subnet", "subnet prefix",
     "ports of one rail that are cabled to different InfiniBand fabrics",
     "look where the cables lead; give each fabric one subnet manager"},
    {"mtu", "active MTU",
     "an interface, switch port or partition with another MTU; some libraries no "
     "longer take the smaller one of both ends",
     "set one MTU on all interfaces, switch ports and partitions of the rail"},
    {"gid_kind", "kind of GID",
     "an interface without its address, or another NCCL_IB_GID_INDEX",
     "give all interfaces of the rail addresses of one family; choose GIDs by type, "
     "not by index"},
    {"pkey", "P_Key", "a port that the subnet manager put into another partition",
     "put all ports of the rail into one partition, as full members"},
};

/* The value as text, "" where it is not known. */
static struct fc_clip value_of(const json_t *port, const char *key)
{
    const json_t *value = json_object_get(port, key);
    char number[32] = "";
    if (json_is_integer(value) && json_integer_value(value) > 0)
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    return fc_clip(json_is_string(value) ? json_string_value(value) : number);
}

static int by_rail(const void *pa, const void *pb)
{
    const struct fc_rdma_place *a = pa, *b = pb;
    if (a->rail != b->rail)
        return a->rail < b->rail ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* --- unlike --- */

/* What one key of one rail, or of several in a row, is like. */
struct unlike {
    size_t *odd; /* nodes, in order */
    size_t odds;
    bool split; /* no value is most nodes' */
    struct fc_clip mine, usual;
    int rail, last; /* -1: none yet */
    bool failed;    /* pairs along it did, with a node that is odd */
};

static bool is_odd(const struct unlike *u, size_t node)
{
    for (size_t i = 0; i < u->odds; i++)
        if (u->odd[i] == node)
            return true;
    return false;
}

/* Pairs of an odd node along the rail, through which nothing came. */
static bool has_failed(const struct fc_evidence *ev, const struct unlike *u, int rail)
{
    for (size_t i = 0; i < ev->pairs; i++) {
        const struct fc_ev_pair *p = &ev->pair[i];
        const struct fc_ev_round *r = &ev->round[p->round];
        if (p->state != FC_EV_FAILED ||
            strcmp(fc_ev_pair_probe(r->metric), "rdma") != 0)
            continue;
        if ((r->rail <= 0 ? rail == 0 : r->rail == rail) &&
            (is_odd(u, p->a_node) || is_odd(u, p->b_node)))
            return true;
    }
    return false;
}

/* The value of more than half of the ports, by pairing off; "": none. */
static struct fc_clip usual_value(const struct fc_rdma_place *p, size_t count,
                                  const char *key)
{
    struct fc_clip usual = {""};
    size_t lead = 0, votes = 0, known = 0;
    for (size_t i = 0; i < count; i++) {
        struct fc_clip value = value_of(p[i].port, key);
        if (!value.s[0])
            continue;
        known++;
        if (lead == 0)
            usual = value;
        lead = lead == 0 || strcmp(value.s, usual.s) == 0 ? lead + 1 : lead - 1;
    }
    for (size_t i = 0; i < count; i++)
        votes += strcmp(value_of(p[i].port, key).s, usual.s) == 0;
    return known > 2 && 2 * votes > known ? usual : (struct fc_clip){""};
}

/* Ports [0, count) are of one rail. */
static void look_at(const struct fc_rdma_place *p, size_t count, const char *key,
                    struct unlike *out)
{
    size_t first = count;
    out->usual = usual_value(p, count, key);
    out->split = !out->usual.s[0];
    out->odds = 0;
    bool differ = false;
    for (size_t i = 0; i < count; i++) {
        struct fc_clip value = value_of(p[i].port, key);
        if (!value.s[0] || (!out->split && strcmp(value.s, out->usual.s) == 0))
            continue;
        if (first == count) {
            first = i;
            out->mine = value;
        }
        differ = differ || !out->split || strcmp(value.s, out->mine.s) != 0;
        if (strcmp(value.s, out->mine.s) != 0)
            out->usual = out->split ? value : out->usual;
        if (out->odds == 0 || out->odd[out->odds - 1] != p[i].node)
            out->odd[out->odds++] = p[i].node;
    }
    if (!differ)
        out->odds = 0;
}

static bool goes_on(const struct unlike *a, const struct unlike *b)
{
    return a->rail >= 0 && a->odds == b->odds && a->split == b->split &&
           a->last + 1 == b->rail && strcmp(a->mine.s, b->mine.s) == 0 &&
           strcmp(a->usual.s, b->usual.s) == 0 &&
           memcmp(a->odd, b->odd, a->odds * sizeof *a->odd) == 0;
}

static void report_unlike(const struct fc_case *c, const struct key *key,
                          struct unlike *u)
{
    char rails[48];
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    if (u->rail < 0 || u->odds == 0)
        return;
    f.severity = u->failed ? FC_SEV_FAIL : FC_SEV_WARN;
    f.node = u->odds == 1 ? u->odd[0] : FC_NONE;
    f.odd = u->odd;
    f.odds = u->odds;
    f.probe = "rdma";
    f.cause = key->cause;
    f.remedy = key->remedy;
    if (u->last > u->rail)
        snprintf(rails, sizeof rails, "rails %d to %d", u->rail, u->last);
    else
        snprintf(rails, sizeof rails, "rail %d", u->rail);
    fc_find(c->out, &f, "%s of %s is %s%s on %s, %s %s%s", key->what, rails, u->mine.s,
            u->split ? " and others" : "", fc_hosts(c->ev, u->odd, u->odds).s,
            u->split ? "and for example" : "and on most nodes", u->usual.s,
            u->failed ? "; pairs along it failed" : "");
}

static void judge_key(const struct fc_case *c, const struct fc_rdma_places *all,
                      const struct key *key)
{
    size_t room = c->ev->nodes + 1;
    struct unlike now = {.odd = malloc(room * sizeof *now.odd), .rail = -1};
    struct unlike held = {.odd = malloc(room * sizeof *held.odd), .rail = -1};
    bool ok = now.odd && held.odd;
    if (!ok)
        c->out->status = FC_NOMEM;
    for (size_t i = 0, end; ok && i < all->count; i = end) {
        for (end = i; end < all->count && all->place[end].rail == all->place[i].rail;)
            end++;
        look_at(&all->place[i], end - i, key->name, &now);
        now.rail = now.last = all->place[i].rail;
        now.failed = now.odds && has_failed(c->ev, &now, now.rail);
        if (goes_on(&held, &now)) {
            held.last = now.last;
            held.failed = held.failed || now.failed;
            continue;
        }
        report_unlike(c, key, &held);
        struct unlike swap = held;
        held = now;
        now = swap;
    }
    if (ok)
        report_unlike(c, key, &held);
    free(now.odd);
    free(held.odd);
}

void fc_rule_rdma_unlike(const struct fc_case *c)
{
    struct fc_rdma_places all;
    if (!fc_rdma_places(c->ev, &all)) {
        c->out->status = FC_NOMEM;
        return;
    }
    if (all.count)
        qsort(all.place, all.count, sizeof *all.place, by_rail);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        judge_key(c, &all, &keys[k]);
    free(all.place);
}

/* --- doubt --- */

static bool any_failed(const struct fc_evidence *ev)
{
    for (size_t i = 0; i < ev->pairs; i++)
        if (ev->pair[i].state == FC_EV_FAILED &&
            strcmp(fc_ev_pair_probe(ev->round[ev->pair[i].round].metric), "rdma") == 0)
            return true;
    return false;
}

/* What all nodes have and what failed nobody is told, and no more. */
void fc_rule_rdma_doubt(const struct fc_case *c)
{
    struct fc_rdma_places all;
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    size_t *odd = malloc((c->ev->nodes + 1) * sizeof *odd), doubts = 0;
    const struct fc_rdma_place *first = NULL;
    bool others = false;
    if (!fc_rdma_places(c->ev, &all) || !odd) {
        c->out->status = FC_NOMEM;
        free(odd);
        return;
    }
    for (size_t i = 0; i < all.count; i++) {
        const struct fc_rdma_place *p = &all.place[i];
        const char *doubt = fc_ev_text(p->port, "doubt");
        if (!doubt || !*doubt) {
            others = true;
            continue;
        }
        first = first ? first : p;
        doubts++;
        if (f.odds == 0 || odd[f.odds - 1] != p->node)
            odd[f.odds++] = p->node;
    }
    if (!others && !any_failed(c->ev))
        f.severity = FC_SEV_INFO;
    f.odd = odd;
    f.node = f.odds == 1 ? odd[0] : FC_NONE;
    f.probe = "rdma";
    f.cause = "an interface of the fabric without its address, or a port that is only "
              "a limited member of its partition";
    f.remedy = "give the interface an address that its peers reach, or set "
               "NCCL_IB_GID_INDEX to a RoCE v2 GID; for P_Keys ask the subnet manager";
    if (first)
        fc_find(c->out, &f, "%s of %s may not reach its peers: %s%s",
                fc_clip(first->name).s, fc_clip(c->ev->node[first->node].name).s,
                fc_clip(fc_ev_text(first->port, "doubt")).s,
                doubts > 1 ? "; and others like it" : "");
    free(all.place);
    free(odd);
}
