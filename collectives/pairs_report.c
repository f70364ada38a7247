// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/pairs_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of more values than these the first ones do: any prefix of the schedule is a random
 * sample of all pairs. */
#define VALUES_MAX ((size_t)1 << 20)

static size_t values_room(const struct fc_pairs_report *report)
{
    size_t room =
        (size_t)report->members * (report->plan->rounds ? report->plan->rounds : 1);
    return room < VALUES_MAX ? room : VALUES_MAX;
}

enum fc_status fc_pairs_report_open(struct fc_pairs_report *report, struct fc_run *run,
                                    const struct fc_pairs_plan *plan, int attempt,
                                    uint32_t members, const int *rank_of,
                                    struct fc_error *err)
{
    *report = (struct fc_pairs_report){.run = run,
                                       .plan = plan,
                                       .attempt = attempt,
                                       .members = members,
                                       .rank_of = rank_of};
    if (run->rte->rank != 0)
        return FC_OK;
    report->entry = calloc((size_t)members * FC_PAIRS_BLOCK_MAX, sizeof *report->entry);
    report->got = calloc(members, sizeof *report->got);
    report->pair = calloc(members / 2 + 1, sizeof *report->pair);
    report->bw = calloc(values_room(report), sizeof *report->bw);
    report->latency = calloc(values_room(report), sizeof *report->latency);
    if (report->entry && report->got && report->pair && report->bw && report->latency)
        return FC_OK;
    return fc_fail(err, FC_NOMEM, "out of memory for the results of %lu members' pairs",
                   (unsigned long)members);
}

void fc_pairs_report_close(struct fc_pairs_report *report)
{
    free(report->entry);
    free(report->got);
    free(report->pair);
    free(report->bw);
    free(report->latency);
    *report = (struct fc_pairs_report){.run = NULL};
}

static enum fc_status take(void *arg, int rank, const char *data, size_t bytes,
                           struct fc_error *err)
{
    struct fc_pairs_report *report = arg;
    const struct fc_rte *rte = report->run->rte;
    size_t member = (size_t)(rte->nodes > 1 ? rte->place[rank].node : rank);
    size_t room = FC_PAIRS_BLOCK_MAX * sizeof *report->entry;
    if (bytes > room - report->got[member])
        return fc_fail(err, FC_FAILED, "rank %d tells of too many pairs", rank);
    memcpy((char *)(report->entry + member * FC_PAIRS_BLOCK_MAX) + report->got[member],
           data, bytes);
    report->got[member] += bytes;
    return FC_OK;
}

/* The other member's entry of the same round. */
static const struct fc_pair_entry *entry_of(const struct fc_pairs_report *report,
                                            size_t member, uint32_t at)
{
    return &report->entry[member * FC_PAIRS_BLOCK_MAX + at];
}

static void keep(double *values, size_t *n, size_t room, double value)
{
    if (isfinite(value) && *n < room)
        values[(*n)++] = value;
}

static double slower(double a, double b)
{
    return isfinite(a) && (a < b || !isfinite(b)) ? a : b;
}

static struct fc_matrix_pair join(const struct fc_pairs_report *report, size_t a,
                                  size_t b, uint32_t at)
{
    const struct fc_pair_entry *of_a = entry_of(report, a, at);
    const struct fc_pair_entry *of_b = entry_of(report, b, at);
    const struct fc_pair_entry *worse = of_b->status > of_a->status ? of_b : of_a;
    const struct fc_pair_entry *proof =
        strcmp(of_a->path, "unknown") == 0 && of_b->path[0] ? of_b : of_a;
    return (struct fc_matrix_pair){
        .a = report->rank_of[a],
        .b = report->rank_of[b],
        .a_to_b = of_a->bw_GBps,
        .b_to_a = of_b->bw_GBps,
        /* whichever of the two was the first member */
        .latency_s = isfinite(of_a->latency_s) ? of_a->latency_s : of_b->latency_s,
        .wrong_b = of_b->wrong,
        .wrong_a = of_a->wrong,
        .status = (enum fc_status)worse->status,
        .reason = worse->why,
        .path = proof->path,
        .path_how = proof->how,
        .limit_GBps = slower(of_a->link_GBps, of_b->link_GBps),
    };
}

static void count_pair(struct fc_pairs_report *report, struct fc_matrix *m,
                       const struct fc_pair_entry *e)
{
    if (!isfinite(e->bw_GBps))
        return;
    if (e->bytes > m->bytes)
        m->bytes = e->bytes;
    if (m->samples == 0 || e->samples < m->samples)
        m->samples = e->samples;
    if (m->bytes > report->bytes)
        report->bytes = m->bytes;
}

/* One round's line; none when all rested. */
static enum fc_status add_line(struct fc_pairs_report *report, uint32_t done,
                               uint32_t at, struct fc_error *err)
{
    struct fc_matrix m = {.probe = "pairs",
                          .attempt = report->attempt,
                          .round = fc_pairs_plan_round(report->plan, done + at),
                          .rounds = report->plan->all,
                          .seed = report->run->seed,
                          .pair = report->pair};
    size_t room = values_room(report);
    for (size_t a = 0; a < report->members; a++) {
        const struct fc_pair_entry *e = entry_of(report, a, at);
        if (e->peer <= (int64_t)a)
            continue;
        size_t b = (size_t)e->peer;
        struct fc_matrix_pair *pair = &report->pair[m.pairs++];
        *pair = join(report, a, b, at);
        count_pair(report, &m, e);
        count_pair(report, &m, entry_of(report, b, at));
        if (pair->status != FC_OK)
            continue;
        keep(report->bw, &report->bws, room, pair->a_to_b);
        keep(report->bw, &report->bws, room, pair->b_to_a);
        keep(report->latency, &report->latencies, room, pair->latency_s);
    }
    if (m.pairs > report->most_pairs)
        report->most_pairs = m.pairs;
    return m.pairs ? fc_sink_add_line(report->run->sink, fc_matrix_line(&m), err)
                   : FC_OK;
}

enum fc_status fc_pairs_report_block(struct fc_pairs_report *report, uint32_t done,
                                     uint32_t n, const struct fc_pair_entry *mine,
                                     enum fc_status noted, struct fc_error *err)
{
    struct fc_run *run = report->run;
    char name[64];
    snprintf(name, sizeof name, "pairs round %lu of %lu", (unsigned long)done + n,
             (unsigned long)report->plan->rounds);
    if (report->entry) {
        memset(report->got, 0, report->members * sizeof *report->got);
        for (size_t i = 0; i < (size_t)report->members * FC_PAIRS_BLOCK_MAX; i++)
            report->entry[i].peer = -1;
    }
    struct fc_error why = *err;
    enum fc_status status = fc_rte_gather(
        run->rte, name, mine, mine ? n * sizeof *mine : 0, take, report, err);
    for (uint32_t at = 0; report->entry && at < n && status == FC_OK; at++)
        status = add_line(report, done, at, err);
    if (status == FC_OK && noted != FC_OK) {
        status = noted;
        *err = why;
    }
    status = fc_rte_agree(run->rte, name, status, err);
    return status == FC_OK ? fc_phase_commit(run, name, err) : status;
}

static enum fc_status add_summary(const struct fc_pairs_report *report,
                                  const char *metric, const double *values, size_t n,
                                  int64_t bytes, struct fc_error *err)
{
    const struct fc_run *run = report->run;
    struct fc_record r = fc_record_new(metric);
    r.subject = (struct fc_subject){.kind = "fabric", .rank = -1, .rail = -1};
    if (run->rte->nodes == 1) {
        r.subject = fc_run_subject(run);
        r.subject.rank = -1;
    }
    r.params.op = "sendrecv";
    r.params.dtype = "fp64";
    r.params.n = report->members;
    r.params.algorithm = run->world->ops->algorithm(run->world, FC_COLL_SENDRECV);
    r.params.memory = "host";
    r.params.variant = "all pairs";
    r.params.concurrency = (int)report->most_pairs;
    r.params.attempt = report->attempt;
    r.bytes = bytes;
    r.wrong = 0;
    if (!fc_summarize(values, n, &r.value, NULL))
        return fc_fail(err, FC_NOMEM, "out of memory for a summary");
    if (n == 0) {
        r.wrong = -1;
        r.status = FC_FAILED;
        r.reason = "no pair was measured and right; see the pairs' records";
    }
    return fc_sink_add(run->sink, &r, err);
}

enum fc_status fc_pairs_report_summary(struct fc_pairs_report *report,
                                       struct fc_error *err)
{
    if (!report->entry)
        return FC_OK;
    enum fc_status status = add_summary(report, "pair.bw", report->bw, report->bws,
                                        (int64_t)report->bytes, err);
    return status == FC_OK ? add_summary(report, "pair.latency", report->latency,
                                         report->latencies, 8, err)
                           : status;
}
