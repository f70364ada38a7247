// SPDX-License-Identifier: BSD-3-Clause
/* Every operation, type, reduction and placement on every communicator, against results
 * that this program works out by itself, rank by rank. Run by tests/mpi/collectives.sh
 * on several numbers of ranks and shapes of nodes; "large" as its argument: counts
 * beyond 2^31 instead. */
#include "collectives/comm.h"
#include "core/rte.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fc_rte *rte;

static void check(bool ok, const char *name)
{
    tap_check(rte, ok, name);
}

/* --- elements; all values are small whole numbers, exact in each type --- */

static void put(void *data, enum fc_dtype dtype, size_t i, int value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (dtype == FC_DTYPE_FP32)
        ((float *)data)[i] = single;
    else if (dtype == FC_DTYPE_FP64)
        ((double *)data)[i] = (double)value;
    else if (dtype == FC_DTYPE_INT32)
        ((int32_t *)data)[i] = value;
    else if (dtype == FC_DTYPE_INT8)
        ((int8_t *)data)[i] = (int8_t)value;
    else
        ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
}

static bool is(const void *data, enum fc_dtype dtype, size_t i, int value)
{
    unsigned char want[8];
    size_t width = fc_dtype_bytes(dtype);
    put(want, dtype, 0, value);
    return memcmp((const char *)data + i * width, want, width) == 0;
}

static int mix(size_t i)
{
    return (int)((i * 2654435761u) >> 7 & 0xff);
}

/* What rank r of n has at element i of what it sends. */
static int sent(enum fc_coll op, enum fc_redop redop, int r, int n, size_t i)
{
    if (!fc_coll_reduces(op))
        return (mix(i) + 37 * r) % 101 - 50;
    switch (redop) {
    case FC_REDOP_PROD:
        return (size_t)r == i % (size_t)n ? 3 : -1;
    case FC_REDOP_AVG:
        return mix(i) % 7 + 2 * r - (n - 1);
    default:
        return (mix(i) + 5 * r) % 9 - 4;
    }
}

/* What the ranks' elements i reduce to. */
static int reduced(enum fc_coll op, enum fc_redop redop, int n, size_t i)
{
    int value = sent(op, redop, 0, n, i);
    for (int r = 1; r < n; r++) {
        int next = sent(op, redop, r, n, i);
        if (redop == FC_REDOP_PROD)
            value *= next;
        else if (redop == FC_REDOP_MIN)
            value = next < value ? next : value;
        else if (redop == FC_REDOP_MAX)
            value = next > value ? next : value;
        else
            value += next;
    }
    return redop == FC_REDOP_AVG ? value / n : value;
}

/* --- one case --- */

struct test {
    struct fc_comm *comm;
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop;
    bool in_place;
    int root;
    size_t count;
};

/* Element i of what rank `me` must hold, where it holds a result. */
static int expected(const struct test *t, int me, size_t i)
{
    int n = t->comm->size;
    size_t block = i / t->count, at = i % t->count, own = (size_t)me * t->count;
    switch (t->op) {
    case FC_COLL_REDUCE_SCATTER:
        return reduced(t->op, t->redop, n, own + i);
    case FC_COLL_ALL_GATHER:
    case FC_COLL_GATHER:
        return sent(t->op, t->redop, (int)block, n, at);
    case FC_COLL_ALLTOALL:
        return sent(t->op, t->redop, (int)block, n, own + at);
    case FC_COLL_SCATTER:
        return sent(t->op, t->redop, t->root, n, own + i);
    case FC_COLL_BROADCAST:
        return sent(t->op, t->redop, t->root, n, i);
    case FC_COLL_SENDRECV:
        return sent(t->op, t->redop, (me + n - 1) % n, n, i);
    default:
        return reduced(t->op, t->redop, n, i);
    }
}

static bool run_case(const struct test *t, char *a, char *b)
{
    struct fc_comm *comm = t->comm;
    int me = comm->rank, n = comm->size;
    struct fc_coll_shape shape = fc_coll_shape(t->op, n);
    size_t sends = shape.send_blocks * t->count, gets = shape.recv_blocks * t->count;
    size_t larger = sends > gets ? sends : gets, width = fc_dtype_bytes(t->dtype);
    size_t own = (size_t)me * t->count * width;
    char *send = t->in_place && sends < gets ? b + own : t->in_place ? b : a;
    char *recv = t->in_place && gets < sends ? b + own : b;
    for (size_t i = 0; i < larger; i++)
        put(b, t->dtype, i, 99);
    for (size_t i = 0; i < sends; i++)
        put(send, t->dtype, i, sent(t->op, t->redop, me, n, i));
    struct fc_error err = {""};
    struct fc_coll_args args = {.op = t->op,
                                .dtype = t->dtype,
                                .redop = t->redop,
                                .root = t->root,
                                .to = (me + 1) % n,
                                .from = (me + n - 1) % n,
                                .send = send,
                                .recv = recv,
                                .count = t->count};
    if (comm->ops->enqueue(comm, &args, &err) != FC_OK) {
        fprintf(stderr, "# rank %d: %s: %s\n", rte->rank, fc_coll_name(t->op),
                err.text);
        return false;
    }
    bool root_only = t->op == FC_COLL_REDUCE || t->op == FC_COLL_GATHER;
    for (size_t i = 0; i < gets && (!root_only || me == t->root); i++)
        if (!is(recv, t->dtype, i, expected(t, me, i))) {
            fprintf(stderr,
                    "# rank %d: %s %s %s%s, %zu elements: element %zu is wrong\n",
                    rte->rank, fc_coll_name(t->op), fc_dtype_name(t->dtype),
                    fc_coll_reduces(t->op) ? fc_redop_name(t->redop) : "",
                    t->in_place ? " in place" : "", t->count, i);
            return false;
        }
    return true;
}

static const enum fc_dtype dtypes[] = {FC_DTYPE_FP32, FC_DTYPE_FP64, FC_DTYPE_INT32,
                                       FC_DTYPE_INT8, FC_DTYPE_BF16};
enum { LARGEST = 600000 }; /* bytes of a block: beyond two slots of shared memory */

/* Between nodes shared memory goes in larger pieces: some of those too. */
static bool run_pieces(struct fc_comm *comm, enum fc_coll op)
{
    struct test t = {.comm = comm, .op = op, .dtype = FC_DTYPE_INT32};
    t.count = ((5u << 20) + 4444) / sizeof(int32_t);
    size_t room =
        t.count * sizeof(int32_t) * (op == FC_COLL_ALL_REDUCE ? 1 : (size_t)comm->size);
    char *a = malloc(room), *b = malloc(room);
    bool ok = a && b && run_case(&t, a, b);
    free(a);
    free(b);
    return ok;
}

static bool run_counts(struct test *t, char *a, char *b)
{
    static const size_t counts[] = {1, 7, 1031};
    bool ok = true;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        t->count = counts[k];
        t->root = (int)k % t->comm->size;
        ok = run_case(t, a, b) && ok;
    }
    if (t->redop == FC_REDOP_SUM) {
        t->count = LARGEST / fc_dtype_bytes(t->dtype);
        ok = run_case(t, a, b) && ok;
    }
    return ok;
}

/* MPI has all; shared memory has the all-reduce, and its halves inside one node. */
static bool belongs(enum fc_coll op, bool shared, bool one_node)
{
    bool half = op == FC_COLL_REDUCE_SCATTER || op == FC_COLL_ALL_GATHER;
    return !shared || op == FC_COLL_ALL_REDUCE || (half && one_node);
}

static void test_comm(struct fc_comm *comm, const char *name, bool shared,
                      bool one_node)
{
    size_t room = (size_t)LARGEST * (size_t)rte->size;
    char *a = malloc(room), *b = malloc(room), text[128];
    for (int op = 0; op < FC_COLL_COUNT; op++) {
        bool ok = a && b;
        struct test t = {.comm = comm, .op = (enum fc_coll)op};
        int redops = fc_coll_reduces(t.op) ? FC_REDOP_COUNT : 1;
        bool has = !comm || comm->ops->algorithm(comm, t.op);
        for (int k = 0; ok && comm && has && k < 10 * redops; k++) {
            t.dtype = dtypes[k / 2 % 5];
            t.redop = (enum fc_redop)(k / 10);
            t.in_place = k % 2;
            ok = run_counts(&t, a, b);
        }
        if (ok && comm && has && t.op == FC_COLL_ALL_REDUCE)
            ok = run_pieces(comm, t.op);
        bool should = belongs(t.op, shared, one_node);
        snprintf(text, sizeof text, "%s: %s%s", name, fc_coll_name(t.op),
                 should ? "" : " is not in it");
        check(ok && (!comm || has == should), text);
    }
    free(a);
    free(b);
}

/* Pairs use the world's communicator, two ranks at a time. */
static void test_pair(struct fc_comm *comm)
{
    float out[3] = {1, 2, 3}, in[3] = {0, 0, 0};
    struct fc_error err;
    struct fc_coll_args args = {.op = FC_COLL_SENDRECV,
                                .dtype = FC_DTYPE_FP32,
                                .to = -1,
                                .from = -1,
                                .send = out,
                                .recv = in,
                                .count = 3};
    int last = comm->size - 1;
    bool ok = true;
    if (last == 0) /* a message to itself would wait for nobody */
        return;
    if (comm->rank == 0) {
        args.to = last;
        ok = comm->ops->enqueue(comm, &args, &err) == FC_OK;
    } else if (comm->rank == last) {
        args.from = 0;
        ok = comm->ops->enqueue(comm, &args, &err) == FC_OK && in[2] == 3.0f;
    }
    check(ok, "one way between two ranks");
}

/* --- repetition --- */

/* Kilobytes of this process in memory; 0 where that cannot be read. */
static long resident_kib(void)
{
    char line[128];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static void repeat(struct fc_comm *comm, int times, char *a, char *b)
{
    for (int k = 0; comm && k < times * FC_COLL_COUNT; k++) {
        struct test t = {.comm = comm,
                         .op = (enum fc_coll)(k % FC_COLL_COUNT),
                         .dtype = dtypes[k % 5],
                         .in_place = k % 2,
                         .count = 2000};
        if (comm->ops->algorithm(comm, t.op))
            (void)run_case(&t, a, b);
    }
}

/* What a first round needed, later ones need no more of. */
static void test_memory(struct fc_comm *const *comm, size_t comms)
{
    size_t room = (size_t)LARGEST * (size_t)rte->size;
    char *a = calloc(1, room), *b = calloc(1, room);
    for (size_t i = 0; a && b && i < comms; i++)
        repeat(comm[i], 20, a, b);
    long before = resident_kib();
    for (size_t i = 0; a && b && i < comms; i++)
        repeat(comm[i], 200, a, b);
    check(a && b && before > 0 && resident_kib() - before < 2048,
          "memory does not grow with repetition");
    free(a);
    free(b);
}

/* --- counts beyond 2^31 --- */

#define LARGE (((size_t)1 << 31) + 64)

/* Elements on both sides of what an int counts and of the pieces; the others are zero.
 */
static const size_t probed[] = {0,          1,        (1u << 30) - 1, 1u << 30,
                                0x7fffffff, 1u << 31, LARGE - 1};
enum { PROBED = sizeof probed / sizeof *probed };

static bool probe_large(const struct test *t, const int8_t *data)
{
    bool ok = true;
    for (size_t k = 0; k < PROBED; k++)
        ok = ok &&
             is(data, FC_DTYPE_INT8, probed[k], expected(t, t->comm->rank, probed[k]));
    return ok;
}

static void test_large(struct fc_comm *comm, enum fc_coll op, const char *name)
{
    struct test t = {.comm = comm, .op = op, .dtype = FC_DTYPE_INT8, .count = LARGE};
    int me = comm->rank, n = comm->size, blocks = op == FC_COLL_ALL_GATHER ? n : 1;
    struct fc_error err;
    int8_t *data = calloc((size_t)blocks, LARGE);
    size_t own = op == FC_COLL_ALL_GATHER ? (size_t)me * LARGE : 0;
    for (size_t k = 0; data && k < PROBED; k++)
        data[own + probed[k]] = (int8_t)sent(op, t.redop, me, n, probed[k]);
    struct fc_coll_args args = {.op = op,
                                .dtype = t.dtype,
                                .to = (me + 1) % n,
                                .from = (me + n - 1) % n,
                                .send = data ? data + own : NULL,
                                .recv = data,
                                .count = LARGE};
    bool ok = data && comm->ops->enqueue(comm, &args, &err) == FC_OK;
    bool holds = op != FC_COLL_REDUCE || me == 0;
    for (int block = 0; ok && holds && block < blocks; block++) {
        struct test part = t;
        part.root = block;
        part.op = op == FC_COLL_ALL_GATHER ? FC_COLL_BROADCAST : op;
        ok = probe_large(&part, data + (size_t)block * LARGE);
    }
    free(data);
    check(ok, name);
}

int main(int argc, char **argv)
{
    struct fc_error err = {""};
    struct fc_comm *world = NULL, *node = NULL, *leaders = NULL, *shared = NULL,
                   *near = NULL;
    if (fc_rte_open(&rte, NULL, &err) != FC_OK ||
        fc_comm_mpi_open(0, &world, &err) != FC_OK ||
        fc_comm_mpi_open(rte->node, &node, &err) != FC_OK ||
        fc_comm_mpi_open(rte->local_rank ? -1 : 0, &leaders, &err) != FC_OK ||
        fc_comm_node_open(0, rte->node, &shared, &err) != FC_OK ||
        fc_comm_node_open(rte->node, rte->node, &near, &err) != FC_OK) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    struct fc_comm *all[] = {world, node, leaders, shared, near};
    if (argc > 1 && strcmp(argv[1], "large") == 0) {
        test_large(world, FC_COLL_ALL_REDUCE, "all_reduce of 2^31 + 64 elements");
        test_large(world, FC_COLL_ALL_GATHER,
                   "all_gather of 2^31 + 64 elements a rank");
        test_large(world, FC_COLL_BROADCAST, "broadcast of 2^31 + 64 elements");
        test_large(world, FC_COLL_REDUCE, "reduce of 2^31 + 64 elements");
        test_large(shared, FC_COLL_ALL_REDUCE, "the same through shared memory");
    } else {
        test_comm(world, "world", false, rte->nodes == 1);
        test_comm(node, "node", false, true);
        test_comm(leaders, "one rank a node", false, false);
        test_comm(shared, "world, shared memory", true, rte->nodes == 1);
        test_comm(near, "node, shared memory", true, true);
        test_pair(world);
        test_memory(all, sizeof all / sizeof *all);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            all[i]->ops->close(all[i]);
    tap_end(rte);
    fc_rte_close(rte);
    return 0;
}
