// SPDX-License-Identifier: BSD-3-Clause
/* Reading ports from libibverbs and /sys: healthy devices of each kind, every call that
 * can fail, and answers that no device can give. */
#include "rdma/port.h"
#include "rdma_build.h"
#include "rdma_lib.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

static char root[128];
static struct fc_error err;
static char last_note[96];

static void add_file(const char *device, const char *file, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/%s", device, file);
    tree_write(root, path, text);
}

/* In libibverbs and in /sys. */
static void add_device(const char *name, uint8_t layer, int ports)
{
    char file[40];
    rdma_lib_add(name, layer, ports);
    for (int p = 1; p <= ports; p++) {
        snprintf(file, sizeof file, "ports/%d/state", p);
        add_file(name, file, "4: ACTIVE\n");
        snprintf(file, sizeof file, "ports/%d/phys_state", p);
        add_file(name, file, "5: LinkUp\n");
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(&rdma_lib, 0, sizeof rdma_lib);
    tree_make(root, sizeof root);
    last_note[0] = '\0';
    rdma_lib.pkey[0] = 0xffff;
    rdma_lib.pkey[2] = 0x8001;
    return 0;
}

/* Whatever happened, nothing is left open. */
static int tear_down(void **state)
{
    (void)state;
    tree_remove(root);
    return rdma_lib.open || rdma_lib.pds || rdma_lib.mrs || rdma_lib.lists;
}

static void on_note(void *arg, const char *what)
{
    (void)arg;
    if (strncmp(what, "/sys", 4) != 0)
        snprintf(last_note, sizeof last_note, "%s", what);
}

static struct fc_rdma_ports *open_ports(void)
{
    struct fc_rdma_source source = {.root = root, .note = on_note};
    struct fc_rdma_ports *ports = NULL;
    assert_int_equal(fc_rdma_ports_open(&source, &ports, &err), FC_OK);
    return ports;
}

static bool has_note(const struct fc_rdma_ports *ports, const char *text)
{
    for (size_t i = 0; i < ports->notes; i++)
        if (strstr(ports->note[i].text, text))
            return true;
    return false;
}

/* ---- healthy ---- */

static void an_infiniband_card(void **state)
{
    (void)state;
    add_device("mlx5_0", IBV_LINK_LAYER_INFINIBAND, 1);
    add_file("mlx5_0", "fw_ver", "28.39.2048\n");
    add_file("mlx5_0", "board_id", "MT_0000000838\n");
    add_file("mlx5_0", "node_guid", "0c42:a103:0054:f1e0\n");
    add_file("mlx5_0", "ports/1/rate", "400 Gb/sec (4X NDR)\n");
    tree_link(root, "/sys/class/infiniband/mlx5_0/device", "../../../bus/0000:1a:00.0");
    rdma_lib_gid(0, 1, 0, IBV_GID_TYPE_IB, "fe80::c42:a103:54:f1e0");
    struct fc_rdma_ports *ports = open_ports();
    assert_int_equal(ports->ports, 1);
    assert_int_equal(ports->notes, 0);
    const struct fc_rdma_port *p = &ports->port[0];
    assert_true(p->usable);
    assert_string_equal(p->name, "mlx5_0:1");
    assert_int_equal(p->wire, FC_RDMA_IB);
    assert_int_equal(p->state, FC_RDMA_PORT_ACTIVE);
    assert_string_equal(p->state_name, "active");
    assert_string_equal(p->phys_state, "LinkUp");
    assert_true(p->Gbps == 400);
    assert_string_equal(p->speed, "4X NDR");
    assert_int_equal(p->mtu, 4096);
    assert_int_equal(p->lid, 17);
    assert_int_equal(p->sm_lid, 1);
    assert_string_equal(p->firmware, "28.39.2048");
    assert_string_equal(p->board, "MT_0000000838");
    assert_string_equal(p->node_guid, "0c42:a103:0054:f1e0");
    assert_string_equal(p->port_guid, "0c42:a103:0054:f1e0");
    assert_string_equal(p->bdf, "0000:1a:00.0");
    assert_int_equal(p->part_id, 4129);
    assert_int_equal(p->max_qp_wr, 32768);
    assert_true(p->max_mr_bytes == INT64_MAX);
    assert_int_equal(p->max_message_bytes, 1 << 30);
    assert_int_equal(p->relaxed_ordering, 1);
    assert_int_equal(p->pkeys, 2);
    assert_int_equal(p->pkey[1].index, 2);
    assert_int_equal(p->pkey[1].key, 0x8001);
    assert_int_equal(p->gids, 1);
    assert_int_equal(p->gid[0].family, FC_RDMA_NO_FAMILY);
    assert_int_equal(p->gid_slots, 8);
    assert_int_equal(p->srd_read, -1);
    assert_string_equal(last_note, "ibv_close_device mlx5_0");
    fc_rdma_ports_close(ports);
}

static void a_roce_card_with_two_ports(void **state)
{
    (void)state;
    add_device("mlx5_2", IBV_LINK_LAYER_ETHERNET, 2);
    rdma_lib.port[0][1].state = IBV_PORT_DOWN;
    rdma_lib.port[0][1].active_mtu = IBV_MTU_1024; /* means nothing there */
    rdma_lib.port[0][1].active_speed = 1;
    add_file("mlx5_2", "ports/2/state", "1: DOWN\n");
    add_file("mlx5_2", "ports/2/phys_state", "3: Disabled\n");
    add_file("mlx5_2", "ports/2/rate", "40 Gb/sec (4X QDR)\n");
    add_file("mlx5_2", "ports/1/gid_attrs/ndevs/1", "eth4\n");
    rdma_lib_gid(0, 1, 0, IBV_GID_TYPE_ROCE_V1, "fe80::1");
    rdma_lib_gid(1, 1, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:192.0.2.1");
    rdma_lib_gid(2, 2, 0, IBV_GID_TYPE_ROCE_V1, "fe80::2");
    rdma_lib_gid(3, 9, 0, IBV_GID_TYPE_ROCE_V1, "fe80::3"); /* of no port */
    struct fc_rdma_ports *ports = open_ports();
    assert_int_equal(ports->ports, 2);
    assert_int_equal(ports->notes, 0);
    const struct fc_rdma_port *p = &ports->port[0];
    assert_int_equal(p->wire, FC_RDMA_ROCE);
    assert_true(p->Gbps == 400); /* 4 lanes of 100, by the codes */
    assert_string_equal(p->speed, "4X NDR");
    assert_string_equal(p->firmware, "28.39.1002");
    assert_int_equal(p->lid, -1);
    assert_int_equal(p->gids, 2);
    assert_int_equal(p->gid[1].kind, FC_RDMA_GID_ROCE_V2);
    assert_int_equal(p->gid[1].family, FC_RDMA_IPV4);
    assert_string_equal(p->gid[1].address, "192.0.2.1");
    assert_string_equal(p->gid[1].net, "eth4");
    assert_true(p->gid[0].link_local);
    assert_string_equal(p->port_guid, "");
    p = &ports->port[1];
    assert_true(p->usable);
    assert_string_equal(p->state_name, "down");
    assert_string_equal(p->phys_state, "Disabled");
    assert_true(p->Gbps == 0);
    assert_int_equal(p->mtu, 0);
    assert_int_equal(p->gids, 1);
    fc_rdma_ports_close(ports);
}

#ifdef HAVE_EFADV
static void an_efa_device(void **state)
{
    (void)state;
    add_device("rdmap0s6", IBV_LINK_LAYER_UNSPECIFIED, 1);
    rdma_lib.device[0].node_type = IBV_NODE_UNSPECIFIED;
    rdma_lib.device[0].transport_type = IBV_TRANSPORT_UNSPECIFIED;
    rdma_lib.port[0][0].active_speed = 32;
    tree_write(root, "/sys/bus/0000:00:06.0/numa_node", "1\n");
    tree_link(root, "/sys/bus/0000:00:06.0/driver", "../drivers/efa");
    tree_link(root, "/sys/class/infiniband/rdmap0s6/device",
              "../../../bus/0000:00:06.0");
    rdma_lib_gid(0, 1, 0, IBV_GID_TYPE_IB, "fe80::5");
    rdma_lib.efa = (struct efadv_device_attr){.max_sq_wr = 4096,
                                              .max_rq_wr = 8192,
                                              .inline_buf_size = 32,
                                              .device_caps = 1 | 1 << 3,
                                              .max_rdma_size = 1 << 30};
    struct fc_rdma_ports *ports = open_ports();
    const struct fc_rdma_port *p = &ports->port[0];
    assert_int_equal(ports->notes, 0);
    assert_int_equal(p->wire, FC_RDMA_EFA);
    assert_true(p->rate_is_nominal);
    assert_true(p->Gbps == 100);
    assert_int_equal(p->numa, 1);
    assert_string_equal(p->driver, "efa");
    assert_int_equal(p->srd_max_sq_wr, 4096);
    assert_int_equal(p->srd_max_rq_wr, 8192);
    assert_int_equal(p->srd_inline_bytes, 32);
    assert_int_equal(p->srd_max_rdma_bytes, 1 << 30);
    assert_int_equal(p->srd_read, 1);
    assert_int_equal(p->srd_write, 1);
    fc_rdma_ports_close(ports);
    rdma_lib.efa.device_caps = 1;
    ports = open_ports();
    assert_int_equal(ports->port[0].srd_write, 0);
    fc_rdma_ports_close(ports);
    rdma_lib.fail = "efadv_query_device";
    rdma_lib.error = EOPNOTSUPP;
    ports = open_ports();
    assert_true(has_note(ports, "rdmap0s6:1: efadv_query_device: "));
    assert_int_equal(ports->port[0].srd_max_sq_wr, -1);
    fc_rdma_ports_close(ports);
}
#endif

static void rxe_and_iwarp(void **state)
{
    (void)state;
    add_device("rxe0", IBV_LINK_LAYER_ETHERNET, 1);
    add_device("cxgb4_0", IBV_LINK_LAYER_ETHERNET, 1);
    rdma_lib.device[1].node_type = IBV_NODE_RNIC;
    rdma_lib.device[1].transport_type = IBV_TRANSPORT_IWARP;
    add_file("rxe0", "parent", "v1\n");
    add_file("cxgb4_0", "device/vendor", "0x1425\n");
    struct fc_rdma_ports *ports = open_ports();
    const struct fc_rdma_port *iwarp = &ports->port[0], *rxe = &ports->port[1];
    assert_int_equal(iwarp->wire, FC_RDMA_IWARP);
    assert_false(iwarp->software);
    assert_int_equal(rxe->wire, FC_RDMA_ROCE);
    assert_true(rxe->software && rxe->rate_is_nominal);
    assert_string_equal(rxe->driver, "rdma_rxe");
    assert_string_equal(rxe->net, "v1");
    assert_string_equal(rxe->bdf, "");
    fc_rdma_ports_close(ports);
}

static void a_virtual_function_and_its_interface(void **state)
{
    (void)state;
    add_device("mlx5_3", IBV_LINK_LAYER_ETHERNET, 2);
    tree_link(root, "/sys/class/infiniband/mlx5_3/device", "../../../bus/0000:1a:00.2");
    tree_link(root, "/sys/bus/0000:1a:00.2/physfn", "../0000:1a:00.0");
    tree_write(root, "/sys/bus/0000:1a:00.2/net/eth0/dev_port", "1\n");
    tree_write(root, "/sys/bus/0000:1a:00.2/net/eth1/dev_port", "0\n");
    struct fc_rdma_ports *ports = open_ports();
    assert_true(ports->port[0].vf);
    assert_string_equal(ports->port[0].pf_bdf, "0000:1a:00.0");
    assert_string_equal(ports->port[0].net, "eth1");
    assert_string_equal(ports->port[1].net, "eth0");
    fc_rdma_ports_close(ports);
}

/* ---- none, and no right ---- */

static void no_device_is_no_error(void **state)
{
    struct fc_rdma_source source = {.root = root};
    struct fc_rdma_ports *ports = open_ports();
    (void)state;
    assert_string_equal(ports->none, "no RDMA device");
    fc_rdma_ports_close(ports);
    rdma_lib.devices = -1;
    rdma_lib.list_errno = ENOSYS;
    ports = open_ports();
    assert_int_equal(ports->ports, 0);
    assert_string_equal(ports->none, "no RDMA device: the kernel has no RDMA");
    fc_rdma_ports_close(ports);
    ports = NULL;
    rdma_lib.list_errno = EACCES;
    assert_int_equal(fc_rdma_ports_open(&source, &ports, &err), FC_UNREADABLE);
    assert_string_equal(err.text, "ibv_get_device_list: Permission denied");
    rdma_lib.list_errno = ENOMEM;
    assert_int_equal(fc_rdma_ports_open(&source, &ports, &err), FC_NOMEM);
    assert_null(ports);
    rdma_lib.devices = 0;
}

/* The kernel has the device, libibverbs cannot reach it. */
static void devices_that_only_sys_shows(void **state)
{
    (void)state;
    add_device("mlx5_0", IBV_LINK_LAYER_INFINIBAND, 1);
    add_file("mlx5_0", "ports/1/link_layer", "InfiniBand\n");
    add_file("mlx5_0", "ports/1/rate", "200 Gb/sec (4X HDR)\n");
    rdma_lib.devices = 0;
    struct fc_rdma_ports *ports = open_ports();
    assert_int_equal(ports->ports, 1);
    assert_string_equal(ports->none, "");
    assert_false(ports->port[0].usable);
    assert_non_null(strstr(ports->port[0].unusable, "is ib_uverbs loaded"));
    assert_int_equal(ports->port[0].wire, FC_RDMA_IB);
    assert_true(ports->port[0].Gbps == 200);
    fc_rdma_ports_close(ports);
    rdma_lib.devices = -1;
    rdma_lib.list_errno = ENOSYS;
    ports = open_ports();
    assert_int_equal(ports->ports, 1);
    fc_rdma_ports_close(ports);
    rdma_lib.devices = 0;
}

static void devices_that_do_not_open(void **state)
{
    static const struct {
        int error;
        bool no_right;
        const char *text;
    } rows[] = {{EACCES, true, "uverbs0: Permission denied: no right to it"},
                {ENOENT, true, "is it given to this container?"},
                {EBUSY, false, "uverbs0: Device or resource busy"},
                {0, false, "uverbs0: Input/output error"}};
    (void)state;
    add_device("mlx5_0", IBV_LINK_LAYER_INFINIBAND, 2);
    rdma_lib.fail = "ibv_open_device";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rdma_lib.error = rows[i].error;
        struct fc_rdma_ports *ports = open_ports();
        assert_int_equal(ports->ports, 2);
        for (size_t p = 0; p < 2; p++) {
            assert_false(ports->port[p].usable);
            assert_non_null(strstr(ports->port[p].unusable, rows[i].text));
            assert_int_equal(ports->port[p].no_right, rows[i].no_right);
            assert_string_equal(ports->port[p].state_name, "active");
        }
        fc_rdma_ports_close(ports);
    }
}

static void devices_to_be_left_alone(void **state)
{
    const char *const skip[] = {"mlx5_1"};
    struct fc_rdma_source source = {
        .root = root, .note = on_note, .skip = skip, .skips = 1};
    struct fc_rdma_ports *ports = NULL;
    (void)state;
    add_device("mlx5_0", IBV_LINK_LAYER_INFINIBAND, 1);
    add_device("mlx5_1", IBV_LINK_LAYER_INFINIBAND, 1);
    assert_int_equal(fc_rdma_ports_open(&source, &ports, &err), FC_OK);
    assert_int_equal(ports->ports, 2);
    assert_true(ports->port[0].usable);
    assert_false(ports->port[1].usable);
    assert_non_null(strstr(ports->port[1].unusable, "left alone"));
    assert_int_equal(ports->port[1].state, -1); /* not even /sys was asked */
    fc_rdma_ports_close(ports);
}

/* ---- calls that fail ---- */

static void calls_that_fail(void **state)
{
    static const struct {
        const char *call;
        int error;
        bool usable;
        const char *text; /* why not, or what is noted */
    } rows[] = {
        {"ibv_query_device", EIO, false, "ibv_query_device: Input/output error"},
        {"ibv_query_port", ENODEV, false, "ibv_query_port: No such device"},
        {"ibv_query_pkey", EINVAL, true, "mlx5_0:1: P_Key 0 cannot be read"},
        {"ibv_query_gid_table", EOPNOTSUPP, true,
         "mlx5_0: its GIDs cannot be read: Operation not supported"},
        {"ibv_reg_mr", ENOMEM, true,
         "mlx5_0: not one page of memory can be registered"},
        {"ibv_reg_mr", EOPNOTSUPP, true, NULL},
        {"ibv_alloc_pd", ENOMEM, true, NULL},
    };
    (void)state;
    add_device("mlx5_0", IBV_LINK_LAYER_INFINIBAND, 1);
    rdma_lib_gid(0, 1, 0, IBV_GID_TYPE_IB, "fe80::2");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rdma_lib.fail = rows[i].call;
        rdma_lib.error = rows[i].error;
        struct fc_rdma_ports *ports = open_ports();
        const struct fc_rdma_port *p = &ports->port[0];
        assert_int_equal(ports->ports, 1);
        assert_int_equal(p->usable, rows[i].usable);
        if (!rows[i].usable)
            assert_string_equal(p->unusable, rows[i].text);
        else if (rows[i].text)
            assert_true(has_note(ports, rows[i].text));
        else
            assert_int_equal(ports->notes, 0);
        bool refused = strcmp(rows[i].call, "ibv_reg_mr") == 0 && !rows[i].text;
        bool unknown = strcmp(rows[i].call, "ibv_alloc_pd") == 0 ||
                       strcmp(rows[i].call, "ibv_query_device") == 0 ||
                       (strcmp(rows[i].call, "ibv_reg_mr") == 0 && rows[i].text);
        assert_int_equal(p->relaxed_ordering, refused ? 0 : unknown ? -1 : 1);
        assert_int_equal(rdma_lib.open + rdma_lib.pds + rdma_lib.mrs + rdma_lib.lists,
                         0);
        fc_rdma_ports_close(ports);
    }
}

static void absurd_answers_are_noted(void **state)
{
    (void)state;
    add_device("mlx5_0", IBV_LINK_LAYER_INFINIBAND, 1);
    struct ibv_port_attr *attr = &rdma_lib.port[0][0];
    attr->state = (enum ibv_port_state)9;
    attr->link_layer = 7;
    attr->gid_tbl_len = -3;
    attr->pkey_tbl_len = 60000;
    rdma_lib.attr[0].phys_port_cnt = 3;
    rdma_lib.attr[0].max_qp_wr = -1;
    rdma_lib_gid(0, 1, 0, 77, "fe80::2");
    rdma_lib_gid(1, 1, 4000000000u, IBV_GID_TYPE_IB, "fe80::3");
    struct fc_rdma_ports *ports = open_ports();
    assert_true(has_note(ports, "mlx5_0:1: no port has the state 9"));
    assert_true(has_note(ports, "no link layer has the number 7"));
    assert_true(has_note(ports, "a table of -3 GIDs"));
    assert_true(has_note(ports, "a table of 60000 P_Keys"));
    assert_true(has_note(ports, "mlx5_0: 3 ports, of which /sys shows 1"));
    assert_true(has_note(ports, "GID 0 is of type 77"));
    assert_int_equal(ports->port[0].state, -1);
    assert_int_equal(ports->port[0].gids, 1);
    assert_int_equal(ports->port[0].max_qp_wr, -1);
    fc_rdma_ports_close(ports);
    rdma_lib.gids = 5000; /* more than there was room for */
    ports = open_ports();
    assert_true(has_note(ports, "its GIDs cannot be read: too many"));
    fc_rdma_ports_close(ports);
}

static void absurd_links_are_noted(void **state)
{
    (void)state;
    add_device("mlx5_0", IBV_LINK_LAYER_INFINIBAND, 1);
    struct ibv_port_attr *attr = &rdma_lib.port[0][0];
    attr->active_mtu = (enum ibv_mtu)6;
    attr->lid = 0;
    attr->active_width = 3;
    struct fc_rdma_ports *ports = open_ports();
    assert_true(has_note(ports, "mlx5_0:1: its MTU codes are 6 of at most 5"));
    assert_true(has_note(ports, "it is active and has no LID"));
    assert_true(has_note(ports, "width code 3 and speed code 128 mean nothing"));
    assert_true(ports->port[0].Gbps == 0);
    assert_int_equal(ports->port[0].mtu, 0);
    fc_rdma_ports_close(ports);
    *attr = rdma_lib_port(IBV_LINK_LAYER_INFINIBAND);
    attr->active_speed = 64;
    add_file("mlx5_0", "ports/1/rate", "400 Gb/sec (4X NDR)\n");
    ports = open_ports();
    assert_true(has_note(ports, "/sys says 400 Gb/s, libibverbs 200"));
    fc_rdma_ports_close(ports);
    /* XDR has no code of 8 bits: /sys is believed */
    attr->active_speed = 0;
    add_file("mlx5_0", "ports/1/rate", "800 Gb/sec (4X XDR)\n");
    ports = open_ports();
    assert_int_equal(ports->notes, 0);
    assert_true(ports->port[0].Gbps == 800);
    fc_rdma_ports_close(ports);
    add_file("mlx5_0", "ports/1/rate", "fast\n");
    add_file("mlx5_0", "ports/1/state", "17: ODD\n");
    attr->active_speed = 128;
    ports = open_ports();
    assert_true(has_note(ports, "no port has the state 17"));
    assert_true(ports->port[0].Gbps == 400);
    fc_rdma_ports_close(ports);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_infiniband_card),
        TEST(a_roce_card_with_two_ports),
#ifdef HAVE_EFADV
        TEST(an_efa_device),
#endif
        TEST(rxe_and_iwarp),
        TEST(a_virtual_function_and_its_interface),
        TEST(no_device_is_no_error),
        TEST(devices_that_only_sys_shows),
        TEST(devices_that_do_not_open),
        TEST(devices_to_be_left_alone),
        TEST(calls_that_fail),
        TEST(absurd_answers_are_noted),
        TEST(absurd_links_are_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
