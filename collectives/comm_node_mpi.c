// SPDX-License-Identifier: BSD-3-Clause
/* The node-aware communicator: inside a node ranks reduce and gather through memory
 * that they share (MPI_Win_allocate_shared), between nodes MPI carries what each node
 * has reduced.
 *
 * A message goes in pieces that fit the caches. Each rank has two slots in the shared
 * window, used in turn, so that a piece can be written while the one before it is still
 * being read. All-reduce of a piece: (1) every rank copies into its slot the parts that
 * others reduce; meet; (2) rank i reduces part i of its own data and of all slots into
 * its slot, and, with several nodes, with rank i of the other nodes by MPI; meet; (3)
 * every rank copies the result from the slots that its parts lie in. One rank makes
 * each part, so that all get the same bits. Reduce-scatter and all-gather are the
 * halves of it, inside one node only.
 *
 * Ranks meet by counters in the shared window: each waits until all have come,
 * spinning, and yields its core when that takes long. `abort` ends all such waits. */
#include "collectives/parts_mpi.h"
#include "collectives/reduce.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* Slots: small inside one node, where caches count; large between nodes, where each
 * piece costs a round trip. */
enum {
    LINE = 64,
    SPINS = 2000,
    SLOTS = 2,
    SLOT_BYTES = 256 << 10,
    SLOT_BYTES_BETWEEN = 2 << 20
};

/* One rank's corner of the window: how often it has come to meet, on cache lines of
 * their own, then its slots. */
struct corner {
    _Alignas(LINE) _Atomic uint64_t met;
    _Alignas(LINE) _Atomic int aborted;
    _Alignas(LINE) unsigned char slots[];
};

struct node_comm {
    struct fc_comm base;
    MPI_Comm all, node, lane; /* lane: the ranks with this local rank, of every node */
    MPI_Win window;
    struct corner **corner; /* [local_size] */
    int local, local_size, nodes;
    int parts; /* ranks of a node that reduce: as many as the smallest node has */
    bool two;  /* both ranks of one node */
    size_t slot_bytes;
    uint64_t meetings;
    unsigned turn; /* the slot in use */
    struct fc_mpi_types types;
};

static struct node_comm *node_of(struct fc_comm *comm)
{
    return (struct node_comm *)(void *)comm;
}

static unsigned char *slot(const struct node_comm *c, int local)
{
    return c->corner[local]->slots + c->turn * c->slot_bytes;
}

static bool is_aborted(const struct corner *corner)
{
    return atomic_load_explicit(&corner->aborted, memory_order_relaxed) != 0;
}

static void node_abort(struct fc_comm *comm)
{
    struct node_comm *c = node_of(comm);
    atomic_store_explicit(&c->corner[c->local]->aborted, 1, memory_order_relaxed);
}

/* All ranks of the node have come here; FC_FAILED when one has aborted. */
static enum fc_status meet(struct node_comm *c, struct fc_error *err)
{
    const struct corner *own = c->corner[c->local];
    uint64_t round = ++c->meetings;
    atomic_store_explicit(&c->corner[c->local]->met, round, memory_order_release);
    for (int i = 0; i < c->local_size; i++) {
        const struct corner *other = c->corner[i];
        for (unsigned spins = 0;
             atomic_load_explicit(&other->met, memory_order_acquire) < round; spins++) {
            if (is_aborted(other) || is_aborted(own))
                return fc_fail(err, FC_FAILED, "the operation was aborted");
            if (spins >= SPINS)
                sched_yield();
        }
    }
    return FC_OK;
}

/* A run of bytes of a piece. */
struct part {
    size_t at, bytes;
};

/* Part `i` of `parts` of a piece, on whole cache lines. */
static struct part part_of(size_t bytes, int i, int parts)
{
    size_t lines = (bytes + LINE - 1) / LINE, n = (size_t)parts, k = (size_t)i;
    size_t begin = lines * k / n * LINE, end = lines * (k + 1) / n * LINE;
    begin = begin < bytes ? begin : bytes;
    end = end < bytes ? end : bytes;
    return (struct part){begin, end - begin};
}

/* dst = own + what the other ranks of the node have at `offset` of their slots. */
static void reduce_others(const struct node_comm *c, const struct fc_coll_args *a,
                          unsigned char *dst, const unsigned char *own, size_t offset,
                          size_t bytes)
{
    size_t count = bytes / fc_dtype_bytes(a->dtype);
    const unsigned char *sum = own;
    for (int i = 0; i < c->local_size; i++) {
        if (i == c->local)
            continue;
        fc_reduce(a->dtype, a->redop, dst, sum, slot(c, i) + offset, count);
        sum = dst;
    }
    if (sum == own && dst != own)
        memcpy(dst, own, bytes);
}

/* This rank's part: reduced over its node, then over the nodes. */
static enum fc_status make_part(struct node_comm *c, const struct fc_coll_args *a,
                                const unsigned char *send, struct part p,
                                struct fc_error *err)
{
    unsigned char *own = slot(c, c->local) + p.at;
    size_t count = p.bytes / fc_dtype_bytes(a->dtype);
    enum fc_status status = FC_OK;
    reduce_others(c, a, own, send + p.at, p.at, p.bytes);
    if (c->nodes > 1 && count)
        status = fc_mpi_all_reduce(&c->types, c->lane, a->dtype, a->redop, own, own,
                                   count, err);
    if (status == FC_OK && a->redop == FC_REDOP_AVG)
        fc_reduce_divide(a->dtype, own, count, c->base.size);
    return status;
}

static enum fc_status all_reduce_piece(struct node_comm *c,
                                       const struct fc_coll_args *a,
                                       const unsigned char *send, unsigned char *recv,
                                       size_t bytes, struct fc_error *err)
{
    for (int i = 0; i < c->parts; i++) {
        struct part p = part_of(bytes, i, c->parts);
        if (i != c->local)
            memcpy(slot(c, c->local) + p.at, send + p.at, p.bytes);
    }
    enum fc_status status = meet(c, err);
    if (status == FC_OK && c->local < c->parts) {
        status = make_part(c, a, send, part_of(bytes, c->local, c->parts), err);
        if (status != FC_OK) /* the others of this node wait for it */
            node_abort(&c->base);
    }
    if (status == FC_OK)
        status = meet(c, err);
    for (int i = 0; i < c->parts && status == FC_OK; i++) {
        struct part p = part_of(bytes, i, c->parts);
        memcpy(recv + p.at, slot(c, i) + p.at, p.bytes);
    }
    return status;
}

static enum fc_status exchange_piece(struct node_comm *c, const struct fc_coll_args *a,
                                     const unsigned char *send, unsigned char *recv,
                                     size_t bytes, struct fc_error *err)
{
    memcpy(slot(c, c->local), send, bytes);
    enum fc_status status = meet(c, err);
    if (status != FC_OK)
        return status;
    reduce_others(c, a, recv, send, 0, bytes);
    if (a->redop == FC_REDOP_AVG)
        fc_reduce_divide(a->dtype, recv, bytes / fc_dtype_bytes(a->dtype), 2);
    return FC_OK;
}

static enum fc_status reduce_scatter_piece(struct node_comm *c,
                                           const struct fc_coll_args *a, size_t at,
                                           size_t bytes, struct fc_error *err)
{
    size_t block = a->count * fc_dtype_bytes(a->dtype);
    const unsigned char *send = a->send;
    unsigned char *recv = a->recv;
    for (int i = 0; i < c->local_size; i++)
        if (i != c->local)
            memcpy(slot(c, c->local) + (size_t)i * bytes, send + (size_t)i * block + at,
                   bytes);
    enum fc_status status = meet(c, err);
    if (status != FC_OK)
        return status;
    reduce_others(c, a, recv + at, send + (size_t)c->local * block + at,
                  (size_t)c->local * bytes, bytes);
    if (a->redop == FC_REDOP_AVG)
        fc_reduce_divide(a->dtype, recv + at, bytes / fc_dtype_bytes(a->dtype),
                         c->base.size);
    return FC_OK;
}

static enum fc_status all_gather_piece(struct node_comm *c,
                                       const struct fc_coll_args *a, size_t at,
                                       size_t bytes, struct fc_error *err)
{
    size_t block = a->count * fc_dtype_bytes(a->dtype);
    const unsigned char *send = a->send;
    unsigned char *recv = a->recv, *own = recv + (size_t)c->local * block;
    memcpy(slot(c, c->local), send + at, bytes);
    enum fc_status status = meet(c, err);
    for (int i = 0; i < c->local_size && status == FC_OK; i++)
        if (i != c->local)
            memcpy(recv + (size_t)i * block + at, slot(c, i), bytes);
    if (own != send)
        memcpy(own + at, send + at, bytes);
    return status;
}

static size_t whole_lines(size_t bytes)
{
    return bytes / LINE * LINE;
}

static enum fc_status node_enqueue(struct fc_comm *comm, const struct fc_coll_args *a,
                                   struct fc_error *err)
{
    struct node_comm *c = node_of(comm);
    size_t bytes = a->count * fc_dtype_bytes(a->dtype), piece = c->slot_bytes;
    enum fc_status status = FC_OK;
    if (!comm->ops->algorithm(comm, a->op) || !fc_reduce_supports(a->dtype))
        return fc_fail(err, FC_UNSUPPORTED, "no %s of %s through shared memory",
                       fc_coll_name(a->op), fc_dtype_name(a->dtype));
    if (a->op == FC_COLL_REDUCE_SCATTER)
        piece = whole_lines(c->slot_bytes / (size_t)c->local_size);
    for (size_t at = 0; at < bytes && status == FC_OK; at += piece) {
        size_t n = bytes - at < piece ? bytes - at : piece;
        if (a->op == FC_COLL_ALL_REDUCE)
            status = (c->two ? exchange_piece : all_reduce_piece)(
                c, a, (const unsigned char *)a->send + at,
                (unsigned char *)a->recv + at, n, err);
        else if (a->op == FC_COLL_REDUCE_SCATTER)
            status = reduce_scatter_piece(c, a, at, n, err);
        else
            status = all_gather_piece(c, a, at, n, err);
        c->turn = (c->turn + 1) % SLOTS;
    }
    return status;
}

static enum fc_status node_poll(struct fc_comm *comm, bool *out_done,
                                struct fc_error *err)
{
    (void)comm, (void)err;
    *out_done = true;
    return FC_OK;
}

static enum fc_status node_barrier(struct fc_comm *comm, struct fc_error *err)
{
    struct node_comm *c = node_of(comm);
    if (c->nodes == 1)
        return meet(c, err);
    return fc_mpi_status(MPI_Barrier(c->all), "MPI_Barrier", err);
}

static const char *node_algorithm(const struct fc_comm *comm, enum fc_coll op)
{
    const struct node_comm *c = (const struct node_comm *)(const void *)comm;
    bool half = op == FC_COLL_REDUCE_SCATTER || op == FC_COLL_ALL_GATHER;
    if (op == FC_COLL_ALL_REDUCE)
        return c->nodes == 1 ? "shared memory" : "shared memory, mpi between nodes";
    return half && c->nodes == 1 ? "shared memory" : NULL;
}

static void node_close(struct fc_comm *comm)
{
    struct node_comm *c = node_of(comm);
    if (c->window != MPI_WIN_NULL) {
        MPI_Win_unlock_all(c->window);
        MPI_Win_free(&c->window);
    }
    MPI_Comm *comms[] = {&c->lane, &c->node, &c->all};
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++)
        if (*comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(comms[i]);
    fc_mpi_types_close(&c->types);
    free(c->corner);
    free(c);
}

static const struct fc_comm_ops node_ops = {
    .name = "node-aware",
    .enqueue = node_enqueue,
    .poll = node_poll,
    .barrier_spin = node_barrier,
    .abort = node_abort,
    .algorithm = node_algorithm,
    .close = node_close,
};

/* --- opening --- */

/* Who is here: the communicators of the node and of the lane, and how many nodes. */
static int find_ranks(struct node_comm *c, int node)
{
    MPI_Comm shared = MPI_COMM_NULL;
    int sharing = 0, first, least;
    int code = MPI_Comm_split(c->all, node, c->base.rank, &c->node);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_rank(c->node, &c->local);
    MPI_Comm_size(c->node, &c->local_size);
    first = c->local == 0;
    least = c->local_size;
    code = MPI_Allreduce(&first, &c->nodes, 1, MPI_INT, MPI_SUM, c->all);
    if (code == MPI_SUCCESS)
        code = MPI_Allreduce(&least, &c->parts, 1, MPI_INT, MPI_MIN, c->all);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_split(c->all, c->local, c->base.rank, &c->lane);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_split_type(c->node, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                   &shared);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_size(shared, &sharing);
    MPI_Comm_free(&shared);
    MPI_Comm_set_errhandler(c->node, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(c->lane, MPI_ERRORS_RETURN);
    if (c->nodes == 1)
        c->parts = c->local_size;
    c->two = c->nodes == 1 && c->local_size == 2;
    return sharing == c->local_size ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Where a corner begins in the memory that MPI gave, which has whatever alignment.
 * Every process maps that memory at a multiple of a page, so all find the same place.
 */
static struct corner *corner_in(void *segment)
{
    uintptr_t at = (uintptr_t)segment;
    return (struct corner *)((at + LINE - 1) / LINE * LINE);
}

/* The shared window; each rank makes its own corner, in memory near it. */
static int map_corners(struct node_comm *c)
{
    size_t bytes = sizeof(struct corner) + SLOTS * c->slot_bytes + LINE;
    MPI_Info info = MPI_INFO_NULL;
    void *own = NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    int code =
        MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, c->node, &own, &c->window);
    MPI_Info_free(&info);
    if (code == MPI_SUCCESS)
        code = MPI_Win_lock_all(MPI_MODE_NOCHECK, c->window);
    c->corner = calloc((size_t)c->local_size, sizeof(*c->corner));
    if (code != MPI_SUCCESS || !c->corner)
        return code != MPI_SUCCESS ? code : MPI_ERR_NO_MEM;
    memset(own, 0, bytes);
    for (int i = 0; i < c->local_size && code == MPI_SUCCESS; i++) {
        MPI_Aint size;
        int unit;
        void *at = NULL;
        code = MPI_Win_shared_query(c->window, i, &size, &unit, &at);
        c->corner[i] = corner_in(at);
    }
    return code;
}

/* The same answer on all ranks: 1 when `code` is good everywhere. */
static bool all_good(const struct node_comm *c, int code)
{
    int good = code == MPI_SUCCESS, all = 0;
    int sure = MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, c->all);
    return sure == MPI_SUCCESS && all;
}

static enum fc_status open_group(struct node_comm *c, int node, struct fc_error *err)
{
    MPI_Comm_rank(c->all, &c->base.rank);
    MPI_Comm_size(c->all, &c->base.size);
    if (!all_good(c, find_ranks(c, node)))
        return fc_fail(err, FC_UNSUPPORTED, "the ranks of a node do not share memory");
    c->slot_bytes = c->nodes > 1 ? SLOT_BYTES_BETWEEN : SLOT_BYTES;
    if (c->slot_bytes < (size_t)LINE * (size_t)c->local_size)
        c->slot_bytes = (size_t)LINE * (size_t)c->local_size;
    /* Behind it every corner is made: nobody meets before that. */
    if (!all_good(c, map_corners(c)))
        return fc_fail(err, FC_UNSUPPORTED, "MPI gives no shared window");
    return FC_OK;
}

enum fc_status fc_comm_node_open(int color, int node, struct fc_comm **out,
                                 struct fc_error *err)
{
    struct node_comm *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return fc_fail(err, FC_NOMEM, "out of memory for a communicator");
    c->base.ops = &node_ops;
    c->all = c->node = c->lane = MPI_COMM_NULL;
    c->window = MPI_WIN_NULL;
    enum fc_status status = fc_mpi_types_open(&c->types, err);
    if (status == FC_OK)
        status = fc_mpi_split(color, &c->all, err);
    if (status == FC_OK && c->all != MPI_COMM_NULL)
        status = open_group(c, node, err);
    if (status != FC_OK || c->all == MPI_COMM_NULL) {
        node_close(&c->base);
        return status;
    }
    *out = &c->base;
    return FC_OK;
}
