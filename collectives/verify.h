// SPDX-License-Identifier: BSD-3-Clause
/* What ranks send in an operation, and what they must receive: patterns that are a
 * function of seed, rank and index, so that every element of every result can be
 * checked exactly, on the rank that received it, without anybody else's data.
 *
 * Reductions: small whole numbers whose partial sums are exact in every type, and in
 * each element the mark of one rank (device.h, TERMS). Of bfloat16 with more than 60
 * ranks only that mark. The buffers hold `slices` messages one behind the other. Shapes
 * as in comm.h. Collective: no. Refuses to know: communicators, time.
 */
#ifndef FC_COLLECTIVES_VERIFY_H
#define FC_COLLECTIVES_VERIFY_H

#include "collectives/comm.h"
#include "device/device.h"

struct fc_verify {
    enum fc_coll op;
    enum fc_dtype dtype;
    enum fc_redop redop;
    int root, rank, size;
    int from; /* sendrecv: the rank that sends to this one */
    bool in_place;
    size_t count, slices;
    uint64_t seed; /* the same on all ranks, another for each sample */
};

/* Elements from one slice to the next. */
size_t fc_verify_stride(const struct fc_verify *v);

/* FC_UNSUPPORTED where results cannot be exact: int8 and bf16 averages of many ranks.
 */
enum fc_status fc_verify_possible(const struct fc_verify *v,
                                  struct fc_error *err) FC_MUST_USE;

/* Writes what this rank sends, and what cannot be a right result where it receives. In
 * place everything is in `recv`. */
enum fc_status fc_verify_fill(const struct fc_verify *v, struct fc_device *device,
                              struct fc_stream *stream, void *send, void *recv,
                              struct fc_error *err) FC_MUST_USE;

/* Checks what this rank received; out->wrong counts all slices, out->first is the index
 * within its slice's part of `recv` that the rank receives. A rank that receives
 * nothing has nothing wrong. */
enum fc_status fc_verify_check(const struct fc_verify *v, struct fc_device *device,
                               struct fc_stream *stream, const void *recv,
                               struct fc_mismatch *out,
                               struct fc_error *err) FC_MUST_USE;

#endif
