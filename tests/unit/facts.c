// SPDX-License-Identifier: BSD-3-Clause
/* Facts of a node out of small trees of /proc and /sys that each test writes, and that
 * every key of core/facts.def is accounted for. */
#include "topology/facts.h"

#include "tests/unit/facts_rig.h"
#include "topology/facts_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef void (*part_fn)(const struct fc_source *, struct fc_facts *);

static struct fc_facts facts_of(part_fn part)
{
    struct fc_facts facts;
    struct fc_error err;
    assert_int_equal(fc_facts_init(&facts, &err), FC_OK);
    part(&source, &facts);
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

/* --- the node --- */

static void kernel(void **state)
{
    (void)state;
    put("/proc/sys/kernel/hostname", "gpu-07\n");
    put("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
    put("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    put("/etc/os-release", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.3 LTS\"\n");
    put("/proc/cmdline",
        "BOOT_IMAGE=/vmlinuz root=UUID=1 pci=realloc=off quiet iommu=pt\n");
    struct fc_facts f = facts_of(fc_facts_kernel);
    assert_string_equal(text_of(&f, "host.name"), "gpu-07");
    assert_string_equal(text_of(&f, "kernel.release"), "5.15.0-91-generic");
    assert_string_equal(text_of(&f, "os.name"), "Ubuntu 22.04.3 LTS");
    assert_string_equal(text_of(&f, "kernel.options"), "iommu=pt pci=realloc=off");
    assert_int_equal(strlen(text_of(&f, "host.machine_id")), 16);
    assert_null(strstr(text_of(&f, "host.machine_id"), "0123456789abcdef"));
    assert_string_equal(reason_of(&f, "host.boot_id"), "ENOENT");
    fc_facts_fini(&f);
    /* as images have it before their first boot */
    put("/etc/machine-id", "uninitialized\n");
    put("/proc/cmdline", "quiet cma=64M\n");
    f = facts_of(fc_facts_kernel);
    assert_string_equal(reason_of(&f, "host.machine_id"), "unsupported");
    assert_string_equal(text_of(&f, "kernel.options"), "cma=64M");
    fc_facts_fini(&f);
}

/* Two packages of two cores with two threads each, one NUMA node a package. */
static void put_processors(void)
{
    char path[128], text[64];
    put("/sys/devices/system/cpu/online", "0-7\n");
    put("/sys/devices/system/cpu/possible", "0-7\n");
    put("/sys/devices/system/cpu/present", "0-7\n");
    for (int cpu = 0; cpu < 8; cpu++) {
        int package = cpu % 4 / 2;
        const struct {
            const char *name;
            int mask;
        } masks[] = {{"thread_siblings", 0x11 << cpu % 4},
                     {"core_cpus", 0x11 << cpu % 4},
                     {"core_siblings", 0x33 << 2 * package},
                     {"package_cpus", 0x33 << 2 * package}};
        for (size_t i = 0; i < 4; i++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s",
                     cpu, masks[i].name);
            snprintf(text, sizeof text, "%02x\n", (unsigned int)masks[i].mask);
            put(path, text);
        }
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id",
                 cpu);
        put(path, cpu % 2 ? "1\n" : "0\n");
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        put(path, package ? "1\n" : "0\n");
    }
    put("/sys/devices/system/node/online", "0-1\n");
    put("/sys/devices/system/node/node0/cpumap", "33\n");
    put("/sys/devices/system/node/node1/cpumap", "cc\n");
    put("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1000 kB\n");
    put("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 1000 kB\n");
    put("/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Made-up 7 @ 2 GHz\nflags\t: fpu\n\n"
        "processor\t: 1\nmodel name\t: Other\n");
}

static void processors(void **state)
{
    (void)state;
    put_processors();
    put("/sys/devices/system/cpu/smt/active", "1\n");
    put("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    put("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance\n");
    put("/proc/sys/kernel/numa_balancing", "1\n");
    struct fc_facts f = facts_of(fc_facts_cpu);
    assert_string_equal(text_of(&f, "cpu.model"), "Made-up 7 @ 2 GHz");
    assert_string_equal(text_of(&f, "cpu.governor"), "performance,powersave");
    assert_true(json_is_true(json_object_get(f.values, "cpu.smt")));
    assert_int_equal(int_of(&f, "numa.balancing"), 1);
    fc_facts_fini(&f);
    setenv("HWLOC_FSROOT", source.root, 1);
    f = facts_of(fc_facts_topology);
    unsetenv("HWLOC_FSROOT");
    assert_int_equal(int_of(&f, "cpu.sockets"), 2);
    assert_int_equal(int_of(&f, "cpu.cores"), 4);
    assert_int_equal(int_of(&f, "cpu.threads"), 8);
    assert_int_equal(int_of(&f, "numa.nodes"), 2);
    const json_t *cores = json_object_get(f.values, "cpu.siblings");
    assert_int_equal(json_array_size(cores), 4);
    assert_string_equal(json_string_value(json_array_get(cores, 1)), "1,5");
    fc_facts_fini(&f);
}

/* What the kernel manages of the memory that is installed, in KiB, as real nodes have
 * it. */
static void memory_is_rounded_to_what_is_installed(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t gib;
    } cases[] = {
        {"MemTotal:       24668344 kB\n", 24},
        {"MemTotal:       65586000 kB\n", 64},
        {"MemTotal:       527955000 kB\n", 512},
        {"MemTotal:      528012345 kB\n", 512},
        {"MemTotal:     2113458000 kB\n", 2048},
        {"MemTotal:     2047000000 kB\n", 1984},
        {"MemTotal:         900000 kB\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("/proc/meminfo", cases[i].line);
        struct fc_facts f = facts_of(fc_facts_memory);
        assert_int_equal(int_of(&f, "mem.gib"), cases[i].gib);
        assert_int_equal(int_of(&f, "mem.bytes"), 1024 * atoll(cases[i].line + 9));
        fc_facts_fini(&f);
    }
    put("/proc/meminfo", "MemFree: 1 kB\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("/proc/sys/vm/nr_hugepages", "512\n");
    struct fc_facts f = facts_of(fc_facts_memory);
    assert_string_equal(reason_of(&f, "mem.gib"), "unsupported");
    assert_string_equal(text_of(&f, "mem.thp"), "madvise");
    assert_int_equal(int_of(&f, "mem.hugepages"), 512);
    fc_facts_fini(&f);
}

static void check_virt(const char *hypervisor, const char *container)
{
    struct fc_facts f = facts_of(fc_facts_virt);
    assert_string_equal(text_of(&f, "virt.hypervisor"), hypervisor);
    assert_string_equal(text_of(&f, "virt.container"), container);
    fc_facts_fini(&f);
}

static void machines_and_containers(void **state)
{
    (void)state;
    const char *real = "model name : a\nflags : fpu vme\n";
    const char *guest = "model name : a\nflags : fpu hypervisor vme\n";
    put("/proc/cpuinfo", real);
    put("/proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_1/step_0\n");
    check_virt("none", "none");
    /* A cloud's bare metal has the cloud's name and no flag. */
    put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    check_virt("none", "none");
    put("/sys/class/dmi/id/sys_vendor", "OpenStack Foundation\n");
    check_virt("none", "none");
    put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    put("/proc/cpuinfo", guest);
    check_virt("unknown", "none");
    put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
    check_virt("kvm", "none");
    put("/sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
    put("/sys/class/dmi/id/product_name", "Virtual Machine\n");
    put("/proc/self/cgroup", "0::/kubepods.slice/pod1/x\n");
    check_virt("hyper-v", "kubernetes");
    put("/.dockerenv", "");
    check_virt("hyper-v", "docker");
    put("/proc/self/environ", "HOME=/\ncontainer=podman\n");
    check_virt("hyper-v", "podman");
    put("/proc/self/environ", "");
    /* Other processors have no such flag: then the firmware's word counts. */
    put("/proc/cpuinfo", "CPU part : 0xd40\n");
    check_virt("hyper-v", "docker");
}

static void put_interface(const char *name, const char *where, const char *state,
                          const char *speed)
{
    char path[256], target[128];
    const struct {
        const char *file, *text;
    } files[] = {{"operstate", state}, {"speed", speed}, {"mtu", "9000\n"}};
    snprintf(target, sizeof target, "/sys/devices/%s/net/%s", where, name);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", target, files[i].file);
        if (files[i].text)
            put(path, files[i].text);
    }
    if (!strstr(where, "virtual")) {
        snprintf(path, sizeof path, "%s/device/driver", target);
        tree_link(source.root, path, "../../bus/pci/drivers/mlx5_core");
    }
    snprintf(path, sizeof path, "/sys/class/net/%s", name);
    snprintf(target, sizeof target, "../../devices/%s/net/%s", where, name);
    tree_link(source.root, path, target);
}

static void interfaces(void **state)
{
    (void)state;
    put_interface("eth2", "pci0000:00/0", "up\n", "100000\n");
    put_interface("eth0", "pci0000:00/1", "up\n", "100000\n");
    put_interface("eth1", "pci0000:00/2", "up\n", "2500\n");
    put_interface("eth3", "pci0000:00/3", "down\n", "-1\n");
    put_interface("eth4", "pci0000:00/4", "up\n", NULL);
    put_interface("veth9", "virtual", "up\n", "10000\n");
    put("/sys/class/net/bonding_masters", "");
    struct fc_facts f = facts_of(fc_facts_net);
    assert_string_equal(
        text_of(&f, "net.links"),
        "mlx5_core 100 Gb/s mtu 9000 x2; mlx5_core 2.500 Gb/s mtu 9000; "
        "mlx5_core ? Gb/s mtu 9000");
    json_t *all = json_object_get(f.values, "net.interfaces");
    assert_int_equal(json_array_size(all), 6);
    json_t *down = json_array_get(all, 3), *veth = json_array_get(all, 5);
    assert_string_equal(json_string_value(json_object_get(down, "name")), "eth3");
    assert_true(json_is_null(json_object_get(down, "speed_Gbps")));
    assert_true(json_is_false(json_object_get(down, "virtual")));
    assert_true(json_is_true(json_object_get(veth, "virtual")));
    assert_true(json_is_null(json_object_get(veth, "driver")));
    fc_facts_fini(&f);
}

static void put_pci(const char *address, const char *class, const char *vendor)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", address);
    put(path, class);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", address);
    put(path, vendor);
}

static void accelerators(void **state)
{
    (void)state;
    struct fc_facts f = facts_of(fc_facts_gpu);
    assert_string_equal(reason_of(&f, "gpu.count"), "ENOENT");
    fc_facts_fini(&f);
    put_pci("0000:03:00.0", "0x030000\n", "0x1a03\n"); /* the board's console */
    put_pci("0000:04:00.0", "0x020000\n", "0x15b3\n"); /* a NIC */
    f = facts_of(fc_facts_gpu);
    assert_int_equal(int_of(&f, "gpu.count"), 0);
    assert_string_equal(text_of(&f, "gpu.driver"), "none");
    fc_facts_fini(&f);
    put_pci("0000:1a:00.0", "0x030200\n", "0x10de\n");
    put_pci("0000:1b:00.0", "0x030000\n", "0x10de\n");
    put_pci("0000:1c:00.0", "0x038000\n", "0x1002\n");
    put("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 2023\n");
    f = facts_of(fc_facts_gpu);
    assert_int_equal(int_of(&f, "gpu.count"), 3);
    assert_string_equal(text_of(&f, "gpu.driver"), "535.54.03");
    fc_facts_fini(&f);
}

static void rdma_devices(void **state)
{
    (void)state;
    struct fc_facts f = facts_of(fc_facts_rdma);
    assert_int_equal(int_of(&f, "rdma.count"), 0);
    fc_facts_fini(&f);
    put("/sys/class/infiniband/mlx5_0/node_guid", "x");
    put("/sys/class/infiniband/mlx5_1/node_guid", "x");
    put("/sys/class/infiniband/mlx5_1/device/physfn/x", ""); /* a virtual function */
    f = facts_of(fc_facts_rdma);
    assert_int_equal(int_of(&f, "rdma.count"), 1);
    assert_int_equal(json_array_size(json_object_get(f.values, "rdma.devices")), 2);
    fc_facts_fini(&f);
}

/* --- text, class, keys --- */

static void any_bytes_become_text(void **state)
{
    (void)state;
    put("/proc/sys/kernel/hostname", "a\xff\x01"
                                     "b\n");
    put("/proc/cmdline", "quiet \xc3\xa9\n");
    struct fc_facts f = facts_of(fc_facts_kernel);
    assert_string_equal(text_of(&f, "host.name"), "a??b");
    assert_string_equal(text_of(&f, "kernel.cmdline"), "quiet \xc3\xa9");
    fc_facts_fini(&f);
}

static uint64_t class_of(const struct fc_facts *facts)
{
    uint64_t hash = 1;
    json_t *picture = NULL;
    struct fc_error err;
    assert_int_equal(fc_facts_class(facts, &hash, &picture, &err), FC_OK);
    assert_true(json_is_object(picture));
    json_decref(picture);
    return hash;
}

static void classes(void **state)
{
    (void)state;
    struct fc_facts a, b, none;
    struct fc_error err;
    assert_int_equal(fc_facts_init(&a, &err), FC_OK);
    assert_int_equal(fc_facts_init(&b, &err), FC_OK);
    assert_int_equal(fc_facts_init(&none, &err), FC_OK);
    assert_int_equal(class_of(&none), 0);
    fc_facts_int(&a, "cpu.cores", 64);
    fc_facts_text(&a, "cpu.model", "x");
    fc_facts_text(&b, "cpu.model", "x");
    uint64_t unknown_cores = class_of(&b);
    fc_facts_int(&b, "cpu.cores", 64);
    assert_true(class_of(&a) == class_of(&b));
    assert_true(class_of(&a) != unknown_cores);
    fc_facts_text(&b, "kernel.release", "another");
    fc_facts_text(&b, "host.name", "b");
    assert_true(class_of(&a) == class_of(&b));
    fc_facts_int(&b, "gpu.count", 8);
    assert_true(class_of(&a) != class_of(&b));
    fc_facts_fini(&a);
    fc_facts_fini(&b);
    fc_facts_fini(&none);
}

static enum fc_status take_all(void *arg, const struct fc_facts *part,
                               struct fc_error *err)
{
    (void)err;
    json_t *from =
        json_pack("{s:O, s:O}", "facts", part->values, "unreadable", part->unreadable);
    fc_facts_merge(arg, from);
    json_decref(from);
    return FC_OK;
}

/* Every key of facts.def has a value or a gap, and there is no other key. */
static void check_keys(struct fc_facts *f, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!json_object_get(f->values, keys[i]) ==
            !json_object_get(f->unreadable, keys[i]))
            fail_msg("%s has neither or both of a value and a gap", keys[i]);
    assert_int_equal(json_object_size(f->values) + json_object_size(f->unreadable), n);
}

static void every_key_is_accounted_for(void **state)
{
    (void)state;
#define FC_FACT(key, equal, help) key,
#define FC_RANK_FACT(key, equal, help)
#define FC_PROBE_FACT(key, equal, help)
    static const char *const node[] = {
#include "core/facts.def"
    };
#undef FC_FACT
#define FC_FACT(key, equal, help)
#define FC_RANK_FACT(key, equal, help) key,
#define FC_PROBE_FACT(key, equal, help)
    static const char *const rank[] = {
#include "core/facts.def"
    };
#undef FC_FACT
    const struct fc_source sources[] = {source, {.root = ""}}; /* nothing, and all */
    struct fc_error err;
    for (size_t i = 0; i < 2; i++) {
        struct fc_facts f;
        int pid = getpid();
        assert_int_equal(fc_facts_init(&f, &err), FC_OK);
        assert_int_equal(fc_facts_host(&sources[i], take_all, &f, &err), FC_OK);
        assert_int_equal(fc_facts_load(&sources[i], &pid, 1, 1000, &f, &err), FC_OK);
        check_keys(&f, node, sizeof node / sizeof *node);
        fc_facts_fini(&f);
        assert_int_equal(fc_facts_init(&f, &err), FC_OK);
        assert_int_equal(fc_facts_rank(&sources[i], "none", &f, &err), FC_OK);
        check_keys(&f, rank, sizeof rank / sizeof *rank);
        fc_facts_fini(&f);
    }
}

int main(void)
{
#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TREE_TEST(kernel),
        TREE_TEST(processors),
        TREE_TEST(memory_is_rounded_to_what_is_installed),
        TREE_TEST(machines_and_containers),
        TREE_TEST(interfaces),
        TREE_TEST(accelerators),
        TREE_TEST(rdma_devices),
        TREE_TEST(any_bytes_become_text),
        cmocka_unit_test(classes),
        TREE_TEST(every_key_is_accounted_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
