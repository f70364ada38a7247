// SPDX-License-Identifier: BSD-3-Clause
/* Faults that are planted in simulated matrices, with noise, and whom the judge blames:
 * every kind of part, alone and two at once. Values are drawn here; nothing of the
 * judge's thresholds is known to this file. */
#include "judge_help.h"

#include "judge/pairs.h"

#include <math.h>

/* A fleet: nodes with `rails` NICs each, of one leaf switch for `leaf` nodes. */
struct fleet {
    size_t nodes, rails, leaf;
    struct fc_arena arena;
    struct fc_ev_node *node;
    struct fc_evidence ev;
    struct fc_ev_round round;
    struct fc_ev_pair pair;
};

static double gauss(struct fc_rng *rng)
{
    double u = (double)(fc_rng_below(rng, 1U << 30) + 1) / (double)(1U << 30);
    double v = (double)fc_rng_below(rng, 1U << 30) / (double)(1U << 30);
    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979 * v);
}

/* Every pair of NICs of two nodes, both ways; `rounds` (0: all) partners each. */
static struct fleet *fleet_new(size_t nodes, size_t rails, size_t leaf, size_t rounds)
{
    struct fleet *f = calloc(1, sizeof *f);
    assert_non_null(f);
    size_t nics = nodes * rails;
    f->nodes = nodes;
    f->rails = rails;
    f->leaf = leaf;
    f->node = calloc(nodes, sizeof *f->node);
    f->arena = (struct fc_arena){.node = FC_NONE,
                                 .metric = "pair.bw",
                                 .link = calloc(nics * nics, sizeof(struct fc_link)),
                                 .member = calloc(nics, sizeof(struct fc_member)),
                                 .members = nics,
                                 .nodes = nodes,
                                 .rails = rails > 1};
    assert_non_null(f->node);
    assert_non_null(f->arena.link);
    assert_non_null(f->arena.member);
    f->round = (struct fc_ev_round){.bytes = 1 << 20, .rounds = 1, .attempt = 1};
    f->ev = (struct fc_evidence){.round = &f->round, .node = f->node, .pair = &f->pair};
    for (uint32_t i = 0; i < nodes; i++)
        f->node[i].class = "";
    for (uint32_t m = 0; m < nics; m++) {
        uint32_t node = m / (uint32_t)rails;
        f->arena.member[m] =
            (struct fc_member){.node = node,
                               .id = m % (uint32_t)rails,
                               .leaf = leaf ? node / (uint32_t)leaf : FC_EV_NO_LEAF};
    }
    for (uint32_t a = 0; a < nics; a++)
        for (uint32_t b = 0; b < nics; b++) {
            size_t x = a / rails, y = b / rails, d = (x + nodes - y) % nodes;
            bool met = rounds == 0 || d <= rounds || nodes - d <= rounds;
            if (x != y && met)
                f->arena.link[f->arena.links++] =
                    (struct fc_link){.from = a, .to = b, .pair = &f->pair};
        }
    return f;
}

static void fleet_free(struct fleet *f)
{
    free(f->arena.link);
    free(f->arena.member);
    free(f->node);
    free(f);
}

static void fleet_measure(struct fleet *f, struct fc_rng *rng)
{
    for (size_t i = 0; i < f->arena.links; i++)
        f->arena.link[i].value = 40.0 * (1.0 + 0.01 * gauss(rng));
}

enum kind { NODE, SENDER, RECEIVER, WAY, LINK, LEAF, UPLINK, NIC, RAIL, KINDS };

/* A fault: a part, what it does to its links, and how it is called. */
struct fault {
    enum kind kind;
    uint32_t a, b; /* members */
    double factor;
    char name[24];
};

static bool hits(const struct fleet *f, const struct fault *x, const struct fc_link *l)
{
    const struct fc_member *m = f->arena.member, *from = &m[l->from], *to = &m[l->to];
    const struct fc_member *a = &m[x->a];
    bool leaf_from = from->leaf == a->leaf, leaf_to = to->leaf == a->leaf;
    switch (x->kind) {
    case NODE:
        return from->node == a->node || to->node == a->node;
    case SENDER:
        return from->node == a->node;
    case RECEIVER:
        return to->node == a->node;
    case WAY:
        return l->from == x->a && l->to == x->b;
    case LINK:
        return (l->from == x->a && l->to == x->b) || (l->from == x->b && l->to == x->a);
    case LEAF:
        return leaf_from || leaf_to;
    case UPLINK:
        return leaf_from != leaf_to;
    case NIC:
        return l->from == x->a || l->to == x->a;
    default:
        return from->id == a->id || to->id == a->id;
    }
}

static void name_fault(const struct fleet *f, struct fault *x)
{
    const struct fc_member *a = &f->arena.member[x->a];
    uint32_t low = x->a < x->b ? x->a : x->b, high = x->a < x->b ? x->b : x->a;
    const char *way = x->kind == LINK ? "-" : x->a < x->b ? ">" : "<";
    switch (x->kind) {
    case NODE:
    case SENDER:
    case RECEIVER:
        snprintf(x->name, sizeof x->name, "n%u%s", a->node,
                 x->kind == NODE     ? ""
                 : x->kind == SENDER ? ">"
                                     : "<");
        break;
    case WAY:
    case LINK:
        snprintf(x->name, sizeof x->name, "%u%s%u", low, way, high);
        break;
    case LEAF:
    case UPLINK:
        snprintf(x->name, sizeof x->name, "leaf%u", a->leaf);
        break;
    case NIC:
        snprintf(x->name, sizeof x->name, "nic%u", x->a);
        break;
    default:
        snprintf(x->name, sizeof x->name, "rail%u", a->id);
    }
}

static void draw(struct fleet *f, struct fault *x, struct fc_rng *rng, enum kind kind)
{
    x->kind = kind;
    x->a = (uint32_t)fc_rng_below(rng, f->arena.members);
    do
        x->b = (uint32_t)fc_rng_below(rng, f->arena.members);
    while (f->arena.member[x->b].node == f->arena.member[x->a].node);
    x->factor =
        0.2 + 0.05 * (double)fc_rng_below(rng, kind == WAY || kind == LINK ? 8 : 11);
    name_fault(f, x);
}

/* True when most links of `x` are those of the part of `other`, in any direction:
 * nobody could see it then. */
static bool hides(const struct fleet *f, const struct fault *x, struct fault other)
{
    static const enum kind whole[KINDS] = {
        [NODE] = NODE, [SENDER] = NODE, [RECEIVER] = NODE, [WAY] = LINK, [LINK] = LINK,
        [LEAF] = LEAF, [UPLINK] = LEAF, [NIC] = NIC,       [RAIL] = RAIL};
    size_t hit = 0, hidden = 0;
    other.kind = whole[other.kind];
    for (size_t i = 0; i < f->arena.links; i++) {
        const struct fc_link *l = &f->arena.link[i];
        hit += hits(f, x, l);
        hidden += hits(f, x, l) && hits(f, &other, l);
    }
    return 2 * hidden > hit;
}

static void plant(struct fleet *f, const struct fault *x)
{
    for (size_t i = 0; i < f->arena.links; i++)
        if (hits(f, x, &f->arena.link[i]))
            f->arena.link[i].value *= x->factor;
}

static void name_culprit(const struct fc_arena *a, const struct fc_culprit *k,
                         char *out, size_t room)
{
    const struct fc_member *m = &a->member[k->member];
    const char *way = k->sends == k->receives ? "" : k->sends ? ">" : "<";
    if (k->kind == FC_CULPRIT_ALL)
        snprintf(out, room, "all");
    else if (k->kind == FC_CULPRIT_LEAF)
        snprintf(out, room, "leaf%u%s", m->leaf, way);
    else if (k->kind == FC_CULPRIT_RAIL)
        snprintf(out, room, "rail%u", m->id);
    else if (k->kind == FC_CULPRIT_NODE || (k->kind == FC_CULPRIT_MEMBER && !a->rails))
        snprintf(out, room, "n%u%s", m->node, way);
    else if (k->kind == FC_CULPRIT_MEMBER)
        snprintf(out, room, "nic%u%s", k->member, way);
    else
        snprintf(out, room, "%u%s%u", k->member, *way ? way : "-", k->other);
}

/* Names of all that is blamed, sorted. */
static struct lines blamed(struct fleet *f)
{
    struct lines names = {0};
    struct fc_pairs_level level;
    struct fc_blame blame;
    char name[64];
    assert_true(fc_pairs_mark_slow(&f->ev, &f->arena, FC_PAIRS_DROP, &level));
    assert_true(fc_blame_open(&f->arena, &blame));
    for (size_t i = 0; i < blame.count; i++) {
        name_culprit(&f->arena, &blame.culprit[i], name, sizeof name);
        lines_add(&names, name);
    }
    fc_blame_close(&blame);
    lines_sort(&names);
    return names;
}

static bool says(struct fleet *f, const struct fault *fault, size_t faults, char *told,
                 size_t room)
{
    struct lines have = blamed(f), want = {0};
    for (size_t i = 0; i < faults; i++)
        lines_add(&want, fault[i].name);
    lines_sort(&want);
    bool same = have.count == want.count;
    for (size_t i = 0; same && i < want.count; i++)
        same = strcmp(have.line[i], want.line[i]) == 0;
    snprintf(told, room, "%s%s%s: %zu blamed, %s", faults ? fault[0].name : "nothing",
             faults > 1 ? " and " : "", faults > 1 ? fault[1].name : "", have.count,
             have.count ? have.line[0] : "nobody");
    lines_free(&have);
    lines_free(&want);
    return same;
}

static bool applies(const struct fleet *f, enum kind kind)
{
    if (kind == LEAF || kind == UPLINK)
        return f->leaf > 0;
    return (kind != NIC && kind != RAIL) || f->rails > 1;
}

/* `trials` of each kind; at most `wrong_most` of a hundred may be wrong. */
static void try_fleet(size_t nodes, size_t rails, size_t leaf, size_t faults,
                      size_t trials, size_t wrong_most)
{
    struct fleet *f = fleet_new(nodes, rails, leaf, 0);
    struct fc_rng rng;
    size_t wrong = 0, all = 0;
    char told[200];
    fc_rng_seed(&rng, 100 * nodes + rails + faults);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < trials && applies(f, (enum kind)kind); i++) {
            struct fault fault[2];
            fleet_measure(f, &rng);
            draw(f, &fault[0], &rng, (enum kind)kind);
            plant(f, &fault[0]);
            while (faults > 1) {
                draw(f, &fault[1], &rng, (enum kind)fc_rng_below(&rng, LEAF));
                if (!hides(f, &fault[1], fault[0]) && !hides(f, &fault[0], fault[1]))
                    break;
            }
            if (faults > 1)
                plant(f, &fault[1]);
            bool ok = says(f, fault, faults, told, sizeof told);
            if (!ok)
                print_message("# %zu nodes, %zu rails: %s\n", nodes, rails, told);
            wrong += !ok;
            all++;
        }
    fleet_free(f);
    if (100 * wrong > wrong_most * all)
        fail_msg("%zu nodes: %zu of %zu wrong", nodes, wrong, all);
}

static void test_one_fault(void **state)
{
    (void)state;
    try_fleet(8, 1, 0, 1, 40, 2);
    try_fleet(16, 1, 0, 1, 40, 2);
    try_fleet(64, 1, 0, 1, 20, 2);
    try_fleet(64, 1, 8, 1, 20, 2);
    try_fleet(48, 1, 16, 1, 20, 2);
    try_fleet(16, 8, 4, 1, 8, 2);
}

/* Of few nodes a leaf switch is known by what crosses its border, though its members
 * are well with each other; also one that nobody would call below its floor. */
static void test_a_switch_of_few(void **state)
{
    struct fc_rng rng;
    char told[200];
    (void)state;
    fc_rng_seed(&rng, 8);
    for (size_t i = 0; i < 48; i++) {
        struct fleet *f = fleet_new(8, 1, 2 + i % 2, 0);
        struct fault fault = {.kind = UPLINK, .a = i / 2 % 8, .factor = 0.88};
        fleet_measure(f, &rng);
        name_fault(f, &fault);
        plant(f, &fault);
        if (!says(f, &fault, 1, told, sizeof told))
            fail_msg("%s", told);
        fleet_free(f);
    }
}

static void test_two_faults(void **state)
{
    (void)state;
    try_fleet(64, 1, 0, 2, 30, 10);
    try_fleet(64, 1, 8, 2, 30, 10);
    try_fleet(16, 8, 4, 2, 8, 10);
}

static void test_healthy_fleets_accuse_nobody(void **state)
{
    static const size_t size[][4] = {
        {3, 1, 0, 0},  {5, 1, 0, 0}, {8, 1, 0, 0}, {9, 1, 0, 0},  {16, 1, 4, 0},
        {64, 1, 8, 0}, {2, 8, 0, 0}, {4, 4, 0, 0}, {16, 8, 4, 0}, {500, 1, 25, 3}};
    struct fc_rng rng;
    char told[200];
    (void)state;
    fc_rng_seed(&rng, 9);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        struct fleet *f = fleet_new(size[i][0], size[i][1], size[i][2], size[i][3]);
        for (size_t trial = 0; trial < 20; trial++) {
            fleet_measure(f, &rng);
            if (!says(f, NULL, 0, told, sizeof told))
                fail_msg("%zu nodes: %s", size[i][0], told);
        }
        fleet_free(f);
    }
}

/* Up to 40 % of the nodes are slow, with all pairs and with few: none hides, and none
 * of the others is blamed. */
static void test_many_bad_nodes(void **state)
{
    static const size_t rounds[] = {0, 8};
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 77);
    for (size_t r = 0; r < 2; r++)
        for (size_t bad = 1; bad <= 40; bad += 13) {
            struct fleet *f = fleet_new(100, 1, 0, rounds[r]);
            bool *slow = calloc(100, sizeof *slow);
            fleet_measure(f, &rng);
            for (size_t k = 0; k < bad;) {
                size_t node = (size_t)fc_rng_below(&rng, 100);
                k += !slow[node];
                slow[node] = true;
            }
            for (size_t i = 0; i < f->arena.links; i++)
                if (slow[f->arena.link[i].from] || slow[f->arena.link[i].to])
                    f->arena.link[i].value *= 0.8;
            struct lines names = blamed(f);
            for (size_t i = 0; i < names.count; i++)
                if (names.line[i][0] != 'n' || !slow[atoi(names.line[i] + 1)])
                    fail_msg("%zu bad, %zu rounds: %s blamed", bad, rounds[r],
                             names.line[i]);
            assert_int_equal(names.count, bad);
            lines_free(&names);
            free(slow);
            fleet_free(f);
        }
}

/* A slow link whose leaf switch is slow as well: what the switch explains hides it, and
 * what it does not explain shows it. */
static void test_a_fault_behind_another(void **state)
{
    struct fleet *f = fleet_new(64, 1, 8, 0);
    struct fault leaf = {.kind = UPLINK, .a = 20, .factor = 0.7, .name = ""};
    struct fault link = {.kind = WAY, .a = 17, .b = 50, .factor = 0.6, .name = ""};
    struct fc_rng rng;
    struct fc_pairs_level level;
    struct fc_blame first, second;
    char name[64];
    (void)state;
    fc_rng_seed(&rng, 31);
    fleet_measure(f, &rng);
    plant(f, &leaf);
    plant(f, &link);
    assert_true(fc_pairs_mark_slow(&f->ev, &f->arena, FC_PAIRS_DROP, &level));
    assert_true(fc_blame_open(&f->arena, &first));
    assert_int_equal(first.count, 1);
    name_culprit(&f->arena, &first.culprit[0], name, sizeof name);
    assert_string_equal(name, "leaf2");
    assert_true(fc_pairs_mark_deeper(&f->arena, &first, &level));
    assert_true(fc_blame_open(&f->arena, &second));
    assert_int_equal(second.count, 1);
    name_culprit(&f->arena, &second.culprit[0], name, sizeof name);
    assert_string_equal(name, "17>50");
    fc_blame_close(&first);
    fc_blame_close(&second);
    fleet_free(f);
}

/* All equally slow: there is nothing to compare with. */
static void test_all_equally_bad(void **state)
{
    struct fleet *f = fleet_new(16, 1, 0, 0);
    struct fc_rng rng;
    char told[200];
    (void)state;
    fc_rng_seed(&rng, 3);
    fleet_measure(f, &rng);
    for (size_t i = 0; i < f->arena.links; i++)
        f->arena.link[i].value *= 0.3;
    assert_true(says(f, NULL, 0, told, sizeof told));
    for (size_t i = 0; i < f->arena.links; i++) /* a limit tells */
        f->arena.link[i].bad = true;
    struct fc_blame blame;
    assert_true(fc_blame_open(&f->arena, &blame));
    assert_int_equal(blame.count, 1);
    assert_int_equal(blame.culprit[0].kind, FC_CULPRIT_ALL);
    fc_blame_close(&blame);
    fleet_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_fault),
        cmocka_unit_test(test_a_switch_of_few),
        cmocka_unit_test(test_two_faults),
        cmocka_unit_test(test_healthy_fleets_accuse_nobody),
        cmocka_unit_test(test_many_bad_nodes),
        cmocka_unit_test(test_a_fault_behind_another),
        cmocka_unit_test(test_all_equally_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
