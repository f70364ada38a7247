// SPDX-License-Identifier: BSD-3-Clause
/* Who else used a node's CPUs while a phase measured: what the kernel counts as busy,
 * less what this run's ranks used themselves. A fact of the node, so that the judge can
 * tell a slow node from a busy one. Refuses to know: what was measured, what is too
 * much.
 */
#ifndef FC_LOAD_H
#define FC_LOAD_H

#include "core/run.h"

struct fc_load {
    uint64_t start_ns;
    double busy_s, steal_s,
        own_s; /* counters when the phase began; busy < 0: unreadable */
};

/* Reads the counters. Collective: no. */
void fc_load_begin(struct fc_load *load);

/* Each node's first rank adds a fact: {"phase", "facts": {"load.other_share",
 * "load.steal_share"}}, shares of all the CPUs' time since fc_load_begin; no fact for
 * less than a second. Ranks on one
 * kernel (boot id) count together, whatever nodes they believe to be on. The line is in
 * the sink; a commit must follow. Collective: yes. */
enum fc_status fc_load_end(const struct fc_load *load, struct fc_run *run,
                           const char *phase, struct fc_error *err) FC_MUST_USE;

/* Which kernel this is: its boot id, or the host's name. */
struct fc_kernel_id {
    char text[64];
};
struct fc_kernel_id fc_kernel_id(const char *hostname);

#endif
