// SPDX-License-Identifier: BSD-3-Clause
/* Does each node have an interface that the others can be reached by? Patterns (of
 * NCCL, Open MPI, UCX) may leave none on a node, or no NIC, or an interface whose
 * address other machines have, too, as a container engine's bridge has. Without
 * patterns nothing is said of such bridges: every healthy node may have one. */
#include "judge/rules.h"
#include "judge/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which interfaces a pattern takes ---- */

/* One of the names of a list "a,b,c" that ends at a blank; `exact`: as a whole; `ends`:
 * what ends a name. */
static bool in_list_until(const char *list, const char *name, bool exact,
                          const char *ends)
{
    while (*list && *list != ' ') {
        size_t n = strcspn(list, ends);
        if (n > 0 && strncmp(list, name, n) == 0 && (!exact || !name[n]))
            return true;
        list += strcspn(list, ", ");
        list += *list == ',';
    }
    return false;
}

static bool in_list(const char *list, const char *name, bool exact)
{
    return in_list_until(list, name, exact, ", ");
}

/* NCCL_SOCKET_IFNAME: prefixes; "=" names, "^" all others, "^=" both. */
static bool nccl_takes(const char *pattern, const char *name, const char *address)
{
    (void)address;
    bool others = *pattern == '^';
    pattern += others;
    bool exact = *pattern == '=';
    pattern += exact;
    return in_list(pattern, name, exact) != others;
}

/* NCCL_IB_HCA: the same for devices of verbs, "mlx5_0" or "mlx5_0:1". Leaving one port
 * out leaves the other. */
static bool hca_takes(const char *pattern, const char *name, const char *address)
{
    (void)address;
    bool others = *pattern == '^';
    pattern += others;
    bool exact = *pattern == '=';
    pattern += exact;
    return in_list_until(pattern, name, exact, others ? ", " : ":, ") != others;
}

static bool read_ipv4(const char *text, size_t length, uint32_t *out)
{
    char copy[16];
    unsigned a, b, c, d;
    char rest;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (sscanf(copy, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) != 4 || a > 255 ||
        b > 255 || c > 255 || d > 255)
        return false;
    *out = a << 24 | b << 16 | c << 8 | d;
    return true;
}

/* "10.1.0.0/16" of a list. */
static bool in_subnet(const char *word, size_t length, const char *address)
{
    const char *slash = memchr(word, '/', length);
    uint32_t net, own;
    if (!slash || !read_ipv4(word, (size_t)(slash - word), &net) ||
        !read_ipv4(address, strlen(address), &own))
        return false;
    long bits = strtol(slash + 1, NULL, 10);
    return bits >= 0 && bits <= 32 &&
           (bits == 0 || (net ^ own) >> (32 - (unsigned)bits) == 0);
}

/* btl_tcp_if_include: names as a whole, or subnets. */
static bool ompi_takes(const char *pattern, const char *name, const char *address)
{
    for (const char *p = pattern; *p && *p != ' '; p += *p == ',') {
        size_t n = strcspn(p, ", ");
        if (in_subnet(p, n, address))
            return true;
        p += n;
    }
    return in_list(pattern, name, true);
}

/* UCX_NET_DEVICES: names as a whole. Devices of verbs are "mlx5_0:1". */
static bool ucx_takes(const char *pattern, const char *name, const char *address)
{
    (void)address;
    return *pattern == '^' || in_list(pattern, "all", true) ||
           in_list(pattern, name, true);
}

struct pattern {
    const char *variable; /* as it is shown */
    const char *fact;     /* NULL: NCCL's, of the environment or a file */
    bool (*takes)(const char *pattern, const char *name, const char *address);
};

static const struct pattern patterns[] = {
    {"NCCL_SOCKET_IFNAME", NULL, nccl_takes},
    {"OMPI_MCA_btl_tcp_if_include", "env.mpi", ompi_takes},
    {"UCX_NET_DEVICES", "env.ucx", ucx_takes},
    {"NCCL_IB_HCA", NULL, hca_takes},
};

/* The pattern's value in the first rank's environment; NULL: it is not set. */
static const char *value_of(const struct fc_evidence *ev, size_t node,
                            const struct pattern *pattern)
{
    size_t n, skip = strlen(pattern->variable) + 1;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &n);
    const char *from;
    for (size_t i = 0; i < n; i++) {
        if (fact[i].rank < 0)
            continue;
        if (!pattern->fact)
            return fc_setup_nccl(ev, node, fact[i].facts, pattern->variable, &from);
        const char *word = fc_setup_word(fc_setup_member(fact[i].facts, pattern->fact),
                                         pattern->variable);
        return word ? word + skip : NULL;
    }
    return NULL;
}

/* ---- none is left ---- */

static bool takes_verbs(const struct fc_evidence *ev, size_t node,
                        const struct pattern *pattern, const char *value)
{
    const json_t *ports = fc_setup_array(ev, node, "topo.ports");
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        const char *nic = fc_setup_member(port, "nic");
        char name[96];
        snprintf(name, sizeof name, "%.63s:%lld", nic,
                 (long long)fc_ev_int(port, "port", 0, 255, 1));
        if (pattern->takes == hca_takes ? hca_takes(value, nic, "")
                                        : in_list(value, name, true))
            return true;
    }
    return pattern->takes == hca_takes && !fc_setup_has_verbs(ev, node);
}

static bool takes_any(const json_t *list, const struct pattern *pattern,
                      const char *value)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (pattern->takes(value, fc_setup_member(one, "name"),
                           fc_setup_member(one, "address")))
            return true;
    }
    return false;
}

/* Interfaces with addresses for all but NCCL_IB_HCA, verbs devices for UCX, too. */
static bool is_served(const struct fc_evidence *ev, size_t node, const json_t *list,
                      const struct pattern *pattern, const char *value)
{
    bool verbs = pattern->takes == ucx_takes || pattern->takes == hca_takes;
    return (pattern->takes != hca_takes && takes_any(list, pattern, value)) ||
           (verbs && takes_verbs(ev, node, pattern, value));
}

/* Of one machine that speaks to itself; loopback is not among the addresses. */
static bool names_loopback(const struct pattern *pattern, const char *value)
{
    return *value != '^' && pattern->takes(value, "lo", "127.0.0.1");
}

static enum fc_setup_level interface_level(const struct fc_case *c, size_t node,
                                           struct fc_setup_why *why)
{
    const json_t *list = fc_setup_array(c->ev, node, "net.addresses");
    for (size_t i = 0; list && i < sizeof patterns / sizeof *patterns; i++) {
        const char *value = value_of(c->ev, node, &patterns[i]);
        if (!value || !*value || *value == ' ' || names_loopback(&patterns[i], value) ||
            is_served(c->ev, node, list, &patterns[i], value))
            continue;
        snprintf(why->s, sizeof why->s, "%s=%.*s", patterns[i].variable,
                 (int)(strcspn(value, " ") < 80 ? strcspn(value, " ") : 80), value);
        return FC_SETUP_WARN;
    }
    return FC_SETUP_FINE;
}

void fc_rule_setup_interface(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "interfaces or NICs have other names there, or the one that is meant has "
              "no address or is down";
    f.remedy = "look at `ip address` and `ibv_devices` there; name interfaces by a "
               "prefix that all nodes have, or by subnet";
    fc_setup_report(c, &f, interface_level,
                    "a pattern leaves no interface that has an address, or no NIC");
}

/* ---- an address that others have ---- */

struct claim {
    const char *address, *boot;
    size_t node;
    const char *name; /* of the interface */
    const char *variable;
};

static int by_address(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;
    int order = strcmp(a->address, b->address);
    order = order ? order : strcmp(a->boot, b->boot);
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

/* The variable whose pattern takes the address; NULL: none. */
static const char *chosen_by(const char *const *value, const json_t *one)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (value[i] && *value[i] && *value[i] != ' ' &&
            patterns[i].takes != hca_takes &&
            patterns[i].takes(value[i], fc_setup_member(one, "name"),
                              fc_setup_member(one, "address")))
            return patterns[i].variable;
    return NULL;
}

/* Addresses that patterns choose, of nodes that tell which boot they are of. Of a
 * pattern that takes all there is (all, ^...) nothing can be said. */
static size_t add_claims(const struct fc_evidence *ev, size_t node, struct claim *out)
{
    const json_t *list = fc_setup_array(ev, node, "net.addresses");
    const char *boot = fc_setup_text(ev, node, "host.boot_id");
    const char *value[sizeof patterns / sizeof *patterns];
    size_t count = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        value[i] = value_of(ev, node, &patterns[i]);
        if (patterns[i].takes == ucx_takes && value[i] &&
            (*value[i] == '^' || in_list(value[i], "all", true)))
            value[i] = NULL;
    }
    for (size_t i = 0; boot[0] && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *variable = chosen_by(value, one);
        if (variable && fc_setup_member(one, "address")[0])
            out[count++] = (struct claim){fc_setup_member(one, "address"), boot, node,
                                          fc_setup_member(one, "name"), variable};
    }
    return count;
}

static void report_address(const struct fc_case *c, const struct claim *claim,
                           size_t count)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    size_t *odd = malloc(count * sizeof *odd), odds = 0;
    if (!odd) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (odds == 0 || odd[odds - 1] != claim[i].node)
            odd[odds++] = claim[i].node;
    f.odd = odd;
    f.odds = odds;
    f.cause = "a bridge of a container engine, which has the same address on each "
              "machine, or one address given twice";
    f.remedy = "leave that interface out: NCCL_SOCKET_IFNAME and "
               "btl_tcp_if_include should name the network that joins the nodes";
    fc_find(c->out, &f, "%s takes %s, whose address %s is that of several machines: %s",
            claim->variable, fc_clip(claim->name).s, fc_clip(claim->address).s,
            fc_hosts(c->ev, odd, odds).s);
    free(odd);
}

void fc_rule_setup_address(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    size_t room = 1, count = 0;
    for (size_t i = 0; i < ev->nodes; i++)
        room += json_array_size(fc_setup_array(ev, i, "net.addresses"));
    struct claim *claim = malloc(room * sizeof *claim);
    if (!claim) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < ev->nodes; i++)
        count += add_claims(ev, i, claim + count);
    qsort(claim, count, sizeof *claim, by_address);
    for (size_t i = 0, end; i < count; i = end) {
        bool machines = false; /* nodes of one boot are one machine, in a lab */
        for (end = i + 1; end < count && !strcmp(claim[i].address, claim[end].address);
             end++)
            machines |= strcmp(claim[i].boot, claim[end].boot) != 0;
        if (machines)
            report_address(c, claim + i, end - i);
    }
    free(claim);
}
