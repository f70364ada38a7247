// SPDX-License-Identifier: BSD-3-Clause
/* One `fabricheck bench WHAT`: what the WHATs are given, and what they share. Each WHAT
 * measures by what the probes use, prints its own rows on rank 0 and judges nothing.
 * Refuses to know: limits, journals.
 */
#ifndef FC_BENCH_H
#define FC_BENCH_H

#include "bench_options.h"
#include "core/run.h"

#include <jansson.h>
#include <stdio.h>

struct fc_bench {
    const struct fc_bench_what *what;
    const struct fc_bench_options *options;
    const struct fc_bench_verbs_options *verbs; /* of RDMA's WHATs; else NULL */
    struct fc_run *run;
    FILE *out;      /* rank 0: the table, row by row; else NULL */
    json_t *object; /* rank 0 with --json: what is printed at the end; else NULL */
    json_t *rows;   /* its "rows" */
    int wrong;      /* measurements with a wrong result, on every rank */
};

/* Lists the devices as nccl-tests does, where the caller's rank belongs to `group` (-1:
 * to none, and is not listed). Collective: yes. */
enum fc_status fc_bench_devices(struct fc_bench *bench, int group,
                                struct fc_error *err) FC_MUST_USE;

/* FC_NOMEM where two buffers of `bytes` for each rank of a node are more than it has
 * free: a machine that swaps or kills measures nothing. Collective: no. */
enum fc_status fc_bench_room(const struct fc_bench *bench, uint64_t bytes,
                             struct fc_error *err) FC_MUST_USE;

/* The end of a measurement whose own status and text are passed in. What is wrong is
 * told by rank 0 on stderr, counted, and no error; anything else comes back, the same
 * on all ranks. Collective: yes. */
enum fc_status fc_bench_agree(struct fc_bench *bench, enum fc_status own,
                              struct fc_error *err) FC_MUST_USE;

/* The WHATs' run functions. Collective: yes. */
enum fc_status fc_bench_collective(struct fc_bench *bench, struct fc_error *err);
enum fc_status fc_bench_mem(struct fc_bench *bench, struct fc_error *err);
enum fc_status fc_bench_gemm(struct fc_bench *bench, struct fc_error *err);
enum fc_status fc_bench_pairs(struct fc_bench *bench, struct fc_error *err);
enum fc_status fc_bench_training(struct fc_bench *bench, struct fc_error *err);

#endif
