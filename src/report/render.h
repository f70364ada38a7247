// SPDX-License-Identifier: BSD-3-Clause
/* The renderers, each in a file of its own, for the table in report.c. Collective:
 * no. */
#ifndef FC_REPORT_RENDER_H
#define FC_REPORT_RENDER_H

#include "core/status.h"

#include <jansson.h>
#include <stdio.h>

/* A summary that a tired person reads in ten seconds; its last line is the verdict. */
enum fc_status fc_render_text(const json_t *report, FILE *out, struct fc_error *err);

#endif
