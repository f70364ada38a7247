// SPDX-License-Identifier: BSD-3-Clause
/* Single links that were low once, one way, among very many: measurements are held up
 * now and then, so that some are, and nothing is wrong with any of them. They become
 * one finding of nobody. A link that is low both ways, or that a retest confirmed, is
 * none of these. Collective: no. Refuses to know: what low means. */
#ifndef FC_JUDGE_DOUBTFUL_H
#define FC_JUDGE_DOUBTFUL_H

#include "judge/accused.h"

/* Of SINGLE links one may be low by chance; of LINKS some are. */
enum { FC_DOUBTFUL_SINGLE = 1000, FC_DOUBTFUL_LINKS = 10000 };

struct fc_doubtful {
    size_t count;
    const struct fc_culprit *lowest; /* borrowed */
    double value, share; /* its value, and what that is of what it should be */
};

/* Takes a link that is one of these; false: it is none. `value` and `should`: GB/s. */
bool fc_doubtful_take(struct fc_doubtful *io, const struct fc_arena *arena,
                      const struct fc_culprit *culprit, double value, double should);
/* The finding, when there are any: info, or a warning when they are more than chance
 * explains. `low`: "are …". False when memory is short. */
bool fc_doubtful_report(const struct fc_case *c, const struct fc_arena *arena,
                        const struct fc_doubtful *doubtful, const char *low);

#endif
