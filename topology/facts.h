// SPDX-License-Identifier: BSD-3-Clause
/* Facts: what a node and a rank are, before anything is measured. Which keys there are,
 * what they mean and which should be equal across nodes: src/core/facts.def, the one
 * table.
 *
 * Facts of a node are read in a worker process, because a file of a sick machine's /sys
 * or /proc can hang in the kernel; facts of a rank (limits, affinity, environment,
 * libraries) ask the kernel nothing that can hang, so the rank reads its own.
 *
 * What cannot be read is told apart (struct fc_gap): a right is missing (EACCES), the
 * kernel has no such file (ENOENT), the driver does not offer it (unsupported), or the
 * container hides it (masked).
 * Collective: no. Refuses to know: MPI, CUDA, NVML, journals, which values are good.
 */
#ifndef FC_TOPOLOGY_FACTS_H
#define FC_TOPOLOGY_FACTS_H

#include "core/status.h"
#include "topology/facts_read.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fc_facts {
    json_t *values;     /* {key: value} */
    json_t *unreadable; /* {key: {"reason", "right"}} */
    bool short_of_memory;
};

enum fc_status fc_facts_init(struct fc_facts *facts, struct fc_error *err) FC_MUST_USE;
/* NULL-safe members. */
void fc_facts_fini(struct fc_facts *facts);

/* Steals `value`; NULL counts as short of memory, which fc_facts_check tells. */
void fc_facts_set(struct fc_facts *facts, const char *key, json_t *value);
/* Text that may hold any bytes: what is no UTF-8 or no printable becomes '?'. */
void fc_facts_text(struct fc_facts *facts, const char *key, const char *text);
void fc_facts_int(struct fc_facts *facts, const char *key, int64_t value);
/* -1: "unlimited". */
void fc_facts_limit(struct fc_facts *facts, const char *key, int64_t value);
/* A key with a value keeps it: a gap never hides what was read. */
void fc_facts_gap(struct fc_facts *facts, const char *key, const struct fc_gap *gap);
/* The file's one line as text, or its gap. False: it has a gap. */
bool fc_facts_file(struct fc_facts *facts, const char *key,
                   const struct fc_source *source, const char *path);
/* The same for a file that holds one integer. */
bool fc_facts_int_file(struct fc_facts *facts, const char *key,
                       const struct fc_source *source, const char *path);
/* Copies what `from` (an object {"facts", "unreadable"}) holds. */
void fc_facts_merge(struct fc_facts *facts, const json_t *from);
/* FC_NOMEM if anything before was short of memory. */
enum fc_status fc_facts_check(const struct fc_facts *facts,
                              struct fc_error *err) FC_MUST_USE;
/* Text as JSON, as fc_facts_text makes it; NULL when memory is short. */
json_t *fc_facts_string(const char *text);

/* Facts of this node, group by group, the groups that are likeliest to hang last:
 * `take` is called after each, so that what was read before a hang is not lost. About
 * 50 ms. */
enum fc_status fc_facts_host(const struct fc_source *source,
                             enum fc_status (*take)(void *arg,
                                                    const struct fc_facts *part,
                                                    struct fc_error *err),
                             void *arg, struct fc_error *err) FC_MUST_USE;

/* Who else uses this node, over `window_ns`. `pids[0..n)` are this run's ranks here:
 * they, their parents and all that descends from the ranks do not count as others.
 * Every rank should sleep meanwhile. */
enum fc_status fc_facts_load(const struct fc_source *source, const int *pids, size_t n,
                             uint64_t window_ns, struct fc_facts *out,
                             struct fc_error *err) FC_MUST_USE;

/* Facts of the calling process and thread. `mpi_library`: what MPI calls itself. */
enum fc_status fc_facts_rank(const struct fc_source *source, const char *mpi_library,
                             struct fc_facts *out, struct fc_error *err) FC_MUST_USE;

/* The fingerprint of equals: XXH64 of those values that make nodes comparable
 * (processor, cores, NUMA nodes, memory, GPUs, RDMA devices), in a fixed order and
 * form; a value that could not be read counts as null. *out_picture (new reference)
 * holds them. 0, which no readable node has: none of them could be read. */
enum fc_status fc_facts_class(const struct fc_facts *facts, uint64_t *out_class,
                              json_t **out_picture, struct fc_error *err) FC_MUST_USE;

#endif
