// SPDX-License-Identifier: BSD-3-Clause
/* The training probe. Refuses to know: how a step is made or repeated; what is good. */
#ifndef FC_TRAINING_PROBE_TRAINING_H
#define FC_TRAINING_PROBE_TRAINING_H

#include "core/run.h"

extern const struct fc_probe fc_probe_training;

#endif
