// SPDX-License-Identifier: BSD-3-Clause
/* A lane inside the worker: one port's queue pairs to one port of a peer, their
 * completion queues and memory. Queue pair 0 carries the words by which the members
 * keep step (words.h), the others data. What differs between RC and SRD is a table of
 * functions.
 *
 * Memory of a lane: a ring that is sent and read from (source), a ring that is written
 * and received into (target), each of ring_bytes; and a little host memory for words.
 * Collective: no. Refuses to know: what is measured, JSON but the endpoint's.
 */
#ifndef FC_RDMA_LANE_H
#define FC_RDMA_LANE_H

#include "rdma/endpoint.h"
#include "rdma/hca.h"
#include "rdma/register.h"

enum {
    FC_LANE_CHAIN = 8,  /* requests that are posted by one call */
    FC_LANE_WORDS = 16, /* words in flight each way */
    FC_LANE_WORD_BYTES = 64,
};

/* Registered memory; stays so when its lane closes, for the next one. */
struct fc_region {
    struct fc_hca *hca;
    struct fc_rdma_memory data, words;
    struct fc_rdma_mr data_mr, words_mr;
    bool relaxed, taken;
    uint64_t ring_bytes;
    struct fc_region *next;
};

struct fc_lane;

/* One request of a chain. */
struct fc_post {
    uint64_t id;
    enum fc_rdma_op op;
    uint64_t local, remote; /* addresses; remote not of sends */
    uint32_t bytes, lkey;
    bool signaled, inlined;
};

struct fc_transport_ops {
    const char *name;
    bool ordered; /* bytes of a message and messages arrive in order */
    bool signal_all;
    /* Fills lane->ops, max_message, max_inline, depth limits. */
    void (*limits)(struct fc_lane *lane);
    enum fc_status (*make)(struct fc_lane *lane, int i, struct ibv_qp_cap *cap,
                           struct fc_error *err);
    /* Brings the queue pairs to work with lane->peer, by path MTU lane->mtu. */
    enum fc_status (*connect)(struct fc_lane *lane, struct fc_error *err);
    /* Posts `n` requests (1 … FC_LANE_CHAIN) to queue pair `i`: 0 or an errno. */
    int (*post)(struct fc_lane *lane, int i, const struct fc_post *post, int n);
    void (*disconnect)(struct fc_lane *lane);
};
extern const struct fc_transport_ops fc_transport_rc;
#ifdef HAVE_EFADV
extern const struct fc_transport_ops fc_transport_srd;
#endif

struct fc_lane {
    char name[96]; /* "mlx5_0:1" */
    struct fc_lane_plan plan;
    const struct fc_transport_ops *transport;
    struct fc_hca *hca;
    struct fc_region *region;
    struct fc_worker_call *call; /* of the command that is served; may be NULL */
    struct ibv_port_attr port;
    struct fc_endpoint_info own, peer;
    int mtu; /* bytes, once connected */
    bool connected;
    unsigned ops;
    uint64_t max_message[FC_RDMA_OPS];
    uint32_t max_inline, depth; /* depth: of data queue pairs, sends and receives */
    struct ibv_cq *data_cq, *word_cq;
    struct ibv_qp *qp[FC_RDMA_QPS_MAX + 1];
    struct ibv_ah *ah;     /* SRD */
    struct fc_lane_cm *cm; /* where rdma_cm connects (lane_cm.h); else NULL */
    struct ibv_wc failed;  /* the first completion that failed; status 0: none */
    /* Words (words.c). */
    uint32_t word_sent, word_heard;
    uint32_t word_out;   /* sends that have not completed */
    uint32_t word_ready; /* places with a word that was not heard yet */
};

/* Everything that is open in a worker. */
enum { FC_VERBS_HCAS = 64 };
struct fc_verbs {
    struct fc_hca *hca[FC_VERBS_HCAS];
    struct fc_region *regions;
    struct fc_lane *lane[FC_RDMA_LANES_MAX];
};

/* As fc_transfer_open says. `call` may be NULL. Collective: no. */
enum fc_status fc_lane_open(struct fc_verbs *verbs, int number,
                            const struct fc_lane_plan *plan,
                            struct fc_worker_call *call, struct fc_endpoint *out,
                            struct fc_lane_answer *out_answer,
                            struct fc_error *err) FC_MUST_USE;
enum fc_status fc_lane_connect(struct fc_lane *lane, const struct fc_endpoint *peer,
                               struct fc_lane_link *out,
                               struct fc_error *err) FC_MUST_USE;
/* Both are NULL-safe where nothing is open. Collective: no. */
void fc_lane_close(struct fc_verbs *verbs, int number, struct fc_worker_call *call);
void fc_verbs_close(struct fc_verbs *verbs, struct fc_worker_call *call);

/* Posts; the text names the lane. Collective: no. */
enum fc_status fc_lane_post(struct fc_lane *lane, int i, const struct fc_post *post,
                            int n, struct fc_error *err) FC_MUST_USE;
/* Posts `n` receives (1 … FC_LANE_CHAIN) with ids and places. Collective: no. */
struct fc_receive {
    uint64_t id, at;
    uint32_t bytes, lkey;
};
enum fc_status fc_lane_receive(struct fc_lane *lane, int i,
                               const struct fc_receive *receive, int n,
                               struct fc_error *err) FC_MUST_USE;
/* Polls; *out_n completions. One that failed is kept in lane->failed, and told.
 * Collective: no. */
enum fc_status fc_lane_poll(struct fc_lane *lane, struct ibv_cq *cq, int room,
                            struct ibv_wc *out, int *out_n,
                            struct fc_error *err) FC_MUST_USE;

/* The path MTU as verbs count it. Collective: no. */
enum ibv_mtu fc_lane_mtu_code(const struct fc_lane *lane);

/* Addresses of the rings. Collective: no. */
uint64_t fc_lane_source(const struct fc_lane *lane);
uint64_t fc_lane_target(const struct fc_lane *lane);

/* A free region that is good enough, or a new one. Collective: no. */
enum fc_status fc_region_take(struct fc_verbs *verbs, struct fc_hca *hca,
                              const struct fc_lane_plan *plan,
                              struct fc_worker_call *call, struct fc_region **out,
                              struct fc_error *err) FC_MUST_USE;
void fc_region_free(struct fc_region *region, struct fc_worker_call *call);

#endif
