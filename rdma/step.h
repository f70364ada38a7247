// SPDX-License-Identifier: BSD-3-Clause
/* One step of the matrix: seats are joined two by two, all at once, and measured.
 *
 * Queue pairs are made, endpoints gathered, connections made; then stage by stage both
 * members of each pair do the same: each operation's bandwidth in one direction, in the
 * other, its latency; rail by rail, so that a rail is measured without its neighbours,
 * and then all rails together. Between stages all ranks tell which seats failed, which
 * also keeps them in step; a pair that failed is not tried again in this step, so that
 * a dead link costs its patience once. The counters of the ports are read before and
 * after: what they moved proves the path, what else grew is a record.
 * Refuses to know: which seats meet in which round, matrices.
 */
#ifndef FC_RDMA_STEP_H
#define FC_RDMA_STEP_H

#include "rdma/effort.h"
#include "rdma/seats.h"

/* What one seat came to know in a step; it travels as it is. */
struct fc_rdma_entry {
    int32_t peer_node, peer_rail; /* -1: it rested */
    int32_t first;                /* of the two seats exactly one is */
    int32_t status;               /* enum fc_status; the worst of its stages */
    double bw[FC_RDMA_OPS];       /* GB/s, this seat being the one that asks; NaN */
    double latency[FC_RDMA_OPS];  /* s, the same; NaN */
    double together;              /* GB/s written, all rails at work; NaN */
    uint64_t wrong[FC_RDMA_OPS];  /* bytes that came here and were not what was sent */
    uint32_t samples;             /* the fewest of a bandwidth */
    char path[32], how[240];
    char why[240]; /* where status is not FC_OK */
};

/* Whom a seat meets; peer_node -1: nobody. */
struct fc_rdma_match {
    int peer_node, peer_rail;
    bool first;
};

/* The sweep over sizes: what one seat got as the one that asks. */
struct fc_rdma_size_entry {
    double bw[FC_RDMA_OPS][FC_RDMA_SIZES]; /* NaN: not measured */
    double latency[FC_RDMA_OPS][FC_RDMA_SIZES];
    uint64_t wrong[FC_RDMA_OPS][FC_RDMA_SIZES]; /* bytes that came here */
};

struct fc_rdma_step {
    struct fc_rdma_seats *seats;
    const struct fc_rdma_effort *effort;
    const struct fc_rdma_match *match; /* [slots] */
    bool apart; /* rails one after the other: seats of several nodes */
    uint32_t round;
    int attempt;
    uint64_t data_seed;
    struct fc_rdma_entry *out;        /* [slots] */
    struct fc_rdma_size_entry *sizes; /* [slots] wanted here; NULL: no sweep */
};

/* Faults of the fabric are in step->out, and records of them in the sink. Collective:
 * yes. */
enum fc_status fc_rdma_step_run(struct fc_rdma_step *step,
                                struct fc_error *err) FC_MUST_USE;

#endif
