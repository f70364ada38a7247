// SPDX-License-Identifier: BSD-3-Clause
/* A culprit among pairs as a finding: whose it is, and in which transfers. Collective:
 * no. Refuses to know: why the transfers are bad. */
#ifndef FC_JUDGE_ACCUSED_H
#define FC_JUDGE_ACCUSED_H

#include "judge/pairs.h"
#include "judge/rules.h"

struct fc_accused {
    struct fc_finding finding; /* without cause, remedy and evidence */
    size_t *odd;
    char scope[320]; /* "in 6 of 6 transfers that it sends" */
};

/* A FAIL of medium confidence (low where the leaf switch is inferred), to be changed by
 * the caller. False when memory is short. Ownership: fc_accused_close. */
bool fc_accused_open(const struct fc_case *c, const struct fc_arena *arena,
                     const struct fc_culprit *culprit, const char *metric,
                     struct fc_accused *out);
void fc_accused_close(struct fc_accused *accused);

#endif
