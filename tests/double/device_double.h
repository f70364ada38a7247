// SPDX-License-Identifier: BSD-3-Clause
#ifndef FC_TESTS_DEVICE_DOUBLE_H
#define FC_TESTS_DEVICE_DOUBLE_H

struct fc_device;
struct fc_comm;

/* Hooks for struct fc_backends: the wrapper owns what it wraps. */
void device_double_wrap(struct fc_device **device, int rank);
void comm_double_wrap(struct fc_comm **comm, int rank);

#endif
