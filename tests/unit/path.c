// SPDX-License-Identifier: BSD-3-Clause
/* What carried the bytes, from counters in a folder that stands for /sys. */
#include "collectives/path.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define MB 1000000ULL
#define NET "/sys/class/net/"

static char root[128];
static struct fc_error err;

static void set_count(const char *dir, const char *file, unsigned long long value)
{
    char path[256], text[32];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    snprintf(text, sizeof text, "%llu\n", value);
    tree_write(root, path, text);
}

static void set_net(const char *name, unsigned long long bytes)
{
    char dir[128];
    snprintf(dir, sizeof dir, NET "%s/statistics", name);
    set_count(dir, "rx_bytes", bytes);
    set_count(dir, "tx_bytes", bytes / 2);
}

static void add_card(const char *name, const char *driver, const char *speed)
{
    char path[128], target[128];
    snprintf(path, sizeof path, NET "%s/device/driver", name);
    snprintf(target, sizeof target, "../../bus/%s", driver);
    tree_link(root, path, target);
    snprintf(path, sizeof path, NET "%s/speed", name);
    tree_write(root, path, speed);
}

static int set_up(void **state)
{
    (void)state;
    tree_make(root, sizeof root);
    set_net("lo", 5);
    set_net("eth0", 7);
    add_card("eth0", "mlx5_core", "25000\n");
    set_net("eth1", 7);
    add_card("eth1", "virtio_net", "10000\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

/* Moves `moved` bytes over `name` and asks what carried `payload`. */
static struct fc_path carry(const char *name, uint64_t moved, uint64_t payload,
                            enum fc_path_span span)
{
    struct fc_path_watch *watch = NULL;
    struct fc_path path;
    assert_int_equal(fc_path_open(root, &watch, &err), FC_OK);
    if (name)
        set_net(name, 7);
    fc_path_begin(watch);
    if (name)
        set_net(name, 7 + moved);
    fc_path_end(watch, payload, span, &path);
    fc_path_close(watch);
    return path;
}

static void sockets(void **state)
{
    (void)state;
    struct fc_path path = carry("eth0", 12 * MB, 10 * MB, FC_PATH_FABRIC);
    assert_string_equal(path.name, "sockets");
    assert_non_null(strstr(path.how, "eth0 moved 12 MB for 10 MB"));
    assert_true(fabs(path.link_GBps - 25.0 / 8.0) < 1e-9);
}

static void loopback_is_sockets_too(void **state)
{
    (void)state;
    struct fc_path path = carry("lo", 12 * MB, 10 * MB, FC_PATH_NODE);
    assert_string_equal(path.name, "sockets");
    assert_true(isnan(path.link_GBps));
}

/* A driver's made-up speed is no limit. */
static void virtual_speed_is_unknown(void **state)
{
    (void)state;
    struct fc_path path = carry("eth1", 12 * MB, 10 * MB, FC_PATH_FABRIC);
    assert_string_equal(path.name, "sockets");
    assert_true(isnan(path.link_GBps));
}

static void shared_memory_moves_no_counter(void **state)
{
    (void)state;
    assert_string_equal(carry(NULL, 0, 10 * MB, FC_PATH_KERNEL).name, "shared memory");
    assert_string_equal(carry("eth0", 9 * MB, 10 * MB, FC_PATH_KERNEL).name,
                        "shared memory");
    /* Inside a node other interfaces carry other traffic. */
    assert_string_equal(carry("eth0", 90 * MB, 10 * MB, FC_PATH_NODE).name,
                        "shared memory");
    assert_string_equal(carry("lo", 9 * MB, 10 * MB, FC_PATH_NODE).name,
                        "shared memory");
}

static void several_kernels_and_no_counter_is_unknown(void **state)
{
    (void)state;
    assert_string_equal(carry(NULL, 0, 10 * MB, FC_PATH_FABRIC).name, "unknown");
    assert_string_equal(carry("eth0", 9 * MB, 10 * MB, FC_PATH_FABRIC).name, "unknown");
}

static void a_small_payload_proves_nothing(void **state)
{
    (void)state;
    assert_string_equal(carry("eth0", MB, FC_PATH_PAYLOAD_MIN - 1, FC_PATH_KERNEL).name,
                        "unknown");
    assert_string_equal(carry("eth0", MB, FC_PATH_PAYLOAD_MIN, FC_PATH_KERNEL).name,
                        "sockets");
}

static void a_bond_counts_once(void **state)
{
    (void)state;
    struct fc_path_watch *watch = NULL;
    struct fc_path path;
    set_net("bond0", 7);
    assert_int_equal(fc_path_open(root, &watch, &err), FC_OK);
    fc_path_begin(watch);
    set_net("bond0", 12 * MB);
    set_net("eth0", 12 * MB);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    fc_path_close(watch);
    assert_null(strstr(path.how, "bond0"));
    assert_true(fabs(path.link_GBps - 25.0 / 8.0) < 1e-9);
}

static void rails_add_up(void **state)
{
    (void)state;
    struct fc_path_watch *watch = NULL;
    struct fc_path path;
    set_net("eth2", 7);
    add_card("eth2", "ice", "100000\n");
    assert_int_equal(fc_path_open(root, &watch, &err), FC_OK);
    fc_path_begin(watch);
    set_net("eth0", 6 * MB);
    set_net("eth2", 6 * MB);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    fc_path_close(watch);
    assert_non_null(strstr(path.how, "eth0 and eth2 moved"));
    assert_true(fabs(path.link_GBps - 125.0 / 8.0) < 1e-9);
}

/* Storage on another card moves some bytes in the same time: no rail of ours. */
static void other_traffic_is_no_rail(void **state)
{
    (void)state;
    struct fc_path_watch *watch = NULL;
    struct fc_path path;
    set_net("eth2", 7);
    add_card("eth2", "ice", "100000\n");
    assert_int_equal(fc_path_open(root, &watch, &err), FC_OK);
    fc_path_begin(watch);
    set_net("eth0", 11 * MB);
    set_net("eth2", 2 * MB);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    fc_path_close(watch);
    assert_null(strstr(path.how, "eth2"));
    assert_true(fabs(path.link_GBps - 25.0 / 8.0) < 1e-9);
}

/* Sockets over InfiniBand move the port's counters as well: still sockets. */
static void ipoib_is_sockets(void **state)
{
    static const char ib[] = "/sys/class/infiniband/mlx5_0/ports/1";
    char dir[128];
    (void)state;
    struct fc_path_watch *watch = NULL;
    struct fc_path path;
    snprintf(dir, sizeof dir, "%s/counters", ib);
    set_count(ib, "rate", 200);
    set_count(dir, "port_rcv_data", 0);
    set_count(dir, "port_xmit_data", 0);
    set_net("ib0", 7);
    tree_write(root, NET "ib0/type", "32\n");
    assert_int_equal(fc_path_open(root, &watch, &err), FC_OK);
    fc_path_begin(watch);
    set_count(dir, "port_xmit_data", 3 * MB);
    set_net("ib0", 11 * MB);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    assert_string_equal(path.name, "sockets");
    assert_non_null(strstr(path.how, "ib0"));
    /* Two kinds of counters that have nothing to do with each other prove nothing. */
    fc_path_begin(watch);
    set_count(dir, "port_xmit_data", 6 * MB);
    set_net("eth0", 11 * MB);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    fc_path_close(watch);
    assert_string_equal(path.name, "unknown");
}

/* InfiniBand counts words of four bytes; EFA bytes, elsewhere. */
static void ports(void **state)
{
    static const char ib[] = "/sys/class/infiniband/mlx5_0/ports/1";
    static const char efa[] = "/sys/class/infiniband/rdmap0s6/ports/1";
    char dir[128];
    (void)state;
    struct fc_path_watch *watch = NULL;
    struct fc_path path;
    snprintf(dir, sizeof dir, "%s/counters", ib);
    set_count(ib, "rate", 200);
    set_count(dir, "port_rcv_data", 0);
    set_count(dir, "port_xmit_data", 0);
    assert_int_equal(fc_path_open(root, &watch, &err), FC_OK);
    fc_path_begin(watch);
    set_count(dir, "port_xmit_data", 3 * MB);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    assert_string_equal(path.name, "verbs");
    assert_non_null(strstr(path.how, "mlx5_0/1 moved 12 MB"));
    assert_true(fabs(path.link_GBps - 25.0) < 1e-9);
    fc_path_close(watch);
    snprintf(dir, sizeof dir, "%s/hw_counters", efa);
    set_count(dir, "rx_bytes", 0);
    set_count(dir, "tx_bytes", 0);
    assert_int_equal(fc_path_open(root, &watch, &err), FC_OK);
    fc_path_begin(watch);
    set_count(dir, "tx_bytes", 11 * MB);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    assert_string_equal(path.name, "verbs");
    fc_path_close(watch);
}

static void no_sys_at_all(void **state)
{
    struct fc_path_watch *watch = NULL;
    struct fc_path path;
    (void)state;
    assert_int_equal(fc_path_open("/nowhere", &watch, &err), FC_OK);
    fc_path_begin(watch);
    fc_path_end(watch, 10 * MB, FC_PATH_FABRIC, &path);
    assert_string_equal(path.name, "unknown");
    fc_path_close(watch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sockets),
        TEST(loopback_is_sockets_too),
        TEST(virtual_speed_is_unknown),
        TEST(shared_memory_moves_no_counter),
        TEST(several_kernels_and_no_counter_is_unknown),
        TEST(a_small_payload_proves_nothing),
        TEST(a_bond_counts_once),
        TEST(rails_add_up),
        TEST(other_traffic_is_no_rail),
        TEST(ipoib_is_sockets),
        TEST(ports),
        TEST(no_sys_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
