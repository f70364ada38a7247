// SPDX-License-Identifier: BSD-3-Clause
/* What the readers of pictures share: growing arrays, clean texts, notes.
 * Collective: no. Refuses to know: any source's format.
 */
#ifndef FC_TOPOLOGY_MODEL_PARTS_H
#define FC_TOPOLOGY_MODEL_PARTS_H

#include "topology/model.h"
#include "topology/tree.h"

#include <jansson.h>
#include <libxml/tree.h>

/* Bounds that no machine reaches; beyond them an input is refused. */
enum {
    FC_TOPO_MAX_PCI = 4096,
    FC_TOPO_MAX_GPUS = 512,
    FC_TOPO_MAX_NICS = 1024,
    FC_TOPO_MAX_PORTS = 256,
    FC_TOPO_MAX_NOTES = 64,
    FC_TOPO_MAX_PARTS = 2048, /* packages, NUMA nodes, peers of a GPU */
};

/* A new last element with everything unknown, or NULL: out of memory, or too many. The
 * pointers to earlier elements become invalid. Collective: no. */
struct fc_topo_package *fc_topo_add_package(struct fc_topo *topo);
struct fc_topo_numa *fc_topo_add_numa(struct fc_topo *topo);
struct fc_topo_pci *fc_topo_add_pci(struct fc_topo *topo);
struct fc_topo_nic *fc_topo_add_nic(struct fc_topo *topo);
struct fc_topo_gpu *fc_topo_add_gpu(struct fc_topo *topo);
struct fc_topo_peer *fc_topo_add_peer(struct fc_topo *topo);
struct fc_topo_port *fc_topo_add_port(struct fc_topo_nic *nic);
struct fc_topo_gid *fc_topo_add_gid(struct fc_topo_port *port);
/* What a failed fc_topo_add_* is. Collective: no. */
enum fc_status fc_topo_full(struct fc_error *err) FC_MUST_USE;

/* Notes beyond FC_TOPO_MAX_NOTES are dropped, the last one says so. Collective: no. */
void fc_topo_unknown(struct fc_topo *topo, const char *fmt, ...) FC_PRINTF(2, 3);
void fc_topo_odd(struct fc_topo *topo, const char *fmt, ...) FC_PRINTF(2, 3);

/* Copies at most `bytes` - 1 bytes of `text` (NULL: ""), cut at a character; what is no
 * UTF-8 and control characters become '?', blanks at both ends go. Collective: no. */
void fc_topo_text(char *out, size_t bytes, const char *text);

/* "0000:4f:00.0" from any common form, lower case; false: it is none. Collective: no.
 * */
bool fc_topo_bdf(const char *text, char *out, size_t bytes);
int fc_topo_find_pci(const struct fc_topo *topo, const char *bdf); /* -1: none */
int fc_topo_find_numa(const struct fc_topo *topo, int os_index);   /* -1: none */
/* "16.0 GT/s PCIe", "16 GT/s", "Unknown", ""; notes what cannot be. 0: unknown.
 * Collective: no. */
double fc_topo_speed(struct fc_topo *topo, const char *bdf, const char *text);
int fc_topo_width(struct fc_topo *topo, const char *bdf, const char *text);
/* Sets role from class and vendor. Collective: no. */
void fc_topo_classify(struct fc_topo_pci *pci);
/* A GPU for the PCI function `pci`, unless it has one. NULL as fc_topo_add_gpu. */
struct fc_topo_gpu *fc_topo_gpu_of(struct fc_topo *topo, int pci);
/* The NIC of the PCI function `pci`, made if there is none. NULL as fc_topo_add_nic. */
struct fc_topo_nic *fc_topo_nic_of(struct fc_topo *topo, int pci);
void fc_topo_add_net(struct fc_topo_nic *nic, const char *name);

/* The readers. Each fills `topo` as far as its source goes. */
enum fc_status fc_topo_read_hwloc_xml(struct fc_topo *topo, xmlNode *root,
                                      struct fc_error *err) FC_MUST_USE;
enum fc_status fc_topo_read_nccl_xml(struct fc_topo *topo, xmlNode *root,
                                     struct fc_error *err) FC_MUST_USE;
/* {"gpus", "slices", "open"}; what is not there is 0. */
struct fc_topo_mig fc_topo_mig_of(const json_t *json);
/* Our own JSON. */
enum fc_status fc_topo_read_own(struct fc_topo *topo, const json_t *json,
                                struct fc_error *err) FC_MUST_USE;
/* CPUs and memory of this machine through hwloc. */
enum fc_status fc_topo_read_live_cpus(struct fc_topo *topo, bool want_xml,
                                      struct fc_error *err) FC_MUST_USE;
/* CPUs and memory of a captured tree; PCI, GPUs, NICs of any tree. */
enum fc_status fc_topo_read_sys_cpus(struct fc_topo *topo, const struct fc_tree *tree,
                                     struct fc_error *err) FC_MUST_USE;
enum fc_status fc_topo_read_sys_pci(struct fc_topo *topo, const struct fc_tree *tree,
                                    struct fc_error *err) FC_MUST_USE;
enum fc_status fc_topo_read_sys_gpus(struct fc_topo *topo, const struct fc_tree *tree,
                                     struct fc_error *err) FC_MUST_USE;
enum fc_status fc_topo_read_sys_nics(struct fc_topo *topo, const struct fc_tree *tree,
                                     struct fc_error *err) FC_MUST_USE;

/* After a reader: order, roles, virtual functions, fabric, affinity, rails, oddities.
 * */
enum fc_status fc_topo_relate(struct fc_topo *topo, struct fc_error *err) FC_MUST_USE;
/* Parts of it: links between GPUs; which NICs are the fabric; who is near whom, and the
 * rails. */
enum fc_status fc_topo_pairs(struct fc_topo *topo, struct fc_error *err) FC_MUST_USE;
void fc_topo_fabric(struct fc_topo *topo);
void fc_topo_rails(struct fc_topo *topo);

#endif
