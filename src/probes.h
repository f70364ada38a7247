// SPDX-License-Identifier: BSD-3-Clause
/* The table of probes, in the order of a run. A new probe is a row here. */
#ifndef FC_PROBES_H
#define FC_PROBES_H

#include "core/run.h"

#define FC_PROBE_CHOICES "config|device|rdma|pairs|collectives|training"

/* Ends with NULL. The first says what the nodes are and belongs to every run. */
extern const struct fc_probe *const fc_probes[];

#endif
