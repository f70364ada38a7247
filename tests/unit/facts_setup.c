// SPDX-License-Identifier: BSD-3-Clause
/* Facts of how a node is set up for GPUs and NICs, out of small trees that each test
 * writes: huge pages, files and modules of RDMA, NCCL's files, addresses, PCI Express
 * control words. */
#include "topology/facts.h"

#include "tests/unit/facts_rig.h"
#include "topology/facts_parts.h"
#include "topology/facts_root.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
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

/* `expected` is the value's JSON, its members sorted by name. */
static void check(part_fn part, const char *key, const char *expected)
{
    struct fc_facts facts = facts_of(part);
    char *text = json_dumps(json_object_get(facts.values, key),
                            JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    if (!text || strcmp(text, expected) != 0)
        fail_msg("%s is %s, expected %s", key, text ? text : "missing", expected);
    free(text);
    fc_facts_fini(&facts);
}

static void check_gap(part_fn part, const char *key, const char *reason)
{
    struct fc_facts facts = facts_of(part);
    const json_t *gap = json_object_get(facts.unreadable, key);
    const char *text = json_string_value(json_object_get(gap, "reason"));
    if (!text || strcmp(text, reason) != 0)
        fail_msg("%s: the gap is %s, expected %s", key, text ? text : "none", reason);
    fc_facts_fini(&facts);
}

static void pages(void **state)
{
    (void)state;
    check(fc_facts_pages, "mem.hugepage_sizes", "\"none\"");
    check(fc_facts_pages, "mem.hugepage_pools", "[]");
    check_gap(fc_facts_pages, "mem.cma", "ENOENT");
    put("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
    put("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n");
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
    put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500\n");
    put("/sys/kernel/mm/hugepages/hugepages-x/nr_hugepages", "1\n");
    static const char node0[] = "/sys/devices/system/node/node0/hugepages/";
    char path[160];
    snprintf(path, sizeof path, "%shugepages-2048kB/nr_hugepages", node0);
    put(path, "512\n");
    snprintf(path, sizeof path, "%shugepages-2048kB/free_hugepages", node0);
    put(path, "500\n");
    snprintf(path, sizeof path, "%shugepages-1048576kB/nr_hugepages", node0);
    put(path, "0\n");
    put("/sys/devices/system/node/possible", "0\n");
    put("/proc/meminfo",
        "MemTotal: 1 kB\nCmaTotal:         65536 kB\nCmaFree:            128 kB\n");
    check(fc_facts_pages, "mem.hugepage_sizes", "\"512 x 2048 kB\"");
    check(fc_facts_pages, "mem.hugepage_pools",
          "[{\"free\":500,\"kB\":2048,\"numa\":null,\"total\":512},"
          "{\"free\":500,\"kB\":2048,\"numa\":0,\"total\":512},"
          "{\"free\":0,\"kB\":1048576,\"numa\":null,\"total\":0}]");
    check(fc_facts_pages, "mem.cma", "67108864");
    check(fc_facts_pages, "mem.cma_free", "131072");
    put("/proc/meminfo", "MemTotal: 1 kB\n");
    check(fc_facts_pages, "mem.cma", "0");
}

static void files_of_devices(void **state)
{
    (void)state;
    check(fc_facts_verbs, "rdma.uverbs", "[]");
    check(fc_facts_verbs, "rdma.umad", "0");
    check(fc_facts_verbs, "rdma.core", "\"none\"");
    check(fc_facts_verbs, "rdma.driver", "\"none\"");
    put("/sys/class/infiniband/mlx5_0/node_guid", "x");
    put("/sys/class/infiniband/mlx5_1/node_guid", "x");
    put("/sys/class/infiniband/mlx5_10/node_guid", "x");
    check(fc_facts_verbs, "rdma.uverbs",
          "[{\"access\":\"no ib_uverbs\",\"file\":null,\"nic\":\"mlx5_0\"},"
          "{\"access\":\"no ib_uverbs\",\"file\":null,\"nic\":\"mlx5_1\"},"
          "{\"access\":\"no ib_uverbs\",\"file\":null,\"nic\":\"mlx5_10\"}]");
    put("/sys/class/infiniband_verbs/abi_version", "6\n");
    put("/sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_10\n");
    put("/sys/class/infiniband_verbs/uverbs1/ibdev", "mlx5_1\n");
    put("/sys/class/infiniband_verbs/uverbs2/ibdev", "mlx5_0\n");
    put("/dev/infiniband/uverbs1", "");
    put("/dev/infiniband/uverbs2", "");
    tree_mode(source.root, "/dev/infiniband/uverbs2", 0);
    const char *refused = geteuid() == 0 ? "ok" : "EACCES";
    char expected[512];
    snprintf(expected, sizeof expected,
             "[{\"access\":\"%s\",\"file\":\"uverbs2\",\"nic\":\"mlx5_0\"},"
             "{\"access\":\"ok\",\"file\":\"uverbs1\",\"nic\":\"mlx5_1\"},"
             "{\"access\":\"ENOENT\",\"file\":\"uverbs0\",\"nic\":\"mlx5_10\"}]",
             refused);
    check(fc_facts_verbs, "rdma.uverbs", expected);
    put("/sys/class/infiniband_mad/abi_version", "5\n");
    put("/sys/class/infiniband_mad/umad0/ibdev", "mlx5_0\n");
    put("/sys/class/infiniband_mad/issm0/ibdev", "mlx5_0\n");
    check(fc_facts_verbs, "rdma.umad", "1");
    put("/sys/module/mlx5_core/version", "5.8-2.0.3\n");
    put("/sys/module/efa/refcnt", "0\n");
    check(fc_facts_verbs, "rdma.driver", "\"mlx5_core 5.8-2.0.3, efa inbox\"");
    put("/usr/lib64/libibverbs.so.1.14.44.0", "");
    tree_link(source.root, "/usr/lib64/libibverbs.so.1", "libibverbs.so.1.14.44.0");
    check(fc_facts_verbs, "rdma.core", "\"1.14.44.0\"");
}

static void ways_to_gpu_memory(void **state)
{
    (void)state;
    check(fc_facts_gpudirect, "gpu.driver_kind", "\"none\"");
    check(fc_facts_gpudirect, "gpu.peermem", "\"none\"");
    check(fc_facts_gpudirect, "gpu.peermem_registered", "false");
    check_gap(fc_facts_gpudirect, "kernel.dmabuf", "ENOENT");
    put("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 2023\n");
    check(fc_facts_gpudirect, "gpu.driver_kind", "\"proprietary\"");
    put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module "
                                       "for x86_64  560.35.03  Release\n");
    check(fc_facts_gpudirect, "gpu.driver_kind", "\"open\"");
    put("/sys/module/nvidia_peermem/refcnt", "0\n");
    put("/sys/module/ib_core/holders/mlx5_ib/refcnt", "0\n");
    check(fc_facts_gpudirect, "gpu.peermem", "\"nvidia_peermem\"");
    check(fc_facts_gpudirect, "gpu.peermem_registered", "false");
    put("/sys/kernel/mm/memory_peers/amdkfd/version", "1\n");
    check(fc_facts_gpudirect, "gpu.peermem_registered", "false");
    put("/sys/kernel/mm/memory_peers/nv_mem/version", "1\n");
    check(fc_facts_gpudirect, "gpu.peermem_registered", "true");
}

static void peer_memory_as_holder(void **state)
{
    (void)state;
    put("/sys/module/nv_peer_mem/refcnt", "0\n");
    check(fc_facts_gpudirect, "gpu.peermem_registered", "false");
    put("/sys/module/ib_core/holders/nv_peer_mem/refcnt", "0\n");
    check(fc_facts_gpudirect, "gpu.peermem_registered", "true");
    put("/sys/module/efa_nv_peermem/refcnt", "0\n");
    check(fc_facts_gpudirect, "gpu.peermem", "\"nv_peer_mem, efa_nv_peermem\"");
}

static void kernels_with_dmabuf(void **state)
{
    (void)state;
    static const struct {
        const char *release, *recent;
    } cases[] = {{"5.4.0-150-generic\n", "false"}, {"5.11.9\n", "false"},
                 {"5.12.0-rc1\n", "true"},         {"5.15.0-91-generic\n", "true"},
                 {"6.1.0-18-amd64\n", "true"},     {"4.18.0-513.el8\n", "false"}};
    char expected[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("/proc/sys/kernel/osrelease", cases[i].release);
        snprintf(expected, sizeof expected, "{\"kernel\":%s,\"options\":null}",
                 cases[i].recent);
        check(fc_facts_gpudirect, "kernel.dmabuf", expected);
    }
    put("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    put("/boot/config-6.1.0-18-amd64",
        "CONFIG_DMA_SHARED_BUFFER=y\n# CONFIG_DMABUF_MOVE_NOTIFY is not set\n"
        "CONFIG_INFINIBAND_USER_MEM=m\nXCONFIG_PCI_P2PDMA=y\n");
    check(fc_facts_gpudirect, "kernel.dmabuf",
          "{\"kernel\":true,\"options\":{\"CONFIG_DMABUF_MOVE_NOTIFY\":\"n\","
          "\"CONFIG_DMA_SHARED_BUFFER\":\"y\",\"CONFIG_INFINIBAND_USER_MEM\":\"m\","
          "\"CONFIG_PCI_P2PDMA\":\"n\"}}");
    put("/proc/sys/kernel/osrelease", "../../../x\n");
    check_gap(fc_facts_gpudirect, "kernel.dmabuf", "unsupported");
}

static void files_of_nccl(void **state)
{
    (void)state;
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    setenv("HOME", "/home/u", 1);
    unsetenv("NCCL_CONF_FILE");
    check(fc_facts_nccl, "nccl.conf", "{}");
    put("/etc/nccl.conf",
        "# of the site\nNCCL_SOCKET_IFNAME=eth0\r\nNCCL_IB_HCA==mlx5_0,mlx5_1\n"
        "#NCCL_ALGO=Ring\nLD_PRELOAD=x\nNCCL_DEBUG\nNCCL_IB_HCA=other\n"
        "NCCL_DEBUG_FILE=/a b \n");
    check(fc_facts_nccl, "nccl.conf",
          "{\"/etc/nccl.conf\":\"NCCL_DEBUG_FILE=/a_b NCCL_IB_HCA==mlx5_0,mlx5_1 "
          "NCCL_SOCKET_IFNAME=eth0\"}");
    put("/etc/nccl.conf", "NCCL_DEBUG=WARN\n");
    put("/home/u/.nccl.conf", "NCCL_DEBUG=INFO\n");
    check(fc_facts_nccl, "nccl.conf",
          "{\"/etc/nccl.conf\":\"NCCL_DEBUG=WARN\",\"~/"
          ".nccl.conf\":\"NCCL_DEBUG=INFO\"}");
    put("/opt/nccl.txt", "NCCL_PROTO=LL\n");
    setenv("NCCL_CONF_FILE", "/opt/nccl.txt", 1);
    check(
        fc_facts_nccl, "nccl.conf",
        "{\"/etc/nccl.conf\":\"NCCL_DEBUG=WARN\",\"/opt/nccl.txt\":\"NCCL_PROTO=LL\"}");
    setenv("NCCL_CONF_FILE", "/opt", 1);
    check_gap(fc_facts_nccl, "nccl.conf", "unsupported");
    unsetenv("NCCL_CONF_FILE");
    setenv("HOME", home, 1);
    free(home);
}

struct entry {
    struct ifaddrs one;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address, mask;
};

static void set_entry(struct entry *e, struct entry *next, const char *name,
                      const char *address, const char *mask, unsigned flags)
{
    memset(e, 0, sizeof *e);
    int family = strchr(address, ':') ? AF_INET6 : AF_INET;
    e->one = (struct ifaddrs){.ifa_next = next ? &next->one : NULL,
                              .ifa_name = (char *)(uintptr_t)name,
                              .ifa_flags = flags,
                              .ifa_addr = &e->address.any,
                              .ifa_netmask = &e->mask.any};
    e->address.any.sa_family = (sa_family_t)family;
    if (family == AF_INET) {
        inet_pton(family, address, &e->address.v4.sin_addr);
        inet_pton(family, mask, &e->mask.v4.sin_addr);
    } else {
        inet_pton(family, address, &e->address.v6.sin6_addr);
        inet_pton(family, mask, &e->mask.v6.sin6_addr);
    }
}

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *name, *address, *mask;
        unsigned flags;
    } rows[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK},
        {"eno1", "10.2.3.4", "255.255.240.0", IFF_UP},
        {"usb0", "169.254.3.1", "255.255.0.0", IFF_UP},
        {"eno2", "10.9.0.1", "255.0.0.0", 0},
        {"ib0", "fe80::1", "ffff:ffff:ffff:ffff::", IFF_UP},
        {"ib0", "fd00::7", "ffff:ffff:ffff::", IFF_UP},
        {"dummy", "127.9.9.9", "255.0.0.0", IFF_UP},
        {"any", "0.0.0.0", "0.0.0.0", IFF_UP},
        {"docker0", "172.17.0.1", "255.255.0.0", IFF_UP},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct entry entry[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        set_entry(&entry[i], i + 1 < ROWS ? &entry[i + 1] : NULL, rows[i].name,
                  rows[i].address, rows[i].mask, rows[i].flags);
    entry[6].one.ifa_addr = NULL; /* an interface without address */
    json_t *json = fc_addresses_json(&entry[0].one);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "[{\"address\":\"10.2.3.4\",\"name\":\"eno1\",\"prefix\":20},"
              "{\"address\":\"fd00::7\",\"name\":\"ib0\",\"prefix\":48},"
              "{\"address\":\"172.17.0.1\",\"name\":\"docker0\",\"prefix\":16}]");
    free(text);
    json_decref(json);
    check_gap(fc_facts_addresses, "net.addresses", "unsupported");
}

static void control_words(void **state)
{
    (void)state;
    unsigned char config[256] = {0};
    config[6] = 0x10;    /* there is a list of capabilities */
    config[0x34] = 0x48; /* power management, then PCI Express */
    config[0x48] = 0x01;
    config[0x49] = 0x60;
    config[0x60] = 0x10;
    config[0x68] = 0x5e;
    config[0x69] = 0x29;
    assert_int_equal(fc_pcie_control(config, sizeof config), 0x295e);
    assert_int_equal(fc_pcie_control(config, 64), -2);
    assert_int_equal(fc_pcie_control(config, 0), -2);
    config[0x49] = 0x48; /* a list that turns round */
    assert_int_equal(fc_pcie_control(config, sizeof config), -1);
    config[0x49] = 0xfc; /* the word lies behind the end */
    config[0xfc] = 0x10;
    assert_int_equal(fc_pcie_control(config, sizeof config), -1);
    config[6] = 0;
    assert_int_equal(fc_pcie_control(config, sizeof config), -1);
    assert_int_equal(fc_pcie_control(config, 64), -1);
}

static void put_config(const char *bdf, const char *class, unsigned control,
                       size_t bytes)
{
    char path[128], full[512];
    unsigned char config[256] = {[6] = 0x10, [0x34] = 0x40, [0x40] = 0x10};
    config[0x48] = (unsigned char)control;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", bdf);
    put(path, class);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/config", bdf);
    put(path, "");
    snprintf(full, sizeof full, "%s%s", source.root, path);
    FILE *file = fopen(full, "w");
    tree_must(file && fwrite(config, 1, bytes, file) == bytes && fclose(file) == 0,
              full);
}

static void who_may_relax(void **state)
{
    (void)state;
    check_gap(fc_facts_root, "root.relaxed", "ENOENT");
    put_config("0000:01:00.0", "0x020700\n", 0x10, 64);
    check_gap(fc_facts_root, "root.relaxed", "EACCES");
    put_config("0000:01:00.0", "0x020700\n", 0x10, 256);
    put_config("0000:02:00.0", "0x030200\n", 0x0e, 256);
    put_config("0000:03:00.0", "0x010802\n", 0x10, 256); /* a disk */
    check(fc_facts_root, "root.relaxed",
          "[{\"bdf\":\"0000:01:00.0\",\"relaxed\":true},"
          "{\"bdf\":\"0000:02:00.0\",\"relaxed\":false}]");
}

/* Four CPUs on two packages; a GPU on the second, a NIC on the first. */
static void cpus_beside_devices(void **state)
{
    (void)state;
    char path[160];
    put("/sys/devices/system/cpu/online", "0-3\n");
    for (int cpu = 0; cpu < 4; cpu++) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        put(path, cpu < 2 ? "0\n" : "1\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id",
                 cpu);
        put(path, cpu % 2 ? "1\n" : "0\n");
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/package_cpus", cpu);
        put(path, cpu < 2 ? "3\n" : "c\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_cpus",
                 cpu);
        put(path, cpu == 0 ? "1\n" : cpu == 1 ? "2\n" : cpu == 2 ? "4\n" : "8\n");
    }
    put("/sys/devices/system/node/online", "0-3\n");
    for (int node = 0; node < 4; node++) {
        static const char *const maps[] = {"1\n", "2\n", "4\n", "8\n"};
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpumap", node);
        put(path, maps[node]);
    }
    put("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    put("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    put("/sys/bus/pci/devices/0000:01:00.0/numa_node", "3\n");
    put("/sys/bus/pci/devices/0000:02:00.0/class", "0x020700\n");
    put("/sys/bus/pci/devices/0000:02:00.0/vendor", "0x15b3\n");
    put("/sys/bus/pci/devices/0000:02:00.0/numa_node", "0\n");
    put("/sys/bus/pci/devices/0000:02:00.0/infiniband/mlx5_0/node_guid", "x\n");
    check(fc_facts_picture, "topo.local_cpus",
          "[{\"cpus\":\"2-3\",\"name\":\"GPU0\",\"what\":\"gpu\"},"
          "{\"cpus\":\"0-1\",\"name\":\"mlx5_0\",\"what\":\"nic\"}]");
}

int main(void)
{
#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TREE_TEST(pages),
        TREE_TEST(files_of_devices),
        TREE_TEST(ways_to_gpu_memory),
        TREE_TEST(peer_memory_as_holder),
        TREE_TEST(kernels_with_dmabuf),
        TREE_TEST(files_of_nccl),
        TREE_TEST(addresses),
        cmocka_unit_test(control_words),
        TREE_TEST(who_may_relax),
        TREE_TEST(cpus_beside_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
