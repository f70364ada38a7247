// SPDX-License-Identifier: BSD-3-Clause
/* mpiGraph's method, for comparison: for each distance D of 1..N-1 every rank sends to
 * the rank D above it and receives from the rank D below it, `window` messages at a
 * time, `times` times, all ranks in step. Prints the seconds of all distances first,
 * and the mean rate of a send.
 *     mpigraph [bytes times window], by default 1048576 10 10 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_MAX = 64 };

struct setting {
    int rank, size, bytes, times, window;
    char *send, *recv;
};

/* All messages of one distance; the seconds that this rank's took. */
static double shift(const struct setting *s, int distance)
{
    int to = (s->rank + distance) % s->size;
    int from = (s->rank - distance + s->size) % s->size;
    MPI_Request request[2 * WINDOW_MAX];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int t = 0; t < s->times; t++) {
        for (int w = 0; w < s->window; w++) {
            char *recv = s->recv + (size_t)w * (size_t)s->bytes;
            char *send = s->send + (size_t)w * (size_t)s->bytes;
            MPI_Irecv(recv, s->bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request[w]);
            MPI_Isend(send, s->bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD,
                      &request[s->window + w]);
        }
        MPI_Waitall(2 * s->window, request, MPI_STATUSES_IGNORE);
    }
    double seconds = MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
}

int main(int argc, char **argv)
{
    struct setting s = {.bytes = 1 << 20, .times = 10, .window = 10};
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    if (argc == 4) {
        s.bytes = atoi(argv[1]);
        s.times = atoi(argv[2]);
        s.window = atoi(argv[3]);
    }
    if (s.bytes < 1 || s.times < 1 || s.window < 1 || s.window > WINDOW_MAX)
        MPI_Abort(MPI_COMM_WORLD, 2);
    size_t room = (size_t)s.window * (size_t)s.bytes;
    s.send = malloc(room);
    s.recv = malloc(room);
    if (!s.send || !s.recv)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(s.send, 1, room);
    memset(s.recv, 0, room);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), sum = 0;
    for (int distance = 1; distance < s.size; distance++)
        sum += shift(&s, distance);
    double seconds = MPI_Wtime() - start;
    if (s.rank == 0)
        printf("%.3f s, %d ranks, %d bytes, %.3g GB/s a send\n", seconds, s.size,
               s.bytes, (double)(s.size - 1) * s.times * (double)room / sum / 1e9);
    free(s.send);
    free(s.recv);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
