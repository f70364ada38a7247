// SPDX-License-Identifier: BSD-3-Clause
/* One rank's part in pairs: who the members are, the schedule of their pairs, and what
 * this rank needs to measure its own: buffers, a stream, the interfaces' counters.
 * Refuses to know: which rounds are walked, records, what is printed.
 */
#ifndef FC_COLLECTIVES_PAIRS_RANK_H
#define FC_COLLECTIVES_PAIRS_RANK_H

#include "collectives/pairs.h"
#include "collectives/path.h"
#include "core/run.h"
#include "core/schedule.h"

struct fc_pairs_rank {
    struct fc_run *run; /* borrowed */
    uint32_t members;   /* the nodes, each by its first rank; of one node its ranks */
    int64_t me;         /* this rank's member; -1: none */
    int *rank_of;       /* [members] */
    struct fc_schedule schedule;
    void *send, *recv; /* `room` bytes each, on members only, as the rest */
    size_t room;
    struct fc_stream *stream;
    struct fc_path_watch *watch;
};

/* Collective: no. */
uint32_t fc_pairs_members(const struct fc_rte *rte);

/* Messages of up to `room` bytes. FC_NOMEM; on failure fc_pairs_rank_close is still
 * allowed. Collective: no. */
enum fc_status fc_pairs_rank_open(struct fc_run *run, size_t room,
                                  struct fc_pairs_rank *out,
                                  struct fc_error *err) FC_MUST_USE;
void fc_pairs_rank_close(struct fc_pairs_rank *rank);

/* Measures the pair with member `peer` in plan->round, under the watchdog. Faults are
 * in *out. Collective: between the two members. */
void fc_pairs_rank_measure(struct fc_pairs_rank *rank, const struct fc_pair_plan *plan,
                           int64_t peer, struct fc_pair_result *out,
                           struct fc_path *out_path);

#endif
