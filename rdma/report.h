// SPDX-License-Identifier: BSD-3-Clause
/* From what seats know of a step to lines of the journal: matrix lines between nodes
 * (doc/journal.md), records between the rails of one node, and at the end records that
 * sum up all pairs. Rank 0 writes. Refuses to know: how it was measured, what is good.
 */
#ifndef FC_RDMA_REPORT_H
#define FC_RDMA_REPORT_H

#include "core/matrix.h"
#include "rdma/step.h"

/* Values of one metric over all pairs, for its summary. */
struct fc_rdma_values {
    double *x;
    size_t n, room;
    uint64_t wrong;
};

struct fc_rdma_report {
    const struct fc_rdma_seats *seats;
    const struct fc_rdma_effort *effort;
    int attempt;
    /* rank 0 only */
    struct fc_rdma_entry *told;       /* [size][slots] */
    struct fc_rdma_size_entry *sizes; /* the same; NULL: no sweep */
    size_t *got;                      /* [size] bytes */
    struct fc_matrix_pair *pair;      /* [nodes] */
    struct fc_rdma_values bw[FC_RDMA_OPS], latency[FC_RDMA_OPS], together;
    size_t most_pairs;
    char path[32]; /* of all pairs; "unknown" where they differ or one is not proven */
};

/* Collective: no. The caller closes it, also after a failure. */
enum fc_status fc_rdma_report_open(const struct fc_rdma_seats *seats,
                                   const struct fc_rdma_effort *effort, int attempt,
                                   struct fc_rdma_report *out,
                                   struct fc_error *err) FC_MUST_USE;
void fc_rdma_report_close(struct fc_rdma_report *report);

/* Gathers the seats' entries of a step and writes them. Collective: yes. */
enum fc_status fc_rdma_report_step(struct fc_rdma_report *report,
                                   const struct fc_rdma_step *step,
                                   struct fc_error *err) FC_MUST_USE;

/* Sums up all pairs. Collective: no; rank 0's. */
enum fc_status fc_rdma_report_summary(struct fc_rdma_report *report,
                                      struct fc_error *err) FC_MUST_USE;

#endif
