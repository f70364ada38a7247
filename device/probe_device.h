// SPDX-License-Identifier: BSD-3-Clause
/* The device probe: memory bandwidth and matrix products of each rank's device, beside
 * the device's own ceilings. Metrics: device.*. Refuses to know: MPI, verdicts. */
#ifndef FC_DEVICE_PROBE_DEVICE_H
#define FC_DEVICE_PROBE_DEVICE_H

#include "core/run.h"
#include "device/device.h"

extern const struct fc_probe fc_probe_device;

/* The GEMM's m = n = k for a host device of that many cores. */
int fc_probe_device_n(int cores);
/* Bytes of each of the two arrays that are copied on such a device: far more than its
 * cache, at most an eighth of its free memory. */
size_t fc_probe_device_bytes(const struct fc_device_info *info);

#endif
