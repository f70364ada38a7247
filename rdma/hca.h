// SPDX-License-Identifier: BSD-3-Clause
/* An opened RDMA device: its context, protection domain, limits and asynchronous
 * events. Only in a worker: each call is named before it is made.
 * Collective: no. Refuses to know: queue pairs, which device is to be used.
 */
#ifndef FC_RDMA_HCA_H
#define FC_RDMA_HCA_H

#include "core/status.h"

#include <infiniband/verbs.h>
#include <jansson.h>
#include <stdbool.h>

struct fc_worker_call;

struct fc_hca {
    char name[64];
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_device_attr attr;
    int numa; /* -1: unknown */
    bool srd; /* an EFA device */
    /* Of such a device: */
    uint64_t rdma_bytes; /* of one RDMA read or write; 0: it has none */
    bool srd_read, srd_write;
    unsigned srd_inline, srd_send_depth, srd_recv_depth;
};

/* Opens `device`. FC_UNSUPPORTED: there is no RDMA device here, FC_USAGE: none of that
 * name (the text lists those that there are), FC_UNREADABLE: no right to it, FC_FAILED.
 * `call` may be NULL. Collective: no. */
enum fc_status fc_hca_open(const char *device, struct fc_worker_call *call,
                           struct fc_hca **out, struct fc_error *err) FC_MUST_USE;
/* NULL-safe. Nothing of it may be open any more. Collective: no. */
void fc_hca_close(struct fc_hca *hca, struct fc_worker_call *call);

/* Appends what has happened to `events` (an array, as fc_transfer_events tells it);
 * never waits. Collective: no. */
void fc_hca_events(struct fc_hca *hca, json_t *events);

#endif
