// SPDX-License-Identifier: BSD-3-Clause
/* Has each GPU of a node its NIC near it, and as much of it as the others? A node of
 * which some GPUs are worse off than others lacks a NIC, or was built so: the latter is
 * what three nodes or more that are all alike were. */
#include "judge/nodefacts.h"
#include "judge/nodegroup.h"
#include "judge/siblings.h"

#include <stdlib.h>
#include <string.h>

/* ---- distances ---- */

/* 0: behind a common switch; 1: in one NUMA node; 2: farther; -1: there is none. */
static int distance(const char *word)
{
    if (!word)
        return -1;
    if (strcmp(word, "PIX") == 0 || strcmp(word, "PXB") == 0)
        return 0;
    return strcmp(word, "SYS") == 0 ? 2 : 1;
}

/* Without verbs nothing goes from a GPU to a NIC but through the processor. */
static bool has_verbs(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_nodefact_json(ev, node, "topo.ports");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_true(json_object_get(json_array_get(list, i), "fabric")))
            return true;
    return false;
}

static bool has_unlike_distances(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_nodefact_json(ev, node, "topo.near");
    int first = -1;
    for (size_t i = 0; has_verbs(ev, node) && i < json_array_size(list); i++) {
        int d = distance(json_string_value(json_array_get(list, i)));
        if (d >= 0 && first >= 0 && d != first)
            return true;
        first = d >= 0 ? d : first;
    }
    return false;
}

/* Three nodes or more that are all so are made so. */
static enum fc_severity severity_of(const struct fc_case *c,
                                    const struct fc_nodegroup *group)
{
    bool all = group->count == c->ev->nodes && group->count >= FC_SIBLINGS_ENOUGH;
    return all ? FC_SEV_INFO : FC_SEV_WARN;
}

void fc_rule_topo_locality(const struct fc_case *c)
{
    struct fc_nodegroup group;
    if (!fc_nodegroup_open(c, &group))
        return;
    for (size_t i = 0; i < c->ev->nodes; i++)
        if (has_unlike_distances(c->ev, i))
            fc_nodegroup_add(&group, i);
    struct fc_finding f = fc_finding_of_config(c, severity_of(c, &group), FC_NONE);
    f.cause = "a NIC that is missing, fewer NICs than places for them, NICs in the "
              "wrong slots, or a virtual machine that hides where they are";
    f.remedy = "compare the slots with the maker's drawing; traffic of those GPUs goes "
               "through the processor, or the link between two";
    fc_nodegroup_find(
        c, &group, &f,
        "some GPUs have a NIC of the fabric near them, others only farther ones");
    fc_nodegroup_close(&group);
}

/* ---- shares ---- */

enum { MOST_GPUS = 512, MOST_NICS = 64 }; /* beyond them a node's facts are no node's */

static size_t count_at_most(const json_t *list, size_t most)
{
    size_t n = json_array_size(list);
    return n < most ? n : most;
}

/* How many NICs a GPU has, of one that it shares its part. 0: none is near. */
static double share_of(const json_t *functions, const json_t *gpu)
{
    const json_t *mine = json_object_get(gpu, "nics");
    double share = 0;
    for (size_t i = 0; i < count_at_most(mine, MOST_NICS); i++) {
        const json_t *nic = json_array_get(mine, i);
        size_t users = 0;
        for (size_t g = 0; g < count_at_most(functions, MOST_GPUS); g++) {
            const json_t *theirs =
                json_object_get(json_array_get(functions, g), "nics");
            for (size_t k = 0; k < count_at_most(theirs, MOST_NICS); k++)
                if (json_equal(json_array_get(theirs, k), nic))
                    users++;
        }
        share += 1.0 / (double)(users ? users : 1);
    }
    return share;
}

struct shares {
    const json_t *most, *least; /* GPUs; NULL: none has NICs near it */
    double max, min;
};

static struct shares shares_of(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_nodefact_json(ev, node, "topo.functions");
    struct shares s = {NULL, NULL, 0, 0};
    for (size_t i = 0; i < count_at_most(list, MOST_GPUS); i++) {
        const json_t *o = json_array_get(list, i);
        if (json_array_size(json_object_get(o, "nics")) == 0)
            continue;
        double share = share_of(list, o);
        if (!s.most || share > s.max) {
            s.most = o;
            s.max = share;
        }
        if (!s.least || share < s.min) {
            s.least = o;
            s.min = share;
        }
    }
    return s;
}

/* Else topology.locality tells, and shares of far and near NICs are no measure. */
static bool is_equally_near(const struct fc_evidence *ev, size_t node)
{
    const json_t *list = fc_nodefact_json(ev, node, "topo.near");
    for (size_t i = 1; i < json_array_size(list); i++)
        if (!json_equal(json_array_get(list, i), json_array_get(list, 0)))
            return false;
    return true;
}

void fc_rule_topo_ratio(const struct fc_case *c)
{
    struct shares first = {NULL, NULL, 0, 0};
    struct fc_nodegroup group;
    if (!fc_nodegroup_open(c, &group))
        return;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        struct shares s = shares_of(c->ev, i);
        if (!s.most || s.max < 1.9 * s.min || !is_equally_near(c->ev, i))
            continue;
        first = group.count ? first : s;
        fc_nodegroup_add(&group, i);
    }
    struct fc_finding f = fc_finding_of_config(c, severity_of(c, &group), FC_NONE);
    f.confidence = FC_CONF_MEDIUM;
    f.cause = "a NIC or GPU that is missing or sits in another slot than it should";
    f.remedy = "compare the slots with the maker's drawing, and count GPUs and NICs";
    fc_nodegroup_find(
        c, &group, &f,
        "GPUs have unlike shares of the NICs near them: %s %.2g, %s %.2g",
        first.most ? fc_clip(fc_sibling_text(first.most, "name")).s : "-", first.max,
        first.least ? fc_clip(fc_sibling_text(first.least, "name")).s : "-", first.min);
    fc_nodegroup_close(&group);
}
