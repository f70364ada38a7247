// SPDX-License-Identifier: BSD-3-Clause
/* TAP of several ranks: a test passes when it does on every rank; the failing rank says
 * so itself, rank 0 prints. Collective: yes, all of it. */
#ifndef FC_TESTS_MPI_TAP_H
#define FC_TESTS_MPI_TAP_H

#include "core/rte.h"

#include <stdio.h>

static int tap_tests;

static inline void tap_check(struct fc_rte *rte, bool ok, const char *name)
{
    struct fc_error err;
    int64_t failed = ok ? 0 : 1;
    if (!ok)
        fprintf(stderr, "# rank %d fails: %s\n", rte->rank, name);
    if (fc_rte_max(rte, name, &failed, 1, &err) != FC_OK)
        failed = 1;
    tap_tests++;
    if (rte->rank == 0)
        printf("%s %d - %s\n", failed ? "not ok" : "ok", tap_tests, name);
    fflush(stdout);
}

static inline void tap_end(const struct fc_rte *rte)
{
    if (rte->rank == 0)
        printf("1..%d\n", tap_tests);
}

#endif
