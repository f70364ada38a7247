// SPDX-License-Identifier: BSD-3-Clause
/* The watchdog: a thread a rank that knows what the rank is doing and until when.
 *
 * Every wait and every timed section is pushed with a name, a kind and a deadline, and
 * popped when it ends; they nest, and each level's deadline counts. When one passes, or
 * a signal (SIGTERM, SIGINT, SIGUSR1, SIGUSR2) arrives through the self-pipe, or
 * another rank has left its marker (leave.h), the watchdog saves what the rank has not
 * committed with an `event` line, lets rank 0 run its last words (they write `end` and
 * judge; without them it writes `end` itself), and ends the process by _exit. It never
 * calls MPI and never returns into it.
 * Collective: no. Refuses to know: MPI, what a phase does.
 */
#ifndef FC_CORE_WATCHDOG_H
#define FC_CORE_WATCHDOG_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

struct fc_watchdog;
struct fc_sink;
struct fc_journal;

/* Whose fault it is when the deadline passes. */
enum fc_wait {
    FC_WAIT_CONTROL,    /* waits for other ranks' agreement: another one is late */
    FC_WAIT_LOCAL,      /* this rank's own work: this rank is at fault */
    FC_WAIT_COLLECTIVE, /* a timed operation of several ranks: not told from here */
};

enum {
    FC_EXIT_PASS = 0,
    FC_EXIT_FAIL = 1,
    FC_EXIT_USAGE = 2,
    FC_EXIT_INCONCLUSIVE = 3
};

/* Starts the thread and takes over the signals. `rank` is the launcher's word before
 * MPI runs. */
enum fc_status fc_watchdog_open(int rank, struct fc_watchdog **out,
                                struct fc_error *err) FC_MUST_USE;
/* What it saves and where; `journal` on rank 0 only; all borrowed, may be NULL. */
void fc_watchdog_attach(struct fc_watchdog *wd, int rank, const char *node,
                        struct fc_sink *sink, struct fc_journal *journal,
                        const char *dir);
/* Called once, on rank 0, on the watchdog's thread, after everything was saved. It
 * writes the `end` line and returns the exit status, with which all ranks then end. */
void fc_watchdog_last_words(struct fc_watchdog *wd, int (*fn)(void *arg), void *arg);
/* True once a signal that ends the run has arrived: for last words. */
bool fc_watchdog_told_to_end(void);
/* Names the phase in messages; at most 31 bytes are kept. */
void fc_watchdog_phase(struct fc_watchdog *wd, const char *phase);

/* NULL-safe, so that code under test needs no watchdog. Depth at most 8. At most 63
 * bytes of `name` are kept. */
void fc_watchdog_push(struct fc_watchdog *wd, const char *name, enum fc_wait kind,
                      uint64_t deadline_ns);
void fc_watchdog_pop(struct fc_watchdog *wd);

/* Ends the run from the rank's own thread: the same path as a passed deadline. */
_Noreturn void fc_watchdog_end(struct fc_watchdog *wd, const char *why);

/* The run is over and all ranks know its exit status: whatever ends this rank from here
 * on (a launcher that kills the others after the first status other than 0, an
 * MPI_Finalize that hangs) ends it in silence with that status. */
void fc_watchdog_done(struct fc_watchdog *wd, int status);

/* Gives the signals back and joins the thread. NULL-safe. */
void fc_watchdog_close(struct fc_watchdog *wd);

#endif
