// SPDX-License-Identifier: BSD-3-Clause
/* Renderers of report.json. Each takes the parsed report and a stream. Hostile names in
 * it (control characters, escapes) never reach a terminal raw. Collective: no.
 * Refuses to know: MPI, probes, rules, journals.
 */
#ifndef FC_REPORT_REPORT_H
#define FC_REPORT_REPORT_H

#include "core/status.h"

#include <jansson.h>
#include <stdio.h>

struct fc_renderer {
    const char *name; /* "text"; NULL ends the table */
    const char *help;
    enum fc_status (*render)(const json_t *report, FILE *out, struct fc_error *err);
};

/* text, json. */
extern const struct fc_renderer fc_renderers[];

#endif
