// SPDX-License-Identifier: BSD-3-Clause
/* Log lines on stderr, as "[node:rank phase] lower case". The log level is the
 * program's only mutable global. Collective: no. */
#ifndef FC_CORE_LOG_H
#define FC_CORE_LOG_H

#include "core/status.h"

enum fc_log_level { FC_LOG_QUIET, FC_LOG_NORMAL, FC_LOG_VERBOSE };

void fc_log_set_level(enum fc_log_level level);
/* Who speaks; `node` and `phase` are borrowed and must live on. rank < 0: no prefix. */
void fc_log_set_who(const char *node, int rank);
void fc_log_set_phase(const char *phase);
/* Progress: the step that is under way. Drawn over the last one where stderr is a
 * terminal and the level is not quiet; elsewhere nothing, unless the level is verbose:
 * then a line. For rank 0 only. */
void fc_log_step(const char *step); /* NULL: takes it away */
/* One line, written with one write(2). Shown when `level` is within the level set. */
void fc_log(enum fc_log_level level, const char *fmt, ...) FC_PRINTF(2, 3);

#endif
