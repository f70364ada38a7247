// SPDX-License-Identifier: BSD-3-Clause
/* The table that users of nccl-tests read: its lines as their parsers see them, bus
 * bandwidths against values made by hand, and numbers that never show as nothing. */
#include "bench_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 16 };

/* What one print leaves, cut into words. */
struct printed {
    char text[1024], cut[1024];
    char *word[WORDS];
    int words;
};

static void cut(struct printed *p)
{
    char *save = NULL;
    snprintf(p->cut, sizeof p->cut, "%s", p->text);
    p->words = 0;
    for (char *w = strtok_r(p->cut, " \n", &save); w && p->words < WORDS;
         w = strtok_r(NULL, " \n", &save))
        p->word[p->words++] = w;
}

static void print_row(const struct fc_bench_row *row, struct printed *out)
{
    FILE *file = fmemopen(out->text, sizeof out->text, "w");
    assert_non_null(file);
    fc_bench_table_row(file, row);
    fclose(file);
    cut(out);
}

static struct fc_bench_row row_of(enum fc_coll op, uint64_t bytes, int n,
                                  double out_of_place_s, double in_place_s)
{
    struct fc_bench_row row = {.op = op,
                               .dtype = FC_DTYPE_FP32,
                               .redop = FC_REDOP_SUM,
                               .root = 1,
                               .bytes = bytes,
                               .count = bytes / 4};
    fc_bench_row_set(&row, FC_OUT_OF_PLACE, n, out_of_place_s, 0);
    fc_bench_row_set(&row, FC_IN_PLACE, n, in_place_s, -1);
    return row;
}

static void a_row_has_thirteen_words(void **state)
{
    (void)state;
    /* 3 ranks, 12 MB in 2 ms: 6 GB/s, times 4/3; in 4 ms the half. */
    static const char *const want[] = {"12000000", "3000000", "float", "sum", "-1",
                                       "2000.0",   "6.00",    "8.00",  "0",   "4000.0",
                                       "3.00",     "4.00",    "N/A"};
    struct fc_bench_row row = row_of(FC_COLL_ALL_REDUCE, 12000000, 3, 2e-3, 4e-3);
    struct printed p;
    print_row(&row, &p);
    assert_int_equal(p.words, 13);
    for (int i = 0; i < p.words; i++)
        assert_string_equal(p.word[i], want[i]);
    assert_int_equal(p.text[strlen(p.text) - 1], '\n');
}

/* The line as nccl-tests' own format makes it: programs cut it by columns, too. */
static void widths_are_those_of_nccl_tests(void **state)
{
    (void)state;
    char want[256];
    struct printed p;
    struct fc_bench_row row = row_of(FC_COLL_BROADCAST, 4096, 2, 10e-6, 20e-6);
    row.side[FC_IN_PLACE].wrong = 7;
    snprintf(want, sizeof want,
             "%12li  %12li  %8s  %6s  %6s  %7s  %6.2f  %6.2f  %5g  %7s  %6.3f  %6.3f"
             "  %5g\n",
             4096L, 1024L, "float", "none", "1", "10.00", 0.41, 0.41, 0.0, "20.00",
             0.205, 0.205, 7.0);
    row.side[FC_OUT_OF_PLACE].algbw_GBps = row.side[FC_OUT_OF_PLACE].busbw_GBps = 0.41;
    print_row(&row, &p);
    /* 0.41 has two digits: a third is shown */
    char *at = strstr(want, "  0.41    0.41");
    assert_non_null(at);
    memcpy(at, " 0.410   0.410", strlen(" 0.410   0.410"));
    assert_string_equal(p.text, want);
}

/* Made by hand from nccl-tests' doc/PERFORMANCE.md. */
static void bus_bandwidth_for_two_and_three_ranks(void **state)
{
    (void)state;
    static const struct {
        enum fc_coll op;
        double two, three;
    } want[] = {
        {FC_COLL_ALL_REDUCE, 1.0, 1.3333333333},
        {FC_COLL_ALL_GATHER, 0.5, 0.6666666667},
        {FC_COLL_REDUCE_SCATTER, 0.5, 0.6666666667},
        {FC_COLL_BROADCAST, 1.0, 1.0},
        {FC_COLL_REDUCE, 1.0, 1.0},
        {FC_COLL_ALLTOALL, 0.5, 0.6666666667},
        {FC_COLL_GATHER, 0.5, 0.6666666667},
        {FC_COLL_SCATTER, 0.5, 0.6666666667},
        {FC_COLL_SENDRECV, 1.0, 1.0},
    };
    assert_int_equal(sizeof want / sizeof *want, FC_COLL_COUNT);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct fc_bench_row two = row_of(want[i].op, 1000000, 2, 1e-3, 1e-3);
        struct fc_bench_row three = row_of(want[i].op, 1000000, 3, 1e-3, 1e-3);
        assert_true(fabs(two.side[0].algbw_GBps - 1.0) < 1e-9);
        assert_true(fabs(two.side[0].busbw_GBps - want[i].two) < 1e-9);
        assert_true(fabs(three.side[1].busbw_GBps - want[i].three) < 1e-9);
    }
}

static void roots_and_reductions_only_where_they_are(void **state)
{
    (void)state;
    for (int op = 0; op < FC_COLL_COUNT; op++) {
        struct fc_bench_row row = row_of((enum fc_coll)op, 64, 2, 1e-6, 1e-6);
        struct printed p;
        print_row(&row, &p);
        assert_int_equal(p.words, 13);
        assert_string_equal(p.word[3],
                            fc_coll_reduces((enum fc_coll)op) ? "sum" : "none");
        assert_string_equal(p.word[4], fc_coll_rooted((enum fc_coll)op) ? "1" : "-1");
    }
}

static void types_have_their_names_of_nccl_tests(void **state)
{
    (void)state;
    assert_string_equal(fc_bench_type_name(FC_DTYPE_FP32), "float");
    assert_string_equal(fc_bench_type_name(FC_DTYPE_FP64), "double");
    assert_string_equal(fc_bench_type_name(FC_DTYPE_BF16), "bfloat16");
    assert_string_equal(fc_bench_type_name(FC_DTYPE_INT32), "int32");
    assert_string_equal(fc_bench_type_name(FC_DTYPE_INT8), "int8");
    for (int i = 0; i < FC_DTYPE_COUNT; i++)
        assert_int_equal(fc_dtype_find(fc_bench_type_name((enum fc_dtype)i)), i);
}

static void small_numbers_are_not_nothing(void **state)
{
    (void)state;
    static const struct {
        double value;
        int decimals;
        const char *want;
    } rows[] = {
        {0, 2, "0.00"},           {12.3456, 2, "12.35"}, {1.5, 2, "1.50"},
        {0.5, 2, "0.500"},        {0.0123, 2, "0.0123"}, {0.00099999, 2, "0.001000"},
        {4e-7, 2, "0.000000400"}, {12345, 0, "12345"},   {123.45, 1, "123.5"},
        {5, 0, "5.00"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(fc_bench_number(rows[i].value, rows[i].decimals).s,
                            rows[i].want);
    /* Over the whole range, what is printed reads back within half a per cent. */
    for (double v = 1e-8; v < 1e6; v *= 1.37)
        for (int d = 0; d < 3; d++)
            assert_true(fabs(atof(fc_bench_number(v, d).s) / v - 1) < 5.1e-3);
}

/* Size over time is the algorithm's bandwidth, as printed. */
static void printed_numbers_agree(void **state)
{
    (void)state;
    for (double t = 3e-8; t < 100; t *= 2.9) {
        struct fc_bench_row row = row_of(FC_COLL_ALL_REDUCE, 4096, 3, t, t / 3);
        struct printed p;
        print_row(&row, &p);
        double size = atof(p.word[0]), time = atof(p.word[5]);
        double algbw = atof(p.word[6]), busbw = atof(p.word[7]);
        assert_true(time > 0);
        assert_true(fabs(size / time / 1e3 / algbw - 1) < 0.011);
        assert_true(fabs(busbw / algbw / (4.0 / 3) - 1) < 0.011);
    }
}

static void the_footer_counts_and_averages(void **state)
{
    (void)state;
    struct fc_bench_totals totals = {.wrong = 0};
    struct printed p = {.text = ""};
    assert_true(fc_bench_totals_mean(&totals) == 0);
    struct fc_bench_row row = row_of(FC_COLL_BROADCAST, 1000000, 2, 1e-3, 0.5e-3);
    fc_bench_totals_add(&totals, &row);
    assert_int_equal(totals.wrong, 0); /* not verified is not wrong */
    row.side[FC_IN_PLACE].wrong = 3;
    fc_bench_totals_add(&totals, &row);
    assert_int_equal(totals.wrong, 3);
    FILE *file = fmemopen(p.text, sizeof p.text, "w");
    fc_bench_table_foot(file, &totals);
    fclose(file);
    assert_string_equal(p.text, "# Out of bounds values : 3 FAILED\n"
                                "# Avg bus bandwidth    : 1.5\n#\n");
}

static void all_that_is_no_row_is_a_comment(void **state)
{
    (void)state;
    struct fc_bench_totals totals = {.wrong = 0};
    char text[2048] = "", *save = NULL;
    FILE *file = fmemopen(text, sizeof text, "w");
    fc_bench_table_head(file);
    fc_bench_rates_head(file, "(B)", "GB/s");
    fc_bench_pairs_head(file);
    fc_bench_values_head(file);
    fc_bench_table_foot(file, &totals);
    fclose(file);
    assert_non_null(strstr(text, "out-of-place"));
    assert_non_null(strstr(text, "# Out of bounds values : 0 OK\n"));
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        assert_int_equal(line[0], '#');
}

/* A rank that could not take its ceiling shows so. */
static void rates_without_a_peak(void **state)
{
    (void)state;
    struct printed p;
    struct fc_bench_rate rate = {.rank = 2,
                                 .node = "n1",
                                 .dtype = FC_DTYPE_FP64,
                                 .size = 1024,
                                 .time_s = 1e-3,
                                 .rate = 0.5,
                                 .peak = (double)NAN,
                                 .wrong = 1};
    FILE *file = fmemopen(p.text, sizeof p.text, "w");
    fc_bench_rates_row(file, &rate);
    fclose(file);
    cut(&p);
    static const char *const want[] = {"2", "1024", "double", "1000.0", "0.500",
                                       "-", "-",    "1",      "n1"};
    assert_int_equal(p.words, 9);
    for (int i = 0; i < p.words; i++)
        assert_string_equal(p.word[i], want[i]);
}

static void pairs_and_values(void **state)
{
    (void)state;
    struct printed p;
    struct fc_bench_pair pair = {.round = 4,
                                 .a = 1,
                                 .b = 6,
                                 .bytes = 4096,
                                 .a_to_b_GBps = 0.25,
                                 .b_to_a_GBps = 12.5,
                                 .latency_s = (double)NAN,
                                 .wrong = 2,
                                 .path = "sockets"};
    struct fc_bench_value value = {
        .name = "exposed",
        .rank = -1,
        .unit = "ms",
        .scale = 1e3,
        .sample = {
            .n = 3, .median = -0.5e-3, .min = -2e-3, .max = 2e-3, .p99 = 1.5e-3}};
    FILE *file = fmemopen(p.text, sizeof p.text, "w");
    fc_bench_pairs_row(file, &pair);
    fc_bench_values_row(file, &value);
    fclose(file);
    cut(&p);
    static const char *const want[] = {
        "4",       "1",       "6",   "4096", "0.250",  "12.50", "-",    "2",
        "sockets", "exposed", "all", "ms",   "-0.500", "-2.00", "2.00", "1.50"};
    assert_int_equal(p.words, WORDS);
    for (int i = 0; i < p.words; i++)
        assert_string_equal(p.word[i], want[i]);
}

static void json_says_the_same(void **state)
{
    (void)state;
    struct fc_bench_row row = row_of(FC_COLL_ALL_REDUCE, 12000000, 3, 2e-3, 4e-3);
    json_t *object = fc_bench_row_json(&row);
    json_t *side = json_object_get(object, "out_of_place");
    assert_int_equal(json_integer_value(json_object_get(object, "size")), 12000000);
    assert_true(fabs(json_real_value(json_object_get(side, "time_us")) - 2000) < 1e-6);
    assert_true(fabs(json_real_value(json_object_get(side, "busbw_GBps")) - 8) < 1e-9);
    assert_int_equal(json_integer_value(json_object_get(side, "wrong")), 0);
    side = json_object_get(object, "in_place");
    assert_true(json_is_null(json_object_get(side, "wrong")));
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_thirteen_words),
        cmocka_unit_test(widths_are_those_of_nccl_tests),
        cmocka_unit_test(bus_bandwidth_for_two_and_three_ranks),
        cmocka_unit_test(roots_and_reductions_only_where_they_are),
        cmocka_unit_test(types_have_their_names_of_nccl_tests),
        cmocka_unit_test(small_numbers_are_not_nothing),
        cmocka_unit_test(printed_numbers_agree),
        cmocka_unit_test(the_footer_counts_and_averages),
        cmocka_unit_test(all_that_is_no_row_is_a_comment),
        cmocka_unit_test(rates_without_a_peak),
        cmocka_unit_test(pairs_and_values),
        cmocka_unit_test(json_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
