// SPDX-License-Identifier: BSD-3-Clause
/* The runner: announces the plan, walks the probes phase by phase, asks which
 * measurements should be repeated, and repeats them. Refuses to know: how anything is
 * measured.
 */
#ifndef FC_RUNNER_H
#define FC_RUNNER_H

#include "session.h"

/* Writes the lines that open a journal: run, plan, profile. Collective: yes. */
enum fc_status fc_runner_begin(struct fc_session *s, struct fc_error *err) FC_MUST_USE;

/* Runs every planned probe. A probe that fails is noted in its phase and the run goes
 * on;
 * FC_LOST and FC_IO end it. Collective: yes. */
enum fc_status fc_runner_probes(struct fc_session *s, struct fc_error *err) FC_MUST_USE;

#endif
