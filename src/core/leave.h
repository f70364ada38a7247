// SPDX-License-Identifier: BSD-3-Clause
/* How a rank leaves a run that cannot go on: save, tell the others, let rank 0 judge,
 * end.
 *
 * What the rank has not committed goes into the journal (rank 0) or into a spool beside
 * it. A rank that met a deadline leaves a marker in the run's folder; the watchdogs of
 * the other ranks look for it once a second and leave too, so that all have saved what
 * they know within seconds, whatever the launcher does. Launchers kill everyone soon
 * after the first rank has ended, some at once: so the others wait, bounded, until rank
 * 0 has judged and written its exit status into the marker, and end with the same.
 * Where the folder is not shared the launcher's signal does the marker's work.
 * Used by watchdog.c only, on the watchdog's thread. Collective: no.
 */
#ifndef FC_CORE_LEAVE_H
#define FC_CORE_LEAVE_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>

struct fc_sink;
struct fc_journal;

/* All borrowed but the texts; sink and journal may be NULL. */
struct fc_leave {
    int rank;
    char node[300], phase[32];
    struct fc_sink *sink;
    struct fc_journal *journal;   /* rank 0 */
    char dir[4096];               /* the run's folder; empty before there is one */
    int (*last_words)(void *arg); /* returns the exit status that is the truth */
    void *last_words_arg;
    bool done; /* the run is over: only its exit status is left to give */
    int status;
};

/* What the rank was doing, for the event. */
struct fc_leave_reason {
    const char *kind; /* the event's: "deadline", "signal" */
    const char *what, *wait;
    double seconds; /* < 0: none */
    const char *message;
};

/* True once another rank has left its marker. */
bool fc_leave_marked(const struct fc_leave *who);

/* Saves, marks, judges or waits, and ends the process: with the status that the
 * judgement gave, or 3 where there was none. */
_Noreturn void fc_leave(const struct fc_leave *who, const struct fc_leave_reason *why);

#endif
