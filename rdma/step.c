// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/step.h"

#include "core/clock.h"
#include "rdma/step_counters.h"
#include "rdma/step_events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t lane_ns = 30 * FC_NS_PER_S;

/* What one stage does; equal on all ranks. */
struct stage {
    enum fc_rdma_op op;
    bool latency;
    bool first_asks; /* the first member of each pair asks; else the second */
    int rail;        /* only pairs whose first member is on it; -1: all */
    uint64_t bytes, box_ns;
    int size;      /* index of the sweep; -1: none */
    bool together; /* all rails at work: the sum counts */
};

struct work {
    struct fc_rdma_step *step;
    struct fc_transfer transfer;
    bool *dead;                     /* [slots] this pair cannot go on */
    struct fc_lane_link *link;      /* [slots] */
    struct fc_lane_answer *answer;  /* [slots] */
    struct fc_endpoint *mine, *all; /* [slots], [size][slots] */
    uint32_t *masks;                /* [size] */
    struct fc_rdma_moved *moved;    /* [slots] */
    uint32_t stages;
    enum fc_status noted; /* whether this rank could note down what it met */
    struct fc_error why;
};

static int slots_of(const struct work *w)
{
    return w->step->seats->slots;
}

static bool rests(const struct work *w, int slot)
{
    return w->step->match[slot].peer_node < 0;
}

/* --- what went wrong --- */

static const char *const metrics[] = {
    [FC_RDMA_WRITE] = "rdma.write_bw",
    [FC_RDMA_READ] = "rdma.read_bw",
    [FC_RDMA_SEND] = "rdma.send_bw",
};

static void keep_worse(struct work *w, enum fc_status status,
                       const struct fc_error *err)
{
    if (status == FC_OK || w->noted != FC_OK)
        return;
    w->noted = status;
    w->why = *err;
}

/* Who says it: this rank, of the pair of its seat. */
static void add_record(struct work *w, int slot, enum fc_rdma_op op,
                       enum fc_status status, const char *reason, int64_t wrong)
{
    const struct fc_rdma_step *step = w->step;
    const struct fc_run *run = step->seats->run;
    const struct fc_rdma_own *own = &step->seats->own[slot];
    const struct fc_rdma_match *m = &step->match[slot];
    struct fc_error err;
    struct fc_record r = fc_record_new(metrics[op]);
    r.subject = fc_run_subject(run);
    r.subject.kind = "pair";
    r.subject.peer = run->rte->node_name[m->peer_node];
    r.subject.nic = own->name;
    r.subject.peer_nic = fc_rdma_seat(step->seats, m->peer_node, m->peer_rail)->name;
    r.subject.rail = own->rail;
    r.subject.bdf = own->bdf[0] ? own->bdf : NULL;
    r.subject.guid = own->guid[0] ? own->guid : NULL;
    r.params.op = fc_rdma_op_name(op);
    r.params.n = 2;
    r.params.memory = own->plan.memory;
    r.params.attempt = step->attempt;
    r.wrong = wrong;
    r.status = status;
    r.reason = reason;
    status = fc_summarize(NULL, 0, &r.value, NULL)
                 ? fc_sink_add(run->sink, &r, &err)
                 : fc_fail(&err, FC_NOMEM, "out of memory for a record");
    keep_worse(w, status, &err);
}

static void set_status(struct work *w, int slot, enum fc_status status,
                       const char *reason)
{
    struct fc_rdma_entry *e = &w->step->out[slot];
    if ((int32_t)status <= e->status)
        return;
    e->status = (int32_t)status;
    snprintf(e->why, sizeof e->why, "%.239s", reason);
}

/* The pair stops here; of what its peer met, the peer tells. */
static void kill_pair(struct work *w, int slot, enum fc_rdma_op op,
                      enum fc_status status, const char *reason)
{
    const char *doubt = w->step->seats->own[slot].doubt;
    char text[480];
    if (w->dead[slot])
        return;
    snprintf(text, sizeof text, "%.239s%s%s", reason, doubt[0] ? "; " : "", doubt);
    w->dead[slot] = true;
    set_status(w, slot, status, text);
    add_record(w, slot, op, status, text, -1);
}

/* --- lanes --- */

static bool alloc_work(struct work *w)
{
    size_t n = (size_t)slots_of(w), size = (size_t)w->step->seats->run->rte->size;
    w->dead = calloc(n, sizeof *w->dead);
    w->link = calloc(n, sizeof *w->link);
    w->answer = calloc(n, sizeof *w->answer);
    w->mine = calloc(n, sizeof *w->mine);
    w->all = calloc(n * size, sizeof *w->all);
    w->masks = calloc(size, sizeof *w->masks);
    w->moved = calloc(n, sizeof *w->moved);
    return w->dead && w->link && w->answer && w->mine && w->all && w->masks && w->moved;
}

static void free_work(struct work *w)
{
    free(w->dead);
    free(w->link);
    free(w->answer);
    free(w->mine);
    free(w->all);
    free(w->masks);
    free(w->moved);
}

/* A worker that was lost in an earlier step gets a successor, which must know the
 * ports before it reads counters. */
static enum fc_status make_ready(struct work *w, struct fc_error *err)
{
    struct fc_rdma_seats *seats = w->step->seats;
    enum fc_status status = FC_OK;
    if (!seats->worker) {
        json_t *args = json_object();
        status = fc_rdma_seats_ask(seats, "rdma.rails", args, lane_ns, NULL, err);
        json_decref(args);
    }
    w->transfer =
        (struct fc_transfer){.worker = seats->worker, .watchdog = seats->run->watchdog};
    return status;
}

/* A lost worker takes all its pairs with it. */
static void note_loss(struct work *w, const char *what, enum fc_rdma_op op,
                      const struct fc_error *met)
{
    struct fc_rdma_seats *seats = w->step->seats;
    struct fc_error err;
    if (seats->worker && fc_worker_alive(seats->worker))
        return;
    for (int i = 0; i < slots_of(w); i++)
        if (!rests(w, i))
            kill_pair(w, i, op, FC_FAILED, met->text);
    keep_worse(w, fc_rdma_seats_lost(seats, what, met->text, &err), &err);
    w->transfer.worker = NULL;
}

static void open_lanes(struct work *w)
{
    const struct fc_rdma_step *step = w->step;
    struct fc_error err;
    enum fc_status ready = make_ready(w, &err);
    for (int i = 0; i < slots_of(w); i++) {
        struct fc_lane_plan plan = step->seats->own[i].plan;
        if (rests(w, i))
            continue;
        enum fc_status status = ready;
        plan.max_bytes =
            step->sizes ? fc_rdma_effort_size(FC_RDMA_SIZES - 1) : step->effort->bytes;
        if (status == FC_OK && w->transfer.worker)
            status = fc_transfer_open(&w->transfer, i, &plan, &w->mine[i],
                                      &w->answer[i], &err);
        if (status == FC_OK && w->transfer.worker)
            continue;
        memset(&w->mine[i], 0, sizeof w->mine[i]);
        /* A right or limit that is missing says nothing of the fabric. */
        kill_pair(w, i, FC_RDMA_WRITE,
                  status == FC_UNREADABLE ? FC_UNREADABLE : FC_FAILED, err.text);
        if (ready == FC_OK)
            note_loss(w, "rdma.open", FC_RDMA_WRITE, &err);
    }
}

static void close_lanes(struct work *w)
{
    struct fc_error err;
    for (int i = 0; i < slots_of(w) && w->transfer.worker; i++)
        if (!rests(w, i) && fc_transfer_close(&w->transfer, i, &err) != FC_OK)
            note_loss(w, "rdma.close", FC_RDMA_WRITE, &err);
}

static void connect_lanes(struct work *w)
{
    const struct fc_rdma_seats *seats = w->step->seats;
    struct fc_error err;
    for (int i = 0; i < slots_of(w); i++) {
        const struct fc_rdma_match *m = &w->step->match[i];
        if (rests(w, i) || w->dead[i])
            continue;
        size_t rank = (size_t)fc_rdma_seat_rank(seats, m->peer_node, m->peer_rail);
        size_t slot = (size_t)fc_rdma_seat_slot(seats, m->peer_node, m->peer_rail);
        const struct fc_endpoint *peer = &w->all[rank * (size_t)slots_of(w) + slot];
        if (!peer->text[0]) {
            w->dead[i] = true;
            set_status(w, i, FC_UNSUPPORTED, "its peer could not open its port");
            continue;
        }
        if (fc_transfer_connect(&w->transfer, i, peer, &w->link[i], &err) == FC_OK)
            continue;
        kill_pair(w, i, FC_RDMA_WRITE, FC_FAILED, err.text);
        note_loss(w, "rdma.connect", FC_RDMA_WRITE, &err);
    }
}

/* All tell which of their seats cannot go on. Collective: yes. */
static enum fc_status share(struct work *w, struct fc_error *err)
{
    const struct fc_rdma_seats *seats = w->step->seats;
    uint32_t mask = 0;
    for (int i = 0; i < slots_of(w); i++)
        mask |= (uint32_t)w->dead[i] << i;
    enum fc_status status = fc_rte_allgather(seats->run->rte, "RDMA stage", &mask,
                                             sizeof mask, w->masks, err);
    for (int i = 0; status == FC_OK && i < slots_of(w); i++) {
        const struct fc_rdma_match *m = &w->step->match[i];
        if (rests(w, i) || w->dead[i])
            continue;
        int rank = fc_rdma_seat_rank(seats, m->peer_node, m->peer_rail);
        int slot = fc_rdma_seat_slot(seats, m->peer_node, m->peer_rail);
        if (w->masks[rank] >> slot & 1u) {
            w->dead[i] = true;
            set_status(w, i, FC_FAILED, "its peer met a fault, and tells of it");
        }
    }
    return status;
}

/* --- stages --- */

static void take_value(struct work *w, int slot, const struct stage *stage,
                       const struct fc_lane_result *r)
{
    struct fc_rdma_entry *e = &w->step->out[slot];
    if (stage->size >= 0) {
        struct fc_rdma_size_entry *s = &w->step->sizes[slot];
        if (stage->latency)
            s->latency[stage->op][stage->size] = r->latency.typical;
        else
            s->bw[stage->op][stage->size] = r->bw_GBps;
    } else if (stage->latency) {
        e->latency[stage->op] = r->latency.typical;
    } else if (stage->together) {
        e->together = r->bw_GBps;
    } else {
        e->bw[stage->op] = r->bw_GBps;
        if (e->samples == 0 || r->samples < e->samples)
            e->samples = (uint32_t)r->samples;
    }
}

static void take_result(struct work *w, int slot, const struct stage *stage, bool asks,
                        const struct fc_lane_result *r)
{
    struct fc_rdma_entry *e = &w->step->out[slot];
    if (asks && stage->op == FC_RDMA_READ)
        w->moved[slot].received += r->payload;
    else if (asks)
        w->moved[slot].sent += r->payload;
    if (r->status == FC_WRONG || r->wrong > 0) {
        e->wrong[stage->op] += r->wrong;
        if (stage->size >= 0)
            w->step->sizes[slot].wrong[stage->op][stage->size] += r->wrong;
        set_status(w, slot, FC_WRONG, r->reason);
        add_record(w, slot, stage->op, FC_OK, r->reason, (int64_t)r->wrong);
    } else if (r->status != FC_OK) {
        kill_pair(w, slot, stage->op, FC_FAILED, r->reason);
    }
    if (r->reopen)
        w->dead[slot] = true;
    if (asks && r->status == FC_OK)
        take_value(w, slot, stage, r);
}

static bool takes_part(const struct work *w, int slot, const struct stage *stage)
{
    const struct fc_rdma_match *m = &w->step->match[slot];
    int rail = m->first ? w->step->seats->own[slot].rail : m->peer_rail;
    return !rests(w, slot) && !w->dead[slot] &&
           (stage->rail < 0 || stage->rail == rail);
}

static enum fc_status run_stage(struct work *w, const struct stage *stage,
                                struct fc_error *err)
{
    struct fc_rdma_step *step = w->step;
    struct fc_lane_task task[FC_RDMA_RAILS_MAX];
    struct fc_lane_result *result = NULL;
    struct fc_error met;
    size_t tasks = 0;
    const struct fc_transfer_plan plan = {
        .op = stage->op,
        .latency = stage->latency,
        .bytes = stage->bytes,
        .box_ns = stage->box_ns,
        .bursts = step->effort->bursts,
        .data_seed = step->data_seed + w->stages,
        .round = step->round << 10 | (w->stages & 1023u),
        .patience_ns = step->effort->patience_ns,
    };
    w->stages++;
    for (int i = 0; i < slots_of(w); i++)
        if (takes_part(w, i, stage))
            task[tasks++] = (struct fc_lane_task){
                .lane = i,
                .role = step->match[i].first == stage->first_asks ? FC_LANE_INITIATES
                                                                  : FC_LANE_SERVES};
    if (tasks)
        result = calloc(tasks, sizeof *result);
    if (tasks && !result)
        keep_worse(w, fc_fail(&met, FC_NOMEM, "out of memory for results"), &met);
    if (result &&
        fc_transfer_measure(&w->transfer, &plan, task, tasks, result, &met) == FC_OK) {
        for (size_t i = 0; i < tasks; i++)
            take_result(w, task[i].lane, stage, task[i].role == FC_LANE_INITIATES,
                        &result[i]);
    } else if (tasks) {
        for (size_t i = 0; i < tasks; i++)
            kill_pair(w, task[i].lane, stage->op, FC_FAILED, met.text);
        note_loss(w, "rdma.measure", stage->op, &met);
    }
    free(result);
    return share(w, err);
}

/* One operation along one group of pairs: both directions, then the latency. */
static enum fc_status run_op(struct work *w, enum fc_rdma_op op, int rail, int size,
                             struct fc_error *err)
{
    const struct fc_rdma_effort *e = w->step->effort;
    struct stage stage = {.op = op, .rail = rail, .size = size, .first_asks = true};
    stage.bytes = size < 0 ? e->bytes : fc_rdma_effort_size((unsigned)size);
    stage.box_ns = size < 0 ? e->box_ns : e->box_ns / 4;
    enum fc_status status = run_stage(w, &stage, err);
    stage.first_asks = false;
    if (status == FC_OK)
        status = run_stage(w, &stage, err);
    /* Of pairs inside one node both members may be one worker's, which cannot answer
     * itself. */
    if (status != FC_OK || !w->step->apart)
        return status;
    stage.first_asks = true;
    stage.latency = true;
    stage.bytes = size < 0 ? e->latency_bytes : stage.bytes;
    stage.box_ns /= 5;
    return run_stage(w, &stage, err);
}

static enum fc_status run_group(struct work *w, int rail, bool sweep,
                                struct fc_error *err)
{
    const unsigned ops = w->step->effort->ops;
    enum fc_status status = FC_OK;
    for (int op = 0; op < FC_RDMA_OPS && status == FC_OK; op++) {
        if (!(ops >> op & 1u))
            continue;
        for (int size = sweep ? 0 : -1;
             status == FC_OK && size < (sweep ? FC_RDMA_SIZES : 0); size++)
            status = run_op(w, (enum fc_rdma_op)op, rail, size, err);
    }
    return status;
}

static enum fc_status run_together(struct work *w, struct fc_error *err)
{
    struct stage stage = {.op = FC_RDMA_WRITE,
                          .rail = -1,
                          .size = -1,
                          .together = true,
                          .first_asks = true,
                          .bytes = w->step->effort->bytes,
                          .box_ns = w->step->effort->box_ns};
    enum fc_status status = run_stage(w, &stage, err);
    stage.first_asks = false;
    return status == FC_OK ? run_stage(w, &stage, err) : status;
}

static enum fc_status run_stages(struct work *w, struct fc_error *err)
{
    int groups = w->step->apart ? w->step->seats->rails : 1;
    enum fc_status status = FC_OK;
    for (int sweep = 0; sweep < (w->step->sizes ? 2 : 1); sweep++)
        for (int g = 0; g < groups && status == FC_OK; g++)
            status = run_group(w, w->step->apart ? g : -1, sweep == 1, err);
    if (status == FC_OK && groups > 1)
        status = run_together(w, err);
    return status;
}

/* --- the step --- */

static void clear_out(struct work *w)
{
    const double none = (double)NAN;
    for (int i = 0; i < slots_of(w); i++) {
        const struct fc_rdma_match *m = &w->step->match[i];
        struct fc_rdma_entry *e = &w->step->out[i];
        memset(e, 0, sizeof *e);
        e->peer_node = m->peer_node;
        e->peer_rail = m->peer_rail;
        e->first = m->first;
        e->together = none;
        for (int op = 0; op < FC_RDMA_OPS; op++)
            e->bw[op] = e->latency[op] = none;
        for (int op = 0; w->step->sizes && op < FC_RDMA_OPS; op++)
            for (int k = 0; k < FC_RDMA_SIZES; k++) {
                w->step->sizes[i].bw[op][k] = w->step->sizes[i].latency[op][k] = none;
                w->step->sizes[i].wrong[op][k] = 0;
            }
    }
}

static enum fc_status join_and_measure(struct work *w, struct fc_error *err)
{
    struct fc_rte *rte = w->step->seats->run->rte;
    open_lanes(w);
    enum fc_status status =
        fc_rte_allgather(rte, "RDMA endpoints", w->mine,
                         (size_t)slots_of(w) * sizeof *w->mine, w->all, err);
    if (status != FC_OK)
        return status;
    connect_lanes(w);
    struct fc_error met;
    if (w->transfer.worker && fc_rdma_counters_mark(w->step->seats, &met) != FC_OK)
        note_loss(w, "rdma.mark", FC_RDMA_WRITE, &met);
    status = share(w, err);
    return status == FC_OK ? run_stages(w, err) : status;
}

enum fc_status fc_rdma_step_run(struct fc_rdma_step *step, struct fc_error *err)
{
    struct work w = {.step = step};
    struct fc_rte *rte = step->seats->run->rte;
    enum fc_status status = FC_OK;
    struct fc_error met;
    if (!alloc_work(&w))
        status = fc_fail(err, FC_NOMEM, "out of memory for a step of the RDMA matrix");
    status = fc_rte_agree(rte, "RDMA step", status, err);
    if (status == FC_OK) {
        clear_out(&w);
        status = join_and_measure(&w, err);
        if (status == FC_OK && step->seats->worker)
            keep_worse(&w, fc_rdma_counters_take(step, w.answer, w.link, w.moved, &met),
                       &met);
        if (w.transfer.worker)
            keep_worse(&w, fc_rdma_events_take(step->seats, &w.transfer, &met), &met);
        close_lanes(&w);
        if (status == FC_OK && w.noted != FC_OK) {
            status = w.noted;
            *err = w.why;
        }
        if (status != FC_LOST)
            status = fc_rte_agree(rte, "RDMA step", status, err);
    }
    free_work(&w);
    return status;
}
