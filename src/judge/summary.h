// SPDX-License-Identifier: BSD-3-Clause
/* What each probe found, in a few numbers, for the report. Collective: no. */
#ifndef FC_JUDGE_SUMMARY_H
#define FC_JUDGE_SUMMARY_H

#include "judge/evidence.h"
#include "judge/expectation.h"
#include "judge/pairs.h"

/* [{name, status, metrics: [{metric, unit, bytes, count, median, worst,
 * worst_subject, share, worst_share}]}], probes in the plan's order. Of a sweep the
 * largest size counts. New reference; NULL when memory is short. */
json_t *fc_summary_json(const struct fc_evidence *ev,
                        const struct fc_expectation *expect,
                        struct fc_pairs_shelf *shelf);

#endif
