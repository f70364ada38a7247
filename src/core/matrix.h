// SPDX-License-Identifier: BSD-3-Clause
/* The journal's `matrix` line: one round of pairs (doc/journal.md). Collective: no.
 * Refuses to know: how a pair is measured, whether a value is good.
 */
#ifndef FC_CORE_MATRIX_H
#define FC_CORE_MATRIX_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One pair; text is borrowed. NaN: not measured or not known. */
struct fc_matrix_pair {
    int a, b;
    double a_to_b, b_to_a; /* GB/s */
    double latency_s;
    uint64_t wrong_b, wrong_a; /* elements that b, and that a, received */
    enum fc_status status;
    const char *reason; /* where the status is not FC_OK */
    const char *path, *path_how;
    double limit_GBps;
};

struct fc_matrix {
    const char *probe;
    const char *metric;  /* of the bandwidths; NULL: pair.bw */
    bool rails;          /* nodes have several NICs; then: */
    int rail, peer_rail; /* the numbers of the NICs that a and that b used */
    int attempt;
    uint32_t round, rounds;
    uint64_t seed;
    uint64_t bytes;   /* the largest message */
    unsigned samples; /* the fewest of any direction that was measured */
    const struct fc_matrix_pair *pair;
    size_t pairs;
    size_t concurrency; /* pairs at work at the same time; 0: all of these */
};

/* The line, malloc'd, without newline; NULL when memory is short. Lists that say
 * nothing are left out. */
char *fc_matrix_line(const struct fc_matrix *matrix);

#endif
