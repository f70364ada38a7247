// SPDX-License-Identifier: BSD-3-Clause
/* What carried the bytes: read from the counters of this node's network interfaces and
 * RDMA ports before and after, since only a counter that moved proves a path.
 *
 * "sockets": network interfaces moved at least the payload; "verbs": RDMA ports did,
 * and no interface on top of them; "shared memory": no counter that could have carried
 * it moved by the payload, and all ranks run on one kernel. Anything else is "unknown":
 * payloads too small to tell from other traffic, and interfaces and ports that both
 * moved as much. Collective: no (each rank reads its own node's counters). Refuses to
 * know: MPI, what was sent, records.
 */
#ifndef FC_COLLECTIVES_PATH_H
#define FC_COLLECTIVES_PATH_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Payloads below this are not told from other traffic. */
#define FC_PATH_PAYLOAD_MIN ((uint64_t)256 << 10)

struct fc_path {
    char name[32]; /* "sockets", "verbs", "shared memory", "unknown" */
    char how[160]; /* "eth0 moved 1.2 GB for 1.1 GB of payload" */
    /* GB/s that the interfaces or ports which carried it can send at most, by their
     * link rate; NaN: not known. The nominal rate of a virtual interface is not known.
     */
    double link_GBps;
};

struct fc_path_watch;

/* How far apart the ranks are: it says which counters can have carried the bytes. */
enum fc_path_span {
    FC_PATH_NODE,   /* one node: sockets go through the loopback, and nothing else */
    FC_PATH_KERNEL, /* several nodes of a lab, on one kernel */
    FC_PATH_FABRIC, /* several machines */
};

static inline enum fc_path_span fc_path_span(bool one_node, bool one_kernel)
{
    return one_node ? FC_PATH_NODE : one_kernel ? FC_PATH_KERNEL : FC_PATH_FABRIC;
}

/* `root` is "" on a real machine (tests have a tree of their own). Ownership:
 * fc_path_close. */
enum fc_status fc_path_open(const char *root, struct fc_path_watch **out,
                            struct fc_error *err) FC_MUST_USE;
void fc_path_close(struct fc_path_watch *watch);

/* Reads the counters: what is sent from here on counts. Some hundred microseconds;
 * never inside a timed section. */
void fc_path_begin(struct fc_path_watch *watch);
/* Reads them again. `payload_bytes`: the least that must have gone in and out of this
 * node (on one kernel: between its ranks) since fc_path_begin. */
void fc_path_end(struct fc_path_watch *watch, uint64_t payload_bytes,
                 enum fc_path_span span, struct fc_path *out);

#endif
