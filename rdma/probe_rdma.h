// SPDX-License-Identifier: BSD-3-Clause
#ifndef FC_RDMA_PROBE_RDMA_H
#define FC_RDMA_PROBE_RDMA_H

#include "core/run.h"

extern const struct fc_probe fc_probe_rdma;

#endif
