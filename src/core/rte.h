// SPDX-License-Identifier: BSD-3-Clause
/* The runtime: who the ranks are, and how they agree.
 *
 * Two backends: MPI (rte_mpi.c, the only file here that sees mpi.h) and one process
 * (rte_self.c). Control operations are nonblocking underneath: start, test, sleep,
 * until a deadline; each has a name, which the watchdog and the error text carry. A
 * control operation that passes its deadline leaves the order of collectives broken:
 * FC_LOST, and the caller can only end the run (fc_watchdog_end). The spinning barrier
 * stands before timed sections and never sleeps.
 *
 * Nodes: ranks that share memory (MPI_COMM_TYPE_SHARED) and a hostname are one node;
 * FABRICHECK_NODE overrides (labs, scale tests). Two nodes with one hostname get "~2",
 * "~3" appended and `duplicate_hosts` counts them. Nodes are numbered by their lowest
 * rank.
 * Refuses to know: what is measured, the journal.
 */
#ifndef FC_CORE_RTE_H
#define FC_CORE_RTE_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct fc_rte;
struct fc_watchdog;

struct fc_rte_place {
    int node;       /* index of the rank's node */
    int local_rank; /* index among the node's ranks, in rank order */
};

/* Read-only for everyone but rte*.c. */
struct fc_rte {
    int rank, size;
    int node, nodes; /* this rank's node; number of nodes */
    int local_rank, local_size;
    int duplicate_hosts; /* nodes that had to be renamed */
    char hostname[256];
    char library[256];            /* "Open MPI v4.1.4 …" or "none (one process)" */
    char **node_name;             /* [nodes] */
    int *node_size;               /* [nodes] ranks of each */
    struct fc_rte_place *place;   /* [size] */
    uint64_t wait_ns;             /* default deadline of control waits */
    struct fc_watchdog *watchdog; /* told of each wait; may be NULL */
    const struct fc_rte_ops *ops;
    void *backend;
};

/* One outstanding nonblocking operation a rank, at most. */
struct fc_rte_ops {
    const char *name;
    enum fc_status (*start_max)(struct fc_rte *, int64_t *inout, int n,
                                struct fc_error *);
    enum fc_status (*start_bcast)(struct fc_rte *, void *data, int bytes, int root,
                                  struct fc_error *);
    /* counts and displacements in bytes, significant on root */
    enum fc_status (*start_gather)(struct fc_rte *, const void *send, int bytes,
                                   void *recv, const int *counts, const int *displs,
                                   struct fc_error *);
    enum fc_status (*start_allgather)(struct fc_rte *, const void *send, int bytes,
                                      void *recv, struct fc_error *);
    enum fc_status (*test)(struct fc_rte *, bool *out_done, struct fc_error *);
    enum fc_status (*barrier_spin)(struct fc_rte *, struct fc_error *);
    void (*close)(struct fc_rte *);
};

/* Starts MPI when a launcher started this process, else one process without MPI. Errors
 * are those of MPI_Init. Collective: yes. */
enum fc_status fc_rte_open(struct fc_rte **out, struct fc_watchdog *watchdog,
                           struct fc_error *err) FC_MUST_USE;
/* Ends MPI. NULL-safe. Collective: yes. */
void fc_rte_close(struct fc_rte *rte);

/* The backends' constructors; fc_rte_open chooses. They fill ops, backend, rank, size
 * and library; *out_leader is the lowest rank with which this one shares memory. */
enum fc_status fc_rte_self_open(struct fc_rte *rte, struct fc_error *err) FC_MUST_USE;
enum fc_status fc_rte_mpi_open(struct fc_rte *rte, int *out_leader,
                               struct fc_error *err) FC_MUST_USE;
/* What MPI_Get_library_version says, which may be asked before MPI runs. */
void fc_rte_mpi_library(char *out, size_t out_bytes);

/* The end of a phase: on every rank the worst status and, when it is not FC_OK, the
 * text of the lowest failing rank ("rank 3 (node1): …" where size > 1). Pass this
 * rank's own status and text in. FC_LOST passed in is returned at once, without
 * communication.
 * Collective: yes. */
enum fc_status fc_rte_agree(struct fc_rte *rte, const char *name, enum fc_status status,
                            struct fc_error *err) FC_MUST_USE;

/* inout[0..n) becomes the maximum over ranks (n <= 64). Collective: yes. */
enum fc_status fc_rte_max(struct fc_rte *rte, const char *name, int64_t *inout, int n,
                          struct fc_error *err) FC_MUST_USE;
/* The same for doubles that are finite. Collective: yes. */
enum fc_status fc_rte_max_double(struct fc_rte *rte, const char *name, double *inout,
                                 struct fc_error *err) FC_MUST_USE;

/* `data` of `root` on all ranks. Collective: yes. */
enum fc_status fc_rte_bcast(struct fc_rte *rte, const char *name, void *data,
                            size_t bytes, int root, struct fc_error *err) FC_MUST_USE;
/* `*inout` of rank 0 (may be NULL) on all ranks; elsewhere a new reference.
 * Collective: yes. */
enum fc_status fc_rte_bcast_json(struct fc_rte *rte, const char *name, json_t **inout,
                                 struct fc_error *err) FC_MUST_USE;
/* The same, from another rank. Collective: yes. */
enum fc_status fc_rte_bcast_json_from(struct fc_rte *rte, const char *name,
                                      json_t **inout, int root,
                                      struct fc_error *err) FC_MUST_USE;

/* Every rank's `bytes` bytes, in rank order, into recv[size*bytes] on all ranks.
 * Collective: yes. */
enum fc_status fc_rte_allgather(struct fc_rte *rte, const char *name, const void *send,
                                size_t bytes, void *recv,
                                struct fc_error *err) FC_MUST_USE;

/* Byte strings of any length to rank 0, in pieces that bound its memory: `take` is
 * called on rank 0 for each rank and piece, in rank order within a piece round; a
 * rank's pieces come in order. `take` returning other than FC_OK is remembered and
 * returned by rank 0 alone (the caller agrees). Collective: yes. */
typedef enum fc_status (*fc_rte_take_fn)(void *arg, int rank, const char *data,
                                         size_t bytes, struct fc_error *err);
enum fc_status fc_rte_gather(struct fc_rte *rte, const char *name, const void *data,
                             size_t bytes, fc_rte_take_fn take, void *arg,
                             struct fc_error *err) FC_MUST_USE;

/* Sleeps while it waits. Collective: yes. */
enum fc_status fc_rte_barrier(struct fc_rte *rte, const char *name,
                              struct fc_error *err) FC_MUST_USE;
/* Spins; nothing but a timed section follows it. Collective: yes. */
enum fc_status fc_rte_barrier_spin(struct fc_rte *rte,
                                   struct fc_error *err) FC_MUST_USE;

#endif
