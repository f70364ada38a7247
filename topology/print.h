// SPDX-License-Identifier: BSD-3-Clause
/* A picture in the forms people and programs read. Each writes to `out` and leaves the
 * check for a full disk to the caller.
 * Collective: no. Refuses to know: where the picture is from.
 */
#ifndef FC_TOPOLOGY_PRINT_H
#define FC_TOPOLOGY_PRINT_H

#include "core/status.h"
#include "topology/model.h"

#include <jansson.h>
#include <stdio.h>

/* A tree of packages, NUMA nodes, bridges, GPUs and NICs, with limits and notes. */
enum fc_status fc_topo_print_text(const struct fc_topo *topo, FILE *out,
                                  struct fc_error *err) FC_MUST_USE;
/* The table that users of `nvidia-smi topo -m` know, with the rails. */
enum fc_status fc_topo_print_matrix(const struct fc_topo *topo, FILE *out,
                                    struct fc_error *err) FC_MUST_USE;
/* {"schema": "fabricheck-topo/1", "source", "counts", "gpus", "nics", ...}. */
enum fc_status fc_topo_print_json(const struct fc_topo *topo, FILE *out,
                                  struct fc_error *err) FC_MUST_USE;
/* The same as a value: a new reference, or NULL without memory. */
json_t *fc_topo_json(const struct fc_topo *topo);
/* hwloc's XML, format 2: the source's own where it is one, else made from the model.
 * FC_USAGE: the source tells no CPUs, and hwloc knows no machine without. */
enum fc_status fc_topo_print_xml(const struct fc_topo *topo, FILE *out,
                                 struct fc_error *err) FC_MUST_USE;
/* One SVG file without script or reference. */
enum fc_status fc_topo_print_svg(const struct fc_topo *topo, FILE *out,
                                 struct fc_error *err) FC_MUST_USE;

/* Ends of the matrix: all GPUs, then the NICs, or only those that are fabric or have
 * verbs. The caller frees *out; false: out of memory. */
bool fc_topo_matrix_ends(const struct fc_topo *topo, bool all, size_t **out,
                         size_t *out_n);
/* "PCIe 5.0 x16", "PCIe 1.0 x8 (can 4.0 x16)", "15.8 GB/s", "link unknown". */
struct fc_topo_words {
    char s[96];
};
struct fc_topo_words fc_topo_link_words(const struct fc_topo_link *link);
/* "8", or "unknown" for -1. */
struct fc_topo_words fc_topo_count_words(int64_t n);
/* GPUs and NICs as counted: -1 where the source cannot tell. */
int64_t fc_topo_gpu_count(const struct fc_topo *topo);
int64_t fc_topo_nic_count(const struct fc_topo *topo);
/* "hwloc XML"; static. */
const char *fc_topo_kind_name(enum fc_topo_kind kind);
/* Escapes & < > " ' for XML; `text` is clean already. */
void fc_topo_put_xml(FILE *out, const char *text);

#endif
