// SPDX-License-Identifier: BSD-3-Clause
/* The host device: what it computes is exact, what it finds wrong is where it was
 * planted. Products are also made by crews larger than the machine, so that every grid
 * is met. */
#include "device/device.h"
#include "device/host.h"
#include "device/host_blas.h"
#include "device/host_peak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CREW = 12, CANARY = 77 };

static struct fc_error err;

static struct fc_device *device_of(int members)
{
    int cpu[CREW] = {0};
    struct fc_host_cores cores = {
        .cpu = cpu, .count = members, .memory_cores = 1, .shares = 1};
    struct fc_device *device = NULL;
    assert_int_equal(fc_host_open(&cores, &device, &err), FC_OK);
    return device;
}

static int open_device(void **state)
{
    struct fc_device *device;
    if (fc_device_host_open(0, 1, &device, &err) != FC_OK)
        return -1;
    *state = device;
    return 0;
}

static int close_device(void **state)
{
    struct fc_device *device = *state;
    device->ops->close(device);
    return 0;
}

static void *alloc(struct fc_device *device, size_t bytes)
{
    void *at = NULL;
    assert_int_equal(device->ops->alloc(device, bytes, &at, &err), FC_OK);
    return at;
}

static void patterns_are_what_they_say(void **state)
{
    struct fc_pattern random = {.kind = FC_PATTERN_RANDOM, .seed = 5};
    struct fc_pattern small = {.kind = FC_PATTERN_INTEGERS, .seed = 5};
    struct fc_pattern moved = {
        .kind = FC_PATTERN_INTEGERS, .seed = 5, .scale = 3, .offset = -7};
    int seen[9] = {0};
    double sum = 0.0;
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        double r = fc_pattern_value(random, i), z = fc_pattern_value(small, i);
        assert_true(r >= -1.0 && r < 1.0);
        assert_true((double)(float)r == r);
        assert_true(z >= -4.0 && z <= 4.0 && trunc(z) == z);
        assert_true(fc_pattern_value(moved, i) == 3.0 * z - 7.0);
        seen[(int)z + 4]++;
        sum += r;
    }
    assert_true(fabs(sum / 20000) < 0.02);
    for (int i = 0; i < 9; i++)
        assert_in_range(seen[i], 20000 / 9 * 8 / 10, 20000 / 9 * 12 / 10);
    struct fc_pattern constant = {.kind = FC_PATTERN_CONSTANT, .seed = 42};
    assert_true(fc_pattern_value(constant, 9) == 42.0);
    random.seed = 6;
    assert_true(fc_pattern_value(random, 0) !=
                fc_pattern_value((struct fc_pattern){.seed = 5}, 0));
}

static void info_says_what_it_is(void **state)
{
    struct fc_device *device = *state;
    struct fc_device_info info;
    cpu_set_t cores;
    assert_int_equal(device->ops->info(device, &info, &err), FC_OK);
    fc_device_host_cores(0, 1, &cores);
    assert_string_equal(info.kind, "host");
    assert_int_equal(info.threads, CPU_COUNT(&cores));
    assert_true(info.memory_bytes > (uint64_t)1 << 20);
    assert_true(strlen(info.name) > 2 && strlen(info.blas) > 2);
    assert_false(info.simulated);
}

static void memory_is_zeroed_aligned_and_refused_when_too_large(void **state)
{
    static const size_t sizes[] = {1, 100, 4096, (2 << 20) - 1, 2 << 20, (5 << 20) + 3};
    struct fc_device *device = *state;
    struct fc_device_info info;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        unsigned char *at = alloc(device, sizes[s]);
        assert_int_equal((uintptr_t)at % 4096, 0);
        for (size_t i = 0; i < sizes[s]; i++)
            assert_int_equal(at[i], 0);
        memset(at, 1, sizes[s]);
        device->ops->free(device, at, sizes[s]);
    }
    device->ops->free(device, NULL, 100);
    assert_int_equal(device->ops->info(device, &info, &err), FC_OK);
    const size_t huge[] = {2 * info.memory_bytes, SIZE_MAX / 2, SIZE_MAX - 5};
    for (size_t i = 0; i < 3; i++) {
        void *at = (void *)&err;
        err.text[0] = '\0';
        assert_int_equal(device->ops->alloc(device, huge[i], &at, &err), FC_NOMEM);
        assert_non_null(strstr(err.text, "host memory"));
        assert_ptr_equal(at, &err); /* untouched */
    }
}

static void streams_complete_and_events_measure(void **state)
{
    struct fc_device *device = *state;
    struct fc_stream *stream;
    struct fc_event *from, *to;
    double first, longer;
    bool done = false;
    assert_int_equal(device->ops->stream_open(device, &stream, &err), FC_OK);
    assert_int_equal(device->ops->event_open(device, &from, &err), FC_OK);
    assert_int_equal(device->ops->event_open(device, &to, &err), FC_OK);
    assert_int_equal(device->ops->event_elapsed(device, from, to, &first, &err),
                     FC_FAILED);
    assert_int_equal(device->ops->event_record(device, from, stream, &err), FC_OK);
    assert_int_equal(device->ops->event_elapsed(device, from, to, &first, &err),
                     FC_FAILED);
    float *x = alloc(device, 1 << 20);
    struct fc_pattern p = {.kind = FC_PATTERN_RANDOM};
    assert_int_equal(
        device->ops->fill(device, stream, x, 1 << 18, FC_DTYPE_FP32, p, &err), FC_OK);
    assert_int_equal(device->ops->stream_poll(device, stream, &done, &err), FC_OK);
    assert_true(done);
    assert_int_equal(device->ops->event_record(device, to, stream, &err), FC_OK);
    assert_int_equal(device->ops->event_elapsed(device, from, to, &first, &err), FC_OK);
    assert_true(first > 0.0);
    assert_int_equal(device->ops->event_record(device, to, stream, &err), FC_OK);
    assert_int_equal(device->ops->event_elapsed(device, from, to, &longer, &err),
                     FC_OK);
    assert_true(longer >= first);
    device->ops->free(device, x, 1 << 20);
    device->ops->event_close(device, to);
    device->ops->event_close(device, from);
    device->ops->stream_close(device, stream);
}

static void copies_are_exact_at_any_offset(void **state)
{
    static const size_t lengths[] = {0, 1, 15, 16, 63, 64, 65, 127, 200, 4096, 70001};
    enum { ROOM = 80000 };
    unsigned char *src = malloc(ROOM), *dst = malloc(ROOM);
    (void)state;
    for (size_t i = 0; i < ROOM; i++)
        src[i] = (unsigned char)(i * 131 + (i >> 8));
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t from = 0; from < 5; from++)
            for (size_t to = 60; to < 70; to++) {
                memset(dst, CANARY, ROOM);
                fc_host_stream_copy(dst + to, src + from, lengths[l]);
                assert_memory_equal(dst + to, src + from, lengths[l]);
                assert_int_equal(dst[to - 1], CANARY);
                assert_int_equal(dst[to + lengths[l]], CANARY);
            }
    free(src);
    free(dst);
}

static void small_and_large_copies_arrive(void **state)
{
    struct fc_device *device = *state;
    struct fc_device_info info;
    struct fc_pattern p = {.kind = FC_PATTERN_RANDOM, .seed = 3};
    assert_int_equal(device->ops->info(device, &info, &err), FC_OK);
    size_t large = info.cache_bytes < (64 << 20) ? info.cache_bytes + 4096 : 64 << 20;
    const size_t sizes[] = {4, 4096, (1 << 20) + 4, large};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        void *a = alloc(device, sizes[s]), *b = alloc(device, sizes[s]);
        struct fc_mismatch m;
        double rate = 0.0;
        size_t count = sizes[s] / sizeof(float);
        assert_int_equal(
            device->ops->fill(device, NULL, a, count, FC_DTYPE_FP32, p, &err), FC_OK);
        assert_int_equal(device->ops->copy(device, NULL, b, a, sizes[s], &err), FC_OK);
        assert_int_equal(
            device->ops->compare(device, NULL, b, count, FC_DTYPE_FP32, p, &m, &err),
            FC_OK);
        assert_int_equal(m.wrong, 0);
        memset(b, 0, sizes[s]);
        assert_int_equal(device->ops->stream_peak(device, b, a, sizes[s], &rate, &err),
                         FC_OK);
        assert_memory_equal(a, b, sizes[s]);
        assert_true(rate > 0.0);
        device->ops->free(device, a, sizes[s]);
        device->ops->free(device, b, sizes[s]);
    }
}

/* Plants `value` at `at` in a filled array and expects to be told so. */
static void plant(struct fc_device *device, enum fc_dtype dtype, void *x, size_t count,
                  size_t at, double value)
{
    struct fc_pattern p = {.kind = FC_PATTERN_INTEGERS, .seed = 8};
    struct fc_mismatch m;
    float f = (float)value;
    size_t size = fc_dtype_bytes(dtype);
    assert_int_equal(device->ops->fill(device, NULL, x, count, dtype, p, &err), FC_OK);
    assert_int_equal(device->ops->compare(device, NULL, x, count, dtype, p, &m, &err),
                     FC_OK);
    assert_int_equal(m.wrong, 0);
    memcpy((char *)x + at * size,
           dtype == FC_DTYPE_FP32 ? (const void *)&f : (const void *)&value, size);
    assert_int_equal(device->ops->compare(device, NULL, x, count, dtype, p, &m, &err),
                     FC_OK);
    assert_int_equal(m.wrong, 1);
    assert_int_equal(m.first, at);
    assert_true(m.expected == fc_pattern_value(p, at));
    assert_true(m.found == value || (isnan(m.found) && isnan(value)));
}

static void planted_wrong_elements_are_found(void **state)
{
    static const enum fc_dtype dtypes[] = {FC_DTYPE_FP32, FC_DTYPE_FP64};
    enum { COUNT = 10007 };
    struct fc_device *device = *state;
    void *x = alloc(device, COUNT * sizeof(double));
    for (size_t d = 0; d < 2; d++) {
        plant(device, dtypes[d], x, COUNT, 0, 99.0);
        plant(device, dtypes[d], x, COUNT, COUNT / 2, 99.5);
        plant(device, dtypes[d], x, COUNT, COUNT - 1, (double)NAN);
        plant(device, dtypes[d], x, 1, 0, 1e9);
    }
    device->ops->free(device, x, COUNT * sizeof(double));
}

/* The sign of a zero; and of several, one in each member's part, the first. */
static void several_wrong_elements_are_counted_and_the_first_named(void **state)
{
    enum { PART = 64, COUNT = CREW * PART };
    struct fc_device *device = device_of(CREW);
    struct fc_pattern zero = {.kind = FC_PATTERN_CONSTANT};
    double y[COUNT];
    (void)state;
    for (int run = 0; run < 50; run++) {
        struct fc_mismatch m;
        memset(y, 0, sizeof y);
        for (int part = 1; part < CREW; part++)
            y[part * PART + 3] = -0.0;
        y[PART + 2] = 3.0;
        assert_int_equal(
            device->ops->compare(device, NULL, y, COUNT, FC_DTYPE_FP64, zero, &m, &err),
            FC_OK);
        assert_int_equal(m.wrong, CREW);
        assert_int_equal(m.first, PART + 2);
        assert_true(m.expected == 0.0 && m.found == 3.0);
    }
    device->ops->close(device);
}

static void grids_fit_the_shape(void **state)
{
    int rows, columns;
    (void)state;
    for (int members = 1; members <= 256; members++)
        for (int m = 1; m < 5000; m = m * 7 + 1) {
            fc_host_grid(members, m, 640, &rows, &columns);
            assert_int_equal(rows * columns, members);
        }
    fc_host_grid(16, 1000, 1000, &rows, &columns);
    assert_true(rows == 4 && columns == 4);
    fc_host_grid(6, 100, 10000, &rows, &columns);
    assert_true(rows == 1 && columns == 6);
    fc_host_grid(6, 10000, 100, &rows, &columns);
    assert_true(rows == 6 && columns == 1);
}

static double at(enum fc_dtype dtype, const void *x, size_t i)
{
    return dtype == FC_DTYPE_FP32 ? (double)((const float *)x)[i]
                                  : ((const double *)x)[i];
}

/* Every element against the plain sum of products; what lies behind C stays untouched.
 * A transposed operand is stored the other way round. */
static void exact_product(struct fc_device *device, enum fc_dtype dtype,
                          const int shape[3], bool ta, bool tb)
{
    int m = shape[0], n = shape[1], k = shape[2];
    size_t size = fc_dtype_bytes(dtype);
    size_t rows = (size_t)m, columns = (size_t)n, inner = (size_t)k;
    void *a = alloc(device, rows * inner * size),
         *b = alloc(device, inner * columns * size);
    unsigned char *c = alloc(device, (rows * columns + 1) * size);
    struct fc_pattern pa = {.kind = FC_PATTERN_INTEGERS, .seed = 1}, pb = pa;
    struct fc_gemm gemm = {.dtype = dtype,
                           .transpose_a = ta,
                           .transpose_b = tb,
                           .m = m,
                           .n = n,
                           .k = k,
                           .a = a,
                           .b = b,
                           .c = c};
    pb.seed = 2;
    assert_int_equal(device->ops->fill(device, NULL, a, rows * inner, dtype, pa, &err),
                     FC_OK);
    assert_int_equal(
        device->ops->fill(device, NULL, b, inner * columns, dtype, pb, &err), FC_OK);
    memset(c, CANARY, (rows * columns + 1) * size);
    assert_int_equal(device->ops->gemm(device, NULL, &gemm, &err), FC_OK);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double sum = 0.0;
            for (size_t p = 0; p < inner; p++)
                sum += at(dtype, a, ta ? p * rows + i : i * inner + p) *
                       at(dtype, b, tb ? j * inner + p : p * columns + j);
            assert_true(at(dtype, c, i * columns + j) == sum);
        }
    for (size_t i = 0; i < size; i++)
        assert_int_equal(c[rows * columns * size + i], CANARY);
    device->ops->free(device, a, rows * inner * size);
    device->ops->free(device, b, inner * columns * size);
    device->ops->free(device, c, (rows * columns + 1) * size);
}

static void products_are_exact_in_odd_shapes_and_all_grids(void **state)
{
    static const int shape[][3] = {{1, 1, 1},    {1, 7, 3},    {7, 1, 5},
                                   {17, 33, 65}, {64, 64, 64}, {129, 65, 9},
                                   {3, 200, 1},  {301, 5, 77}};
    (void)state;
    for (int members = 1; members <= CREW; members++) {
        struct fc_device *device = device_of(members);
        for (size_t s = 0; s < 4 * sizeof shape / sizeof *shape; s++) {
            bool ta = s % 4 / 2, tb = s % 2;
            exact_product(device, FC_DTYPE_FP32, shape[s / 4], ta, tb);
            exact_product(device, FC_DTYPE_FP64, shape[s / 4], ta, tb);
        }
        device->ops->close(device);
    }
}

/* y + alpha x with one rounding each, by crews of any size, and nothing beyond. */
static void axpy_is_the_plain_sum(void **state)
{
    enum { COUNT = 1003 };
    static float x[COUNT], y[COUNT + 1];
    (void)state;
    for (int members = 1; members <= CREW; members += 11) {
        struct fc_device *device = device_of(members);
        double xd = 3.0, yd = 0.5;
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = (float)i * 0.37f;
            y[i] = (float)i * -1.9f;
        }
        y[COUNT] = 5.0f;
        assert_int_equal(
            device->ops->axpy(device, NULL, y, x, COUNT, FC_DTYPE_FP32, -1e-3, &err),
            FC_OK);
        for (size_t i = 0; i < COUNT; i++) {
            volatile float product = -1e-3f * x[i];
            volatile float sum = (float)i * -1.9f;
            sum = sum + product;
            assert_true(y[i] == sum);
        }
        assert_true(y[COUNT] == 5.0f);
        assert_int_equal(
            device->ops->axpy(device, NULL, &yd, &xd, 1, FC_DTYPE_FP64, 2.0, &err),
            FC_OK);
        assert_true(yd == 6.5);
        assert_int_equal(
            device->ops->axpy(device, NULL, y, x, 1, FC_DTYPE_BF16, 1.0, &err),
            FC_UNSUPPORTED);
        device->ops->close(device);
    }
}

static void what_it_cannot_do_is_said(void **state)
{
    struct fc_device *device = *state;
    struct fc_pattern p = {.kind = FC_PATTERN_RANDOM};
    struct fc_mismatch m;
    double rate;
    float x = 0.0f;
    struct fc_gemm gemm = {.dtype = FC_DTYPE_BF16, .m = 1, .n = 1, .k = 1};
    struct fc_gemm empty = {.dtype = FC_DTYPE_FP32, .m = 0, .n = 1, .k = 1};
    assert_int_equal(device->ops->fill(device, NULL, &x, 1, FC_DTYPE_FP16, p, &err),
                     FC_UNSUPPORTED);
    assert_non_null(strstr(err.text, "fp16"));
    assert_int_equal(
        device->ops->compare(device, NULL, &x, 1, FC_DTYPE_FP8, p, &m, &err),
        FC_UNSUPPORTED);
    assert_int_equal(device->ops->gemm(device, NULL, &gemm, &err), FC_UNSUPPORTED);
    assert_int_equal(device->ops->gemm(device, NULL, &empty, &err), FC_UNSUPPORTED);
    assert_int_equal(device->ops->fma_peak(device, FC_DTYPE_INT8, &rate, &err),
                     FC_UNSUPPORTED);
}

static void peaks_are_measured(void **state)
{
    struct fc_device *device = *state;
    double fp32 = 0.0, fp64 = 0.0;
    assert_int_equal(device->ops->fma_peak(device, FC_DTYPE_FP32, &fp32, &err), FC_OK);
    assert_int_equal(device->ops->fma_peak(device, FC_DTYPE_FP64, &fp64, &err), FC_OK);
    assert_true(isfinite(fp32) && fp32 > 0.0);
    assert_true(isfinite(fp64) && fp64 > 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_what_they_say),
        cmocka_unit_test(info_says_what_it_is),
        cmocka_unit_test(memory_is_zeroed_aligned_and_refused_when_too_large),
        cmocka_unit_test(streams_complete_and_events_measure),
        cmocka_unit_test(copies_are_exact_at_any_offset),
        cmocka_unit_test(small_and_large_copies_arrive),
        cmocka_unit_test(planted_wrong_elements_are_found),
        cmocka_unit_test(several_wrong_elements_are_counted_and_the_first_named),
        cmocka_unit_test(grids_fit_the_shape),
        cmocka_unit_test(products_are_exact_in_odd_shapes_and_all_grids),
        cmocka_unit_test(axpy_is_the_plain_sum),
        cmocka_unit_test(what_it_cannot_do_is_said),
        cmocka_unit_test(peaks_are_measured),
    };
    return cmocka_run_group_tests_name("device", tests, open_device, close_device);
}
