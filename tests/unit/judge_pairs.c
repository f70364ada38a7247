// SPDX-License-Identifier: BSD-3-Clause
/* Blame as a pure function over planted graphs, what counts as slow, and matrix lines
 * as evidence. */
#include "judge_help.h"

#include "judge/evidence.h"
#include "judge/pairs.h"

#include <math.h>

enum { MOST = 40 };

/* Every pair of `members`, both ways. */
struct graph {
    struct fc_link link[MOST * MOST];
    size_t links, members;
};

static void graph_full(struct graph *g, size_t members)
{
    g->links = 0;
    g->members = members;
    for (uint32_t a = 0; a < members; a++)
        for (uint32_t b = 0; b < members; b++)
            if (a != b)
                g->link[g->links++] = (struct fc_link){
                    .from = a, .to = b, .value = 10.0 + 0.01 * ((7 * a + 3 * b) % 5)};
}

static struct fc_link *link_of(struct graph *g, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < g->links; i++)
        if (g->link[i].from == from && g->link[i].to == to)
            return &g->link[i];
    fail();
    return NULL;
}

static void spoil(struct graph *g, uint32_t member, bool sends, bool receives)
{
    for (size_t i = 0; i < g->links; i++)
        if ((sends && g->link[i].from == member) ||
            (receives && g->link[i].to == member)) {
            g->link[i].bad = true;
            g->link[i].value *= 0.4;
        }
}

/* Members are nodes with one NIC each. */
static struct fc_arena arena_of(const struct graph *g, struct fc_member *member)
{
    for (uint32_t i = 0; i < g->members; i++)
        member[i] = (struct fc_member){.node = i, .leaf = FC_EV_NO_LEAF};
    return (struct fc_arena){.node = FC_NONE,
                             .metric = "pair.bw",
                             .link = (struct fc_link *)(uintptr_t)g->link,
                             .links = g->links,
                             .member = member,
                             .members = g->members,
                             .nodes = g->members};
}

/* The evidence of a graph: links of one kind. */
static struct fc_ev_pair some_pair;
static struct fc_ev_round some_round = {.bytes = 1 << 20, .rounds = 1, .attempt = 1};
static struct fc_ev_node some_node[MOST];
static const struct fc_evidence some_evidence = {
    .round = &some_round, .node = some_node, .pair = &some_pair};

static void mark_slow(struct graph *g, struct fc_pairs_level *level)
{
    struct fc_member member[MOST];
    struct fc_arena arena = arena_of(g, member);
    for (size_t i = 0; i < g->links; i++)
        g->link[i].pair = &some_pair;
    for (size_t i = 0; i < MOST; i++)
        some_node[i].class = "";
    assert_true(fc_pairs_mark_slow(&some_evidence, &arena, FC_PAIRS_DROP, level));
}

/* "3", "3>" (sends), "3<" (receives), "1-4", "1>4" (1 to 4), "1<4", "all". */
static const char *blamed(const struct graph *g, char *out, size_t room)
{
    struct fc_blame blame;
    struct fc_member member[MOST];
    struct fc_arena arena = arena_of(g, member);
    assert_true(fc_blame_open(&arena, &blame));
    out[0] = '\0';
    for (size_t i = 0; i < blame.count; i++) {
        const struct fc_culprit *k = &blame.culprit[i];
        size_t used = strlen(out);
        const char *way = k->sends && k->receives ? "" : k->sends ? ">" : "<";
        if (k->kind == FC_CULPRIT_ALL)
            snprintf(out + used, room - used, "%sall", used ? " " : "");
        else if (k->kind == FC_CULPRIT_MEMBER)
            snprintf(out + used, room - used, "%s%u%s", used ? " " : "", k->member,
                     way);
        else
            snprintf(out + used, room - used, "%s%u%s%u", used ? " " : "", k->member,
                     *way ? way : "-", k->other);
    }
    fc_blame_close(&blame);
    return out;
}

static void test_blame(void **state)
{
    static struct graph g;
    char text[400];
    (void)state;
    for (size_t n = 2; n <= 12; n++) {
        graph_full(&g, n);
        assert_string_equal(blamed(&g, text, sizeof text), "");
        link_of(&g, 1, 0)->bad = true;
        assert_string_equal(blamed(&g, text, sizeof text), "0<1");
        link_of(&g, 0, 1)->bad = true;
        assert_string_equal(blamed(&g, text, sizeof text), "0-1");
        for (size_t i = 0; i < g.links; i++)
            g.link[i].bad = true;
        assert_string_equal(blamed(&g, text, sizeof text), n == 2 ? "0-1" : "all");
    }
    for (size_t n = 3; n <= 12; n++) {
        graph_full(&g, n);
        spoil(&g, 2, true, true);
        assert_string_equal(blamed(&g, text, sizeof text), "2");
        graph_full(&g, n);
        spoil(&g, 1, true, false);
        assert_string_equal(blamed(&g, text, sizeof text), "1>");
        graph_full(&g, n);
        spoil(&g, 0, false, true);
        assert_string_equal(blamed(&g, text, sizeof text), "0<");
    }
}

static void test_several_faults(void **state)
{
    static struct graph g;
    char text[400];
    (void)state;
    graph_full(&g, 8);
    spoil(&g, 1, true, true);
    spoil(&g, 6, true, false);
    link_of(&g, 3, 4)->bad = true;
    assert_string_equal(blamed(&g, text, sizeof text), "1 6> 3>4");
    graph_full(&g, 8);
    for (uint32_t k = 0; k < 5; k++)
        spoil(&g, k, true, true);
    assert_string_equal(blamed(&g, text, sizeof text), "all");
    /* one of a member's links is fine */
    graph_full(&g, 8);
    spoil(&g, 2, true, true);
    link_of(&g, 2, 5)->bad = false;
    assert_string_equal(blamed(&g, text, sizeof text), "2");
    /* four that meet in one: it explains them */
    graph_full(&g, 9);
    for (uint32_t k = 1; k <= 4; k++)
        link_of(&g, 0, k)->bad = true;
    assert_string_equal(blamed(&g, text, sizeof text), "0>");
    /* four that do not meet */
    graph_full(&g, 9);
    for (uint32_t k = 0; k < 4; k++)
        link_of(&g, k, k + 4)->bad = true;
    assert_string_equal(blamed(&g, text, sizeof text), "0>4 1>5 2>6 3>7");
}

/* Links of member 3 with three others are measured again. */
static void measure_again(struct graph *g, bool bad)
{
    for (uint32_t other = 5; other < 8; other++) {
        link_of(g, 3, other)->again = link_of(g, other, 3)->again = true;
        link_of(g, 3, other)->bad = link_of(g, other, 3)->bad = bad;
    }
}

/* A few links that were measured again speak for all of a part. */
static void test_a_part_is_confirmed_or_cleared(void **state)
{
    static struct graph g;
    struct fc_member member[MOST];
    struct fc_blame blame;
    char text[400];
    (void)state;
    graph_full(&g, 30);
    spoil(&g, 3, true, true);
    struct fc_arena arena = arena_of(&g, member);
    assert_true(fc_blame_open(&arena, &blame));
    assert_int_equal(blame.count, 1);
    assert_false(fc_culprit_confirmed(&blame.culprit[0]));
    fc_blame_close(&blame);
    measure_again(&g, true);
    assert_true(fc_blame_open(&arena, &blame));
    assert_int_equal(blame.count, 1);
    assert_true(fc_culprit_confirmed(&blame.culprit[0]));
    fc_blame_close(&blame);
    measure_again(&g, false);
    assert_string_equal(blamed(&g, text, sizeof text), "");
    /* Another one is still to blame, and that with 3 as well. */
    spoil(&g, 9, false, true);
    assert_string_equal(blamed(&g, text, sizeof text), "9<");
}

/* A single round knows partners, not culprits. */
static void test_a_round_of_pairs(void **state)
{
    struct fc_link link[] = {{.from = 0, .to = 1},
                             {.from = 1, .to = 0},
                             {.from = 2, .to = 3, .bad = true},
                             {.from = 3, .to = 2, .bad = true}};
    static struct graph g;
    char text[100];
    (void)state;
    memcpy(g.link, link, sizeof link);
    g.links = 4;
    g.members = 4;
    assert_string_equal(blamed(&g, text, sizeof text), "2-3");
}

static void test_slow(void **state)
{
    static struct graph g;
    struct fc_pairs_level level;
    char text[400];
    (void)state;
    for (size_t n = 3; n <= 30; n++) {
        graph_full(&g, n);
        mark_slow(&g, &level);
        assert_string_equal(blamed(&g, text, sizeof text), "");
        spoil(&g, 2, false, true);
        mark_slow(&g, &level);
        assert_string_equal(blamed(&g, text, sizeof text), "2<");
        assert_true(fabs(level.centre - 10.0) < 0.1);
        graph_full(&g, n);
        link_of(&g, 1, 0)->value *= 0.5;
        mark_slow(&g, &level);
        assert_string_equal(blamed(&g, text, sizeof text), "0<1");
    }
    /* two members cannot be told apart */
    graph_full(&g, 2);
    g.link[0].value *= 0.1;
    mark_slow(&g, &level);
    assert_string_equal(blamed(&g, text, sizeof text), "");
}

/* Values that spread by themselves accuse nobody, whatever their order. */
static void test_noise_is_nobodys(void **state)
{
    static struct graph g;
    struct fc_pairs_level level;
    struct fc_rng rng;
    size_t accused = 0;
    (void)state;
    fc_rng_seed(&rng, 5);
    for (size_t n = 3; n <= 24; n++)
        for (size_t trial = 0; trial < 20; trial++) {
            graph_full(&g, n);
            for (size_t i = 0; i < g.links; i++) /* the middle of 4: rather normal */
                g.link[i].value =
                    7.0 + (double)(fc_rng_below(&rng, 400) + fc_rng_below(&rng, 400) +
                                   fc_rng_below(&rng, 400)) /
                              200.0;
            mark_slow(&g, &level);
            for (size_t i = 0; i < g.links; i++)
                accused += g.link[i].bad;
        }
    assert_int_equal(accused, 0);
}

/* --- matrix lines --- */

static const char frame[] = "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\"}\n"
                            "{\"type\":\"node\",\"name\":\"n1\",\"ranks\":[0,1]}\n"
                            "{\"type\":\"node\",\"name\":\"n2\",\"ranks\":[2,3]}\n";

static struct fc_evidence evidence_of(const char *lines,
                                      struct fc_journal_text *journal)
{
    char text[4096];
    struct fc_evidence ev;
    struct fc_error err;
    snprintf(text, sizeof text, "%s%s", frame, lines);
    *journal = journal_of(text);
    assert_int_equal(fc_evidence_open(journal, &ev, &err), FC_OK);
    return ev;
}

static void test_matrix_lines(void **state)
{
    static const char lines[] =
        "{\"type\":\"matrix\",\"attempt\":2,\"round\":0,\"rounds\":1,\"pair\":[[0,1]]}"
        "\n"
        "{\"type\":\"matrix\",\"round\":3,\"rounds\":5,\"bytes\":65536,\"concurrency\":"
        "2,"
        "\"pair\":[[0,2],[3,1]],\"bw\":[[11.5,11.25],[7.0,null]],"
        "\"latency\":[2e-6,null],\"wrong\":[[0,0],[0,9]],\"status\":[\"ok\",\"failed\"]"
        ","
        "\"reason\":[null,\"why\"],\"path\":[{\"name\":\"verbs\"},null],"
        "\"limit\":[12.5,null]}\n";
    struct fc_journal_text journal;
    struct fc_evidence ev = evidence_of(lines, &journal);
    (void)state;
    assert_true(sizeof(struct fc_ev_pair) < 100);
    assert_int_equal(ev.malformed, 0);
    assert_int_equal(ev.rounds, 2);
    assert_int_equal(ev.round[0].round, 3);
    assert_int_equal(ev.round[0].rounds, 5);
    assert_int_equal(ev.round[0].bytes, 65536);
    assert_int_equal(ev.round[1].attempt, 2);
    assert_int_equal(ev.pairs, 3);
    const struct fc_ev_pair *p = ev.pair;
    assert_true(p[0].bw_ab == 11.5 && p[0].bw_ba == 11.25 && p[0].limit == 12.5);
    assert_int_equal(p[0].a_node, 0);
    assert_int_equal(p[0].b_node, 1);
    assert_string_equal(p[0].path, "verbs");
    assert_true(p[1].bw_ab == 7.0 && isnan(p[1].bw_ba) && isnan(p[1].latency));
    assert_int_equal(p[1].a_rank, 3);
    assert_int_equal(p[1].wrong_ba, 9);
    assert_int_equal(p[1].state, FC_EV_FAILED);
    assert_string_equal(p[1].reason, "why");
    assert_int_equal(p[2].a_node, p[2].b_node);
    assert_int_equal(p[2].wrong_ab, 0);
    assert_int_equal(p[2].state, FC_EV_OK);
    fc_evidence_close(&ev);
    fc_journal_text_free(&journal);
}

/* Each of these is counted and not used. */
static void test_malformed_matrix_lines(void **state)
{
    static const char *const lines[] = {
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1}",
        "{\"type\":\"matrix\",\"rounds\":1,\"pair\":[[0,2]]}",
        "{\"type\":\"matrix\",\"round\":0,\"pair\":[[0,2]]}",
        "{\"type\":\"matrix\",\"round\":-1,\"rounds\":1,\"pair\":[[0,2]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"attempt\":0,\"pair\":[[0,2]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2]],\"bw\":[]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2]],\"bw\":[[1]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2]],\"bw\":[[-1,1]]"
        "}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,0]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,4294967298]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,77]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2,3]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2]],\"wrong\":[[-2,"
        "0]]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2]],\"status\":[1]"
        "}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2]],\"path\":["
        "\"x\"]}",
        "{\"type\":\"matrix\",\"round\":0,\"rounds\":1,\"pair\":[[0,2]],\"limit\":[0]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct fc_journal_text journal;
        struct fc_evidence ev = evidence_of(lines[i], &journal);
        if (ev.malformed != 1 || ev.pairs != 0)
            fail_msg("%s: %zu malformed, %zu pairs", lines[i], ev.malformed, ev.pairs);
        fc_evidence_close(&ev);
        fc_journal_text_free(&journal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blame),
        cmocka_unit_test(test_several_faults),
        cmocka_unit_test(test_a_part_is_confirmed_or_cleared),
        cmocka_unit_test(test_a_round_of_pairs),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_noise_is_nobodys),
        cmocka_unit_test(test_matrix_lines),
        cmocka_unit_test(test_malformed_matrix_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
