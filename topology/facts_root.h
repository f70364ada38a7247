// SPDX-License-Identifier: BSD-3-Clause
/* What only root can read on a node, and the file that carries it to a run.
 * Collective: no. Refuses to know: MPI, journals, which values are good.
 */
#ifndef FC_TOPOLOGY_FACTS_ROOT_H
#define FC_TOPOLOGY_FACTS_ROOT_H

#include "topology/facts.h"

/* Where `run` looks, and what `facts` writes unless told otherwise. */
#define FC_FACTS_ROOT_PATH "/run/fabricheck/facts.json"

/* The ACS control word in `bytes` of a function's configuration; -1: it has none;
 * -2: there are no more than 64 bytes, which is what the kernel shows to others than
 * root. Collective: no. */
int fc_acs_control(const unsigned char *config, size_t bytes);

/* facts_kmsg.c. Adds root.xids, or its gap: a list of {bdf, xid, count, boot_s, ago_s,
 * text}, one entry for each GPU and number; xid is null where the log only says that
 * the GPU fell off the bus, boot_s and ago_s where it does not tell when. Collective:
 * no. */
void fc_facts_xids(const struct fc_source *source, struct fc_facts *out);

/* The control word of its PCI Express capability (bit 4: it may relax the order of
 * writes); -1 and -2 as above. Collective: no. */
int fc_pcie_control(const unsigned char *config, size_t bytes);

/* Adds root.acs, root.relaxed, root.xids and dmi.serial, or their gaps. Collective:
 * no. */
void fc_facts_root(const struct fc_source *source, struct fc_facts *out);

/* The file's object {schema, boot_id, time, epoch_s, facts, unreadable}: a new
 * reference. Collective: no. */
enum fc_status fc_facts_root_file(const struct fc_source *source, json_t **out,
                                  struct fc_error *err) FC_MUST_USE;

#endif
