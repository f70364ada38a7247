// SPDX-License-Identifier: BSD-3-Clause
/* Counters of one RDMA port and of the network interface on it, before and after a
 * stage: what grew, and whether it proves that the payload went that way.
 *
 * Where from: ports/P/counters and ports/P/hw_counters of the device, the statistics,
 * carrier_changes and ethtool's of the interface. Their manners are dealt with here:
 * port_xmit_data counts words of four bytes; InfiniBand's error counters have 4 to 32
 * bits and stick at their end ("at least"); others wrap, or begin anew when a driver is
 * reloaded; hw_counters may be some milliseconds old (wait_ns). Most count whatever the
 * whole port does, other jobs and other functions of the card included: growth is an
 * upper bound of what a stage caused, and a total since boot says nothing.
 * Collective: no. Refuses to know: stages, records, libibverbs, what is good or bad.
 */
#ifndef FC_RDMA_COUNTERS_H
#define FC_RDMA_COUNTERS_H

#include "core/status.h"
#include "rdma/port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fc_counter_meaning {
    FC_COUNTER_BYTES,
    FC_COUNTER_PACKETS,
    FC_COUNTER_ERRORS,     /* of the link, or of packets that came wrong or late */
    FC_COUNTER_CONGESTION, /* pauses, marks, waits: a full queue somewhere */
    FC_COUNTER_OTHER,      /* not looked at */
};

enum fc_counter_from {
    FC_COUNTER_PORT, /* ports/P/counters */
    FC_COUNTER_HW,   /* ports/P/hw_counters */
    FC_COUNTER_NET,  /* the interface's statistics */
    FC_COUNTER_ETHTOOL,
};

struct fc_counter {
    char name[48]; /* as the kernel writes it */
    enum fc_counter_from from;
    enum fc_counter_meaning meaning;
    uint64_t value; /* raw */
    uint32_t unit;  /* bytes of one count; 1 of all that count no bytes */
    int bits;       /* at the end of these it sticks; 64: it does not */
    bool shared;    /* counts all functions of the port, not only this one */
};

/* One reading; all zero is an empty one. */
struct fc_counters {
    struct fc_counter *counter;
    size_t count;
    uint64_t wait_ns; /* values may be so old: wait it before the reading that ends a
                         stage */
};

struct fc_counter_delta {
    char name[48];
    enum fc_counter_from from;
    enum fc_counter_meaning meaning;
    uint64_t value; /* bytes, or counts */
    bool at_least;  /* it stuck at its end, or began anew: more may have come */
    bool shared;
};

/* What a pair or stage must have moved through a port, and with which packets. */
struct fc_counter_load {
    uint64_t sent_bytes, received_bytes; /* payload; 0: none that way */
    int mtu;                             /* the queue pairs'; 0: the port's */
};

struct fc_counter_proof {
    bool proven;
    char how[416];  /* "mlx5_0:1: port_xmit_data +1.09 GB for 1.07 GB sent" */
    uint64_t moved; /* bytes, of the slower direction; an upper bound if of packets */
};

/* Reads them all. `root` stands for "/" of /sys ("" on a real machine; elsewhere
 * ethtool is not asked). What is not there is left out. Some milliseconds; it asks the
 * driver and can hang, so only in a worker; `note` as in port.h. The caller ends
 * with fc_counters_fini. Collective: no. */
enum fc_status fc_counters_read(const struct fc_rdma_source *source,
                                const struct fc_rdma_port *port,
                                struct fc_counters *out,
                                struct fc_error *err) FC_MUST_USE;
/* NULL-safe. Collective: no. */
void fc_counters_fini(struct fc_counters *counters);

/* What grew, in the order of `after`; the caller frees *out_delta. Counters that one
 * reading lacks are left out, and those that had stuck before (every port of a healthy
 * node has one): they show nothing. Collective: no. */
enum fc_status fc_counters_delta(const struct fc_counters *before,
                                 const struct fc_counters *after,
                                 struct fc_counter_delta **out_delta, size_t *out_count,
                                 struct fc_error *err) FC_MUST_USE;

/* Whether a counter of the port moved by at least the payload in each direction asked
 * for: bytes where the port counts them, else packets times the MTU, else the
 * interface's bytes of a software device. Collective: no. */
void fc_counters_prove(const struct fc_counter_delta *delta, size_t count,
                       const struct fc_rdma_port *port,
                       const struct fc_counter_load *load,
                       struct fc_counter_proof *out);

/* "bytes", "packets", "errors", "congestion", "other"; static. Collective: no. */
const char *fc_counter_meaning_name(enum fc_counter_meaning meaning);

#endif
