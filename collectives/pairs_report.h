// SPDX-License-Identifier: BSD-3-Clause
/* What becomes of pair results: every few rounds they go to rank 0, which makes one
 * matrix line a round and, at the end, two summary records.
 * Refuses to know: how a pair is measured, which pairs are walked when.
 */
#ifndef FC_COLLECTIVES_PAIRS_REPORT_H
#define FC_COLLECTIVES_PAIRS_REPORT_H

#include "collectives/pairs.h"
#include "collectives/pairs_plan.h"
#include "collectives/path.h"
#include "core/matrix.h"
#include "core/schedule.h"

/* What a member tells of one round. */
struct fc_pair_entry {
    int64_t peer; /* member, -1: it rested */
    double bw_GBps, latency_s, link_GBps;
    uint64_t bytes, wrong;
    uint32_t samples;
    int32_t status;
    char path[32], how[160], why[256];
};

struct fc_pairs_report {
    struct fc_run *run;
    const struct fc_pairs_plan *plan;
    int attempt;
    uint32_t members;
    const int *rank_of; /* [members] */
    /* Rank 0 only. */
    struct fc_pair_entry *entry; /* [members][FC_PAIRS_BLOCK_MAX] */
    size_t *got;                 /* [members] bytes of the block */
    struct fc_matrix_pair *pair; /* [members / 2] */
    double *bw, *latency;        /* of all rounds so far */
    size_t bws, latencies, most_pairs;
    uint64_t bytes;
};

/* `rank_of` and `plan` are borrowed; nodes are the members where there are several,
 * else ranks. Ownership: fc_pairs_report_close, also when it failed. Collective: no. */
enum fc_status fc_pairs_report_open(struct fc_pairs_report *report, struct fc_run *run,
                                    const struct fc_pairs_plan *plan, int attempt,
                                    uint32_t members, const int *rank_of,
                                    struct fc_error *err) FC_MUST_USE;
void fc_pairs_report_close(struct fc_pairs_report *report);

/* Takes what members measured in `n` rounds, the first of which was number `done`;
 * `mine` is NULL on a rank that is no member. `noted`: this rank's own trouble with
 * noting things down. The lines are in the journal afterwards. Collective: yes. */
enum fc_status fc_pairs_report_block(struct fc_pairs_report *report, uint32_t done,
                                     uint32_t n, const struct fc_pair_entry *mine,
                                     enum fc_status noted,
                                     struct fc_error *err) FC_MUST_USE;

/* The two records over all pairs, into rank 0's sink. Collective: no. */
enum fc_status fc_pairs_report_summary(struct fc_pairs_report *report,
                                       struct fc_error *err) FC_MUST_USE;

#endif
