// SPDX-License-Identifier: BSD-3-Clause
/* Three ways to all-reduce fp32 sums, in turn within one run: a plain loop of
 * MPI_Allreduce, our communicator over MPI, our node-aware one. For each size one line
 * "bytes plain_s mpi_s node_s", medians of the slowest rank's times.
 * usage: mpirun … all_reduce [ROUNDS [BYTES…]] */
#include "collectives/comm.h"
#include "core/clock.h"
#include "core/stats.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAIN, OURS_MPI, OURS_NODE, WAYS, ROUNDS_MAX = 1001 };

static struct fc_comm *comm[WAYS];

static void once(int way, const float *send, float *recv, size_t count)
{
    struct fc_error err;
    struct fc_coll_args args = {.op = FC_COLL_ALL_REDUCE,
                                .dtype = FC_DTYPE_FP32,
                                .redop = FC_REDOP_SUM,
                                .send = send,
                                .recv = recv,
                                .count = count};
    if (way == PLAIN)
        MPI_Allreduce(send, recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (comm[way]->ops->enqueue(comm[way], &args, &err) != FC_OK) {
        fprintf(stderr, "all_reduce: %s\n", err.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Seconds of one operation, the slowest rank's; small ones are repeated. */
static double sample(int way, const float *send, float *recv, size_t count, int repeat)
{
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t begin = fc_now_ns();
    for (int i = 0; i < repeat; i++)
        once(way, send, recv, count);
    double s = (double)(fc_now_ns() - begin) / 1e9 / repeat, slowest = 0;
    MPI_Allreduce(&s, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void compare(size_t bytes, int rounds, int rank)
{
    static double s[WAYS][ROUNDS_MAX];
    size_t count = bytes / sizeof(float);
    int repeat = bytes < 65536 ? 100 : bytes < 1 << 20 ? 10 : 1;
    float *send = calloc(count, sizeof *send), *recv = calloc(count, sizeof *recv);
    if (!send || !recv)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int way = 0; way < WAYS; way++)
        sample(way, send, recv, count, 1);
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < WAYS; k++) {
            int way = (i + k) % WAYS;
            s[way][i] = sample(way, send, recv, count, repeat);
        }
    if (rank == 0)
        printf("%zu %.9f %.9f %.9f\n", bytes,
               fc_median_in_place(s[PLAIN], (size_t)rounds),
               fc_median_in_place(s[OURS_MPI], (size_t)rounds),
               fc_median_in_place(s[OURS_NODE], (size_t)rounds));
    free(send);
    free(recv);
}

int main(int argc, char **argv)
{
    int rank = 0, rounds = argc > 1 ? atoi(argv[1]) : 15;
    struct fc_error err = {""};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    if (fc_comm_mpi_open(0, &comm[OURS_MPI], &err) != FC_OK ||
        fc_comm_node_open(0, 0, &comm[OURS_NODE], &err) != FC_OK) {
        fprintf(stderr, "all_reduce: %s\n", err.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 2; i < argc; i++)
        compare(strtoul(argv[i], NULL, 10), rounds, rank);
    for (int way = OURS_MPI; way < WAYS; way++)
        comm[way]->ops->close(comm[way]);
    MPI_Finalize();
    return 0;
}
