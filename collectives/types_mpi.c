// SPDX-License-Identifier: BSD-3-Clause
/* MPI's types and operations for ours, and the split and all-reduce that both
 * communicators build on. */
#include "collectives/parts_mpi.h"
#include "collectives/reduce.h"

/* MPI counts are ints: longer messages go in pieces of this many elements. */
enum { PIECE = 1 << 30 };

enum fc_status fc_mpi_status(int code, const char *call, struct fc_error *err)
{
    if (code == MPI_SUCCESS)
        return FC_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return fc_fail(err, FC_FAILED, "%s: %.*s", call, length, text);
}

/* MPI's signature of an operation: inout = in redop inout. */
#define BF16_OP(name, redop)                                                           \
    static void name(void *in, void *inout, int *count, MPI_Datatype *type)            \
    {                                                                                  \
        (void)type;                                                                    \
        fc_reduce(FC_DTYPE_BF16, redop, inout, in, inout, (size_t)*count);             \
    }
BF16_OP(bf16_sum, FC_REDOP_SUM)
BF16_OP(bf16_prod, FC_REDOP_PROD)
BF16_OP(bf16_min, FC_REDOP_MIN)
BF16_OP(bf16_max, FC_REDOP_MAX)

enum fc_status fc_mpi_types_open(struct fc_mpi_types *types, struct fc_error *err)
{
    static MPI_User_function *const functions[FC_REDOP_COUNT] = {
        bf16_sum, bf16_prod, bf16_min, bf16_max, bf16_sum};
    const MPI_Op ops[FC_REDOP_COUNT] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_SUM};
    for (int i = 0; i < FC_DTYPE_COUNT; i++)
        types->type[i] = MPI_DATATYPE_NULL;
    for (int i = 0; i < FC_REDOP_COUNT; i++) {
        types->op[i] = ops[i];
        types->bf16_op[i] = MPI_OP_NULL;
    }
    types->type[FC_DTYPE_FP32] = MPI_FLOAT;
    types->type[FC_DTYPE_FP64] = MPI_DOUBLE;
    types->type[FC_DTYPE_INT32] = MPI_INT32_T;
    types->type[FC_DTYPE_INT8] = MPI_INT8_T;
    MPI_Datatype *bf16 = &types->type[FC_DTYPE_BF16];
    enum fc_status status =
        fc_mpi_status(MPI_Type_contiguous(sizeof(uint16_t), MPI_BYTE, bf16),
                      "MPI_Type_contiguous", err);
    if (status == FC_OK)
        status = fc_mpi_status(MPI_Type_commit(bf16), "MPI_Type_commit", err);
    for (int i = 0; i < FC_REDOP_COUNT && status == FC_OK; i++)
        status = fc_mpi_status(MPI_Op_create(functions[i], 1, &types->bf16_op[i]),
                               "MPI_Op_create", err);
    return status;
}

void fc_mpi_types_close(struct fc_mpi_types *types)
{
    for (int i = 0; i < FC_REDOP_COUNT; i++)
        if (types->bf16_op[i] != MPI_OP_NULL)
            MPI_Op_free(&types->bf16_op[i]);
    if (types->type[FC_DTYPE_BF16] != MPI_DATATYPE_NULL)
        MPI_Type_free(&types->type[FC_DTYPE_BF16]);
}

enum fc_status fc_mpi_split(int color, MPI_Comm *out, struct fc_error *err)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    enum fc_status status = fc_mpi_status(
        MPI_Comm_split(MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color, rank, out),
        "MPI_Comm_split", err);
    if (status == FC_OK && *out != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
    return status;
}

enum fc_status fc_mpi_all_reduce(const struct fc_mpi_types *types, MPI_Comm comm,
                                 enum fc_dtype dtype, enum fc_redop redop,
                                 const void *send, void *recv, size_t count,
                                 struct fc_error *err)
{
    MPI_Datatype type = types->type[dtype];
    MPI_Op op = fc_mpi_op(types, dtype, redop);
    size_t width = fc_dtype_bytes(dtype), at = 0;
    for (;;) {
        int n = count - at < PIECE ? (int)(count - at) : PIECE;
        const void *from =
            send == recv ? MPI_IN_PLACE : (const char *)send + at * width;
        int code = MPI_Allreduce(from, (char *)recv + at * width, n, type, op, comm);
        if (code != MPI_SUCCESS)
            return fc_mpi_status(code, "MPI_Allreduce", err);
        at += (size_t)n;
        if (at >= count)
            return FC_OK;
    }
}
