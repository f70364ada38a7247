// SPDX-License-Identifier: BSD-3-Clause
/* The check of a product accepts right ones and finds what was planted in them. The
 * right products here are plain sums, not the BLAS'. */
#include "device/gemm_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M = 37, N = 53, K = 41 };

struct product {
    struct fc_gemm_check check;
    enum fc_dtype dtype;
    void *c;
};

static struct fc_error err;

static void put(struct product *p, size_t i, double value)
{
    if (p->dtype == FC_DTYPE_FP32)
        ((float *)p->c)[i] = (float)value;
    else
        ((double *)p->c)[i] = value;
}

static double get(const struct product *p, size_t i)
{
    return p->dtype == FC_DTYPE_FP32 ? (double)((const float *)p->c)[i]
                                     : ((const double *)p->c)[i];
}

/* C = A * B in the precision of the type, one addition after the other. */
static void make(struct product *p, enum fc_dtype dtype, enum fc_pattern_kind kind)
{
    p->dtype = dtype;
    p->c = calloc(M * N, sizeof(double));
    assert_int_equal(fc_gemm_check_open(&p->check, dtype, M, N, K, kind, 9, &err),
                     FC_OK);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            put(p, i * N + j, 0.0);
            for (size_t k = 0; k < K; k++)
                put(p, i * N + j,
                    get(p, i * N + j) + fc_pattern_value(p->check.a, i * K + k) *
                                            fc_pattern_value(p->check.b, k * N + j));
        }
}

static void drop(struct product *p)
{
    fc_gemm_check_close(&p->check);
    free(p->c);
}

static struct fc_mismatch look(const struct product *p)
{
    struct fc_mismatch m;
    fc_gemm_check_product(&p->check, p->c, &m);
    return m;
}

static const enum fc_dtype dtypes[] = {FC_DTYPE_FP32, FC_DTYPE_FP64};

static void right_products_pass(void **state)
{
    (void)state;
    for (size_t d = 0; d < 2; d++) {
        struct product p;
        make(&p, dtypes[d], FC_PATTERN_INTEGERS);
        assert_int_equal(look(&p).wrong, 0);
        drop(&p);
        make(&p, dtypes[d], FC_PATTERN_RANDOM);
        assert_int_equal(look(&p).wrong, 0);
        drop(&p);
    }
}

static void one_wrong_element_is_found_and_named(void **state)
{
    static const size_t places[] = {0, 1, N - 1, N, M * N / 2, M * N - 1};
    static const double errors[] = {
        1.0, -1.0, 1024.0, 0.5, -3e9, (double)INFINITY, (double)NAN};
    (void)state;
    for (size_t d = 0; d < 2; d++) {
        struct product p;
        make(&p, dtypes[d], FC_PATTERN_INTEGERS);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
                double right = get(&p, places[i]);
                put(&p, places[i], right + errors[e]);
                struct fc_mismatch m = look(&p);
                assert_int_equal(m.wrong, 1);
                assert_int_equal(m.first, places[i]);
                assert_true(m.expected == right);
                assert_true(m.found == get(&p, places[i]) || isnan(m.found));
                put(&p, places[i], right);
            }
        drop(&p);
    }
}

/* An error that the rounding of the sums would hide. */
static void what_is_no_whole_number_is_wrong(void **state)
{
    struct product p;
    (void)state;
    make(&p, FC_DTYPE_FP64, FC_PATTERN_INTEGERS);
    double right = get(&p, N + 5);
    put(&p, N + 5, nextafter(right, 1e9));
    struct fc_mismatch m = look(&p);
    assert_int_equal(m.wrong, 1);
    assert_int_equal(m.first, N + 5);
    assert_true(m.expected == right && m.found > right);
    drop(&p);
}

static void several_wrong_elements_are_counted(void **state)
{
    struct product p;
    (void)state;
    make(&p, FC_DTYPE_FP32, FC_PATTERN_INTEGERS);
    put(&p, 3 * N + 4, get(&p, 3 * N + 4) + 1);
    put(&p, 3 * N + 5, get(&p, 3 * N + 5) - 1); /* a plain sum would not see the two */
    put(&p, 9 * N, get(&p, 9 * N) + 2);
    struct fc_mismatch m = look(&p);
    assert_int_equal(m.wrong, 3);
    assert_int_equal(m.first, 3 * N + 4);
    for (size_t i = 0; i < M; i++)
        put(&p, i * N + 7, 1000.0);
    m = look(&p);
    assert_true(m.wrong >= M);
    assert_int_equal(m.first, 7);
    drop(&p);
}

static void exchanged_and_stale_results_are_wrong(void **state)
{
    struct product p;
    (void)state;
    make(&p, FC_DTYPE_FP64, FC_PATTERN_INTEGERS);
    size_t i = 2 * N + 1, j = i;
    while (get(&p, j) == get(&p, i))
        j++;
    double keep = get(&p, i);
    put(&p, i, get(&p, j));
    put(&p, j, keep);
    assert_true(look(&p).wrong >= 2);
    for (size_t e = 0; e < M * N; e++)
        put(&p, e, fc_pattern_value(p.check.stale, e));
    assert_true(look(&p).wrong >= M);
    memset(p.c, 0, M * N * sizeof(double));
    assert_true(look(&p).wrong >= M - 1);
    drop(&p);
}

static void random_products_allow_rounding_only(void **state)
{
    static const double error[] = {1e-2, 1e-10};
    (void)state;
    for (size_t d = 0; d < 2; d++) {
        struct product p;
        make(&p, dtypes[d], FC_PATTERN_RANDOM);
        put(&p, 6 * N + 1, get(&p, 6 * N + 1) + error[d]);
        struct fc_mismatch m = look(&p);
        assert_int_equal(m.wrong, 1);
        assert_int_equal(m.first, 6 * N + 1);
        put(&p, 6 * N + 1, (double)NAN);
        assert_int_equal(look(&p).wrong, 1);
        drop(&p);
    }
}

static void outputs_are_compared_bit_by_bit(void **state)
{
    float a[4] = {1, 2, 0, 4}, b[4] = {1, 2, 0, 4};
    double c[2] = {1, 5}, d[2] = {1, nextafter(5, 6)};
    struct fc_mismatch m;
    (void)state;
    fc_gemm_check_same(FC_DTYPE_FP32, 4, a, b, &m);
    assert_int_equal(m.wrong, 0);
    b[2] = -0.0f;
    b[3] = 5;
    fc_gemm_check_same(FC_DTYPE_FP32, 4, a, b, &m);
    assert_int_equal(m.wrong, 2);
    assert_int_equal(m.first, 2);
    fc_gemm_check_same(FC_DTYPE_FP64, 2, c, d, &m);
    assert_int_equal(m.wrong, 1);
    assert_true(m.first == 1 && m.expected == 5.0 && m.found > 5.0);
}

static void what_cannot_be_exact_is_refused(void **state)
{
    struct fc_gemm_check check;
    (void)state;
    assert_int_equal(fc_gemm_check_open(&check, FC_DTYPE_BF16, 4, 4, 4,
                                        FC_PATTERN_INTEGERS, 1, &err),
                     FC_UNSUPPORTED);
    assert_int_equal(fc_gemm_check_open(&check, FC_DTYPE_FP32, 4, 4, 1 << 20,
                                        FC_PATTERN_INTEGERS, 1, &err),
                     FC_UNSUPPORTED);
    assert_int_equal(fc_gemm_check_open(&check, FC_DTYPE_FP32, 0, 4, 4,
                                        FC_PATTERN_INTEGERS, 1, &err),
                     FC_UNSUPPORTED);
    fc_gemm_check_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_products_pass),
        cmocka_unit_test(one_wrong_element_is_found_and_named),
        cmocka_unit_test(what_is_no_whole_number_is_wrong),
        cmocka_unit_test(several_wrong_elements_are_counted),
        cmocka_unit_test(exchanged_and_stale_results_are_wrong),
        cmocka_unit_test(random_products_allow_rounding_only),
        cmocka_unit_test(outputs_are_compared_bit_by_bit),
        cmocka_unit_test(what_cannot_be_exact_is_refused),
    };
    return cmocka_run_group_tests_name("gemm_check", tests, NULL, NULL);
}
