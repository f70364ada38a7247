// SPDX-License-Identifier: BSD-3-Clause
/* The runtime over MPI: control operations on a communicator of their own, so that they
 * never meet the operations that are measured. */
#include "core/rte.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mpi_rte {
    MPI_Comm comm;
    MPI_Request request;
};

static enum fc_status mpi_status(int code, const char *call, struct fc_error *err)
{
    if (code == MPI_SUCCESS)
        return FC_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return fc_fail(err, FC_FAILED, "%s: %.*s", call, length, text);
}

static enum fc_status mpi_max(struct fc_rte *rte, int64_t *inout, int n,
                              struct fc_error *err)
{
    struct mpi_rte *m = rte->backend;
    return mpi_status(MPI_Iallreduce(MPI_IN_PLACE, inout, n, MPI_INT64_T, MPI_MAX,
                                     m->comm, &m->request),
                      "MPI_Iallreduce", err);
}

static enum fc_status mpi_bcast(struct fc_rte *rte, void *data, int bytes, int root,
                                struct fc_error *err)
{
    struct mpi_rte *m = rte->backend;
    return mpi_status(MPI_Ibcast(data, bytes, MPI_BYTE, root, m->comm, &m->request),
                      "MPI_Ibcast", err);
}

static enum fc_status mpi_gather(struct fc_rte *rte, const void *send, int bytes,
                                 void *recv, const int *counts, const int *displs,
                                 struct fc_error *err)
{
    struct mpi_rte *m = rte->backend;
    return mpi_status(MPI_Igatherv(send, bytes, MPI_BYTE, recv, counts, displs,
                                   MPI_BYTE, 0, m->comm, &m->request),
                      "MPI_Igatherv", err);
}

static enum fc_status mpi_allgather(struct fc_rte *rte, const void *send, int bytes,
                                    void *recv, struct fc_error *err)
{
    struct mpi_rte *m = rte->backend;
    return mpi_status(MPI_Iallgather(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE,
                                     m->comm, &m->request),
                      "MPI_Iallgather", err);
}

static enum fc_status mpi_test(struct fc_rte *rte, bool *out_done, struct fc_error *err)
{
    struct mpi_rte *m = rte->backend;
    int done = 0;
    enum fc_status status =
        mpi_status(MPI_Test(&m->request, &done, MPI_STATUS_IGNORE), "MPI_Test", err);
    *out_done = done != 0;
    return status;
}

static enum fc_status mpi_barrier_spin(struct fc_rte *rte, struct fc_error *err)
{
    struct mpi_rte *m = rte->backend;
    return mpi_status(MPI_Barrier(m->comm), "MPI_Barrier", err);
}

static void mpi_close(struct fc_rte *rte)
{
    struct mpi_rte *m = rte->backend;
    if (m->comm != MPI_COMM_NULL)
        MPI_Comm_free(&m->comm);
    MPI_Finalize();
    free(m);
    rte->backend = NULL;
}

static const struct fc_rte_ops mpi_ops = {
    .name = "mpi",
    .start_max = mpi_max,
    .start_bcast = mpi_bcast,
    .start_gather = mpi_gather,
    .start_allgather = mpi_allgather,
    .test = mpi_test,
    .barrier_spin = mpi_barrier_spin,
    .close = mpi_close,
};

/* The lowest world rank among those that share memory with this one. */
static enum fc_status shared_leader(struct fc_rte *rte, int *out, struct fc_error *err)
{
    MPI_Comm shared = MPI_COMM_NULL;
    enum fc_status status =
        mpi_status(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rte->rank,
                                       MPI_INFO_NULL, &shared),
                   "MPI_Comm_split_type", err);
    if (status != FC_OK)
        return status;
    int leader = rte->rank;
    status = mpi_status(MPI_Bcast(&leader, 1, MPI_INT, 0, shared), "MPI_Bcast", err);
    MPI_Comm_free(&shared);
    *out = leader;
    return status;
}

void fc_rte_mpi_library(char *out, size_t out_bytes)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    /* "Open MPI v4.1.4, package: …, ident: …": the first part says it. */
    text[strcspn(text, ",\n")] = '\0';
    snprintf(out, out_bytes, "%s", text);
}

enum fc_status fc_rte_mpi_open(struct fc_rte *rte, int *out_leader,
                               struct fc_error *err)
{
    int level = 0, running = 0;
    struct mpi_rte *m = calloc(1, sizeof *m);
    if (!m)
        return fc_fail(err, FC_NOMEM, "out of memory for the runtime");
    enum fc_status status =
        mpi_status(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level),
                   "MPI_Init_thread", err);
    MPI_Initialized(&running);
    if (status != FC_OK || !running) {
        free(m);
        return status != FC_OK ? status : fc_fail(err, FC_FAILED, "MPI did not start");
    }
    m->comm = MPI_COMM_NULL;
    rte->ops = &mpi_ops;
    rte->backend = m;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rte->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rte->size);
    fc_rte_mpi_library(rte->library, sizeof rte->library);
    status = mpi_status(MPI_Comm_dup(MPI_COMM_WORLD, &m->comm), "MPI_Comm_dup", err);
    if (status == FC_OK)
        MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    if (status == FC_OK && level < MPI_THREAD_FUNNELED)
        status = fc_fail(err, FC_FAILED, "MPI offers no MPI_THREAD_FUNNELED");
    return status == FC_OK ? shared_leader(rte, out_leader, err) : status;
}
