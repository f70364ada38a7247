// SPDX-License-Identifier: BSD-3-Clause
/* The GID that NCCL would use, the devices that its list names, and the port that a
 * person names. */
#include "rdma/choose.h"
#include "rdma_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define V1 FC_RDMA_GID_ROCE_V1
#define V2 FC_RDMA_GID_ROCE_V2

static struct fc_error err;

/* ---- GIDs ---- */

struct row {
    int index;
    enum fc_rdma_gid_kind kind;
    const char *gid;
};

/* What mlx5 shows for an interface with an IPv4 and an IPv6 address. */
static const struct row usual[] = {
    {0, V1, "fe80::1"},          {1, V2, "fe80::1"},     {2, V1, "::ffff:192.0.2.1"},
    {3, V2, "::ffff:192.0.2.1"}, {4, V1, "2001:db8::1"}, {5, V2, "2001:db8::1"},
};

static int choose(enum fc_rdma_wire wire, const struct row *row, size_t rows, int slots,
                  struct fc_rdma_wish wish)
{
    struct fc_rdma_ports *ports = rdma_new();
    struct fc_rdma_port *port = rdma_add(ports, "mlx5_0", 1, wire, 400);
    for (size_t i = 0; i < rows; i++)
        rdma_gid(port, row[i].index, row[i].kind, row[i].gid);
    port->gid_slots = slots;
    int index = fc_rdma_gid_choose(port, &wish);
    fc_rdma_ports_close(ports);
    return index;
}

static int roce(const struct row *row, size_t rows, struct fc_rdma_wish wish)
{
    return choose(FC_RDMA_ROCE, row, rows, 256, wish);
}

static void gid_by_family_and_version(void **state)
{
    (void)state;
    assert_int_equal(roce(usual, 6, rdma_wish(NULL)), 3);
    assert_int_equal(roce(usual, 6, rdma_wish("NCCL_IB_ROCE_VERSION_NUM=1")), 2);
    assert_int_equal(roce(usual, 6, rdma_wish("NCCL_IB_ADDR_FAMILY=AF_INET6")), 5);
    const char *const both[] = {"NCCL_IB_ADDR_FAMILY=AF_INET6",
                                "NCCL_IB_ROCE_VERSION_NUM=1", NULL};
    assert_int_equal(roce(usual, 6, rdma_wishes(both)), 4);
    assert_int_equal(roce(usual, 6, rdma_wish("NCCL_IB_GID_INDEX=1")), 1);
    assert_int_equal(roce(usual, 6, rdma_wish("NCCL_IB_GID_INDEX=0")), 0);
    assert_int_equal(roce(usual, 6, rdma_wish("NCCL_IB_GID_INDEX=-1")), 3);
    /* the length of the table is not told: up to the last entry */
    assert_int_equal(choose(FC_RDMA_ROCE, usual, 6, -1, rdma_wish(NULL)), 3);
    /* a table that ends before them */
    assert_int_equal(choose(FC_RDMA_ROCE, usual, 6, 2, rdma_wish(NULL)), 0);
}

/* rxe in a guest: link-local at 0, IPv4 at 1, both v2. */
static void gid_of_rxe(void **state)
{
    const struct row rows[] = {{0, V2, "fe80::2"}, {1, V2, "::ffff:10.0.0.1"}};
    (void)state;
    assert_int_equal(roce(rows, 2, rdma_wish(NULL)), 1);
    /* the last of two addresses does not replace the first of the same kind */
    const struct row two[] = {
        {0, V2, "fe80::2"}, {1, V2, "::ffff:10.0.0.1"}, {2, V2, "::ffff:10.0.1.1"}};
    assert_int_equal(roce(two, 3, rdma_wish(NULL)), 1);
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.0.1.0/24")), 2);
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.0.0.0/23")), 1);
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.9.0.0/16")), 0);
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.0.1.1/32")), 2);
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.0.1.0/0")), 1);
    /* what is no range is as none */
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.0.1.0")), 1);
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.0.1.0/33")), 1);
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=2001:db8::/32")), 1);
    /* and one of fewer than no bits fits nothing */
    assert_int_equal(roce(two, 3, rdma_wish("NCCL_IB_ADDR_RANGE=10.0.1.0/-4")), 0);
}

static void gid_in_an_ipv6_range(void **state)
{
    const struct row rows[] = {{0, V1, "fe80::1"},
                               {1, V2, "fe80::1"},
                               {2, V2, "2001:db8:0:1::1"},
                               {3, V2, "2001:db8:0:2::1"}};
    const char *const env[] = {"NCCL_IB_ADDR_FAMILY=AF_INET6",
                               "NCCL_IB_ADDR_RANGE=2001:db8:0:2::/64", NULL};
    const char *const odd[] = {"NCCL_IB_ADDR_FAMILY=AF_INET6",
                               "NCCL_IB_ADDR_RANGE=2001:db8:0:2::/63", NULL};
    (void)state;
    assert_int_equal(roce(rows, 4, rdma_wishes(env)), 3);
    assert_int_equal(roce(rows, 4, rdma_wishes(odd)), 3);
    assert_int_equal(roce(rows, 4, rdma_wish("NCCL_IB_ADDR_FAMILY=AF_INET6")), 2);
}

/* No IPv4 address anywhere: entry 0 stays, which is what breaks such nodes. */
static void gid_where_nothing_fits(void **state)
{
    const struct row only6[] = {{0, V1, "fe80::1"},
                                {1, V2, "fe80::1"},
                                {2, V1, "2001:db8::1"},
                                {3, V2, "2001:db8::1"}};
    /* an IPv4 address without the wanted version is still taken */
    const struct row only1[] = {{0, V1, "fe80::1"}, {1, V1, "::ffff:192.0.2.1"}};
    /* an empty entry between counts as IPv6 and stops nothing */
    const struct row gap[] = {{0, V1, "fe80::1"}, {9, V2, "::ffff:192.0.2.1"}};
    (void)state;
    assert_int_equal(roce(only6, 4, rdma_wish(NULL)), 0);
    assert_int_equal(roce(only1, 2, rdma_wish(NULL)), 1);
    assert_int_equal(roce(gap, 2, rdma_wish(NULL)), 9);
    assert_int_equal(roce(NULL, 0, rdma_wish(NULL)), 0);
    /* entry 0 is IPv4 v1 already: v2 of the same address takes over, and stays */
    const struct row first4[] = {{0, V1, "::ffff:192.0.2.1"},
                                 {1, V2, "::ffff:192.0.2.1"},
                                 {2, V1, "::ffff:192.0.2.9"}};
    assert_int_equal(roce(first4, 3, rdma_wish(NULL)), 1);
}

static void gid_of_infiniband_and_efa(void **state)
{
    const struct row ib[] = {{0, FC_RDMA_GID_IB, "fe80::2"},
                             {1, FC_RDMA_GID_IB, "fec0:0:7::2"}};
    const struct row flat[] = {{0, FC_RDMA_GID_IB, "fe80::2"},
                               {1, FC_RDMA_GID_IB, "fec0::2"}};
    (void)state;
    assert_int_equal(choose(FC_RDMA_IB, flat, 2, 8, rdma_wish(NULL)), 0);
    assert_int_equal(choose(FC_RDMA_IB, ib, 2, 8, rdma_wish(NULL)), 1);
    assert_int_equal(
        choose(FC_RDMA_IB, ib, 2, 8, rdma_wish("NCCL_IB_ROUTABLE_FLID_GID_INDEX=3")),
        0);
    /* the index is RoCE's alone */
    assert_int_equal(choose(FC_RDMA_IB, flat, 2, 8, rdma_wish("NCCL_IB_GID_INDEX=3")),
                     0);
    assert_int_equal(choose(FC_RDMA_EFA, flat, 1, 1, rdma_wish("NCCL_IB_GID_INDEX=3")),
                     0);
}

/* ---- names ---- */

static bool names(const char *hca, const char *device, int number)
{
    struct fc_rdma_ports *ports = rdma_new();
    struct fc_rdma_port *port = rdma_add(ports, device, number, FC_RDMA_IB, 400);
    bool yes = fc_rdma_hca_names(hca, port);
    fc_rdma_ports_close(ports);
    return yes;
}

static void hca_forms(void **state)
{
    static const struct {
        const char *hca, *device;
        int port;
        bool yes;
    } rows[] = {
        {"", "mlx5_0", 1, true},
        {"mlx5", "mlx5_0", 1, true},
        {"mlx5", "mlx4_0", 1, false},
        {"mlx5_1", "mlx5_10", 1, true}, /* a prefix */
        {"=mlx5_1", "mlx5_10", 1, false},
        {"=mlx5_1", "mlx5_1", 2, true},
        {"mlx5_0:1", "mlx5_0", 1, true},
        {"mlx5_0:1", "mlx5_0", 2, false},
        {"=mlx5_0:2,mlx5_3", "mlx5_0", 2, true},
        {"=mlx5_0:2,mlx5_3", "mlx5_3", 1, true},
        {"=mlx5_0:2,mlx5_3", "mlx5_2", 1, false},
        {"^mlx5_1", "mlx5_1", 1, false},
        {"^mlx5_1", "mlx5_10", 1, false},
        {"^=mlx5_1", "mlx5_10", 1, true},
        {"^=mlx5_1:1", "mlx5_1", 2, true},
        {"^mlx5_1,mlx5_2", "mlx5_2", 1, false},
        {"^mlx5_1,mlx5_2", "mlx5_3", 1, true},
        {",,mlx5_4,", "mlx5_4", 1, true},
        {",,mlx5_4,", "mlx5_5", 1, false},
        {",", "mlx5_5", 1, true},  /* a list without a name names all */
        {"^", "mlx5_5", 1, false}, /* and its opposite none */
        {"=", "mlx5_5", 1, true},
        {":1", "mlx5_5", 2, true},
        {"mlx5_0:x", "mlx5_0", 1, false},
        {"mlx5_0:", "mlx5_0", 1, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (names(rows[i].hca, rows[i].device, rows[i].port) != rows[i].yes)
            fail_msg("NCCL_IB_HCA=%s and %s:%d", rows[i].hca, rows[i].device,
                     rows[i].port);
}

static void what_a_person_names(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    size_t at = 99;
    (void)state;
    snprintf(ports->none, sizeof ports->none, "no RDMA device");
    assert_int_equal(fc_rdma_port_named(ports, "--ib-dev", "mlx5_0", &at, &err),
                     FC_USAGE);
    assert_string_equal(err.text, "--ib-dev mlx5_0: no RDMA device");
    rdma_add(ports, "mlx5_0", 1, FC_RDMA_IB, 0)->state = FC_RDMA_PORT_DOWN;
    snprintf(ports->port[0].state_name, sizeof ports->port[0].state_name, "down");
    rdma_add(ports, "mlx5_0", 2, FC_RDMA_IB, 400);
    struct fc_rdma_port *dead = rdma_add(ports, "mlx5_1", 1, FC_RDMA_IB, 400);
    dead->usable = false;
    snprintf(dead->unusable, sizeof dead->unusable, "ibv_open_device: no right to it");
    assert_int_equal(fc_rdma_port_named(ports, "--ib-dev", "mlx5_0", &at, &err), FC_OK);
    assert_int_equal(at, 1);
    assert_int_equal(fc_rdma_port_named(ports, "--ib-dev", "mlx5_0:1", &at, &err),
                     FC_OK);
    assert_int_equal(at, 0);
    at = 99;
    assert_int_equal(fc_rdma_port_named(ports, "--ib-dev", "mlx5_7", &at, &err),
                     FC_USAGE);
    assert_string_equal(
        err.text, "--ib-dev mlx5_7: no such RDMA port; there are mlx5_0:1 (down), "
                  "mlx5_0:2 (active, 400 Gb/s), mlx5_1:1 (not usable, 400 Gb/s)");
    assert_int_equal(fc_rdma_port_named(ports, "--ib-dev", "mlx5_0:3", &at, &err),
                     FC_USAGE);
    assert_int_equal(fc_rdma_port_named(ports, "--ib-dev", "mlx5_1", &at, &err),
                     FC_USAGE);
    assert_non_null(strstr(err.text, "mlx5_1: ibv_open_device: no right to it"));
    for (int i = 2; i < 200; i++)
        rdma_add(ports, "mlx5_2", i, FC_RDMA_IB, 400);
    assert_int_equal(fc_rdma_port_named(ports, "--ib-dev", "x", &at, &err), FC_USAGE);
    assert_non_null(strstr(err.text, ", ..."));
    assert_int_equal(at, 99);
    fc_rdma_ports_close(ports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gid_by_family_and_version),
        cmocka_unit_test(gid_of_rxe),
        cmocka_unit_test(gid_in_an_ipv6_range),
        cmocka_unit_test(gid_where_nothing_fits),
        cmocka_unit_test(gid_of_infiniband_and_efa),
        cmocka_unit_test(hca_forms),
        cmocka_unit_test(what_a_person_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
