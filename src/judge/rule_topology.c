// SPDX-License-Identifier: BSD-3-Clause
/* Is each part of a node connected as its equals are? What a link or a port should be
 * is told by its siblings: functions of one product, ports of one kind, on all nodes. A
 * value that most of them share by design (narrow links of clouds, second ports that
 * nobody uses) is no finding. An idle GPU lets its link's speed sink, so that of GPUs
 * only the width is judged. */
#include "judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 3 }; /* fewer equals cannot say what is usual */

/* One entry of an array among the facts of a node, and what a rule compares of it. */
struct item {
    const json_t *o;
    size_t node;
    const char *kind, *part; /* items that should be alike agree in both */
    const char *word;        /* and in this, "" where it is a number: */
    double number;           /* NaN: unknown */
};

struct items {
    struct item *item;
    size_t count;
};

static const json_t *fact_array(const struct fc_ev_fact *fact, const char *key)
{
    const json_t *list = fact->rank < 0 ? json_object_get(fact->facts, key) : NULL;
    return json_is_array(list) ? list : NULL;
}

/* All objects of all nodes; the caller frees .item, which is NULL without memory. */
static struct items collect(const struct fc_case *c, const char *key)
{
    size_t room = 1;
    for (size_t i = 0; i < c->ev->facts; i++)
        room += json_array_size(fact_array(&c->ev->fact[i], key));
    struct items all = {calloc(room, sizeof *all.item), 0};
    if (!all.item)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; all.item && i < c->ev->facts; i++) {
        const json_t *list = fact_array(&c->ev->fact[i], key);
        for (size_t j = 0; j < json_array_size(list); j++)
            if (json_is_object(json_array_get(list, j)))
                all.item[all.count++] = (struct item){.o = json_array_get(list, j),
                                                      .node = c->ev->fact[i].node,
                                                      .kind = "",
                                                      .part = "",
                                                      .word = "",
                                                      .number = (double)NAN};
    }
    return all;
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = fc_ev_text(o, key);
    return s ? s : "";
}

/* A positive number of a member; NaN: none. */
static double number(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    double n = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return n > 0 && isfinite(n) ? n : (double)NAN;
}

static int64_t port_of(const struct item *p)
{
    return fc_ev_int(p->o, "port", 0, 255, 0);
}

static bool is_fabric(const struct item *p)
{
    return json_is_true(json_object_get(p->o, "fabric"));
}

static bool is_active(const struct item *p)
{
    return strcmp(text(p->o, "state"), "ACTIVE") == 0;
}

/* By what the part is called: "GPU3", or the NIC and the port. */
static int by_place(const struct item *a, const struct item *b)
{
    int order = strcmp(text(a->o, "name"), text(b->o, "name"));
    order = order ? order : strcmp(text(a->o, "nic"), text(b->o, "nic"));
    return order ? order : (port_of(a) > port_of(b)) - (port_of(a) < port_of(b));
}

static int by_kind(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;
    int order = strcmp(a->kind, b->kind);
    order = order ? order : strcmp(a->part, b->part);
    order = order ? order : strcmp(a->word, b->word);
    if (order)
        return order;
    if (a->number < b->number || a->number > b->number)
        return a->number < b->number ? -1 : 1;
    order = by_place(a, b);
    return order ? order : a->node < b->node ? -1 : a->node > b->node;
}

static bool same_kind(const struct item *a, const struct item *b)
{
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->part, b->part) == 0;
}

static bool same_value(const struct item *a, const struct item *b)
{
    return strcmp(a->word, b->word) == 0 && !(a->number < b->number) &&
           !(a->number > b->number);
}

/* Says what `odd` is, of which `alike` of `count` equals are like `usual`. */
typedef void (*say_fn)(const struct fc_case *c, const struct item *odd,
                       const struct item *usual, size_t alike);

/* Most nodes have the same value in the same place. */
static bool is_by_design(const struct item *group, size_t n, const struct item *odd)
{
    size_t others = 0, alike = 0;
    for (size_t i = 0; i < n; i++) {
        if (group[i].node == odd->node || by_place(&group[i], odd) != 0)
            continue;
        others++;
        alike += same_value(&group[i], odd);
    }
    return others + 1 >= ENOUGH && 2 * alike > others;
}

/* Items of one value in one place stand in a row: one answer for all of them. */
static void say_odd(const struct fc_case *c, const struct item *group, size_t n,
                    const struct item *usual, size_t alike, say_fn say)
{
    const struct item *asked = NULL;
    bool by_design = false;
    for (size_t i = 0; i < n; i++) {
        if (same_value(&group[i], usual))
            continue;
        if (!asked || !same_value(asked, &group[i]) || by_place(asked, &group[i]) != 0)
            by_design = is_by_design(group, n, &group[i]);
        asked = &group[i];
        if (!by_design)
            say(c, &group[i], usual, alike);
    }
}

/* In each group of equals: when at least two thirds of an item's equals have one value,
 * `say` is told of each that has another. Items without kind or value do not count. */
static void compare(const struct fc_case *c, struct items *all, say_fn say)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->item[i].kind[0] &&
            (all->item[i].word[0] || isfinite(all->item[i].number)))
            all->item[kept++] = all->item[i];
    if (kept > 0)
        qsort(all->item, kept, sizeof *all->item, by_kind);
    for (size_t i = 0, end; i < kept; i = end) {
        size_t alike = 0, most = i;
        for (end = i; end < kept && same_kind(&all->item[i], &all->item[end]);) {
            size_t first = end;
            while (end < kept && same_kind(&all->item[i], &all->item[end]) &&
                   same_value(&all->item[first], &all->item[end]))
                end++;
            if (end - first > alike) {
                alike = end - first;
                most = first;
            }
        }
        if (end - i >= ENOUGH && 3 * alike >= 2 * (end - i - 1))
            say_odd(c, &all->item[i], end - i, &all->item[most], alike, say);
    }
}

/* ---- links ---- */

static void say_link(const struct fc_case *c, const struct item *f,
                     const struct item *usual, size_t alike, const char *unit)
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
            "the PCIe link of %s (%s) is trained at %g%s, %zu of its equals' at %g%s",
            fc_clip(text(f->o, "name")).s, fc_clip(text(f->o, "bdf")).s, f->number,
            unit, alike, usual->number, unit);
}

static void say_width(const struct fc_case *c, const struct item *f,
                      const struct item *usual, size_t alike)
{
    say_link(c, f, usual, alike, " lanes");
}

static void say_speed(const struct fc_case *c, const struct item *f,
                      const struct item *usual, size_t alike)
{
    say_link(c, f, usual, alike, " GT/s");
}

static void compare_links(const struct fc_case *c, const char *key, bool gpus,
                          say_fn say)
{
    struct items all = collect(c, "topo.functions");
    for (size_t i = 0; i < all.count; i++) {
        struct item *f = &all.item[i];
        const char *what = text(f->o, "what");
        if (strcmp(what, "nic") != 0 && !(gpus && strcmp(what, "gpu") == 0))
            continue;
        f->kind = text(f->o, "id");
        f->part = what;
        f->number = number(f->o, key);
    }
    compare(c, &all, say);
    free(all.item);
}

void fc_rule_topo_link(const struct fc_case *c)
{
    compare_links(c, "width", true, say_width);
    compare_links(c, "GTps", false, say_speed);
}

/* ---- ports ---- */

static void say_port(const struct fc_case *c, const struct item *p, size_t others,
                     size_t others_up, size_t up)
{
    /* none is up, or this one is up hardly anywhere: nobody means to use it */
    if (up == 0 || (others + 1 >= ENOUGH && 2 * others_up < others))
        return;
    bool sure = others + 1 >= ENOUGH && 3 * others_up >= 2 * others;
    struct fc_finding finding =
        fc_finding_of_config(c, sure ? FC_SEV_FAIL : FC_SEV_WARN, p->node);
    finding.confidence = sure ? FC_CONF_HIGH : FC_CONF_MEDIUM;
    finding.cause = "a cable, a transceiver, or the switch port it leads to";
    finding.remedy = "look at both ends of its cable; a port that is not meant to be "
                     "used is better disabled on all nodes";
    fc_find(c->out, &finding,
            "port %lld of %s is %s; %zu other ports of the fabric are ACTIVE",
            (long long)port_of(p), fc_clip(text(p->o, "nic")).s,
            fc_clip(text(p->o, "state")).s, up);
}

static int by_port(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;
    int order = strcmp(text(a->o, "nic"), text(b->o, "nic"));
    if (order)
        return order;
    if (port_of(a) != port_of(b))
        return port_of(a) < port_of(b) ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool same_port(const struct item *a, const struct item *b)
{
    return strcmp(text(a->o, "nic"), text(b->o, "nic")) == 0 &&
           port_of(a) == port_of(b);
}

void fc_rule_topo_port(const struct fc_case *c)
{
    struct items all = collect(c, "topo.ports");
    size_t up = 0;
    for (size_t i = 0; i < all.count; i++)
        up += is_fabric(&all.item[i]) && is_active(&all.item[i]);
    if (all.count > 0)
        qsort(all.item, all.count, sizeof *all.item, by_port);
    for (size_t i = 0, end; i < all.count; i = end) {
        size_t group_up = 0;
        for (end = i; end < all.count && same_port(&all.item[i], &all.item[end]); end++)
            group_up += is_active(&all.item[end]);
        for (size_t j = i; j < end; j++)
            if (is_fabric(&all.item[j]) && !is_active(&all.item[j]) &&
                text(all.item[j].o, "state")[0])
                say_port(c, &all.item[j], end - i - 1, group_up, up);
    }
    free(all.item);
}

static void say_rate(const struct fc_case *c, const struct item *p,
                     const struct item *usual, size_t alike)
{
    if (p->number > usual->number)
        return;
    struct fc_finding finding = fc_finding_of_config(c, FC_SEV_FAIL, p->node);
    finding.cause =
        "a cable or transceiver of a lower rate, lanes that do not come up, "
        "or a switch port set to that rate";
    finding.remedy = "swap the cable, then the switch port";
    fc_find(c->out, &finding, "port %lld of %s runs at %g Gb/s, %zu of its kind at %g",
            (long long)port_of(p), fc_clip(text(p->o, "nic")).s, p->number, alike,
            usual->number);
}

void fc_rule_topo_rate(const struct fc_case *c)
{
    struct items all = collect(c, "topo.ports");
    for (size_t i = 0; i < all.count; i++) {
        struct item *p = &all.item[i];
        if (!is_fabric(p) || !is_active(p))
            continue;
        p->kind = text(p->o, "layer");
        p->number = number(p->o, "Gbps");
    }
    compare(c, &all, say_rate);
    free(all.item);
}

static void say_firmware(const struct fc_case *c, const struct item *p,
                         const struct item *usual, size_t alike)
{
    struct fc_finding finding = fc_finding_of_config(c, FC_SEV_WARN, p->node);
    finding.cause =
        "an update that did not reach this card, or a card that was swapped "
        "in";
    finding.remedy = "bring all cards of one board to one firmware";
    fc_find(c->out, &finding, "the firmware of %s is %s, of %zu others of its board %s",
            fc_clip(text(p->o, "nic")).s, fc_clip(p->word).s, alike,
            fc_clip(usual->word).s);
}

void fc_rule_topo_firmware(const struct fc_case *c)
{
    struct items all = collect(c, "topo.ports");
    for (size_t i = 0; i < all.count; i++) {
        all.item[i].kind = text(all.item[i].o, "board");
        all.item[i].word = text(all.item[i].o, "firmware");
    }
    compare(c, &all, say_firmware);
    free(all.item);
}

/* ---- what ports are set to ---- */

static void say_setting(const struct fc_case *c, const struct item *p,
                        const struct item *usual, size_t alike, const char *what,
                        const char *remedy)
{
    struct fc_finding finding = fc_finding_of_config(c, FC_SEV_WARN, p->node);
    bool words = p->word[0];
    char mine[32], most[32];
    snprintf(mine, sizeof mine, "%g", p->number);
    snprintf(most, sizeof most, "%g", usual->number);
    finding.cause = "a port, an interface or a subnet that is set up differently";
    finding.remedy = remedy;
    fc_find(c->out, &finding, "%s of %s is %s, of %zu like it %s", what,
            fc_clip(text(p->o, "nic")).s, words ? fc_clip(p->word).s : mine, alike,
            words ? fc_clip(usual->word).s : most);
}

static void say_mtu(const struct fc_case *c, const struct item *p,
                    const struct item *usual, size_t alike)
{
    say_setting(c, p, usual, alike, "the MTU",
                "set one MTU on all interfaces and switch ports of the fabric");
}

static void say_pkeys(const struct fc_case *c, const struct item *p,
                      const struct item *usual, size_t alike)
{
    say_setting(c, p, usual, alike, "the table of P_Keys",
                "put the port into the partition of the others at the subnet manager");
}

static void say_interface(const struct fc_case *c, const struct item *p,
                          const struct item *usual, size_t alike)
{
    say_setting(c, p, usual, alike, "the interface's state", "bring the interface up");
}

static void say_gid(const struct fc_case *c, const struct item *p,
                    const struct item *usual, size_t alike)
{
    say_setting(
        c, p, usual, alike, "the index of the RoCE v2 GID",
        "give each interface its address before others, or choose GIDs by type, "
        "not by index");
}

static void compare_ports(const struct fc_case *c, const char *key, bool is_word,
                          say_fn say)
{
    struct items all = collect(c, "topo.ports");
    for (size_t i = 0; i < all.count; i++) {
        struct item *p = &all.item[i];
        const json_t *value = json_object_get(p->o, key);
        if (!is_fabric(p) || !is_active(p)) /* a port that is down reports nonsense */
            continue;
        p->kind = text(p->o, "layer");
        if (is_word)
            p->word = text(p->o, key);
        else if (json_is_number(value))
            p->number = json_number_value(value);
    }
    compare(c, &all, say);
    free(all.item);
}

void fc_rule_topo_settings(const struct fc_case *c)
{
    compare_ports(c, "mtu", false, say_mtu);
    compare_ports(c, "pkeys", true, say_pkeys);
    compare_ports(c, "net_state", true, say_interface);
    compare_ports(c, "gid", false, say_gid);
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
    bool clear = told >= ENOUGH && 3 * nodes[most] >= 2 * (told - 1);
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
    struct items ports = collect(c, "topo.ports");
    bool verbs = false;
    for (size_t i = 0; i < ports.count; i++)
        verbs |= is_fabric(&ports.item[i]);
    free(ports.item);
    check_counts(c, "topo.gpus", "GPUs");
    if (verbs) /* of Ethernet alone, nobody can say which NICs matter */
        check_counts(c, "topo.nics", "NICs of the fabric");
}
