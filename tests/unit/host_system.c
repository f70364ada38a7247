// SPDX-License-Identifier: BSD-3-Clause
/* Cores, shares, caches and memory as read from made-up /sys and /proc trees. */
#include "device/host_system.h"
#include "device/device.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

struct tree {
    char root[64];
};

static int open_tree(void **state)
{
    struct tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return -1;
    tree_make(tree->root, sizeof tree->root);
    *state = tree;
    return 0;
}

static int close_tree(void **state)
{
    struct tree *tree = *state;
    tree_remove(tree->root);
    free(tree);
    return 0;
}

/* Writes a file of the tree; its name is put together. */
static void FC_PRINTF(3, 4)
    put(const struct tree *tree, const char *text, const char *fmt, ...)
{
    char path[256] = "/";
    va_list args;
    va_start(args, fmt);
    vsnprintf(path + 1, sizeof path - 1, fmt, args);
    va_end(args);
    tree_write(tree->root, path, text);
}

static cpu_set_t range(int first, int last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = first; cpu <= last; cpu++)
        CPU_SET((size_t)cpu, &set);
    return set;
}

/* Eight PUs on four cores: 0+4, 1+5, 2+6, 3+7; a last-level cache for each two cores.
 */
static void put_machine(const struct tree *tree)
{
    for (int cpu = 0; cpu < 8; cpu++) {
        char text[32];
        snprintf(text, sizeof text, "%d,%d\n", cpu % 4, cpu % 4 + 4);
        put(tree, text, "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
            cpu);
        const char *type[] = {"Data\n", "Instruction\n", "Unified\n", "Unified\n"};
        const char *size[] = {"32K\n", "64K\n", "1024K\n", "16384K\n"};
        const char *level[] = {"1\n", "1\n", "2\n", "3\n"};
        for (int i = 0; i < 4; i++) {
            put(tree, type[i], "sys/devices/system/cpu/cpu%d/cache/index%d/type", cpu,
                i);
            put(tree, size[i], "sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu,
                i);
            put(tree, level[i], "sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu,
                i);
            put(tree,
                i < 3         ? text
                : cpu % 4 < 2 ? "0-1,4-5\n"
                              : "2-3,6-7\n",
                "sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, i);
        }
    }
    put(tree, "0-7\n", "sys/devices/system/cpu/online");
}

static void one_pu_a_core(void **state)
{
    struct tree *tree = *state;
    cpu_set_t mask = range(0, 7), cores, want = range(0, 3);
    put_machine(tree);
    fc_host_cores(tree->root, &mask, &cores);
    assert_true(CPU_EQUAL(&cores, &want));
    mask = range(3, 6); /* 3, 4, 5, 6: four cores */
    fc_host_cores(tree->root, &mask, &cores);
    assert_true(CPU_EQUAL(&cores, &mask));
    mask = range(2, 6); /* 6 is 2's sibling */
    want = range(2, 5);
    fc_host_cores(tree->root, &mask, &cores);
    assert_true(CPU_EQUAL(&cores, &want));
    fc_host_cores("/nonexistent", &mask, &cores);
    assert_true(CPU_EQUAL(&cores, &mask));
}

static void shares_are_disjoint_and_cover(void **state)
{
    (void)state;
    for (int n = 1; n <= 20; n++) {
        cpu_set_t cores = range(3, n + 2);
        for (int shares = 1; shares <= n; shares++) {
            cpu_set_t all, part, both;
            int last = 2;
            CPU_ZERO(&all);
            for (int share = 0; share < shares; share++) {
                fc_host_share(&cores, share, shares, &part);
                assert_true(CPU_COUNT(&part) >= n / shares);
                assert_true(CPU_COUNT(&part) <= n / shares + 1);
                CPU_AND(&both, &all, &part);
                assert_int_equal(CPU_COUNT(&both), 0);
                for (int i = 0; i < CPU_COUNT(&part); i++) /* contiguous, in order */
                    assert_true(CPU_ISSET((size_t)(++last), &part));
                CPU_OR(&all, &all, &part);
            }
            assert_true(CPU_EQUAL(&all, &cores));
        }
    }
}

static void more_shares_than_cores_take_one_each_evenly(void **state)
{
    cpu_set_t cores = range(0, 1), part, none;
    int used[2] = {0, 0};
    (void)state;
    for (int share = 0; share < 64; share++) {
        fc_host_share(&cores, share, 64, &part);
        assert_int_equal(CPU_COUNT(&part), 1);
        used[CPU_ISSET(1, &part) != 0]++;
    }
    assert_int_equal(used[0], 32);
    assert_int_equal(used[1], 32);
    CPU_ZERO(&none);
    fc_host_share(&none, 0, 1, &part);
    assert_int_equal(CPU_COUNT(&part), 0);
    fc_host_share(&cores, -3, 0, &part);
    assert_true(CPU_EQUAL(&part, &cores));
}

static void the_device_uses_what_it_says(void **state)
{
    cpu_set_t mask, cores, part, both;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    fc_device_host_cores(0, 1, &cores);
    assert_true(CPU_COUNT(&cores) >= 1);
    CPU_AND(&both, &cores, &mask);
    assert_true(CPU_EQUAL(&both, &cores));
    for (int shares = 2; shares < 5; shares++)
        for (int share = 0; share < shares; share++) {
            struct fc_device *device;
            struct fc_device_info info;
            struct fc_error err;
            fc_device_host_cores(share, shares, &part);
            assert_int_equal(fc_device_host_open(share, shares, &device, &err), FC_OK);
            assert_int_equal(device->ops->info(device, &info, &err), FC_OK);
            assert_int_equal(info.threads, CPU_COUNT(&part));
            device->ops->close(device);
        }
}

static void caches_are_counted_once(void **state)
{
    struct tree *tree = *state;
    cpu_set_t cores = range(0, 3);
    put_machine(tree);
    assert_int_equal(fc_host_cache_bytes(tree->root, &cores), 32 * MIB);
    cores = range(0, 1);
    assert_int_equal(fc_host_cache_bytes(tree->root, &cores), 16 * MIB);
    cores = range(2, 2);
    assert_int_equal(fc_host_cache_bytes(tree->root, &cores), 16 * MIB);
    assert_int_equal(fc_host_cache_bytes("/nonexistent", &cores), 0);
}

static void memory_is_the_fair_part(void **state)
{
    struct tree *tree = *state;
    put_machine(tree);
    assert_int_equal(fc_host_machine_cores(tree->root), 4);
    assert_int_equal(fc_host_machine_cores("/nonexistent"), 0);
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 0);
    put(tree, "MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n", "proc/meminfo");
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 8192 * MIB);
    assert_int_equal(fc_host_memory_bytes(tree->root, 1, 4), 2048 * MIB);
    assert_int_equal(fc_host_memory_bytes(tree->root, 9, 4), 8192 * MIB);
}

static void control_groups_bound_memory(void **state)
{
    struct tree *tree = *state;
    put_machine(tree);
    put(tree, "MemAvailable:    8388608 kB\n", "proc/meminfo");
    /* version 2: the job's own group has no limit, the one above it has */
    put(tree, "0::/job/step\n", "proc/self/cgroup");
    put(tree, "max\n", "sys/fs/cgroup/job/step/memory.max");
    put(tree, "209715200\n", "sys/fs/cgroup/job/step/memory.current");
    put(tree, "1073741824\n", "sys/fs/cgroup/job/memory.max");
    put(tree, "536870912\n", "sys/fs/cgroup/job/memory.current");
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 512 * MIB);
    /* page cache gives way */
    put(tree, "anon 5\ninactive_file 104857600\nactive_file 104857600\nshmem 7\n",
        "sys/fs/cgroup/job/memory.stat");
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 712 * MIB);
    put(tree, "268435456\n", "sys/fs/cgroup/job/step/memory.max");
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 56 * MIB);
    /* version 1, with the group's path unknown inside the container */
    put(tree, "5:cpu:/x\n4:memory:/outside/of/here\n", "proc/self/cgroup");
    put(tree, "314572800\n", "sys/fs/cgroup/memory/memory.limit_in_bytes");
    put(tree, "104857600\n", "sys/fs/cgroup/memory/memory.usage_in_bytes");
    put(tree, "total_inactive_file 52428800\n", "sys/fs/cgroup/memory/memory.stat");
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 250 * MIB);
    put(tree, "9223372036854771712\n", "sys/fs/cgroup/memory/memory.limit_in_bytes");
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 8192 * MIB);
    put(tree, "100\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes"); /* over its limit */
    assert_int_equal(fc_host_memory_bytes(tree->root, 4, 4), 1);
}

static void the_cpu_has_a_name(void **state)
{
    struct tree *tree = *state;
    char name[64];
    fc_host_cpu_name(tree->root, name, sizeof name);
    assert_true(strlen(name) > 0);
    put(tree, "processor\t: 0\nmodel name\t: Fine CPU 9000: fast\nflags\t: x\n",
        "proc/cpuinfo");
    fc_host_cpu_name(tree->root, name, sizeof name);
    assert_string_equal(name, "Fine CPU 9000: fast");
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, open_tree, close_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(one_pu_a_core),
        cmocka_unit_test(shares_are_disjoint_and_cover),
        cmocka_unit_test(more_shares_than_cores_take_one_each_evenly),
        cmocka_unit_test(the_device_uses_what_it_says),
        TREE_TEST(caches_are_counted_once),
        TREE_TEST(memory_is_the_fair_part),
        TREE_TEST(control_groups_bound_memory),
        TREE_TEST(the_cpu_has_a_name),
    };
    return cmocka_run_group_tests_name("host_system", tests, NULL, NULL);
}
