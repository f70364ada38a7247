// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/coll_records.h"

#include "collectives/busbw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct metric_name {
    char s[48];
};

static struct metric_name metric(enum fc_coll op, const char *what)
{
    struct metric_name name;
    snprintf(name.s, sizeof name.s, "collective.%s.%s", fc_coll_name(op), what);
    return name;
}

uint64_t fc_coll_received(enum fc_coll op, uint64_t bytes, int n)
{
    switch (op) {
    case FC_COLL_ALL_REDUCE:
    case FC_COLL_SENDRECV:
        return bytes;
    case FC_COLL_ALL_GATHER:
    case FC_COLL_ALLTOALL:
        return bytes / (uint64_t)n * (uint64_t)(n - 1);
    case FC_COLL_REDUCE_SCATTER:
        return bytes / (uint64_t)n;
    default:
        return 0;
    }
}

/* `name` must outlive the record. */
static struct fc_record base_record(const struct fc_coll_step *step, const char *name)
{
    const struct fc_comm *comm = step->stage->group.comm;
    const struct fc_point *point = &step->point;
    struct fc_record r = fc_record_new(name);
    r.subject = step->stage->subject;
    r.params.op = fc_coll_name(point->op);
    r.params.redop = fc_coll_reduces(point->op) ? fc_redop_name(point->redop) : NULL;
    r.params.dtype = fc_dtype_name(point->dtype);
    r.params.in_place = point->in_place;
    r.params.n = comm->size;
    r.params.algorithm = comm->ops->algorithm(comm, point->op);
    r.params.variant = step->stage->variant     ? step->stage->variant
                       : step->run->sharers > 1 ? "shared cores"
                                                : NULL;
    r.params.attempt = step->attempt;
    r.params.memory = "host";
    r.bytes = (int64_t)fc_point_bytes(point, comm->size);
    r.path = step->result->own_path.name;
    r.path_how = step->result->own_path.how;
    return r;
}

void fc_coll_note_own(void *arg)
{
    struct fc_coll_step *step = arg;
    const struct fc_point_result *result = step->result;
    struct fc_error err;
    struct metric_name name = metric(step->point.op, "time");
    struct fc_record r = base_record(step, name.s);
    r.subject = fc_run_subject(step->run);
    r.wrong = result->own_status == FC_WRONG ? (int64_t)result->own_wrong : -1;
    r.status = result->own_status;
    r.reason = result->own_error.text;
    r.path = r.path_how = NULL; /* not known before the point has ended */
    enum fc_status status = fc_sink_add(step->run->sink, &r, &err);
    step->told = true;
    if (status != FC_OK)
        step->noted = status;
}

/* What no implementation can exceed: a copy in memory of what each rank receives, or
 * the link's rate for what each node must at least receive. */
static void set_limit(const struct fc_coll_step *step, struct fc_record *r, char *basis,
                      size_t basis_bytes)
{
    const struct fc_path *path = &step->result->own_path;
    int n = step->stage->group.comm->size;
    uint64_t bytes = (uint64_t)r->bytes;
    if (isfinite(step->copy_s) && step->copy_s > 0) {
        double in = (double)fc_coll_received(step->point.op, bytes, n);
        r->limit = fc_busbw_GBps(step->point.op, bytes, step->copy_s, n);
        snprintf(basis, basis_bytes,
                 "each rank copies what it receives once, all %d at the same time: "
                 "%.3g GB/s a rank",
                 n, in / step->copy_s / 1e9);
        r->limit_basis = basis;
    } else if (!step->stage->one_node && isfinite(path->link_GBps) &&
               fc_coll_received(step->point.op, bytes, n) == bytes) {
        r->limit = fc_busbw_GBps(step->point.op, bytes,
                                 (double)bytes / path->link_GBps / 1e9, n);
        snprintf(basis, basis_bytes,
                 "each node must receive the message once over a link of %.4g Gb/s",
                 8 * path->link_GBps);
        r->limit_basis = basis;
    }
}

enum fc_status fc_coll_note_group(const struct fc_coll_step *step, struct fc_error *err)
{
    const struct fc_point_result *result = step->result;
    const struct fc_sampler *time = &result->time_s;
    int n = step->stage->group.comm->size;
    char basis[160];
    struct metric_name name = metric(step->point.op, "time");
    struct fc_record r = base_record(step, name.s);
    fc_sampler_summary(time, &r.value);
    r.status = result->worst;
    r.wrong = r.status == FC_OK || r.status == FC_WRONG ? result->wrong : -1;
    if (r.status != FC_OK)
        r.reason = r.status == FC_UNSUPPORTED ? result->own_error.text
                   : r.status == FC_WRONG     ? "wrong results; see the ranks' records"
                                          : "failed on a rank; see the ranks' records";
    enum fc_status status = fc_sink_add(step->run->sink, &r, err);
    if (status != FC_OK || n < 2 || r.status == FC_UNSUPPORTED)
        return status; /* of one rank nothing crosses a bus */
    name = metric(step->point.op, "busbw");
    r.metric = name.s;
    for (size_t i = 0; i < time->n; i++)
        step->rate[i] = fc_busbw_GBps(step->point.op, (size_t)r.bytes, time->x[i], n);
    if (!fc_summarize(step->rate, time->n, &r.value, NULL))
        return fc_fail(err, FC_NOMEM, "out of memory for a summary");
    set_limit(step, &r, basis, sizeof basis);
    return fc_sink_add(step->run->sink, &r, err);
}
