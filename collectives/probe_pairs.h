// SPDX-License-Identifier: BSD-3-Clause
#ifndef FC_COLLECTIVES_PROBE_PAIRS_H
#define FC_COLLECTIVES_PROBE_PAIRS_H

#include "core/run.h"

/* Measures every link between nodes, two by two; see probe_pairs.c. */
extern const struct fc_probe fc_probe_pairs;

#endif
