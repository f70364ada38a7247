// SPDX-License-Identifier: BSD-3-Clause
/* The pairs probe: one line a round and rail, and what does not fit into lines. */
#include "fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RETEST_ROUNDS = 160 }; /* what a retest's time has room for */

static const double rate_GBps = 11.6, limit_GBps = 12.5, near_s = 1.9e-6,
                    far_s = 2.5e-6;

struct line {
    const struct fleet *fleet;
    int attempt, round, rounds, rail, peer_rail;
    int (*pair)[2];
    double (*bw)[2];
    double *latency;
    int pairs;
    bool any_wrong;
};

/* How long the way between them is. */
static double latency_of(const struct fleet *f, int a, int b, struct dice *dice)
{
    double typical = fleet_leaf(f, a) == fleet_leaf(f, b) ? near_s : far_s;
    return typical * (1.0 + 0.015 * fabs(dice_normal(dice)));
}

static bool silent(const struct line *l)
{
    return l->rail != l->peer_rail && l->fleet->cross_silent;
}

static bool corrupts(const struct line *l, int from, int rail)
{
    const struct fault *x = fleet_ill(l->fleet, FAULT_CORRUPT, from, NULL);
    return x && (x->rail < 0 || x->rail == rail);
}

static void measure(struct line *l, int a, int b)
{
    const struct fleet *f = l->fleet;
    struct dice dice = dice_for(f->seed + ((uint64_t)l->attempt << 40), "pair",
                                (uint64_t)a * (uint64_t)f->nodes + (uint64_t)b,
                                (uint64_t)(l->rail * 64 + l->peer_rail));
    struct noise noise;
    int samples = f->samples * (l->attempt > 1 ? 3 : 1), i = l->pairs++;
    l->pair[i][0] = a;
    l->pair[i][1] = b;
    double worth = fleet_link(f, a, l->rail, b, l->peer_rail, &noise);
    l->bw[i][0] = dice_median(&dice, rate_GBps * worth, &noise, samples);
    worth = fleet_link(f, b, l->peer_rail, a, l->rail, &noise);
    l->bw[i][1] = dice_median(&dice, rate_GBps * worth, &noise, samples);
    l->latency[i] = latency_of(f, a, b, &dice);
    if (corrupts(l, a, l->rail) || corrupts(l, b, l->peer_rail))
        l->any_wrong = true;
}

/* --- the line --- */

static void print_two(const char *key, const struct line *l,
                      void (*one)(const struct line *l, int i))
{
    printf(",\"%s\":[", key);
    for (int i = 0; i < l->pairs; i++) {
        if (i)
            putchar(',');
        one(l, i);
    }
    putchar(']');
}

static void one_pair(const struct line *l, int i)
{
    const int *rank = l->fleet->first_rank;
    printf("[%d,%d]", rank[l->pair[i][0]], rank[l->pair[i][1]]);
}

static void one_bw(const struct line *l, int i)
{
    if (silent(l))
        printf("[null,null]");
    else
        printf("[%.9g,%.9g]", l->bw[i][0], l->bw[i][1]);
}

static void one_latency(const struct line *l, int i)
{
    if (silent(l))
        printf("null");
    else
        printf("%.4g", l->latency[i]);
}

static void one_wrong(const struct line *l, int i)
{
    bool at_b = corrupts(l, l->pair[i][0], l->rail);
    bool at_a = corrupts(l, l->pair[i][1], l->peer_rail);
    printf("[%d,%d]", at_b ? 9 : 0, at_a ? 9 : 0);
}

static void one_limit(const struct line *l, int i)
{
    (void)l;
    (void)i;
    printf("%.9g", limit_GBps);
}

static bool is_wrong(const struct line *l, int i)
{
    return corrupts(l, l->pair[i][0], l->rail) ||
           corrupts(l, l->pair[i][1], l->peer_rail);
}

static void one_status(const struct line *l, int i)
{
    printf(silent(l) || is_wrong(l, i) ? "\"failed\"" : "\"ok\"");
}

static void one_reason(const struct line *l, int i)
{
    printf(silent(l)        ? "\"no way from rail to rail\""
           : is_wrong(l, i) ? "\"9 elements are wrong\""
                            : "null");
}

static void one_path(const struct line *l, int i)
{
    (void)i;
    printf("{\"name\":\"rdma\",\"how\":\"port %d moved 80 MB\"}", l->rail);
}

/* A pair that was wrong or failed has a record as well. */
static void emit_bad_records(const struct line *l)
{
    const struct fleet *f = l->fleet;
    struct sampled none = {0};
    for (int k = 0; k < 2 * l->pairs; k++) {
        int to = l->pair[k / 2][k % 2 ? 0 : 1], from = l->pair[k / 2][k % 2];
        bool wrong = corrupts(l, from, k % 2 ? l->peer_rail : l->rail);
        char subject[160];
        if (!wrong)
            continue;
        snprintf(subject, sizeof subject,
                 "\"kind\":\"pair\",\"node\":\"n%d\",\"peer\":\"n%d\",\"rank\":%d",
                 f->number[to], f->number[from], f->first_rank[to]);
        struct record r = {.probe = "pairs",
                           .metric = "pair.bw",
                           .unit = "GB/s",
                           .subject = subject,
                           .params = "\"op\":\"sendrecv\",\"memory\":\"host\"",
                           .path = "rdma",
                           .how = "the port's counters",
                           .bytes = 1048576,
                           .wrong = 9,
                           .reason = "9 elements are wrong",
                           .attempt = l->attempt,
                           .rank = f->first_rank[to]};
        emit_record(&r, &none);
    }
}

static void print_line(const struct line *l)
{
    const struct fleet *f = l->fleet;
    printf("{\"type\":\"matrix\",\"probe\":\"pairs\",\"attempt\":%d,\"round\":%d,"
           "\"rounds\":%d,\"seed\":%llu,\"bytes\":1048576,\"concurrency\":%d,"
           "\"samples\":%d",
           l->attempt, l->round, l->rounds, (unsigned long long)f->seed, l->pairs,
           f->samples * (l->attempt > 1 ? 3 : 1));
    if (f->rails > 1)
        printf(",\"rail\":%d,\"peer_rail\":%d", l->rail, l->peer_rail);
    print_two("pair", l, one_pair);
    print_two("bw", l, one_bw);
    print_two("latency", l, one_latency);
    if (l->any_wrong)
        print_two("wrong", l, one_wrong);
    if (l->any_wrong || silent(l)) {
        print_two("status", l, one_status);
        print_two("reason", l, one_reason);
    }
    print_two("path", l, one_path);
    print_two("limit", l, one_limit);
    printf(",\"src\":\"0.%d\"}\n", emit_source());
    if (l->any_wrong)
        emit_bad_records(l);
}

/* What the suspects want to be measured in that step. */
static void emit_step(struct line *l)
{
    const struct fleet *f = l->fleet;
    l->pairs = 0;
    l->any_wrong = false;
    for (int i = 0; i < f->choices; i++) {
        const struct chosen *x = &f->chosen[i];
        if (x->step == l->round && !fleet_lost(f, x->node, -1) &&
            !fleet_lost(f, x->partner, -1))
            measure(l, x->node, x->partner);
    }
    if (l->pairs)
        print_line(l);
}

static void emit_line(struct line *l)
{
    const struct fleet *f = l->fleet;
    l->pairs = 0;
    l->any_wrong = false;
    for (int i = 0; i < f->members / 2; i++) {
        int a, b, when = l->attempt > 1 ? -1 : l->round;
        if (!fleet_pair(f, l->round, i, &a, &b))
            continue;
        if (l->attempt > 1 && !f->meet[a] && !f->meet[b])
            continue;
        if (!fleet_lost(f, a, when) && !fleet_lost(f, b, when))
            measure(l, a, b);
    }
    if (l->pairs)
        print_line(l);
}

static void emit_sum(const struct fleet *f)
{
    struct dice dice = dice_for(f->seed, "all pairs", 0, 0);
    struct noise noise = fleet_noise(f);
    struct sampled s = dice_rate(&dice, rate_GBps, &noise, 40);
    struct record r = {.probe = "pairs",
                       .metric = "pair.bw",
                       .unit = "GB/s",
                       .subject = "\"kind\":\"fabric\"",
                       .params = "\"op\":\"sendrecv\",\"memory\":\"host\","
                                 "\"variant\":\"all pairs\"",
                       .path = "rdma",
                       .how = "the ports' counters",
                       .bytes = 1048576,
                       .wrong = 0,
                       .attempt = 1};
    emit_record(&r, &s);
    s = dice_time(&dice, far_s, &noise, 40);
    r.metric = "pair.latency";
    r.unit = "s";
    r.lower = true;
    r.bytes = 8;
    emit_record(&r, &s);
}

/* Those rounds first whom the suspects have not met. */
static void emit_rounds(struct line *l)
{
    const struct fleet *f = l->fleet;
    int all = l->rounds, first = 0, rounds = fleet_walked(f);
    if (l->attempt > 1) {
        first = all ? rounds % all : 0;
        rounds = all < RETEST_ROUNDS ? all : RETEST_ROUNDS;
    }
    for (int i = 0; i < rounds; i++)
        for (l->rail = 0; l->rail < f->rails; l->rail++) {
            l->round = (first + i) % all;
            l->peer_rail = l->rail;
            emit_line(l);
            l->peer_rail = (l->rail + 1) % f->rails;
            if (f->cross && f->rails > 1 && i == 0 && l->attempt == 1)
                emit_line(l);
        }
}

static void emit_steps(struct line *l)
{
    l->rounds = l->fleet->steps < RETEST_ROUNDS ? l->fleet->steps : RETEST_ROUNDS;
    for (l->round = 0; l->round < l->rounds; l->round++)
        for (l->rail = 0; l->rail < l->fleet->rails; l->rail++) {
            l->peer_rail = l->rail;
            emit_step(l);
        }
}

void emit_pairs(const struct fleet *f, int attempt)
{
    size_t room = (size_t)f->members / 2 + 1;
    struct line l = {.fleet = f, .attempt = attempt, .rounds = fleet_rounds(f)};
    l.pair = malloc(room * sizeof *l.pair);
    l.bw = malloc(room * sizeof *l.bw);
    l.latency = malloc(room * sizeof *l.latency);
    if (!l.pair || !l.bw || !l.latency) {
        fprintf(stderr, "fleet: out of memory\n");
        exit(2);
    }
    if (attempt > 1 && f->steps)
        emit_steps(&l);
    else
        emit_rounds(&l);
    if (attempt == 1)
        emit_sum(f);
    free(l.pair);
    free(l.bw);
    free(l.latency);
}
