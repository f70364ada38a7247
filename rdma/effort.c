// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/effort.h"

#include "core/clock.h"

enum {
    ALL_UP_TO = 64,   /* members of which every pair is measured */
    ROUNDS_ABOVE = 3, /* random ones: the relabelled circle's first */
    RETEST_FACTOR = 3,
};

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

static const unsigned write_only = 1u << FC_RDMA_WRITE;
static const unsigned all_ops =
    1u << FC_RDMA_WRITE | 1u << FC_RDMA_READ | 1u << FC_RDMA_SEND;

struct fc_rdma_effort fc_rdma_effort(const struct fc_settings *settings,
                                     uint32_t members, int attempt)
{
    bool quick = settings->level == FC_LEVEL_QUICK;
    bool long_one = settings->level >= FC_LEVEL_FULL;
    uint32_t asked = settings->pair_rounds, all = members + members % 2;
    struct fc_rdma_effort e = {
        .all = members < 2 ? 0 : all - 1,
        .budget_ns = (quick      ? 5
                      : long_one ? 600
                                 : 90) *
                     FC_NS_PER_S,
        .box_ns = (quick      ? 8
                   : long_one ? 100
                              : 40) *
                  FC_NS_PER_MS,
        .patience_ns = 10 * FC_NS_PER_S,
        .bytes = MIB,
        .latency_bytes = 8,
        .bursts = 5,
        .ops = quick ? write_only : all_ops,
        .cross = long_one,
        .sizes = !quick && attempt < 2,
    };
    e.rounds = asked ? asked : members <= ALL_UP_TO ? e.all : ROUNDS_ABOVE;
    e.rounds = e.rounds < e.all ? e.rounds : e.all;
    if (asked && attempt < 2)
        e.budget_ns = 0;
    if (attempt > 1) {
        e.rounds = e.all;
        e.box_ns *= RETEST_FACTOR;
        e.bursts *= RETEST_FACTOR;
        e.cross = false;
    }
    return e;
}

uint64_t fc_rdma_effort_size(unsigned i)
{
    return UINT64_C(2) << (2 * i); /* 2 B, 8 B, 32 B … 8 MiB */
}

double fc_rdma_effort_s(const struct fc_rdma_effort *e, int rails)
{
    double ops = 0, box = (double)e->box_ns / 1e9;
    for (int op = 0; op < FC_RDMA_OPS; op++)
        ops += (e->ops >> op) & 1u;
    /* Two directions, a fifth for latency, set-up; then all rails together. */
    double step = rails * ops * 2.6 * box + (rails > 1 ? 2.6 * box : 0);
    double s = e->rounds * step * (e->cross ? rails : 1);
    if (e->budget_ns && s > (double)e->budget_ns / 1e9)
        s = (double)e->budget_ns / 1e9;
    return s + (e->sizes ? FC_RDMA_SIZES * ops * 2.6 * box : 0) + 0.5;
}
