// SPDX-License-Identifier: BSD-3-Clause
/* fc_comm over MPI's blocking collectives: what a user's own program would call. The
 * operation is complete when enqueue returns, so poll has nothing to do; abort cannot
 * interrupt a blocking MPI call, which is what the watchdog is for.
 *
 * MPI counts are ints. A block of more elements is described by a derived type of
 * pieces; MPI cannot reduce those, so reductions go piece by piece. */
#include "collectives/parts_mpi.h"
#include "collectives/reduce.h"

#include <limits.h>
#include <stdlib.h>

enum { PIECE = 1 << 30, TAG = 7 };

struct mpi_comm {
    struct fc_comm base;
    MPI_Comm comm;
    struct fc_mpi_types types;
};

/* How MPI is told of one block: `n` times `type`. */
struct block {
    MPI_Datatype type;
    int n;
    bool made;
};

static enum fc_status make_large(size_t count, MPI_Datatype element, MPI_Datatype *out,
                                 struct fc_error *err)
{
    MPI_Datatype pieces = MPI_DATATYPE_NULL, rest = MPI_DATATYPE_NULL;
    MPI_Aint extent, unused;
    MPI_Type_get_extent(element, &unused, &extent);
    int whole = (int)(count / PIECE), length[2] = {1, 1};
    MPI_Aint at[2] = {0, (MPI_Aint)whole * PIECE * extent};
    int code = MPI_Type_vector(whole, PIECE, PIECE, element, &pieces);
    if (code == MPI_SUCCESS)
        code = MPI_Type_contiguous((int)(count % PIECE), element, &rest);
    if (code == MPI_SUCCESS) {
        MPI_Datatype part[2] = {pieces, rest};
        code = MPI_Type_create_struct(2, length, at, part, out);
    }
    if (code == MPI_SUCCESS)
        code = MPI_Type_commit(out);
    if (pieces != MPI_DATATYPE_NULL)
        MPI_Type_free(&pieces);
    if (rest != MPI_DATATYPE_NULL)
        MPI_Type_free(&rest);
    return fc_mpi_status(code, "a derived type", err);
}

static enum fc_status block_open(const struct mpi_comm *m,
                                 const struct fc_coll_args *args, struct block *out,
                                 struct fc_error *err)
{
    MPI_Datatype element = m->types.type[args->dtype];
    *out = (struct block){.type = element};
    if (args->count <= INT_MAX) {
        out->n = (int)args->count;
        return FC_OK;
    }
    out->n = 1;
    out->made = true;
    return make_large(args->count, element, &out->type, err);
}

static void block_close(struct block *block)
{
    if (block->made)
        MPI_Type_free(&block->type);
}

/* --- operations that move data --- */

static int broadcast(struct mpi_comm *m, const struct fc_coll_args *a,
                     const struct block *b)
{
    /* MPI has one buffer: the root's is what it sends. */
    bool root = m->base.rank == a->root;
    int code = MPI_Bcast(root ? (void *)(uintptr_t)a->send : a->recv, b->n, b->type,
                         a->root, m->comm);
    if (code == MPI_SUCCESS && root && a->send != a->recv)
        memcpy(a->recv, a->send, a->count * fc_dtype_bytes(a->dtype));
    return code;
}

static int all_gather(struct mpi_comm *m, const struct fc_coll_args *a,
                      const struct block *b, bool in_place)
{
    return MPI_Allgather(in_place ? MPI_IN_PLACE : a->send, b->n, b->type, a->recv,
                         b->n, b->type, m->comm);
}

static int gather(struct mpi_comm *m, const struct fc_coll_args *a,
                  const struct block *b, bool in_place)
{
    in_place = in_place && m->base.rank == a->root;
    return MPI_Gather(in_place ? MPI_IN_PLACE : a->send, b->n, b->type, a->recv, b->n,
                      b->type, a->root, m->comm);
}

static int scatter(struct mpi_comm *m, const struct fc_coll_args *a,
                   const struct block *b, bool in_place)
{
    in_place = in_place && m->base.rank == a->root;
    return MPI_Scatter(a->send, b->n, b->type, in_place ? MPI_IN_PLACE : a->recv, b->n,
                       b->type, a->root, m->comm);
}

static int sendrecv(struct mpi_comm *m, const struct fc_coll_args *a,
                    const struct block *b)
{
    int to = a->to < 0 ? MPI_PROC_NULL : a->to;
    int from = a->from < 0 ? MPI_PROC_NULL : a->from;
    if (a->to < 0)
        return MPI_Recv(a->recv, b->n, b->type, from, TAG, m->comm, MPI_STATUS_IGNORE);
    if (a->from < 0)
        return MPI_Send(a->send, b->n, b->type, to, TAG, m->comm);
    if (a->send == a->recv)
        return MPI_Sendrecv_replace(a->recv, b->n, b->type, to, TAG, from, TAG, m->comm,
                                    MPI_STATUS_IGNORE);
    return MPI_Sendrecv(a->send, b->n, b->type, to, TAG, a->recv, b->n, b->type, from,
                        TAG, m->comm, MPI_STATUS_IGNORE);
}

static enum fc_status move(struct mpi_comm *m, const struct fc_coll_args *a,
                           struct fc_error *err)
{
    struct block b;
    enum fc_status status = block_open(m, a, &b, err);
    if (status != FC_OK)
        return status;
    size_t own = (size_t)m->base.rank * a->count * fc_dtype_bytes(a->dtype);
    const char *send = a->send, *recv = a->recv;
    const char *call = "MPI";
    int code = MPI_SUCCESS;
    switch (a->op) {
    case FC_COLL_BROADCAST:
        call = "MPI_Bcast";
        code = broadcast(m, a, &b);
        break;
    case FC_COLL_ALL_GATHER:
        call = "MPI_Allgather";
        code = all_gather(m, a, &b, send == recv + own);
        break;
    case FC_COLL_ALLTOALL:
        call = "MPI_Alltoall";
        code = MPI_Alltoall(send == recv ? MPI_IN_PLACE : send, b.n, b.type, a->recv,
                            b.n, b.type, m->comm);
        break;
    case FC_COLL_GATHER:
        call = "MPI_Gather";
        code = gather(m, a, &b, send == recv + own);
        break;
    case FC_COLL_SCATTER:
        call = "MPI_Scatter";
        code = scatter(m, a, &b, recv == send + own);
        break;
    default:
        call = "MPI_Sendrecv";
        code = sendrecv(m, a, &b);
    }
    block_close(&b);
    return fc_mpi_status(code, call, err);
}

/* --- operations that reduce --- */

/* `count` elements from everyone's `send` into `recv` on `root`; send == recv: in place
 * on the root. */
static enum fc_status reduce(struct mpi_comm *m, const struct fc_coll_args *a,
                             const void *send, void *recv, int root,
                             struct fc_error *err)
{
    MPI_Datatype type = m->types.type[a->dtype];
    MPI_Op op = fc_mpi_op(&m->types, a->dtype, a->redop);
    size_t width = fc_dtype_bytes(a->dtype);
    enum fc_status status = FC_OK;
    for (size_t at = 0; at < a->count && status == FC_OK; at += PIECE) {
        int n = a->count - at < PIECE ? (int)(a->count - at) : PIECE;
        bool in_place = send == recv && m->base.rank == root;
        status = fc_mpi_status(
            MPI_Reduce(in_place ? MPI_IN_PLACE : (const char *)send + at * width,
                       (char *)recv + at * width, n, type, op, root, m->comm),
            "MPI_Reduce", err);
    }
    return status;
}

/* MPI's own in place leaves the result in block 0: ours (and NCCL's) is block `rank`.
 */
static enum fc_status reduce_scatter(struct mpi_comm *m, const struct fc_coll_args *a,
                                     struct fc_error *err)
{
    size_t bytes = a->count * fc_dtype_bytes(a->dtype);
    enum fc_status status = FC_OK;
    if (a->count > INT_MAX) {
        for (int r = 0; r < m->base.size && status == FC_OK; r++)
            status = reduce(m, a, (const char *)a->send + (size_t)r * bytes, a->recv, r,
                            err);
        return status;
    }
    bool in_place = a->recv == (const char *)a->send + (size_t)m->base.rank * bytes;
    const void *send = in_place ? MPI_IN_PLACE : a->send;
    void *recv = in_place ? (void *)(uintptr_t)a->send : a->recv;
    status = fc_mpi_status(
        MPI_Reduce_scatter_block(send, recv, (int)a->count, m->types.type[a->dtype],
                                 fc_mpi_op(&m->types, a->dtype, a->redop), m->comm),
        "MPI_Reduce_scatter_block", err);
    if (status == FC_OK && recv != a->recv)
        memcpy(a->recv, recv, bytes);
    return status;
}

static enum fc_status reducing(struct mpi_comm *m, const struct fc_coll_args *a,
                               struct fc_error *err)
{
    enum fc_status status;
    bool result_here = true;
    if (a->op == FC_COLL_ALL_REDUCE) {
        status = fc_mpi_all_reduce(&m->types, m->comm, a->dtype, a->redop, a->send,
                                   a->recv, a->count, err);
    } else if (a->op == FC_COLL_REDUCE) {
        result_here = m->base.rank == a->root;
        status = reduce(m, a, a->send, a->recv, a->root, err);
    } else {
        status = reduce_scatter(m, a, err);
    }
    if (status == FC_OK && a->redop == FC_REDOP_AVG && result_here)
        fc_reduce_divide(a->dtype, a->recv, a->count, m->base.size);
    return status;
}

/* --- the table --- */

static enum fc_status refuse(const struct fc_coll_args *args, struct fc_error *err)
{
    return fc_fail(err, FC_UNSUPPORTED, "%s of %s is not supported over MPI",
                   args->op < FC_COLL_COUNT ? fc_coll_name(args->op) : "operation",
                   fc_dtype_name(args->dtype));
}

static enum fc_status mpi_enqueue(struct fc_comm *comm, const struct fc_coll_args *args,
                                  struct fc_error *err)
{
    struct mpi_comm *m = (struct mpi_comm *)comm;
    if (args->op >= FC_COLL_COUNT || m->types.type[args->dtype] == MPI_DATATYPE_NULL)
        return refuse(args, err);
    /* The shortest way for the operation whose small messages are timed most. */
    if (args->op == FC_COLL_ALL_REDUCE && args->redop != FC_REDOP_AVG)
        return fc_mpi_all_reduce(&m->types, m->comm, args->dtype, args->redop,
                                 args->send, args->recv, args->count, err);
    return fc_coll_reduces(args->op) ? reducing(m, args, err) : move(m, args, err);
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
    return fc_mpi_status(MPI_Barrier(m->comm), "MPI_Barrier", err);
}

static void mpi_abort(struct fc_comm *comm)
{
    (void)comm;
}

static const char *mpi_algorithm(const struct fc_comm *comm, enum fc_coll op)
{
    (void)comm, (void)op;
    return "mpi";
}

static void mpi_close(struct fc_comm *comm)
{
    struct mpi_comm *m = (struct mpi_comm *)comm;
    fc_mpi_types_close(&m->types);
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
    .algorithm = mpi_algorithm,
    .close = mpi_close,
};

enum fc_status fc_comm_mpi_open(int color, struct fc_comm **out, struct fc_error *err)
{
    struct mpi_comm *m = calloc(1, sizeof *m);
    if (!m)
        return fc_fail(err, FC_NOMEM, "out of memory for a communicator");
    m->comm = MPI_COMM_NULL;
    m->base.ops = &mpi_ops;
    *out = NULL;
    enum fc_status status = fc_mpi_types_open(&m->types, err);
    if (status == FC_OK)
        status = fc_mpi_split(color, &m->comm, err);
    if (status != FC_OK || m->comm == MPI_COMM_NULL) {
        mpi_close(&m->base);
        return status;
    }
    MPI_Comm_rank(m->comm, &m->base.rank);
    MPI_Comm_size(m->comm, &m->base.size);
    *out = &m->base;
    return FC_OK;
}
