// SPDX-License-Identifier: BSD-3-Clause
/* Which leaf switch each node hangs on, as the site itself tells it: Slurm's
 * topology.conf, what ibnetdiscover prints (whole, or ports only with -p), or the
 * address that Slurm gives each task.
 *
 * A node's value is text, or a list by rail where its rails hang on several switches:
 * in the order of its HCAs' names, or as topology.conf names the switches.
 * Collective: no. Refuses to know: which nodes take part, latencies, what is judged.
 */
#ifndef FC_TOPOLOGY_SWITCHES_H
#define FC_TOPOLOGY_SWITCHES_H

#include "core/status.h"

#include <jansson.h>
#include <stddef.h>

struct fc_switches {
    const char *from; /* "topology.conf" or "ibnetdiscover"; static */
    json_t *leaf;     /* node -> value */
};

/* Reads `bytes` of text, in which a 0 is no character; which of the formats it is, it
 * tells itself. FC_USAGE when it is neither, is not what its format says (the line is
 * named), or places no node. Ownership: fc_switches_fini. */
enum fc_status fc_switches_parse(const char *text, size_t bytes,
                                 struct fc_switches *out,
                                 struct fc_error *err) FC_MUST_USE;
/* The same of a file of at most 256 MiB; the text names `path`. */
enum fc_status fc_switches_read(const char *path, struct fc_switches *out,
                                struct fc_error *err) FC_MUST_USE;
void fc_switches_fini(struct fc_switches *switches);

/* A node's value, borrowed; NULL: it has none. Where one of the names is qualified by
 * a domain and the other is not, the part before the first dot decides. */
const json_t *fc_switches_of(const struct fc_switches *switches, const char *node);

/* What a run says of its switches: {from, file, nodes (how many have a value),
 * missing (those that have none, as a list of hosts; absent: none), leaf {node:
 * value}}, a new reference; NULL when memory is short. */
json_t *fc_switches_told(const struct fc_switches *switches, const char *file,
                         const char *const *node, size_t nodes);

/* The value in SLURM_TOPOLOGY_ADDR ("spine.leaf[1-2].node7") and its _PATTERN
 * ("switch.switch.node"): what stands before the node; a new reference. NULL when
 * either is NULL, they do not fit, there is no level above the node, or the address is
 * that of another node than `node` or `host`, so that it was only inherited. */
json_t *fc_switches_addr(const char *addr, const char *pattern, const char *node,
                         const char *host);

#endif
