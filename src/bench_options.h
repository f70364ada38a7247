// SPDX-License-Identifier: BSD-3-Clause
/* The options of `bench`, and which of them mean something to which WHAT. One that
 * means nothing to a WHAT is refused there, and not shown in its --help.
 * Collective: no. Refuses to know: how anything is measured.
 */
#ifndef FC_BENCH_OPTIONS_H
#define FC_BENCH_OPTIONS_H

#include "core/dtype.h"
#include "core/option.h"
#include "core/status.h"

/* Groups of options that a WHAT has. */
enum fc_bench_has {
    FC_BENCH_SAMPLES = 1 << 0,    /* -n */
    FC_BENCH_SIZES = 1 << 1,      /* -b -e -f */
    FC_BENCH_COLLECTIVE = 1 << 2, /* -w -c --algorithm --comm */
    FC_BENCH_REDOP = 1 << 3,      /* -o */
    FC_BENCH_ROOT = 1 << 4,       /* -r */
    FC_BENCH_PAIRS = 1 << 5,      /* --rounds */
    FC_BENCH_TRAINING = 1 << 6,   /* --preset --layers --tokens --bucket … */
};

struct fc_bench;

/* One WHAT. */
struct fc_bench_what {
    const char *name;
    unsigned has;
    unsigned dtypes; /* -d takes these: a sum of 1u << enum fc_dtype; 0: no -d */
    uint64_t min_bytes, max_bytes; /* -b and -e when not given; 0: this WHAT's choice */
    const char *help;              /* one sentence */
    const struct fc_option *own;   /* a table of its own; NULL: fc_bench_option_table */
    /* Measures and prints; what it finds wrong is in bench->wrong. The status is the
     * same on all ranks. Collective: yes. */
    enum fc_status (*run)(struct fc_bench *bench, struct fc_error *err);
};

struct fc_bench_options {
    uint64_t min_bytes, max_bytes; /* 0: not given */
    double factor;
    int64_t iters, warmup, root;
    char *check, *dtype, *redop, *algorithm, *comm;
    bool json;
    int64_t rounds;        /* 0: all */
    char *preset, *layers; /* NULL: not given */
    int64_t tokens, steps; /* 0: not given */
    uint64_t bucket_bytes; /* 0: not given */
    bool sharded;
    enum fc_dtype type; /* -d, found by fc_bench_options_check */
};

/* All rows; --help of one WHAT shows fewer. */
extern const struct fc_option fc_bench_option_table[];

/* What one option alone cannot tell: one that means nothing to this WHAT, a type that
 * it lacks, -b above -e, sizes that are no whole number of elements. `argv` is what was
 * parsed. FC_USAGE, one line. */
enum fc_status fc_bench_options_check(const struct fc_bench_what *what, int argc,
                                      char *const *argv,
                                      struct fc_bench_options *options,
                                      struct fc_error *err) FC_MUST_USE;

void fc_bench_options_help(const struct fc_bench_what *what, FILE *out);

#endif
