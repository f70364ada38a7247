// SPDX-License-Identifier: BSD-3-Clause
/* What the communicators that use MPI share. Only *_mpi.c files may include it.
 * Collective: no, unless said. */
#ifndef FC_COLLECTIVES_PARTS_MPI_H
#define FC_COLLECTIVES_PARTS_MPI_H

#include "collectives/comm.h"

#include <mpi.h>

/* FC_OK, or FC_FAILED with what MPI says of `call`. */
enum fc_status fc_mpi_status(int code, const char *call,
                             struct fc_error *err) FC_MUST_USE;

/* MPI's names for our element types and reductions, by our numbers; bfloat16, which MPI
 * lacks, is a derived type with operations of its own. One for each communicator. */
struct fc_mpi_types {
    MPI_Datatype type[FC_DTYPE_COUNT]; /* MPI_DATATYPE_NULL: not supported */
    MPI_Op op[FC_REDOP_COUNT];         /* AVG is a sum */
    MPI_Op bf16_op[FC_REDOP_COUNT];
};
enum fc_status fc_mpi_types_open(struct fc_mpi_types *types,
                                 struct fc_error *err) FC_MUST_USE;
void fc_mpi_types_close(struct fc_mpi_types *types);
static inline MPI_Op fc_mpi_op(const struct fc_mpi_types *types, enum fc_dtype dtype,
                               enum fc_redop redop)
{
    return dtype == FC_DTYPE_BF16 ? types->bf16_op[redop] : types->op[redop];
}

/* The ranks with this `color`, in world order; MPI_COMM_NULL where color < 0.
 * Collective: yes, over all ranks. */
enum fc_status fc_mpi_split(int color, MPI_Comm *out, struct fc_error *err) FC_MUST_USE;

/* All-reduce in place of any count, AVG as a sum. Collective: over `comm`. */
enum fc_status fc_mpi_all_reduce(const struct fc_mpi_types *types, MPI_Comm comm,
                                 enum fc_dtype dtype, enum fc_redop redop,
                                 const void *send, void *recv, size_t count,
                                 struct fc_error *err) FC_MUST_USE;

#endif
