// SPDX-License-Identifier: BSD-3-Clause
/* The arithmetic of the verbs matrix: who owns which rail, how much a level measures,
 * and how the words of both members of a pair become one line. */
#include "core/clock.h"
#include "core/sink.h"
#include "rdma/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two nodes of two rails: the first has one rank, the second two. */
enum { RANKS = 3, SLOTS = 2, RAILS = 2, LINES = 16 };
static struct fc_rdma_entry told[RANKS * SLOTS];
static json_t *line[LINES];
static size_t lines;
static struct fc_error err;

enum fc_status __wrap_fc_rte_gather(struct fc_rte *rte, const char *name,
                                    const void *data, size_t bytes, fc_rte_take_fn take,
                                    void *arg, struct fc_error *e);
enum fc_status __wrap_fc_rte_gather(struct fc_rte *rte, const char *name,
                                    const void *data, size_t bytes, fc_rte_take_fn take,
                                    void *arg, struct fc_error *e)
{
    enum fc_status status = FC_OK;
    (void)name, (void)data;
    assert_int_equal(bytes, SLOTS * sizeof *told);
    for (int r = 0; r < rte->size && status == FC_OK; r++)
        status = take(arg, r, (const char *)&told[r * SLOTS], bytes, e);
    return status;
}

enum fc_status __wrap_fc_rte_agree(struct fc_rte *rte, const char *name,
                                   enum fc_status status, struct fc_error *e);
enum fc_status __wrap_fc_rte_agree(struct fc_rte *rte, const char *name,
                                   enum fc_status status, struct fc_error *e)
{
    (void)rte, (void)name, (void)e;
    return status;
}

enum fc_status __wrap_fc_sink_add_line(struct fc_sink *sink, char *text,
                                       struct fc_error *e);
enum fc_status __wrap_fc_sink_add_line(struct fc_sink *sink, char *text,
                                       struct fc_error *e)
{
    (void)sink, (void)e;
    assert_non_null(text);
    assert_true(lines < LINES);
    line[lines] = json_loads(text, 0, NULL);
    assert_non_null(line[lines++]);
    free(text);
    return FC_OK;
}

static struct fc_rte_place place[RANKS] = {{0, 0}, {1, 0}, {1, 1}};
static int node_size[] = {1, 2}, begin[] = {0, 1, 3}, rank_of[] = {0, 1, 2};
static struct fc_rte rte = {
    .size = RANKS, .nodes = 2, .local_size = 1, .node_size = node_size, .place = place};
static struct fc_run run = {.rte = &rte, .seed = 7};
static struct fc_rdma_seat seat[2 * RAILS] = {
    {"a0", 25, 1}, {"a1", 25, 1}, {"b0", 12.5, 1}, {"b1", 0, 1}};
static struct fc_rdma_seats seats = {.run = &run,
                                     .rails = RAILS,
                                     .slots = SLOTS,
                                     .seat = seat,
                                     .begin = begin,
                                     .rank_of = rank_of};

static void rails_go_round_the_ranks(void **state)
{
    int starts[] = {0, 3, 4}, ranks[] = {5, 1, 2, 9};
    struct fc_rdma_seats s = {.rails = 7, .begin = starts, .rank_of = ranks};
    (void)state;
    for (int rail = 0; rail < 7; rail++) {
        assert_int_equal(fc_rdma_seat_rank(&s, 0, rail), ranks[rail % 3]);
        assert_int_equal(fc_rdma_seat_slot(&s, 0, rail), rail / 3);
        assert_int_equal(fc_rdma_seat_rank(&s, 1, rail), 9);
        assert_int_equal(fc_rdma_seat_slot(&s, 1, rail), rail);
    }
    assert_ptr_equal(fc_rdma_seat(&seats, 1, 1), &seat[3]);
}

/* --- pairs --- */

static struct fc_rdma_entry rested(void)
{
    struct fc_rdma_entry e = {
        .peer_node = -1, .peer_rail = -1, .together = (double)NAN};
    for (int op = 0; op < FC_RDMA_OPS; op++)
        e.bw[op] = e.latency[op] = (double)NAN;
    return e;
}

/* Of rail 0 both nodes met: node 0 by rank 0's first seat, node 1 by rank 1's. */
static void meet(void)
{
    for (int i = 0; i < RANKS * SLOTS; i++)
        told[i] = rested();
    struct fc_rdma_entry *a = &told[0], *b = &told[1 * SLOTS];
    *a = *b = rested();
    a->peer_node = 1;
    a->peer_rail = b->peer_rail = b->peer_node = 0;
    a->first = 1;
    strcpy(a->path, "unknown");
    strcpy(b->path, "verbs RC");
    for (int op = 0; op < FC_RDMA_OPS; op++) {
        a->bw[op] = 10 + op;
        b->bw[op] = 20 + op;
    }
    a->latency[FC_RDMA_WRITE] = 2e-6;
}

/* Reports what was told; the caller frees the lines by forget(). */
static void report(unsigned ops)
{
    struct fc_rdma_effort effort = {.ops = ops, .all = 1, .bytes = 1 << 20};
    struct fc_rdma_step step = {.seats = &seats, .effort = &effort, .apart = true};
    struct fc_rdma_report r;
    assert_int_equal(fc_rdma_report_open(&seats, &effort, 1, &r, &err), FC_OK);
    assert_int_equal(fc_rdma_report_step(&r, &step, &err), FC_OK);
    fc_rdma_report_close(&r);
}

static void forget(void)
{
    while (lines)
        json_decref(line[--lines]);
}

static const json_t *line_of(const char *metric)
{
    for (size_t i = 0; i < lines; i++)
        if (strcmp(json_string_value(json_object_get(line[i], "metric")), metric) == 0)
            return line[i];
    return NULL;
}

/* bw[0] of the line's only pair. */
static double bw(const char *metric, size_t direction)
{
    const json_t *list = json_object_get(line_of(metric), "bw");
    assert_int_equal(json_array_size(list), 1);
    return json_number_value(json_array_get(json_array_get(list, 0), direction));
}

static void bytes_of_a_read_go_to_who_asks(void **state)
{
    (void)state;
    meet();
    report(1u << FC_RDMA_WRITE | 1u << FC_RDMA_READ);
    assert_int_equal((int)bw("rdma.write_bw", 0), 10 + FC_RDMA_WRITE);
    assert_int_equal((int)bw("rdma.write_bw", 1), 20 + FC_RDMA_WRITE);
    assert_int_equal((int)bw("rdma.read_bw", 0), 20 + FC_RDMA_READ);
    assert_int_equal((int)bw("rdma.read_bw", 1), 10 + FC_RDMA_READ);
    assert_null(line_of("rdma.send_bw"));
    forget();
}

static void the_slower_port_is_the_limit_and_either_end_proves(void **state)
{
    (void)state;
    meet();
    report(1u << FC_RDMA_WRITE);
    const json_t *l = line_of("rdma.write_bw");
    assert_true(json_number_value(json_array_get(json_object_get(l, "limit"), 0)) ==
                12.5);
    const json_t *path = json_array_get(json_object_get(l, "path"), 0);
    assert_string_equal(json_string_value(json_object_get(path, "name")), "verbs RC");
    assert_int_equal(json_integer_value(json_object_get(l, "rail")), 0);
    const json_t *pair = json_array_get(json_object_get(l, "pair"), 0);
    assert_int_equal(json_integer_value(json_array_get(pair, 0)), 0);
    assert_int_equal(json_integer_value(json_array_get(pair, 1)), 1);
    forget();
}

static void the_worse_word_of_a_pair_counts(void **state)
{
    (void)state;
    meet();
    told[0].status = FC_UNSUPPORTED;
    strcpy(told[0].why, "its peer could not open its port");
    told[SLOTS].status = FC_UNREADABLE;
    strcpy(told[SLOTS].why, "the limit of locked memory");
    told[0].bw[FC_RDMA_WRITE] = told[SLOTS].bw[FC_RDMA_WRITE] = (double)NAN;
    report(1u << FC_RDMA_WRITE);
    const json_t *l = line_of("rdma.write_bw");
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(l, "status"), 0)),
        "unreadable");
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(l, "reason"), 0)),
        "the limit of locked memory");
    forget();
}

/* Of all rails together there is a sum only where each of them has a value. */
static void together_needs_all_rails(void **state)
{
    (void)state;
    meet();
    told[0].together = 10;
    told[SLOTS].together = 11;
    report(1u << FC_RDMA_WRITE);
    assert_null(line_of("rdma.all_rails_bw"));
    forget();
    told[1] = told[0]; /* rail 1: rank 0's second seat, and rank 2's first */
    told[1].peer_rail = 1;
    told[2 * SLOTS] = told[SLOTS];
    told[2 * SLOTS].peer_rail = 1;
    report(1u << FC_RDMA_WRITE);
    assert_int_equal((int)bw("rdma.all_rails_bw", 0), 20);
    assert_int_equal((int)bw("rdma.all_rails_bw", 1), 22);
    /* The limit of b1 is not known, so that of the sum is not. */
    assert_false(json_is_number(
        json_array_get(json_object_get(line_of("rdma.all_rails_bw"), "limit"), 0)));
    forget();
}

/* --- levels --- */

static struct fc_rdma_effort effort_of(enum fc_level level, uint32_t rounds,
                                       uint32_t members, int attempt)
{
    struct fc_settings s = {.level = level, .pair_rounds = rounds};
    return fc_rdma_effort(&s, members, attempt);
}

static void levels_measure_more_and_more(void **state)
{
    struct fc_rdma_effort quick = effort_of(FC_LEVEL_QUICK, 0, 8, 1);
    struct fc_rdma_effort full = effort_of(FC_LEVEL_FULL, 0, 8, 1);
    (void)state;
    assert_int_equal(quick.ops, 1u << FC_RDMA_WRITE);
    assert_true(full.ops & 1u << FC_RDMA_READ && full.ops & 1u << FC_RDMA_SEND);
    assert_false(quick.cross || quick.sizes);
    assert_true(full.cross && full.sizes);
    assert_true(fc_rdma_effort_s(&quick, 8) < fc_rdma_effort_s(&full, 8));
    assert_true(fc_rdma_effort_s(&quick, 8) <= 6);
}

static void rounds_and_budgets(void **state)
{
    (void)state;
    assert_int_equal(effort_of(FC_LEVEL_QUICK, 0, 7, 1).rounds, 7);
    assert_int_equal(effort_of(FC_LEVEL_QUICK, 0, 8, 1).rounds, 7);
    assert_int_equal(effort_of(FC_LEVEL_QUICK, 0, 1000, 1).rounds, 3);
    assert_int_equal(effort_of(FC_LEVEL_QUICK, 0, 1000, 1).all, 999);
    assert_int_equal(effort_of(FC_LEVEL_QUICK, 0, 1, 1).rounds, 0);
    struct fc_rdma_effort asked = effort_of(FC_LEVEL_QUICK, UINT32_MAX, 1000, 1);
    assert_int_equal(asked.rounds, 999);
    assert_int_equal(asked.budget_ns, 0);
    /* A retest keeps its budget, and takes longer for each pair. */
    struct fc_rdma_effort again = effort_of(FC_LEVEL_QUICK, UINT32_MAX, 1000, 2);
    assert_true(again.budget_ns > 0 && again.bursts > asked.bursts);
    assert_true(again.box_ns > asked.box_ns);
}

static void sizes_rise_from_2_bytes_to_8_MiB(void **state)
{
    (void)state;
    assert_int_equal(fc_rdma_effort_size(0), 2);
    assert_int_equal(fc_rdma_effort_size(FC_RDMA_SIZES - 1), 8 << 20);
    for (unsigned i = 1; i < FC_RDMA_SIZES; i++)
        assert_int_equal(fc_rdma_effort_size(i), 4 * fc_rdma_effort_size(i - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rails_go_round_the_ranks),
        cmocka_unit_test(bytes_of_a_read_go_to_who_asks),
        cmocka_unit_test(the_slower_port_is_the_limit_and_either_end_proves),
        cmocka_unit_test(the_worse_word_of_a_pair_counts),
        cmocka_unit_test(together_needs_all_rails),
        cmocka_unit_test(levels_measure_more_and_more),
        cmocka_unit_test(rounds_and_budgets),
        cmocka_unit_test(sizes_rise_from_2_bytes_to_8_MiB),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
