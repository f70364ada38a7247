// SPDX-License-Identifier: BSD-3-Clause
/* Other users' load: two looks at the kernel's CPU times and at each process's, and
 * what happened between them that was not this run's. A machine that is not ours alone
 * makes measured rates say little about its health.
 * Collective: no. Refuses to know: what load is too much.
 */
#ifndef FC_TOPOLOGY_FACTS_LOAD_H
#define FC_TOPOLOGY_FACTS_LOAD_H

#include "topology/facts.h"

struct fc_load_process {
    int pid, parent;
    char state; /* 'R' runs or wants to */
    unsigned int uid;
    uint64_t ticks; /* user and system time */
    char name[32];
};

struct fc_load_look {
    uint64_t busy, steal, total; /* ticks over all CPUs; `busy` holds no steal */
    size_t cpus;
    struct fc_load_process *process; /* by pid, rising */
    size_t count;
};

/* False: `gap` says why. Processes that vanish meanwhile are left out; so are kernel
 * threads, whose work is nobody's program. */
bool fc_load_look(const struct fc_source *source, struct fc_load_look *out,
                  struct fc_gap *gap);
void fc_load_look_free(struct fc_load_look *look);

/* The load.* facts that lie between two looks. `pids` as fc_facts_load has them. */
void fc_load_compare(const struct fc_load_look *before,
                     const struct fc_load_look *after, const int *pids, size_t n,
                     struct fc_facts *out);

#endif
