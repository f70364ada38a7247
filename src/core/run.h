// SPDX-License-Identifier: BSD-3-Clause
/* What a probe is, and what it is given. Each probe is one static `struct fc_probe`;
 * the runner walks the table of them. Refuses to know: which probes exist.
 */
#ifndef FC_CORE_RUN_H
#define FC_CORE_RUN_H

#include "core/record.h"
#include "core/rte.h"
#include "core/sink.h"
#include "core/status.h"
#include "core/watchdog.h"

#include <stdbool.h>
#include <stdint.h>

enum fc_level { FC_LEVEL_QUICK, FC_LEVEL_STANDARD, FC_LEVEL_FULL, FC_LEVEL_SOAK };

/* What the user asked for, equal on all ranks. */
struct fc_settings {
    enum fc_level level;
    uint64_t min_bytes, max_bytes; /* collectives' sizes, -b and -e */
    double factor;                 /* -f */
    uint32_t pair_rounds;          /* --pairs: 0 as the level says, UINT32_MAX all */
    uint64_t
        work_ns; /* deadline of one local or collective step; waits get twice that */
};

struct fc_device; /* device/device.h */
struct fc_comm;   /* collectives/comm.h */

/* Everything a probe may use. Borrowed; lives as long as the run. */
struct fc_run {
    const struct fc_settings *settings;
    struct fc_rte *rte;
    struct fc_sink *sink;
    struct fc_watchdog *watchdog;
    struct fc_journal *journal; /* rank 0 only, else NULL */
    struct fc_spawner *spawner;
    struct fc_device *device; /* NULL when the rank has none */
    struct fc_comm *world;    /* all ranks, over MPI */
    struct fc_comm *node;     /* the ranks of this rank's node, over MPI */
    struct fc_comm *leaders;  /* the first rank of each node; NULL on other ranks */
    /* The same through shared memory inside the nodes; NULL on all ranks where memory
     * cannot be shared, or where there is one rank. */
    struct fc_comm *world_aware, *node_aware;
    bool one_kernel; /* all ranks run on one kernel */
    bool rdma;       /* some node has an RDMA device */
    int sharers;     /* ranks that share this rank's cores, itself included */
    uint64_t seed;
    /* What is known of the nodes' leaf switches (src/leaves.h): "leaf" is an object,
     * node -> its switch or a list by rail. NULL: nothing. */
    json_t *switches;
};

/* A suspect and one of the nodes that it should be measured with again. */
struct fc_focus_pair {
    int node, partner; /* numbers of nodes, never equal */
    int concurrency;   /* at least 1: pairs at work at the same time, itself included */
};

/* What a retest wants: nothing (a first run), or some ranks' metrics again. */
struct fc_focus {
    int attempt; /* 1: the first run */
    bool mine;   /* attempt > 1: this rank is among the suspects */
    /* Of pairs of nodes, the only ones to be measured, the most wanted first; the same
     * on all ranks. None: all pairs that have a suspect. */
    struct fc_focus_pair *pair;
    size_t pairs;
};

struct fc_probe {
    const char *name;
    const char *help; /* one sentence: what it measures and which fault it catches */
    /* Why this run has nothing for the probe to measure (static text), or NULL. The
     * field may be NULL: always applicable. */
    const char *(*not_applicable)(const struct fc_run *run);
    /* Seconds it will take at this level; also the plan's. */
    double (*cost_s)(const struct fc_run *run);
    /* Collective: yes, in every call; a rank that fails goes on to the next agreement.
     * Records and facts go to run->sink, then fc_phase_commit. `setup` and `teardown`
     * may be NULL; `teardown` runs even when `run` failed. */
    enum fc_status (*setup)(struct fc_run *run, void **out_state, struct fc_error *err);
    enum fc_status (*run)(struct fc_run *run, void *state, const struct fc_focus *focus,
                          struct fc_error *err);
    void (*teardown)(struct fc_run *run, void *state);
    bool retests; /* `run` may be called again with attempt > 1 */
};

/* Gathers what every rank's sink holds and writes it into the journal, in rank order.
 * Called at the end of each round or size, at least every ten seconds.
 * FC_IO when the journal cannot be written anywhere. Collective: yes. */
enum fc_status fc_phase_commit(struct fc_run *run, const char *name,
                               struct fc_error *err) FC_MUST_USE;

/* The subject "node NODE, rank R" of this rank. */
struct fc_subject fc_run_subject(const struct fc_run *run);
/* This rank's node name. */
const char *fc_run_node(const struct fc_run *run);
/* The leaf switch of a node, by its number, borrowed: text, or a list by rail; NULL:
 * not known. */
json_t *fc_run_switch(const struct fc_run *run, int node);

#endif
