// SPDX-License-Identifier: BSD-3-Clause
/* Lanes that rdma_cm connects: both members, every call that can fail, a peer that says
 * no. */
#include "rdma_rig.h"
#include "verbs_cm.h"

#include <errno.h>
#include <pthread.h>

static int set_up(void **state)
{
    if (rig_set_up(state) != 0)
        return 1;
    struct rig *rig = *state;
    rig->plan.rdma_cm = true;
    cm_rejects = false;
    return 0;
}

static int tear_down(void **state)
{
    return rig_tear_down(state) != 0 || cm_open != 0;
}

struct half {
    struct rig *rig;
    enum fc_status status;
    struct fc_error err;
};

static void *connect_second(void *arg)
{
    struct half *half = arg;
    struct fc_lane_link link;
    half->status = fc_lane_connect(half->rig->verbs.lane[1], &half->rig->endpoint[0],
                                   &link, &half->err);
    return NULL;
}

/* Both members connect at the same time; *other is the second one's end. */
static enum fc_status connect_both(struct rig *rig, struct half *other)
{
    struct fc_lane_link link;
    pthread_t thread;
    *other = (struct half){.rig = rig};
    assert_int_equal(pthread_create(&thread, NULL, connect_second, other), 0);
    enum fc_status status =
        fc_lane_connect(rig->verbs.lane[0], &rig->endpoint[1], &link, &rig->err);
    pthread_join(thread, NULL);
    return status;
}

static void open_both(struct rig *rig)
{
    if (rig_open(rig, 0, "wire0") != FC_OK || rig_open(rig, 1, "wire1") != FC_OK)
        fail_msg("%s", rig->err.text);
}

static void lanes_are_joined_and_move_data(void **state)
{
    struct rig *rig = *state;
    struct half other;
    const struct fc_lane_task task[2] = {{0, FC_LANE_BOTH}, {1, FC_LANE_BOTH}};
    const struct fc_transfer_plan plan = {
        .op = FC_RDMA_SEND, .bytes = 512, .iterations = 100, .data_seed = 4};
    for (int qps = 1; qps <= 16; qps += 15) {
        rig->plan.qps = qps;
        open_both(rig);
        if (connect_both(rig, &other) != FC_OK || other.status != FC_OK)
            fail_msg("'%s' and '%s'", rig->err.text, other.err.text);
        assert_int_equal(
            fc_lanes_measure(&rig->verbs, &plan, task, 2, NULL, rig->result, &rig->err),
            FC_OK);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(rig->result[i].status, FC_OK);
            assert_true(rig->result[i].checked > 0);
        }
        rig_part(rig);
        assert_int_equal(cm_open, 0);
    }
}

static void each_call_of_opening(void **state)
{
    static const char *const calls[] = {"rdma_create_event_channel", "rdma_create_id",
                                        "rdma_bind_addr", "rdma_listen"};
    struct rig *rig = *state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        wire.fail = calls[i];
        wire.fail_at = 1;
        wire.fail_errno = EADDRINUSE;
        assert_int_equal(rig_open(rig, 0, "wire0"), FC_FAILED);
        assert_non_null(strstr(rig->err.text, calls[i]));
        rig_part(rig);
        assert_int_equal(cm_open, 0);
        assert_true(wire_all_closed());
    }
}

/* The tags decide who connects: lanes are opened until it is the wanted one. */
static void open_with_caller(struct rig *rig, int caller)
{
    for (;;) {
        open_both(rig);
        int first = rig->verbs.lane[0]->own.tag < rig->verbs.lane[1]->own.tag ? 0 : 1;
        if (first == caller)
            return;
        rig_part(rig);
    }
}

static void each_call_of_connecting(void **state)
{
    static const struct {
        const char *call;
        int at, caller;
    } rows[] = {
        {"rdma_create_id", 1, 0},
        {"rdma_resolve_addr", 1, 0},
        {"rdma_resolve_route", 1, 0},
        {"rdma_connect", 1, 0},
        {"event", 1, 0},
        {"event", 2, 0},
        {"rdma_get_cm_event", 1, 0},
        {"rdma_get_cm_event", 1, 1},
    };
    struct rig *rig = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fc_lane_link link;
        open_with_caller(rig, rows[i].caller);
        wire.fail = rows[i].call;
        wire.fail_at = rows[i].at;
        wire.fail_errno = EIO;
        assert_int_equal(
            fc_lane_connect(rig->verbs.lane[0], &rig->endpoint[1], &link, &rig->err),
            FC_FAILED);
        assert_non_null(strstr(rig->err.text, "wire0:1 -> wire1:1"));
        wire.fail = NULL;
        rig_part(rig);
        assert_int_equal(cm_open, 0);
    }
}

static void who_is_called_says_no(void **state)
{
    struct rig *rig = *state;
    struct fc_lane_link link;
    cm_rejects = true;
    open_with_caller(rig, 0);
    assert_int_equal(
        fc_lane_connect(rig->verbs.lane[0], &rig->endpoint[1], &link, &rig->err),
        FC_FAILED);
    assert_non_null(strstr(rig->err.text, "RDMA_CM_EVENT_REJECTED"));
}

static void no_address(void **state)
{
    struct rig *rig = *state;
    struct wire_device healthy = wire.device[0];
    memset(wire.device[0].gid, 0, sizeof wire.device[0].gid);
    wire.device[0].gid[0] = 0xfe;
    wire.device[0].gid[1] = 0x80;
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_UNSUPPORTED);
    assert_non_null(strstr(rig->err.text, "an IP address"));
    wire.device[0] = healthy;
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_OK);
    rig->plan.rdma_cm = false;
    assert_int_equal(rig_open(rig, 1, "wire1"), FC_OK);
    assert_int_equal(rig_connect(rig, 0), FC_USAGE);
    assert_non_null(strstr(rig->err.text, "connected by rdma_cm and directly"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lanes_are_joined_and_move_data),
        TEST(each_call_of_opening),
        TEST(each_call_of_connecting),
        TEST(who_is_called_says_no),
        TEST(no_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
