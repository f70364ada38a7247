// SPDX-License-Identifier: BSD-3-Clause
/* How much of the RDMA matrix a level measures: which operations and sizes, how long
 * each may take, how many rounds of node pairs, and whether rails are crossed.
 * Collective: no (pure functions of what all ranks know). Refuses to know: ranks,
 * workers, results.
 */
#ifndef FC_RDMA_EFFORT_H
#define FC_RDMA_EFFORT_H

#include "core/run.h"
#include "rdma/transfer.h"

struct fc_rdma_effort {
    uint32_t rounds, all;   /* of node pairs: walked, in the whole schedule */
    uint64_t budget_ns;     /* for all rounds; 0: the user asked for them */
    uint64_t box_ns;        /* of one bandwidth; latency takes a fifth */
    uint64_t patience_ns;   /* nothing moves for so long: the lane is dead */
    uint64_t bytes;         /* of a message whose bandwidth is measured */
    uint64_t latency_bytes; /* and whose latency is */
    unsigned bursts;        /* samples of a bandwidth */
    unsigned ops;           /* 1u << enum fc_rdma_op */
    bool cross;             /* each rail with each rail, not with its own alone */
    bool sizes;             /* all sizes once, in the first round */
};

/* `attempt` > 1: three times the samples. `members`: nodes; of one node, its rails. */
struct fc_rdma_effort fc_rdma_effort(const struct fc_settings *settings,
                                     uint32_t members, int attempt);
/* What it will take with so many rails, seconds. */
double fc_rdma_effort_s(const struct fc_rdma_effort *effort, int rails);

/* Sizes of the sweep, ascending; how many there are. */
enum { FC_RDMA_SIZES = 12 };
uint64_t fc_rdma_effort_size(unsigned i);

#endif
