// SPDX-License-Identifier: BSD-3-Clause
/* The parts of a node's picture: CPU sets, clean texts, limits, and this machine. */
#include "topology/facts_parts.h"
#include "topology/facts_root.h"
#include "topology/limits.h"
#include "topology/model_parts.h"
#include "topology/print.h"

#include "tests/unit/tree.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *list_of(const char *mask)
{
    static char text[256];
    struct fc_cpuset set;
    if (!fc_cpuset_mask(mask, &set))
        return NULL;
    fc_cpuset_print(&set, text, sizeof text);
    return text;
}

static void masks(void **state)
{
    (void)state;
    assert_string_equal(list_of("f"), "0-3");
    assert_string_equal(list_of("0x0000000f"), "0-3");
    assert_string_equal(list_of("0000ffff,00000000,0000ffff"), "0-15,64-79");
    assert_string_equal(list_of("0x1,,0x1"), "0,64");
    assert_string_equal(list_of("0,80000000"), "31");
    assert_string_equal(list_of("00000000"), "");
    static const char *const bad[] = {"",     "g",  "0x",  "123456789", "1 2",
                                      "0x1,", "-1", ",1 ", "1;2",       "0xf...f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(list_of(bad[i]));
    /* CPU 8192 and beyond: refused, unless nothing is there */
    char far[2048] = "1", empty[2048] = "0";
    for (int i = 0; i < FC_CPUSET_MAX / 32; i++) {
        strcat(far, ",0");
        strcat(empty, ",0");
    }
    assert_null(list_of(far));
    assert_string_equal(list_of(empty), "");
}

static void lists(void **state)
{
    (void)state;
    struct fc_cpuset set;
    char text[256];
    assert_true(fc_cpuset_list("0-3,8,10-11", &set));
    assert_int_equal(fc_cpuset_count(&set), 7);
    fc_cpuset_print(&set, text, sizeof text);
    assert_string_equal(text, "0-3,8,10-11");
    fc_cpuset_print_mask(&set, text, sizeof text);
    assert_string_equal(text, "0x00000d0f");
    fc_cpuset_print(&set, text, 8);
    assert_string_equal(text, "0-3...");
    assert_true(fc_cpuset_list("", &set));
    assert_int_equal(fc_cpuset_count(&set), 0);
    assert_int_equal(fc_cpuset_next(&set, 0), -1);
    static const char *const bad[] = {"3-1", "1-",   "-1",   "1,",
                                      "a",   "8192", "1,,2", "99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(fc_cpuset_list(bad[i], &set));
    assert_true(fc_cpuset_list("63-64,8191", &set));
    assert_int_equal(fc_cpuset_next(&set, 64), 64);
    assert_int_equal(fc_cpuset_next(&set, 65), 8191);
}

static void clean(const char *text, size_t bytes, const char *want)
{
    char out[64];
    fc_topo_text(out, bytes, text);
    assert_string_equal(out, want);
}

static void texts(void **state)
{
    (void)state;
    clean("  a b \n", 64, "a b");
    clean("\x1b[1m\x7f", 64, "?[1m?");
    clean("\xc3\xa4\xff\xc2\x9b", 64, "\xc3\xa4???");
    clean("\xc3\xa4\xc3\xa4", 4, "\xc3\xa4"); /* never half a character */
    clean("\xed\xa0\x80\xef\xbf\xbf", 64, "??????");
    clean(NULL, 64, "");
    char bdf[24];
    assert_true(fc_topo_bdf("4F:00.0", bdf, sizeof bdf));
    assert_string_equal(bdf, "0000:4f:00.0");
    assert_true(fc_topo_bdf("10000:E1:00.7", bdf, sizeof bdf));
    assert_string_equal(bdf, "10000:e1:00.7");
    static const char *const bad[] = {
        "",           "x",         "0000:00:20.0", "0000:00:00.8", "0000:00:00.0x",
        "-1:00:00.0", "0000:00:00"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(fc_topo_bdf(bad[i], bdf, sizeof bdf));
}

static double pcie(double GTps, int width, int payload)
{
    const struct fc_topo_link link = {.GTps = GTps, .width = width};
    return fc_limit_pcie(&link, payload).GBps;
}

static bool is_about(double got, double want)
{
    return fabs(got - want) <= want * 0.002;
}

/* Raw x16: 4, 8, 15.75, 31.5, 63, 121 GB/s (published), less 26 bytes a packet. */
static void limits_of_links(void **state)
{
    (void)state;
    static const double raw[][2] = {{2.5, 4},     {5, 8},       {8, 15.754},
                                    {16, 31.508}, {32, 63.015}, {64, 121}};
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        assert_true(is_about(pcie(raw[i][0], 16, 128), raw[i][1] * 128 / 154));
        assert_true(is_about(pcie(raw[i][0], 4, 512), raw[i][1] / 4 * 512 / 538));
    }
    const struct fc_topo_link idle = {2.5, 32, 16, 16, 0};
    struct fc_limit limit = fc_limit_pcie(&idle, 128);
    assert_string_equal(limit.basis, "PCIe 5.0 x16, 128-byte payload");
    assert_true(is_about(limit.GBps, 63.015 * 128 / 154));
    const struct fc_topo_link unknown = {0, 0, 0, 0, 0}, told = {0, 0, 0, 0, 15.754};
    assert_true(fc_limit_pcie(&unknown, 0).GBps == 0.0);
    assert_non_null(strstr(fc_limit_pcie(&unknown, 0).basis, "unknown"));
    assert_true(is_about(fc_limit_pcie(&told, 0).GBps, 15.754 * 256 / 282));
    assert_non_null(strstr(fc_limit_pcie(&told, 0).basis, "assumed"));
}

static struct fc_topo *fixture(const char *name)
{
    char path[512];
    const char *top = getenv("top_srcdir");
    struct fc_topo *topo = NULL;
    struct fc_error err;
    snprintf(path, sizeof path, "%s/tests/fixtures/topo/%s", top ? top : ".", name);
    const struct fc_topo_source source = {.from = path};
    assert_int_equal(fc_topo_open(&source, &topo, &err), FC_OK);
    return topo;
}

static void limits_of_paths(void **state)
{
    (void)state;
    struct fc_topo *topo = fixture("nccl-8gpu-8nic-4switch.xml");
    struct fc_limit nvlink = fc_limit_path(topo, 0, 7);
    assert_true(is_about(nvlink.GBps, 450));
    assert_string_equal(nvlink.basis, "NVLink 4, 18 links of 25 GB/s");
    struct fc_limit near = fc_limit_path(topo, 0, topo->gpus);
    assert_true(is_about(near.GBps, 50));
    assert_string_equal(near.basis, "port of mlx5_0 at 400 Gb/s");
    struct fc_limit far = fc_limit_path(topo, 0, topo->gpus + 7);
    assert_non_null(strstr(far.basis, "CPUs' own link"));
    /* a slow slot is narrower than the port */
    topo->pci[topo->nic[0].pci].link = (struct fc_topo_link){8, 8, 8, 8, 0};
    struct fc_limit slot = fc_limit_path(topo, 0, topo->gpus);
    assert_true(is_about(slot.GBps, 15.754 / 2 * 256 / 282));
    assert_non_null(strstr(slot.basis, topo->pci[topo->nic[0].pci].bdf));
    /* an upstream port that tells only what it does now is not believed */
    for (size_t i = 0; i < topo->pcis; i++)
        if (topo->pci[i].role == FC_PCI_BRIDGE)
            topo->pci[i].link = (struct fc_topo_link){.GTps = 5, .width = 16};
    assert_true(is_about(fc_limit_path(topo, 1, topo->gpus + 7).GBps, 50));
    fc_topo_close(topo);
}

/* The kernel's count and hwloc's, of this machine; a captured tree is read by other
 * code, which must find the same. */
static void this_machine(void **state)
{
    (void)state;
    struct fc_topo *live = NULL, *files = NULL;
    struct fc_error err;
    const struct fc_topo_source here = {.from = NULL}, root = {.sysroot = "/"};
    assert_int_equal(fc_topo_open(&here, &live, &err), FC_OK);
    assert_true(live->pus > 0 && live->cores > 0 && live->packages_n > 0);
    assert_true(live->numa_n > 0);
    if (fc_topo_open(&root, &files, &err) == FC_OK && files->pus > 0) {
        assert_int_equal(files->pus, live->pus);
        assert_int_equal(files->cores, live->cores);
        assert_int_equal(files->packages_n, live->packages_n);
        assert_int_equal(files->pcis, live->pcis);
        assert_int_equal(files->gpus, live->gpus);
        assert_int_equal(files->nics, live->nics);
    }
    fc_topo_close(files);
    fc_topo_close(live);
    fc_topo_close(NULL);
}

/* ---- the picture as facts ---- */

static char root[64];

static void put(const char *path, const char *value)
{
    tree_write(root, path, value);
}

#define NIC "/sys/bus/pci/devices/0000:02:00.0"
#define PORT NIC "/infiniband/mlx5_0/ports/1"
#define GPU "/sys/bus/pci/devices/0000:01:00.0"

static int make_node(void **state)
{
    (void)state;
    tree_make(root, sizeof root);
    put("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
    put("/sys/devices/system/node/node0/cpumap", "1");
    put(GPU "/class", "0x030200");
    put(GPU "/vendor", "0x10de");
    put(GPU "/device", "0x2330");
    put(GPU "/max_link_speed", "32.0 GT/s PCIe");
    put(GPU "/max_link_width", "16");
    put(GPU "/current_link_speed", "32.0 GT/s PCIe");
    put(GPU "/current_link_width", "16");
    put(NIC "/class", "0x020000");
    put(NIC "/vendor", "0x15b3");
    put(NIC "/device", "0x1021");
    put(NIC "/net/eth2/mtu", "9000");
    put(NIC "/net/eth2/operstate", "up");
    put(NIC "/infiniband/mlx5_0/board_id", "MT_1");
    put(PORT "/state", "4: ACTIVE");
    put(PORT "/link_layer", "Ethernet");
    put(PORT "/rate", "400 Gb/sec (4X NDR)");
    put(PORT "/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001");
    put(PORT "/gid_attrs/types/0", "RoCE v2");
    put(PORT "/gids/1", "0000:0000:0000:0000:0000:ffff:c000:0201");
    put(PORT "/gid_attrs/types/1", "IB/RoCE v1");
    put(PORT "/gids/2", "0000:0000:0000:0000:0000:ffff:c000:0201");
    put(PORT "/gid_attrs/types/2", "RoCE v2");
    return 0;
}

static int remove_node(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

static json_t *picture_facts(void)
{
    const struct fc_source source = {.root = root};
    struct fc_facts facts;
    assert_int_equal(fc_facts_init(&facts, NULL), FC_OK);
    fc_facts_picture(&source, &facts);
    assert_int_equal(fc_facts_check(&facts, NULL), FC_OK);
    json_t *values = json_incref(facts.values);
    fc_facts_fini(&facts);
    return values;
}

static void facts_of_a_picture(void **state)
{
    (void)state;
    json_t *facts = picture_facts();
    assert_int_equal(json_integer_value(json_object_get(facts, "topo.gpus")), 1);
    assert_int_equal(json_integer_value(json_object_get(facts, "topo.nics")), 1);
    assert_string_equal(json_string_value(json_object_get(facts, "topo.rails")),
                        "mlx5_0");
    const json_t *port = json_array_get(json_object_get(facts, "topo.ports"), 0);
    assert_true(json_is_true(json_object_get(port, "fabric")));
    assert_int_equal(json_integer_value(json_object_get(port, "gid")), 2);
    assert_int_equal(json_integer_value(json_object_get(port, "mtu")), 9000);
    assert_string_equal(json_string_value(json_object_get(port, "net_state")), "up");
    assert_string_equal(json_string_value(json_object_get(port, "state")), "ACTIVE");
    assert_int_equal(json_array_size(json_object_get(facts, "topo.functions")), 2);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(facts, "topo.near"), 0)),
        "NODE");
    assert_non_null(json_object_get(json_object_get(facts, "topo.picture"), "counts"));
    json_decref(facts);
}

static void class_is_of_hardware(void **state)
{
    (void)state;
    json_t *before = picture_facts();
    /* how it is today is no part of it: an idle link, a port that is down */
    put(GPU "/current_link_speed", "2.5 GT/s PCIe");
    put(GPU "/current_link_width", "8");
    put(PORT "/state", "1: DOWN");
    put(NIC "/net/eth2/mtu", "1500");
    json_t *today = picture_facts();
    assert_true(json_equal(json_object_get(before, "topo.class"),
                           json_object_get(today, "topo.class")));
    put(GPU "/max_link_width", "8");
    json_t *other = picture_facts();
    assert_false(json_equal(json_object_get(before, "topo.class"),
                            json_object_get(other, "topo.class")));
    json_decref(before);
    json_decref(today);
    json_decref(other);
}

static void a_picture_too_large_is_a_gap(void **state)
{
    (void)state;
    char path[128];
    for (int i = 0; i < 2000; i++) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%d/class",
                 i / 2048, i / 256 % 256, i / 8 % 32, i % 8);
        put(path, "0x060400");
    }
    json_t *facts = picture_facts();
    assert_null(json_object_get(facts, "topo.picture"));
    assert_non_null(json_object_get(facts, "topo.gpus"));
    json_decref(facts);
}

/* ---- what only root can read ---- */

static void put_capability(unsigned char *config, size_t at, unsigned id, unsigned next,
                           unsigned control)
{
    config[at] = (unsigned char)id;
    config[at + 1] = (unsigned char)(id >> 8);
    config[at + 2] = (unsigned char)(1 | (next & 0xf) << 4);
    config[at + 3] = (unsigned char)(next >> 4);
    config[at + 6] = (unsigned char)control;
    config[at + 7] = (unsigned char)(control >> 8);
}

static void acs_of_a_configuration(void **state)
{
    (void)state;
    unsigned char config[4096] = {0};
    assert_int_equal(fc_acs_control(config, 64), -2);
    assert_int_equal(fc_acs_control(config, 0), -2);
    assert_int_equal(fc_acs_control(config, sizeof config), -1);
    put_capability(config, 0x100, 0x0001, 0x148, 0);
    put_capability(config, 0x148, 0x000d, 0x200, 0x001d);
    put_capability(config, 0x200, 0x0019, 0, 0);
    assert_int_equal(fc_acs_control(config, sizeof config), 0x1d);
    assert_int_equal(fc_acs_control(config, 256), -1); /* the kernel gave no more */
    /* a chain that bites its tail, and one that leads out */
    put_capability(config, 0x148, 0x0002, 0x100, 0);
    assert_int_equal(fc_acs_control(config, sizeof config), -1);
    put_capability(config, 0x148, 0x0002, 0xffc, 0);
    assert_int_equal(fc_acs_control(config, sizeof config), -1);
    memset(config, 0xff, sizeof config); /* a device that is gone */
    assert_int_equal(fc_acs_control(config, sizeof config), -1);
}

static void put_bytes(const char *path, const unsigned char *bytes, size_t n)
{
    char full[512];
    tree_write(root, path, "");
    snprintf(full, sizeof full, "%s%s", root, path);
    FILE *file = fopen(full, "w");
    assert_true(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

static json_t *privileged(void)
{
    const struct fc_source source = {.root = root};
    struct fc_facts facts;
    assert_int_equal(fc_facts_init(&facts, NULL), FC_OK);
    fc_facts_privileged(&source, &facts);
    json_t *both =
        json_pack("{s:O, s:O}", "facts", facts.values, "gaps", facts.unreadable);
    fc_facts_fini(&facts);
    return both;
}

static void roots_file(void **state)
{
    (void)state;
    const struct fc_source source = {.root = root};
    unsigned char config[4096] = {0};
    struct fc_error err;
    json_t *json = NULL;
    put_capability(config, 0x100, 0x000d, 0, 0x5);
    put("/proc/sys/kernel/random/boot_id", "boot-1");
    put("/sys/bus/pci/devices/0000:00:01.0/class", "0x060400");
    put_bytes("/sys/bus/pci/devices/0000:00:01.0/config", config, sizeof config);
    put("/sys/class/dmi/id/product_serial", "SN1");
    assert_int_equal(fc_facts_root_file(&source, &json, &err), FC_OK);
    char *text = json_dumps(json, 0);
    json_decref(json);
    assert_non_null(strstr(text, "\"control\": 5"));
    put(FC_FACTS_ROOT_PATH, text);
    free(text);
    tree_mode(root, FC_FACTS_ROOT_PATH, 0644);
    json_t *got = privileged();
    const json_t *facts = json_object_get(got, "facts");
    if (geteuid() == 0) {
        assert_int_equal(json_array_size(json_object_get(facts, "root.acs")), 1);
        assert_string_equal(json_string_value(json_object_get(facts, "dmi.serial")),
                            "SN1");
        assert_true(json_integer_value(json_object_get(facts, "root.age_s")) < 600);
    } else { /* somebody else's file is not believed */
        assert_null(json_object_get(facts, "root.acs"));
    }
    json_decref(got);
    tree_mode(root, FC_FACTS_ROOT_PATH, 0666);
    got = privileged();
    assert_int_equal(json_object_size(json_object_get(got, "facts")), 0);
    assert_non_null(json_object_get(json_object_get(got, "gaps"), "root.acs"));
    json_decref(got);
    tree_mode(root, FC_FACTS_ROOT_PATH, 0644);
    put("/proc/sys/kernel/random/boot_id", "boot-2");
    got = privileged();
    assert_int_equal(json_object_size(json_object_get(got, "facts")), 0);
    json_decref(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks),
        cmocka_unit_test(lists),
        cmocka_unit_test(texts),
        cmocka_unit_test(limits_of_links),
        cmocka_unit_test(limits_of_paths),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(acs_of_a_configuration),
        cmocka_unit_test_setup_teardown(roots_file, make_node, remove_node),
        cmocka_unit_test_setup_teardown(facts_of_a_picture, make_node, remove_node),
        cmocka_unit_test_setup_teardown(a_picture_too_large_is_a_gap, make_node,
                                        remove_node),
        cmocka_unit_test_setup_teardown(class_is_of_hardware, make_node, remove_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
