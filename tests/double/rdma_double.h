// SPDX-License-Identifier: BSD-3-Clause
/* RDMA ports that are not there: what workers tell of them and what lanes between them
 * measure, so that the rdma probe and its rules are tested on any machine.
 *
 * FABRICHECK_RAILS: ports a node (default 2), 100 Gb/s each. FABRICHECK_RDMA: faults,
 * NODE:RAIL:KIND[=VALUE] with commas between; RAIL * is all of the node's. KIND: down
 * (known before it is used), locked (nobody may open it), dead (nothing comes through),
 * sends, receives, slow (share of the rate that is left, one way or both), corrupt
 * (changes what comes in), crash (the worker dies when it reads counters), grows (error
 * counter of that name grows), idle (the port's counters do not move).
 */
#ifndef FC_TESTS_RDMA_DOUBLE_H
#define FC_TESTS_RDMA_DOUBLE_H

#include "core/worker.h"

/* The value of this fault of this port, or NULL; "1" where it was given none. */
const char *rdma_fault(const char *node, int rail, const char *kind);
int rdma_rails(void);

/* Rows of the worker's table. */
enum { RDMA_DOUBLE_COMMANDS = 3 };
extern const struct fc_worker_command rdma_double_commands[RDMA_DOUBLE_COMMANDS];

#endif
