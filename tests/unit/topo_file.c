// SPDX-License-Identifier: BSD-3-Clause
/* NCCL's topology file as a fact: a file of this node, of another one, one that lacks
 * devices, that says other speeds, that cannot be read, that is none. */
#include "topology/facts_parts.h"

#include "tests/unit/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void put(const char *path, const char *value)
{
    tree_write(root, path, value);
}

static void put_function(const char *bdf, const char *class, const char *vendor)
{
    static const char *const files[] = {"class",
                                        "vendor",
                                        "max_link_speed",
                                        "max_link_width",
                                        "current_link_speed",
                                        "current_link_width"};
    const char *const values[] = {class, vendor,          "32.0 GT/s PCIe",
                                  "16",  "2.5 GT/s PCIe", "16"};
    char path[128];
    for (size_t i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", bdf, files[i]);
        put(path, values[i]);
    }
}

/* Two GPUs and two NICs. */
static int make_node(void **state)
{
    (void)state;
    tree_make(root, sizeof root);
    unsetenv("NCCL_TOPO_FILE");
    unsetenv("NCCL_CONF_FILE");
    put("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
    put("/sys/devices/system/node/node0/cpumap", "1");
    put_function("0001:00:00.0", "0x030200", "0x10de");
    put_function("0002:00:00.0", "0x030200", "0x10de");
    for (int i = 1; i <= 2; i++) {
        char path[160];
        snprintf(path, sizeof path, "010%d:00:00.0", i);
        put_function(path, "0x020700", "0x15b3");
        snprintf(path, sizeof path,
                 "/sys/bus/pci/devices/010%d:00:00.0/infiniband/mlx5_%d/ports/1/rate",
                 i, i);
        put(path, "400 Gb/sec (4X NDR)");
    }
    return 0;
}

static int remove_node(void **state)
{
    (void)state;
    unsetenv("NCCL_TOPO_FILE");
    tree_remove(root);
    return 0;
}

static json_t *file_fact(void)
{
    const struct fc_source source = {.root = root};
    struct fc_facts facts;
    assert_int_equal(fc_facts_init(&facts, NULL), FC_OK);
    fc_facts_topo_file(&source, &facts);
    assert_int_equal(fc_facts_check(&facts, NULL), FC_OK);
    json_t *fact = json_incref(json_object_get(facts.values, "nccl.topo_file"));
    assert_true(json_is_object(fact));
    fc_facts_fini(&facts);
    return fact;
}

#define HEAD "<system version=\"1\"><cpu numaid=\"0\" affinity=\"1\">"
#define TAIL "</cpu></system>"
#define BRIDGE                                                                         \
    "<pci busid=\"ffff:ff:01.0\" class=\"0x060400\" link_speed=\"5 GT/s\" "            \
    "link_width=\"16\">"
#define LEAF(bdf, class)                                                               \
    "<pci busid=\"" bdf                                                                \
    "\" class=\"" class "\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"/>"
#define GPUS LEAF("0001:00:00.0", "0x030200") LEAF("0002:00:00.0", "0x030200")
#define NICS LEAF("0101:00:00.0", "0x020700") LEAF("0102:00:00.0", "0x020700")

/* The fact of a node with this file, by NCCL_TOPO_FILE. */
static json_t *fact_with(const char *text)
{
    put("/etc/topo.xml", text);
    setenv("NCCL_TOPO_FILE", "/etc/topo.xml", 1);
    return file_fact();
}

static void check_status(const json_t *fact, const char *status)
{
    assert_string_equal(json_string_value(json_object_get(fact, "status")), status);
}

/* The texts of a list, joined by blanks; static. */
static const char *joined(const json_t *fact, const char *key)
{
    static char text[1024];
    const json_t *list = json_object_get(fact, key);
    size_t used = 0;
    text[0] = '\0';
    assert_true(json_is_array(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                             json_string_value(json_array_get(list, i)));
    return text;
}

static void no_file(void **state)
{
    (void)state;
    json_t *fact = file_fact();
    check_status(fact, "none");
    json_decref(fact);
    setenv("NCCL_TOPO_FILE", "", 1);
    fact = file_fact();
    check_status(fact, "none");
    json_decref(fact);
}

static void a_file_of_this_node(void **state)
{
    (void)state;
    json_t *fact = fact_with(HEAD BRIDGE GPUS NICS "</pci>" TAIL);
    check_status(fact, "ok");
    assert_string_equal(joined(fact, "not_here"), "");
    assert_string_equal(joined(fact, "not_in_file"), "");
    assert_int_equal(json_array_size(json_object_get(fact, "links")), 0);
    assert_string_equal(json_string_value(json_object_get(fact, "path")),
                        "/etc/topo.xml");
    json_decref(fact);
    /* NICs that the file does not speak of, or only by name */
    fact = fact_with(HEAD GPUS "<nic><net name=\"eth0\" speed=\"100000\" port=\"0\"/>"
                               "</nic>" TAIL);
    check_status(fact, "ok");
    assert_string_equal(joined(fact, "not_in_file"), "");
    json_decref(fact);
    /* neither class nor speed: addresses alone */
    fact = fact_with(HEAD
                     "<pci busid=\"0001:00:00.0\"/><pci busid=\"0002:00:00.0\"/>" TAIL);
    check_status(fact, "ok");
    assert_string_equal(joined(fact, "not_here"), "");
    assert_string_equal(joined(fact, "not_in_file"), "");
    json_decref(fact);
}

static void a_file_of_another_machine(void **state)
{
    (void)state;
    json_t *fact = fact_with(HEAD BRIDGE LEAF("0000:07:00.0", "0x030200")
                                 LEAF("0000:08:00.0", "0x020700") "</pci>" TAIL);
    check_status(fact, "ok");
    assert_string_equal(joined(fact, "not_here"), "0000:07:00.0 0000:08:00.0");
    assert_string_equal(joined(fact, "not_in_file"),
                        "0001:00:00.0 0002:00:00.0 0101:00:00.0 0102:00:00.0");
    json_decref(fact);
    fact = fact_with(HEAD
                     "<pci busid=\"0000:07:00.0\"/><pci busid=\"0001:00:00.0\"/>" TAIL);
    assert_string_equal(joined(fact, "not_here"), "0000:07:00.0");
    assert_string_equal(joined(fact, "not_in_file"), "0002:00:00.0");
    json_decref(fact);
}

static void a_nic_that_the_file_lacks(void **state)
{
    (void)state;
    json_t *fact = fact_with(HEAD GPUS LEAF("0101:00:00.0", "0x020700") TAIL);
    assert_string_equal(joined(fact, "not_here"), "");
    assert_string_equal(joined(fact, "not_in_file"), "0102:00:00.0");
    json_decref(fact);
}

static void other_speeds(void **state)
{
    (void)state;
    json_t *fact = fact_with(HEAD NICS LEAF(
        "0001:00:00.0", "0x030200") "<pci busid=\"0002:00:00.0\" class=\"0x030200\" "
                                    "link_speed=\"16 GT/s\" "
                                    "link_width=\"8\"/>" TAIL);
    const json_t *list = json_object_get(fact, "links");
    assert_int_equal(json_array_size(list), 1);
    const json_t *link = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(link, "bdf")),
                        "0002:00:00.0");
    assert_string_equal(json_string_value(json_object_get(link, "file")), "16 GT/s x8");
    assert_string_equal(json_string_value(json_object_get(link, "here")),
                        "32 GT/s x16");
    json_decref(fact);
}

static void no_topology(void **state)
{
    (void)state;
    json_t *fact = fact_with("<system version=\"1\"><cpu numaid=\"0\">");
    check_status(fact, "invalid");
    const char *reason = json_string_value(json_object_get(fact, "reason"));
    assert_non_null(strstr(reason, "no well-formed XML"));
    assert_null(strstr(reason, "--from"));
    json_decref(fact);
    fact = fact_with("{\"/sys/x\": \"1\"}");
    check_status(fact, "invalid");
    json_decref(fact);
    setenv("NCCL_TOPO_FILE", "/nowhere/topo.xml", 1);
    fact = file_fact();
    check_status(fact, "unreadable");
    assert_string_equal(json_string_value(json_object_get(fact, "reason")),
                        "No such file or directory");
    json_decref(fact);
}

static void the_default_file(void **state)
{
    (void)state;
    put("/var/run/nvidia-topologyd/virtualTopology.xml", HEAD GPUS NICS TAIL);
    json_t *fact = file_fact();
    check_status(fact, "ok");
    assert_string_equal(json_string_value(json_object_get(fact, "by")), "NCCL");
    json_decref(fact);
}

static void a_file_that_nccl_conf_names(void **state)
{
    (void)state;
    setenv("NCCL_CONF_FILE", "/etc/own.conf", 1);
    put("/etc/own.conf", "NCCL_DEBUG=INFO\nNCCL_TOPO_FILE=/etc/topo.xml\n");
    put("/etc/nccl.conf", "NCCL_TOPO_FILE=/nowhere.xml\n");
    put("/etc/topo.xml", HEAD GPUS NICS TAIL);
    json_t *fact = file_fact();
    check_status(fact, "ok");
    assert_string_equal(json_string_value(json_object_get(fact, "by")), "nccl.conf");
    json_decref(fact);
    setenv("NCCL_TOPO_FILE", "/nowhere.xml", 1); /* comes before files */
    fact = file_fact();
    check_status(fact, "unreadable");
    json_decref(fact);
    unsetenv("NCCL_CONF_FILE");
}

/* A file with thousands of wrong addresses does not flood the journal. */
static void addresses_are_bounded(void **state)
{
    (void)state;
    enum { FUNCTIONS = 1000, BYTES = 64 };
    char *text = malloc((size_t)FUNCTIONS * BYTES + 256);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, HEAD);
    for (int i = 0; i < FUNCTIONS; i++)
        used += (size_t)sprintf(text + used,
                                "<pci busid=\"%04x:00:00.0\" class=\"0x030200\"/>",
                                i + 0x1000);
    strcpy(text + used, TAIL);
    json_t *fact = fact_with(text);
    free(text);
    check_status(fact, "invalid"); /* no node has so many GPUs */
    json_decref(fact);
    fact = fact_with(
        HEAD
        "<pci busid=\"1:0:0.0\"/><pci busid=\"2:0:1.0\"/><pci busid=\"2:0:2.0\"/>"
        "<pci busid=\"2:0:3.0\"/><pci busid=\"2:0:4.0\"/><pci busid=\"2:0:5.0\"/>"
        "<pci busid=\"2:0:6.0\"/><pci busid=\"2:0:7.0\"/><pci busid=\"2:0:8.0\"/>"
        "<pci busid=\"2:0:9.0\"/><pci busid=\"2:0:a.0\"/><pci busid=\"2:0:b.0\"/>"
        "<pci busid=\"2:0:c.0\"/><pci busid=\"2:0:d.0\"/><pci busid=\"2:0:e.0\"/>"
        "<pci busid=\"2:0:f.0\"/><pci busid=\"2:0:10.0\"/><pci busid=\"2:0:11.0\"/>"
        "<pci busid=\"2:0:12.0\"/>" TAIL);
    assert_int_equal(json_array_size(json_object_get(fact, "not_here")), 16);
    json_decref(fact);
}

int main(void)
{
#define NODE_TEST(name) cmocka_unit_test_setup_teardown(name, make_node, remove_node)
    const struct CMUnitTest tests[] = {
        NODE_TEST(no_file),
        NODE_TEST(a_file_of_this_node),
        NODE_TEST(a_file_of_another_machine),
        NODE_TEST(a_nic_that_the_file_lacks),
        NODE_TEST(other_speeds),
        NODE_TEST(no_topology),
        NODE_TEST(the_default_file),
        NODE_TEST(a_file_that_nccl_conf_names),
        NODE_TEST(addresses_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
