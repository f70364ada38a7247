// SPDX-License-Identifier: BSD-3-Clause
/* What one node's picture has otherwise than another's, in words, and which node of
 * many is the usual one. A picture is what a node line carries: {"facts",
 * "topology"}. Compared are counts, makers' names, each GPU (by its bus address), each
 * NIC (by its name) with its ports, NUMA nodes, and who is near whom; not what is each
 * node's own (serials, GUIDs, addresses) nor the speed of GPUs' links, which sinks when
 * they idle.
 * Collective: no. Refuses to know: journals, MPI, which of two is right.
 */
#ifndef FC_TOPOLOGY_DIFFER_H
#define FC_TOPOLOGY_DIFFER_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A list holds at most so many differences; the rest is counted. */
enum { FC_DIFFER_MOST = 16 };

/* *out (new reference): {"facts": [texts], "topology": [texts], "more": n}, with what
 * `mine` has otherwise than `usual`, in one order for one pair of pictures, equal
 * differences of several parts in one text; NULL when nothing differs. Collective: no.
 */
enum fc_status fc_differ(const json_t *mine, const json_t *usual, json_t **out,
                         struct fc_error *err) FC_MUST_USE;

/* XXH64 of all that fc_differ compares: equal for pictures that do not differ.
 * Collective: no. */
enum fc_status fc_differ_print(const json_t *picture, uint64_t *out,
                               struct fc_error *err) FC_MUST_USE;

/* What is known of a node among others. */
struct fc_kin {
    uint64_t class, print; /* class 0: leads no node, or nothing is known of it */
    int32_t rank, unused;  /* no padding goes over the wire */
};

/* Sorts, for the two below. Collective: no. */
void fc_kin_sort(struct fc_kin *kin, size_t n);
/* True when no two nodes differ. Collective: no. */
bool fc_kin_alike(const struct fc_kin *kin, size_t n);
/* The rank of the usual node of a class, or, for 0, of the class that most nodes have:
 * the lowest of those whose print most of the class share; -1: there is none. Of equal
 * numbers that with the lowest rank counts. Collective: no. */
int fc_kin_usual(const struct fc_kin *kin, size_t n, uint64_t class);

#endif
