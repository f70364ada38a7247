// SPDX-License-Identifier: BSD-3-Clause
/* Numbers from the text of a list: the same as JSON's own reader gives, and what is no
 * such list is told. */
#include "judge_help.h"

#include "judge/lists.h"

#include <math.h>

static enum fc_list numbers(const char *text, size_t width, struct fc_numbers *io)
{
    return fc_numbers_read(text, strlen(text), width, io);
}

static void test_numbers_are_those_of_json(void **state)
{
    struct fc_rng rng;
    struct fc_numbers n = {0};
    char text[200];
    (void)state;
    fc_rng_seed(&rng, 11);
    for (size_t i = 0; i < 20000; i++) {
        double scale = pow(10.0, (double)fc_rng_below(&rng, 60) - 30.0);
        double x = (double)fc_rng_below(&rng, UINT64_C(1) << 53) * scale;
        if (i % 4 == 0)
            snprintf(text, sizeof text, "[%.17g]", x);
        else if (i % 4 == 1)
            snprintf(text, sizeof text, "[%.6g]", x);
        else if (i % 4 == 2)
            snprintf(text, sizeof text, "[%.1f]", x);
        else
            snprintf(text, sizeof text, "[-%.9e]", x);
        json_t *json = json_loads(text, 0, NULL);
        assert_non_null(json);
        double want = json_number_value(json_array_get(json, 0));
        assert_int_equal(numbers(text, 1, &n), FC_LIST_READ);
        assert_int_equal(n.count, 1);
        if (!(fabs(n.x[0] - want) <= 3e-16 * fabs(want)))
            fail_msg("%s: %.17g, not %.17g", text, n.x[0], want);
        json_decref(json);
    }
    free(n.x);
}

static void test_entries(void **state)
{
    struct fc_numbers n = {0};
    (void)state;
    assert_int_equal(numbers(" [ 1 , null,2.5e0, 1E2 ] ", 1, &n), FC_LIST_READ);
    assert_int_equal(n.count, 4);
    assert_true(n.x[0] == 1.0 && isnan(n.x[1]) && n.x[2] == 2.5 && n.x[3] == 100.0);
    assert_int_equal(numbers("[[1,2],null,[ 3 ,null ]]", 2, &n), FC_LIST_READ);
    assert_int_equal(n.count, 3);
    assert_true(n.x[1] == 2.0 && isnan(n.x[2]) && isnan(n.x[3]) && n.x[4] == 3.0);
    assert_true(isnan(n.x[5]));
    assert_int_equal(numbers("[]", 2, &n), FC_LIST_READ);
    assert_int_equal(n.count, 0);
    free(n.x);
}

/* An entry that is none spoils itself alone. */
static void test_bad_entries(void **state)
{
    static const char *const one[] = {
        "true", "\"1\"", "{}",     "[1]",           "1e999",    "-",        "01",
        "1.",   ".5",    "+1",     "\"],[\"",       "nul",      "1 2",      "0x10",
        "NaN",  "1e",    "[[[]]]", "{\"a\":[1,2]}", "\"\\\"\"", "Infinity", "nullx"};
    static const char *const two[] = {"1",         "[1]",     "[1,2,3]", "[]",
                                      "[1,\"2\"]", "[[1],2]", "{}",      "\"[1,2]\"",
                                      "[1,1e999]", "true"};
    struct fc_numbers n = {0};
    char text[100];
    (void)state;
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        snprintf(text, sizeof text, "[7,%s,8]", one[i]);
        enum fc_list result = numbers(text, 1, &n);
        bool ok = result == FC_LIST_READ && n.count == 3 && n.x[0] == 7.0 &&
                  isinf(n.x[1]) && n.x[2] == 8.0;
        if (!ok)
            fail_msg("%s", text);
    }
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        snprintf(text, sizeof text, "[[1,2],%s,[3,4]]", two[i]);
        enum fc_list result = numbers(text, 2, &n);
        bool ok = result == FC_LIST_READ && n.count == 3 && n.x[1] == 2.0 &&
                  isinf(n.x[2]) && isinf(n.x[3]) && n.x[5] == 4.0;
        if (!ok)
            fail_msg("%s", text);
    }
    free(n.x);
}

static void test_no_lists(void **state)
{
    static const char *const text[] = {"",      "1",      "[1",    "[1,",    "[1]]",
                                       "[1] 2", "{}",     "[\"a]", "[1,2}3", "[[1,2]",
                                       "null",  "[1,[2]", "[",     "]"};
    struct fc_numbers n = {0};
    struct fc_slices s = {0};
    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        if (numbers(text[i], 1, &n) != FC_LIST_BAD ||
            fc_slices_read(text[i], strlen(text[i]), &s) != FC_LIST_BAD)
            fail_msg("'%s' was read", text[i]);
    }
    free(n.x);
    free(s.x);
}

static void test_slices(void **state)
{
    static const char text[] = "[\"a,]\", {\"b\":[1,2]},null]";
    static const char *const want[] = {"\"a,]\"", "{\"b\":[1,2]}", "null"};
    struct fc_slices s = {0};
    (void)state;
    assert_int_equal(fc_slices_read(text, strlen(text), &s), FC_LIST_READ);
    assert_int_equal(s.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s.x[i].bytes, strlen(want[i]));
        assert_memory_equal(s.x[i].text, want[i], s.x[i].bytes);
    }
    free(s.x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_those_of_json),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_bad_entries),
        cmocka_unit_test(test_no_lists),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
