// SPDX-License-Identifier: BSD-3-Clause
/* What usually lies behind a symptom and what to do next, by metric. Collective: no.
 * Refuses to know: evidence. */
#ifndef FC_JUDGE_HINTS_H
#define FC_JUDGE_HINTS_H

struct fc_hint {
    const char *cause, *remedy; /* static */
};

/* `metric` may be unknown. */
struct fc_hint fc_hint_slow(const char *metric);
struct fc_hint fc_hint_wrong(const char *metric);
/* Nothing came through between members of a pair. */
struct fc_hint fc_hint_dead(const char *metric);

#endif
