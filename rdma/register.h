// SPDX-License-Identifier: BSD-3-Clause
/* Registering memory with a NIC, by really doing it: by dma-buf where the memory has
 * one, then by its pointer (for a GPU that is the peer-memory module). Which one served
 * is told, and why the other did not.
 * Collective: no. Refuses to know: lanes, what the memory holds.
 */
#ifndef FC_RDMA_REGISTER_H
#define FC_RDMA_REGISTER_H

#include "rdma/memory.h"

#include <infiniband/verbs.h>

struct fc_worker_call;

struct fc_rdma_mr {
    struct ibv_mr *mr;
    char by[16];    /* "dma-buf", "pointer" */
    char note[160]; /* why not by dma-buf, where it was tried; "" */
};

/* `access`: IBV_ACCESS_*. FC_UNREADABLE where the limit of locked memory is too small
 * (limit and need named), FC_UNSUPPORTED where the memory cannot be registered in
 * either way, FC_FAILED else. `call` may be NULL. Collective: no. */
enum fc_status fc_rdma_register(struct ibv_pd *pd, struct fc_rdma_memory *memory,
                                unsigned access, const char *device,
                                struct fc_worker_call *call, struct fc_rdma_mr *out,
                                struct fc_error *err) FC_MUST_USE;

#endif
