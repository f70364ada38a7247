// SPDX-License-Identifier: BSD-3-Clause
/* The short lines: plan, phase, fact, event. */
#include "judge/evidence_parts.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *text_or(const json_t *object, const char *key, const char *fallback)
{
    const char *text = fc_ev_text(object, key);
    return text ? text : fallback;
}

/* --- plan --- */

static bool planned_already(const struct fc_evidence *ev, const char *name,
                            bool skipped)
{
    for (size_t i = 0; i < ev->plans; i++)
        if (strcmp(ev->plan[i].name, name) == 0 && !ev->plan[i].reason == !skipped)
            return true;
    return false;
}

static void take_plan(struct fc_evidence *ev, const json_t *list, bool skipped)
{
    size_t i;
    json_t *entry;
    if (list && !json_is_array(list))
        ev->malformed++;
    json_array_foreach(list, i, entry)
    {
        const char *name = fc_ev_text(entry, "name");
        if (!name || !*name || ev->plans >= 4096) {
            ev->malformed++;
            continue;
        }
        if (!planned_already(ev, name, skipped))
            ev->plan[ev->plans++] = (struct fc_ev_plan){
                .name = name,
                .reason = skipped ? text_or(entry, "reason", "no reason given") : NULL,
                .demanded = json_is_true(json_object_get(entry, "demanded"))};
    }
}

enum fc_status fc_ev_read_plans(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                struct fc_error *err)
{
    static const char *const list[] = {"probes", "skipped"};
    size_t room = 1;
    for (size_t i = 0; i < bag->count; i++)
        for (size_t k = 0; k < 2; k++)
            room += json_array_size(json_object_get(bag->line[i], list[k]));
    if (!(ev->plan = malloc(room * sizeof *ev->plan)))
        return fc_fail(err, FC_NOMEM, "out of memory for the plan");
    ev->has_plan = bag->count > 0;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < bag->count; i++)
            take_plan(ev, json_object_get(bag->line[i], list[k]), k == 1);
    return FC_OK;
}

/* --- phases --- */

enum fc_status fc_ev_read_phases(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                 struct fc_error *err)
{
    ev->phase = malloc((bag->count ? bag->count : 1) * sizeof *ev->phase);
    if (!ev->phase)
        return fc_fail(err, FC_NOMEM, "out of memory for the phases");
    for (size_t i = 0; i < bag->count; i++) {
        const json_t *line = bag->line[i];
        const char *name = fc_ev_text(line, "name"), *state = fc_ev_text(line, "state");
        bool end = state && strcmp(state, "end") == 0;
        if (!name || !state || (!end && strcmp(state, "begin") != 0)) {
            ev->malformed++;
            continue;
        }
        ev->phase[ev->phases++] = (struct fc_ev_phase){
            .name = name,
            .end = end,
            .status = end ? text_or(line, "status", "no status") : "",
            .reason = text_or(line, "reason", ""),
            .attempt = (int)fc_ev_int(line, "attempt", 1, INT_MAX, 1)};
    }
    return FC_OK;
}

/* --- facts --- */

static int by_place(const void *pa, const void *pb)
{
    const struct fc_ev_fact *a = pa, *b = pb;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

const struct fc_ev_fact *fc_ev_facts_of(const struct fc_evidence *ev, size_t node,
                                        size_t *out_count)
{
    size_t low = 0, high = ev->facts, end;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ev->fact[mid].node < node)
            low = mid + 1;
        else
            high = mid;
    }
    for (end = low; end < ev->facts && ev->fact[end].node == node;)
        end++;
    *out_count = end - low;
    return ev->fact + low;
}

enum fc_status fc_ev_read_facts(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                struct fc_error *err)
{
    ev->fact = malloc((bag->count ? bag->count : 1) * sizeof *ev->fact);
    if (!ev->fact)
        return fc_fail(err, FC_NOMEM, "out of memory for the facts");
    for (size_t i = 0; i < bag->count; i++) {
        const json_t *line = bag->line[i];
        const json_t *facts = json_object_get(line, "facts");
        const json_t *unreadable = json_object_get(line, "unreadable");
        size_t node = fc_ev_node_index(ev, fc_ev_text(line, "node"));
        bool usable =
            node != FC_NONE && (json_is_object(facts) || json_is_object(unreadable));
        if (!usable) {
            ev->malformed++;
            continue;
        }
        ev->fact[ev->facts++] = (struct fc_ev_fact){
            .node = node,
            .phase = fc_ev_text(line, "phase"),
            .order = i,
            .rank = (int)fc_ev_int(line, "rank", 0, INT_MAX, -1),
            .facts = json_is_object(facts) ? facts : NULL,
            .unreadable = json_is_object(unreadable) ? unreadable : NULL};
    }
    if (ev->facts)
        qsort(ev->fact, ev->facts, sizeof *ev->fact, by_place);
    return FC_OK;
}

/* --- events --- */

enum fc_status fc_ev_read_events(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                 struct fc_error *err)
{
    ev->event = malloc((bag->count ? bag->count : 1) * sizeof *ev->event);
    if (!ev->event)
        return fc_fail(err, FC_NOMEM, "out of memory for the events");
    for (size_t i = 0; i < bag->count; i++) {
        const json_t *line = bag->line[i];
        const char *kind = fc_ev_text(line, "kind");
        if (!kind) {
            ev->malformed++;
            continue;
        }
        struct fc_ev_event event = {
            .kind = kind,
            .phase = text_or(line, "phase", ""),
            .what = text_or(line, "what", ""),
            .wait = text_or(line, "wait", "none"),
            .message = text_or(line, "message", ""),
            .node = fc_ev_node_index(ev, fc_ev_text(line, "node")),
            .rank = (int)fc_ev_int(line, "rank", 0, INT_MAX, -1),
            .seconds = json_number_value(json_object_get(line, "seconds"))};
        if (event.node == FC_NONE && event.rank >= 0)
            event.node = fc_ev_node_of_rank(ev, event.rank);
        ev->event[ev->events++] = event;
    }
    return FC_OK;
}
