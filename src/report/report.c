// SPDX-License-Identifier: BSD-3-Clause
#include "report/report.h"

#include "report/render.h"

/* Only ASCII leaves: a control character in a name is an escape in the output. */
static enum fc_status render_json(const json_t *report, FILE *out, struct fc_error *err)
{
    if (json_dumpf(report, out,
                   JSON_INDENT(1) | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII) != 0 ||
        fputc('\n', out) == EOF || fflush(out) != 0)
        return fc_fail(err, FC_IO, "the report could not be written");
    return FC_OK;
}

const struct fc_renderer fc_renderers[] = {
    {"text", "a summary for people", fc_render_text},
    {"json", "report.json", render_json},
    {NULL, NULL, NULL},
};
