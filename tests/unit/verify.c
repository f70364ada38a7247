// SPDX-License-Identifier: BSD-3-Clause
/* What ranks send and must receive: an operation worked out here on the filled buffers
 * of all ranks passes, and one that lost, doubled, swapped or kept a contribution does
 * not. */
#include "collectives/verify.h"

#include "collectives/busbw.h"
#include "collectives/plan.h"
#include "collectives/reduce.h"
#include "collectives/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 3, COUNT = 40, SLICES = 2, ROOM = RANKS * COUNT * SLICES * 8 };

enum damage { NONE, LOST, DOUBLED, SWAPPED, STALE, ONE_BIT, DAMAGES };

static struct fc_device *device;
static struct fc_error err;
static char send[RANKS][ROOM], recv[RANKS][ROOM];

static int open_device(void **state)
{
    (void)state;
    return fc_device_host_open(0, 2, &device, &err) != FC_OK;
}

static int close_device(void **state)
{
    (void)state;
    device->ops->close(device);
    return 0;
}

static struct fc_verify make(enum fc_coll op, enum fc_dtype dtype, enum fc_redop redop,
                             int rank)
{
    return (struct fc_verify){.op = op,
                              .dtype = dtype,
                              .redop = redop,
                              .root = 1,
                              .rank = rank,
                              .size = RANKS,
                              .from = (rank + RANKS - 1) % RANKS,
                              .count = COUNT,
                              .slices = SLICES,
                              .seed = 77};
}

static void fill(const struct fc_verify *v)
{
    assert_int_equal(
        fc_verify_fill(v, device, NULL, send[v->rank], recv[v->rank], &err), FC_OK);
}

static uint64_t wrong(const struct fc_verify *v)
{
    struct fc_mismatch found;
    assert_int_equal(fc_verify_check(v, device, NULL, recv[v->rank], &found, &err),
                     FC_OK);
    return found.wrong;
}

/* recv[0] = what the ranks' first `count` elements reduce to, with a fault. */
static void all_reduce(const struct fc_verify *v, enum damage damage)
{
    size_t n = COUNT * SLICES, width = fc_dtype_bytes(v->dtype);
    memcpy(recv[0], send[0], n * width);
    for (int r = 1; r < RANKS; r++) {
        int times = r == 2 ? (damage == LOST ? 0 : damage == DOUBLED ? 2 : 1) : 1;
        for (int k = 0; k < times; k++)
            fc_reduce(v->dtype, v->redop, recv[0], recv[0], send[r], n);
    }
    if (v->redop == FC_REDOP_AVG)
        fc_reduce_divide(v->dtype, recv[0], n, RANKS);
    if (damage == SWAPPED) /* the slices stand in each other's place */
        memcpy(recv[0], recv[0] + COUNT * width, COUNT * width);
    if (damage == ONE_BIT)
        recv[0][5 * width] = (char)(recv[0][5 * width] ^ 1);
}

static void reductions(void **state)
{
    static const enum fc_dtype dtypes[] = {FC_DTYPE_FP32, FC_DTYPE_FP64, FC_DTYPE_INT32,
                                           FC_DTYPE_INT8, FC_DTYPE_BF16};
    (void)state;
    for (int k = 0; k < 5 * FC_REDOP_COUNT * DAMAGES; k++) {
        enum damage damage = (enum damage)(k % DAMAGES);
        enum fc_redop redop = (enum fc_redop)(k / DAMAGES % FC_REDOP_COUNT);
        enum fc_dtype dtype = dtypes[k / DAMAGES / FC_REDOP_COUNT];
        bool idempotent = redop == FC_REDOP_MIN || redop == FC_REDOP_MAX;
        for (int r = RANKS - 1; r >= 0; r--) {
            struct fc_verify v = make(FC_COLL_ALL_REDUCE, dtype, redop, r);
            fill(&v);
        }
        struct fc_verify v = make(FC_COLL_ALL_REDUCE, dtype, redop, 0);
        if (damage != STALE) /* else recv is what the fill left */
            all_reduce(&v, damage);
        bool right = damage == NONE || (damage == DOUBLED && idempotent);
        if ((wrong(&v) == 0) != right)
            fail_msg("%s %s, damage %d: %s", fc_dtype_name(dtype), fc_redop_name(redop),
                     damage, right ? "called wrong" : "not noticed");
    }
}

/* Blocks of fp32; the damage is another block in the place of the right one. */
static void move(const struct fc_verify *v, bool swapped)
{
    size_t block = COUNT * sizeof(float);
    size_t stride = fc_verify_stride(v) * sizeof(float);
    int me = v->rank;
    for (size_t s = 0; s < SLICES; s++)
        for (int b = 0; b < RANKS; b++) {
            int from = swapped ? (b + 1) % RANKS : b;
            char *to = recv[me] + s * stride;
            if (v->op == FC_COLL_ALL_GATHER || v->op == FC_COLL_GATHER)
                memcpy(to + (size_t)b * block, send[from] + s * stride, block);
            else if (v->op == FC_COLL_ALLTOALL)
                memcpy(to + (size_t)b * block,
                       send[from] + s * stride + (size_t)me * block, block);
            else if (v->op == FC_COLL_SCATTER)
                memcpy(to,
                       send[v->root] + s * stride +
                           (size_t)((me + swapped) % RANKS) * block,
                       block);
            else if (v->op == FC_COLL_BROADCAST)
                memcpy(to, send[(v->root + swapped) % RANKS] + s * stride, block);
            else
                memcpy(to, send[(v->from + swapped) % RANKS] + s * stride, block);
        }
}

static void moves(void **state)
{
    static const enum fc_coll ops[] = {FC_COLL_ALL_GATHER, FC_COLL_GATHER,
                                       FC_COLL_ALLTOALL,   FC_COLL_SCATTER,
                                       FC_COLL_BROADCAST,  FC_COLL_SENDRECV};
    (void)state;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (int damage = 0; damage < 3; damage++) {
            for (int r = 0; r < RANKS; r++) {
                struct fc_verify v = make(ops[k], FC_DTYPE_FP32, FC_REDOP_SUM, r);
                memset(send[r], 0, ROOM);
                fill(&v);
            }
            for (int r = 0; r < RANKS; r++) {
                struct fc_verify v = make(ops[k], FC_DTYPE_FP32, FC_REDOP_SUM, r);
                if (damage < 2) /* else nothing has come */
                    move(&v, damage == 1);
                bool idle = ops[k] == FC_COLL_GATHER && r != v.root;
                if ((wrong(&v) == 0) != (damage == 0 || idle))
                    fail_msg("%s, rank %d, damage %d", fc_coll_name(ops[k]), r, damage);
            }
        }
}

static void the_first_wrong_element_is_named(void **state)
{
    (void)state;
    struct fc_mismatch found;
    for (int r = 0; r < RANKS; r++) {
        struct fc_verify v = make(FC_COLL_ALL_GATHER, FC_DTYPE_FP32, FC_REDOP_SUM, r);
        fill(&v);
    }
    struct fc_verify v = make(FC_COLL_ALL_GATHER, FC_DTYPE_FP32, FC_REDOP_SUM, 0);
    move(&v, false);
    float *x = (float *)(void *)recv[0];
    size_t stride = fc_verify_stride(&v);
    x[COUNT + 3] += 1.0f;
    x[stride + 1] += 1.0f;
    assert_int_equal(fc_verify_check(&v, device, NULL, x, &found, &err), FC_OK);
    assert_int_equal(found.wrong, 2);
    assert_int_equal(found.first, COUNT + 3);
    assert_true(found.found == found.expected + 1);
}

/* An average of int8 over many ranks has no exact sum; anything else is possible. */
static void what_cannot_be_exact_is_refused(void **state)
{
    (void)state;
    struct fc_verify v = make(FC_COLL_ALL_REDUCE, FC_DTYPE_INT8, FC_REDOP_AVG, 0);
    v.size = 25;
    assert_int_equal(fc_verify_possible(&v, &err), FC_OK);
    v.size = 26;
    assert_int_equal(fc_verify_possible(&v, &err), FC_UNSUPPORTED);
    v.dtype = FC_DTYPE_BF16;
    assert_int_equal(fc_verify_possible(&v, &err), FC_OK);
    v.size = 53; /* 53 * 5 has nine bits */
    assert_int_equal(fc_verify_possible(&v, &err), FC_UNSUPPORTED);
    v.redop = FC_REDOP_SUM;
    assert_int_equal(fc_verify_possible(&v, &err), FC_OK);
}

/* Whatever is called possible is called right when it is right. */
static void averages_of_any_number_of_ranks(void **state)
{
    enum { MOST = 300, ELEMENTS = 32 };
    static uint16_t sum[ELEMENTS], next[ELEMENTS], unused[ELEMENTS];
    int possible = 0;
    (void)state;
    for (int n = 2; n <= MOST; n++) {
        struct fc_verify v = make(FC_COLL_ALL_REDUCE, FC_DTYPE_BF16, FC_REDOP_AVG, 0);
        v.size = n;
        v.count = ELEMENTS;
        v.slices = 1;
        if (fc_verify_possible(&v, &err) != FC_OK)
            continue;
        possible++;
        memset(sum, 0, sizeof sum);
        for (v.rank = 0; v.rank < n; v.rank++) {
            assert_int_equal(fc_verify_fill(&v, device, NULL, next, unused, &err),
                             FC_OK);
            fc_reduce(v.dtype, v.redop, sum, sum, next, ELEMENTS);
        }
        fc_reduce_divide(v.dtype, sum, ELEMENTS, n);
        struct fc_mismatch found;
        v.rank = 0;
        assert_int_equal(fc_verify_check(&v, device, NULL, sum, &found, &err), FC_OK);
        if (found.wrong)
            fail_msg("bf16 avg over %d ranks is called wrong", n);
    }
    assert_true(possible > MOST / 4);
}

/* Many ranks in bfloat16, where not every rank's z fits: still exact, still noticed. */
static void many_ranks_in_bfloat16(void **state)
{
    enum { MANY = 100 };
    static uint16_t sum[MANY], next[MANY];
    (void)state;
    for (int skip = -1; skip < MANY; skip += MANY / 4) {
        struct fc_verify v = make(FC_COLL_ALL_REDUCE, FC_DTYPE_BF16, FC_REDOP_SUM, 0);
        v.size = MANY;
        v.count = MANY;
        v.slices = 1;
        memset(sum, 0, sizeof sum);
        for (v.rank = 0; v.rank < MANY; v.rank++) {
            static uint16_t unused[MANY];
            assert_int_equal(fc_verify_fill(&v, device, NULL, next, unused, &err),
                             FC_OK);
            if (v.rank != skip)
                fc_reduce(v.dtype, v.redop, sum, sum, next, MANY);
        }
        struct fc_mismatch found;
        v.rank = 0;
        assert_int_equal(fc_verify_check(&v, device, NULL, sum, &found, &err), FC_OK);
        assert_true((found.wrong == 0) == (skip < 0));
    }
}

/* Factors by hand, from what nccl-tests documents. */
static void bus_bandwidth(void **state)
{
    static const struct {
        enum fc_coll op;
        double two, three;
    } want[] = {{FC_COLL_ALL_REDUCE, 1.0, 4.0 / 3},
                {FC_COLL_ALL_GATHER, 0.5, 2.0 / 3},
                {FC_COLL_REDUCE_SCATTER, 0.5, 2.0 / 3},
                {FC_COLL_ALLTOALL, 0.5, 2.0 / 3},
                {FC_COLL_GATHER, 0.5, 2.0 / 3},
                {FC_COLL_SCATTER, 0.5, 2.0 / 3},
                {FC_COLL_BROADCAST, 1.0, 1.0},
                {FC_COLL_REDUCE, 1.0, 1.0},
                {FC_COLL_SENDRECV, 1.0, 1.0}};
    (void)state;
    assert_true(fabs(fc_algbw_GBps(3000000000, 1.5) - 2.0) < 1e-12);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_true(fabs(fc_busbw_GBps(want[i].op, 1000000000, 1.0, 2) - want[i].two) <
                    1e-12);
        assert_true(fabs(fc_busbw_GBps(want[i].op, 1000000000, 1.0, 3) -
                         want[i].three) < 1e-12);
    }
}

static void sizes_of_messages(void **state)
{
    struct fc_point p = {.op = FC_COLL_ALL_GATHER, .dtype = FC_DTYPE_FP64};
    (void)state;
    p.count = fc_point_count(p.op, p.dtype, 100, 3); /* 96 bytes, 4 elements a rank */
    assert_int_equal(p.count, 4);
    assert_int_equal(fc_point_bytes(&p, 3), 96);
    assert_int_equal(fc_point_count(p.op, p.dtype, 8, 3), 1);
    assert_int_equal(fc_point_count(FC_COLL_BROADCAST, FC_DTYPE_INT8, 7, 3), 7);
}

static void plans(void **state)
{
    struct fc_coll_series series[FC_COLL_SERIES_MAX];
    struct fc_settings s = {.level = FC_LEVEL_FULL};
    (void)state;
    size_t n = fc_coll_plan(&s, false, series);
    assert_true(n >= FC_COLL_COUNT && n <= FC_COLL_SERIES_MAX);
    s = (struct fc_settings){
        .level = FC_LEVEL_QUICK, .min_bytes = 8, .max_bytes = 100, .factor = 3};
    assert_int_equal(fc_coll_plan(&s, true, series), 1);
    uint64_t bytes = series[0].min_bytes, last = 0;
    unsigned sizes = 0;
    for (; bytes; bytes = fc_coll_next_size(&series[0], bytes), sizes++) {
        assert_true(bytes > last && bytes % 4 == 0);
        last = bytes;
    }
    assert_int_equal(last, 100);
    assert_int_equal(sizes, fc_coll_count_sizes(&series[0]));
    s.max_bytes = 0;
    s.min_bytes = (uint64_t)1 << 30; /* above the level's own maximum */
    (void)fc_coll_plan(&s, true, series);
    assert_true(series[0].max_bytes >= series[0].min_bytes);
}

static void names(void **state)
{
    (void)state;
    for (int op = 0; op < FC_COLL_COUNT; op++)
        assert_int_equal(fc_coll_find(fc_coll_name((enum fc_coll)op)), op);
    for (int redop = 0; redop < FC_REDOP_COUNT; redop++)
        assert_int_equal(fc_redop_find(fc_redop_name((enum fc_redop)redop)), redop);
    assert_int_equal(fc_coll_find("allreduce"), FC_COLL_COUNT);
    assert_int_equal(fc_redop_find(""), FC_REDOP_COUNT);
    assert_int_equal(fc_dtype_find("bfloat16"), FC_DTYPE_BF16);
    assert_int_equal(fc_dtype_find("fp32"), FC_DTYPE_FP32);
    assert_int_equal(fc_dtype_find("complex"), FC_DTYPE_COUNT);
}

/* Round to nearest, ties to even; NaN and infinity stay what they are. */
static void bfloat16(void **state)
{
    (void)state;
    assert_int_equal(fc_bf16_from(1.0), 0x3f80);
    assert_int_equal(fc_bf16_from(1.0 + 1.0 / 256), 0x3f80); /* a tie, even below */
    assert_int_equal(fc_bf16_from(1.0 + 3.0 / 256), 0x3f82); /* a tie, even above */
    assert_int_equal(fc_bf16_from(-2.0), 0xc000);
    assert_int_equal(fc_bf16_from(1e39), 0x7f80);
    assert_true(isnan(fc_bf16_value(fc_bf16_from((double)NAN))));
    assert_true(fc_bf16_value(0x4049) == 3.140625);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),
        cmocka_unit_test(moves),
        cmocka_unit_test(the_first_wrong_element_is_named),
        cmocka_unit_test(what_cannot_be_exact_is_refused),
        cmocka_unit_test(averages_of_any_number_of_ranks),
        cmocka_unit_test(many_ranks_in_bfloat16),
        cmocka_unit_test(bus_bandwidth),
        cmocka_unit_test(sizes_of_messages),
        cmocka_unit_test(plans),
        cmocka_unit_test(names),
        cmocka_unit_test(bfloat16),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
