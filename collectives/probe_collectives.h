// SPDX-License-Identifier: BSD-3-Clause
#ifndef FC_COLLECTIVES_PROBE_COLLECTIVES_H
#define FC_COLLECTIVES_PROBE_COLLECTIVES_H

#include "core/run.h"

/* Measures all-reduce over each node and over all ranks; see probe_collectives.c. */
extern const struct fc_probe fc_probe_collectives;

#endif
