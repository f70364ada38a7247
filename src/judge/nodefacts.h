// SPDX-License-Identifier: BSD-3-Clause
/* Facts, seen by node: what each node says for a key, and whether speed can be
 * judged on it. Collective: no. Refuses to know: findings. */
#ifndef FC_JUDGE_NODEFACTS_H
#define FC_JUDGE_NODEFACTS_H

#include "judge/evidence.h"

struct fc_fact_key {
    const char *key;
    bool equal; /* meant to be the same on nodes of one kind */
    const char *help;
};
/* The rows of core/facts.def; NULL past the last. */
const struct fc_fact_key *fc_fact_key_at(size_t i);

/* out[node] becomes the node's value of `key` as text (of several ranks that differ:
 * each value once, sorted, joined by " | "), or NULL. False when memory is short. */
bool fc_nodefacts(const struct fc_evidence *ev, const char *key, const char **out);
/* A number among the facts of the node itself; NaN when there is none. */
double fc_nodefact_number(const struct fc_evidence *ev, size_t node, const char *key);
/* Any value among the facts of the node itself; NULL: none. Borrowed. */
const json_t *fc_nodefact_json(const struct fc_evidence *ev, size_t node,
                               const char *key);

/* CPUs that the node's ranks may use together, by their affinity; 0: not known. */
size_t fc_nodefacts_cpus(const struct fc_evidence *ev, size_t node);

/* Other users' load on a node, "" when there is none that matters: while `phase`
 * measured, where that was looked at, else before the run; NULL: while any phase
 * did. */
struct fc_load_text {
    char s[256];
};
struct fc_load_text fc_nodefacts_load(const struct fc_evidence *ev, size_t node,
                                      const char *phase);

/* out[node] says that more ranks run there than there are CPUs, or is NULL. */
bool fc_nodefacts_crowded(const struct fc_evidence *ev, const char **out);

#endif
