// SPDX-License-Identifier: BSD-3-Clause
/* Is each GPU and NIC there, and its link as wide and fast as that of its equals? What
 * a link should be is told by its siblings: functions of one product, on all nodes, and
 * by card and slot. A width that most of them share by design (narrow links of clouds)
 * is no finding. An idle GPU lets its link's speed sink, so that of GPUs only the width
 * is judged. */
#include "judge/nodefacts.h"
#include "judge/nodegroup.h"
#include "judge/siblings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- links ---- */

static void say_link(const struct fc_case *c, const struct fc_sibling *f,
                     const struct fc_sibling *usual, size_t alike, const char *also,
                     const char *unit)
{
    if (f->number > usual->number) /* a better one is no fault */
        return;
    struct fc_finding finding = fc_finding_of_config(c, FC_SEV_FAIL, f->node);
    finding.cause =
        "a card or riser that is not seated well, a bad lane or retimer, or "
        "a slot with fewer lanes";
    finding.remedy = "reseat the card or its riser, then swap slots to see what the "
                     "fault follows";
    fc_find(c->out, &finding,
            "the PCIe link of %s (%s) is trained at %g%s, %zu of its equals' at %g%s%s",
            fc_clip(fc_sibling_text(f->o, "name")).s,
            fc_clip(fc_sibling_text(f->o, "bdf")).s, f->number, unit, alike,
            usual->number, unit, also);
}

static void say_width(const struct fc_case *c, const struct fc_sibling *f,
                      const struct fc_sibling *usual, size_t alike, const char *also)
{
    say_link(c, f, usual, alike, also, " lanes");
}

static void say_speed(const struct fc_case *c, const struct fc_sibling *f,
                      const struct fc_sibling *usual, size_t alike, const char *also)
{
    say_link(c, f, usual, alike, also, " GT/s");
}

/* NICs of the fabric and, if asked for, GPUs, each with the number of `key`. */
static struct fc_siblings functions(const struct fc_case *c, const char *key, bool gpus)
{
    struct fc_siblings all = fc_siblings_collect(c, "topo.functions");
    for (size_t i = 0; i < all.count; i++) {
        struct fc_sibling *f = &all.item[i];
        const char *what = fc_sibling_text(f->o, "what");
        if (strcmp(what, "nic") != 0 && !(gpus && strcmp(what, "gpu") == 0))
            continue;
        f->kind = fc_sibling_text(f->o, "id");
        f->part = what;
        f->number = fc_sibling_number(f->o, key);
    }
    return all;
}

static void compare_links(const struct fc_case *c, const char *key, bool gpus,
                          fc_sibling_say_fn say)
{
    struct fc_siblings all = functions(c, key, gpus);
    fc_siblings_compare(c, &all, say);
    free(all.item);
}

void fc_rule_topo_link(const struct fc_case *c)
{
    compare_links(c, "width", true, say_width);
    compare_links(c, "GTps", false, say_speed);
}

/* ---- counts ---- */

enum { MOST_DEVICES = 4096 };

/* A whole number among the node's own facts; -1: none. */
static int64_t count_of(const struct fc_ev_fact *fact, const char *key)
{
    return fact->rank < 0 ? fc_ev_int(fact->facts, key, 0, MOST_DEVICES - 1, -1) : -1;
}

static void check_counts(const struct fc_case *c, const char *key, const char *what)
{
    const struct fc_evidence *ev = c->ev;
    size_t *nodes = calloc(MOST_DEVICES, sizeof *nodes), told = 0;
    int64_t most = 0;
    if (!nodes) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < ev->facts; i++) {
        int64_t n = count_of(&ev->fact[i], key);
        if (n < 0)
            continue;
        told++;
        nodes[n]++;
        most =
            nodes[n] > nodes[most] || (nodes[n] == nodes[most] && n > most) ? n : most;
    }
    bool clear = told >= FC_SIBLINGS_ENOUGH && 3 * nodes[most] >= 2 * (told - 1);
    for (size_t i = 0; clear && i < ev->facts; i++) {
        int64_t n = count_of(&ev->fact[i], key);
        if (n < 0 || n >= most)
            continue;
        struct fc_finding finding =
            fc_finding_of_config(c, FC_SEV_FAIL, ev->fact[i].node);
        finding.cause =
            "a device that did not come up when the node booted, or that was "
            "not given to this machine or container";
        finding.remedy =
            "look for it with lspci and in the BMC's inventory, then reboot "
            "without power";
        fc_find(c->out, &finding, "%lld %s on the PCI bus; %zu of %zu nodes have %lld",
                (long long)n, what, nodes[most], told, (long long)most);
    }
    free(nodes);
}

void fc_rule_topo_count(const struct fc_case *c)
{
    struct fc_siblings ports = fc_siblings_collect(c, "topo.ports");
    bool verbs = false;
    for (size_t i = 0; i < ports.count; i++)
        verbs |= fc_sibling_is_fabric(&ports.item[i]);
    free(ports.item);
    check_counts(c, "topo.gpus", "GPUs");
    if (verbs) /* of Ethernet alone, nobody can say which NICs matter */
        check_counts(c, "topo.nics", "NICs of the fabric");
}

/* ---- slots ---- */

/* What card and slot together can do; NaN: one of them does not tell. */
static double possible(const json_t *o, const char *card_key, const char *slot_key)
{
    double card = fc_sibling_number(o, card_key), slot = fc_sibling_number(o, slot_key);
    return slot < card ? slot : isfinite(slot) ? card : (double)NAN;
}

struct slots {
    const char *now, *card, *slot, *unit; /* keys, and the unit */
};

static bool is_low(const struct fc_sibling *f, const struct slots *s)
{
    return f->number < 0.99 * possible(f->o, s->card, s->slot);
}

/* all[0..n) are of one product. */
static void check_slots(const struct fc_case *c, const struct fc_sibling *all, size_t n,
                        const struct slots *s, struct fc_nodegroup *group)
{
    const struct fc_sibling *first = NULL;
    size_t low = 0;
    group->count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_low(&all[i], s))
            continue;
        if (!first || all[i].node < first->node)
            first = &all[i];
        low++;
        fc_nodegroup_add(group, all[i].node);
    }
    bool enough = n >= FC_SIBLINGS_ENOUGH;
    /* where most are not so, siblings have told, or most nodes have it in that place */
    if (low == 0 || (enough && 2 * low < n))
        return;
    struct fc_finding f = fc_finding_of_config(
        c, enough && low == n ? FC_SEV_INFO : FC_SEV_WARN, FC_NONE);
    f.confidence = FC_CONF_MEDIUM;
    f.cause =
        "a card or riser that is not seated well, or firmware that holds the slot "
        "back";
    f.remedy =
        "look at the slot's speed and width in the firmware's setup, then reseat "
        "the card or its riser";
    fc_nodegroup_find(c, group, &f,
                      "%zu of %zu links of one product are trained below what card and "
                      "slot can do, %s (%s) at %g%s of %g",
                      low, n, fc_clip(fc_sibling_text(first->o, "name")).s,
                      fc_clip(fc_sibling_text(first->o, "bdf")).s, first->number,
                      s->unit, possible(first->o, s->card, s->slot));
}

static void compare_slots(const struct fc_case *c, const struct slots *s, bool gpus,
                          struct fc_nodegroup *group)
{
    struct fc_siblings all = functions(c, s->now, gpus);
    fc_siblings_sort(&all);
    for (size_t i = 0, end; i < all.count; i = end) {
        for (end = i;
             end < all.count && fc_sibling_same_kind(&all.item[i], &all.item[end]);)
            end++;
        check_slots(c, &all.item[i], end - i, s, group);
    }
    free(all.item);
}

void fc_rule_topo_slot(const struct fc_case *c)
{
    const struct slots width = {"width", "max_width", "slot_width", " lanes"};
    const struct slots speed = {"GTps", "max_GTps", "slot_GTps", " GT/s"};
    struct fc_nodegroup group;
    if (!fc_nodegroup_open(c, &group))
        return;
    compare_slots(c, &width, true, &group);
    compare_slots(c, &speed, false, &group);
    fc_nodegroup_close(&group);
}
