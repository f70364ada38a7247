// SPDX-License-Identifier: BSD-3-Clause
/* Which ports are rails, why others are not, and what NCCL's variables change in it. */
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

static struct fc_rdma_choice choose_all(const struct fc_rdma_ports *ports,
                                        const struct fc_topo *topo,
                                        struct fc_rdma_wish wish)
{
    struct fc_rdma_choice choice;
    assert_int_equal(fc_rdma_choose(ports, topo, &wish, &choice, &err), FC_OK);
    assert_int_equal(choice.count, ports->ports);
    return choice;
}

static void assert_chosen(const struct fc_rdma_choice *choice, size_t i,
                          enum fc_rdma_why why, int rail, const char *reason)
{
    const struct fc_rdma_chosen *chosen = &choice->chosen[i];
    if (chosen->why != why || chosen->rail != rail || !strstr(chosen->reason, reason) ||
        (why == FC_RDMA_USED) != (chosen->reason[0] == '\0'))
        fail_msg("port %zu: why %d, rail %d, \"%s\"", i, (int)chosen->why, chosen->rail,
                 chosen->reason);
}

static struct fc_rdma_port *add_ib(struct fc_rdma_ports *ports, const char *device,
                                   double Gbps, const char *bdf)
{
    struct fc_rdma_port *port = rdma_add(ports, device, 1, FC_RDMA_IB, Gbps);
    rdma_gid(port, 0, FC_RDMA_GID_IB, "fe80::2");
    rdma_pkey(port, 0, 0xffff);
    snprintf(port->bdf, sizeof port->bdf, "%s", bdf);
    return port;
}

static void set_down(struct fc_rdma_port *port)
{
    port->state = FC_RDMA_PORT_DOWN;
    port->Gbps = 0;
    snprintf(port->state_name, sizeof port->state_name, "down");
    snprintf(port->phys_state, sizeof port->phys_state, "Polling");
}

/* Eight of a kind would be the same: two NDR rails, one of them down, a slower card for
 * storage, Ethernet for management and one that was never plugged in. */
static void storage_and_management_are_left_out(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    add_ib(ports, "mlx5_0", 400, "0000:9a:00.0");
    add_ib(ports, "mlx5_1", 100, "0000:2a:00.0");
    struct fc_rdma_port *eth = rdma_add(ports, "mlx5_2", 1, FC_RDMA_ROCE, 100);
    snprintf(eth->board, sizeof eth->board, "MT_0000000359");
    set_down(add_ib(ports, "mlx5_3", 0, "0000:1a:00.0"));
    struct fc_rdma_port *never = add_ib(ports, "mlx5_4", 0, "0000:3a:00.0");
    set_down(never);
    snprintf(never->board, sizeof never->board, "MT_0000000359");
    add_ib(ports, "mlx5_5", 200, "0000:4a:00.0");
    struct fc_rdma_choice choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_USED, 2, "");
    assert_chosen(&choice, 1, FC_RDMA_SLOWER, -1,
                  "100 Gb/s beside the 400 of mlx5_0:1: storage or management");
    assert_chosen(&choice, 2, FC_RDMA_OTHER_KIND, -1, "RoCE, where the fabric is Inf");
    assert_chosen(&choice, 3, FC_RDMA_DOWN, 0, "it is down (Polling)");
    assert_chosen(&choice, 4, FC_RDMA_OTHER_KIND, -1, "another product");
    assert_chosen(&choice, 5, FC_RDMA_USED, 1, ""); /* half as fast is the fabric */
    assert_int_equal(choice.rails, 3);
    assert_null(fc_rdma_rail(&choice, 0));
    assert_ptr_equal(fc_rdma_rail(&choice, 1), &choice.chosen[5]);
    assert_null(fc_rdma_rail(&choice, 3));
    fc_rdma_choice_fini(&choice);
    fc_rdma_choice_fini(NULL);
    fc_rdma_ports_close(ports);
}

static void all_down_is_all_rails(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    set_down(add_ib(ports, "mlx5_0", 0, "0000:1a:00.0"));
    set_down(add_ib(ports, "mlx5_1", 0, "0000:2a:00.0"));
    struct fc_rdma_choice choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_DOWN, 0, "down");
    assert_chosen(&choice, 1, FC_RDMA_DOWN, 1, "down");
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
    ports = rdma_new();
    choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_int_equal(choice.rails, 0);
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

static void virtual_functions_yield_to_their_card(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    add_ib(ports, "mlx5_0", 400, "0000:1a:00.0");
    struct fc_rdma_port *vf = add_ib(ports, "mlx5_1", 400, "0000:1a:00.1");
    vf->vf = true;
    snprintf(vf->pf_bdf, sizeof vf->pf_bdf, "0000:1a:00.0");
    struct fc_rdma_choice choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_USED, 0, "");
    assert_chosen(&choice, 1, FC_RDMA_VIRTUAL, -1, "a virtual function of mlx5_0:1");
    fc_rdma_choice_fini(&choice);
    /* a guest that was given the function alone, or told to take it */
    ports->port[0].usable = false;
    snprintf(ports->port[0].unusable, sizeof ports->port[0].unusable, "no right");
    choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_UNUSABLE, 0, "no right");
    assert_chosen(&choice, 1, FC_RDMA_USED, 1, "");
    fc_rdma_choice_fini(&choice);
    ports->port[0].usable = true;
    choice = choose_all(ports, NULL, rdma_wish("NCCL_IB_HCA==mlx5_1"));
    assert_chosen(&choice, 0, FC_RDMA_NOT_ASKED, -1,
                  "NCCL_IB_HCA==mlx5_1 (environment) leaves it out");
    assert_chosen(&choice, 1, FC_RDMA_USED, 0, "");
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

static void a_list_of_devices_is_obeyed(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    add_ib(ports, "mlx5_0", 400, "0000:1a:00.0");
    add_ib(ports, "mlx5_1", 100, "0000:2a:00.0");
    set_down(add_ib(ports, "mlx5_2", 0, "0000:3a:00.0"));
    struct fc_rdma_choice choice =
        choose_all(ports, NULL, rdma_wish("NCCL_IB_HCA=mlx5_1,mlx5_2"));
    assert_chosen(&choice, 0, FC_RDMA_NOT_ASKED, -1, "leaves it out");
    assert_chosen(&choice, 1, FC_RDMA_USED, 0, ""); /* slow, but named */
    assert_chosen(&choice, 2, FC_RDMA_DOWN, 1, "down");
    fc_rdma_choice_fini(&choice);
    /* what is left out by name leaves the rest to the usual choice */
    choice = choose_all(ports, NULL, rdma_wish("NCCL_IB_HCA=^mlx5_2"));
    assert_chosen(&choice, 0, FC_RDMA_USED, 0, "");
    assert_chosen(&choice, 1, FC_RDMA_SLOWER, -1, "100 Gb/s");
    assert_chosen(&choice, 2, FC_RDMA_NOT_ASKED, -1, "leaves it out");
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

static void efa_knows_nothing_of_nccls_list(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    struct fc_rdma_port *efa = rdma_add(ports, "rdmap0s6", 1, FC_RDMA_EFA, 100);
    rdma_gid(efa, 0, FC_RDMA_GID_IB, "fe80::5");
    efa = rdma_add(ports, "rdmap0s7", 1, FC_RDMA_EFA, 100);
    rdma_gid(efa, 0, FC_RDMA_GID_IB, "fe80::6");
    rdma_add(ports, "mlx5_0", 1, FC_RDMA_ROCE, 25);
    struct fc_rdma_choice choice =
        choose_all(ports, NULL, rdma_wish("NCCL_IB_HCA==mlx5_0"));
    assert_chosen(&choice, 0, FC_RDMA_USED, 0, "");
    assert_chosen(&choice, 1, FC_RDMA_USED, 1, "");
    assert_string_equal(choice.chosen[0].doubt, ""); /* link-local is normal there */
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

static void software_devices_beside_cards(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    struct fc_rdma_port *rxe = rdma_add(ports, "rxe0", 1, FC_RDMA_ROCE, 100);
    rxe->software = true;
    snprintf(rxe->driver, sizeof rxe->driver, "rdma_rxe");
    rdma_gid(rxe, 0, V2, "fe80::1");
    rdma_gid(rxe, 1, V2, "::ffff:10.0.0.1");
    struct fc_rdma_choice choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_USED, 0, "");
    fc_rdma_choice_fini(&choice);
    struct fc_rdma_port *card = rdma_add(ports, "mlx5_0", 1, FC_RDMA_ROCE, 25);
    rdma_gid(card, 0, V2, "::ffff:10.0.0.2");
    struct fc_rdma_port *iwarp = rdma_add(ports, "cxgb4_0", 1, FC_RDMA_IWARP, 100);
    iwarp->usable = true;
    choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_SOFTWARE, -1, "(rdma_rxe) beside real cards");
    assert_chosen(&choice, 1, FC_RDMA_USED, 0, "");
    assert_chosen(&choice, 2, FC_RDMA_OTHER_KIND, -1, "iWARP");
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

static void gids_and_keys_that_are_not_there(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    struct fc_rdma_port *bare = rdma_add(ports, "mlx5_0", 1, FC_RDMA_ROCE, 200);
    snprintf(bare->net, sizeof bare->net, "eth2");
    struct fc_rdma_port *local = rdma_add(ports, "mlx5_1", 1, FC_RDMA_ROCE, 200);
    rdma_gid(local, 0, V1, "fe80::1");
    struct fc_rdma_port *old = rdma_add(ports, "mlx5_2", 1, FC_RDMA_ROCE, 200);
    rdma_gid(old, 0, V1, "::ffff:192.0.2.1");
    struct fc_rdma_port *six = rdma_add(ports, "mlx5_3", 1, FC_RDMA_ROCE, 200);
    rdma_gid(six, 0, V2, "2001:db8::1");
    struct fc_rdma_choice choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_NO_GID, 0,
                  "GID 0 is empty: has its interface eth2");
    assert_chosen(&choice, 1, FC_RDMA_USED, 1, "");
    assert_non_null(strstr(choice.chosen[1].doubt, "link-local"));
    assert_non_null(strstr(choice.chosen[2].doubt, "RoCE v1"));
    assert_non_null(strstr(choice.chosen[3].doubt, "without an IPv4 address"));
    fc_rdma_choice_fini(&choice);
    choice = choose_all(ports, NULL, rdma_wish("NCCL_IB_GID_INDEX=3"));
    assert_chosen(&choice, 3, FC_RDMA_NO_GID, 3,
                  "GID 3, which NCCL_IB_GID_INDEX names");
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
    ports = rdma_new();
    struct fc_rdma_port *ib = add_ib(ports, "mlx5_0", 400, "0000:1a:00.0");
    rdma_pkey(ib, 2, 0x0001);
    choice = choose_all(ports, NULL, rdma_wish("NCCL_IB_PKEY=1"));
    assert_chosen(&choice, 0, FC_RDMA_NO_PKEY, 0, "P_Key 1 (NCCL_IB_PKEY) is empty");
    fc_rdma_choice_fini(&choice);
    choice = choose_all(ports, NULL, rdma_wish("NCCL_IB_PKEY=2"));
    assert_chosen(&choice, 0, FC_RDMA_USED, 0, "");
    assert_int_equal(choice.chosen[0].pkey, 1);
    assert_non_null(strstr(choice.chosen[0].doubt, "limited"));
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

static void numbers_of_the_variables(void **state)
{
    const char *const env[] = {"NCCL_IB_TC=106",
                               "NCCL_IB_SL=3",
                               "NCCL_IB_TIMEOUT=22",
                               "NCCL_IB_RETRY_CNT=5",
                               "NCCL_IB_PCI_RELAXED_ORDERING=0",
                               "NCCL_IB_DISABLE=1",
                               NULL};
    const char *const odd[] = {"NCCL_IB_TC=high", "NCCL_IB_SL=16", "NCCL_IB_TIMEOUT=32",
                               "NCCL_IB_ADDR_FAMILY=IPv6", NULL};
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    add_ib(ports, "mlx5_0", 400, "0000:1a:00.0");
    struct fc_rdma_wish wish = rdma_wishes(env);
    assert_true(wish.disabled);
    assert_int_equal(wish.notes, 0);
    struct fc_rdma_choice choice = choose_all(ports, NULL, wish);
    assert_int_equal(choice.chosen[0].tc, 106);
    assert_int_equal(choice.chosen[0].sl, 3);
    assert_int_equal(choice.chosen[0].timeout, 22);
    assert_int_equal(choice.chosen[0].retry, 5);
    assert_false(choice.chosen[0].relaxed_ordering);
    fc_rdma_choice_fini(&choice);
    wish = rdma_wishes(odd);
    assert_int_equal(wish.tc, 0); /* as strtoll has it */
    assert_int_equal(wish.sl, -1);
    assert_int_equal(wish.timeout, 20);
    assert_int_equal(wish.family, FC_RDMA_IPV4);
    assert_int_equal(wish.notes, 4);
    assert_non_null(strstr(wish.note[0].text, "NCCL_IB_SL=16"));
    choice = choose_all(ports, NULL, wish);
    assert_int_equal(choice.chosen[0].sl, 0);
    assert_true(choice.chosen[0].relaxed_ordering);
    assert_int_equal(choice.chosen[0].retry, 7);
    fc_rdma_choice_fini(&choice);
    ports->port[0].relaxed_ordering = 0;
    choice = choose_all(ports, NULL, rdma_wish(NULL));
    assert_false(choice.chosen[0].relaxed_ordering);
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

/* The picture says which NIC is which rail, and which is none. */
static void rails_of_the_picture(void **state)
{
    struct fc_topo_nic nics[3] = {{.rdma = "mlx5_0", .role = FC_NIC_FABRIC, .rail = 5},
                                  {.rdma = "mlx5_1", .role = FC_NIC_FABRIC, .rail = 0},
                                  {.rdma = "mlx5_2", .role = FC_NIC_OTHER, .rail = -1}};
    struct fc_topo topo = {.nic = nics, .nics = 3};
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    add_ib(ports, "mlx5_0", 400, "0000:1a:00.0");
    add_ib(ports, "mlx5_1", 400, "0000:2a:00.0");
    add_ib(ports, "mlx5_2", 400, "0000:3a:00.0");
    struct fc_rdma_choice choice = choose_all(ports, &topo, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_USED, 5, "");
    assert_chosen(&choice, 1, FC_RDMA_USED, 0, "");
    assert_chosen(&choice, 2, FC_RDMA_OTHER_KIND, -1, "by the node's picture");
    assert_int_equal(choice.rails, 6);
    fc_rdma_choice_fini(&choice);
    /* of named ports the place among them counts: other nodes may have others */
    choice = choose_all(ports, &topo, rdma_wish("NCCL_IB_HCA=mlx5_0"));
    assert_chosen(&choice, 0, FC_RDMA_USED, 0, "");
    assert_int_equal(choice.rails, 1);
    fc_rdma_choice_fini(&choice);
    /* two ports of one NIC cannot share its number: counted anew, in its order */
    struct fc_rdma_port *second = rdma_add(ports, "mlx5_0", 2, FC_RDMA_IB, 400);
    rdma_gid(second, 0, FC_RDMA_GID_IB, "fe80::2");
    choice = choose_all(ports, &topo, rdma_wish(NULL));
    assert_chosen(&choice, 1, FC_RDMA_USED, 0, "");
    assert_chosen(&choice, 0, FC_RDMA_USED, 1, "");
    assert_chosen(&choice, 3, FC_RDMA_USED, 2, "");
    fc_rdma_choice_fini(&choice);
    /* a device that the picture lacks: by the bus */
    nics[1].rdma[0] = '\0';
    choice = choose_all(ports, &topo, rdma_wish(NULL));
    assert_chosen(&choice, 0, FC_RDMA_USED, 1, "");
    assert_chosen(&choice, 3, FC_RDMA_USED, 0, ""); /* it names no function */
    assert_chosen(&choice, 1, FC_RDMA_USED, 2, "");
    fc_rdma_choice_fini(&choice);
    fc_rdma_ports_close(ports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storage_and_management_are_left_out),
        cmocka_unit_test(all_down_is_all_rails),
        cmocka_unit_test(virtual_functions_yield_to_their_card),
        cmocka_unit_test(a_list_of_devices_is_obeyed),
        cmocka_unit_test(efa_knows_nothing_of_nccls_list),
        cmocka_unit_test(software_devices_beside_cards),
        cmocka_unit_test(gids_and_keys_that_are_not_there),
        cmocka_unit_test(numbers_of_the_variables),
        cmocka_unit_test(rails_of_the_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
