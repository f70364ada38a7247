// SPDX-License-Identifier: BSD-3-Clause
/* Descriptions of ports as JSON: what is written is read again, and what is malformed
 * is refused by name. */
#include "rdma_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct fc_error err;

/* Every member has a value of its own, so that two that are mixed up differ. */
static struct fc_rdma_ports *make_full(void)
{
    struct fc_rdma_ports *ports = rdma_new();
    struct fc_rdma_port *p = rdma_add(ports, "mlx5_10", 2, FC_RDMA_ROCE, 399.5);
    snprintf(p->unusable, sizeof p->unusable, "why not");
    snprintf(p->phys_state, sizeof p->phys_state, "LinkUp");
    snprintf(p->speed, sizeof p->speed, "4X NDR");
    snprintf(p->firmware, sizeof p->firmware, "28.39.1002");
    snprintf(p->type, sizeof p->type, "MT4129");
    snprintf(p->node_guid, sizeof p->node_guid, "0c42:a103:0054:f1e0");
    snprintf(p->port_guid, sizeof p->port_guid, "0c42:a103:0054:f1e1");
    snprintf(p->bdf, sizeof p->bdf, "0000:1a:00.1");
    snprintf(p->pf_bdf, sizeof p->pf_bdf, "0000:1a:00.0");
    snprintf(p->net, sizeof p->net, "eth7");
    p->no_right = p->software = p->rate_is_nominal = p->vf = p->grh_required = true;
    p->max_Gbps = 800;
    p->max_mtu = 8192;
    p->lid = 11;
    p->sm_lid = 12;
    p->numa = 3;
    p->vendor_id = 0x02c9;
    p->part_id = 4129;
    p->max_qp = 21;
    p->max_qp_wr = 22;
    p->max_sge = 23;
    p->max_cqe = 24;
    p->max_mr_bytes = INT64_MAX;
    p->max_rd_atomic = 26;
    p->max_init_rd_atomic = 27;
    p->max_message_bytes = 28;
    p->srd_max_sq_wr = 31;
    p->srd_max_rq_wr = 32;
    p->srd_inline_bytes = 33;
    p->srd_max_rdma_bytes = 34;
    p->srd_read = 1;
    p->srd_write = 0;
    rdma_gid(p, 0, FC_RDMA_GID_ROCE_V1, "fe80::1:2");
    rdma_gid(p, 3, FC_RDMA_GID_ROCE_V2, "::ffff:192.0.2.7");
    snprintf(p->gid[1].net, sizeof p->gid[1].net, "eth7.5");
    rdma_pkey(p, 0, 0xffff);
    rdma_pkey(p, 9, 0x8005);
    p->gid_slots = 256;
    rdma_add(ports, "efa0", 1, FC_RDMA_EFA, 0);
    fc_rdma_ports_note(ports, "%s", "odd \x01 \xc3\xa4");
    return ports;
}

static void assert_same_port(const struct fc_rdma_port *a, const struct fc_rdma_port *b)
{
    struct fc_rdma_port x = *a, y = *b;
    assert_int_equal(x.gids, y.gids);
    assert_int_equal(x.pkeys, y.pkeys);
    if (x.gids)
        assert_memory_equal(x.gid, y.gid, x.gids * sizeof *x.gid);
    if (x.pkeys)
        assert_memory_equal(x.pkey, y.pkey, x.pkeys * sizeof *x.pkey);
    x.gid = y.gid = NULL;
    x.pkey = y.pkey = NULL;
    assert_memory_equal(&x, &y, sizeof x);
}

static void what_is_written_is_read(void **state)
{
    struct fc_rdma_ports *ports = make_full(), *again = NULL;
    (void)state;
    json_t *json = fc_rdma_ports_json(ports);
    assert_non_null(json);
    char *text = json_dumps(json, 0);
    json_decref(json);
    json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_int_equal(fc_rdma_ports_read(json, &again, &err), FC_OK);
    assert_int_equal(again->ports, 2);
    assert_same_port(&ports->port[0], &again->port[0]);
    assert_same_port(&ports->port[1], &again->port[1]);
    assert_string_equal(again->none, "");
    assert_int_equal(again->notes, 1);
    assert_string_equal(again->note[0].text, "odd ? ??");
    assert_string_equal(again->port[0].gid[1].address, "192.0.2.7");
    assert_int_equal(again->port[0].gid[1].family, FC_RDMA_IPV4);
    assert_true(again->port[0].gid[0].link_local);
    assert_ptr_equal(fc_rdma_port_find(again, "mlx5_10", 2), &again->port[0]);
    assert_null(fc_rdma_port_find(again, "mlx5_10", 1));
    assert_ptr_equal(fc_rdma_gid_at(&again->port[0], 3), &again->port[0].gid[1]);
    assert_null(fc_rdma_gid_at(&again->port[0], 1));
    free(text);
    json_decref(json);
    fc_rdma_ports_close(again);
    fc_rdma_ports_close(ports);
    fc_rdma_ports_close(NULL);
}

static void none_says_why(void **state)
{
    struct fc_rdma_ports *ports = rdma_new(), *again = NULL;
    (void)state;
    snprintf(ports->none, sizeof ports->none, "no RDMA device");
    json_t *json = fc_rdma_ports_json(ports);
    assert_int_equal(fc_rdma_ports_read(json, &again, &err), FC_OK);
    assert_int_equal(again->ports, 0);
    assert_string_equal(again->none, "no RDMA device");
    json_decref(json);
    fc_rdma_ports_close(again);
    fc_rdma_ports_close(ports);
}

static void assert_refused(json_t *json, const char *where)
{
    struct fc_rdma_ports *again = NULL;
    assert_int_equal(fc_rdma_ports_read(json, &again, &err), FC_FAILED);
    assert_null(again);
    if (!strstr(err.text, where))
        fail_msg("\"%s\" does not name %s", err.text, where);
}

/* Each member, one after the other, gone and of another type. */
static void each_member_is_checked(void **state)
{
    struct fc_rdma_ports *ports = make_full();
    json_t *json = fc_rdma_ports_json(ports), *value;
    json_t *first = json_array_get(json_object_get(json, "ports"), 0);
    const char *key;
    void *next;
    size_t checked = 0;
    (void)state;
    json_t *copy = json_deep_copy(first);
    json_object_foreach_safe(copy, next, key, value)
    {
        if (json_is_array(value) || strcmp(key, "wire") == 0)
            continue;
        json_object_set_new(first, key, json_array());
        assert_refused(json, key);
        json_object_del(first, key);
        assert_refused(json, key);
        json_object_set(first, key, value);
        checked++;
    }
    assert_true(checked > 40);
    json_decref(copy);
    json_decref(json);
    fc_rdma_ports_close(ports);
}

static void set_first(json_t *json, const char *key, json_t *value)
{
    json_object_set_new(json_array_get(json_object_get(json, "ports"), 0), key, value);
}

static void absurd_values_are_refused(void **state)
{
    static const struct {
        const char *key;
        double value;
    } rows[] = {{"port", 0},       {"port", 256},   {"state", 9},    {"mtu", -1},
                {"lid", 65536},    {"numa", 4096},  {"srd_read", 2}, {"vendor_id", -2},
                {"max_qp", -2},    {"Gbps", -1},    {"Gbps", 1e9},   {"gid_slots", -2},
                {"sm_lid", 70000}, {"max_mtu", 1e6}};
    struct fc_rdma_ports *ports = make_full();
    char name[65];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *json = fc_rdma_ports_json(ports);
        bool real = strcmp(rows[i].key, "Gbps") == 0;
        set_first(json, rows[i].key,
                  real ? json_real(rows[i].value)
                       : json_integer((json_int_t)rows[i].value));
        assert_refused(json, rows[i].key);
        json_decref(json);
    }
    memset(name, 'x', 64); /* one byte too long */
    name[64] = '\0';
    json_t *json = fc_rdma_ports_json(ports);
    set_first(json, "device", json_string(name));
    assert_refused(json, "device");
    json_decref(json);
    fc_rdma_ports_close(ports);
}

static void malformed_tables_are_refused(void **state)
{
    static const char *const gids[] = {
        "[3]",
        "[{}]",
        "[{\"index\":0,\"kind\":\"IB\",\"net\":\"\",\"raw\":\"00\"}]",
        "[{\"index\":-1,\"kind\":\"IB\",\"net\":\"\","
        "\"raw\":\"00000000000000000000000000000000\"}]",
        "[{\"index\":1,\"kind\":7,\"net\":\"\","
        "\"raw\":\"00000000000000000000000000000000\"}]",
        "[{\"index\":1,\"kind\":\"IB\",\"net\":\"\","
        "\"raw\":\"0000000000000000000000000000000g\"}]"};
    static const char *const pkeys[] = {"[1]", "[[0]]", "[[0, 65536]]", "[[-1, 1]]",
                                        "[[0, \"1\"]]"};
    struct fc_rdma_ports *ports = make_full();
    (void)state;
    for (size_t i = 0; i < sizeof gids / sizeof *gids; i++) {
        json_t *json = fc_rdma_ports_json(ports);
        set_first(json, "gids", json_loads(gids[i], 0, NULL));
        assert_refused(json, "gids[0]");
        json_decref(json);
    }
    for (size_t i = 0; i < sizeof pkeys / sizeof *pkeys; i++) {
        json_t *json = fc_rdma_ports_json(ports);
        set_first(json, "pkeys", json_loads(pkeys[i], 0, NULL));
        assert_refused(json, "pkeys[0]");
        json_decref(json);
    }
    json_t *json = fc_rdma_ports_json(ports), *many = json_array();
    for (int i = 0; i < 1025; i++)
        json_array_append_new(many, json_pack("[i, i]", i, 1));
    set_first(json, "pkeys", many);
    assert_refused(json, "too many");
    json_object_set_new(json, "none", json_null());
    assert_refused(json, "not a description");
    assert_refused(NULL, "not a description");
    json_decref(json);
    fc_rdma_ports_close(ports);
}

static void words(void **state)
{
    struct fc_rdma_ports *ports = rdma_new();
    (void)state;
    assert_string_equal(fc_rdma_wire_name(FC_RDMA_IB), "InfiniBand");
    assert_string_equal(fc_rdma_wire_name(FC_RDMA_WIRE_UNKNOWN), "unknown");
    assert_string_equal(fc_rdma_gid_kind_name(FC_RDMA_GID_ROCE_V2), "RoCE v2");
    rdma_add(ports, "mlx5_10", 1, FC_RDMA_IB, 1);
    rdma_add(ports, "mlx5_2", 2, FC_RDMA_IB, 1);
    rdma_add(ports, "mlx5_2", 1, FC_RDMA_IB, 1);
    fc_rdma_ports_sort(ports);
    assert_string_equal(ports->port[0].name, "mlx5_2:1");
    assert_string_equal(ports->port[1].name, "mlx5_2:2");
    assert_string_equal(ports->port[2].name, "mlx5_10:1");
    for (int i = 0; i < 100; i++)
        fc_rdma_ports_note(ports, "note %d", i);
    assert_int_equal(ports->notes, FC_RDMA_MAX_NOTES);
    fc_rdma_ports_close(ports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(none_says_why),
        cmocka_unit_test(each_member_is_checked),
        cmocka_unit_test(absurd_values_are_refused),
        cmocka_unit_test(malformed_tables_are_refused),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
