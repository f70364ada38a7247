// SPDX-License-Identifier: BSD-3-Clause
/* fc_comm over MPI's blocking collectives: what a user's own program would call. The
 * operation is complete when enqueue returns, so poll has nothing to do; abort cannot
 * interrupt a blocking MPI call, which is what the watchdog is for. */
#include "collectives/comm.h"

#include <mpi.h>
#include <stdlib.h>

struct mpi_comm {
    struct fc_comm base;
    MPI_Comm comm;
};

/* MPI counts are ints: longer messages go in pieces of this many elements. */
enum { PIECE = 1 << 30 };

static enum fc_status mpi_status(int code, const char *call, struct fc_error *err)
{
    if (code == MPI_SUCCESS)
        return FC_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return fc_fail(err, FC_FAILED, "%s: %.*s", call, length, text);
}

static MPI_Datatype datatype(enum fc_dtype dtype)
{
    switch (dtype) {
    case FC_DTYPE_FP32:
        return MPI_FLOAT;
    case FC_DTYPE_FP64:
        return MPI_DOUBLE;
    case FC_DTYPE_INT32:
        return MPI_INT32_T;
    case FC_DTYPE_INT8:
        return MPI_INT8_T;
    default:
        return MPI_DATATYPE_NULL;
    }
}

static enum fc_status all_reduce(struct mpi_comm *m, const struct fc_coll_args *args,
                                 struct fc_error *err)
{
    MPI_Datatype type = datatype(args->dtype);
    if (type == MPI_DATATYPE_NULL || args->redop != FC_REDOP_SUM)
        return fc_fail(err, FC_UNSUPPORTED,
                       "all_reduce of %s is not supported over MPI",
                       fc_dtype_name(args->dtype));
    size_t width = fc_dtype_bytes(args->dtype);
    for (size_t at = 0; at < args->count; at += PIECE) {
        size_t left = args->count - at;
        int n = left < PIECE ? (int)left : PIECE;
        const void *send = args->send == args->recv
                               ? MPI_IN_PLACE
                               : (const char *)args->send + at * width;
        enum fc_status status =
            mpi_status(MPI_Allreduce(send, (char *)args->recv + at * width, n, type,
                                     MPI_SUM, m->comm),
                       "MPI_Allreduce", err);
        if (status != FC_OK)
            return status;
    }
    return FC_OK;
}

static enum fc_status mpi_enqueue(struct fc_comm *comm, const struct fc_coll_args *args,
                                  struct fc_error *err)
{
    struct mpi_comm *m = (struct mpi_comm *)comm;
    switch (args->op) {
    case FC_COLL_ALL_REDUCE:
        return all_reduce(m, args, err);
    case FC_COLL_COUNT:
        break;
    }
    return fc_fail(err, FC_UNSUPPORTED, "operation %d is not supported over MPI",
                   args->op);
}

static enum fc_status mpi_poll(struct fc_comm *comm, bool *out_done,
                               struct fc_error *err)
{
    (void)comm, (void)err;
    *out_done = true;
    return FC_OK;
}

static enum fc_status mpi_barrier(struct fc_comm *comm, struct fc_error *err)
{
    struct mpi_comm *m = (struct mpi_comm *)comm;
    return mpi_status(MPI_Barrier(m->comm), "MPI_Barrier", err);
}

static void mpi_abort(struct fc_comm *comm)
{
    (void)comm;
}

static void mpi_close(struct fc_comm *comm)
{
    struct mpi_comm *m = (struct mpi_comm *)comm;
    if (m->comm != MPI_COMM_NULL)
        MPI_Comm_free(&m->comm);
    free(m);
}

static const struct fc_comm_ops mpi_ops = {
    .name = "mpi",
    .enqueue = mpi_enqueue,
    .poll = mpi_poll,
    .barrier_spin = mpi_barrier,
    .abort = mpi_abort,
    .close = mpi_close,
};

enum fc_status fc_comm_mpi_open(int color, struct fc_comm **out, struct fc_error *err)
{
    struct mpi_comm *m = calloc(1, sizeof *m);
    if (!m)
        return fc_fail(err, FC_NOMEM, "out of memory for a communicator");
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    enum fc_status status = mpi_status(
        MPI_Comm_split(MPI_COMM_WORLD, color, rank, &m->comm), "MPI_Comm_split", err);
    if (status != FC_OK) {
        free(m);
        return status;
    }
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    m->base = (struct fc_comm){.ops = &mpi_ops, .algorithm = "mpi"};
    MPI_Comm_rank(m->comm, &m->base.rank);
    MPI_Comm_size(m->comm, &m->base.size);
    *out = &m->base;
    return FC_OK;
}
