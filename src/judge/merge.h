// SPDX-License-Identifier: BSD-3-Clause
/* Several copies or parts of one run's journal as one. Collective: no. */
#ifndef FC_JUDGE_MERGE_H
#define FC_JUDGE_MERGE_H

#include "core/journal.h"

/* Moves all lines of part[0..parts) into *out, each once: lines with the same "src"
 * are one line, and so are lines of equal content. The parts are left empty.
 * FC_USAGE when they are not of one run (their run lines differ); the text names
 * path[i]. */
enum fc_status fc_journal_merge(struct fc_journal_text *part, const char *const *path,
                                size_t parts, struct fc_journal_text *out,
                                struct fc_error *err) FC_MUST_USE;

#endif
