// SPDX-License-Identifier: BSD-3-Clause
/* What ethtool would print of a network interface, asked of the kernel directly: its
 * driver's statistics, and the fastest link it can have. Calls can hang in a driver:
 * only in a worker. Collective: no. Refuses to know: what the statistics mean.
 */
#ifndef FC_RDMA_ETHTOOL_H
#define FC_RDMA_ETHTOOL_H

#include "core/status.h"

#include <stdint.h>

/* Calls `each` for every statistic, in the driver's order. FC_UNSUPPORTED: the driver
 * has none; FC_UNREADABLE: the text says why. Collective: no. */
enum fc_status fc_ethtool_stats(const char *net,
                                enum fc_status (*each)(void *arg, const char *name,
                                                       uint64_t value,
                                                       struct fc_error *err),
                                void *arg, struct fc_error *err) FC_MUST_USE;

/* Gb/s of the fastest mode that the interface supports; 0: unknown. Collective: no. */
double fc_ethtool_max_Gbps(const char *net);

#endif
