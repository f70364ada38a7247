// SPDX-License-Identifier: BSD-3-Clause
/* Which leaf switches the nodes of a run, or of a journal, hang on: who is asked, in
 * what order. Refuses to know: formats, what is judged.
 */
#ifndef FC_LEAVES_H
#define FC_LEAVES_H

#include "core/journal.h"
#include "core/run.h"

/* Sets run->switches on all ranks: by the file that --switches named (NULL: none),
 * which rank 0 reads, else by what Slurm told each node's first rank, else NULL.
 * FC_USAGE, one line: the file cannot be read or used. Collective: yes. */
enum fc_status fc_leaves_find(struct fc_run *run, const char *file,
                              struct fc_error *err) FC_MUST_USE;

/* The run line's "switches", a new reference; NULL: nothing is known. Collective: no.
 */
json_t *fc_leaves_line(const struct fc_run *run);

/* Makes the lines of a journal say what the file says, whatever they said before.
 * FC_USAGE as above. Collective: no. */
enum fc_status fc_leaves_apply(struct fc_journal_text *journal, const char *file,
                               struct fc_error *err) FC_MUST_USE;

#endif
