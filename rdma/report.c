// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of more values than these the first ones do: any prefix of the schedule is a random
 * sample of all pairs. */
#define VALUES_MAX ((size_t)1 << 20)

static const struct {
    const char *bw, *latency;
} metrics[] = {
    [FC_RDMA_WRITE] = {"rdma.write_bw", "rdma.write_lat"},
    [FC_RDMA_READ] = {"rdma.read_bw", "rdma.read_lat"},
    [FC_RDMA_SEND] = {"rdma.send_bw", "rdma.send_lat"},
};

enum fc_status fc_rdma_report_open(const struct fc_rdma_seats *seats,
                                   const struct fc_rdma_effort *effort, int attempt,
                                   struct fc_rdma_report *out, struct fc_error *err)
{
    const struct fc_rte *rte = seats->run->rte;
    size_t size = (size_t)rte->size, all = size * (size_t)seats->slots;
    *out =
        (struct fc_rdma_report){.seats = seats, .effort = effort, .attempt = attempt};
    if (rte->rank != 0)
        return FC_OK;
    out->told = calloc(all, sizeof *out->told);
    out->sizes = effort->sizes ? calloc(all, sizeof *out->sizes) : NULL;
    out->got = calloc(size, sizeof *out->got);
    out->pair = calloc((size_t)rte->nodes, sizeof *out->pair);
    if (out->told && out->got && out->pair && (out->sizes || !effort->sizes))
        return FC_OK;
    return fc_fail(err, FC_NOMEM, "out of memory for the results of %zu seats", all);
}

void fc_rdma_report_close(struct fc_rdma_report *report)
{
    for (int op = 0; op < FC_RDMA_OPS; op++) {
        free(report->bw[op].x);
        free(report->latency[op].x);
    }
    free(report->together.x);
    free(report->told);
    free(report->sizes);
    free(report->got);
    free(report->pair);
    memset(report, 0, sizeof *report);
}

/* --- gathering --- */

struct taking {
    struct fc_rdma_report *report;
    char *to;
    size_t each; /* bytes of a rank */
};

static enum fc_status take(void *arg, int rank, const char *data, size_t bytes,
                           struct fc_error *err)
{
    struct taking *t = arg;
    size_t *got = &t->report->got[rank];
    if (bytes > t->each - *got)
        return fc_fail(err, FC_FAILED, "rank %d tells of too many seats", rank);
    memcpy(t->to + (size_t)rank * t->each + *got, data, bytes);
    *got += bytes;
    return FC_OK;
}

static enum fc_status gather(struct fc_rdma_report *report, const char *name,
                             const void *mine, size_t one, void *to,
                             struct fc_error *err)
{
    const struct fc_rdma_seats *seats = report->seats;
    struct taking t = {report, to, (size_t)seats->slots * one};
    if (report->got)
        memset(report->got, 0, (size_t)seats->run->rte->size * sizeof *report->got);
    return fc_rte_gather(seats->run->rte, name, mine, t.each, take, &t, err);
}

static size_t place_of(const struct fc_rdma_report *report, int node, int rail)
{
    const struct fc_rdma_seats *s = report->seats;
    return (size_t)fc_rdma_seat_rank(s, node, rail) * (size_t)s->slots +
           (size_t)fc_rdma_seat_slot(s, node, rail);
}

static bool keep(struct fc_rdma_values *v, double value)
{
    if (!isfinite(value) || v->n >= VALUES_MAX)
        return true;
    if (v->n == v->room) {
        size_t room = v->room ? 2 * v->room : 256;
        double *more = realloc(v->x, room * sizeof *more);
        if (!more)
            return false;
        v->x = more;
        v->room = room;
    }
    v->x[v->n++] = value;
    return true;
}

/* --- pairs --- */

static double slower(const struct fc_rdma_seat *a, const struct fc_rdma_seat *b)
{
    if (a->limit_GBps <= 0 || b->limit_GBps <= 0)
        return (double)NAN;
    return a->limit_GBps < b->limit_GBps ? a->limit_GBps : b->limit_GBps;
}

/* Both ends' words as one; bytes of a read go to the one that asks. */
static struct fc_matrix_pair join(const struct fc_rdma_report *report, int a_node,
                                  int a_rail, enum fc_rdma_op op)
{
    const struct fc_rdma_seats *s = report->seats;
    const struct fc_rdma_entry *a = &report->told[place_of(report, a_node, a_rail)];
    const struct fc_rdma_entry *b =
        &report->told[place_of(report, a->peer_node, a->peer_rail)];
    const struct fc_rdma_entry *worse = b->status > a->status ? b : a;
    const struct fc_rdma_entry *proof =
        strcmp(a->path, "unknown") == 0 && b->path[0] ? b : a;
    bool pull = op == FC_RDMA_READ;
    double latency = isfinite(a->latency[op]) ? a->latency[op] : b->latency[op];
    return (struct fc_matrix_pair){
        .a = s->rank_of[s->begin[a_node]],
        .b = s->rank_of[s->begin[a->peer_node]],
        .a_to_b = pull ? b->bw[op] : a->bw[op],
        .b_to_a = pull ? a->bw[op] : b->bw[op],
        .latency_s = latency,
        .wrong_a = a->wrong[op],
        .wrong_b = b->wrong[op],
        .status = (enum fc_status)worse->status,
        .reason = worse->why,
        .path = proof->path,
        .path_how = proof->how,
        .limit_GBps = slower(fc_rdma_seat(s, a_node, a_rail),
                             fc_rdma_seat(s, a->peer_node, a->peer_rail)),
    };
}

static bool keep_pair(struct fc_rdma_report *report, enum fc_rdma_op op,
                      const struct fc_matrix_pair *p)
{
    report->bw[op].wrong += p->wrong_a + p->wrong_b;
    return p->status != FC_OK ||
           (keep(&report->bw[op], p->a_to_b) && keep(&report->bw[op], p->b_to_a) &&
            keep(&report->latency[op], p->latency_s));
}

static void keep_path(struct fc_rdma_report *report, const char *path)
{
    if (!report->path[0])
        snprintf(report->path, sizeof report->path, "%s", path);
    else if (strcmp(report->path, path) != 0)
        snprintf(report->path, sizeof report->path, "unknown");
}

/* True for the first member of a pair, which then stands for both. */
static bool leads(const struct fc_rdma_report *report, int node, int rail)
{
    const struct fc_rdma_entry *e = &report->told[place_of(report, node, rail)];
    return e->peer_node >= 0 && e->first;
}

static struct fc_matrix new_line(const struct fc_rdma_report *report,
                                 const struct fc_rdma_step *step, const char *metric)
{
    return (struct fc_matrix){.probe = "rdma",
                              .metric = metric,
                              .attempt = report->attempt,
                              .round = step->round,
                              .rounds = report->effort->all,
                              .seed = report->seats->run->seed,
                              .bytes = report->effort->bytes,
                              .pair = report->pair};
}

/* One operation along one rail of the first members: pairs of nodes. */
static enum fc_status add_line(struct fc_rdma_report *report,
                               const struct fc_rdma_step *step, enum fc_rdma_op op,
                               int rail, struct fc_error *err)
{
    const struct fc_rte *rte = report->seats->run->rte;
    struct fc_matrix m = new_line(report, step, metrics[op].bw);
    m.rails = report->seats->rails > 1;
    m.rail = rail;
    for (int node = 0; node < rte->nodes; node++) {
        if (!leads(report, node, rail))
            continue;
        const struct fc_rdma_entry *e = &report->told[place_of(report, node, rail)];
        struct fc_matrix_pair *p = &report->pair[m.pairs++];
        *p = join(report, node, rail, op);
        m.peer_rail = e->peer_rail;
        if (e->samples && (m.samples == 0 || e->samples < m.samples))
            m.samples = e->samples;
        if (p->status == FC_OK)
            keep_path(report, p->path);
        if (!keep_pair(report, op, p))
            return fc_fail(err, FC_NOMEM, "out of memory for values");
    }
    if (m.pairs > report->most_pairs)
        report->most_pairs = m.pairs;
    return m.pairs ? fc_sink_add_line(step->seats->run->sink, fc_matrix_line(&m), err)
                   : FC_OK;
}

/* What all rails of a pair of nodes write at once; nothing where one is not known. */
static void add_together(const struct fc_rdma_report *report, int node, int rail,
                         struct fc_matrix_pair *p)
{
    const struct fc_rdma_entry *a = &report->told[place_of(report, node, rail)];
    if (!leads(report, node, rail)) {
        p->a_to_b = p->b_to_a = (double)NAN;
        return;
    }
    const struct fc_matrix_pair one = join(report, node, rail, FC_RDMA_WRITE);
    p->a = one.a;
    p->b = one.b;
    p->a_to_b += a->together;
    p->b_to_a += report->told[place_of(report, a->peer_node, a->peer_rail)].together;
    p->limit_GBps += one.limit_GBps;
    if (!p->path || strcmp(one.path, "unknown") == 0) {
        p->path = one.path;
        p->path_how = one.path_how;
    }
}

static enum fc_status add_together_line(struct fc_rdma_report *report,
                                        const struct fc_rdma_step *step,
                                        struct fc_error *err)
{
    const struct fc_rdma_seats *s = report->seats;
    struct fc_matrix m = new_line(report, step, "rdma.all_rails_bw");
    m.samples = report->effort->bursts;
    for (int node = 0; node < s->run->rte->nodes; node++) {
        struct fc_matrix_pair p = {.latency_s = (double)NAN};
        for (int rail = 0; rail < s->rails; rail++)
            add_together(report, node, rail, &p);
        if (!isfinite(p.a_to_b) && !isfinite(p.b_to_a))
            continue;
        if (!keep(&report->together, p.a_to_b) || !keep(&report->together, p.b_to_a))
            return fc_fail(err, FC_NOMEM, "out of memory for values");
        report->pair[m.pairs++] = p;
    }
    return m.pairs ? fc_sink_add_line(s->run->sink, fc_matrix_line(&m), err) : FC_OK;
}

/* --- inside one node --- */

static enum fc_status add_link(struct fc_rdma_report *report, int rail,
                               enum fc_rdma_op op, struct fc_error *err)
{
    const struct fc_rdma_seats *s = report->seats;
    const struct fc_rdma_entry *e = &report->told[place_of(report, 0, rail)];
    const double value = e->bw[op];
    const struct fc_matrix_pair p = join(report, 0, rail, op);
    struct fc_record r = fc_record_new(metrics[op].bw);
    r.subject = fc_run_subject(s->run);
    r.subject.kind = "link";
    r.subject.rank = -1;
    r.subject.nic = fc_rdma_seat(s, 0, rail)->name;
    r.subject.peer_nic = fc_rdma_seat(s, 0, e->peer_rail)->name;
    r.subject.rail = rail;
    r.params.op = fc_rdma_op_name(op);
    r.params.memory = "host";
    r.params.attempt = report->attempt;
    r.bytes = (int64_t)report->effort->bytes;
    r.limit = p.limit_GBps;
    r.limit_basis = "the slower port's link";
    r.path = p.path;
    r.path_how = p.path_how;
    r.wrong = (int64_t)e->wrong[op];
    if (!isfinite(value))
        return FC_OK; /* its rank told why */
    if (!fc_summarize(&value, 1, &r.value, NULL) || !keep(&report->bw[op], value))
        return fc_fail(err, FC_NOMEM, "out of memory for a record");
    return fc_sink_add(s->run->sink, &r, err);
}

static enum fc_status add_lines(struct fc_rdma_report *report,
                                const struct fc_rdma_step *step, struct fc_error *err)
{
    const struct fc_rdma_seats *s = report->seats;
    enum fc_status status = FC_OK;
    for (int op = 0; op < FC_RDMA_OPS; op++)
        for (int rail = 0; status == FC_OK && rail < s->rails; rail++) {
            bool met = report->told[place_of(report, 0, rail)].peer_node >= 0;
            if (!(report->effort->ops >> op & 1u))
                continue;
            if (step->apart)
                status = add_line(report, step, (enum fc_rdma_op)op, rail, err);
            else if (met)
                status = add_link(report, rail, (enum fc_rdma_op)op, err);
        }
    if (status == FC_OK && step->apart && s->rails > 1)
        status = add_together_line(report, step, err);
    return status;
}

/* --- sums --- */

static enum fc_status add_sum(const struct fc_rdma_report *report, const char *metric,
                              const char *variant, const struct fc_rdma_values *v,
                              uint64_t bytes, struct fc_error *err)
{
    const struct fc_run *run = report->seats->run;
    struct fc_record r = fc_record_new(metric);
    r.subject = (struct fc_subject){.kind = "fabric", .rank = -1, .rail = -1};
    if (run->rte->nodes == 1) {
        r.subject = fc_run_subject(run);
        r.subject.rank = -1;
    }
    r.params.n = run->rte->nodes > 1 ? run->rte->nodes : report->seats->rails;
    r.params.memory = "host";
    r.params.variant = variant;
    r.params.concurrency = (int)report->most_pairs;
    r.params.attempt = report->attempt;
    r.bytes = (int64_t)bytes;
    r.path = report->path[0] ? report->path : NULL;
    r.path_how = report->path[0] ? "as of each pair" : NULL;
    r.wrong = 0;
    if (!fc_summarize(v->x, v->n, &r.value, NULL))
        return fc_fail(err, FC_NOMEM, "out of memory for a summary");
    if (v->n == 0) {
        r.wrong = -1;
        r.status = FC_FAILED;
        r.reason = "no pair was measured and right; see the pairs' records";
    }
    return fc_sink_add(run->sink, &r, err);
}

/* One size of the sweep over all seats; nothing where none measured it. */
static enum fc_status add_size(struct fc_rdma_report *report, enum fc_rdma_op op,
                               int size, bool latency, struct fc_error *err)
{
    const struct fc_rdma_seats *s = report->seats;
    struct fc_rdma_values v = {.x = NULL};
    enum fc_status status = FC_OK;
    for (size_t i = 0; i < (size_t)s->run->rte->size * (size_t)s->slots; i++) {
        const struct fc_rdma_size_entry *e = &report->sizes[i];
        if (report->told[i].peer_node >= 0 &&
            !keep(&v, latency ? e->latency[op][size] : e->bw[op][size]))
            status = fc_fail(err, FC_NOMEM, "out of memory for values");
    }
    if (status == FC_OK && v.n)
        status = add_sum(report, latency ? metrics[op].latency : metrics[op].bw,
                         "sizes", &v, fc_rdma_effort_size((unsigned)size), err);
    free(v.x);
    return status;
}

static enum fc_status add_sizes(struct fc_rdma_report *report, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (int op = 0; op < FC_RDMA_OPS; op++)
        for (int size = 0; status == FC_OK && size < FC_RDMA_SIZES; size++) {
            status = add_size(report, (enum fc_rdma_op)op, size, false, err);
            if (status == FC_OK)
                status = add_size(report, (enum fc_rdma_op)op, size, true, err);
        }
    return status;
}

enum fc_status fc_rdma_report_step(struct fc_rdma_report *report,
                                   const struct fc_rdma_step *step,
                                   struct fc_error *err)
{
    enum fc_status status =
        gather(report, "RDMA step", step->out, sizeof *step->out, report->told, err);
    if (status == FC_OK && report->told)
        status = add_lines(report, step, err);
    struct fc_rte *rte = report->seats->run->rte;
    status = fc_rte_agree(rte, "RDMA step", status, err);
    if (status != FC_OK || !step->sizes)
        return status;
    status = gather(report, "RDMA sizes", step->sizes, sizeof *step->sizes,
                    report->sizes, err);
    if (status == FC_OK && report->sizes)
        status = add_sizes(report, err);
    return fc_rte_agree(rte, "RDMA sizes", status, err);
}

enum fc_status fc_rdma_report_summary(struct fc_rdma_report *report,
                                      struct fc_error *err)
{
    enum fc_status status = FC_OK;
    const struct fc_rdma_effort *e = report->effort;
    for (int op = 0; report->told && op < FC_RDMA_OPS && status == FC_OK; op++) {
        if (!(e->ops >> op & 1u))
            continue;
        status = add_sum(report, metrics[op].bw, "all pairs", &report->bw[op], e->bytes,
                         err);
        if (status == FC_OK && report->latency[op].n)
            status = add_sum(report, metrics[op].latency, "all pairs",
                             &report->latency[op], e->latency_bytes, err);
    }
    if (status == FC_OK && report->together.n)
        status = add_sum(report, "rdma.all_rails_bw", "all pairs", &report->together,
                         e->bytes, err);
    return status;
}
