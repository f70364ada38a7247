// SPDX-License-Identifier: BSD-3-Clause
/* Is each port of the fabric up, as fast and set up as those of its kind? What a port
 * should be is told by its equals on all nodes. A value that most of them share by
 * design (second ports that nobody uses, a slower rail) is no finding, nor is anything
 * of ports that are not of the fabric: management and storage. */
#include "judge/siblings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ports ---- */

static void say_port(const struct fc_case *c, const struct fc_sibling *p, size_t others,
                     size_t others_up, size_t up)
{
    /* none is up, or this one is up hardly anywhere: nobody means to use it */
    if (up == 0 || (others + 1 >= FC_SIBLINGS_ENOUGH && 2 * others_up < others))
        return;
    bool sure = others + 1 >= FC_SIBLINGS_ENOUGH && 3 * others_up >= 2 * others;
    struct fc_finding finding =
        fc_finding_of_config(c, sure ? FC_SEV_FAIL : FC_SEV_WARN, p->node);
    finding.confidence = sure ? FC_CONF_HIGH : FC_CONF_MEDIUM;
    finding.cause = strcmp(fc_sibling_text(p->o, "phys_state"), "Disabled") == 0
                        ? "it was disabled, here or by the subnet manager"
                        : "a cable, a transceiver, or the switch port it leads to";
    finding.remedy = "look at both ends of its cable; a port that is not meant to be "
                     "used is better disabled on all nodes";
    const char *phys = fc_sibling_text(p->o, "phys_state"); /* Polling, Disabled … */
    fc_find(c->out, &finding,
            "port %lld of %s is %s%s%s%s; %zu other ports of the fabric are ACTIVE",
            (long long)fc_sibling_port(p), fc_clip(fc_sibling_text(p->o, "nic")).s,
            fc_clip(fc_sibling_text(p->o, "state")).s, *phys ? " (" : "",
            fc_clip(phys).s, *phys ? ")" : "", up);
}

static int by_port(const void *pa, const void *pb)
{
    const struct fc_sibling *a = pa, *b = pb;
    int order = strcmp(fc_sibling_text(a->o, "nic"), fc_sibling_text(b->o, "nic"));
    if (order)
        return order;
    if (fc_sibling_port(a) != fc_sibling_port(b))
        return fc_sibling_port(a) < fc_sibling_port(b) ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool same_port(const struct fc_sibling *a, const struct fc_sibling *b)
{
    return strcmp(fc_sibling_text(a->o, "nic"), fc_sibling_text(b->o, "nic")) == 0 &&
           fc_sibling_port(a) == fc_sibling_port(b);
}

void fc_rule_topo_port(const struct fc_case *c)
{
    struct fc_siblings all = fc_siblings_collect(c, "topo.ports");
    size_t up = 0;
    for (size_t i = 0; i < all.count; i++)
        up += fc_sibling_is_fabric(&all.item[i]) && fc_sibling_is_active(&all.item[i]);
    if (all.count > 0)
        qsort(all.item, all.count, sizeof *all.item, by_port);
    for (size_t i = 0, end; i < all.count; i = end) {
        size_t group_up = 0;
        for (end = i; end < all.count && same_port(&all.item[i], &all.item[end]); end++)
            group_up += fc_sibling_is_active(&all.item[end]);
        for (size_t j = i; j < end; j++)
            if (fc_sibling_is_fabric(&all.item[j]) &&
                !fc_sibling_is_active(&all.item[j]) &&
                fc_sibling_text(all.item[j].o, "state")[0])
                say_port(c, &all.item[j], end - i - 1, group_up, up);
    }
    free(all.item);
}

static void say_rate(const struct fc_case *c, const struct fc_sibling *p,
                     const struct fc_sibling *usual, size_t alike, const char *also)
{
    if (p->number > usual->number)
        return;
    struct fc_finding finding = fc_finding_of_config(c, FC_SEV_FAIL, p->node);
    finding.cause =
        "a cable or transceiver of a lower rate, lanes that do not come up, "
        "or a switch port set to that rate";
    finding.remedy = "swap the cable, then the switch port";
    fc_find(c->out, &finding,
            "port %lld of %s runs at %g Gb/s, %zu of its kind at %g%s",
            (long long)fc_sibling_port(p), fc_clip(fc_sibling_text(p->o, "nic")).s,
            p->number, alike, usual->number, also);
}

void fc_rule_topo_rate(const struct fc_case *c)
{
    struct fc_siblings all = fc_siblings_collect(c, "topo.ports");
    for (size_t i = 0; i < all.count; i++) {
        struct fc_sibling *p = &all.item[i];
        if (!fc_sibling_is_fabric(p) || !fc_sibling_is_active(p))
            continue;
        p->kind = fc_sibling_text(p->o, "layer");
        p->number = fc_sibling_number(p->o, "Gbps");
    }
    fc_siblings_compare(c, &all, say_rate);
    free(all.item);
}

static void say_firmware(const struct fc_case *c, const struct fc_sibling *p,
                         const struct fc_sibling *usual, size_t alike, const char *also)
{
    struct fc_finding finding = fc_finding_of_config(c, FC_SEV_WARN, p->node);
    finding.cause =
        "an update that did not reach this card, or a card that was swapped "
        "in";
    finding.remedy = "bring all cards of one board to one firmware";
    fc_find(c->out, &finding,
            "the firmware of %s is %s, of %zu others of its board %s%s",
            fc_clip(fc_sibling_text(p->o, "nic")).s, fc_clip(p->word).s, alike,
            fc_clip(usual->word).s, also);
}

void fc_rule_topo_firmware(const struct fc_case *c)
{
    struct fc_siblings all = fc_siblings_collect(c, "topo.ports");
    for (size_t i = 0; i < all.count; i++) {
        all.item[i].kind = fc_sibling_text(all.item[i].o, "board");
        all.item[i].word = fc_sibling_text(all.item[i].o, "firmware");
    }
    fc_siblings_compare(c, &all, say_firmware);
    free(all.item);
}

/* ---- what ports are set to ---- */

static void say_setting(const struct fc_case *c, const struct fc_sibling *p,
                        const struct fc_sibling *usual, size_t alike, const char *also,
                        const char *what, const char *remedy)
{
    struct fc_finding finding = fc_finding_of_config(c, FC_SEV_WARN, p->node);
    bool words = p->word[0];
    char mine[32], most[32];
    snprintf(mine, sizeof mine, p->number < 0 ? "none" : "%g", p->number);
    snprintf(most, sizeof most, usual->number < 0 ? "none" : "%g", usual->number);
    finding.cause = "a port, an interface or a subnet that is set up differently";
    finding.remedy = remedy;
    fc_find(c->out, &finding, "%s of %s is %s, of %zu like it %s%s", what,
            fc_clip(fc_sibling_text(p->o, "nic")).s, words ? fc_clip(p->word).s : mine,
            alike, words ? fc_clip(usual->word).s : most, also);
}

static void say_mtu(const struct fc_case *c, const struct fc_sibling *p,
                    const struct fc_sibling *usual, size_t alike, const char *also)
{
    say_setting(c, p, usual, alike, also, "the MTU",
                "set one MTU on all interfaces and switch ports of the fabric");
}

static void say_pkeys(const struct fc_case *c, const struct fc_sibling *p,
                      const struct fc_sibling *usual, size_t alike, const char *also)
{
    say_setting(c, p, usual, alike, also, "the table of P_Keys",
                "put the port into the partition of the others at the subnet manager");
}

static void say_interface(const struct fc_case *c, const struct fc_sibling *p,
                          const struct fc_sibling *usual, size_t alike,
                          const char *also)
{
    say_setting(c, p, usual, alike, also, "the interface's state",
                "bring the interface up");
}

static void say_gid(const struct fc_case *c, const struct fc_sibling *p,
                    const struct fc_sibling *usual, size_t alike, const char *also)
{
    say_setting(
        c, p, usual, alike, also, "the index of the RoCE v2 GID",
        "give each interface an address, and before others, or choose GIDs by type, "
        "not by index");
}

static void compare_ports(const struct fc_case *c, const char *key, bool is_word,
                          fc_sibling_say_fn say)
{
    struct fc_siblings all = fc_siblings_collect(c, "topo.ports");
    for (size_t i = 0; i < all.count; i++) {
        struct fc_sibling *p = &all.item[i];
        const json_t *value = json_object_get(p->o, key);
        if (!fc_sibling_is_fabric(p) ||
            !fc_sibling_is_active(p)) /* a port that is down reports nonsense */
            continue;
        p->kind = fc_sibling_text(p->o, "layer");
        if (is_word)
            p->word = fc_sibling_text(p->o, key);
        else if (json_is_number(value))
            p->number = json_number_value(value);
        else if (json_is_null(value) && strcmp(key, "gid") == 0)
            p->number = -1; /* it has GIDs, and none that can be routed */
    }
    fc_siblings_compare(c, &all, say);
    free(all.item);
}

void fc_rule_topo_settings(const struct fc_case *c)
{
    compare_ports(c, "mtu", false, say_mtu);
    compare_ports(c, "pkeys", true, say_pkeys);
    compare_ports(c, "net_state", true, say_interface);
    compare_ports(c, "gid", false, say_gid);
}
