// SPDX-License-Identifier: BSD-3-Clause
/* Is all there that should be there? Against what the run itself says, and against what
 * the user expects. */
#include "judge/nodefacts.h"
#include "judge/siblings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t declared_nodes(const struct fc_evidence *ev)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->nodes; i++)
        count += ev->node[i].declared;
    return count;
}

/* Ranks of declared nodes. */
static size_t declared_ranks(const struct fc_evidence *ev)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->nodes; i++)
        count += ev->node[i].declared ? ev->node[i].ranks : 0;
    return count;
}

void fc_rule_nodes(const struct fc_case *c)
{
    int64_t nodes = fc_ev_int(c->ev->run, "nodes", 1, INT32_MAX, -1);
    int64_t ranks = fc_ev_int(c->ev->run, "ranks", 1, INT32_MAX, -1);
    size_t seen = declared_nodes(c->ev), seen_ranks = declared_ranks(c->ev);
    struct fc_missing m = {.class = c->rule->class,
                           .check = c->rule->id,
                           .what = "all nodes and ranks",
                           .node = FC_NONE};
    if (nodes < 0 || ranks < 0)
        fc_miss(c->out, &m, "the run line does not say how many there are");
    else if ((int64_t)seen != nodes)
        fc_miss(c->out, &m, "%zu of %lld nodes are named in the journal", seen,
                (long long)nodes);
    else if ((int64_t)seen_ranks != ranks)
        fc_miss(c->out, &m, "%zu of %lld ranks are named in the journal", seen_ranks,
                (long long)ranks);
}

void fc_rule_expect_nodes(const struct fc_case *c)
{
    int64_t said = fc_ev_int(c->ev->run, "nodes", 1, INT32_MAX, -1);
    int64_t nodes = said >= 0 ? said : (int64_t)declared_nodes(c->ev);
    if (c->expect->nodes < 0 || nodes == c->expect->nodes)
        return;
    struct fc_finding f = {
        .severity = FC_SEV_FAIL,
        .confidence = FC_CONF_HIGH,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .cause =
            nodes < c->expect->nodes
                ? "nodes that are down, drained or not part of the allocation, or two "
                  "nodes under one name"
                : "the launcher was given more nodes than meant",
        .remedy =
            "compare the nodes below with the list of nodes that should be there"};
    fc_find(c->out, &f, "%lld node%s took part, %lld expected", (long long)nodes,
            nodes == 1 ? "" : "s", (long long)c->expect->nodes);
}

void fc_rule_expect_gpus(const struct fc_case *c)
{
    if (c->expect->gpus < 0)
        return;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        double gpus = fc_nodefact_number(c->ev, i, "gpu.count");
        struct fc_missing m = {.class = c->rule->class,
                               .check = c->rule->id,
                               .probe = "config",
                               .what = "number of GPUs",
                               .node = i};
        struct fc_finding f = {
            .severity = FC_SEV_FAIL,
            .confidence = FC_CONF_HIGH,
            .check = c->rule->id,
            .node = i,
            .rank = -1,
            .cause =
                "a GPU that did not come up on the PCI bus, or another kind of node",
            .remedy =
                "look at lspci and the kernel log; power-cycle the node; then replace "
                "the GPU or its board",
            .probe = "config"};
        if (!isfinite(gpus))
            fc_miss(c->out, &m,
                    "the node's facts do not tell it, and %lld are expected",
                    (long long)c->expect->gpus);
        else if (gpus != (double)c->expect->gpus)
            fc_find(c->out, &f, "%.6g GPU%s on the PCI bus, %lld expected", gpus,
                    gpus == 1.0 ? "" : "s", (long long)c->expect->gpus);
    }
}

/* A port of the fabric that is up. */
static bool is_up(const json_t *port)
{
    return json_is_true(json_object_get(port, "fabric")) &&
           strcmp(fc_sibling_text(port, "state"), "ACTIVE") == 0;
}

struct up {
    size_t nics, slow;
    const json_t *slowest; /* the first port that is slow; NULL: none */
};

/* The ports of one NIC stand in a row. */
static struct up count_up(const json_t *ports, int64_t gbps)
{
    struct up up = {0, 0, NULL};
    const char *last = "";
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        if (!is_up(port))
            continue;
        up.nics += strcmp(fc_sibling_text(port, "nic"), last) != 0;
        last = fc_sibling_text(port, "nic");
        if (gbps > 0 && fc_sibling_number(port, "Gbps") < 0.99 * (double)gbps) {
            up.slow++;
            up.slowest = up.slowest ? up.slowest : port;
        }
    }
    return up;
}

static void check_nics(const struct fc_case *c, size_t node)
{
    const json_t *ports = fc_nodefact_json(c->ev, node, "topo.ports");
    struct fc_missing m = {.class = c->rule->class,
                           .check = c->rule->id,
                           .probe = "config",
                           .what = "number and rate of NICs",
                           .node = node};
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_FAIL, node);
    struct up up = count_up(ports, c->expect->nic_gbps);
    if (!ports) {
        fc_miss(c->out, &m, "the node's facts do not tell them");
        return;
    }
    f.cause =
        "a NIC that did not come up, a port that is down, or another kind of node";
    f.remedy = "look at lspci, the ports' states and their cables";
    if (c->expect->nics >= 0 && up.nics < (size_t)c->expect->nics)
        fc_find(c->out, &f,
                "%zu NIC%s of the fabric with a port that is up, %lld expected",
                up.nics, up.nics == 1 ? "" : "s", (long long)c->expect->nics);
    f.cause =
        "a cable, transceiver or switch port of a lower rate, or lanes that do not "
        "come up";
    f.remedy = "swap the cable, then the switch port";
    if (up.slowest)
        fc_find(c->out, &f,
                "%zu port%s of the fabric below the %lld Gb/s expected, %s at %g",
                up.slow, up.slow == 1 ? "" : "s", (long long)c->expect->nic_gbps,
                fc_clip(fc_sibling_text(up.slowest, "nic")).s,
                fc_sibling_number(up.slowest, "Gbps"));
}

void fc_rule_expect_nics(const struct fc_case *c)
{
    bool asked = c->expect->nics >= 0 || c->expect->nic_gbps >= 0;
    for (size_t i = 0; asked && i < c->ev->nodes; i++)
        check_nics(c, i);
}
