// SPDX-License-Identifier: BSD-3-Clause
/* Nodes that have something in common, so that they make one finding. Collective: no.
 * Refuses to know: what it is. */
#ifndef FC_JUDGE_NODEGROUP_H
#define FC_JUDGE_NODEGROUP_H

#include "judge/rules.h"

struct fc_nodegroup {
    size_t *node; /* ascending, each once */
    size_t count;
};

/* An empty group with room for every node. False when memory is short, which the
 * findings then know. Ownership: fc_nodegroup_close. */
bool fc_nodegroup_open(const struct fc_case *c, struct fc_nodegroup *out);
void fc_nodegroup_close(struct fc_nodegroup *group);
/* Adds the node, unless it is in. */
void fc_nodegroup_add(struct fc_nodegroup *group, size_t node);
/* One finding as `base` says, of all of them: "MESSAGE: HOSTLIST", of one node the
 * message alone; none of an empty group. */
void fc_nodegroup_find(const struct fc_case *c, const struct fc_nodegroup *group,
                       const struct fc_finding *base, const char *fmt, ...)
    FC_PRINTF(4, 5);

#endif
