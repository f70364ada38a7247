// SPDX-License-Identifier: BSD-3-Clause
/* The commands that a worker serves for transfer.h: rdma.ports, rdma.open,
 * rdma.connect, rdma.measure, rdma.close, rdma.reset, rdma.events. What is open lives
 * in the worker from one command to the next and ends with it. Each call that can hang
 * is named by fc_worker_note first.
 * Collective: no. Refuses to know: ranks, which ports to use.
 */
#ifndef FC_RDMA_COMMANDS_H
#define FC_RDMA_COMMANDS_H

#include "core/worker.h"

/* Rows of a worker's table (cmd_worker.c); FC_RDMA_COMMANDS of them. Without libibverbs
 * each of them answers FC_UNSUPPORTED. */
enum { FC_RDMA_COMMANDS = 7 };
extern const struct fc_worker_command fc_rdma_commands[FC_RDMA_COMMANDS];

#endif
