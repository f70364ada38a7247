// SPDX-License-Identifier: BSD-3-Clause
/* One pair's measurement: latency, then bandwidth in either direction, verified.
 *
 * The two members keep step by small messages of their own; no other rank takes part.
 * Everything is bounded by time, never by bytes: a burst is as many bytes as the last
 * one says fit into a fraction of the box. The sender's clock runs from its first byte
 * to the receiver's acknowledgement of the last, so that nothing is left queued for
 * whoever measures next. The receiver clears its buffer before each burst and compares
 * the last message whole after it, outside the clock.
 * Collective: between the two members, where it says so. Refuses to know: the other
 * ranks, the schedule, records, which metric is which.
 */
#ifndef FC_COLLECTIVES_PAIRS_H
#define FC_COLLECTIVES_PAIRS_H

#include "collectives/comm.h"
#include "device/device.h"

/* What both members agree on; equal on both. */
struct fc_pair_plan {
    uint64_t box_ns;    /* for each direction; latency gets a tenth of it */
    unsigned bursts;    /* wanted in each direction, at most FC_PAIR_BURSTS_MAX */
    size_t max_bytes;   /* of a message; a multiple of 4 KiB */
    unsigned round;     /* both must be in the same one */
    uint64_t data_seed; /* of what is sent */
};

enum { FC_PAIR_BURSTS_MAX = 32 };

/* Who, and over what. `comm` moves the data (memory of the device), `control` the words
 * that keep step (memory of the host); over MPI both are the same. Borrowed. */
struct fc_pair {
    struct fc_comm *comm, *control;
    int peer, control_peer; /* the other member's rank in each */
    bool first;             /* of the two members exactly one is */
    int rank, peer_rank;    /* ranks of the run, for texts */
    struct fc_device *device;
    struct fc_stream *stream;
    void *send, *recv; /* max_bytes each, from the device */
};

/* What this member knows of it. */
struct fc_pair_result {
    double bw_GBps;   /* from this member to its peer; NaN: not measured */
    double latency_s; /* half a round trip of 8 bytes; NaN on the second member */
    size_t bytes;     /* of the messages of the last burst it sent */
    unsigned samples; /* bursts behind bw_GBps */
    uint64_t payload; /* bytes it sent, or those it received if they are fewer */
    uint64_t wrong;   /* elements received that were not what was sent */
    enum fc_status status;
    struct fc_error why; /* the first fault: offset, ranks, values */
};

/* One burst: `count` messages of `bytes`. */
struct fc_burst {
    size_t bytes;
    uint32_t count;
};

/* The burst that takes `target_s` if `last`, which took `seconds`, tells the rate: at
 * most 8 times as many bytes (a shaped queue swallows its first bytes at once), at
 * least 4 KiB, in messages of at most `max_bytes`. Collective: no. */
struct fc_burst fc_burst_next(struct fc_burst last, double seconds, double target_s,
                              size_t max_bytes);

/* Measures. Faults are in *out. When the transport fails the member comes back at once;
 * its peer may wait for ever, which is its watchdog's to end. Collective: the two
 * members. */
void fc_pair_measure(const struct fc_pair *pair, const struct fc_pair_plan *plan,
                     struct fc_pair_result *out);

#endif
