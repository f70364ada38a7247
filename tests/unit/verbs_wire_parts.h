// SPDX-License-Identifier: BSD-3-Clause
/* What the double's two files share: verbs_wire.c has devices and memory,
 * verbs_queues.c queue pairs and completions. */
#ifndef FC_TESTS_UNIT_VERBS_WIRE_PARTS_H
#define FC_TESTS_UNIT_VERBS_WIRE_PARTS_H

#include "verbs_wire.h"

enum { WIRE_MRS = 64 };

struct wire_mr {
    struct ibv_mr mr;
    uint64_t at, bytes;
    unsigned access;
};

void wire_broken(const char *rule);
/* True when this call is the one that is to fail; errno is set. */
bool wire_fails(const char *call);
struct wire_device *wire_device_of(const struct ibv_context *context);
/* Whether a key (rkey: less WIRE_MRS) covers the range with the right. */
bool wire_may(uint32_t key, uint64_t at, uint64_t bytes, unsigned access);

void wire_queues_reset(void);
int wire_poll(struct ibv_cq *cq, int room, struct ibv_wc *out);
int wire_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int wire_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
