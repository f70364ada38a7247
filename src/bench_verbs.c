// SPDX-License-Identifier: BSD-3-Clause
/* RDMA between two ranks: the first ranks of the first two nodes or, on one node, ranks
 * 0 and 1; the first of them initiates. Each rank's worker makes the verbs calls; the
 * ranks exchange what the lane's ends must know of each other over the run's runtime.
 */
#include "bench_verbs.h"
#include "bench_table.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/rng.h"
#include "core/units.h"
#include "core/worker.h"
#include "rdma/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LANE = 0, SIDES = 2, SIZES_MAX = 32, ALL_FROM = 2, ALL_TO = 8 << 20 };

/* What a side tells of its end. */
struct end {
    struct fc_endpoint endpoint;
    struct fc_lane_answer answer;
    int32_t mtu;
};

/* What a side knows of one measurement. */
struct entry {
    double peak_GBps, average_GBps, messages_per_s, seconds;
    uint64_t wrong;
    struct fc_lane_latency latency;
};

struct verbs_bench {
    struct fc_bench *bench;
    const struct fc_bench_verbs_options *options;
    struct fc_bench_verbs_kind kind;
    struct fc_transfer transfer;
    struct fc_rdma_ports *ports;
    struct fc_lane_plan plan;
    int rank_of[SIDES];
    int side;              /* 0, 1; -1: this rank only looks on */
    struct end *ends;      /* [ranks] */
    struct entry *entries; /* [ranks] */
    uint64_t sizes[SIZES_MAX];
    size_t count;
    int64_t wrong;
};

/* ---- what to measure ---- */

static enum fc_status set_sides(struct verbs_bench *v, struct fc_error *err)
{
    const struct fc_rte *rte = v->bench->run->rte;
    if (rte->size < SIDES)
        return fc_fail(err, FC_USAGE, "WHAT: '%s' needs two ranks (mpirun -np 2)",
                       v->bench->what->name);
    v->rank_of[1] = 1;
    for (int r = 0; rte->nodes > 1 && r < rte->size; r++)
        if (rte->place[r].node == 1 && rte->place[r].local_rank == 0)
            v->rank_of[1] = r;
    v->side = rte->rank == v->rank_of[0] ? 0 : rte->rank == v->rank_of[1] ? 1 : -1;
    return FC_OK;
}

static void set_sizes(struct verbs_bench *v)
{
    const struct fc_bench_verbs_options *o = v->options;
    uint64_t one = o->bytes ? o->bytes : v->kind.latency ? 2 : (uint64_t)64 << 10;
    if (!o->all)
        v->sizes[v->count++] = one;
    for (uint64_t size = ALL_FROM; o->all && size <= ALL_TO; size *= 2)
        v->sizes[v->count++] = size;
}

/* ---- which port ---- */

/* The port that -d and -i name, or the rail that NCCL would use; on one node the second
 * side takes the second rail, where there is one. */
static enum fc_status find_port(const struct verbs_bench *v,
                                const struct fc_rdma_choice *choice, size_t *out,
                                struct fc_error *err)
{
    const struct fc_words *devices = &v->options->devices;
    char name[128];
    if (devices->count == 0) {
        int rail = v->bench->run->rte->nodes == 1 ? v->side : 0;
        const struct fc_rdma_chosen *chosen = fc_rdma_rail(choice, rail);
        chosen = chosen ? chosen : fc_rdma_rail(choice, 0);
        if (!chosen)
            return fc_fail(err, FC_UNSUPPORTED,
                           "no RDMA port here can carry training traffic (%.300s)",
                           choice->count ? choice->chosen[0].reason : "none found");
        *out = chosen->port;
        return FC_OK;
    }
    const char *device = devices->word[devices->count > 1 ? v->side : 0];
    if (v->options->port)
        snprintf(name, sizeof name, "%.60s:%d", device, (int)v->options->port);
    else
        snprintf(name, sizeof name, "%.90s", device);
    return fc_rdma_port_named(v->ports, "-d", name, out, err);
}

static int or_else(int64_t wanted, int chosen)
{
    return wanted >= 0 ? (int)wanted : chosen;
}

static void set_plan(struct verbs_bench *v, const struct fc_rdma_port *port,
                     const struct fc_rdma_chosen *chosen)
{
    const struct fc_bench_verbs_options *o = v->options;
    struct fc_lane_plan *plan = &v->plan;
    fc_lane_plan_set(plan, port, chosen);
    plan->gid_index = or_else(o->gid_index, plan->gid_index);
    plan->pkey_index = or_else(o->pkey_index, plan->pkey_index);
    plan->sl = or_else(o->sl, plan->sl);
    plan->traffic_class = or_else(o->tclass, plan->traffic_class);
    plan->timeout = o->timeout ? (int)o->timeout : plan->timeout;
    plan->retries = or_else(o->retries, plan->retries);
    plan->mtu = (int)o->mtu;
    plan->rdma_cm = o->rdma_cm;
    plan->qps = (int)o->qps;
    plan->depth = (int)o->depth;
    plan->inline_bytes = (int)o->inline_bytes;
    plan->max_bytes = v->sizes[v->count - 1];
}

static enum fc_status choose(struct verbs_bench *v, struct fc_error *err)
{
    const struct fc_nccl_source source = {.env = (const char *const *)environ,
                                          .root = ""};
    struct fc_nccl_conf *conf = NULL;
    struct fc_rdma_choice choice = {.count = 0};
    struct fc_rdma_wish wish;
    size_t port = 0;
    if (v->ports->ports == 0)
        return fc_fail(err, FC_UNSUPPORTED, "%s", v->ports->none);
    enum fc_status status = fc_nccl_conf_open(&source, &conf, err);
    if (status != FC_OK)
        return status;
    fc_rdma_wish_read(conf, &wish);
    fc_nccl_conf_close(conf);
    status = fc_rdma_choose(v->ports, NULL, &wish, &choice, err);
    if (status == FC_OK)
        status = find_port(v, &choice, &port, err);
    if (status == FC_OK)
        set_plan(v, &v->ports->port[port], &choice.chosen[port]);
    fc_rdma_choice_fini(&choice);
    return status;
}

/* ---- the lane ---- */

static enum fc_status open_side(struct verbs_bench *v, struct end *mine,
                                struct fc_error *err)
{
    struct fc_run *run = v->bench->run;
    v->transfer.watchdog = run->watchdog;
    enum fc_status status =
        fc_worker_open(run->spawner, NULL, &v->transfer.worker, err);
    if (status == FC_OK)
        status = fc_transfer_ports(&v->transfer, &v->ports, err);
    if (status == FC_OK)
        status = choose(v, err);
    if (status == FC_OK)
        status = fc_transfer_open(&v->transfer, LANE, &v->plan, &mine->endpoint,
                                  &mine->answer, err);
    return status;
}

static enum fc_status connect_side(struct verbs_bench *v, struct end *mine,
                                   struct fc_error *err)
{
    struct fc_lane_link link;
    const struct end *peer = &v->ends[v->rank_of[1 - v->side]];
    enum fc_status status =
        fc_transfer_connect(&v->transfer, LANE, &peer->endpoint, &link, err);
    if (status != FC_OK)
        return status;
    mine->mtu = link.mtu;
    if (v->side == 0 && link.note[0])
        fc_log(FC_LOG_QUIET, "%s", link.note);
    return FC_OK;
}

/* Collective: yes. */
static enum fc_status open_lane(struct verbs_bench *v, struct fc_error *err)
{
    struct fc_rte *rte = v->bench->run->rte;
    struct end mine = {.mtu = 0};
    v->ends = calloc((size_t)rte->size, sizeof *v->ends);
    v->entries = calloc((size_t)rte->size, sizeof *v->entries);
    enum fc_status status =
        v->ends && v->entries
            ? FC_OK
            : fc_fail(err, FC_NOMEM, "out of memory for %d ranks", rte->size);
    if (status == FC_OK && v->side >= 0)
        status = open_side(v, &mine, err);
    status = fc_rte_agree(rte, "RDMA lanes", status, err);
    if (status == FC_OK)
        status = fc_rte_allgather(rte, "endpoints", &mine, sizeof mine, v->ends, err);
    if (status != FC_OK)
        return status;
    if (v->side >= 0)
        status = connect_side(v, &mine, err);
    status = fc_rte_agree(rte, "RDMA connections", status, err);
    if (status == FC_OK)
        status = fc_rte_allgather(rte, "lanes", &mine, sizeof mine, v->ends, err);
    return status;
}

static void close_lane(struct verbs_bench *v)
{
    struct fc_error why;
    if (v->transfer.worker && fc_worker_alive(v->transfer.worker)) {
        enum fc_status status = fc_transfer_reset(&v->transfer, &why);
        (void)status; /* the worker ends next, and everything with it */
    }
    if (v->transfer.worker)
        fc_worker_close(v->transfer.worker);
    fc_rdma_ports_close(v->ports);
    free(v->ends);
    free(v->entries);
}

/* ---- measuring ---- */

static enum fc_status measure_side(struct verbs_bench *v, size_t i, struct entry *out,
                                   struct fc_error *err)
{
    const struct fc_bench_verbs_options *o = v->options;
    const struct fc_transfer_plan plan = {.op = v->kind.op,
                                          .latency = v->kind.latency,
                                          .bytes = v->sizes[i],
                                          .box_ns = o->duration_ns,
                                          .iterations = (uint32_t)o->iters,
                                          .bursts = 1,
                                          .data_seed = v->bench->run->seed,
                                          .round = (uint32_t)i + 1};
    const struct fc_lane_task task = {.lane = LANE,
                                      .role = o->bidirectional ? FC_LANE_BOTH
                                              : v->side == 0   ? FC_LANE_INITIATES
                                                               : FC_LANE_SERVES};
    struct fc_lane_result result;
    enum fc_status status =
        fc_transfer_measure(&v->transfer, &plan, &task, 1, &result, err);
    if (status != FC_OK)
        return status;
    if (result.status == FC_OK || result.status == FC_WRONG)
        *out = (struct entry){.peak_GBps = result.peak_GBps,
                              .average_GBps = result.average_GBps,
                              .messages_per_s = result.messages_per_s,
                              .seconds = result.seconds,
                              .wrong = result.wrong,
                              .latency = result.latency};
    if (result.status != FC_OK)
        return fc_fail(err, result.status, "%s", result.reason);
    if (result.reopen)
        return fc_fail(err, FC_TIMEOUT,
                       "%s: the rate fell so far that the measurement was cut short",
                       v->bench->what->name);
    return FC_OK;
}

static void add_side(struct fc_bench_verbs_row *row, const struct entry *entry)
{
    row->wrong += (int64_t)entry->wrong;
    if (!isfinite(entry->average_GBps))
        return;
    row->peak_GBps += entry->peak_GBps;
    row->average_GBps += entry->average_GBps;
    row->messages_per_s += entry->messages_per_s;
    row->iterations += (uint64_t)llround(entry->messages_per_s * entry->seconds);
}

static void show_row(struct verbs_bench *v, size_t i)
{
    const struct fc_bench *bench = v->bench;
    struct fc_bench_verbs_row row = {.bytes = v->sizes[i]};
    for (int s = 0; s < SIDES; s++)
        add_side(&row, &v->entries[v->rank_of[s]]);
    row.latency = v->entries[v->rank_of[0]].latency;
    if (v->kind.latency)
        row.iterations = row.latency.n;
    v->wrong += row.wrong;
    if (bench->object)
        json_array_append_new(bench->rows, fc_bench_verbs_json(&row, v->kind.latency));
    else if (bench->out)
        fc_bench_verbs_row(bench->out, &row, v->kind.latency, v->options->gbits);
    if (bench->out)
        fflush(bench->out);
}

/* One size. Collective: yes. */
static enum fc_status measure(struct verbs_bench *v, size_t i, struct fc_error *err)
{
    struct fc_rte *rte = v->bench->run->rte;
    struct entry mine = {.average_GBps = NAN};
    enum fc_status own = v->side >= 0 ? measure_side(v, i, &mine, err) : FC_OK;
    enum fc_status status = fc_bench_agree(v->bench, own, err);
    if (status == FC_OK)
        status = fc_rte_allgather(rte, "results", &mine, sizeof mine, v->entries, err);
    if (status == FC_OK)
        show_row(v, i);
    return status;
}

/* ---- printing ---- */

static void show_side(const struct verbs_bench *v, int side)
{
    const struct fc_bench *bench = v->bench;
    const struct fc_rte *rte = bench->run->rte;
    int rank = v->rank_of[side];
    const struct fc_lane_answer *a = &v->ends[rank].answer;
    const char *node = rte->node_name[rte->place[rank].node];
    if (bench->object)
        json_array_append_new(json_object_get(bench->object, "sides"),
                              json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:b}",
                                        "rank", rank, "node", node, "port", a->name,
                                        "transport", a->transport, "memory", a->memory,
                                        "registered_by", a->registered_by, "numa",
                                        a->numa, "inline", a->inline_bytes,
                                        "relaxed_ordering", a->relaxed_ordering));
    else
        fprintf(
            bench->out,
            "#  Rank %2d on %10s port %s [%s] %s memory by %s, NUMA node %d, inline "
            "%d\n",
            rank, node, a->name, a->transport, a->memory, a->registered_by, a->numa,
            a->inline_bytes);
}

static void show_head(const struct verbs_bench *v)
{
    const struct fc_bench *bench = v->bench;
    int mtu = v->ends[v->rank_of[0]].mtu;
    if (bench->object) {
        json_object_set_new(bench->object, "sides", json_array());
        json_object_set_new(bench->object, "mtu", json_integer(mtu));
        json_object_set_new(bench->object, "qps", json_integer(v->options->qps));
        json_object_set_new(bench->object, "depth", json_integer(v->options->depth));
        json_object_set_new(bench->object, "bidirectional",
                            json_boolean(v->options->bidirectional));
    }
    if (bench->out)
        fprintf(bench->out,
                "# fabricheck bench %s, rank %d initiates%s\n# MTU %d, %d queue pair%s "
                "of depth %d\n",
                bench->what->name, v->rank_of[0],
                v->options->bidirectional ? ", and so does the other" : "", mtu,
                (int)v->options->qps, v->options->qps == 1 ? "" : "s",
                (int)v->options->depth);
    for (int s = 0; s < SIDES && (bench->out || bench->object); s++)
        show_side(v, s);
    if (bench->out)
        fc_bench_verbs_head(bench->out, v->kind.latency, v->options->gbits);
}

static void show_foot(const struct verbs_bench *v)
{
    if (v->bench->object)
        json_object_set_new(v->bench->object, "out_of_bounds", json_integer(v->wrong));
    else if (v->bench->out)
        fc_bench_table_wrong(v->bench->out, v->wrong);
}

enum fc_status fc_bench_verbs(struct fc_bench *bench, struct fc_error *err)
{
    struct verbs_bench v = {.bench = bench, .options = bench->verbs};
    (void)fc_bench_verbs_kind(bench->what->name, &v.kind);
    enum fc_status status = set_sides(&v, err);
    set_sizes(&v);
    if (status == FC_OK)
        status = open_lane(&v, err);
    if (status == FC_OK)
        show_head(&v);
    for (size_t i = 0; i < v.count && status == FC_OK; i++)
        status = measure(&v, i, err);
    if (status == FC_OK)
        show_foot(&v);
    close_lane(&v);
    return status;
}
