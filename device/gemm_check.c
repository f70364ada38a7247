// SPDX-License-Identifier: BSD-3-Clause
#include "device/gemm_check.h"

#include "core/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are computed again in full; more are counted as one wrong element each. */
enum { ROWS_AGAIN = 4, X_RANGE = 1024, INTEGER_MAX = 4 };

/* Products of INTEGERS stay below 2^24, which fp32 still holds; STALE is never one. */
enum { K_MAX = 1 << 20, STALE = INTEGER_MAX * INTEGER_MAX * K_MAX };

/* Adding and taking away 1.5 * 2^52 rounds a double below 2^51 to a whole number. */
#define ROUND_MAGIC 0x1.8p52

static double a_at(const struct fc_gemm_check *check, int i, int p)
{
    return fc_pattern_value(check->a, (uint64_t)i * (uint64_t)check->k + (uint64_t)p);
}

static double b_at(const struct fc_gemm_check *check, int p, int j)
{
    return fc_pattern_value(check->b, (uint64_t)p * (uint64_t)check->n + (uint64_t)j);
}

/* x: never zero, so that a single wrong element always shows. */
static void choose_x(struct fc_gemm_check *check, uint64_t seed)
{
    bool exact = check->a.kind == FC_PATTERN_INTEGERS;
    for (int j = 0; j < check->n; j++) {
        uint64_t r = fc_rng_at(seed, (uint64_t)j);
        double size = exact ? (double)(1 + (r >> 1) % X_RANGE) : 1.0;
        check->x[j] = r & 1 ? size : -size;
    }
}

static void compute_y(struct fc_gemm_check *check, double *bx)
{
    for (int p = 0; p < check->k; p++) {
        bx[p] = 0.0;
        for (int j = 0; j < check->n; j++)
            bx[p] += b_at(check, p, j) * check->x[j];
    }
    for (int i = 0; i < check->m; i++) {
        check->y[i] = 0.0;
        for (int p = 0; p < check->k; p++)
            check->y[i] += a_at(check, i, p) * bx[p];
    }
}

/* Rounding errors of a product with entries in [-1, 1) behave as a random walk: about
 * epsilon * k / 15 an element, times sqrt(n) for the sum of a row. Fifteen times that.
 */
static void set_tolerance(struct fc_gemm_check *check)
{
    double epsilon = check->dtype == FC_DTYPE_FP32 ? (double)FLT_EPSILON : DBL_EPSILON;
    bool exact = check->a.kind == FC_PATTERN_INTEGERS;
    check->tolerance = exact ? 0.0 : epsilon * check->k;
    check->row_tolerance = check->tolerance * sqrt((double)check->n);
}

enum fc_status fc_gemm_check_open(struct fc_gemm_check *check, enum fc_dtype dtype,
                                  int m, int n, int k, enum fc_pattern_kind kind,
                                  uint64_t seed, struct fc_error *err)
{
    if ((dtype != FC_DTYPE_FP32 && dtype != FC_DTYPE_FP64) || m < 1 || n < 1 || k < 1 ||
        k >= K_MAX || n >= K_MAX / 2)
        return fc_fail(err, FC_UNSUPPORTED,
                       "no exact check of a %s product of %d x %d x %d",
                       fc_dtype_name(dtype), m, n, k);
    size_t rows = (size_t)m, columns = (size_t)n, inner = (size_t)k;
    double *all = calloc(rows + 2 * columns + inner, sizeof *all);
    if (!all)
        return fc_fail(err, FC_NOMEM, "no memory to check a product of %d x %d", m, n);
    *check = (struct fc_gemm_check){
        .dtype = dtype,
        .m = m,
        .n = n,
        .k = k,
        .a = {.kind = kind, .seed = fc_rng_at(seed, 0)},
        .b = {.kind = kind, .seed = fc_rng_at(seed, 1)},
        .stale = {.kind = FC_PATTERN_CONSTANT, .seed = STALE},
        .x = all,
        .row = all + columns,
        .y = all + 2 * columns,
    };
    choose_x(check, fc_rng_at(seed, 2));
    set_tolerance(check);
    compute_y(check, all + 2 * columns + rows);
    return FC_OK;
}

void fc_gemm_check_close(struct fc_gemm_check *check)
{
    if (!check)
        return;
    free(check->x);
    *check = (struct fc_gemm_check){.x = NULL};
}

enum fc_status fc_gemm_check_spoil(const struct fc_gemm_check *check,
                                   struct fc_device *device, struct fc_stream *stream,
                                   void *c, struct fc_error *err)
{
    return device->ops->fill(device, stream, c, (size_t)check->m * (size_t)check->n,
                             check->dtype, check->stale, err);
}

enum fc_status fc_gemm_check_fill(const struct fc_gemm_check *check,
                                  struct fc_device *device, struct fc_stream *stream,
                                  void *a, void *b, void *c, struct fc_error *err)
{
    size_t m = (size_t)check->m, n = (size_t)check->n, k = (size_t)check->k;
    enum fc_status status =
        device->ops->fill(device, stream, a, m * k, check->dtype, check->a, err);
    if (status == FC_OK)
        status =
            device->ops->fill(device, stream, b, k * n, check->dtype, check->b, err);
    if (status == FC_OK)
        status = fc_gemm_check_spoil(check, device, stream, c, err);
    return status;
}

/* The sum of a row, and whether all of it may be. One body a type; four sums, so that
 * additions need not wait for each other. */
// clang-format off
#define ROW_SUM(name, type)                                                            \
    static bool name(const struct fc_gemm_check *check, const type *c,                 \
                     double *out_sum)                                                  \
    {                                                                                  \
        double sum[4] = {0.0, 0.0, 0.0, 0.0};                                          \
        bool any = check->a.kind != FC_PATTERN_INTEGERS, good = true;                  \
        for (int j = 0; j < check->n; j++) {                                           \
            double v = (double)c[j];                                                   \
            good &= any || (v + ROUND_MAGIC) - ROUND_MAGIC == v;                       \
            sum[j & 3] += v * check->x[j];                                             \
        }                                                                              \
        *out_sum = (sum[0] + sum[1]) + (sum[2] + sum[3]);                              \
        return good;                                                                   \
    }
// clang-format on
ROW_SUM(row_sum_fp32, float)
ROW_SUM(row_sum_fp64, double)

static double value_at(enum fc_dtype dtype, const void *data, size_t i)
{
    return dtype == FC_DTYPE_FP32 ? (double)((const float *)data)[i]
                                  : ((const double *)data)[i];
}

static void note(struct fc_mismatch *out, size_t i, double expected, double found)
{
    if (out->wrong++ == 0)
        *out = (struct fc_mismatch){1, i, expected, found};
}

/* Element by element; of a RANDOM row whose errors are each within rounding, the
 * largest. */
static void row_again(const struct fc_gemm_check *check, const void *c, int i,
                      struct fc_mismatch *out)
{
    size_t base = (size_t)i * (size_t)check->n;
    uint64_t before = out->wrong;
    int worst = 0;
    double most = -1.0;
    memset(check->row, 0, (size_t)check->n * sizeof *check->row);
    for (int p = 0; p < check->k; p++) {
        double a = a_at(check, i, p);
        for (int j = 0; j < check->n; j++)
            check->row[j] += a * b_at(check, p, j);
    }
    for (int j = 0; j < check->n; j++) {
        double found = value_at(check->dtype, c, base + (size_t)j);
        double off = fabs(found - check->row[j]);
        if (!(off <= check->tolerance))
            note(out, base + (size_t)j, check->row[j], found);
        if (off > most) {
            most = off;
            worst = j;
        }
    }
    if (out->wrong == before)
        note(out, base + (size_t)worst, check->row[worst],
             value_at(check->dtype, c, base + (size_t)worst));
}

void fc_gemm_check_product(const struct fc_gemm_check *check, const void *c,
                           struct fc_mismatch *out)
{
    int again = 0;
    *out = (struct fc_mismatch){.wrong = 0};
    for (int i = 0; i < check->m; i++) {
        size_t base = (size_t)i * (size_t)check->n;
        double sum;
        bool good = check->dtype == FC_DTYPE_FP32
                        ? row_sum_fp32(check, (const float *)c + base, &sum)
                        : row_sum_fp64(check, (const double *)c + base, &sum);
        if (good && fabs(sum - check->y[i]) <= check->row_tolerance)
            continue;
        if (again++ < ROWS_AGAIN)
            row_again(check, c, i, out);
        else
            out->wrong++;
    }
}

void fc_gemm_check_same(enum fc_dtype dtype, size_t count, const void *a, const void *b,
                        struct fc_mismatch *out)
{
    size_t size = fc_dtype_bytes(dtype);
    *out = (struct fc_mismatch){.wrong = 0};
    if (memcmp(a, b, count * size) == 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) != 0)
            note(out, i, value_at(dtype, a, i), value_at(dtype, b, i));
}
