// SPDX-License-Identifier: BSD-3-Clause
/* Pairs: every two nodes (of one node: every two ranks) by the circle schedule, all
 * pairs of a round at the same time; bandwidth both ways and latency, verified. */
#include "bench.h"
#include "bench_table.h"
#include "collectives/pairs_plan.h"
#include "collectives/pairs_rank.h"
#include "core/log.h"
#include "core/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct walk {
    struct fc_bench *bench;
    struct fc_pairs_plan plan;
    struct fc_pairs_rank rank;
    struct entry *all; /* [ranks] */
    int64_t wrong;
    double GBps; /* sum of both ways of all pairs */
    unsigned ways;
};

/* What a rank tells of a round. */
struct entry {
    int32_t peer; /* rank; -1: it rested */
    double GBps, latency_s;
    uint64_t bytes, wrong;
    char path[32];
};

static enum fc_status open_walk(struct walk *w, struct fc_error *err)
{
    struct fc_run *run = w->bench->run;
    struct fc_settings settings = *run->settings;
    int64_t rounds = w->bench->options->rounds;
    settings.level = FC_LEVEL_STANDARD;
    settings.pair_rounds = rounds ? (uint32_t)rounds : UINT32_MAX;
    w->plan = fc_pairs_plan(&settings, fc_pairs_members(run->rte), 1);
    w->all = calloc((size_t)run->rte->size, sizeof *w->all);
    enum fc_status status =
        fc_pairs_rank_open(run, w->plan.pair.max_bytes, &w->rank, err);
    if (status == FC_OK && !w->all)
        status = fc_fail(err, FC_NOMEM, "out of memory for %d ranks", run->rte->size);
    return fc_rte_agree(run->rte, "buffers", status, err);
}

static void close_walk(struct walk *w)
{
    fc_pairs_rank_close(&w->rank);
    free(w->all);
}

static enum fc_status measure(struct walk *w, uint32_t round, int64_t peer,
                              struct entry *out, struct fc_error *err)
{
    struct fc_pair_plan plan = w->plan.pair;
    struct fc_pair_result result;
    struct fc_path path;
    plan.round = round;
    plan.data_seed = fc_rng_at(w->bench->run->seed, round);
    fc_pairs_rank_measure(&w->rank, &plan, peer, &result, &path);
    *out = (struct entry){.peer = w->rank.rank_of[peer],
                          .GBps = result.bw_GBps,
                          .latency_s = result.latency_s,
                          .bytes = result.bytes,
                          .wrong = result.wrong};
    snprintf(out->path, sizeof out->path, "%s", path.name);
    *err = result.why;
    return result.status;
}

static void show_pair(struct walk *w, uint32_t round, int a)
{
    const struct fc_bench *bench = w->bench;
    const struct entry *of_a = &w->all[a], *of_b = &w->all[of_a->peer];
    const struct fc_bench_pair pair = {
        .round = round,
        .a = a,
        .b = of_a->peer,
        .bytes = of_a->bytes > of_b->bytes ? of_a->bytes : of_b->bytes,
        .a_to_b_GBps = of_a->GBps,
        .b_to_a_GBps = of_b->GBps,
        .latency_s = isfinite(of_a->latency_s) ? of_a->latency_s : of_b->latency_s,
        .wrong = (int64_t)(of_a->wrong + of_b->wrong),
        .path = of_a->path};
    w->wrong += pair.wrong;
    w->GBps += pair.a_to_b_GBps + pair.b_to_a_GBps;
    w->ways += 2;
    if (bench->object)
        json_array_append_new(bench->rows, fc_bench_pair_json(&pair));
    else if (bench->out)
        fc_bench_pairs_row(bench->out, &pair);
}

/* Collective: yes. */
static enum fc_status walk_round(struct walk *w, uint32_t i, struct fc_error *err)
{
    struct fc_rte *rte = w->bench->run->rte;
    uint32_t round = fc_pairs_plan_round(&w->plan, i);
    int64_t me = w->rank.me;
    int64_t peer =
        me < 0 ? -1 : fc_schedule_partner(&w->rank.schedule, round, (uint32_t)me);
    struct entry mine = {.peer = -1};
    enum fc_status own = peer < 0 ? FC_OK : measure(w, round, peer, &mine, err);
    /* Others may hang in what failed here: said before this rank waits for them. */
    if (own != FC_OK && own != FC_WRONG)
        fc_log(FC_LOG_QUIET, "%s", err->text);
    enum fc_status status = fc_bench_agree(w->bench, own, err);
    if (status == FC_OK)
        status = fc_rte_allgather(rte, "pairs", &mine, sizeof mine, w->all, err);
    for (int r = 0; status == FC_OK && r < rte->size; r++)
        if (w->all[r].peer > r)
            show_pair(w, round, r);
    if (w->bench->out)
        fflush(w->bench->out);
    return status;
}

static void finish(const struct walk *w)
{
    const struct fc_bench *bench = w->bench;
    double mean = w->ways ? w->GBps / w->ways : 0.0;
    if (bench->object) {
        json_object_set_new(bench->object, "out_of_bounds", json_integer(w->wrong));
        json_object_set_new(bench->object, "avg_bandwidth_GBps", json_real(mean));
    } else if (bench->out) {
        fc_bench_table_wrong(bench->out, w->wrong);
        fprintf(bench->out, "# Avg bandwidth        : %g\n#\n", mean);
    }
}

enum fc_status fc_bench_pairs(struct fc_bench *bench, struct fc_error *err)
{
    struct walk w = {.bench = bench};
    const struct fc_rte *rte = bench->run->rte;
    if (rte->size < 2)
        return fc_fail(err, FC_USAGE, "WHAT: 'pairs' needs two ranks or more");
    enum fc_status status = open_walk(&w, err);
    if (status == FC_OK && bench->out)
        fprintf(bench->out,
                "# fabricheck bench pairs, %d ranks on %d node%s, %lu of %lu rounds\n"
                "# all pairs of a round at the same time\n#\n",
                rte->size, rte->nodes, rte->nodes == 1 ? "" : "s",
                (unsigned long)w.plan.rounds, (unsigned long)w.plan.all);
    if (status == FC_OK)
        status = fc_bench_devices(bench, w.rank.me >= 0 ? 0 : -1, err);
    if (status == FC_OK && bench->out)
        fc_bench_pairs_head(bench->out);
    for (uint32_t i = 0; i < w.plan.rounds && status == FC_OK; i++)
        status = walk_round(&w, i, err);
    if (status == FC_OK)
        finish(&w);
    close_walk(&w);
    return status;
}
