// SPDX-License-Identifier: BSD-3-Clause
/* What ended the run? A rank that passed a deadline in its own work is the culprit;
 * ranks that waited in a collective operation cannot tell who was; a rank that left
 * no trace is suspect when most others left one. */
#include "judge/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_kind(const struct fc_ev_event *e, const char *kind, const char *wait)
{
    return strcmp(e->kind, kind) == 0 && (!wait || strcmp(e->wait, wait) == 0);
}

static size_t count_kind(const struct fc_evidence *ev, const char *kind,
                         const char *wait)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->events; i++)
        count += is_kind(&ev->event[i], kind, wait);
    return count;
}

static int by_rank(const void *pa, const void *pb)
{
    const struct fc_ev_event *a = *(const struct fc_ev_event *const *)pa;
    const struct fc_ev_event *b = *(const struct fc_ev_event *const *)pb;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The events of a kind, one for each rank (all of those without a rank), by rank. */
static const struct fc_ev_event **of_ranks(const struct fc_case *c, const char *kind,
                                           const char *wait, size_t *out_count)
{
    const struct fc_evidence *ev = c->ev;
    const struct fc_ev_event **event = malloc((ev->events + 1) * sizeof(*event));
    size_t all = 0, kept = 0;
    *out_count = 0;
    if (!event) {
        c->out->status = FC_NOMEM;
        return NULL;
    }
    for (size_t i = 0; i < ev->events; i++)
        if (is_kind(&ev->event[i], kind, wait))
            event[all++] = &ev->event[i];
    qsort(event, all, sizeof(*event), by_rank);
    for (size_t i = 0; i < all; i++)
        if (kept == 0 || event[i]->rank < 0 || event[kept - 1]->rank != event[i]->rank)
            event[kept++] = event[i];
    *out_count = kept;
    return event;
}

static double seconds_of(const struct fc_ev_event *e)
{
    return e->seconds >= 0.0 && e->seconds < 1e9 ? e->seconds : 0.0;
}

void fc_rule_rank_hung(const struct fc_case *c)
{
    size_t count;
    const struct fc_ev_event **event = of_ranks(c, "deadline", "local", &count);
    for (size_t i = 0; event && i < count; i++) {
        const struct fc_ev_event *e = event[i];
        struct fc_finding f = {
            .severity = FC_SEV_FAIL,
            .confidence = FC_CONF_HIGH,
            .check = c->rule->id,
            .node = e->node,
            .rank = e->rank,
            .cause =
                "its own work, which needs no other rank, did not come to an end: the "
                "device, its driver or its memory is stuck, or the CPU was taken away",
            .remedy =
                "drain the node; look at its kernel log and at processes in state D; "
                "run again on it alone",
            .probe = e->phase[0] ? e->phase : NULL};
        fc_find(c->out, &f, "hung in '%s' of phase %s for %.0f s", fc_clip(e->what).s,
                e->phase[0] ? fc_clip(e->phase).s : "(none)", seconds_of(e));
    }
    free(event);
}

/* Ranks that left no trace are no node's fault when the run was told to end, or when so
 * many are silent that the way to the run's folder is the likelier reason. */
static bool silence_blames(const struct fc_evidence *ev, size_t silent)
{
    bool told =
        count_kind(ev, "signal", NULL) > 0 && count_kind(ev, "deadline", NULL) == 0;
    return !told && silent > 0 && 2 * silent < ev->ranks;
}

void fc_rule_collective_hung(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    size_t count, silent;
    const struct fc_ev_event **event = of_ranks(c, "deadline", "collective", &count);
    const struct fc_ev_event **quiet = of_ranks(c, "silent", NULL, &silent);
    bool culprit =
        count_kind(ev, "deadline", "local") > 0 || silence_blames(ev, silent);
    if (event && count && !culprit) {
        const struct fc_ev_event *e = event[0];
        struct fc_finding f = {
            .severity = FC_SEV_FAIL,
            .confidence = FC_CONF_MEDIUM,
            .check = c->rule->id,
            .node = FC_NONE,
            .rank = -1,
            .cause =
                "a rank that never entered or left the operation, or a path between "
                "nodes that lost a message",
            .remedy =
                "run the probe again on halves of the nodes to find the part that "
                "hangs; look at link state and error counters of all ports",
            .probe = e->phase[0] ? e->phase : NULL};
        fc_find(
            c->out, &f,
            "'%s' of phase %s did not end within %.0f s: %zu of %zu ranks say so, none "
            "was stuck in its own work",
            fc_clip(e->what).s, e->phase[0] ? fc_clip(e->phase).s : "(none)",
            seconds_of(e), count, ev->ranks);
    }
    free(event);
    free(quiet);
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The ranks that any event speaks of, sorted; malloc'd. */
static int *heard_of(const struct fc_case *c)
{
    int *rank = malloc((c->ev->events + 1) * sizeof *rank);
    if (!rank) {
        c->out->status = FC_NOMEM;
        return NULL;
    }
    for (size_t i = 0; i < c->ev->events; i++)
        rank[i] = c->ev->event[i].rank;
    qsort(rank, c->ev->events, sizeof *rank, by_number);
    return rank;
}

/* Rank 0 notes the silent ones. When it is itself among them, the journal has no end
 * although other ranks say how they ended: whoever does not is silent. */
static bool nobody_noted(const struct fc_evidence *ev)
{
    return !ev->end &&
           count_kind(ev, "signal", NULL) + count_kind(ev, "deadline", NULL);
}

static void find_silent(const struct fc_case *c, const struct fc_ev_event *e,
                        size_t silent)
{
    bool blames = silence_blames(c->ev, silent);
    struct fc_finding f = {
        .severity = blames ? FC_SEV_FAIL : FC_SEV_WARN,
        .confidence = blames ? FC_CONF_MEDIUM : FC_CONF_LOW,
        .check = c->rule->id,
        .node = e->node,
        .rank = e->rank,
        .cause = blames
                     ? "the process was killed (out of memory, a crash) or its node is "
                       "gone"
                     : "it was killed and the launcher ended the rest, or the run "
                       "was told to end and its word did not reach the run's folder",
        .remedy = "look at the node: is it up, and does its kernel log name the "
                  "process?"};
    fc_find(c->out, &f, "left no trace when the run ended, %zu of %zu ranks did%s%s",
            c->ev->ranks > silent ? c->ev->ranks - silent : 0, c->ev->ranks,
            e->phase[0] ? "; phase " : "", fc_clip(e->phase).s);
}

void fc_rule_silent(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    size_t count, unnoted = 0;
    const struct fc_ev_event **event = of_ranks(c, "silent", NULL, &count);
    int *heard = heard_of(c);
    struct fc_ev_event *quiet = calloc(ev->ranks + 1, sizeof *quiet);
    for (size_t i = 0; i < ev->ranks && heard && quiet && nobody_noted(ev); i++) {
        int rank = ev->rank[i].rank;
        if (!bsearch(&rank, heard, ev->events, sizeof *heard, by_number))
            quiet[unnoted++] = (struct fc_ev_event){
                .rank = rank, .node = fc_ev_node_of_rank(ev, rank), .phase = ""};
    }
    if (!quiet)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; event && i < count; i++)
        find_silent(c, event[i], count + unnoted);
    for (size_t i = 0; i < unnoted; i++)
        find_silent(c, &quiet[i], count + unnoted);
    free(quiet);
    free(heard);
    free(event);
}

void fc_rule_waited(const struct fc_case *c)
{
    size_t count;
    const struct fc_ev_event **event = of_ranks(c, "deadline", "control", &count);
    if (event && count) {
        const struct fc_ev_event *e = event[0];
        for (size_t i = 1; i < count; i++)
            e = seconds_of(event[i]) > seconds_of(e) ? event[i] : e;
        struct fc_missing m = {.class = c->rule->class,
                               .check = c->rule->id,
                               .what = "agreement of all ranks",
                               .node = FC_NONE};
        fc_miss(c->out, &m,
                "%zu rank%s (longest: %s) waited %.0f s for others at '%s' of phase %s",
                count, count > 1 ? "s" : "", fc_node_who(c->ev, e->node, e->rank).s,
                seconds_of(e), fc_clip(e->what).s,
                e->phase[0] ? fc_clip(e->phase).s : "(none)");
    }
    free(event);
}

void fc_rule_worker(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->events; i++) {
        const struct fc_ev_event *e = &c->ev->event[i];
        struct fc_finding f = {.severity = FC_SEV_WARN,
                               .confidence = FC_CONF_MEDIUM,
                               .check = c->rule->id,
                               .node = e->node,
                               .rank = e->rank,
                               .cause =
                                   "a driver or kernel call crashed or did not return",
                               .remedy = "look at the kernel log of the node"};
        if (is_kind(e, "worker", NULL))
            fc_find(c->out, &f, "lost its worker in '%s': %s", fc_clip(e->what).s,
                    fc_clip(e->message).s);
    }
}

/* Changes of addresses and of the subnet's manager are part of a fabric's life. */
static bool is_trouble(const struct fc_ev_event *e)
{
    return is_kind(e, "verbs", NULL) && e->node != FC_NONE &&
           (strstr(e->what, "error") || strstr(e->what, "fatal"));
}

/* One finding a node, with its first message. */
void fc_rule_verbs_event(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    size_t *count = calloc(ev->nodes + 1, sizeof *count);
    if (!count)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; count && i < ev->events; i++)
        if (is_trouble(&ev->event[i]))
            count[ev->event[i].node]++;
    for (size_t i = 0; count && i < ev->events; i++) {
        const struct fc_ev_event *e = &ev->event[i];
        if (!is_trouble(e) || count[e->node] == 0)
            continue;
        struct fc_finding f = {
            .severity = FC_SEV_WARN,
            .confidence = FC_CONF_HIGH,
            .check = c->rule->id,
            .node = e->node,
            .rank = -1,
            .cause = "the link went down, or the card gave up, while it was used",
            .remedy = "look at the kernel log and at the switch port's log; reseat or "
                      "swap the cable; drain the node when it comes again",
            .probe = e->phase[0] ? e->phase : NULL};
        char times[40] = "";
        if (count[e->node] > 1)
            snprintf(times, sizeof times, " (and %zu more)", count[e->node] - 1);
        fc_find(c->out, &f, "an RDMA device told of itself: %s%s",
                fc_clip(e->message).s, times);
        count[e->node] = 0;
    }
    free(count);
}

void fc_rule_journal(const struct fc_case *c)
{
    for (size_t i = 0; i < c->ev->events; i++) {
        const struct fc_ev_event *e = &c->ev->event[i];
        struct fc_missing m = {.class = c->rule->class,
                               .check = c->rule->id,
                               .what = "a whole journal",
                               .node = FC_NONE};
        if (is_kind(e, "journal", NULL))
            fc_miss(c->out, &m, "it could not be written where it was asked for: %s",
                    fc_clip(e->message).s);
    }
}
