// SPDX-License-Identifier: BSD-3-Clause
/* Profiles: what they may say, and the one line for each thing they may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#include "judge/expectation.h"
#include "judge/profile.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Loads `bytes` of `text` from a file; the path is put into `path`. */
static enum fc_status load(const char *text, size_t bytes, char *path, json_t **out,
                           struct fc_error *err)
{
    strcpy(path, "/tmp/fc-profile-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
    enum fc_status status = fc_profile_load(path, out, err);
    unlink(path);
    return status;
}

static double share(const json_t *profile, const char *section, const char *metric)
{
    return json_number_value(
        json_object_get(json_object_get(profile, section), metric));
}

static void check_default(const json_t *profile)
{
    assert_true(share(profile, "floor", "device.gemm.fp32") > 0.3);
    assert_true(share(profile, "floor", "device.mem_bw") > 0.1);
    assert_true(share(profile, "effect", "device.gemm.fp64") > 0.0);
    assert_int_equal(json_object_size(json_object_get(profile, "expect")), 0);
}

static void test_default(void **state)
{
    (void)state;
    json_t *profile = fc_profile_default();
    assert_non_null(profile);
    assert_string_equal(json_string_value(json_object_get(profile, "name")), "default");
    check_default(profile);
    json_decref(profile);
    for (size_t i = 0; fc_floor_at(i); i++) {
        const struct fc_floor *row = fc_floor_at(i);
        assert_non_null(fc_metric_find(row->metric));
        assert_true(fc_floor_ok(row->floor) && fc_effect_ok(row->effect));
        assert_true(strlen(row->basis) > 5);
    }
}

static void test_values_over_the_default(void **state)
{
    static const char text[] = "\xEF\xBB\xBF; a comment\n"
                               "[run]\nlevel = full\nprobes = config,device\n"
                               "[floor]\r\ndevice.gemm.fp32 = 0.75 ; tighter\n"
                               "[effect]\ndevice.mem_bw: 0.05\n"
                               "[expect]\nnodes = 16\ngpus = 0\nnics = 8\n"
                               "nic_gbps = 400\n";
    char path[64];
    json_t *p = NULL;
    struct fc_error err = {""};
    (void)state;
    assert_int_equal(load(text, strlen(text), path, &p, &err), FC_OK);
    assert_true(share(p, "floor", "device.gemm.fp32") == 0.75);
    assert_true(share(p, "effect", "device.mem_bw") == 0.05);
    assert_true(share(p, "floor", "device.mem_bw") > 0.1); /* the default's */
    const json_t *run = json_object_get(p, "run"),
                 *expect = json_object_get(p, "expect");
    assert_string_equal(json_string_value(json_object_get(run, "level")), "full");
    assert_string_equal(json_string_value(json_object_get(run, "probes")),
                        "config,device");
    assert_int_equal(json_integer_value(json_object_get(expect, "nodes")), 16);
    assert_int_equal(json_integer_value(json_object_get(expect, "gpus")), 0);
    assert_int_equal(json_integer_value(json_object_get(expect, "nics")), 8);
    assert_int_equal(json_integer_value(json_object_get(expect, "nic_gbps")), 400);
    assert_string_equal(json_string_value(json_object_get(p, "name")),
                        strrchr(path, '/') + 1);
    json_decref(p);
}

static void test_an_empty_file_is_the_default(void **state)
{
    char path[64];
    json_t *p = NULL;
    struct fc_error err;
    (void)state;
    assert_int_equal(load("", 0, path, &p, &err), FC_OK);
    check_default(p);
    json_decref(p);
}

static void test_errors_name_file_line_and_key(void **state)
{
    static const struct {
        const char *text;
        int line;
        const char *word;
    } cases[] = {
        {"[floor]\ndevice.gemm.fp32 = 1.5\n", 2, "device.gemm.fp32 = '1.5'"},
        {"[floor]\ndevice.gemm.fp32 = 0\n", 2, "'0'"},
        {"[floor]\ndevice.gemm.fp32 = -1\n", 2, "'-1'"},
        {"[floor]\ndevice.gemm.fp32 = nan\n", 2, "'nan'"},
        {"[floor]\ndevice.gemm.fp32 = 0,6\n", 2, "'0,6'"},
        {"[floor]\n\n\ndevice.gemm.fp32 =\n", 4, "''"},
        {"[floor]\ndevice.gemm.fp99 = 0.5\n", 2, "'device.gemm.fp99' is no metric"},
        {"[effect]\ndevice.mem_bw = 1\n", 2, "device.mem_bw = '1'"},
        {"[expect]\nnodes = 0\n", 2, "nodes = '0'"},
        {"[expect]\nnodes = two\n", 2, "'two'"},
        {"[expect]\nnodes = 99999999999\n", 2, "'99999999999'"},
        {"[expect]\ngpus = -1\n", 2, "'-1'"},
        {"[expect]\nnic_gbps = 0\n", 2, "nic_gbps = '0'"},
        {"[expect]\nracks = 1\n", 2, "'racks'"},
        {"[expext]\nnodes = 1\n", 1, "[expext]"},
        {"[expext]\n", 1, "[expext]"},
        {"nodes = 1\n", 1, "'nodes'"},
        {"[expect]\nnodes = 1\nnodes = 2\n", 3, "twice"},
        {"[expect]\nnodes = 1\n  2\n", 3, "twice"},
        {"[expect]\nnonsense\n", 2, "key = value"},
        {"[expect\nnodes = 1\n", 1, "[expect"},
        {"[run]\nlevel = \xff\n", 2, "UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64], place[96];
        json_t *p = NULL;
        struct fc_error err = {""};
        enum fc_status status =
            load(cases[i].text, strlen(cases[i].text), path, &p, &err);
        snprintf(place, sizeof place, "%s:%d:", path, cases[i].line);
        if (status != FC_USAGE || !strstr(err.text, place) ||
            !strstr(err.text, cases[i].word) || strchr(err.text, '\n'))
            fail_msg("case %zu: status %d, '%s', wanted '%s' and '%s'", i, (int)status,
                     err.text, place, cases[i].word);
        assert_null(p);
    }
}

static void test_files_that_are_no_profile(void **state)
{
    static char line[4096];
    char path[64];
    json_t *p = NULL;
    struct fc_error err = {""};
    (void)state;
    assert_int_equal(fc_profile_load("/nonexistent/x.ini", &p, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "/nonexistent/x.ini"));
    assert_int_equal(fc_profile_load("/", &p, &err), FC_USAGE);
    assert_int_equal(load("[run]\0[run]", 11, path, &p, &err), FC_USAGE);
    memset(line, 'x', sizeof line);
    assert_int_equal(load(line, sizeof line, path, &p, &err), FC_USAGE);
    assert_non_null(strstr(err.text, ":1:"));
    char *huge = calloc(1, 2 << 20);
    assert_non_null(huge);
    memset(huge, '\n', 2 << 20);
    assert_int_equal(load(huge, 2 << 20, path, &p, &err), FC_USAGE);
    free(huge);
    assert_null(p);
}

/* A comma is the decimal sign in many places, but not in a profile. */
static void test_other_locale(void **state)
{
    char path[64];
    json_t *p = NULL;
    struct fc_error err = {""};
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "de_DE.utf8"))
        skip();
    static const char text[] = "[floor]\ndevice.gemm.fp32 = 0.75\n";
    enum fc_status status = load(text, strlen(text), path, &p, &err);
    setlocale(LC_ALL, "C");
    assert_int_equal(status, FC_OK);
    assert_true(share(p, "floor", "device.gemm.fp32") == 0.75);
    json_decref(p);
}

static void test_hostile_profile_in_a_journal(void **state)
{
    static const char *const texts[] = {
        "{\"floor\": {\"device.gemm.fp32\": 0}}",
        "{\"floor\": {\"device.gemm.fp32\": -1}}",
        "{\"floor\": {\"device.gemm.fp32\": 1e308}}",
        "{\"floor\": {\"device.gemm.fp32\": \"0.9\"}}",
        "{\"floor\": []}",
        "{\"expect\": {\"nodes\": -4}}",
        "{\"expect\": 7}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *p = json_loads(texts[i], 0, NULL);
        struct fc_expectation e;
        assert_non_null(p);
        assert_int_equal(fc_expectation_open(p, &e, NULL), FC_OK);
        assert_int_equal(e.bad, 1);
        double floor = fc_expectation_floor(&e, fc_metric_find("device.gemm.fp32"));
        assert_true(floor > 0.3 && floor < 1.0); /* the built-in one stands */
        assert_true(isnan(fc_expectation_floor(&e, NULL)));
        assert_true(e.nodes == -1);
        fc_expectation_close(&e);
        json_decref(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_values_over_the_default),
        cmocka_unit_test(test_an_empty_file_is_the_default),
        cmocka_unit_test(test_errors_name_file_line_and_key),
        cmocka_unit_test(test_files_that_are_no_profile),
        cmocka_unit_test(test_other_locale),
        cmocka_unit_test(test_hostile_profile_in_a_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
