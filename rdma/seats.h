// SPDX-License-Identifier: BSD-3-Clause
/* Seats: one for each rail of each node, and which rank measures it.
 *
 * Rail r of a node with n ranks belongs to the node's rank number r mod n, as its seat
 * number r / n. Every rank asks a worker of its own which ports its node has and how
 * they would be used (observe.h), since the variables that choose them are each rank's
 * own. What all must know of all seats is gathered; what only the owner needs stays
 * with it. A worker that hangs or crashes is an event, and its rank's seats are empty.
 * Refuses to know: who meets whom, what is measured.
 */
#ifndef FC_RDMA_SEATS_H
#define FC_RDMA_SEATS_H

#include "core/run.h"
#include "core/worker.h"
#include "rdma/transfer.h"

/* Rails of a node; p5 has 32. */
enum { FC_RDMA_RAILS_MAX = 32 };

/* What all ranks know. */
struct fc_rdma_seat {
    char name[56];     /* "mlx5_0:1" */
    double limit_GBps; /* 0: unknown */
    int32_t used;      /* 0: it cannot be, or there is none */
};

/* What its owner knows. */
struct fc_rdma_own {
    int rail; /* -1: no seat */
    bool used;
    bool no_right; /* it is not used since a right is missing */
    char name[72];
    char reason[240]; /* why it is not used */
    char doubt[200];  /* why it may not reach its peers; "" */
    char basis[192];  /* of the limit */
    char bdf[24], guid[24];
    double limit_GBps;
    struct fc_lane_plan plan;
};

struct fc_rdma_seats {
    struct fc_run *run; /* borrowed */
    struct fc_worker *worker;
    int losses;                /* workers that were lost */
    int rails;                 /* of the node with most */
    int slots;                 /* seats of the rank with most */
    struct fc_rdma_seat *seat; /* [nodes][rails] */
    struct fc_rdma_own *own;   /* [slots] */
    int *begin;                /* [nodes + 1] into rank_of */
    int *rank_of;              /* [size] ranks by node and local rank */
    char none[240];            /* why this rank's node has no rail */
    bool none_no_right;        /* since a right is missing */
    json_t *ports;             /* as observe.h tells them; NULL */
    json_t *notes;
};

/* True when this node has an RDMA device, by its /sys. Collective: no. */
bool fc_rdma_present(void);

/* Asks, gathers, and journals what was chosen (fact `rdma.ports`) and which rails
 * cannot be measured (records). FC_UNSUPPORTED on all ranks where no node has a rail.
 * The caller closes *out, also after a failure. Collective: yes. */
enum fc_status fc_rdma_seats_open(struct fc_run *run, struct fc_rdma_seats *out,
                                  struct fc_error *err) FC_MUST_USE;
/* Collective: no. */
void fc_rdma_seats_close(struct fc_rdma_seats *seats);

/* The rank that owns the rail of the node, and its slot there. Collective: no. */
int fc_rdma_seat_rank(const struct fc_rdma_seats *seats, int node, int rail);
int fc_rdma_seat_slot(const struct fc_rdma_seats *seats, int node, int rail);
/* Borrowed. Collective: no. */
const struct fc_rdma_seat *fc_rdma_seat(const struct fc_rdma_seats *seats, int node,
                                        int rail);

/* Has the worker do one of observe.h's commands, under a deadline of `deadline_ns`. A
 * worker that is lost in it is an event in the journal; a rank that lost two gets no
 * third. Collective: no. */
enum fc_status fc_rdma_seats_ask(struct fc_rdma_seats *seats, const char *command,
                                 json_t *args, uint64_t deadline_ns, json_t **out_reply,
                                 struct fc_error *err) FC_MUST_USE;
/* Journals that the worker was lost in `what`, if it was. Collective: no. */
enum fc_status fc_rdma_seats_lost(struct fc_rdma_seats *seats, const char *what,
                                  const char *why, struct fc_error *err) FC_MUST_USE;

#endif
