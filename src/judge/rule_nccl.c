// SPDX-License-Identifier: BSD-3-Clause
/* Is NCCL told things that hurt? Its variables are in a rank's environment, or in files
 * that count where the environment says nothing; which of them it was, the finding
 * names. */
#include "judge/rules.h"
#include "judge/setup.h"

#include <stdio.h>
#include <string.h>

/* True when something is wrong with a rank's variables; `why` says what. */
typedef bool (*rank_fn)(const struct fc_evidence *ev, size_t node, const json_t *rank,
                        struct fc_setup_why *why);

/* Some rank's; where no rank has told its environment, the files alone. */
static enum fc_setup_level any_rank(const struct fc_case *c, size_t node,
                                    rank_fn is_wrong, struct fc_setup_why *why)
{
    size_t n, ranks = 0;
    const struct fc_ev_fact *fact = fc_ev_facts_of(c->ev, node, &n);
    bool wrong = false;
    for (size_t i = 0; i < n && !wrong; i++) {
        if (fact[i].rank < 0)
            continue;
        ranks++;
        wrong = is_wrong(c->ev, node, fact[i].facts, why);
    }
    if (ranks == 0)
        wrong = is_wrong(c->ev, node, NULL, why);
    return wrong ? FC_SETUP_WARN : FC_SETUP_FINE;
}

/* A value ends where the next word begins. */
static bool equals(const char *value, const char *text)
{
    size_t n = strlen(text);
    return strncmp(value, text, n) == 0 && (value[n] == ' ' || !value[n]);
}

static bool sets_harmful(const struct fc_evidence *ev, size_t node, const json_t *rank,
                         struct fc_setup_why *why)
{
    static const struct {
        const char *name, *value; /* NULL: any */
    } harmful[] = {
        {"NCCL_ALGO", NULL},           {"NCCL_PROTO", NULL},
        {"NCCL_MIN_NCHANNELS", NULL},  {"NCCL_P2P_DISABLE", "1"},
        {"NCCL_IB_DISABLE", "1"},      {"NCCL_SHM_DISABLE", "1"},
        {"NCCL_NET_GDR_LEVEL", "LOC"}, {"NCCL_NVLS_ENABLE", "0"},
    };
    const char *from;
    for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++) {
        const char *value = fc_setup_nccl(ev, node, rank, harmful[i].name, &from);
        if (!value || (harmful[i].value && !equals(value, harmful[i].value)))
            continue;
        snprintf(why->s, sizeof why->s, "%s, of %s", harmful[i].name, fc_clip(from).s);
        return true;
    }
    return false;
}

static enum fc_setup_level nccl_level(const struct fc_case *c, size_t node,
                                      struct fc_setup_why *why)
{
    return any_rank(c, node, sets_harmful, why);
}

void fc_rule_setup_nccl(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "a setting from a test or another machine that stayed in the environment "
              "or in nccl.conf";
    f.remedy = "unset NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, NCCL_NVLS_ENABLE=0, "
               "NCCL_NET_GDR_LEVEL and NCCL_*_DISABLE, and let NCCL choose";
    fc_setup_report(
        c, &f, nccl_level,
        "NCCL's choices are overridden by variables that are known to hurt");
}

/* NCCL_IB_HCA names prefixes unless it begins with "=": mlx5_1 takes mlx5_10, too. */
static bool has_prefix_trap(const struct fc_evidence *ev, size_t node,
                            const json_t *rank, struct fc_setup_why *why)
{
    const json_t *ports = fc_setup_array(ev, node, "topo.ports");
    const char *from, *p = fc_setup_nccl(ev, node, rank, "NCCL_IB_HCA", &from);
    if (!p || *p == '=' || *p == '^')
        return false;
    for (; *p && *p != ' '; p += *p == ',') {
        size_t word = strcspn(p, ", :");
        bool exact = false, longer = false;
        for (size_t j = 0; word > 0 && j < json_array_size(ports); j++) {
            const char *name = fc_setup_member(json_array_get(ports, j), "nic");
            bool fits = strncmp(name, p, word) == 0;
            exact |= fits && !name[word];
            longer |= fits && name[word];
        }
        if (exact && longer) {
            snprintf(why->s, sizeof why->s, "of %s", fc_clip(from).s);
            return true;
        }
        p += strcspn(p, ", ");
    }
    return false;
}

static enum fc_setup_level hca_level(const struct fc_case *c, size_t node,
                                     struct fc_setup_why *why)
{
    return any_rank(c, node, has_prefix_trap, why);
}

void fc_rule_setup_hca(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "NCCL_IB_HCA takes prefixes: mlx5_1 also takes mlx5_10";
    f.remedy = "begin its value with '=': NCCL_IB_HCA==mlx5_1,...";
    fc_setup_report(c, &f, hca_level,
                    "NCCL_IB_HCA names more devices than it seems to");
}
