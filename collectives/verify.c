// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/verify.h"

#include "core/rng.h"

/* The largest z, and the range of k, of a TERMS pattern. */
enum { Z_MAX = 4, K_MIN = 2, K_MAX = 5 };

static size_t larger_blocks(const struct fc_verify *v)
{
    struct fc_coll_shape shape = fc_coll_shape(v->op, v->size);
    return shape.send_blocks > shape.recv_blocks ? shape.send_blocks
                                                 : shape.recv_blocks;
}

size_t fc_verify_stride(const struct fc_verify *v)
{
    return larger_blocks(v) * v->count;
}

/* Whole numbers up to this are exact, or wrap around in the same way on every path. */
static double exact_up_to(enum fc_dtype dtype, enum fc_redop redop)
{
    switch (dtype) {
    case FC_DTYPE_BF16:
        return 256;
    case FC_DTYPE_INT8:
        return redop == FC_REDOP_AVG ? 127 : 1e9; /* a sum that wraps has no average */
    case FC_DTYPE_FP64:
    case FC_DTYPE_INT32:
        return 1e9;
    default:
        return 1 << 24;
    }
}

/* Every rank's z in every element, or, where that would not be exact, marks alone. */
static int base_scale(const struct fc_verify *v)
{
    double n = v->size, most = n * Z_MAX + (v->redop == FC_REDOP_AVG ? n : 1) * K_MAX;
    if (v->redop == FC_REDOP_PROD)
        return 0;
    if (v->redop == FC_REDOP_MIN || v->redop == FC_REDOP_MAX)
        return 1;
    return most <= exact_up_to(v->dtype, v->redop);
}

/* An average is n times the mark, over n: exact where that product is, which it is not
 * of many ranks in types of few bits. */
enum fc_status fc_verify_possible(const struct fc_verify *v, struct fc_error *err)
{
    bool exact = true;
    if (!fc_coll_reduces(v->op) || v->redop != FC_REDOP_AVG || base_scale(v))
        return FC_OK;
    for (int k = K_MIN; k <= K_MAX; k++) {
        double sum = (double)v->size * k;
        if (v->dtype == FC_DTYPE_INT8)
            exact = exact && sum <= 127;
        if (v->dtype == FC_DTYPE_BF16)
            exact = exact && fc_bf16_value(fc_bf16_from(sum)) == sum;
    }
    return exact ? FC_OK
                 : fc_fail(err, FC_UNSUPPORTED, "%s avg over %d ranks is not exact",
                           fc_dtype_name(v->dtype), v->size);
}

/* What `rank` contributes to a reduction. */
static struct fc_pattern contribution(const struct fc_verify *v, int rank)
{
    uint32_t n = (uint32_t)v->size;
    struct fc_pattern p = {.kind = FC_PATTERN_TERMS,
                           .seed = v->seed,
                           .scale = base_scale(v),
                           .spike = 1,
                           .period = n,
                           .turn = (uint32_t)((v->seed + (uint64_t)rank) % n)};
    if (v->redop == FC_REDOP_AVG)
        p.spike = v->size;
    if (v->redop == FC_REDOP_MIN)
        p.spike = -1;
    if (v->redop == FC_REDOP_PROD)
        p.rest = 1;
    return p;
}

static struct fc_pattern reduced(const struct fc_verify *v)
{
    struct fc_pattern p = contribution(v, 0);
    p.period = 0;
    if (v->redop == FC_REDOP_SUM)
        p.scale *= v->size;
    if (v->redop == FC_REDOP_AVG)
        p.spike = 1;
    return p;
}

/* What `rank` sends where nothing is reduced: 36 values, none of which is cleared(). */
static struct fc_pattern message(const struct fc_verify *v, int rank)
{
    return (struct fc_pattern){.kind = FC_PATTERN_TERMS,
                               .seed = fc_rng_at(v->seed, (uint64_t)rank),
                               .scale = 9,
                               .spike = 1};
}

static struct fc_pattern cleared(void)
{
    return (struct fc_pattern){.kind = FC_PATTERN_CONSTANT, .seed = 1000003};
}

static bool sends(const struct fc_verify *v)
{
    bool root_only = v->op == FC_COLL_BROADCAST || v->op == FC_COLL_SCATTER;
    return !root_only || v->rank == v->root;
}

static bool receives(const struct fc_verify *v)
{
    bool root_only = v->op == FC_COLL_REDUCE || v->op == FC_COLL_GATHER;
    return !root_only || v->rank == v->root;
}

static bool sends_small_block(const struct fc_verify *v)
{
    return fc_coll_shape(v->op, v->size).send_blocks < larger_blocks(v);
}

/* Where in a slice rank `rank`'s own small block lies when the operation is in place.
 */
static size_t own_block(const struct fc_verify *v, int rank)
{
    return v->in_place ? (size_t)rank * v->count : 0;
}

enum fc_status fc_verify_fill(const struct fc_verify *v, struct fc_device *device,
                              struct fc_stream *stream, void *send, void *recv,
                              struct fc_error *err)
{
    const struct fc_device_ops *ops = device->ops;
    size_t stride = fc_verify_stride(v), all = v->slices * stride;
    size_t width = fc_dtype_bytes(v->dtype);
    struct fc_pattern p =
        fc_coll_reduces(v->op) ? contribution(v, v->rank) : message(v, v->rank);
    bool small = sends_small_block(v);
    enum fc_status status = FC_OK;
    if (!v->in_place && sends(v))
        status = ops->fill(device, stream, send, all, v->dtype, p, err);
    if (status != FC_OK)
        return status;
    if (!v->in_place || small || !sends(v))
        status = ops->fill(device, stream, recv, all, v->dtype, cleared(), err);
    else
        status = ops->fill(device, stream, recv, all, v->dtype, p, err);
    for (size_t s = 0; v->in_place && small && s < v->slices && status == FC_OK; s++) {
        p.base = s * stride + own_block(v, v->rank);
        status = ops->fill(device, stream, (char *)recv + p.base * width, v->count,
                           v->dtype, p, err);
    }
    return status;
}

/* One run of elements of a slice that follow one pattern. */
struct part {
    size_t at, count; /* in the slice, elements */
    struct fc_pattern pattern;
};

static size_t count_parts(const struct fc_verify *v)
{
    bool blocks = v->op == FC_COLL_ALL_GATHER || v->op == FC_COLL_GATHER ||
                  v->op == FC_COLL_ALLTOALL;
    return blocks ? (size_t)v->size : 1;
}

/* Part `b` of slice `s` of what this rank must hold. */
static struct part expected(const struct fc_verify *v, size_t s, size_t b)
{
    size_t stride = fc_verify_stride(v), slice = s * stride;
    size_t mine = (size_t)v->rank * v->count;
    struct part part = {.at = b * v->count, .count = v->count};
    switch (v->op) {
    case FC_COLL_ALL_REDUCE:
    case FC_COLL_REDUCE:
        part.pattern = reduced(v);
        part.pattern.base = slice;
        break;
    case FC_COLL_REDUCE_SCATTER:
        part.at = own_block(v, v->rank);
        part.pattern = reduced(v);
        part.pattern.base = slice + mine;
        break;
    case FC_COLL_SCATTER:
        part.at = own_block(v, v->rank);
        part.pattern = message(v, v->root);
        part.pattern.base = slice + mine;
        break;
    case FC_COLL_ALL_GATHER:
    case FC_COLL_GATHER:
        part.pattern = message(v, (int)b);
        part.pattern.base = slice + own_block(v, (int)b);
        break;
    case FC_COLL_ALLTOALL:
        part.pattern = message(v, (int)b);
        part.pattern.base = slice + mine;
        break;
    case FC_COLL_BROADCAST:
        part.pattern = message(v, v->root);
        part.pattern.base = slice;
        break;
    case FC_COLL_SENDRECV:
    case FC_COLL_COUNT:
        part.pattern = message(v, v->from);
        part.pattern.base = slice;
        break;
    }
    return part;
}

enum fc_status fc_verify_check(const struct fc_verify *v, struct fc_device *device,
                               struct fc_stream *stream, const void *recv,
                               struct fc_mismatch *out, struct fc_error *err)
{
    size_t stride = fc_verify_stride(v), width = fc_dtype_bytes(v->dtype);
    *out = (struct fc_mismatch){.wrong = 0};
    for (size_t s = 0; receives(v) && s < v->slices; s++)
        for (size_t b = 0; b < count_parts(v); b++) {
            struct part part = expected(v, s, b);
            struct fc_mismatch found;
            const char *at = (const char *)recv + (s * stride + part.at) * width;
            enum fc_status status = device->ops->compare(
                device, stream, at, part.count, v->dtype, part.pattern, &found, err);
            if (status != FC_OK)
                return status;
            if (!found.wrong)
                continue;
            uint64_t wrong = out->wrong + found.wrong;
            if (!out->wrong) {
                *out = found;
                out->first += b * v->count;
            }
            out->wrong = wrong;
        }
    return FC_OK;
}
