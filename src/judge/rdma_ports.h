// SPDX-License-Identifier: BSD-3-Clause
/* The RDMA ports that nodes told of (fact rdma.ports), and the commands of perftest
 * that measure between two of them. Collective: no. Refuses to know: what is good or
 * bad. */
#ifndef FC_JUDGE_RDMA_PORTS_H
#define FC_JUDGE_RDMA_PORTS_H

#include "judge/findings.h"

struct fc_rdma_place {
    size_t node;
    int rail;
    const char *name;   /* "mlx5_0:1" */
    const json_t *port; /* borrowed of the journal */
};
struct fc_rdma_places {
    struct fc_rdma_place *place; /* by node, then rail; freed by the caller */
    size_t count;
};

/* All ports that are rails and can be used. False when memory is short. */
bool fc_rdma_places(const struct fc_evidence *ev, struct fc_rdma_places *out);

/* "n2: ib_write_bw -d mlx5_0 … ; n1: ib_write_bw -d mlx5_1 … n2" for what the finding
 * is about, both ends by their facts. *out: malloc'd, NULL where that is not known.
 * False when memory is short. */
bool fc_rdma_reproduce(const struct fc_finding *finding, const struct fc_evidence *ev,
                       char **out);

#endif
