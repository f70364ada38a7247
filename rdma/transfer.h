// SPDX-License-Identifier: BSD-3-Clause
/* Transfers between RDMA ports, as the rank sees them: it opens lanes, tells their
 * endpoints to the peers' ranks, connects, measures and closes. Every verbs call is
 * made by the rank's worker (commands.h); these functions ask it and read its answers.
 *
 * A lane is one port of this rank joined to one port of one peer: its queue pairs and
 * its own memory. A device stays open, and memory stays registered, as long as the
 * worker lives or until fc_transfer_reset, so that a lane of the next round costs only
 * its queue pairs. Lane numbers are the caller's choice.
 *
 * Use: fc_transfer_open on both ranks; both exchange the endpoints over the run's
 * runtime (fc_rte_allgather: an endpoint is flat and of fixed size);
 * fc_transfer_connect on both; then any number of fc_transfer_measure, on both with the
 * same plan at about the same time (milliseconds apart); fc_transfer_close. The members
 * keep step inside a measurement by words over the lane itself. A lane whose result
 * says `reopen` must be closed and opened anew.
 *
 * Status of the functions: that of the conversation with the worker. FC_TIMEOUT and
 * FC_FAILED with fc_worker_alive false: the worker is lost with all its lanes, and the
 * text says in which call. What happened to a lane is in its result, so that one bad
 * lane does not hide the others.
 * Collective: no, but for what is said above of the two members. Refuses to know: which
 * ports (choose.h), pairs, rounds, MPI, records, what is good or bad.
 */
#ifndef FC_RDMA_TRANSFER_H
#define FC_RDMA_TRANSFER_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fc_rdma_chosen;
struct fc_rdma_port;
struct fc_rdma_ports;
struct fc_watchdog;
struct fc_worker;

enum {
    FC_RDMA_LANES_MAX = 64, /* open in one worker; numbers are 0 … 63 */
    FC_RDMA_QPS_MAX = 16,
    FC_RDMA_DEPTH_MAX = 4096,
    FC_RDMA_SAMPLES_MAX = 32,
    FC_RDMA_ENDPOINT_BYTES = 1024,
};
#define FC_RDMA_BYTES_MAX (UINT64_C(1) << 30) /* of one message */

enum fc_rdma_op { FC_RDMA_WRITE, FC_RDMA_READ, FC_RDMA_SEND, FC_RDMA_OPS };

/* Borrowed; both are used by one thread at a time. */
struct fc_transfer {
    struct fc_worker *worker;
    struct fc_watchdog *watchdog; /* may be NULL */
};

/* How a lane is to be made: fc_lane_plan_set gives one that is right for a port. */
struct fc_lane_plan {
    char device[64];
    int port;
    int gid_index; /* -1: none, addressed by LID alone */
    int pkey_index;
    int sl, traffic_class;
    int mtu;     /* bytes, at most the port's; 0: the port's */
    int timeout; /* 4.096 us * 2^timeout until a lost packet is sent again; 14: 67 ms */
    int retries; /* 0 … 6 (7 is for ever on some devices) */
    int qps;     /* for data, 1 … FC_RDMA_QPS_MAX; one more carries the words */
    int depth;   /* work requests in flight in each */
    int inline_bytes;      /* -1: what the device takes, up to 220 */
    bool rdma_cm;          /* connected by rdma_cm, over the ports' IP addresses */
    bool relaxed_ordering; /* asked for; whether it was given is in the lane's answer */
    uint64_t max_bytes;    /* of a message */
    char memory[16];       /* "host"; "cuda" where the worker has a GPU */
    int numa;              /* where host memory should lie; -1: near the device */
};

/* What the peer must know of a lane: text, so that it can be shown; '\0' to the end. */
struct fc_endpoint {
    char text[FC_RDMA_ENDPOINT_BYTES];
};

/* What became of an opened lane. */
struct fc_lane_answer {
    char name[96];             /* "mlx5_0:1" */
    char transport[8];         /* "rc", "srd" */
    char memory[16];           /* "host", "cuda" */
    char registered_by[16];    /* "pointer", "dma-buf" */
    char registered_note[160]; /* why not the other way, where it was tried; "" */
    int numa;                  /* of the memory; -1: unknown */
    int inline_bytes;
    bool relaxed_ordering;
    unsigned ops; /* 1u << enum fc_rdma_op: what the transport carries */
    uint64_t max_message[FC_RDMA_OPS]; /* bytes; 0: not carried */
};

/* What two endpoints came to. */
struct fc_lane_link {
    int mtu; /* bytes, the smaller of both */
    int own_mtu, peer_mtu;
    char note[240]; /* what the members are unlike in without harm; "" */
};

/* This member's part in a measurement. */
enum fc_lane_role {
    FC_LANE_INITIATES = 1, /* writes, reads, sends; of latency, the one that times */
    FC_LANE_SERVES = 2,    /* is written to, read from, receives */
    FC_LANE_BOTH = 3,      /* bandwidth in both directions at once */
};

/* Equal on both members, but for the roles. */
struct fc_transfer_plan {
    enum fc_rdma_op op;
    bool latency;    /* else bandwidth */
    uint64_t bytes;  /* of a message, 1 … max_bytes */
    uint64_t box_ns; /* time to spend on it, set-up and warm-up apart */
    uint32_t
        iterations;  /* exactly so many messages in one burst; 0: what fits the box */
    unsigned bursts; /* wanted, at most FC_RDMA_SAMPLES_MAX; 0: 5 */
    int depth;       /* at most the lane's; 0: the lane's */
    uint64_t data_seed;
    uint32_t round;       /* both must be in the same one */
    uint64_t patience_ns; /* nothing moves for so long: the lane failed; 0: 5 s */
};

struct fc_lane_task {
    int lane;
    enum fc_lane_role role;
};

/* Of latency: seconds. Write and send: half a round trip; read, and write by
 * completion: the whole way to the completion, as perftest shows it. */
struct fc_lane_latency {
    size_t n;
    double min, max, typical, mean, stdev, p99, p999; /* typical: the median */
    bool by_completion; /* and not by a message that came back */
};

/* What this member knows after a measurement. */
struct fc_lane_result {
    enum fc_status status; /* FC_WRONG: moved, but not what was sent */
    char reason[320];      /* one line with both ports, where status is not FC_OK */
    bool reopen;           /* the lane must be closed and opened anew */
    int wc_status;         /* of the completion that failed, IBV_WC_*; 0: none did */
    uint32_t vendor_error;
    /* Bandwidth, on the initiator: decimal GB/s; NaN on others. */
    double bw_GBps;                     /* the median of the bursts */
    double average_GBps;                /* all bytes over all time in bursts */
    double peak_GBps;                   /* the best burst */
    double messages_per_s;              /* by the average */
    double sample[FC_RDMA_SAMPLES_MAX]; /* GB/s of each burst */
    size_t samples;
    uint64_t payload;  /* bytes this member moved: completed, warm-up included */
    uint64_t messages; /* the same in messages */
    double seconds;    /* in timed bursts */
    struct fc_lane_latency latency; /* on the initiator */
    /* Verification, on the member whose memory the data came to. */
    uint64_t checked;     /* bytes compared; 0: the data came to the peer's memory */
    uint64_t wrong;       /* bytes that were not what was sent */
    uint64_t first_wrong; /* offset in its message, where wrong > 0 */
};

/* A lane over this port as NCCL would use it (choose.h), but with a time-out and
 * retries of our own: 14 and 6, so that a dead link shows within two seconds; over a
 * software device, whose host may be late itself, 17. 1 queue pair, depth 128, 8 MiB,
 * host memory. Collective: no. */
void fc_lane_plan_set(struct fc_lane_plan *plan, const struct fc_rdma_port *port,
                      const struct fc_rdma_chosen *chosen);

/* The node's RDMA ports, as the worker finds them (port.h); the caller closes them.
 * None is FC_OK with the reason in them. Collective: no. */
enum fc_status fc_transfer_ports(const struct fc_transfer *t,
                                 struct fc_rdma_ports **out,
                                 struct fc_error *err) FC_MUST_USE;

/* Opens lane `lane` as planned. FC_USAGE: no such device, port, GID, P_Key index: the
 * text lists what there is; FC_UNSUPPORTED: no RDMA here, or a memory or transport that
 * the device does not have; FC_UNREADABLE: a right or a limit is missing (memlock:
 * limit and need named). Collective: no. */
enum fc_status fc_transfer_open(const struct fc_transfer *t, int lane,
                                const struct fc_lane_plan *plan,
                                struct fc_endpoint *out_endpoint,
                                struct fc_lane_answer *out_answer,
                                struct fc_error *err) FC_MUST_USE;

/* Connects it to the peer's endpoint, which is not trusted. FC_USAGE, in one line that
 * names both ports: no common link layer or transport, P_Keys or GID kinds that cannot
 * meet. `*out_link` may be NULL. Collective: no; the peer connects too before either
 * measures. */
enum fc_status fc_transfer_connect(const struct fc_transfer *t, int lane,
                                   const struct fc_endpoint *peer,
                                   struct fc_lane_link *out_link,
                                   struct fc_error *err) FC_MUST_USE;

/* Measures on `tasks` lanes at once (of latency: one). out[i] is of task[i]; lanes fail
 * each for itself. The peers' members must do the same. It ends by itself, at the
 * latest after fc_transfer_limit_ns. Collective: the members. */
enum fc_status fc_transfer_measure(const struct fc_transfer *t,
                                   const struct fc_transfer_plan *plan,
                                   const struct fc_lane_task *task, size_t tasks,
                                   struct fc_lane_result *out,
                                   struct fc_error *err) FC_MUST_USE;
/* The longest that fc_transfer_measure lasts where a lane is dead, in ns: what a caller
 * sets the deadlines around it by. Collective: no. */
uint64_t fc_transfer_limit_ns(const struct fc_transfer_plan *plan);

/* Closes a lane; one that is not open is no error. Its memory stays registered for the
 * next one. Collective: no. */
enum fc_status fc_transfer_close(const struct fc_transfer *t, int lane,
                                 struct fc_error *err) FC_MUST_USE;

/* Closes everything: lanes, memory, devices. Collective: no. */
enum fc_status fc_transfer_reset(const struct fc_transfer *t,
                                 struct fc_error *err) FC_MUST_USE;

/* Asynchronous events of the open devices since the last call: a new array of
 * {"device", "port" (0: of the device), "event": "port error", "fatal": true where the
 * device is lost, "t_ns": CLOCK_MONOTONIC when it was read}. Collective: no. */
enum fc_status fc_transfer_events(const struct fc_transfer *t, json_t **out,
                                  struct fc_error *err) FC_MUST_USE;

/* "write", "read", "send"; static. Collective: no. */
const char *fc_rdma_op_name(enum fc_rdma_op op);

#endif
