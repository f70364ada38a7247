// SPDX-License-Identifier: BSD-3-Clause
/* A sweep over sizes of one collective, out of place and in place. A row's time is the
 * median of its samples, and a sample is as slow as its slowest rank; where each node
 * measures by itself (--comm node) the row is the slowest node's. */
#include "bench.h"
#include "bench_table.h"
#include "collectives/path.h"
#include "collectives/sweep.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINT_NS FC_NS_PER_S

struct sweep {
    struct fc_bench *bench;
    struct fc_group group;
    int n; /* ranks of the largest group */
    struct fc_point point;
    struct fc_sweep_buffers buffers;
    struct fc_path_watch *watch;
    struct fc_point_result result;
    struct fc_path path; /* of the last row, as rank 0's node saw it */
    struct fc_bench_totals totals;
};

static enum fc_status choose_scope(struct sweep *s, struct fc_error *err)
{
    const struct fc_run *run = s->bench->run;
    const char *name = s->bench->options->comm;
    s->n = run->rte->size;
    if (strcmp(name, "node") == 0) {
        s->group = (struct fc_group){.comm = run->node, .scope = FC_SCOPE_NODE};
        s->n = 0;
        for (int i = 0; i < run->rte->nodes; i++)
            if (run->rte->node_size[i] > s->n)
                s->n = run->rte->node_size[i];
    } else if (strcmp(name, "leaders") == 0) {
        s->group = (struct fc_group){.comm = run->leaders, .scope = FC_SCOPE_LEADERS};
        s->n = run->rte->nodes;
        if (s->n < 2)
            return fc_fail(err, FC_USAGE,
                           "--comm: 'leaders' needs two nodes or more, this run has %d",
                           s->n);
    } else {
        s->group = (struct fc_group){.comm = run->world, .scope = FC_SCOPE_WORLD};
    }
    return FC_OK;
}

/* Every rank comes to the same answer but for --comm node, where it is agreed on. */
static enum fc_status choose_algorithm(struct sweep *s, struct fc_error *err)
{
    const struct fc_run *run = s->bench->run;
    if (strcmp(s->bench->options->algorithm, "node") != 0)
        return FC_OK;
    if (s->group.scope == FC_SCOPE_LEADERS)
        return fc_fail(err, FC_USAGE,
                       "--algorithm: 'node' means nothing to --comm leaders, of which "
                       "each node has one");
    /* with one node the world is the node */
    bool node = s->group.scope == FC_SCOPE_NODE && run->rte->nodes > 1;
    struct fc_comm *comm = node ? run->node_aware : run->world_aware;
    if (!comm)
        return fc_fail(err, FC_UNSUPPORTED,
                       "--algorithm: 'node' has nothing to use: no memory is shared "
                       "between ranks here");
    if (!comm->ops->algorithm(comm, s->point.op))
        return fc_fail(err, FC_USAGE, "--algorithm: 'node' has no %s among these ranks",
                       s->bench->what->name);
    s->group.comm = comm;
    return FC_OK;
}

static enum fc_status check_root(const struct sweep *s, struct fc_error *err)
{
    int64_t least = s->n;
    if (s->group.scope == FC_SCOPE_NODE)
        least = s->group.comm->size;
    if (s->point.root < least)
        return FC_OK;
    return fc_fail(err, FC_USAGE, "-r: %d is no rank (0 to %lld)", s->point.root,
                   (long long)least - 1);
}

static enum fc_status choose(struct sweep *s, struct fc_error *err)
{
    const struct fc_bench_options *o = s->bench->options;
    s->point = (struct fc_point){.op = fc_coll_find(s->bench->what->name),
                                 .dtype = o->type,
                                 .redop = fc_redop_find(o->redop),
                                 .root = (int)o->root,
                                 .unchecked = strcmp(o->check, "0") == 0,
                                 .warm_up = (int)o->warmup,
                                 .budget_ns = POINT_NS};
    enum fc_status status = choose_scope(s, err);
    if (status == FC_OK)
        status = choose_algorithm(s, err);
    if (status == FC_OK)
        status = check_root(s, err);
    return fc_rte_agree(s->bench->run->rte, "options", status, err);
}

/* The size after `bytes`, 0 after the last: nccl-tests' own loop. */
static uint64_t next_size(const struct sweep *s, uint64_t bytes)
{
    double next = (double)bytes * s->bench->options->factor;
    if (next > (double)s->bench->options->max_bytes)
        return 0;
    return (uint64_t)next > bytes ? (uint64_t)next : bytes + 1;
}

static uint64_t message_bytes(const struct sweep *s, uint64_t bytes)
{
    struct fc_point point = s->point;
    point.count = fc_point_count(point.op, point.dtype, bytes, s->n);
    return fc_point_bytes(&point, s->n);
}

static enum fc_status open_buffers(struct sweep *s, struct fc_error *err)
{
    uint64_t bytes = message_bytes(s, s->bench->options->max_bytes);
    enum fc_status status = fc_bench_room(s->bench, bytes, err);
    if (status == FC_OK)
        status = fc_sweep_buffers_open(s->bench->run, (size_t)bytes, &s->buffers, err);
    return status;
}

/* Collective: yes. */
static enum fc_status open_sweep(struct sweep *s, struct fc_error *err)
{
    struct fc_run *run = s->bench->run;
    size_t most = (size_t)s->bench->options->iters;
    fc_watchdog_push(run->watchdog, "make the buffers", FC_WAIT_LOCAL,
                     run->settings->work_ns);
    enum fc_status status = open_buffers(s, err);
    if (status == FC_OK)
        status = fc_sampler_open(&s->result.time_s,
                                 most < FC_SAMPLES_MIN ? most : FC_SAMPLES_MIN, most,
                                 FC_SAMPLES_TOLERANCE, 0, err);
    if (status == FC_OK)
        status = fc_path_open("", &s->watch, err);
    fc_watchdog_pop(run->watchdog);
    return fc_rte_agree(run->rte, "buffers", status, err);
}

static void close_sweep(struct sweep *s)
{
    fc_path_close(s->watch);
    fc_sampler_close(&s->result.time_s);
    fc_sweep_buffers_close(s->bench->run, &s->buffers);
}

/* The first rank of each group speaks for it. */
static bool speaks(const struct sweep *s)
{
    return s->group.comm && s->group.comm->rank == 0;
}

struct answer {
    double time_s; /* 0: this rank speaks for nobody */
    int64_t wrong;
};

/* Joins the groups: the slowest one's time, all wrong elements. Collective: yes. */
static enum fc_status join(struct sweep *s, struct answer *out, struct fc_error *err)
{
    struct fc_rte *rte = s->bench->run->rte;
    struct fc_summary time;
    struct answer mine = {.time_s = 0.0};
    struct answer *all = calloc((size_t)rte->size, sizeof *all);
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks' times", rte->size);
    fc_sampler_summary(&s->result.time_s, &time);
    /* Of groups of several sizes the row speaks of the largest. */
    if (speaks(s) && time.n)
        mine =
            (struct answer){.time_s = s->group.comm->size == s->n ? time.median : 0.0,
                            .wrong = s->result.wrong};
    enum fc_status status =
        fc_rte_allgather(rte, "times", &mine, sizeof mine, all, err);
    *out = (struct answer){.wrong = s->point.unchecked ? -1 : 0};
    for (int r = 0; status == FC_OK && r < rte->size; r++) {
        if (all[r].time_s > out->time_s)
            out->time_s = all[r].time_s;
        if (!s->point.unchecked)
            out->wrong += all[r].wrong;
    }
    free(all);
    if (status == FC_OK && !(out->time_s > 0.0))
        return fc_fail(err, FC_FAILED, "the clock stood still during %s",
                       s->bench->what->name);
    return status;
}

/* Others may hang in what failed here: said before this rank waits for them. */
static void tell_failed(void *arg)
{
    const struct sweep *s = arg;
    fc_log(FC_LOG_QUIET, "%s", s->result.own_error.text);
}

/* One side of a row. Collective: yes. */
static enum fc_status measure_side(struct sweep *s, struct fc_bench_row *row, int place,
                                   struct fc_error *err)
{
    struct answer answer = {.time_s = 0.0};
    s->point.in_place = place == FC_IN_PLACE;
    s->point.failed = tell_failed;
    s->point.arg = s;
    enum fc_status status = fc_sweep_point(s->bench->run, &s->group, &s->point,
                                           &s->buffers, s->watch, &s->result, err);
    if (status != FC_OK)
        return status;
    *err = s->result.own_error;
    status = fc_bench_agree(s->bench, s->result.own_status, err);
    if (status == FC_OK)
        status = join(s, &answer, err);
    if (status == FC_OK)
        fc_bench_row_set(row, place, s->n, answer.time_s, answer.wrong);
    return status;
}

static void show_row(struct sweep *s, const struct fc_bench_row *row)
{
    fc_bench_totals_add(&s->totals, row);
    s->path = s->result.own_path;
    if (s->bench->object) {
        json_t *object = fc_bench_row_json(row);
        json_object_set_new(
            object, "path",
            json_pack("{s:s, s:s}", "name", s->path.name, "how", s->path.how));
        json_array_append_new(s->bench->rows, object);
    } else if (s->bench->out) {
        fc_bench_table_row(s->bench->out, row);
        fflush(s->bench->out);
    }
}

static enum fc_status measure_rows(struct sweep *s, struct fc_error *err)
{
    const struct fc_bench_options *o = s->bench->options;
    enum fc_status status = FC_OK;
    for (uint64_t b = o->min_bytes; b && status == FC_OK; b = next_size(s, b)) {
        size_t count = fc_point_count(s->point.op, s->point.dtype, b, s->n);
        if (count == s->point.count) /* sizes that are no whole number of blocks */
            continue;
        s->point.count = count;
        struct fc_bench_row row = {.op = s->point.op,
                                   .dtype = s->point.dtype,
                                   .redop = s->point.redop,
                                   .root = s->point.root,
                                   .bytes = fc_point_bytes(&s->point, s->n),
                                   .count = count};
        for (int place = 0; place < FC_PLACES && status == FC_OK; place++)
            status = measure_side(s, &row, place, err);
        if (status == FC_OK)
            show_row(s, &row);
    }
    return status;
}

static void print_head(const struct sweep *s)
{
    const struct fc_bench_options *o = s->bench->options;
    const struct fc_rte *rte = s->bench->run->rte;
    if (!s->bench->out)
        return;
    fprintf(s->bench->out,
            "# fabricheck bench %s, %d rank%s on %d node%s, algorithm %s, comm %s\n",
            s->bench->what->name, rte->size, rte->size == 1 ? "" : "s", rte->nodes,
            rte->nodes == 1 ? "" : "s", o->algorithm, o->comm);
    fprintf(s->bench->out,
            "# nThread 1 nGpus 0 minBytes %llu maxBytes %llu step: %g(factor) warmup "
            "iters: %lld iters: %lld agg iters: 1 validation: %s graph: 0\n",
            (unsigned long long)o->min_bytes, (unsigned long long)o->max_bytes,
            o->factor, (long long)o->warmup, (long long)o->iters, o->check);
    fprintf(s->bench->out,
            "# time: median of the samples, each as slow as its slowest rank%s\n#\n",
            s->group.scope == FC_SCOPE_NODE ? "; of the slowest node" : "");
}

static void finish(const struct sweep *s)
{
    if (s->bench->object) {
        json_object_set_new(s->bench->object, "out_of_bounds",
                            json_integer(s->totals.wrong));
        json_object_set_new(s->bench->object, "avg_busbw_GBps",
                            json_real(fc_bench_totals_mean(&s->totals)));
    } else if (s->bench->out) {
        fprintf(s->bench->out, "# Path of the last row : %s (%s)\n", s->path.name,
                s->path.how);
        fc_bench_table_foot(s->bench->out, &s->totals);
    }
}

static void note_options(const struct sweep *s)
{
    const struct fc_bench_options *o = s->bench->options;
    if (s->bench->object)
        json_object_set_new(s->bench->object, "algorithm", json_string(o->algorithm));
    if (s->bench->object)
        json_object_set_new(s->bench->object, "comm", json_string(o->comm));
}

enum fc_status fc_bench_collective(struct fc_bench *bench, struct fc_error *err)
{
    struct sweep s = {.bench = bench};
    enum fc_status status = choose(&s, err);
    if (status != FC_OK)
        return status;
    int group = s.group.scope == FC_SCOPE_NODE ? bench->run->rte->node : 0;
    status = open_sweep(&s, err);
    if (status == FC_OK) {
        print_head(&s);
        note_options(&s);
        status = fc_bench_devices(bench, s.group.comm ? group : -1, err);
    }
    if (status == FC_OK && bench->out)
        fc_bench_table_head(bench->out);
    if (status == FC_OK)
        status = measure_rows(&s, err);
    if (status == FC_OK)
        finish(&s);
    close_sweep(&s);
    return status;
}
