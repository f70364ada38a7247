// SPDX-License-Identifier: BSD-3-Clause
/* The runtime of one process: every operation is done when it starts. */
#include "core/rte.h"

#include <stdio.h>
#include <string.h>

static enum fc_status self_max(struct fc_rte *rte, int64_t *inout, int n,
                               struct fc_error *err)
{
    (void)rte, (void)inout, (void)n, (void)err;
    return FC_OK;
}

static enum fc_status self_bcast(struct fc_rte *rte, void *data, int bytes, int root,
                                 struct fc_error *err)
{
    (void)rte, (void)data, (void)bytes, (void)root, (void)err;
    return FC_OK;
}

static enum fc_status self_gather(struct fc_rte *rte, const void *send, int bytes,
                                  void *recv, const int *counts, const int *displs,
                                  struct fc_error *err)
{
    (void)rte, (void)counts, (void)err;
    if (bytes)
        memcpy((char *)recv + displs[0], send, (size_t)bytes);
    return FC_OK;
}

static enum fc_status self_allgather(struct fc_rte *rte, const void *send, int bytes,
                                     void *recv, struct fc_error *err)
{
    (void)rte, (void)err;
    memcpy(recv, send, (size_t)bytes);
    return FC_OK;
}

static enum fc_status self_test(struct fc_rte *rte, bool *out_done,
                                struct fc_error *err)
{
    (void)rte, (void)err;
    *out_done = true;
    return FC_OK;
}

static enum fc_status self_barrier(struct fc_rte *rte, struct fc_error *err)
{
    (void)rte, (void)err;
    return FC_OK;
}

static void self_close(struct fc_rte *rte)
{
    (void)rte;
}

static const struct fc_rte_ops self_ops = {
    .name = "self",
    .start_max = self_max,
    .start_bcast = self_bcast,
    .start_gather = self_gather,
    .start_allgather = self_allgather,
    .test = self_test,
    .barrier_spin = self_barrier,
    .close = self_close,
};

enum fc_status fc_rte_self_open(struct fc_rte *rte, struct fc_error *err)
{
    (void)err;
    rte->ops = &self_ops;
    rte->rank = 0;
    rte->size = 1;
    snprintf(rte->library, sizeof rte->library, "none (one process)");
    return FC_OK;
}
