// SPDX-License-Identifier: BSD-3-Clause
/* The device probe on one process, with a device that is made wrong, dead or small:
 * what its records say. */
#include "device_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static const struct fc_focus first = {.attempt = 1};
static const char *const metrics[] = {
    "device.stream_peak", "device.mem_bw",        "device.fma_peak.fp32",
    "device.gemm.fp32",   "device.fma_peak.fp64", "device.gemm.fp64",
};

static void a_good_device_has_six_verified_records(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_NONE);
    rig_run(&rig, &first);
    for (size_t i = 0; i < 6; i++) {
        const json_t *r = record(&rig, metrics[i]);
        bool rate = i % 2;
        assert_string_equal(text_of(r, "status"), "ok");
        assert_true(number(r, "median") > 0.0);
        assert_true(number(r, "samples") >= 5);
        assert_true(json_is_null(json_object_get(r, "wrong")) == (i == 2 || i == 4));
        assert_true(number(r, "wrong") == 0.0);
        assert_int_equal(json_is_object(json_object_get(r, "limit")), rate);
        if (!rate)
            continue;
        const json_t *limit = json_object_get(r, "limit");
        const json_t *ceiling = record(&rig, metrics[i - 1]);
        assert_true(number(limit, "value") == number(ceiling, "max"));
        assert_non_null(strstr(text_of(limit, "basis"), "best of"));
    }
    rig_close(&rig);
}

/* Exactly `metric` fails, and says `reason`. */
static void expect_failure(enum fault fault, const char *metric, const char *reason,
                           double wrong_least, double wrong_most)
{
    struct rig rig;
    rig_open(&rig, fault);
    rig_run(&rig, &first);
    for (size_t i = 0; i < 6; i++) {
        const json_t *r = record(&rig, metrics[i]);
        if (strncmp(metrics[i], metric, strlen(metric)) != 0) {
            assert_string_equal(text_of(r, "status"), "ok");
            continue;
        }
        assert_string_equal(text_of(r, "status"), "failed");
        if (!strstr(text_of(r, "reason"), reason))
            fail_msg("reason: %s", text_of(r, "reason"));
        if (strcmp(metrics[i], "device.gemm.fp64") == 0 && fault == FAULT_GEMM_ONCE)
            continue;
        assert_true(number(r, "samples") >=
                    5); /* what is wrong is measured all the same */
        assert_true(number(r, "wrong") >= wrong_least);
        assert_true(number(r, "wrong") <= wrong_most);
    }
    rig_close(&rig);
}

static void one_wrong_word_of_one_copy_is_found(void **state)
{
    (void)state;
    expect_failure(FAULT_COPY_ONE_WORD, "device.mem_bw",
                   "1 wrong words, the first at byte", 1, 1);
}

static void copies_that_do_nothing_are_found(void **state)
{
    (void)state;
    expect_failure(FAULT_COPY_NOTHING, "device.mem_bw", "the first at byte 0", 1000,
                   1e12);
}

static void one_wrong_bit_of_one_product_is_found(void **state)
{
    (void)state;
    expect_failure(FAULT_GEMM_ONCE, "device.gemm.fp32", "same inputs, other product", 1,
                   1);
}

static void an_error_that_repeats_is_found(void **state)
{
    (void)state;
    expect_failure(FAULT_GEMM_ALWAYS, "device.gemm", "product of whole numbers", 1,
                   1e12);
}

static void products_that_do_nothing_are_found(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, FAULT_GEMM_NOTHING);
    rig_run(&rig, &first);
    const json_t *r = record(&rig, "device.gemm.fp32");
    assert_string_equal(text_of(r, "status"), "failed");
    assert_non_null(strstr(text_of(r, "reason"), "same inputs, other product"));
    assert_non_null(strstr(text_of(r, "reason"), "repetition 1:"));
    assert_string_equal(text_of(record(&rig, "device.gemm.fp64"), "status"), "failed");
    rig_close(&rig);
}

static void whole_numbers_are_multiplied_between_repetitions(void **state)
{
    (void)state;
    expect_failure(FAULT_WHOLE_LATER, "device.gemm.fp32", "product of whole numbers", 1,
                   1e12);
}

static void a_flipped_input_is_found(void **state)
{
    (void)state;
    expect_failure(FAULT_INPUT, "device.gemm.fp32", "same inputs, other product", 1,
                   1e12);
}

static void a_dead_device_is_a_measurement(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_GEMM_DEAD);
    rig_run(&rig, &first);
    const json_t *r = record(&rig, "device.gemm.fp64");
    assert_string_equal(text_of(r, "status"), "failed");
    assert_string_equal(text_of(r, "reason"), "the multiplier fell off");
    assert_true(json_is_null(json_object_get(r, "median")));
    assert_string_equal(text_of(record(&rig, "device.mem_bw"), "status"), "ok");
    rig_close(&rig);
}

static void missing_memory_is_told_by_the_trial_that_misses_it(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_NO_MEMORY);
    rig_run(&rig, &first);
    assert_string_equal(text_of(record(&rig, "device.mem_bw"), "status"), "ok");
    assert_string_equal(text_of(record(&rig, "device.gemm.fp32"), "status"), "failed");
    assert_string_equal(text_of(record(&rig, "device.gemm.fp32"), "reason"),
                        "no memory today");
    rig_close(&rig);
}

static void without_a_ceiling_there_is_no_limit(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_NO_STREAM_PEAK);
    rig_run(&rig, &first);
    assert_string_equal(text_of(record(&rig, "device.stream_peak"), "status"),
                        "skipped");
    assert_string_equal(text_of(record(&rig, "device.mem_bw"), "status"), "ok");
    assert_true(json_is_null(json_object_get(record(&rig, "device.mem_bw"), "limit")));
    rig_close(&rig);
}

static void what_cannot_be_verified_is_skipped(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_FOREIGN);
    rig_run(&rig, &first);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(text_of(record(&rig, metrics[i]), "status"), "skipped");
        assert_non_null(strstr(text_of(record(&rig, metrics[i]), "reason"), "cuda"));
    }
    rig_close(&rig);
}

static void no_device_is_said(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_NONE);
    rig.run.device = NULL;
    rig_run(&rig, &first);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(text_of(record(&rig, metrics[i]), "reason"),
                            "this rank has no device");
    rig_close(&rig);
}

/* Where the arrays fit into the cache the ceiling of memory is no limit. */
static void arrays_in_the_cache_have_no_limit(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_NONE);
    fake.cache_bytes = 32 * MIB;
    rig_run(&rig, &first);
    const json_t *r = record(&rig, "device.mem_bw");
    assert_string_equal(text_of(json_object_get(r, "params"), "variant"), "in cache");
    assert_true(json_is_null(json_object_get(r, "limit")));
    assert_true(
        json_is_object(json_object_get(record(&rig, "device.gemm.fp32"), "limit")));
    rig_close(&rig);
}

/* With many ranks a core each measures less, in its turn. */
static void many_sharers_make_it_small(void **state)
{
    double n[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        rig_open(&rig, FAULT_NONE);
        rig.run.sharers = i ? 64 : 1;
        rig_run(&rig, &first);
        const json_t *r = record(&rig, "device.gemm.fp32");
        n[i] = number(json_object_get(r, "params"), "n");
        assert_true(json_is_object(json_object_get(r, "limit")));
        rig_close(&rig);
    }
    assert_true(n[1] > 0 && n[1] < n[0]);
}

static void retests_repeat_more_and_only_where_asked(void **state)
{
    struct rig rig;
    struct fc_focus again = {.attempt = 2, .mine = true}, others = {.attempt = 2};
    (void)state;
    rig_open(&rig, FAULT_NONE);
    rig_run(&rig, &again);
    const json_t *r = record(&rig, "device.gemm.fp64");
    assert_true(number(json_object_get(r, "params"), "attempt") == 2);
    assert_true(number(r, "samples") >= 15);
    rig_close(&rig);
    rig_open(&rig, FAULT_NONE);
    rig_run(&rig, &others);
    assert_int_equal(rig.text.lines, 1);
    assert_int_equal(fake.gemms + fake.copies + fake.allocs, 0);
    rig_close(&rig);
    assert_true(fc_probe_device.retests);
}

/* Others on the cores: the rank is held to what was left to it. */
static void a_disturbed_rank_is_held_to_its_part(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, FAULT_NONE);
    fake.core_share = 0.6;
    rig_run(&rig, &first);
    for (size_t i = 1; i < 6; i += 2) {
        const json_t *limit = json_object_get(record(&rig, metrics[i]), "limit");
        const json_t *peak = record(&rig, metrics[i - 1]);
        /* A copy's peak is slowed as well; the FMA loop's short bursts are not. */
        double alone = i == 1 ? number(peak, "median") / 0.6 : 0.0;
        double ceiling = fmax(number(peak, "max"), alone);
        assert_true(fabs(number(limit, "value") / ceiling - 0.6) < 1e-6);
        assert_non_null(strstr(text_of(limit, "basis"), "60 %"));
    }
    rig_close(&rig);
}

static void the_cost_grows_with_level_and_sharers(void **state)
{
    struct fc_settings settings = {.level = FC_LEVEL_QUICK};
    struct fc_run run = {.settings = &settings, .sharers = 1};
    (void)state;
    double quick = fc_probe_device.cost_s(&run);
    settings.level = FC_LEVEL_STANDARD;
    assert_true(quick > 0.0 && fc_probe_device.cost_s(&run) > quick);
    settings.level = FC_LEVEL_QUICK;
    run.sharers = 32;
    assert_true(fc_probe_device.cost_s(&run) >= 4 * quick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_device_has_six_verified_records),
        cmocka_unit_test(one_wrong_word_of_one_copy_is_found),
        cmocka_unit_test(copies_that_do_nothing_are_found),
        cmocka_unit_test(one_wrong_bit_of_one_product_is_found),
        cmocka_unit_test(an_error_that_repeats_is_found),
        cmocka_unit_test(products_that_do_nothing_are_found),
        cmocka_unit_test(whole_numbers_are_multiplied_between_repetitions),
        cmocka_unit_test(a_flipped_input_is_found),
        cmocka_unit_test(a_dead_device_is_a_measurement),
        cmocka_unit_test(missing_memory_is_told_by_the_trial_that_misses_it),
        cmocka_unit_test(without_a_ceiling_there_is_no_limit),
        cmocka_unit_test(what_cannot_be_verified_is_skipped),
        cmocka_unit_test(no_device_is_said),
        cmocka_unit_test(arrays_in_the_cache_have_no_limit),
        cmocka_unit_test(many_sharers_make_it_small),
        cmocka_unit_test(retests_repeat_more_and_only_where_asked),
        cmocka_unit_test(a_disturbed_rank_is_held_to_its_part),
        cmocka_unit_test(the_cost_grows_with_level_and_sharers),
    };
    return cmocka_run_group_tests_name("device_probe", tests, NULL, NULL);
}
