// SPDX-License-Identifier: BSD-3-Clause
/* The end of a run on rank 0: close the journal, judge it by reading it again, write
 * report.json beside it, print the summary. Called by the runner when all is done, and
 * by the watchdog as last words when the run must end before that.
 * Collective: no. Refuses to know: MPI.
 */
#ifndef FC_FINISH_H
#define FC_FINISH_H

#include "session.h"

/* `reason` NULL: the run is complete. Returns the exit status that is the truth. */
int fc_finish(struct fc_session *s, const char *reason);

/* For fc_watchdog_last_words: notes ranks that left no trace, then finishes. */
int fc_finish_last_words(void *session);

#endif
