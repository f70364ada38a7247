// SPDX-License-Identifier: BSD-3-Clause
#include "judge/nodegroup.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fc_nodegroup_open(const struct fc_case *c, struct fc_nodegroup *out)
{
    *out = (struct fc_nodegroup){malloc((c->ev->nodes + 1) * sizeof *out->node), 0};
    if (!out->node)
        c->out->status = FC_NOMEM;
    return out->node != NULL;
}

void fc_nodegroup_close(struct fc_nodegroup *group)
{
    free(group->node);
    *group = (struct fc_nodegroup){NULL, 0};
}

void fc_nodegroup_add(struct fc_nodegroup *group, size_t node)
{
    size_t at = group->count;
    while (at > 0 && group->node[at - 1] > node)
        at--;
    if (at > 0 && group->node[at - 1] == node)
        return;
    memmove(group->node + at + 1, group->node + at,
            (group->count - at) * sizeof *group->node);
    group->node[at] = node;
    group->count++;
}

void fc_nodegroup_find(const struct fc_case *c, const struct fc_nodegroup *group,
                       const struct fc_finding *base, const char *fmt, ...)
{
    struct fc_finding f = *base;
    char *message = NULL;
    va_list args;
    if (group->count == 0)
        return;
    va_start(args, fmt);
    int n = vasprintf(&message, fmt, args);
    va_end(args);
    if (n < 0) {
        c->out->status = FC_NOMEM;
        return;
    }
    f.odd = group->node;
    f.odds = group->count;
    f.node = group->count == 1 ? group->node[0] : FC_NONE;
    if (group->count == 1) /* the subject names it */
        fc_find(c->out, &f, "%s", message);
    else
        fc_find(c->out, &f, "%s: %s", message,
                fc_hosts(c->ev, group->node, group->count).s);
    free(message);
}
