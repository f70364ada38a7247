// SPDX-License-Identifier: BSD-3-Clause
/* Reading files of /proc and /sys, and why a value is missing. */
#include "topology/facts_read.h"

#include "tests/unit/facts_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void a_file_is_bounded_and_trimmed(void **state)
{
    (void)state;
    char text[8];
    struct fc_gap gap;
    put("/proc/x", "  ab c\n \n");
    assert_true(fc_source_read(&source, "/proc/x", text, sizeof text, &gap));
    assert_string_equal(text, "  ab c");
    put("/proc/x", "0123456789");
    assert_true(fc_source_read(&source, "/proc/x", text, sizeof text, &gap));
    assert_string_equal(text, "0123456");
    put("/proc/x", "");
    assert_true(fc_source_read(&source, "/proc/x", text, sizeof text, &gap));
    assert_string_equal(text, "");
}

static void integers(void **state)
{
    (void)state;
    int64_t value = 7;
    struct fc_gap gap;
    put("/sys/a", "0x10de\n");
    assert_true(fc_source_int(&source, "/sys/a", &value, &gap));
    assert_int_equal(value, 0x10de);
    put("/sys/a", "-1\n");
    assert_true(fc_source_int(&source, "/sys/a", &value, &gap));
    assert_int_equal(value, -1);
    static const char *const bad[] = {"", "x", "12x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put("/sys/a", bad[i]);
        assert_false(fc_source_int(&source, "/sys/a", &value, &gap));
        assert_string_equal(gap.reason, "error");
        assert_int_equal(value, -1);
    }
}

static void gaps_are_told_apart(void **state)
{
    (void)state;
    char text[64];
    struct fc_gap gap;
    assert_false(fc_source_read(&source, "/sys/none", text, sizeof text, &gap));
    assert_string_equal(gap.reason, "ENOENT");
    fc_gap_errno(&gap, &source, "/sys/class/dmi/id/product_serial", EACCES);
    assert_string_equal(gap.reason, "EACCES");
    assert_string_equal(gap.right, "root, to read /sys/class/dmi/id/product_serial");
    fc_gap_errno(&gap, &source, "/sys/class/net/eth0/speed", EINVAL);
    assert_string_equal(gap.reason, "unsupported");
    fc_gap_errno(&gap, &source, "/sys/x", EIO);
    assert_string_equal(gap.reason, "error");
    put("/sys/secret", "x");
    tree_mode(source.root, "/sys/secret", 0);
    bool read = fc_source_read(&source, "/sys/secret", text, sizeof text, &gap);
    if (geteuid() == 0)
        assert_true(read); /* root needs no right */
    else
        assert_string_equal(gap.reason, "EACCES");
}

static void a_pipe_does_not_block(void **state)
{
    (void)state;
    char full[128], text[64];
    struct fc_gap gap;
    put("/sys/x", "");
    snprintf(full, sizeof full, "%s/sys/pipe", source.root);
    assert_int_equal(mkfifo(full, 0600), 0);
    assert_false(fc_source_read(&source, "/sys/pipe", text, sizeof text, &gap));
    assert_string_equal(gap.reason, "unsupported");
    assert_false(fc_source_read(&source, "/sys", text, sizeof text, &gap));
    assert_string_equal(gap.reason, "unsupported");
}

static void what_a_container_masks(void **state)
{
    (void)state;
    char text[64];
    struct fc_gap gap;
    put("/proc/self/mountinfo",
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "23 27 0:22 / /sys ro,nosuid - sysfs sysfs ro\n"
        "24 23 0:50 / /sys/firmware ro,relatime shared:3 master:1 - tmpfs tmpfs ro\n"
        "25 23 0:51 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "26 27 0:22 / /sys ro,nosuid - sysfs sysfs ro\n");
    assert_false(fc_source_read(&source, "/sys/firmware/x", text, sizeof text, &gap));
    assert_string_equal(gap.reason, "masked");
    assert_non_null(strstr(gap.right, "lays a tmpfs over /sys/firmware"));
    static const char *const absent[] = {"/sys/firmwares", "/sys/class/x", "/proc/x",
                                         "/sys/fs/cgroup/x", "/etc/x"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        assert_false(fc_source_read(&source, absent[i], text, sizeof text, &gap));
        assert_string_equal(gap.reason, "ENOENT");
    }
    tree_link(source.root, "/proc/keys", "/dev/null");
    assert_false(fc_source_read(&source, "/proc/keys", text, sizeof text, &gap));
    assert_string_equal(gap.reason, "masked");
    put("/proc/self/mountinfo", "22 27 0:21 / / rw - overlay overlay rw\n");
    assert_false(fc_source_read(&source, "/sys/class/x", text, sizeof text, &gap));
    assert_string_equal(gap.reason, "masked");
    assert_non_null(strstr(gap.right, "no /sys is mounted here"));
}

static void lists_are_sorted(void **state)
{
    (void)state;
    struct fc_names names;
    struct fc_gap gap;
    put("/sys/x/b", "");
    put("/sys/x/a10", "");
    put("/sys/x/a1", "");
    put("/sys/x/.hidden", "");
    assert_true(fc_source_list(&source, "/sys/x", &names, &gap));
    assert_int_equal(names.count, 3);
    assert_string_equal(names.name[0], "a1");
    assert_string_equal(names.name[1], "a10");
    assert_string_equal(names.name[2], "b");
    fc_names_free(&names);
    assert_false(fc_source_list(&source, "/sys/y", &names, &gap));
    assert_string_equal(gap.reason, "ENOENT");
}

static void remember(void *arg, const char *path)
{
    snprintf(arg, 64, "%s", path);
}

/* A hang is named by the last path that was noted. */
static void each_file_is_noted_first(void **state)
{
    (void)state;
    char noted[64] = "", text[8];
    struct fc_gap gap;
    struct fc_source noting = {.root = source.root, .note = remember, .arg = noted};
    assert_false(fc_source_read(&noting, "/etc/a", text, sizeof text, &gap));
    assert_string_equal(noted, "/etc/a");
    assert_false(fc_source_link(&noting, "/etc/b", text, sizeof text, &gap));
    assert_string_equal(noted, "/etc/b");
    assert_false(fc_source_exists(&noting, "/etc/c"));
    assert_string_equal(noted, "/etc/c");
}

int main(void)
{
#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TREE_TEST(a_file_is_bounded_and_trimmed), TREE_TEST(integers),
        TREE_TEST(gaps_are_told_apart),           TREE_TEST(a_pipe_does_not_block),
        TREE_TEST(what_a_container_masks),        TREE_TEST(lists_are_sorted),
        TREE_TEST(each_file_is_noted_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
