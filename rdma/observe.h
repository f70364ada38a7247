// SPDX-License-Identifier: BSD-3-Clause
/* What a worker tells its rank of the node's RDMA ports: which of them are rails and
 * how each would be used, and what their counters did while something was measured.
 *
 * rdma.rails {skip: [device]} → {none, notes: [text], ports: [{name, rail, used,
 * reason, no_right (the reason is a missing right or file), doubt, gid, gid_kind
 * ("RoCE v2, IPv4"), subnet (of InfiniBand), pkey ("0xffff"), wire, state, Gbps, speed,
 * mtu, plan (how a lane over it is made, transfer_json.h), limit, basis, bdf, guid}]}:
 * every port; rail -1: left out, and reason says why. rdma.mark {}: remembers the
 * counters of the rails' ports. rdma.growth {ports: [{name, sent, received, mtu}]} →
 * {ports: [{name, proven, how, grown: [{name, meaning, value, at_least}]}]}: against
 * the mark, in the same order; bytes and packets are left out.
 *
 * Every call that can hang is named by fc_worker_note first. Collective: no. Refuses to
 * know: queue pairs, ranks, what is good or bad. */
#ifndef FC_RDMA_OBSERVE_H
#define FC_RDMA_OBSERVE_H

#include "core/worker.h"

/* Rows of a worker's table (cmd_worker.c). */
enum { FC_RDMA_OBSERVERS = 3 };
extern const struct fc_worker_command fc_rdma_observers[FC_RDMA_OBSERVERS];

#endif
