// SPDX-License-Identifier: BSD-3-Clause
/* What control groups of both versions allow, nested, in containers and without any. */
#include "topology/facts_parts.h"

#include "tests/unit/facts_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct fc_facts facts_of(void)
{
    struct fc_facts facts;
    struct fc_error err;
    assert_int_equal(fc_facts_init(&facts, &err), FC_OK);
    fc_facts_cgroup(&source, &facts);
    assert_int_equal(fc_facts_check(&facts, &err), FC_OK);
    return facts;
}

static const char *text_of(const struct fc_facts *facts, const char *key)
{
    const char *text = json_string_value(json_object_get(facts->values, key));
    if (!text)
        fail_msg("%s is no text", key);
    return text;
}

static int64_t int_of(const struct fc_facts *facts, const char *key)
{
    const json_t *value = json_object_get(facts->values, key);
    if (!json_is_integer(value))
        fail_msg("%s is no integer", key);
    return json_integer_value(value);
}

static const char *reason_of(const struct fc_facts *facts, const char *key)
{
    const json_t *gap = json_object_get(facts->unreadable, key);
    const char *reason = json_string_value(json_object_get(gap, "reason"));
    if (!reason || !json_is_string(json_object_get(gap, "right")))
        fail_msg("%s has no gap", key);
    return reason;
}

static void check_limits(double cpus, int64_t memory)
{
    struct fc_facts f = facts_of();
    const json_t *value = json_object_get(f.values, "cgroup.cpus");
    if (cpus < 0)
        assert_string_equal(text_of(&f, "cgroup.cpus"), "unlimited");
    else
        assert_true(json_real_value(value) == cpus);
    if (memory < 0)
        assert_string_equal(text_of(&f, "cgroup.memory"), "unlimited");
    else
        assert_int_equal(int_of(&f, "cgroup.memory"), memory);
    fc_facts_fini(&f);
}

static void control_groups_two(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job/step\n");
    put("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    check_limits(-1, -1);
    put("/sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/job/step/memory.max", "2147483648\n");
    check_limits(-1, 2147483648);
    /* The parent's limit is in force although the child names none or a higher one. */
    put("/sys/fs/cgroup/job/cpu.max", "250000 100000\n");
    put("/sys/fs/cgroup/job/memory.max", "1073741824\n");
    check_limits(2.5, 1073741824);
    put("/sys/fs/cgroup/job/step/memory.max", "4096000\n");
    check_limits(2.5, 4096000);
    /* Inside a container the path may be the host's. */
    put("/proc/self/cgroup", "0::/docker/abc\n");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    check_limits(0.5, -1);
}

static void control_groups_one(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "5:memory:/slurm/job_1\n4:cpu,cpuacct:/slurm/job_1\n"
                             "3:cpuset:/slurm\n0::/init.scope\n");
    put("/sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes",
        "9223372036854771712\n");
    put("/sys/fs/cgroup/cpu,cpuacct/slurm/job_1/cpu.cfs_quota_us", "-1\n");
    check_limits(-1, -1);
    put("/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "4096000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
    check_limits(4, 4096000);
}

static void check_cpus(const char *list)
{
    struct fc_facts f = facts_of();
    assert_string_equal(text_of(&f, "cgroup.cpuset"), list);
    fc_facts_fini(&f);
}

static void allowed_cpus(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job/step\n");
    put("/sys/devices/system/cpu/online", "0-63\n");
    check_cpus("0-63");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "0-31\n");
    check_cpus("0-31");
    /* The nearest group that has the controller counts. */
    put("/sys/fs/cgroup/job/cpuset.cpus.effective", "4-7\n");
    check_cpus("4-7");
    put("/sys/fs/cgroup/job/step/cpuset.cpus.effective", "\n");
    check_cpus("4-7");
    put("/proc/self/cgroup", "3:cpuset:/slurm\n0::/init.scope\n");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "");
    check_cpus("0-63");
    put("/sys/fs/cgroup/cpuset/slurm/cpuset.cpus", "8-9\n");
    check_cpus("8-9");
    put("/sys/fs/cgroup/cpuset/slurm/cpuset.effective_cpus", "9\n");
    check_cpus("9");
}

static void no_control_group(void **state)
{
    (void)state;
    struct fc_facts f = facts_of();
    assert_string_equal(reason_of(&f, "cgroup.cpus"), "ENOENT");
    fc_facts_fini(&f);
    put("/proc/self/cgroup", "0::/\n");
    f = facts_of();
    assert_string_equal(reason_of(&f, "cgroup.memory"), "ENOENT");
    fc_facts_fini(&f);
}

int main(void)
{
#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TREE_TEST(control_groups_two),
        TREE_TEST(control_groups_one),
        TREE_TEST(allowed_cpus),
        TREE_TEST(no_control_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
