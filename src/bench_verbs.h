// SPDX-License-Identifier: BSD-3-Clause
/* The benches of RDMA transfers: perftest's option names, in a table of their own, and
 * perftest's columns.
 * Collective: where it says so. Refuses to know: verbs, the other benches.
 */
#ifndef FC_BENCH_VERBS_H
#define FC_BENCH_VERBS_H

#include "bench.h"
#include "rdma/transfer.h"

struct fc_bench_verbs_options {
    uint64_t bytes; /* 0: not given */
    bool all, bidirectional, gbits, json, rdma_cm;
    uint64_t duration_ns;
    int64_t iters; /* 0: as many as fit the duration */
    /* -1: as NCCL would choose, or the usual */
    int64_t gid_index, pkey_index, sl, tclass, retries, inline_bytes;
    int64_t qps, depth, mtu, timeout, port; /* 0 of the last three: not given */
    struct fc_words devices;
};
extern const struct fc_option fc_bench_verbs_table[];

/* What is measured: "write_bw" and so on. */
struct fc_bench_verbs_kind {
    enum fc_rdma_op op;
    bool latency;
};
/* By a WHAT's name; false: it is none of these. Collective: no. */
bool fc_bench_verbs_kind(const char *name, struct fc_bench_verbs_kind *out);

/* What one option alone cannot tell. FC_USAGE. Collective: no. */
enum fc_status fc_bench_verbs_check(const struct fc_bench_verbs_options *options,
                                    const struct fc_bench_verbs_kind *kind,
                                    struct fc_error *err) FC_MUST_USE;

/* One row: both directions are summed up in bandwidths. */
struct fc_bench_verbs_row {
    uint64_t bytes, iterations;
    double peak_GBps, average_GBps, messages_per_s;
    struct fc_lane_latency latency;
    int64_t wrong; /* bytes */
};
void fc_bench_verbs_head(FILE *out, bool latency, bool gbits);
void fc_bench_verbs_row(FILE *out, const struct fc_bench_verbs_row *row, bool latency,
                        bool gbits);
json_t *fc_bench_verbs_json(const struct fc_bench_verbs_row *row, bool latency);

/* The WHATs' run function. Collective: yes. */
enum fc_status fc_bench_verbs(struct fc_bench *bench, struct fc_error *err);

#endif
