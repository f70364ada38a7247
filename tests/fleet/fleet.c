// SPDX-License-Identifier: BSD-3-Clause
#include "fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fault_names[FAULT_KINDS] = {
    "device",    "nic",     "link",  "lossy",   "switch",
    "shortfall", "missing", "wrong", "corrupt", "lost",
};

/* --- nodes --- */

bool fleet_open(struct fleet *f)
{
    size_t nodes = (size_t)f->nodes;
    f->members = f->nodes + f->nodes % 2;
    f->circle = malloc((nodes + 1) * sizeof *f->circle);
    f->first_rank = malloc(nodes * sizeof *f->first_rank);
    f->number = malloc(nodes * sizeof *f->number);
    f->again = calloc(nodes * (size_t)f->ranks, sizeof *f->again);
    f->meet = calloc(nodes, sizeof *f->meet);
    f->train = calloc(nodes, sizeof *f->train);
    if (!f->circle || !f->first_rank || !f->number || !f->again || !f->meet ||
        !f->train) {
        fprintf(stderr, "fleet: out of memory\n");
        return false;
    }
    struct dice dice = dice_for(f->seed, "circle", 0, 0);
    dice_order(&dice, f->circle, f->nodes);
    if (f->members > f->nodes)
        f->circle[f->nodes] = -1;
    struct dice ranks = dice_for(f->shuffle, "ranks", 0, 0);
    struct dice names = dice_for(f->shuffle, "names", 0, 0);
    if (f->shuffle) {
        dice_order(&ranks, f->first_rank, f->nodes);
        dice_order(&names, f->number, f->nodes);
    }
    for (int i = 0; i < f->nodes; i++) {
        f->first_rank[i] = (f->shuffle ? f->first_rank[i] : i) * f->ranks;
        f->number[i] = f->shuffle ? f->number[i] : i;
    }
    return true;
}

void fleet_close(struct fleet *f)
{
    free(f->circle);
    free(f->first_rank);
    free(f->number);
    free(f->again);
    free(f->meet);
    free(f->train);
    free(f->chosen);
}

int fleet_leaf(const struct fleet *f, int node)
{
    return node / f->leaf_size;
}

int fleet_class(const struct fleet *f, int node)
{
    return node % f->classes;
}

/* --- the schedule: a table round which all but one move by a seat each round --- */

int fleet_rounds(const struct fleet *f)
{
    return f->members < 2 ? 0 : f->members - 1;
}

int fleet_walked(const struct fleet *f)
{
    return f->rounds && f->rounds < fleet_rounds(f) ? f->rounds : fleet_rounds(f);
}

bool fleet_pair(const struct fleet *f, int round, int i, int *a, int *b)
{
    int seats = f->members - 1;
    *a = f->circle[i ? (round + i) % seats : seats];
    *b = f->circle[(round + seats - i) % seats];
    return *a >= 0 && *b >= 0;
}

/* --- faults --- */

static bool set_field(struct fault *x, const char *key, const char *value)
{
    if (strcmp(key, "percent") == 0)
        x->percent = atof(value);
    else if (strcmp(key, "metric") == 0)
        snprintf(x->metric, sizeof x->metric, "%s", value);
    else if (strcmp(key, "node") == 0)
        x->node[0] = atoi(value);
    else if (strcmp(key, "peer") == 0)
        x->peer = atoi(value);
    else if (strcmp(key, "rail") == 0)
        x->rail = atoi(value);
    else if (strcmp(key, "leaf") == 0)
        x->leaf = atoi(value);
    else if (strcmp(key, "count") == 0)
        x->nodes = atoi(value);
    else if (strcmp(key, "direction") == 0)
        x->direction = strcmp(value, "sends") == 0      ? SENDS
                       : strcmp(value, "receives") == 0 ? RECEIVES
                                                        : BOTH;
    else
        return false;
    return x->nodes >= 1 && x->nodes <= ILL_MAX;
}

bool fleet_fault(struct fleet *f, const char *text)
{
    char copy[256], *rest = copy;
    struct fault x = {
        .percent = 20.0, .nodes = 1, .node = {-1}, .peer = -1, .rail = -1, .leaf = -1};
    snprintf(copy, sizeof copy, "%s", text);
    const char *kind = strsep(&rest, ":");
    while (x.kind < FAULT_KINDS && strcmp(kind, fault_names[x.kind]) != 0)
        x.kind++;
    bool metrics = x.kind == FAULT_DEVICE || x.kind == FAULT_MISSING ||
                   x.kind == FAULT_WRONG || x.kind == FAULT_SHORTFALL;
    snprintf(x.metric, sizeof x.metric, "%s", metrics ? "device.gemm.fp32" : "pair.bw");
    bool ok = x.kind < FAULT_KINDS && f->faults < FAULTS_MAX;
    for (char *field; ok && rest && (field = strsep(&rest, ","));) {
        const char *key = strsep(&field, "=");
        ok = field && set_field(&x, key, field);
    }
    if (ok)
        f->fault[f->faults++] = x;
    else
        fprintf(stderr, "fleet: '%s' is no fault\n", text);
    return ok;
}

static bool taken(const struct fleet *f, const struct fault *x, int count, int node)
{
    for (const struct fault *y = f->fault; y < x; y++)
        for (int i = 0; i < y->nodes; i++)
            if (y->node[i] == node || y->peer == node)
                return true;
    for (int i = 0; i < count; i++)
        if (x->node[i] == node)
            return true;
    return false;
}

/* A link that the first attempt measures. */
static void draw_link(const struct fleet *f, struct fault *x, struct dice *dice)
{
    bool found = x->peer >= 0;
    for (int tries = 0; !found && tries < 100000; tries++) {
        int round = (int)dice_below(dice, (uint32_t)fleet_walked(f));
        int i = (int)dice_below(dice, (uint32_t)f->members / 2);
        int a, b;
        if (!fleet_pair(f, round, i, &a, &b))
            continue;
        bool fits = x->node[0] < 0 || x->node[0] == a;
        found = fits && !taken(f, x, 0, a) && !taken(f, x, 0, b);
        if (found) {
            x->node[0] = a;
            x->peer = b;
        }
    }
}

void fleet_draw(struct fleet *f)
{
    for (int k = 0; k < f->faults; k++) {
        struct fault *x = &f->fault[k];
        struct dice dice = dice_for(f->seed, "faults", (uint64_t)k, 0);
        bool linked = x->kind == FAULT_LINK || x->kind == FAULT_LOSSY;
        if (linked)
            draw_link(f, x, &dice);
        if (x->kind == FAULT_SWITCH || x->kind == FAULT_SHORTFALL)
            x->nodes = 0;
        int leaves = (f->nodes + f->leaf_size - 1) / f->leaf_size;
        if (x->kind == FAULT_SWITCH && x->leaf < 0)
            x->leaf = (int)dice_below(&dice, (uint32_t)leaves);
        for (int i = 0; !linked && i < x->nodes; i++) {
            int node = i == 0 ? x->node[0] : -1;
            while (node < 0 || taken(f, x, i, node))
                node = (int)dice_below(&dice, (uint32_t)f->nodes);
            x->node[i] = node;
        }
        bool of_rail = x->kind == FAULT_NIC || linked || x->kind == FAULT_CORRUPT ||
                       x->kind == FAULT_SWITCH;
        if (of_rail && f->rails > 1 && x->rail < 0)
            x->rail = (int)dice_below(&dice, (uint32_t)f->rails);
    }
}

const struct fault *fleet_ill(const struct fleet *f, enum fault_kind kind, int node,
                              const char *metric)
{
    for (int k = 0; k < f->faults; k++) {
        const struct fault *x = &f->fault[k];
        if (x->kind != kind || (metric && strcmp(x->metric, metric) != 0))
            continue;
        if (kind == FAULT_SHORTFALL)
            return x;
        for (int i = 0; i < x->nodes; i++)
            if (x->node[i] == node)
                return x;
    }
    return NULL;
}

bool fleet_lost(const struct fleet *f, int node, int round)
{
    return fleet_ill(f, FAULT_LOST, node, NULL) &&
           (round < 0 || round >= (fleet_walked(f) + 1) / 2);
}

/* --- what parts are worth --- */

struct noise fleet_noise(const struct fleet *f)
{
    return (struct noise){.deviation = f->sigma_w, .spikes = f->spikes};
}

static double left(const struct fault *x)
{
    return x ? 1.0 - x->percent / 100.0 : 1.0;
}

double fleet_device(const struct fleet *f, int node, int device, const char *metric)
{
    static const double of_class[] = {1.0, 0.7, 1.4, 0.5};
    struct dice dice = dice_for(f->seed, metric, (uint64_t)node, (uint64_t)device);
    double worth = of_class[fleet_class(f, node) % 4];
    worth *= 1.0 + f->sigma_b * dice_normal(&dice);
    worth *= left(fleet_ill(f, FAULT_SHORTFALL, node, metric));
    return device == 0 ? worth * left(fleet_ill(f, FAULT_DEVICE, node, metric)) : worth;
}

/* One direction of a NIC. */
static double nic_of(const struct fleet *f, int node, int rail, enum direction way)
{
    struct dice dice = dice_for(f->seed, way == SENDS ? "sends" : "receives",
                                (uint64_t)node, (uint64_t)rail);
    double worth = 1.0 + f->sigma_b * dice_normal(&dice);
    const struct fault *x = fleet_ill(f, FAULT_NIC, node, NULL);
    bool ill = x && (x->rail < 0 || x->rail == rail) &&
               (x->direction == BOTH || x->direction == way);
    return ill ? worth * left(x) : worth;
}

/* Does the fault slow what `from` sends to `to`? */
static bool on_link(const struct fault *x, int from, int to, int rail)
{
    if (x->rail >= 0 && x->rail != rail)
        return false;
    bool there = x->node[0] == from && x->peer == to;
    bool back = x->node[0] == to && x->peer == from;
    return x->direction == BOTH ? there || back : x->direction == SENDS ? there : back;
}

double fleet_link(const struct fleet *f, int from, int rail, int to, int peer_rail,
                  struct noise *noise)
{
    double worth =
        fmin(nic_of(f, from, rail, SENDS), nic_of(f, to, peer_rail, RECEIVES));
    *noise = fleet_noise(f);
    worth *= left(fleet_ill(f, FAULT_SHORTFALL, from, "pair.bw"));
    for (int k = 0; k < f->faults; k++) {
        const struct fault *x = &f->fault[k];
        bool here = fleet_leaf(f, from) == x->leaf,
             there = fleet_leaf(f, to) == x->leaf;
        bool crosses = here != there && (x->rail < 0 || x->rail == rail);
        if (x->kind == FAULT_SWITCH && crosses)
            worth *= left(x);
        if (x->kind == FAULT_LINK && on_link(x, from, to, rail))
            worth *= left(x);
        if (x->kind == FAULT_LOSSY && on_link(x, from, to, rail)) {
            noise->bad = 0.85;
            noise->bad_min = 0.1;
        }
    }
    return worth;
}
