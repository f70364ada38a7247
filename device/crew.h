// SPDX-License-Identifier: BSD-3-Clause
/* A crew: threads pinned to cores that run one function together.
 *
 * Member 0 is the caller itself, pinned for as long as a run lasts; the others are
 * threads made once, in fc_crew_open, so that a timed loop neither makes threads nor
 * allocates. A crew of one has no thread at all. Hand-over: members spin for some ten
 * microseconds, so that back-to-back runs start at once, then sleep, so that an idle
 * crew costs nothing. A crew is used by one thread at a time. Collective: no. Refuses
 * to know: what is run, other ranks.
 */
#ifndef FC_DEVICE_CREW_H
#define FC_DEVICE_CREW_H

#include "core/status.h"

#include <stddef.h>

struct fc_crew;

/* Called once for each member in 0..members-1, all at the same time. */
typedef void (*fc_crew_fn)(void *arg, int member, int members);
/* Called with parts [begin, end) that together cover 0..count once. */
typedef void (*fc_crew_part_fn)(void *arg, size_t begin, size_t end);

/* One member for each of cpu[0..members); a CPU may stand there twice. A CPU that
 * cannot be pinned to is used unpinned. FC_NOMEM, or FC_FAILED when a thread cannot be
 * made. */
enum fc_status fc_crew_open(const int *cpu, int members, struct fc_crew **out,
                            struct fc_error *err) FC_MUST_USE;
int fc_crew_size(const struct fc_crew *crew);

/* Runs `fn` on all members; returns when all have. */
void fc_crew_run(struct fc_crew *crew, fc_crew_fn fn, void *arg);

/* The member's part of 0..count: contiguous, its ends multiples of `grain`, the same
 * for the same numbers, so that what a member first touched it works on later. */
void fc_crew_part(size_t count, size_t grain, int member, int members,
                  size_t *out_begin, size_t *out_end);
/* Runs `fn` on the non-empty parts of 0..count. */
void fc_crew_for(struct fc_crew *crew, size_t count, size_t grain, fc_crew_part_fn fn,
                 void *arg);

/* Of the time that members were at work since the last call, the least share that one
 * of them had a CPU: 1 on a machine of one's own, 0.5 where another program wants the
 * same core. 1 when there was next to no work. */
double fc_crew_core_share(struct fc_crew *crew);

/* Joins the threads. NULL-safe. */
void fc_crew_close(struct fc_crew *crew);

#endif
