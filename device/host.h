// SPDX-License-Identifier: BSD-3-Clause
/* The host device on chosen cores: open to its unit test, which wants crews larger than
 * the machine. Everyone else uses fc_device_host_open. Collective: no. */
#ifndef FC_DEVICE_HOST_H
#define FC_DEVICE_HOST_H

#include "device/device.h"

struct fc_host_cores {
    const int *cpu; /* one a member; a CPU may stand there twice; -1: not pinned */
    int count;
    /* The memory it may use is what `memory_cores` cores may, divided by `shares`. */
    int memory_cores, shares;
};

enum fc_status fc_host_open(const struct fc_host_cores *cores, struct fc_device **out,
                            struct fc_error *err) FC_MUST_USE;

#endif
