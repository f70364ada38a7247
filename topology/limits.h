// SPDX-License-Identifier: BSD-3-Clause
/* What links and paths can carry at most, each way, and on what basis in words.
 * Formulas are in the .c file; GB/s are decimal.
 * Collective: no. Refuses to know: what was measured.
 */
#ifndef FC_TOPOLOGY_LIMITS_H
#define FC_TOPOLOGY_LIMITS_H

#include "topology/model.h"

struct fc_limit {
    double GBps;     /* each way; 0: unknown */
    char basis[192]; /* why; also of an unknown one */
};

/* Raw GB/s of the lanes, at the most the link can do where that is told (an idle GPU
 * lets its link sleep at 2.5 GT/s), else as it is now; 0: unknown. Collective: no. */
double fc_limit_lanes(const struct fc_topo_link *link);
/* PCIe's payload limit of one link. `payload` in bytes; 0: not readable without root,
 * 256 is assumed. Collective: no. */
struct fc_limit fc_limit_pcie(const struct fc_topo_link *link, int payload);
/* The port's or the interface's rate. Collective: no. */
struct fc_limit fc_limit_nic(const struct fc_topo_nic *nic);
/* Between two ends (numbered as for fc_topo_near): NVLink or XGMI where there is such a
 * link, else the narrowest PCIe link on the way and the NIC's port. Collective: no. */
struct fc_limit fc_limit_path(const struct fc_topo *topo, size_t a, size_t b);

#endif
