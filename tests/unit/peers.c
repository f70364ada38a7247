// SPDX-License-Identifier: BSD-3-Clause
/* How often the comparison of equals is wrong, by simulation: healthy nodes over many
 * tests, and nodes that are 5 % and 10 % worse. */
#include "judge_help.h"

#include "judge/evidence.h"
#include "judge/peers.h"

#include <math.h>

enum { NODES = 64, SAMPLES = 5 };

static double gauss(struct fc_rng *rng)
{
    double u = (double)(fc_rng_below(rng, 1U << 30) + 1) / (double)(1U << 30);
    double v = (double)fc_rng_below(rng, 1U << 30) / (double)(1U << 30);
    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979 * v);
}

/* The median of `samples` values that scatter by 1 %. */
static double measure(struct fc_rng *rng, double worth, int samples)
{
    double x[3 * SAMPLES];
    for (int i = 0; i < samples; i++) {
        x[i] = worth * (1.0 + 0.01 * gauss(rng));
        for (int k = i; k > 0 && x[k] < x[k - 1]; k--) {
            double swap = x[k];
            x[k] = x[k - 1];
            x[k - 1] = swap;
        }
    }
    return x[samples / 2];
}

/* Records of `tests` metrics on all nodes, each with a retest; node 0 is worse by
 * `worse` in all of them; equal nodes differ by `spread`. */
static struct fc_journal_text simulate(struct fc_rng *rng, size_t nodes, size_t tests,
                                       double worse, double spread)
{
    size_t room = 700 * nodes * tests + 4096, used = 0;
    char *text = malloc(room);
    assert_non_null(text);
    used += (size_t)snprintf(
        text, room, "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n");
    for (size_t test = 0; test < tests; test++)
        for (size_t node = 0; node < nodes; node++) {
            double worth = 40.0 * (1.0 + spread * gauss(rng));
            worth *= node == 0 ? 1.0 - worse : 1.0;
            for (int attempt = 1; attempt <= 2; attempt++) {
                int samples = attempt == 1 ? SAMPLES : 3 * SAMPLES;
                used += (size_t)snprintf(
                    text + used, room - used,
                    "{\"type\":\"record\",\"metric\":\"device.gemm.fp32\",\"subject\":"
                    "{\"kind\":\"node\",\"node\":\"n%zu\",\"rank\":%zu},\"params\":"
                    "{\"n\":%zu,\"attempt\":%d},\"samples\":%d,\"median\":%.9g,"
                    "\"mad\":%.9g,\"status\":\"ok\"}\n",
                    node, node, test, attempt, samples, measure(rng, worth, samples),
                    0.0067 * worth);
            }
        }
    struct fc_journal_text journal = journal_of(text);
    free(text);
    return journal;
}

struct count {
    size_t nodes, condemned, beyond_doubt; /* healthy nodes, by any test */
    size_t tests, found, sure;             /* tests of node 0 */
};

static void judge_fleet(const struct fc_journal_text *journal, struct count *out)
{
    struct fc_evidence ev;
    struct fc_expectation expect;
    struct fc_peers peers;
    struct fc_error err;
    bool condemned[NODES] = {false}, sure[NODES] = {false};
    assert_int_equal(fc_evidence_open(journal, &ev, &err), FC_OK);
    assert_int_equal(fc_expectation_open(NULL, &expect, &err), FC_OK);
    assert_true(fc_peers_open(&ev, &expect, &peers));
    for (size_t i = 0; i < peers.groups; i++)
        for (size_t k = 0; k < peers.group[i].peers; k++) {
            const struct fc_peer_group *g = &peers.group[i];
            const struct fc_peer *p = &g->peer[k];
            bool suspect = fc_peer_suspect(g, p->first) && fc_peer_condemned(g, p);
            bool doubtless = suspect && fc_peer_beyond_doubt(g, p);
            assert_int_equal(p->tests, g->compared ? peers.groups : 0);
            condemned[p->node] = condemned[p->node] || suspect;
            sure[p->node] = sure[p->node] || doubtless;
            out->tests += p->node == 0;
            out->found += p->node == 0 && suspect;
            out->sure += p->node == 0 && doubtless;
        }
    for (size_t i = 1; i < ev.nodes; i++) {
        out->nodes++;
        out->condemned += condemned[i];
        out->beyond_doubt += sure[i];
    }
    fc_peers_close(&peers);
    fc_expectation_close(&expect);
    fc_evidence_close(&ev);
}

static struct count run(size_t nodes, double worse, double spread, size_t tests,
                        size_t fleets)
{
    struct count count = {0};
    struct fc_rng rng;
    fc_rng_seed(&rng, 20 + tests);
    for (size_t i = 0; i < fleets; i++) {
        struct fc_journal_text journal = simulate(&rng, nodes, tests, worse, spread);
        judge_fleet(&journal, &count);
        fc_journal_text_free(&journal);
    }
    return count;
}

/* 1260 nodes of 20 tests each: one is what a rate of 1e-3 gives, and one that were
 * not corrected for the number of tests would give dozens where nodes differ much. */
static void test_healthy_nodes(void **state)
{
    static const double spreads[] = {0.005, 0.03};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct count c = run(NODES, 0.0, spreads[i], 20, 20);
        print_message("# spread %g: of %zu nodes %zu condemned, %zu beyond doubt\n",
                      spreads[i], c.nodes, c.condemned, c.beyond_doubt);
        assert_true(c.beyond_doubt <= 4);
    }
}

static void test_power(void **state)
{
    (void)state;
    struct count c = run(NODES, 0.05, 0.005, 10, 10);
    print_message("# 5 %%: %zu of %zu\n", c.found, c.tests);
    assert_true(100 * c.found >= 99 * c.tests);
    c = run(NODES, 0.10, 0.005, 10, 10);
    print_message("# 10 %%: %zu of %zu\n", c.sure, c.tests);
    assert_true(100 * c.sure >= 99 * c.tests);
}

/* Few nodes, of which the worst is held against the others. Many tests a node would ask
 * more of each. */
static void test_few_nodes(void **state)
{
    static const double spreads[] = {0.005, 0.03};
    (void)state;
    for (size_t nodes = 3; nodes <= 8; nodes++)
        for (size_t i = 0; i < 2; i++) {
            struct count c = run(nodes, 0.0, spreads[i], 20, 160 / nodes);
            print_message("# of %zu: of %zu nodes %zu condemned, %zu beyond doubt\n",
                          nodes, c.nodes, c.condemned, c.beyond_doubt);
            assert_true(c.beyond_doubt <= 2);
            assert_true(nodes > 4 || c.condemned == 0);
        }
    struct count c = run(8, 0.05, 0.005, 3, 60);
    print_message("# 5 %% of 8 nodes: %zu of %zu\n", c.found, c.tests);
    assert_true(100 * c.found >= 95 * c.tests);
    c = run(8, 0.10, 0.005, 3, 60);
    print_message("# 10 %% of 8 nodes: %zu of %zu\n", c.sure, c.tests);
    assert_true(100 * c.sure >= 98 * c.tests);
    c = run(4, 0.30, 0.005, 3, 20);
    assert_int_equal(c.found, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_nodes),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_few_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
