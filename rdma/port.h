// SPDX-License-Identifier: BSD-3-Clause
/* RDMA ports of this node: what libibverbs and /sys say of each port of each device,
 * as one plain description that travels from the worker to its rank as JSON.
 *
 * fc_rdma_ports_open makes calls that can hang in a driver or in the kernel, so only a
 * worker process may call it; before each of them `note` is told its name. All else
 * here is pure. A kernel without RDMA, or without a device, is an empty list with a
 * reason, not an error; so is a program that was built without libibverbs.
 * What is not told is unknown, never zero: numbers are -1 (or 0 where 0 is impossible,
 * as said), texts are "". What no port can have becomes a note. All texts are printable
 * ASCII.
 * Collective: no. Refuses to know: which ports are the fabric's (choose.h), queue
 * pairs, counters, MPI, what is good or bad.
 */
#ifndef FC_RDMA_PORT_H
#define FC_RDMA_PORT_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the wire speaks. */
enum fc_rdma_wire {
    FC_RDMA_WIRE_UNKNOWN,
    FC_RDMA_IB,
    FC_RDMA_ROCE,
    FC_RDMA_EFA, /* SRD queue pairs only */
    FC_RDMA_IWARP,
};

enum fc_rdma_gid_kind {
    FC_RDMA_GID_UNKNOWN,
    FC_RDMA_GID_IB, /* EFA's too */
    FC_RDMA_GID_ROCE_V1,
    FC_RDMA_GID_ROCE_V2,
};

enum fc_rdma_family {
    FC_RDMA_NO_FAMILY, /* not an address: InfiniBand, EFA */
    FC_RDMA_IPV4,      /* an IPv4 address mapped into IPv6 */
    FC_RDMA_IPV6,
};

struct fc_rdma_gid {
    int index; /* in the port's table; empty entries are left out */
    uint8_t raw[16];
    enum fc_rdma_gid_kind kind;
    enum fc_rdma_family family;
    bool link_local;  /* fe80::/10 */
    char address[48]; /* "192.0.2.1", "2001:db8::1"; of IB as IPv6 */
    char net[32];     /* its network interface; "" */
};

struct fc_rdma_pkey {
    int index;
    uint16_t key; /* the top bit says full member */
};

/* IBV_PORT_* as numbers, so that no other header is needed; -1: unknown. */
enum { FC_RDMA_PORT_DOWN = 1, FC_RDMA_PORT_ACTIVE = 4 };

struct fc_rdma_port {
    char device[64]; /* "mlx5_0" */
    int port;        /* from 1 */
    char name[72];   /* "mlx5_0:1" */
    bool usable;     /* the device could be opened; else `unusable` says why not */
    char unusable[160];
    bool no_right;   /* since a right, or a file in /dev, is missing */
    char driver[32]; /* "mlx5_core", "rdma_rxe", "efa" */
    enum fc_rdma_wire wire;
    bool software; /* no card of its own: rxe, siw */

    int state;            /* IBV_PORT_*; 4 is active */
    char state_name[16];  /* "active", "down" */
    char phys_state[24];  /* "LinkUp", "Polling", "Disabled" */
    char link_layer[16];  /* "InfiniBand", "Ethernet", "Unspecified" */
    double Gbps;          /* of the link now; 0: unknown, or not up */
    bool rate_is_nominal; /* a rate that the driver makes up: EFA, rxe */
    double max_Gbps;      /* what the port can do at most; 0: unknown */
    char speed[24];       /* "4X NDR"; "" */
    int mtu, max_mtu;     /* bytes; 0: unknown; `mtu` only of a port that is up */
    int lid, sm_lid;      /* -1: unknown or none */
    bool grh_required;    /* InfiniBand packets need a global header */
    int gid_slots;        /* entries of the table, empty ones too; -1: unknown */

    struct fc_rdma_gid *gid;
    size_t gids;
    struct fc_rdma_pkey *pkey;
    size_t pkeys;

    char firmware[64], board[64],
        type[48];                      /* "28.39.1002", "MT_0000000838", "MT4129" */
    char node_guid[24], port_guid[24]; /* "0c42:a103:0054:f1e0" */
    int64_t vendor_id, part_id;        /* as the device says; -1 */
    char bdf[24];                      /* "0000:1a:00.0"; "": no PCI function */
    char pf_bdf[24];                   /* of a virtual function: its card's own */
    bool vf;
    int numa;     /* -1 */
    char net[32]; /* its network interface; "" */

    /* What the device can do; -1: unknown. */
    int64_t max_qp, max_qp_wr, max_sge, max_cqe, max_mr_bytes;
    int64_t max_rd_atomic;      /* reads at once that a queue pair answers */
    int64_t max_init_rd_atomic; /* reads at once that a queue pair asks for */
    int64_t max_message_bytes;  /* of one message over RC */
    int relaxed_ordering; /* 1: a page was registered with it; 0: it was refused */

    /* EFA's own limits, of efadv_query_device; -1: unknown. */
    int64_t srd_max_sq_wr, srd_max_rq_wr, srd_inline_bytes, srd_max_rdma_bytes;
    int srd_read, srd_write; /* the device can RDMA read, RDMA write: 1, 0 */
};

struct fc_rdma_note {
    char text[200];
};

struct fc_rdma_ports {
    struct fc_rdma_port *port; /* by device name (numbers in them as numbers), port */
    size_t ports;
    char none[200]; /* why there is no port: "no RDMA device: …"; "" where there are */
    struct fc_rdma_note *note; /* absurd values and gaps, each one line */
    size_t notes;
};

struct fc_rdma_source {
    const char *root; /* stands for "/" of /sys; "" on a real machine */
    void (*note)(void *arg, const char *what); /* before what can hang; may be NULL */
    void *arg;
    const char *const *skip; /* device names not to touch (they hung before) */
    size_t skips;
};

/* Reads all ports. No device is FC_OK with `none` filled; FC_UNREADABLE: the list of
 * devices could not be read (the text says which right is missing). A device that
 * cannot be opened is listed as not usable. The caller closes *out_ports. 1 to 50 ms a
 * device. Only in a worker. Collective: no. */
enum fc_status fc_rdma_ports_open(const struct fc_rdma_source *source,
                                  struct fc_rdma_ports **out_ports,
                                  struct fc_error *err) FC_MUST_USE;
/* NULL-safe. Collective: no. */
void fc_rdma_ports_close(struct fc_rdma_ports *ports);

/* A new JSON object with all of it; NULL: out of memory. Collective: no. */
json_t *fc_rdma_ports_json(const struct fc_rdma_ports *ports) FC_MUST_USE;
/* Reads such an object (borrowed; not trusted: it came from another process). The
 * caller closes *out_ports. FC_FAILED: it is malformed, and the text says where.
 * Collective: no. */
enum fc_status fc_rdma_ports_read(const json_t *json, struct fc_rdma_ports **out_ports,
                                  struct fc_error *err) FC_MUST_USE;

/* The port of that device, borrowed; NULL: none. Collective: no. */
const struct fc_rdma_port *fc_rdma_port_find(const struct fc_rdma_ports *ports,
                                             const char *device, int port);
/* The GID at a table's index, borrowed; NULL: empty or beyond. Collective: no. */
const struct fc_rdma_gid *fc_rdma_gid_at(const struct fc_rdma_port *port, int index);

/* "InfiniBand", "RoCE", "EFA", "iWARP", "unknown"; static. Collective: no. */
const char *fc_rdma_wire_name(enum fc_rdma_wire wire);
/* "IB", "RoCE v1", "RoCE v2", "unknown"; static. Collective: no. */
const char *fc_rdma_gid_kind_name(enum fc_rdma_gid_kind kind);

#endif
