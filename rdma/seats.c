// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/seats.h"

#include "core/clock.h"
#include "core/record.h"
#include "rdma/transfer_json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOSSES_MAX = 2 };

/* Listing devices: 50 ms each, and a picture. */
static const uint64_t list_ns = 30 * FC_NS_PER_S;
static const uint64_t grace_ns = 10 * FC_NS_PER_S;

bool fc_rdma_present(void)
{
    DIR *dir = opendir("/sys/class/infiniband");
    const struct dirent *entry = NULL;
    while (dir && (entry = readdir(dir)) && entry->d_name[0] == '.')
        ;
    bool present = entry != NULL;
    if (dir)
        closedir(dir);
    return present;
}

/* --- the worker --- */

enum fc_status fc_rdma_seats_lost(struct fc_rdma_seats *s, const char *what,
                                  const char *why, struct fc_error *err)
{
    if (!s->worker || fc_worker_alive(s->worker))
        return FC_OK;
    fc_worker_close(s->worker);
    s->worker = NULL;
    s->losses++;
    char *line = fc_event_line(&(struct fc_event){.kind = "worker",
                                                  .node = fc_run_node(s->run),
                                                  .rank = s->run->rte->rank,
                                                  .phase = "rdma",
                                                  .what = what,
                                                  .wait = "local",
                                                  .seconds = -1,
                                                  .message = why});
    return fc_sink_add_line(s->run->sink, line, err);
}

enum fc_status fc_rdma_seats_ask(struct fc_rdma_seats *s, const char *command,
                                 json_t *args, uint64_t deadline_ns, json_t **out_reply,
                                 struct fc_error *err)
{
    struct fc_error other;
    enum fc_status status = FC_OK;
    if (!s->worker && s->losses >= LOSSES_MAX)
        return fc_fail(err, FC_FAILED, "%d workers were lost before", s->losses);
    fc_watchdog_push(s->run->watchdog, command, FC_WAIT_LOCAL, deadline_ns + grace_ns);
    if (!s->worker)
        status = fc_worker_open(s->run->spawner, NULL, &s->worker, err);
    if (status == FC_OK)
        status = fc_worker_call(s->worker, command, args, deadline_ns, NULL, NULL,
                                out_reply, err);
    fc_watchdog_pop(s->run->watchdog);
    if (status == FC_OK)
        return FC_OK;
    if (fc_rdma_seats_lost(s, command, err->text, &other) != FC_OK)
        fc_prefix(err, "%s", other.text);
    return status;
}

/* --- this rank's seats --- */

int fc_rdma_seat_rank(const struct fc_rdma_seats *s, int node, int rail)
{
    int n = s->begin[node + 1] - s->begin[node];
    return s->rank_of[s->begin[node] + rail % n];
}

int fc_rdma_seat_slot(const struct fc_rdma_seats *s, int node, int rail)
{
    return rail / (s->begin[node + 1] - s->begin[node]);
}

const struct fc_rdma_seat *fc_rdma_seat(const struct fc_rdma_seats *s, int node,
                                        int rail)
{
    return &s->seat[(size_t)node * (size_t)s->rails + (size_t)rail];
}

/* Ranks stand in rank order, so that those of a node come by local rank. */
static enum fc_status number_ranks(struct fc_rdma_seats *s, struct fc_error *err)
{
    const struct fc_rte *rte = s->run->rte;
    s->begin = calloc((size_t)rte->nodes + 1, sizeof *s->begin);
    s->rank_of = calloc((size_t)rte->size, sizeof *s->rank_of);
    if (!s->begin || !s->rank_of)
        return fc_fail(err, FC_NOMEM, "out of memory for the seats of %d ranks",
                       rte->size);
    for (int n = 0; n < rte->nodes; n++)
        s->begin[n + 1] = s->begin[n] + rte->node_size[n];
    for (int r = 0; r < rte->size; r++)
        s->rank_of[s->begin[rte->place[r].node] + rte->place[r].local_rank] = r;
    return FC_OK;
}

static int int_of(const json_t *o, const char *key, int fallback)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) ? (int)json_integer_value(v) : fallback;
}

static void copy_text(const json_t *o, const char *key, char *out, size_t bytes)
{
    const char *text = json_string_value(json_object_get(o, key));
    snprintf(out, bytes, "%s", text ? text : "");
}

static void read_own(const json_t *port, struct fc_rdma_own *own)
{
    own->used = json_is_true(json_object_get(port, "used"));
    own->no_right = json_is_true(json_object_get(port, "no_right"));
    copy_text(port, "name", own->name, sizeof own->name);
    copy_text(port, "reason", own->reason, sizeof own->reason);
    copy_text(port, "doubt", own->doubt, sizeof own->doubt);
    copy_text(port, "basis", own->basis, sizeof own->basis);
    copy_text(port, "bdf", own->bdf, sizeof own->bdf);
    copy_text(port, "guid", own->guid, sizeof own->guid);
    own->limit_GBps = json_number_value(json_object_get(port, "limit"));
    if (own->used && !fc_lane_plan_read(json_object_get(port, "plan"), &own->plan)) {
        own->used = false;
        snprintf(own->reason, sizeof own->reason, "the worker tells no plan for it");
    }
}

static void fill_own(struct fc_rdma_seats *s)
{
    const struct fc_rte *rte = s->run->rte;
    for (int slot = 0; slot < s->slots; slot++) {
        struct fc_rdma_own *own = &s->own[slot];
        int rail = slot * rte->local_size + rte->local_rank;
        own->rail = rail < s->rails ? rail : -1;
        if (own->rail < 0)
            continue;
        own->no_right = s->none[0] && s->none_no_right;
        snprintf(own->name, sizeof own->name, "rail %d", rail);
        snprintf(own->reason, sizeof own->reason, "%s",
                 s->none[0] ? s->none : "this node has fewer rails than others");
        size_t i;
        json_t *port;
        json_array_foreach(s->ports, i, port) if (int_of(port, "rail", -1) == rail)
            read_own(port, own);
    }
}

static int count_rails(const struct fc_rdma_seats *s)
{
    int rails = 0;
    size_t i;
    json_t *port;
    json_array_foreach(s->ports, i, port)
    {
        int rail = int_of(port, "rail", -1);
        if (rail < FC_RDMA_RAILS_MAX && rail >= rails)
            rails = rail + 1;
    }
    return rails;
}

/* What went wrong is this rank's `none`, and no reason to leave the others. */
static void ask_rails(struct fc_rdma_seats *s)
{
    json_t *args = json_object(), *reply = NULL;
    struct fc_error why;
    enum fc_status status =
        fc_rdma_seats_ask(s, "rdma.rails", args, list_ns, &reply, &why);
    if (status != FC_OK) {
        s->none_no_right = status == FC_UNREADABLE;
        snprintf(s->none, sizeof s->none, "%.239s", why.text);
    } else {
        copy_text(reply, "none", s->none, sizeof s->none);
        s->ports = json_incref(json_object_get(reply, "ports"));
        s->notes = json_incref(json_object_get(reply, "notes"));
        if (!s->none[0] && count_rails(s) == 0)
            snprintf(s->none, sizeof s->none, "no port of this node is a rail");
    }
    json_decref(reply);
    json_decref(args);
}

/* --- what all know --- */

static enum fc_status gather_seats(struct fc_rdma_seats *s, struct fc_error *err)
{
    const struct fc_rte *rte = s->run->rte;
    size_t slots = (size_t)s->slots, all = (size_t)rte->size * slots;
    struct fc_rdma_seat *mine = calloc(slots, sizeof *mine);
    struct fc_rdma_seat *told = calloc(all, sizeof *told);
    s->seat = calloc((size_t)rte->nodes * (size_t)s->rails, sizeof *s->seat);
    enum fc_status status = FC_OK;
    if (!mine || !told || !s->seat)
        status = fc_fail(err, FC_NOMEM, "out of memory for %zu seats", all);
    status = fc_rte_agree(s->run->rte, "RDMA seats", status, err);
    for (size_t i = 0; status == FC_OK && i < slots; i++) {
        snprintf(mine[i].name, sizeof mine[i].name, "%.55s", s->own[i].name);
        mine[i].limit_GBps = s->own[i].limit_GBps;
        mine[i].used = s->own[i].rail >= 0 && s->own[i].used;
    }
    if (status == FC_OK)
        status = fc_rte_allgather(s->run->rte, "RDMA seats", mine, slots * sizeof *mine,
                                  told, err);
    for (int node = 0; status == FC_OK && node < rte->nodes; node++)
        for (int rail = 0; rail < s->rails; rail++) {
            size_t rank = (size_t)fc_rdma_seat_rank(s, node, rail);
            size_t slot = (size_t)fc_rdma_seat_slot(s, node, rail);
            s->seat[(size_t)node * (size_t)s->rails + (size_t)rail] =
                told[rank * slots + slot];
        }
    free(mine);
    free(told);
    return status;
}

/* A rail that cannot be measured is a measurement that failed; for lack of a right,
 * one that nobody knows of. */
static enum fc_status add_unused(struct fc_rdma_seats *s, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (int i = 0; i < s->slots && status == FC_OK; i++) {
        const struct fc_rdma_own *own = &s->own[i];
        if (own->rail < 0 || own->used)
            continue;
        struct fc_record r = fc_record_new("rdma.write_bw");
        r.subject = fc_run_subject(s->run);
        r.subject.kind = "nic";
        r.subject.nic = own->name;
        r.subject.rail = own->rail;
        r.subject.bdf = own->bdf[0] ? own->bdf : NULL;
        r.subject.guid = own->guid[0] ? own->guid : NULL;
        r.params.op = "write";
        r.status = own->no_right ? FC_UNREADABLE : FC_FAILED;
        r.reason = own->reason;
        if (!fc_summarize(NULL, 0, &r.value, NULL))
            return fc_fail(err, FC_NOMEM, "out of memory for a record");
        status = fc_sink_add(s->run->sink, &r, err);
    }
    return status;
}

static enum fc_status add_fact(struct fc_rdma_seats *s, struct fc_error *err)
{
    const struct fc_rte *rte = s->run->rte;
    if (rte->local_rank != 0 || (!s->ports && !s->notes))
        return FC_OK;
    json_t *facts = json_object();
    json_object_set(facts, "rdma.ports", s->ports);
    if (json_array_size(s->notes))
        json_object_set(facts, "rdma.notes", s->notes);
    json_t *body = json_pack("{s:s, s:i, s:o}", "node", fc_run_node(s->run), "rank",
                             rte->rank, "facts", facts);
    return fc_sink_add_line(s->run->sink, fc_line("fact", body), err);
}

static enum fc_status agree_sizes(struct fc_rdma_seats *s, struct fc_error *err)
{
    const struct fc_rte *rte = s->run->rte;
    int64_t rails = count_rails(s);
    enum fc_status status = fc_rte_max(s->run->rte, "rails", &rails, 1, err);
    if (status != FC_OK)
        return status;
    s->rails = (int)rails;
    for (int n = 0; n < rte->nodes; n++) {
        int slots = (s->rails + rte->node_size[n] - 1) / rte->node_size[n];
        s->slots = slots > s->slots ? slots : s->slots;
    }
    return FC_OK;
}

enum fc_status fc_rdma_seats_open(struct fc_run *run, struct fc_rdma_seats *out,
                                  struct fc_error *err)
{
    *out = (struct fc_rdma_seats){.run = run};
    ask_rails(out);
    enum fc_status status = number_ranks(out, err);
    status = fc_rte_agree(run->rte, "RDMA ports", status, err);
    if (status == FC_OK)
        status = agree_sizes(out, err);
    if (status == FC_OK && out->rails == 0) {
        /* The lowest rank's word for all. */
        status = fc_fail(err, FC_UNSUPPORTED, "%s", out->none);
        return fc_rte_agree(run->rte, "RDMA ports", status, err);
    }
    if (status != FC_OK)
        return status;
    out->own = calloc((size_t)out->slots, sizeof *out->own);
    if (!out->own)
        status = fc_fail(err, FC_NOMEM, "out of memory for %d seats", out->slots);
    else
        fill_own(out);
    status = fc_rte_agree(run->rte, "RDMA seats", status, err);
    if (status == FC_OK)
        status = gather_seats(out, err);
    if (status != FC_OK)
        return status;
    status = add_fact(out, err);
    return status == FC_OK ? add_unused(out, err) : status;
}

void fc_rdma_seats_close(struct fc_rdma_seats *s)
{
    fc_worker_close(s->worker);
    json_decref(s->ports);
    json_decref(s->notes);
    free(s->seat);
    free(s->own);
    free(s->begin);
    free(s->rank_of);
    memset(s, 0, sizeof *s);
}
