// SPDX-License-Identifier: BSD-3-Clause
/* What travels: endpoints between peers, which are not trusted, and the objects between
 * a rank and its worker. */
#include "core/rng.h"
#include "rdma/endpoint.h"
#include "rdma/transfer_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct fc_error err;

static struct fc_endpoint_info an_endpoint(void)
{
    struct fc_endpoint_info info = {.name = "mlx5_0:1",
                                    .transport = "rc",
                                    .layer = "Ethernet",
                                    .gid_kind = "RoCE v2",
                                    .lid = 17,
                                    .gid = {[10] = 0xff, [11] = 0xff, [15] = 9},
                                    .has_gid = true,
                                    .ipv4 = true,
                                    .mtu = 4096,
                                    .pkey = 0xffff,
                                    .psn = 0xabcdef,
                                    .qkey = 0x7fffffff,
                                    .rd_atomic = 16,
                                    .qps = 2,
                                    .qpn = {11, 22, 0xffffff},
                                    .tag = UINT64_MAX - 5,
                                    .source = UINT64_C(0x7fff12345000),
                                    .target = UINT64_C(0xffff800012345000),
                                    .rkey = UINT32_MAX,
                                    .ring_bytes = 8 << 20,
                                    .ops = 7};
    return info;
}

static void an_endpoint_travels(void **state)
{
    struct fc_endpoint_info info = an_endpoint(), got;
    struct fc_endpoint endpoint;
    (void)state;
    assert_int_equal(fc_endpoint_write(&info, &endpoint, &err), FC_OK);
    assert_int_equal(fc_endpoint_read(&endpoint, &got, &err), FC_OK);
    assert_string_equal(got.name, info.name);
    assert_string_equal(got.gid_kind, info.gid_kind);
    assert_memory_equal(got.gid, info.gid, sizeof info.gid);
    assert_memory_equal(got.qpn, info.qpn, sizeof info.qpn);
    assert_true(got.tag == info.tag && got.target == info.target);
    assert_true(got.rkey == info.rkey && got.qkey == info.qkey && got.psn == info.psn);
    assert_true(got.has_gid && got.ipv4 && got.qps == 2 && got.ops == 7);
    /* the longest there can be fits */
    info.qps = FC_RDMA_QPS_MAX;
    for (int i = 0; i <= info.qps; i++)
        info.qpn[i] = 0xffffff;
    memset(info.name, 'n', sizeof info.name - 1);
    assert_int_equal(fc_endpoint_write(&info, &endpoint, &err), FC_OK);
    assert_int_equal(fc_endpoint_read(&endpoint, &got, &err), FC_OK);
}

/* One byte changed, or the text cut: never a crash, never a queue pair count or a text
 * that does not fit. */
static void endpoints_are_not_trusted(void **state)
{
    struct fc_endpoint_info info = an_endpoint(), got;
    struct fc_endpoint good, bad;
    struct fc_rng rng;
    unsigned refused = 0;
    (void)state;
    fc_rng_seed(&rng, 4);
    assert_int_equal(fc_endpoint_write(&info, &good, &err), FC_OK);
    size_t length = strlen(good.text);
    for (int i = 0; i < 4000; i++) {
        bad = good;
        bad.text[fc_rng_below(&rng, length)] = (char)fc_rng_below(&rng, 256);
        if (i % 4 == 0)
            memset(bad.text + fc_rng_below(&rng, length), 0, 1);
        if (fc_endpoint_read(&bad, &got, &err) != FC_OK) {
            refused++;
            continue;
        }
        assert_in_range(got.qps, 1, FC_RDMA_QPS_MAX);
        assert_in_range(got.mtu, 256, 65536);
    }
    assert_true(refused > 1000);
    memset(&bad, 'x', sizeof bad); /* no end */
    assert_int_equal(fc_endpoint_read(&bad, &got, &err), FC_FAILED);
    assert_true(strlen(err.text) < 200);
}

static void refuses(const struct fc_endpoint_info *peer, const char *text)
{
    struct fc_endpoint_info own = an_endpoint();
    struct fc_lane_link link;
    assert_int_equal(fc_endpoint_meet(&own, peer, &link, &err), FC_USAGE);
    if (!strstr(err.text, text) || !strstr(err.text, "mlx5_0:1 and mlx5_9:1"))
        fail_msg("'%s' lacks '%s'", err.text, text);
}

static struct fc_endpoint_info a_peer(void)
{
    struct fc_endpoint_info peer = an_endpoint();
    snprintf(peer.name, sizeof peer.name, "mlx5_9:1");
    return peer;
}

static void what_can_meet(void **state)
{
    struct fc_endpoint_info own = an_endpoint(), peer = a_peer();
    struct fc_lane_link link;
    (void)state;
    assert_int_equal(fc_endpoint_meet(&own, &peer, &link, &err), FC_OK);
    assert_int_equal(link.mtu, 4096);
    assert_string_equal(link.note, "");
    peer.mtu = 1024;
    peer.pkey = 0x7fff; /* a limited member, with a full one */
    assert_int_equal(fc_endpoint_meet(&own, &peer, &link, &err), FC_OK);
    assert_int_equal(link.mtu, 1024);
    assert_string_equal(link.note,
                        "mlx5_0:1 has MTU 4096 and mlx5_9:1 1024: 1024 is used");
    peer = a_peer();
    snprintf(peer.layer, sizeof peer.layer, "InfiniBand");
    refuses(&peer, "link layers Ethernet and InfiniBand");
    peer = a_peer();
    snprintf(peer.transport, sizeof peer.transport, "srd");
    refuses(&peer, "transports rc and srd");
    peer = a_peer();
    peer.pkey = 0x8001;
    refuses(&peer, "P_Keys 0xffff and 0x8001");
    peer = a_peer();
    snprintf(peer.gid_kind, sizeof peer.gid_kind, "RoCE v1");
    refuses(&peer, "GID kinds RoCE v2 and RoCE v1");
    peer = a_peer();
    peer.ipv4 = false;
    refuses(&peer, "GIDs of IPv4 and IPv6");
    peer = a_peer();
    peer.qps = 1;
    refuses(&peer, "2 and 1 queue pairs");
}

static void limited_members_do_not_meet(void **state)
{
    struct fc_endpoint_info own = an_endpoint(), peer = a_peer();
    struct fc_lane_link link;
    (void)state;
    own.pkey = peer.pkey = 0x0001;
    assert_int_equal(fc_endpoint_meet(&own, &peer, &link, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "limited members"));
}

static void addressed_in_unlike_ways(void **state)
{
    struct fc_endpoint_info own = an_endpoint(), peer = a_peer();
    struct fc_lane_link link;
    (void)state;
    snprintf(own.layer, sizeof own.layer, "InfiniBand");
    snprintf(peer.layer, sizeof peer.layer, "InfiniBand");
    peer.has_gid = false; /* one subnet: the LID will do */
    assert_int_equal(fc_endpoint_meet(&own, &peer, &link, &err), FC_OK);
    own.lid = peer.lid = 0;
    assert_int_equal(fc_endpoint_meet(&own, &peer, &link, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "they have no LIDs"));
}

/* ---- between rank and worker ---- */

static void plans_travel(void **state)
{
    const struct fc_lane_plan lane = {.device = "mlx5_3",
                                      .port = 2,
                                      .gid_index = -1,
                                      .pkey_index = 1,
                                      .sl = 3,
                                      .traffic_class = 106,
                                      .mtu = 2048,
                                      .timeout = 14,
                                      .retries = 6,
                                      .qps = 4,
                                      .depth = 128,
                                      .inline_bytes = -1,
                                      .relaxed_ordering = true,
                                      .max_bytes = 8 << 20,
                                      .memory = "host",
                                      .numa = 1};
    const struct fc_transfer_plan plan = {.op = FC_RDMA_SEND,
                                          .latency = true,
                                          .bytes = 1 << 30,
                                          .box_ns = UINT64_C(3600000000000),
                                          .iterations = UINT32_MAX,
                                          .bursts = FC_RDMA_SAMPLES_MAX,
                                          .depth = 7,
                                          .data_seed = UINT64_MAX,
                                          .round = UINT32_MAX,
                                          .patience_ns = 5};
    struct fc_lane_plan got_lane = {.port = 0};
    struct fc_transfer_plan got = {.bytes = 0};
    (void)state;
    json_t *json = fc_lane_plan_json(&lane);
    assert_true(fc_lane_plan_read(json, &got_lane));
    json_t *again = fc_lane_plan_json(&got_lane);
    assert_true(json_equal(again, json));
    assert_true(got_lane.relaxed_ordering && got_lane.max_bytes == lane.max_bytes);
    json_decref(again);
    json_decref(json);
    json = fc_transfer_plan_json(&plan);
    assert_true(fc_transfer_plan_read(json, &got));
    assert_true(got.op == plan.op && got.latency && got.bytes == plan.bytes);
    assert_true(got.box_ns == plan.box_ns && got.iterations == plan.iterations);
    assert_true(got.bursts == plan.bursts && got.depth == 7);
    assert_true(got.data_seed == plan.data_seed && got.round == plan.round);
    json_object_set_new(json, "op", json_integer(3));
    assert_false(fc_transfer_plan_read(json, &got));
    json_object_del(json, "op");
    assert_false(fc_transfer_plan_read(json, &got));
    json_decref(json);
    assert_false(fc_lane_plan_read(NULL, &got_lane));
}

static void tasks_travel(void **state)
{
    const struct fc_lane_task task[2] = {{63, FC_LANE_BOTH}, {0, FC_LANE_SERVES}};
    struct fc_lane_task got[2];
    (void)state;
    json_t *json = fc_lane_tasks_json(task, 2);
    assert_int_equal(fc_lane_tasks_read(json, got, 2), 2);
    assert_true(got[0].lane == 63 && got[0].role == FC_LANE_BOTH);
    assert_true(got[1].lane == 0 && got[1].role == FC_LANE_SERVES);
    assert_int_equal(fc_lane_tasks_read(json, got, 1), -1);
    json_array_append_new(json, json_pack("[i, i]", 1, 4));
    assert_int_equal(fc_lane_tasks_read(json, got, 3), -1);
    json_decref(json);
    assert_int_equal(fc_lane_tasks_read(NULL, got, 2), -1);
}

static void results_travel(void **state)
{
    const struct fc_lane_result result = {.status = FC_WRONG,
                                          .reason = "three bytes are wrong",
                                          .reopen = true,
                                          .wc_status = 12,
                                          .vendor_error = 0x81,
                                          .bw_GBps = 1.5,
                                          .average_GBps = 1.25,
                                          .peak_GBps = (double)NAN,
                                          .messages_per_s = 1e6,
                                          .sample = {1, 2},
                                          .samples = 2,
                                          .payload = UINT64_C(1) << 50,
                                          .messages = 9,
                                          .seconds = 0.5,
                                          .latency = {.n = 3, .typical = 2e-6},
                                          .checked = 10,
                                          .wrong = 3,
                                          .first_wrong = 7};
    struct fc_lane_result got;
    (void)state;
    json_t *json = fc_lane_result_json(&result);
    assert_non_null(json);
    assert_true(fc_lane_result_read(json, &got));
    assert_int_equal(got.status, FC_WRONG);
    assert_string_equal(got.reason, result.reason);
    assert_true(got.reopen && got.wc_status == 12 && got.vendor_error == 0x81);
    assert_true(got.bw_GBps == 1.5 && isnan(got.peak_GBps) && got.samples == 2);
    assert_true(got.sample[1] == 2 && got.payload == result.payload);
    assert_true(got.latency.n == 3 && got.latency.typical == 2e-6);
    assert_true(got.wrong == 3 && got.first_wrong == 7 && got.checked == 10);
    json_object_set_new(json, "status", json_integer(99));
    assert_false(fc_lane_result_read(json, &got));
    json_decref(json);
    assert_false(fc_lane_result_read(NULL, &got));
}

static void answers_travel(void **state)
{
    const struct fc_lane_answer answer = {.name = "efa0:1",
                                          .transport = "srd",
                                          .memory = "cuda",
                                          .registered_by = "dma-buf",
                                          .registered_note = "",
                                          .numa = -1,
                                          .inline_bytes = 32,
                                          .relaxed_ordering = true,
                                          .ops = 5,
                                          .max_message = {1 << 30, 0, 8192}};
    const struct fc_lane_link link = {1024, 4096, 1024, "a note"};
    struct fc_lane_answer got;
    struct fc_lane_link got_link;
    (void)state;
    json_t *json = fc_lane_answer_json(&answer);
    assert_true(fc_lane_answer_read(json, &got));
    assert_string_equal(got.registered_by, "dma-buf");
    assert_true(got.numa == -1 && got.ops == 5 && got.relaxed_ordering);
    assert_int_equal(got.max_message[FC_RDMA_SEND], 8192);
    assert_false(fc_lane_link_read(json, &got_link) && got_link.note[0]);
    json_object_del(json, "by");
    assert_false(fc_lane_answer_read(json, &got));
    json_decref(json);
    json = fc_lane_link_json(&link);
    assert_true(fc_lane_link_read(json, &got_link));
    assert_true(got_link.mtu == 1024 && got_link.own_mtu == 4096);
    assert_string_equal(got_link.note, "a note");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endpoint_travels),
        cmocka_unit_test(endpoints_are_not_trusted),
        cmocka_unit_test(what_can_meet),
        cmocka_unit_test(limited_members_do_not_meet),
        cmocka_unit_test(addressed_in_unlike_ways),
        cmocka_unit_test(plans_travel),
        cmocka_unit_test(tasks_travel),
        cmocka_unit_test(results_travel),
        cmocka_unit_test(answers_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
