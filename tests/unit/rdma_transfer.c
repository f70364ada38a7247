// SPDX-License-Identifier: BSD-3-Clause
/* Measuring over the double wire: bandwidth and latency of each operation over RC and
 * SRD, verified; data that is damaged or lost, completions that fail or never come. */
#include "rdma/ping.h"
#include "rdma_rig.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

#define MS FC_NS_PER_MS

static struct fc_transfer_plan plan_of(enum fc_rdma_op op, uint64_t bytes)
{
    return (struct fc_transfer_plan){.op = op,
                                     .bytes = bytes,
                                     .box_ns = 2 * MS,
                                     .data_seed = 77,
                                     .round = 3,
                                     .patience_ns = 60000 * MS};
}

/* One that is to fail: it need not wait long for that. */
static struct fc_transfer_plan hasty_plan_of(enum fc_rdma_op op, uint64_t bytes)
{
    struct fc_transfer_plan plan = plan_of(op, bytes);
    plan.patience_ns = 300 * MS;
    return plan;
}

/* Both lanes in one loop, as a worker with two NICs drives them. */
static void measure(struct rig *rig, const struct fc_transfer_plan *plan, bool both)
{
    const struct fc_lane_task task[2] = {{0, both ? FC_LANE_BOTH : FC_LANE_INITIATES},
                                         {1, both ? FC_LANE_BOTH : FC_LANE_SERVES}};
    enum fc_status status =
        fc_lanes_measure(&rig->verbs, plan, task, 2, NULL, rig->result, &rig->err);
    if (status != FC_OK)
        fail_msg("%s", rig->err.text);
}

struct peer {
    struct rig *rig;
    const struct fc_transfer_plan *plan;
};

static void *serve(void *arg)
{
    struct peer *peer = arg;
    fc_ping_measure(peer->rig->verbs.lane[1], peer->plan, FC_LANE_SERVES,
                    &peer->rig->result[1]);
    return NULL;
}

static void measure_latency(struct rig *rig, struct fc_transfer_plan *plan)
{
    struct peer peer = {rig, plan};
    pthread_t thread;
    plan->latency = wire.yields = true;
    assert_int_equal(pthread_create(&thread, NULL, serve, &peer), 0);
    fc_ping_measure(rig->verbs.lane[0], plan, FC_LANE_INITIATES, &rig->result[0]);
    pthread_join(thread, NULL);
    wire.yields = false;
}

static void is_well(const struct rig *rig, int lane)
{
    if (rig->result[lane].status != FC_OK || rig->result[lane].reopen)
        fail_msg("lane %d: %s", lane, rig->result[lane].reason);
}

static void check_bandwidth(struct rig *rig, enum fc_rdma_op op, uint64_t bytes,
                            bool both)
{
    struct fc_transfer_plan plan = plan_of(op, bytes);
    measure(rig, &plan, both);
    is_well(rig, 0);
    is_well(rig, 1);
    const struct fc_lane_result *from = &rig->result[0], *to = &rig->result[1];
    int taker = op == FC_RDMA_READ ? 0 : 1;
    assert_true(from->bw_GBps > 0 && from->samples > 0);
    assert_true(from->peak_GBps >= from->bw_GBps);
    assert_true(from->messages_per_s > 0 && from->payload > 0);
    assert_true(both ? to->bw_GBps > 0 : isnan(to->bw_GBps));
    assert_true(rig->result[taker].checked >= bytes);
    assert_int_equal(rig->result[taker].wrong, 0);
    if (!both && op != FC_RDMA_READ)
        assert_int_equal(to->payload, from->payload);
    if (!both)
        assert_int_equal(rig->result[1 - taker].checked, 0);
}

static void check_sizes(struct rig *rig, enum fc_rdma_op op, uint64_t most)
{
    static const uint64_t sizes[] = {1, 2, 8, 63, 64, 65, 4096, 8192, 65536, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; i++) {
        check_bandwidth(rig, op, sizes[i], false);
        check_bandwidth(rig, op, sizes[i], true);
    }
}

static void bandwidth_over_rc(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    for (int op = 0; op < FC_RDMA_OPS; op++)
        check_sizes(rig, (enum fc_rdma_op)op, 1 << 20);
}

static void bandwidth_over_many_queue_pairs(void **state)
{
    struct rig *rig = *state;
    for (int qps = 2; qps <= 16; qps += 7) {
        rig->plan.qps = qps;
        rig_join(rig, "wire0", "wire1");
        for (int op = 0; op < FC_RDMA_OPS; op++)
            check_bandwidth(rig, (enum fc_rdma_op)op, 4096, true);
        rig_part(rig);
    }
}

static void bandwidth_over_srd(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "efa0", "efa0");
    check_sizes(rig, FC_RDMA_WRITE, 1 << 20);
    check_sizes(rig, FC_RDMA_READ, 1 << 20);
    check_sizes(rig, FC_RDMA_SEND, 8192);
}

static void srd_has_limits(void **state)
{
    struct rig *rig = *state;
    struct fc_transfer_plan plan = plan_of(FC_RDMA_SEND, 8193);
    rig_join(rig, "efa0", "efa0");
    measure(rig, &plan, false);
    assert_int_equal(rig->result[0].status, FC_UNSUPPORTED);
    assert_non_null(strstr(rig->result[0].reason, "srd carries 8192"));
    wire.srd_caps = 1;
    rig_part(rig);
    rig_join(rig, "efa0", "efa0");
    plan = plan_of(FC_RDMA_WRITE, 8);
    measure(rig, &plan, false);
    assert_int_equal(rig->result[0].status, FC_UNSUPPORTED);
    assert_non_null(strstr(rig->result[0].reason, "srd has no write"));
}

static void an_exact_number_of_messages(void **state)
{
    struct rig *rig = *state;
    rig->plan.qps = 3;
    rig_join(rig, "wire0", "wire1");
    for (int op = 0; op < FC_RDMA_OPS; op++) {
        struct fc_transfer_plan plan = plan_of((enum fc_rdma_op)op, 512);
        plan.iterations = 1001;
        plan.box_ns = 0;
        measure(rig, &plan, false);
        is_well(rig, 0);
        is_well(rig, 1);
        assert_int_equal(rig->result[0].samples, 1);
        assert_int_equal(
            llround(rig->result[0].messages_per_s * rig->result[0].seconds), 1001);
    }
}

/* ---- latency ---- */

static void check_latency(struct rig *rig, enum fc_rdma_op op, uint64_t bytes,
                          bool by_completion)
{
    struct fc_transfer_plan plan = plan_of(op, bytes);
    measure_latency(rig, &plan);
    is_well(rig, 0);
    is_well(rig, 1);
    const struct fc_lane_latency *l = &rig->result[0].latency;
    assert_true(l->n >= 1 && l->min > 0 && l->min <= l->typical);
    assert_true(l->typical <= l->p99 && l->p99 <= l->p999 && l->p999 <= l->max);
    assert_int_equal(l->by_completion, by_completion);
    bool answered = !by_completion;
    assert_int_equal(rig->result[0].checked,
                     answered || op == FC_RDMA_READ ? bytes : 0);
    assert_int_equal(rig->result[1].checked,
                     answered || op == FC_RDMA_WRITE ? bytes : 0);
    assert_int_equal(rig->result[0].wrong + rig->result[1].wrong, 0);
}

static void latency_over_rc(void **state)
{
    static const uint64_t sizes[] = {1, 110, 111, 65536};
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_latency(rig, FC_RDMA_WRITE, sizes[i], false);
        check_latency(rig, FC_RDMA_SEND, sizes[i], false);
        check_latency(rig, FC_RDMA_READ, sizes[i], true);
    }
    check_bandwidth(rig, FC_RDMA_WRITE, 64, true); /* nothing was left behind */
    check_bandwidth(rig, FC_RDMA_SEND, 64, true);
}

static void latency_over_srd(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "efa0", "efa0");
    check_latency(rig, FC_RDMA_WRITE, 8, true);
    check_latency(rig, FC_RDMA_READ, 8, true);
    check_latency(rig, FC_RDMA_SEND, 8, false);
    check_latency(rig, FC_RDMA_SEND, 8192, false);
}

static void latency_of_an_exact_number(void **state)
{
    struct rig *rig = *state;
    struct fc_transfer_plan plan = plan_of(FC_RDMA_SEND, 8);
    plan.iterations = 1200;
    rig_join(rig, "wire0", "wire1");
    measure_latency(rig, &plan);
    is_well(rig, 0);
    assert_int_equal(rig->result[0].latency.n, 1200);
}

/* ---- faults ---- */

static void damaged_data_is_found(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    for (int op = 0; op < FC_RDMA_OPS; op++) {
        struct fc_transfer_plan plan = plan_of((enum fc_rdma_op)op, 4096);
        int taker = op == FC_RDMA_READ ? 0 : 1;
        plan.iterations = 20; /* 36 messages in all; the last 16 stay */
        wire.damage_at = wire.messages + 30;
        measure(rig, &plan, false);
        assert_int_equal(rig->result[taker].status, FC_WRONG);
        assert_int_equal(rig->result[taker].wrong, 1);
        assert_int_equal(rig->result[taker].first_wrong, 2048);
        assert_false(rig->result[taker].reopen);
        assert_non_null(strstr(rig->result[taker].reason, "offset 2048"));
        is_well(rig, 1 - taker);
    }
}

static void lost_data_is_found(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    struct fc_transfer_plan plan = plan_of(FC_RDMA_WRITE, 1 << 20);
    plan.iterations = 5;
    wire.drop_at = 1; /* acknowledged, but never in memory; later ones hide it */
    measure(rig, &plan, false);
    is_well(rig, 1);
    plan.bytes = 65536;
    plan.iterations = 8; /* 9 messages in 16 places */
    wire.drop_at = wire.messages + 4;
    measure(rig, &plan, false);
    assert_int_equal(rig->result[1].status, FC_WRONG);
    assert_int_equal(rig->result[1].wrong, 65536);
}

static void check_failed_completion(struct rig *rig, const char *device,
                                    enum fc_rdma_op op)
{
    struct fc_transfer_plan plan = plan_of(op, 4096);
    wire.fail_message_at = wire.messages + 40;
    measure(rig, &plan, false);
    const struct fc_lane_result *r = &rig->result[0];
    assert_int_equal(r->status, FC_FAILED);
    assert_int_equal(r->wc_status, IBV_WC_RETRY_EXC_ERR);
    assert_int_equal(r->vendor_error, 0x81);
    assert_true(r->reopen);
    assert_non_null(strstr(r->reason, ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR)));
    assert_non_null(strstr(r->reason, device));
    /* the peer is told, and does not wait until it loses patience */
    assert_int_equal(rig->result[1].status, FC_FAILED);
    assert_non_null(strstr(rig->result[1].reason, "gave up"));
    measure(rig, &plan, false);
    assert_int_equal(rig->result[0].status, FC_FAILED);
    assert_non_null(strstr(rig->result[0].reason, "not opened anew"));
    rig_rejoin(rig, device, device);
    check_bandwidth(rig, op, 4096, false);
}

static void a_completion_that_fails(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire0");
    for (int op = 0; op < FC_RDMA_OPS; op++)
        check_failed_completion(rig, "wire0", (enum fc_rdma_op)op);
    rig_part(rig);
    rig_join(rig, "efa0", "efa0");
    for (int op = 0; op < FC_RDMA_OPS; op++)
        check_failed_completion(rig, "efa0", (enum fc_rdma_op)op);
}

static void completions_that_never_come(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    for (int op = 0; op < FC_RDMA_OPS; op++) {
        struct fc_transfer_plan plan = hasty_plan_of((enum fc_rdma_op)op, 4096);
        wire.silent_from = wire.messages + 40;
        uint64_t start = fc_now_ns();
        measure(rig, &plan, false);
        assert_true(fc_now_ns() - start >= plan.patience_ns);
        assert_int_equal(rig->result[0].status, FC_TIMEOUT);
        assert_non_null(strstr(rig->result[0].reason, "nothing moved for"));
        assert_non_null(strstr(rig->result[0].reason, "wire0:1 -> wire1:1"));
        assert_int_equal(rig->result[1].status, FC_TIMEOUT);
        wire.silent_from = 0;
        rig_rejoin(rig, "wire0", "wire1");
    }
}

static void pings_that_are_lost(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    for (int op = 0; op < FC_RDMA_OPS; op++) {
        struct fc_transfer_plan plan = hasty_plan_of((enum fc_rdma_op)op, 8);
        wire.silent_from = wire.messages + 10;
        measure_latency(rig, &plan);
        assert_int_equal(rig->result[0].status, FC_TIMEOUT);
        assert_int_equal(rig->result[1].status, FC_TIMEOUT);
        wire.silent_from = 0;
        rig_rejoin(rig, "wire0", "wire1");
        wire.fail_message_at = wire.messages + 10;
        measure_latency(rig, &plan);
        assert_true(rig->result[0].status == FC_FAILED ||
                    rig->result[1].status == FC_FAILED);
        wire.fail_message_at = 0;
        rig_rejoin(rig, "wire0", "wire1");
    }
}

static void one_bad_lane_leaves_the_others(void **state)
{
    struct rig *rig = *state;
    struct fc_lane_result result[4];
    struct fc_lane_link link;
    struct fc_transfer_plan plan = hasty_plan_of(FC_RDMA_WRITE, 8192);
    const struct fc_lane_task task[3] = {
        {0, FC_LANE_INITIATES}, {1, FC_LANE_SERVES}, {2, FC_LANE_INITIATES}};
    rig_join(rig, "wire0", "wire1");
    /* lane 2 has a peer that never comes: lane 3 is connected and not measured */
    struct fc_endpoint end[2];
    struct fc_lane_answer answer;
    for (int i = 0; i < 2; i++)
        assert_int_equal(fc_lane_open(&rig->verbs, 2 + i, &rig->plan, NULL, &end[i],
                                      &answer, &rig->err),
                         FC_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            fc_lane_connect(rig->verbs.lane[2 + i], &end[1 - i], &link, &rig->err),
            FC_OK);
    assert_int_equal(
        fc_lanes_measure(&rig->verbs, &plan, task, 3, NULL, result, &rig->err), FC_OK);
    assert_int_equal(result[0].status, FC_OK);
    assert_int_equal(result[1].status, FC_OK);
    assert_int_equal(result[2].status, FC_TIMEOUT);
    assert_non_null(strstr(result[2].reason, "does not begin"));
}

static void peers_out_of_step(void **state)
{
    struct rig *rig = *state;
    struct fc_transfer_plan plan = plan_of(FC_RDMA_SEND, 8), other = plan;
    struct peer peer = {rig, &other};
    pthread_t thread;
    plan.latency = other.latency = true;
    other.bytes = 16;
    rig_join(rig, "wire0", "wire1");
    assert_int_equal(pthread_create(&thread, NULL, serve, &peer), 0);
    fc_ping_measure(rig->verbs.lane[0], &plan, FC_LANE_INITIATES, &rig->result[0]);
    pthread_join(thread, NULL);
    assert_int_equal(rig->result[0].status, FC_FAILED);
    assert_int_equal(rig->result[1].status, FC_FAILED);
    assert_true(strstr(rig->result[0].reason, "out of step") ||
                strstr(rig->result[1].reason, "out of step"));
}

static void calls_that_fail_in_mid_transfer(void **state)
{
    static const char *const calls[] = {"ibv_post_send", "ibv_post_recv",
                                        "ibv_poll_cq"};
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct fc_transfer_plan plan = hasty_plan_of(FC_RDMA_SEND, 4096);
        wire.fail = calls[i];
        wire.fail_at = 20;
        wire.fail_errno = ENOMEM;
        measure(rig, &plan, false);
        wire.fail = NULL;
        assert_true(rig->result[0].status == FC_FAILED ||
                    rig->result[1].status == FC_FAILED);
        rig_rejoin(rig, "wire0", "wire1");
    }
}

static void plans_that_cannot_be(void **state)
{
    struct rig *rig = *state;
    struct fc_transfer_plan plan = plan_of(FC_RDMA_WRITE, 8);
    const struct fc_lane_task twice[2] = {{0, FC_LANE_INITIATES}, {0, FC_LANE_SERVES}};
    const struct fc_lane_task closed = {5, FC_LANE_INITIATES};
    rig_join(rig, "wire0", "wire1");
    assert_int_equal(
        fc_lanes_measure(&rig->verbs, &plan, twice, 2, NULL, rig->result, &rig->err),
        FC_USAGE);
    assert_int_equal(
        fc_lanes_measure(&rig->verbs, &plan, &closed, 1, NULL, rig->result, &rig->err),
        FC_USAGE);
    plan.latency = true;
    assert_int_equal(
        fc_lanes_measure(&rig->verbs, &plan, twice, 2, NULL, rig->result, &rig->err),
        FC_USAGE);
    plan.latency = false;
    plan.bytes = 2 << 20;
    measure(rig, &plan, false);
    assert_int_equal(rig->result[0].status, FC_USAGE);
    assert_non_null(strstr(rig->result[0].reason, "do not fit"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bandwidth_over_rc),
        TEST(bandwidth_over_many_queue_pairs),
        TEST(bandwidth_over_srd),
        TEST(srd_has_limits),
        TEST(an_exact_number_of_messages),
        TEST(latency_over_rc),
        TEST(latency_over_srd),
        TEST(latency_of_an_exact_number),
        TEST(damaged_data_is_found),
        TEST(lost_data_is_found),
        TEST(a_completion_that_fails),
        TEST(completions_that_never_come),
        TEST(pings_that_are_lost),
        TEST(one_bad_lane_leaves_the_others),
        TEST(peers_out_of_step),
        TEST(calls_that_fail_in_mid_transfer),
        TEST(plans_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
