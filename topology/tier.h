// SPDX-License-Identifier: BSD-3-Clause
/* What a node is for: how it is isolated (bare metal, a virtual machine, a container
 * and what gave it its GPUs, slices of GPUs), what connects its GPUs inside, what
 * connects it to others, and which workloads that suits, each with its reason in words.
 * Collective: no. Refuses to know: what was measured, products' names.
 */
#ifndef FC_TOPOLOGY_TIER_H
#define FC_TOPOLOGY_TIER_H

#include "topology/model.h"

enum fc_suits { FC_SUITS_NO, FC_SUITS_YES, FC_SUITS_UNKNOWN };

enum { FC_TIER_WORKLOADS = 4 };
struct fc_tier {
    char isolation[256], inside[160], outside[160];
    struct {
        const char *name; /* static: "multi-node training" */
        enum fc_suits suits;
        char reason[160];
    } workload[FC_TIER_WORKLOADS];
};

/* Gbit/s of the fabric that a GPU needs for training over several nodes: what the
 * slowest tiers that are sold for it have (p4d: 50; A100 HDR: 200). Collective: no. */
#define FC_TIER_GBPS_A_GPU 50.0

struct fc_tier fc_tier_of(const struct fc_topo *topo);
/* "yes", "no", "unknown"; static. Collective: no. */
const char *fc_suits_name(enum fc_suits suits);

#endif
