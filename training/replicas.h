// SPDX-License-Identifier: BSD-3-Clause
/* Compares the ranks' weights after a step by their hashes, and when they differ finds
 * whose, in which layer, and how many elements: more than half of the ranks that agree
 * are taken to be right. Refuses to know: timing, records. */
#ifndef FC_TRAINING_REPLICAS_H
#define FC_TRAINING_REPLICAS_H

#include "core/run.h"
#include "training/step.h"

/* What a comparison found. Equal on all ranks, except `own` and then the text. */
struct fc_replica_fault {
    bool any;
    bool own;             /* this rank's weights are unlike most replicas' */
    bool nobody;          /* the weights do not say whose fault it is */
    int64_t elements;     /* wrong ones; of nobody's fault: in the worst pair */
    struct fc_error text; /* own or nobody: step, rank, layer */
};

struct fc_replicas {
    struct fc_run *run;
    const struct fc_step *step; /* borrowed */
    uint64_t *own, *all;        /* hashes: [layers], [ranks][layers] */
};

/* FC_NOMEM. On failure fc_replicas_close is still allowed. Collective: no. */
enum fc_status fc_replicas_open(struct fc_replicas *replicas, struct fc_run *run,
                                const struct fc_step *step,
                                struct fc_error *err) FC_MUST_USE;
void fc_replicas_close(struct fc_replicas *replicas);

/* The hash of this rank's weights; `*out_bad` is the first layer with NaN or infinity,
 * or -1. Collective: no. */
uint64_t fc_replicas_hash(struct fc_replicas *replicas, int64_t *out_bad);

/* After fc_replicas_hash on all ranks: `hash` is every rank's, `stride` apart; `bad` is
 * what rank 0's said. `*out` is written when something is wrong. It overwrites
 * gradients. Collective: yes. */
enum fc_status fc_replicas_compare(struct fc_replicas *replicas, const uint64_t *hash,
                                   size_t stride, int64_t bad, int64_t step_number,
                                   struct fc_replica_fault *out,
                                   struct fc_error *err) FC_MUST_USE;

#endif
