// SPDX-License-Identifier: BSD-3-Clause
#include "probes.h"

#include "collectives/probe_collectives.h"
#include "collectives/probe_pairs.h"
#include "device/probe_device.h"
#include "rdma/probe_rdma.h"
#include "topology/probe_config.h"
#include "training/probe_training.h"

#include <stddef.h>

const struct fc_probe *const fc_probes[] = {
    &fc_probe_config,      &fc_probe_device,   &fc_probe_rdma, &fc_probe_pairs,
    &fc_probe_collectives, &fc_probe_training, NULL,
};
