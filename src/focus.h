// SPDX-License-Identifier: BSD-3-Clause
/* From the judge's suspects to what a probe is asked to measure again. Collective: no.
 * Refuses to know: why somebody is suspected, how anything is measured.
 */
#ifndef FC_FOCUS_H
#define FC_FOCUS_H

#include "core/run.h"

/* `suspects`: the list of a suspects line, equal on all ranks. Partners that do not
 * take part are left out. FC_NOMEM. Ownership: fc_focus_close. */
enum fc_status fc_focus_open(const struct fc_run *run, const json_t *suspects,
                             int attempt, struct fc_focus *out,
                             struct fc_error *err) FC_MUST_USE;
void fc_focus_close(struct fc_focus *focus);

#endif
