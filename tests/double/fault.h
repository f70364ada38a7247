// SPDX-License-Identifier: BSD-3-Clause
/* Faults that the doubles plant, as the environment variable FABRICHECK_FAULT describes
 * them: OP:KIND[:KEY=VALUE]…, several separated by commas.
 *     gemm:slow:rank=2:by=3      rank 2's GEMM takes three times as long
 *     copy:wrong:rank=0:from=4   from the fourth call on, one element is changed
 *     all_reduce:hang:rank=1     the call never returns
 *     sendrecv:slow:rank=3:peer=5:above=4096  only large messages with rank 5
 *     axpy:wrong:rank=2:from=9   from the ninth update of weights on, a bit flips
 *     sendrecv:paced:rank=1:by=20  a byte takes 20 ns at least, whatever else runs
 * OP: gemm, copy, axpy, facts, or a collective by its name. KIND: slow, paced (only
 * of communicators), wrong, dead (an error), hang, crash, differ. KEY: rank (default
 * 0), by (default 4), from (call, default 1), bytes (only calls of that size), above
 * (only larger ones), peer (only sendrecv with that rank). Only the tests' program
 * knows this; the product does not.
 */
#ifndef FC_TESTS_FAULT_H
#define FC_TESTS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

struct fault {
    char op[16], kind[16];
    int rank, peer;
    double by;
    unsigned long from, calls;
    size_t bytes, above;
};

enum { FAULTS_MAX = 8 };

struct faults {
    struct fault fault[FAULTS_MAX];
    size_t count;
};

/* Those of `rank`. Ends the process with a message when the variable makes no sense. */
void faults_read(struct faults *out, int rank);
/* Counts a call of `op` with `bytes` bytes; the fault that strikes it, or NULL. */
const struct fault *faults_strike(struct faults *faults, const char *op, size_t bytes);
/* The same of a message to or from `peer`. */
const struct fault *faults_strike_link(struct faults *faults, const char *op,
                                       size_t bytes, int peer);
/* Never returns. */
void fault_hang(void);
bool fault_is(const struct fault *fault, const char *kind);

#endif
