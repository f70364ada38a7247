// SPDX-License-Identifier: BSD-3-Clause
/* MPI's own start, for comparison: MPI_Init on all ranks, then one line by rank 0. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank = 0;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("started");
        fflush(stdout);
    }
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
