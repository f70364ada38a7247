// SPDX-License-Identifier: BSD-3-Clause
/* An endpoint: what the peer of a lane must know of it, as compact JSON of bounded
 * size, and what two of them come to. What is read came from another process and is not
 * trusted.
 * Collective: no. Refuses to know: verbs calls, how endpoints travel.
 */
#ifndef FC_RDMA_ENDPOINT_H
#define FC_RDMA_ENDPOINT_H

#include "rdma/transfer.h"

struct fc_endpoint_info {
    char name[96];     /* "mlx5_0:1", for texts */
    char transport[8]; /* "rc", "srd" */
    char layer[16];    /* "InfiniBand", "Ethernet", "Unspecified" (EFA) */
    char gid_kind[16]; /* "IB", "RoCE v1", "RoCE v2"; "": no GID is used */
    int lid;
    uint8_t gid[16];
    bool has_gid;
    bool ipv4; /* the GID is a mapped IPv4 address */
    int mtu;   /* bytes */
    unsigned pkey;
    uint32_t psn, qkey;
    int cm_port;                       /* where it listens by rdma_cm; 0: it does not */
    int rd_atomic;                     /* reads at once that it answers */
    int qps;                           /* for data */
    uint32_t qpn[FC_RDMA_QPS_MAX + 1]; /* [0]: the one of the words */
    uint64_t tag;                      /* random: tells its data from anyone else's */
    uint64_t source, target; /* where its messages lie and where it takes them */
    uint32_t rkey;
    uint64_t ring_bytes; /* of each of both */
    unsigned ops;        /* 1u << enum fc_rdma_op */
};

/* FC_FAILED: it does not fit. Collective: no. */
enum fc_status fc_endpoint_write(const struct fc_endpoint_info *info,
                                 struct fc_endpoint *out,
                                 struct fc_error *err) FC_MUST_USE;
/* FC_FAILED: it is no endpoint. Collective: no. */
enum fc_status fc_endpoint_read(const struct fc_endpoint *endpoint,
                                struct fc_endpoint_info *out,
                                struct fc_error *err) FC_MUST_USE;
/* Whether the two can be joined, and by which MTU. FC_USAGE: one line with both names.
 * Collective: no. */
enum fc_status fc_endpoint_meet(const struct fc_endpoint_info *own,
                                const struct fc_endpoint_info *peer,
                                struct fc_lane_link *out,
                                struct fc_error *err) FC_MUST_USE;

#endif
