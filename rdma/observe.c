// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/observe.h"

#include "core/clock.h"
#include "core/record.h"
#include "rdma/choose.h"
#include "rdma/counters.h"
#include "rdma/transfer_json.h"
#include "topology/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* What the worker keeps from one command to the next; it ends with the process. */
struct desk {
    struct fc_rdma_ports *ports;
    struct fc_rdma_choice choice;
    struct fc_counters *before; /* [ports] */
};

static struct desk *desk_of(struct fc_worker_call *call, struct fc_error *err)
{
    static const char owner;
    void **keep = fc_worker_keep(call, &owner);
    if (keep && !*keep)
        *keep = calloc(1, sizeof(struct desk));
    if (!keep || !*keep)
        (void)fc_fail(err, FC_NOMEM, "out of memory for what is known of RDMA ports");
    return keep ? *keep : NULL;
}

static void note(void *arg, const char *what)
{
    fc_worker_note(arg, what);
}

static void clear_desk(struct desk *desk)
{
    for (size_t i = 0; desk->before && desk->ports && i < desk->ports->ports; i++)
        fc_counters_fini(&desk->before[i]);
    free(desk->before);
    fc_rdma_choice_fini(&desk->choice);
    fc_rdma_ports_close(desk->ports);
    memset(desk, 0, sizeof *desk);
}

/* --- rdma.rails --- */

/* The card's own limit, from the picture: PCIe may be narrower than the wire. A rate
 * that a driver makes up is none. */
static struct fc_limit limit_of(const struct fc_topo *topo,
                                const struct fc_rdma_port *port)
{
    struct fc_limit limit = {.GBps = port->rate_is_nominal ? 0 : port->Gbps / 8};
    snprintf(limit.basis, sizeof limit.basis,
             limit.GBps > 0 ? "%s %s, %g Gb/s" : "%s tells no rate of its link",
             port->name, port->speed, port->Gbps);
    for (size_t i = 0; topo && limit.GBps > 0 && i < topo->nics; i++) {
        const struct fc_topo_nic *nic = &topo->nic[i];
        if (strcmp(nic->rdma, port->device) != 0 || nic->pci < 0)
            continue;
        struct fc_limit pcie = fc_limit_pcie(&topo->pci[nic->pci].link, 0);
        if (pcie.GBps > 0 && pcie.GBps < limit.GBps)
            limit = pcie;
    }
    return limit;
}

/* What ports of one rail should agree in, as texts; "" where it is not known. */
static void add_kind(json_t *o, const struct fc_rdma_port *p,
                     const struct fc_rdma_chosen *c, const struct fc_rdma_gid *gid)
{
    char kind[32] = "", subnet[24] = "", pkey[8] = "";
    if (gid)
        snprintf(kind, sizeof kind, "%s%s", fc_rdma_gid_kind_name(gid->kind),
                 gid->family == FC_RDMA_IPV4   ? ", IPv4"
                 : gid->family == FC_RDMA_IPV6 ? ", IPv6"
                                               : "");
    for (size_t i = 0; gid && p->wire == FC_RDMA_IB && i < 8; i++)
        snprintf(subnet + 2 * i, 3, "%02x", gid->raw[i]);
    if (c->pkey)
        snprintf(pkey, sizeof pkey, "0x%04x", c->pkey);
    json_object_set_new(o, "wire", json_string(fc_rdma_wire_name(p->wire)));
    json_object_set_new(o, "state", json_string(p->state_name));
    json_object_set_new(o, "Gbps", json_real(p->Gbps));
    json_object_set_new(o, "speed", json_string(p->speed));
    json_object_set_new(o, "gid_kind", json_string(kind));
    json_object_set_new(o, "subnet", json_string(subnet));
    json_object_set_new(o, "pkey", json_string(pkey));
    json_object_set_new(o, "no_right",
                        json_boolean(c->why == FC_RDMA_UNUSABLE && p->no_right));
}

static json_t *port_json(const struct desk *desk, const struct fc_topo *topo, size_t at)
{
    const struct fc_rdma_chosen *c = &desk->choice.chosen[at];
    const struct fc_rdma_port *p = &desk->ports->port[c->port];
    const struct fc_rdma_gid *gid =
        c->gid_index >= 0 ? fc_rdma_gid_at(p, c->gid_index) : NULL;
    struct fc_limit limit = limit_of(topo, p);
    struct fc_lane_plan plan;
    fc_lane_plan_set(&plan, p, c);
    json_t *o = json_pack("{s:s, s:i, s:b, s:s, s:s, s:s, s:i, s:o}", "name", p->name,
                          "rail", c->rail, "used", c->why == FC_RDMA_USED, "reason",
                          c->reason, "doubt", c->doubt, "gid", gid ? gid->address : "",
                          "mtu", p->mtu, "plan", fc_lane_plan_json(&plan));
    json_object_set_new(o, "limit",
                        limit.GBps > 0 ? json_real(limit.GBps) : json_null());
    json_object_set_new(o, "basis", json_string(limit.basis));
    json_object_set_new(o, "bdf", json_string(p->bdf));
    json_object_set_new(o, "guid", json_string(p->port_guid));
    add_kind(o, p, c, gid);
    return o;
}

static json_t *rails_json(const struct desk *desk, const struct fc_topo *topo,
                          const struct fc_rdma_wish *wish)
{
    json_t *o = json_object(), *ports = json_array(), *notes = json_array();
    for (size_t i = 0; i < desk->choice.count; i++)
        json_array_append_new(ports, port_json(desk, topo, i));
    for (size_t i = 0; i < desk->ports->notes; i++)
        json_array_append_new(notes, json_string(desk->ports->note[i].text));
    for (size_t i = 0; i < wish->notes; i++)
        json_array_append_new(notes, json_string(wish->note[i].text));
    json_object_set_new(o, "none", json_string(desk->ports->none));
    json_object_set_new(o, "ports", ports);
    json_object_set_new(o, "notes", notes);
    return o;
}

enum { SKIPS = 16 };

static enum fc_status open_ports(struct desk *desk, struct fc_worker_call *call,
                                 json_t *args, struct fc_error *err)
{
    const char *skip[SKIPS];
    struct fc_rdma_source source = {
        .root = "", .note = note, .arg = call, .skip = skip};
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(args, "skip"), i,
                       name) if (source.skips < SKIPS && json_is_string(name))
        skip[source.skips++] = json_string_value(name);
    enum fc_status status = fc_rdma_ports_open(&source, &desk->ports, err);
    if (status != FC_OK)
        return status;
    desk->before = calloc(desk->ports->ports + 1, sizeof *desk->before);
    return desk->before ? FC_OK
                        : fc_fail(err, FC_NOMEM, "out of memory for the RDMA ports");
}

static enum fc_status serve_rails(struct fc_worker_call *call, json_t *args,
                                  json_t **out_reply, struct fc_error *err)
{
    struct fc_nccl_conf *conf = NULL;
    struct fc_topo *topo = NULL;
    struct fc_rdma_wish wish;
    struct fc_error gap;
    const struct fc_nccl_source from = {.env = (const char *const *)environ,
                                        .root = ""};
    const struct fc_topo_source picture = {.note = note, .arg = call};
    struct desk *desk = desk_of(call, err);
    if (!desk)
        return FC_NOMEM;
    clear_desk(desk);
    enum fc_status status = open_ports(desk, call, args, err);
    if (status == FC_OK)
        status = fc_nccl_conf_open(&from, &conf, err);
    if (status == FC_OK) {
        fc_rdma_wish_read(conf, &wish);
        fc_worker_note(call, "the node's picture");
        /* Without a picture ports are chosen by what they say of themselves. */
        if (fc_topo_open(&picture, &topo, &gap) != FC_OK)
            topo = NULL;
        status = fc_rdma_choose(desk->ports, topo, &wish, &desk->choice, err);
    }
    if (status == FC_OK)
        *out_reply = rails_json(desk, topo, &wish);
    fc_topo_close(topo);
    fc_nccl_conf_close(conf);
    return status;
}

/* --- rdma.mark, rdma.growth --- */

static size_t port_named(const struct desk *desk, const char *name)
{
    for (size_t i = 0; name && desk->ports && i < desk->ports->ports; i++)
        if (strcmp(desk->ports->port[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static enum fc_status serve_mark(struct fc_worker_call *call, json_t *args,
                                 json_t **out_reply, struct fc_error *err)
{
    struct fc_rdma_source source = {.root = "", .note = note, .arg = call};
    struct desk *desk = desk_of(call, err);
    enum fc_status status = desk ? FC_OK : FC_NOMEM;
    (void)args;
    (void)out_reply;
    for (size_t i = 0; status == FC_OK && i < desk->choice.count; i++) {
        size_t port = desk->choice.chosen[i].port;
        if (desk->choice.chosen[i].why != FC_RDMA_USED)
            continue;
        fc_counters_fini(&desk->before[port]);
        memset(&desk->before[port], 0, sizeof desk->before[port]);
        status = fc_counters_read(&source, &desk->ports->port[port],
                                  &desk->before[port], err);
    }
    return status;
}

static json_t *grown_json(const struct fc_counter_delta *delta, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct fc_counter_delta *d = &delta[i];
        if (d->value == 0 ||
            (d->meaning != FC_COUNTER_ERRORS && d->meaning != FC_COUNTER_CONGESTION))
            continue;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:b}", "name", d->name, "meaning",
                            fc_counter_meaning_name(d->meaning), "value",
                            (json_int_t)d->value, "at_least", d->at_least));
    }
    return list;
}

static uint64_t count_of(const json_t *o, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(o, key));
    return n > 0 ? (uint64_t)n : 0;
}

/* One port's answer; NULL with `err` filled. */
static json_t *growth_json(const struct desk *desk, const struct fc_rdma_source *source,
                           const json_t *wanted, struct fc_error *err)
{
    const char *name = json_string_value(json_object_get(wanted, "name"));
    size_t at = port_named(desk, name);
    if (at == SIZE_MAX) {
        (void)fc_fail(err, FC_FAILED, "no RDMA port %s",
                      name ? name : "without a name");
        return NULL;
    }
    const struct fc_rdma_port *port = &desk->ports->port[at];
    struct fc_counters after = {.count = 0};
    struct fc_counter_delta *delta = NULL;
    struct fc_counter_proof proof = {.proven = false};
    size_t count = 0;
    const struct fc_counter_load load = {
        .sent_bytes = count_of(wanted, "sent"),
        .received_bytes = count_of(wanted, "received"),
        .mtu = (int)count_of(wanted, "mtu"),
    };
    json_t *o = NULL;
    if (fc_counters_read(source, port, &after, err) == FC_OK &&
        fc_counters_delta(&desk->before[at], &after, &delta, &count, err) == FC_OK) {
        fc_counters_prove(delta, count, port, &load, &proof);
        o = json_pack("{s:s, s:b, s:s, s:o}", "name", name, "proven", proof.proven,
                      "how", proof.how, "grown", grown_json(delta, count));
    }
    free(delta);
    fc_counters_fini(&after);
    return o;
}

/* Some counters are read from the card now and then only. */
static void wait_for_cards(const struct desk *desk, const json_t *ports)
{
    uint64_t wait_ns = 0;
    size_t i;
    json_t *wanted;
    json_array_foreach(ports, i, wanted)
    {
        size_t at =
            port_named(desk, json_string_value(json_object_get(wanted, "name")));
        if (at != SIZE_MAX && desk->before[at].wait_ns > wait_ns)
            wait_ns = desk->before[at].wait_ns;
    }
    if (wait_ns)
        fc_sleep_ns(wait_ns < FC_NS_PER_S ? wait_ns : FC_NS_PER_S);
}

static enum fc_status serve_growth(struct fc_worker_call *call, json_t *args,
                                   json_t **out_reply, struct fc_error *err)
{
    struct fc_rdma_source source = {.root = "", .note = note, .arg = call};
    json_t *list = json_array(), *ports = json_object_get(args, "ports"), *wanted;
    size_t i;
    struct desk *desk = desk_of(call, err);
    if (!desk) {
        json_decref(list);
        return FC_NOMEM;
    }
    wait_for_cards(desk, ports);
    json_array_foreach(ports, i, wanted)
    {
        json_t *o = growth_json(desk, &source, wanted, err);
        if (!o) {
            json_decref(list);
            return FC_FAILED;
        }
        json_array_append_new(list, o);
    }
    *out_reply = json_pack("{s:o}", "ports", list);
    return FC_OK;
}

const struct fc_worker_command fc_rdma_observers[FC_RDMA_OBSERVERS] = {
    {.name = "rdma.rails", .run = serve_rails},
    {.name = "rdma.mark", .run = serve_mark},
    {.name = "rdma.growth", .run = serve_growth},
};
