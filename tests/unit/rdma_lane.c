// SPDX-License-Identifier: BSD-3-Clause
/* Opening and connecting lanes: what they answer, every call that can fail, what a user
 * can get wrong, memory that is registered in one way or the other. */
#include "rdma/pattern.h"
#include "rdma_rig.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- healthy ---- */

static void a_lane_over_rc(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "wire0", "wire1");
    assert_string_equal(rig->answer[0].name, "wire0:1");
    assert_string_equal(rig->answer[0].transport, "rc");
    assert_string_equal(rig->answer[0].memory, "host");
    assert_string_equal(rig->answer[0].registered_by, "pointer");
    assert_int_equal(rig->answer[0].ops, 7);
    /* 220 and 110 were asked for; the device takes 128 */
    assert_int_equal(rig->answer[0].inline_bytes, 110);
    assert_int_equal(rig->verbs.lane[0]->mtu, 4096);
    assert_int_equal(wire.qps, 4);
}

static void a_lane_over_srd(void **state)
{
    struct rig *rig = *state;
    rig_join(rig, "efa0", "efa0");
    assert_string_equal(rig->answer[0].transport, "srd");
    assert_int_equal(rig->answer[0].ops, 7);
    assert_int_equal(rig->answer[0].max_message[FC_RDMA_SEND], 8192);
    assert_int_equal(rig->answer[0].max_message[FC_RDMA_READ], 1 << 20);
    assert_int_equal(rig->answer[0].inline_bytes, 32);
    assert_int_equal(wire.ahs, 2);
}

static void srd_without_rdma_only_sends(void **state)
{
    struct rig *rig = *state;
    wire.srd_caps = 0;
    assert_int_equal(rig_open(rig, 0, "efa0"), FC_OK);
    assert_int_equal(rig->answer[0].ops, 1u << FC_RDMA_SEND);
    wire.srd_caps = 1;
    rig_part(rig);
    assert_int_equal(rig_open(rig, 0, "efa0"), FC_OK);
    assert_int_equal(rig->answer[0].ops, 1u << FC_RDMA_SEND | 1u << FC_RDMA_READ);
}

static void memory_outlives_its_lane(void **state)
{
    struct rig *rig = *state;
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_OK);
    const struct fc_region *region = rig->verbs.lane[0]->region;
    assert_int_equal(wire.mrs, 2);
    fc_lane_close(&rig->verbs, 0, NULL);
    assert_int_equal(wire.qps, 0);
    assert_int_equal(wire.mrs, 2);
    rig->plan.max_bytes /= 2;
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_OK);
    assert_ptr_equal(rig->verbs.lane[0]->region, region);
    assert_int_equal(rig_open(rig, 1, "wire0"), FC_OK);
    assert_ptr_not_equal(rig->verbs.lane[1]->region, region);
    assert_int_equal(wire.mrs, 4);
    assert_int_equal(wire.contexts, 1);
}

/* ---- every call that can fail ---- */

static void check_open_fails(struct rig *rig, const char *device, const char *call,
                             int at, enum fc_status expected)
{
    wire.fail = call;
    wire.fail_at = at;
    wire.fail_errno = EIO;
    enum fc_status status = rig_open(rig, 0, device);
    if (status != expected || strlen(rig->err.text) < 10 || rig->verbs.lane[0])
        fail_msg("%s: status %s: '%s'", call, fc_status_name(status), rig->err.text);
    wire.fail = NULL;
    rig_part(rig);
    if (!wire_all_closed())
        fail_msg("%s fails, and something is left open", call);
}

static void each_call_of_open(void **state)
{
    static const struct {
        const char *call;
        int at;
        enum fc_status expected;
    } rows[] = {
        {"ibv_open_device", 1, FC_FAILED}, {"ibv_query_device", 1, FC_FAILED},
        {"ibv_alloc_pd", 1, FC_FAILED},    {"ibv_query_port", 1, FC_FAILED},
        {"ibv_query_gid_ex", 1, FC_USAGE}, {"ibv_query_pkey", 1, FC_USAGE},
        {"ibv_reg_mr", 1, FC_FAILED},      {"ibv_reg_mr", 2, FC_FAILED},
        {"ibv_create_cq", 1, FC_FAILED},   {"ibv_create_cq", 2, FC_FAILED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_open_fails(*state, "wire0", rows[i].call, rows[i].at, rows[i].expected);
    check_open_fails(*state, "efa0", "efadv_create_qp_ex", 1, FC_FAILED);
    check_open_fails(*state, "efa0", "efadv_create_qp_ex", 2, FC_FAILED);
    check_open_fails(*state, "efa0", "efadv_query_device", 1, FC_UNSUPPORTED);
}

static void a_queue_pair_that_is_refused(void **state)
{
    struct rig *rig = *state;
    wire.max_inline = -1; /* no size of inline data is taken */
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_FAILED);
    assert_non_null(strstr(rig->err.text, "ibv_create_qp"));
}

static void check_connect_fails(struct rig *rig, const char *device, const char *call,
                                int at)
{
    assert_int_equal(rig_open(rig, 0, device), FC_OK);
    assert_int_equal(rig_open(rig, 1, device), FC_OK);
    wire.fail = call;
    wire.fail_at = at;
    wire.fail_errno = EIO;
    if (rig_connect(rig, 0) != FC_FAILED || !strstr(rig->err.text, device))
        fail_msg("%s %d: '%s'", call, at, rig->err.text);
    wire.fail = NULL;
    rig_part(rig);
    assert_true(wire_all_closed());
}

static void each_call_of_connect(void **state)
{
    for (int at = 1; at <= 6; at++) /* INIT, RTR, RTS of two queue pairs */
        check_connect_fails(*state, "wire0", "ibv_modify_qp", at);
    check_connect_fails(*state, "wire0", "ibv_post_recv", 1);
    check_connect_fails(*state, "efa0", "ibv_create_ah", 1);
    for (int at = 1; at <= 6; at++)
        check_connect_fails(*state, "efa0", "ibv_modify_qp", at);
}

/* ---- what a user can get wrong ---- */

static void says(struct rig *rig, enum fc_status got, enum fc_status expected,
                 const char *text)
{
    if (got != expected || !strstr(rig->err.text, text) || strchr(rig->err.text, '\n'))
        fail_msg("status %s: '%s' lacks '%s'", fc_status_name(got), rig->err.text,
                 text);
}

static void unknown_names(void **state)
{
    struct rig *rig = *state;
    says(rig, rig_open(rig, 0, "mlx9"), FC_USAGE, "there is: wire0, wire1, efa0");
    rig->plan.port = 2;
    says(rig, rig_open(rig, 0, "wire0"), FC_USAGE, "wire0 has no port 2");
    rig->plan = rig_plan();
    rig->plan.gid_index = 7;
    says(rig, rig_open(rig, 0, "wire0"), FC_USAGE, "no GID 7 (its GIDs: 0, 1)");
    rig->plan.gid_index = -1;
    says(rig, rig_open(rig, 0, "wire0"), FC_USAGE, "no GID -1");
    rig->plan = rig_plan();
    rig->plan.pkey_index = 3;
    says(rig, rig_open(rig, 0, "wire0"), FC_USAGE, "no P_Key at index 3");
    rig->plan = rig_plan();
    rig->plan.mtu = 1000;
    says(rig, rig_open(rig, 0, "wire0"), FC_USAGE, "MTU 1000 is none of");
    wire.device[0].mtu = IBV_MTU_1024;
    rig->plan.mtu = 2048;
    says(rig, rig_open(rig, 0, "wire0"), FC_USAGE, "above the port's 1024");
    rig->plan = rig_plan();
    rig->plan.retries = 7;
    says(rig, rig_open(rig, 0, "wire0"), FC_USAGE, "cannot be made");
    rig->plan = rig_plan();
    snprintf(rig->plan.memory, sizeof rig->plan.memory, "cuda");
    says(rig, rig_open(rig, 0, "wire0"), FC_UNSUPPORTED, "no memory 'cuda'");
}

static void no_device_at_all(void **state)
{
    struct rig *rig = *state;
    wire.devices = 0;
    says(rig, rig_open(rig, 0, "wire0"), FC_UNSUPPORTED, "no RDMA device");
    wire.devices = -1;
    wire.list_errno = ENOSYS;
    says(rig, rig_open(rig, 0, "wire0"), FC_UNSUPPORTED, "no RDMA subsystem");
    wire.list_errno = EACCES;
    says(rig, rig_open(rig, 0, "wire0"), FC_UNREADABLE, "cannot be listed");
    wire.devices = WIRE_DEVICES;
    wire.fail = "ibv_open_device";
    wire.fail_at = 1;
    wire.fail_errno = EACCES;
    says(rig, rig_open(rig, 0, "wire0"), FC_UNREADABLE, "cannot be opened");
    wire.device[0].state = IBV_PORT_DOWN;
    says(rig, rig_open(rig, 0, "wire0"), FC_FAILED, "not active");
}

static void small_queues(void **state)
{
    struct rig *rig = *state;
    wire.max_cqe = 21;
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_OK);
    assert_int_equal(rig->verbs.lane[0]->depth, 10);
    rig->plan.qps = 16;
    says(rig, rig_open(rig, 1, "wire0"), FC_UNSUPPORTED, "completions");
}

static void peers_that_cannot_meet(void **state)
{
    struct rig *rig = *state;
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_OK);
    wire.device[1].layer = IBV_LINK_LAYER_INFINIBAND;
    assert_int_equal(rig_open(rig, 1, "wire1"), FC_OK);
    says(rig, rig_connect(rig, 0), FC_USAGE,
         "wire0:1 and wire1:1 cannot be joined: link layers Ethernet and InfiniBand");
    fc_lane_close(&rig->verbs, 1, NULL);
    wire.device[1].layer = IBV_LINK_LAYER_ETHERNET;
    wire.device[1].gid_type = IBV_GID_TYPE_ROCE_V1;
    assert_int_equal(rig_open(rig, 1, "wire1"), FC_OK);
    says(rig, rig_connect(rig, 0), FC_USAGE, "GID kinds RoCE v2 and RoCE v1");
    snprintf(rig->endpoint[1].text, sizeof rig->endpoint[1].text, "{\"name\":\"x\"}");
    says(rig, rig_connect(rig, 0), FC_FAILED, "endpoint is none");
}

/* ---- memory ---- */

static void the_limit_of_locked_memory(void **state)
{
    struct rig *rig = *state;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
    small = old;
    small.rlim_cur = 65536;
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &small), 0);
    wire.pointer_fails = true;
    wire.reg_errno = ENOMEM;
    enum fc_status status = rig_open(rig, 0, "wire0");
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
    says(rig, status, FC_UNREADABLE, "locked memory is 64K, and a lane needs 2M");
}

/* Memory as a GPU has it: with a dma-buf, out of the CPU's sight. */
static enum fc_status gpu_dmabuf(struct fc_rdma_memory *memory, int *out_fd,
                                 uint64_t *out_offset, struct fc_error *err)
{
    if (memory->arg)
        return fc_fail(err, FC_UNSUPPORTED, "an old driver");
    *out_fd = dup(STDERR_FILENO);
    *out_offset = 0;
    return FC_OK;
}

static void check_gpu(bool no_dmabuf, const char *by, const char *note)
{
    static char page[4096];
    struct fc_rdma_memory_ops ops = {.name = "cuda", .dmabuf = gpu_dmabuf};
    struct fc_rdma_memory memory = {
        .ops = &ops, .at = page, .bytes = sizeof page, .arg = no_dmabuf ? page : NULL};
    struct fc_rdma_mr mr;
    struct fc_error err;
    struct fc_hca *hca = NULL;
    assert_int_equal(fc_hca_open("wire0", NULL, &hca, &err), FC_OK);
    enum fc_status status = fc_rdma_register(hca->pd, &memory, IBV_ACCESS_LOCAL_WRITE,
                                             "wire0", NULL, &mr, &err);
    assert_int_equal(status, by ? FC_OK : FC_UNSUPPORTED);
    if (by) {
        assert_string_equal(mr.by, by);
        assert_non_null(strstr(mr.note, note));
        ibv_dereg_mr(mr.mr);
    } else {
        assert_non_null(strstr(err.text, "cuda memory cannot be registered"));
        assert_non_null(strstr(err.text, note));
    }
    fc_hca_close(hca, NULL);
}

static void memory_of_a_gpu(void **state)
{
    (void)state;
    check_gpu(false, "dma-buf", "");
    check_gpu(true, "pointer", "an old driver");
    wire.dmabuf_fails = true;
    check_gpu(false, "pointer", "ibv_reg_dmabuf_mr");
    wire.pointer_fails = true;
    check_gpu(false, NULL, "ibv_reg_dmabuf_mr");
    check_gpu(true, NULL, "an old driver");
}

static void patterns(void **state)
{
    uint8_t data[64];
    uint64_t first = 99;
    (void)state;
    for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
        fc_rdma_fill(data, bytes, 5, 16, false);
        assert_int_equal(fc_rdma_check(data, bytes, 5, 16, &first), 0);
        fc_rdma_fill(data, bytes, 5, 16, true);
        assert_int_equal(fc_rdma_check(data, bytes, 5, 16, &first), bytes);
    }
    assert_int_equal(first, 0);
    fc_rdma_fill(data, sizeof data, 5, 0, false);
    data[13] ^= 1;
    data[40] ^= 1;
    data[41] ^= 1;
    assert_int_equal(fc_rdma_check(data, sizeof data, 5, 0, &first), 3);
    assert_int_equal(first, 13);
    assert_int_equal(fc_rdma_check(data, 13, 5, 0, &first), 0);
    assert_true(fc_rdma_check(data, sizeof data, 6, 0, &first) > 32);
}

static void events(void **state)
{
    struct rig *rig = *state;
    wire.event = IBV_EVENT_PORT_ERR;
    assert_int_equal(rig_open(rig, 0, "wire0"), FC_OK);
    json_t *list = json_array();
    fc_hca_events(rig->verbs.hca[0], list);
    fc_hca_events(rig->verbs.hca[0], list);
    assert_int_equal(json_array_size(list), 1);
    const json_t *event = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(event, "event")),
                        "port error");
    assert_int_equal(json_integer_value(json_object_get(event, "port")), 1);
    json_decref(list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lane_over_rc),
        TEST(a_lane_over_srd),
        TEST(srd_without_rdma_only_sends),
        TEST(memory_outlives_its_lane),
        TEST(each_call_of_open),
        TEST(a_queue_pair_that_is_refused),
        TEST(each_call_of_connect),
        TEST(unknown_names),
        TEST(no_device_at_all),
        TEST(small_queues),
        TEST(peers_that_cannot_meet),
        TEST(the_limit_of_locked_memory),
        TEST(memory_of_a_gpu),
        TEST(patterns),
        TEST(events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
