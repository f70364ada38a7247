// SPDX-License-Identifier: BSD-3-Clause
/* The judge: journal in, report out. A pure function: the same journal and profile
 * give the same report, whatever the order of lines, ranks or node names. The
 * effective profile is the journal's own `profile` line unless one is given; what
 * the run was told to expect (nodes, GPUs) stays demanded unless the given one says
 * otherwise. Collective: no. Refuses to know: MPI, probes, how anything was
 * measured. */
#ifndef FC_JUDGE_JUDGE_H
#define FC_JUDGE_JUDGE_H

#include "core/journal.h"
#include "core/status.h"

#include <jansson.h>

#define FC_REPORT_SCHEMA "fabricheck-report/1"

/* `profile` (may be NULL) is what fc_profile_load or fc_profile_default returns. The
 * report (new reference) is report.json as the contract has it. FC_USAGE when the
 * journal is no journal that can be judged; the text says why. */
enum fc_status fc_judge(const struct fc_journal_text *journal, json_t *profile,
                        json_t **out_report, struct fc_error *err) FC_MUST_USE;

/* What should be measured again to decide: {"attempt": 2, "suspects": [{metric, node,
 * rank, why}…]} (new reference); an empty list when nothing should. Pure. */
enum fc_status fc_judge_suspects(const struct fc_journal_text *journal, json_t **out,
                                 struct fc_error *err) FC_MUST_USE;

/* The exit status that a report's verdict means: FC_EXIT_PASS, _FAIL or _INCONCLUSIVE.
 * */
int fc_judge_exit_status(const json_t *report);

#endif
