// SPDX-License-Identifier: BSD-3-Clause
/* A session: everything a run holds open on one rank, opened in the order that makes a
 * failure cheap (nothing is written before the launch is known to be right) and closed
 * in reverse. Refuses to know: what is measured or judged.
 */
#ifndef FC_SESSION_H
#define FC_SESSION_H

#include "cli.h"
#include "core/launch.h"
#include "core/run.h"
#include "run_options.h"

struct fc_session {
    struct fc_run_options *options; /* borrowed; a profile's [run] is applied to it */
    const struct fc_backends *backends;
    int argc;
    char **argv;
    struct fc_launch launch;
    struct fc_settings settings;
    struct fc_run run;
    json_t *control; /* the run line's "control" */
    json_t *profile; /* the effective profile, on every rank */
    char dir[4096];  /* the run's folder, on every rank */
};

/* Starts the spawner, the watchdog and MPI, reads the profile and who hangs on which
 * leaf switch, makes the folder and opens the device and the communicators. On failure
 * everything is closed again; the status is the same on all ranks. Collective: yes. */
enum fc_status fc_session_open(struct fc_session *s, struct fc_error *err) FC_MUST_USE;

/* The same for a bench: no profile, no folder, no journal; nothing is written, also
 * when a deadline passes. Collective: yes. */
enum fc_status fc_session_open_bench(struct fc_session *s,
                                     struct fc_error *err) FC_MUST_USE;

/* Ends MPI and frees everything. Collective: yes. */
void fc_session_close(struct fc_session *s);

#endif
