// SPDX-License-Identifier: BSD-3-Clause
/* What the offline commands share: from RUN arguments to a report. Collective: no (no
 * MPI).
 */
#ifndef FC_REJUDGE_H
#define FC_REJUDGE_H

#include "core/option.h"
#include "core/status.h"
#include "report/report.h"

#include <jansson.h>

/* Reads and merges the runs, judges them by `profile` (a file; NULL: the run's own) and
 * with the leaf switches of `switches` (a file; NULL: those the run knew).
 * *out_report is a new reference. */
enum fc_status fc_rejudge(const struct fc_words *runs, const char *profile,
                          const char *switches, json_t **out_report,
                          struct fc_error *err) FC_MUST_USE;

/* The profile file, or the built-in one for NULL; the text names "--profile". */
enum fc_status fc_rejudge_profile(const char *path, json_t **out,
                                  struct fc_error *err) FC_MUST_USE;

/* NULL when there is none of that name. */
const struct fc_renderer *fc_renderer_find(const char *name);

#endif
