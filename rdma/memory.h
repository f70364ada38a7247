// SPDX-License-Identifier: BSD-3-Clause
/* Memory that NICs read and write: of the host, near the NIC, or of a GPU. A kind of
 * memory is a table of functions; the host's is here, a GPU's comes with its device.
 * Collective: no. Refuses to know: verbs (register.h), lanes.
 */
#ifndef FC_RDMA_MEMORY_H
#define FC_RDMA_MEMORY_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fc_rdma_memory;

struct fc_rdma_memory_ops {
    const char *name;  /* "host", "cuda" */
    bool host_visible; /* the CPU may read and write it, so that bytes can be polled */
    /* Fills at, bytes, numa; `numa` is where it should lie, -1 anywhere. */
    enum fc_status (*alloc)(struct fc_rdma_memory *, size_t bytes, int numa,
                            struct fc_error *);
    void (*free)(struct fc_rdma_memory *);
    /* A dma-buf of all of it: the caller closes *out_fd. NULL or FC_UNSUPPORTED where
     * there is none. */
    enum fc_status (*dmabuf)(struct fc_rdma_memory *, int *out_fd, uint64_t *out_offset,
                             struct fc_error *);
    /* What pattern.h says, at an offset; both complete before they return. */
    enum fc_status (*fill)(struct fc_rdma_memory *, uint64_t offset, size_t bytes,
                           uint64_t seed, uint64_t at, bool inverted,
                           struct fc_error *);
    enum fc_status (*check)(struct fc_rdma_memory *, uint64_t offset, size_t bytes,
                            uint64_t seed, uint64_t at, uint64_t *out_wrong,
                            uint64_t *out_first, struct fc_error *);
};

struct fc_rdma_memory {
    const struct fc_rdma_memory_ops *ops;
    void *at;
    size_t bytes;
    int numa;  /* where it does lie; -1: unknown */
    void *arg; /* the kind's own */
};

/* The host's: whole pages, touched, on `numa` where the kernel grants it. */
extern const struct fc_rdma_memory_ops fc_rdma_host_memory;

/* The table of that name, or NULL: this worker has no such memory. Collective: no. */
const struct fc_rdma_memory_ops *fc_rdma_memory_find(const char *name);

#endif
