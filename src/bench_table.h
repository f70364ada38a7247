// SPDX-License-Identifier: BSD-3-Clause
/* The columns of nccl-tests, so that whatever reads its output reads ours: comment
 * lines begin with '#', a row is size, count, type, redop, root, then time (us), algbw
 * and busbw (decimal GB/s) and #wrong, out of place and in place. A small number gets
 * the decimals it needs: nothing that was measured reads 0.00.
 * Collective: no. Refuses to know: ranks' results, options, MPI.
 */
#ifndef FC_BENCH_TABLE_H
#define FC_BENCH_TABLE_H

#include "collectives/comm.h"
#include "core/stats.h"

#include <jansson.h>
#include <stdio.h>

enum { FC_OUT_OF_PLACE, FC_IN_PLACE, FC_PLACES };

/* One placement of a row. */
struct fc_bench_side {
    double time_s;
    double algbw_GBps, busbw_GBps;
    int64_t wrong; /* elements, all ranks; -1: not verified */
};

struct fc_bench_row {
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop; /* of operations that reduce */
    int root;            /* of rooted ones */
    uint64_t bytes;      /* the message's */
    uint64_t count;      /* elements of a block */
    struct fc_bench_side side[FC_PLACES];
};

/* What the footer says of all rows. */
struct fc_bench_totals {
    int64_t wrong;
    double busbw_GBps; /* sum */
    int sides;
};

/* A side's bandwidths by nccl-tests' formulas; `seconds` > 0, n ranks, row->op and
 * row->bytes are set. */
void fc_bench_row_set(struct fc_bench_row *row, int place, int n, double seconds,
                      int64_t wrong);

/* Takes the row's sides into account. */
void fc_bench_totals_add(struct fc_bench_totals *totals,
                         const struct fc_bench_row *row);
/* The mean of all sides' bus bandwidths, decimal GB/s; 0 without any. */
double fc_bench_totals_mean(const struct fc_bench_totals *totals);

/* nccl-tests' name of a type: "float", "bfloat16"; static. */
const char *fc_bench_type_name(enum fc_dtype dtype);

/* A number that is not negative with at least `decimals` decimals, and with as many
 * more as three significant digits take. */
struct fc_bench_text {
    char s[32];
};
struct fc_bench_text fc_bench_number(double value, int decimals);

void fc_bench_table_head(FILE *out);
void fc_bench_table_row(FILE *out, const struct fc_bench_row *row);
void fc_bench_table_foot(FILE *out, const struct fc_bench_totals *totals);
/* The footer's line about wrong results, which both tables have. */
void fc_bench_table_wrong(FILE *out, int64_t wrong);

/* The other table, of what each rank does by itself: rank, size, type, time (us), rate,
 * peak, share of the peak (%), #wrong, node. A NaN is shown as "-". */
struct fc_bench_rate {
    int rank;
    const char *node;
    enum fc_dtype dtype;
    uint64_t size; /* bytes of an array, or n of an n x n product */
    double time_s;
    double rate, peak; /* in the unit that the head names */
    int64_t wrong;
};
void fc_bench_rates_head(FILE *out, const char *size_unit, const char *rate_unit);
void fc_bench_rates_row(FILE *out, const struct fc_bench_rate *rate);
json_t *fc_bench_rate_json(const struct fc_bench_rate *rate);

/* Pairs: round, both ranks, size, bandwidth each way (GB/s), latency (us), #wrong,
 * path. */
struct fc_bench_pair {
    uint32_t round;
    int a, b;
    uint64_t bytes; /* of a message */
    double a_to_b_GBps, b_to_a_GBps, latency_s;
    int64_t wrong; /* elements that either received */
    const char *path;
};
void fc_bench_pairs_head(FILE *out);
void fc_bench_pairs_row(FILE *out, const struct fc_bench_pair *pair);
json_t *fc_bench_pair_json(const struct fc_bench_pair *pair);

/* Values of different kinds: value, rank ("all" below 0), unit, median, min, max, p99,
 * samples. */
struct fc_bench_value {
    const char *name;
    int rank;
    const char *unit;
    double scale; /* what is shown is a sample times this */
    struct fc_summary sample;
};
void fc_bench_values_head(FILE *out);
void fc_bench_values_row(FILE *out, const struct fc_bench_value *value);
json_t *fc_bench_value_json(const struct fc_bench_value *value);

/* The row as an object: size, count, type, redop, root, out_of_place, in_place; times
 * in microseconds, as in the table. A new reference. */
json_t *fc_bench_row_json(const struct fc_bench_row *row);

#endif
