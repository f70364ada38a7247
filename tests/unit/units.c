// SPDX-License-Identifier: BSD-3-Clause
/* Sizes, durations and numbers: what is taken, what is refused, and that a locale with
 * decimal commas changes nothing. */
#include "core/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)
#define SECOND UINT64_C(1000000000)
#define UNTOUCHED UINT64_C(424242)

typedef bool parse_fn(const char *text, uint64_t *out);

static void takes(parse_fn *parse, const char *text, uint64_t want)
{
    uint64_t got = UNTOUCHED;
    if (!parse(text, &got))
        fail_msg("'%s' was refused", text);
    if (got != want)
        fail_msg("'%s' is %llu, not %llu", text, (unsigned long long)got,
                 (unsigned long long)want);
}

static void refuses(parse_fn *parse, const char *text)
{
    uint64_t got = UNTOUCHED;
    if (parse(text, &got))
        fail_msg("'%s' was taken as %llu", text, (unsigned long long)got);
    if (got != UNTOUCHED)
        fail_msg("'%s' was refused, but the output was written", text);
}

static void sizes_are_powers_of_two(void **state)
{
    (void)state;
    takes(fc_parse_size, "0", 0);
    takes(fc_parse_size, "0K", 0);
    takes(fc_parse_size, "007", 7);
    takes(fc_parse_size, "64", 64);
    takes(fc_parse_size, "64B", 64);
    takes(fc_parse_size, "8K", 8 * KIB);
    takes(fc_parse_size, "8k", 8 * KIB);
    takes(fc_parse_size, "4KiB", 4 * KIB);
    takes(fc_parse_size, "4Ki", 4 * KIB);
    takes(fc_parse_size, "1M", MIB);
    takes(fc_parse_size, "1m", MIB);
    takes(fc_parse_size, "2G", 2 * GIB);
    takes(fc_parse_size, "2GiB", 2 * GIB);
    takes(fc_parse_size, "3T", 3 * TIB);
    takes(fc_parse_size, "1.5G", 3 * GIB / 2);
    takes(fc_parse_size, ".5K", 512);
    takes(fc_parse_size, "1.0", 1);
    takes(fc_parse_size, "1.3K", 1331); /* 1331.2 */
    takes(fc_parse_size, "1.7K", 1741); /* 1740.8 */
    takes(fc_parse_size, "0.999999999999999999K", 1024);
    takes(fc_parse_size, "18446744073709551615", UINT64_MAX);
    takes(fc_parse_size, "16777215T", 16777215 * TIB);
}

static void wrong_sizes_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "K",
        "B",
        "iB",
        "-1",
        "-0",
        "+1",
        " 1",
        "1 ",
        "1 K",
        "12Q",
        "1KK",
        "1Kx",
        "1KB",
        "1MB",
        "1GB",
        "1kb",
        "1Kb",
        "64b",
        "1KIB",
        "1P",
        "1.5",
        "1.5B",
        "1.K",
        "1.",
        ".",
        "1..5",
        "1,5K",
        "1e3",
        "0x10",
        "nan",
        "inf",
        "K1",
        "1K1",
        "1.5.K",
        "--1",
        "1\n",
        "\t1",
        "1K\n",
        "0.0001K", /* a tenth of a byte */
        "18446744073709551616",
        "16777216T",
        "18014398509481984K",
        "99999999999999999999999999",
        "17179869184G",
        "0.1234567890123456789K",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(fc_parse_size, wrong[i]);
}

static void durations_have_units(void **state)
{
    (void)state;
    takes(fc_parse_duration, "0", 0);
    takes(fc_parse_duration, "90", 90 * SECOND);
    takes(fc_parse_duration, "1.5", SECOND * 3 / 2);
    takes(fc_parse_duration, "7ns", 7);
    takes(fc_parse_duration, "850us", 850000);
    takes(fc_parse_duration, "20ms", 20000000);
    takes(fc_parse_duration, "0.25ms", 250000);
    takes(fc_parse_duration, "30s", 30 * SECOND);
    takes(fc_parse_duration, "10m", 600 * SECOND);
    takes(fc_parse_duration, "2h", 7200 * SECOND);
    takes(fc_parse_duration, "1.5h", 5400 * SECOND);
    takes(fc_parse_duration, "4m10s", 250 * SECOND);
    takes(fc_parse_duration, "1h30m", 5400 * SECOND);
    takes(fc_parse_duration, "1h0.5s", 3600 * SECOND + SECOND / 2);
    takes(fc_parse_duration, "1s1ms1us1ns", SECOND + 1001001);
    takes(fc_parse_duration, "18446744073709551615ns", UINT64_MAX);
}

static void wrong_durations_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "s",
        "-1",
        "-1s",
        "+1s",
        " 1s",
        "1 s",
        "1s ",
        "1d",
        "1M",
        "1H",
        "1S",
        "1min",
        "1sec",
        "1h30",
        "30m1h",
        "1m1m",
        "1s5",
        "5 5",
        "0.5ns",
        "0.0001us",
        "1,5s",
        "1e3s",
        "0x1s",
        "inf",
        "nan",
        "1mss",
        "1ms1s",
        "1.s",
        "1hh",
        "18446744074",
        "18446744073709551616ns",
        "5124096h",
        "5124095h3600000000000ns9",
        "18446744073s1s", /* not in order either */
        "5124095h99999999999m",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(fc_parse_duration, wrong[i]);
}

static void numbers_are_plain(void **state)
{
    static const struct {
        const char *text;
        double want;
    } good[] = {
        {"0", 0.0},
        {"2", 2.0},
        {"-1.5", -1.5},
        {"1.25", 1.25},
        {".5", 0.5},
        {"-.5", -0.5},
        {"1e3", 1e3},
        {"1E-3", 1e-3},
        {"2.5e+2", 250.0},
        {"0.1", 0.1},
        {"1.7976931348623157e308", 1.7976931348623157e308},
    };
    static const char *const wrong[] = {
        "",      " ",      "-",     ".",        "1.",    "+1",   " 1",
        "1 ",    "1,5",    "1.5.2", "e3",       "1e",    "1e+",  "1e3.",
        "0x1p3", "0x10",   "inf",   "infinity", "nan",   "-inf", "NaN(1)",
        "1e999", "-1e999", "1f",    "--1",      "1_000",
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double got = 42.0;
        if (!fc_parse_double(good[i].text, &got) || fabs(got - good[i].want) > 0.0)
            fail_msg("'%s' is not %g", good[i].text, good[i].want);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double got = 42.0;
        if (fc_parse_double(wrong[i], &got) || fabs(got - 42.0) > 0.0)
            fail_msg("'%s' was taken", wrong[i]);
    }
}

static void integers_are_whole(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {
        {"0", 0},
        {"-0", 0},
        {"12", 12},
        {"-12", -12},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"0012", 12},
    };
    static const char *const wrong[] = {
        "",
        "-",
        "+1",
        " 1",
        "1 ",
        "1.0",
        "1e3",
        "0x10",
        "1K",
        "--1",
        "- 1",
        "1\n",
        "ten",
        "9223372036854775808",
        "-9223372036854775809",
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t got = 42;
        assert_true(fc_parse_int(good[i].text, &got));
        assert_true(got == good[i].want);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t got = 42;
        if (fc_parse_int(wrong[i], &got) || got != 42)
            fail_msg("'%s' was taken", wrong[i]);
    }
}

static void sizes_are_shown_short(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {
        {0, "0B"},
        {1, "1B"},
        {1023, "1023B"},
        {1024, "1K"},
        {1536, "1.5K"},
        {1025, "1K"},
        {64 * KIB, "64K"},
        {MIB - 1, "1M"}, /* 1023.999K is not "1024K" */
        {MIB, "1M"},
        {3 * MIB / 2, "1.5M"},
        {GIB * 10, "10G"},
        {TIB * 5 + TIB / 10, "5.1T"},
        {2000 * TIB, "2000T"},
        {UINT64_MAX, "16777216T"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(fc_format_size(cases[i].bytes).s, cases[i].want);
}

static void durations_are_shown_short(void **state)
{
    static const struct {
        uint64_t ns;
        const char *want;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {999, "999ns"},
        {1000, "1us"},
        {1500, "1.5us"},
        {99949, "99.9us"},
        {99950, "100us"},
        {100450, "100us"},
        {850000, "850us"},
        {999499, "999us"},
        {999500, "1ms"}, /* not "1000us" */
        {12345678, "12.3ms"},
        {12300000000, "12.3s"},
        {59949999999, "59.9s"},
        {59960000000, "1m"}, /* not "60s" */
        {90 * SECOND, "1m30s"},
        {250 * SECOND, "4m10s"},
        {3599499999999, "59m59s"},
        {3599500000000, "1h"},
        {5400 * SECOND, "1h30m"},
        {7200 * SECOND, "2h"},
        {7259 * SECOND, "2h1m"},
        {360000 * SECOND, "100h"},
        {UINT64_MAX, "5124095h35m"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(fc_format_duration(cases[i].ns).s, cases[i].want);
}

/* What is shown can be typed again, and says nearly the same. */
static void shown_values_can_be_typed(void **state)
{
    (void)state;
    for (uint64_t v = 1; v < UINT64_MAX / 5; v += v / 3 + 1) {
        uint64_t back = 0;
        if (v < 4096 * TIB) {
            assert_true(fc_parse_size(fc_format_size(v).s, &back));
            assert_true(fabs((double)back - (double)v) <= 0.05 * (double)v);
        }
        assert_true(fc_parse_duration(fc_format_duration(v).s, &back));
        assert_true(fabs((double)back - (double)v) <= 0.05 * (double)v);
    }
}

/* A locale whose decimals have commas: an installed one, or one that localedef makes in
 * `dir`. */
static bool set_comma_locale(const char *dir)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8",
                                        "de_DE", "fr_FR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i]) &&
            strcmp(localeconv()->decimal_point, ",") == 0)
            return true;
    char command[256];
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >'%s/log' 2>&1", dir, dir);
    if (system(command) != 0 || setenv("LOCPATH", dir, 1) != 0)
        return false;
    return setlocale(LC_ALL, "de_DE.UTF-8") &&
           strcmp(localeconv()->decimal_point, ",") == 0;
}

static void decimal_commas_change_nothing(void **state)
{
    (void)state;
    char dir[] = "/tmp/fc-units-XXXXXX", command[64];
    assert_non_null(mkdtemp(dir));
    bool have = set_comma_locale(dir);
    double plain = strtod("1.5", NULL), got = 0.0;
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    int removed = system(command);
    assert_int_equal(removed, 0);
    if (!have) {
        print_message(
            "# no locale with decimal commas, and localedef cannot make one\n");
        skip();
    }
    assert_true(fabs(plain - 1.0) <=
                0.0); /* the locale is in force: libc stops at '.' */
    bool taken = fc_parse_double("1.5", &got), comma = fc_parse_double("1,5", &got);
    uint64_t bytes = 0, ns = 0;
    bool size = fc_parse_size("1.5K", &bytes), time = fc_parse_duration("1.5s", &ns);
    struct fc_text shown = fc_format_size(1536), shown_time = fc_format_duration(1500);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    assert_true(taken && !comma && size && time);
    assert_true(fabs(got - 1.5) <= 0.0);
    assert_int_equal(bytes, 1536);
    assert_int_equal(ns, 1500000000);
    assert_string_equal(shown.s, "1.5K");
    assert_string_equal(shown_time.s, "1.5us");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_powers_of_two),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(wrong_durations_are_refused),
        cmocka_unit_test(numbers_are_plain),
        cmocka_unit_test(integers_are_whole),
        cmocka_unit_test(sizes_are_shown_short),
        cmocka_unit_test(durations_are_shown_short),
        cmocka_unit_test(shown_values_can_be_typed),
        cmocka_unit_test(decimal_commas_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
