// SPDX-License-Identifier: BSD-3-Clause
/* What is measured again, from a file of suspects: devices, training, and pairs. Of
 * pairs either what the suspects name (each with its partners, every first one before
 * anybody's second, no more at the same time than they allow), or, where they name
 * nobody, all of their pairs of the schedule's rounds. */
#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

static void mark(const struct fleet *f, const char *metric, int node, int device)
{
    if (strncmp(metric, "device.", 7) == 0)
        for (int k = 0; k < f->ranks; k++)
            if (device < 0 || device == k)
                f->again[node * f->ranks + k] = true;
    if (strncmp(metric, "pair.", 5) == 0)
        f->meet[node] = true;
    if (strncmp(metric, "training.", 9) == 0)
        f->train[node] = true;
}

static int node_of_name(const struct fleet *f, const char *name)
{
    int number = atoi(name + (name[0] == 'n'));
    for (int i = 0; i < f->nodes; i++)
        if (name[0] == 'n' && f->number[i] == number)
            return i;
    return -1;
}

/* -1: none; *device is left alone when the rank is not told. */
static int node_of(const struct fleet *f, const char *name, int rank, int *device)
{
    for (int i = 0; i < f->nodes && rank >= 0; i++)
        if (rank >= f->first_rank[i] && rank < f->first_rank[i] + f->ranks) {
            *device = rank - f->first_rank[i];
            return i;
        }
    return rank < 0 ? node_of_name(f, name) : -1;
}

static bool add_pair(struct fleet *f, int node, int partner, int turn, int most)
{
    struct chosen *more =
        realloc(f->chosen, ((size_t)f->choices + 1) * sizeof *f->chosen);
    if (!more)
        return false;
    f->chosen = more;
    f->chosen[f->choices] = (struct chosen){node, partner, turn, most, f->choices, -1};
    f->choices++;
    return true;
}

/* "4 n7 n8": how many at the same time, and with whom. */
static bool read_partners(struct fleet *f, int node, char *words)
{
    char *rest = NULL, *word = strtok_r(words, " \n", &rest);
    int most = word ? atoi(word) : 0, turn = 0;
    bool ok = true;
    while (ok && word && (word = strtok_r(NULL, " \n", &rest))) {
        int partner = node_of_name(f, word);
        if (partner >= 0 && partner != node)
            ok = add_pair(f, node, partner, turn++, most < 1 ? 1 : most);
    }
    return ok;
}

static int by_turn(const void *pa, const void *pb)
{
    const struct chosen *a = pa, *b = pb;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* True when it, or the same the other way round, is in a step already. */
static bool is_twin(const struct fleet *f, int at)
{
    const struct chosen *x = &f->chosen[at];
    for (int i = 0; i < at; i++) {
        const struct chosen *y = &f->chosen[i];
        if ((x->node == y->node && x->partner == y->partner) ||
            (x->node == y->partner && x->partner == y->node))
            return true;
    }
    return false;
}

/* Gives each pair the first step that has room for it. */
static void plan_steps(struct fleet *f)
{
    qsort(f->chosen, (size_t)f->choices, sizeof *f->chosen, by_turn);
    for (int at = 0; at < f->choices; at++) {
        struct chosen *x = &f->chosen[at];
        int step = is_twin(f, at) ? -1 : 0;
        for (bool fits = step < 0; !fits; step += !fits) {
            int count = 0;
            fits = true;
            for (int i = 0; i < at; i++) {
                const struct chosen *y = &f->chosen[i];
                bool meets = y->node == x->node || y->partner == x->node ||
                             y->node == x->partner || y->partner == x->partner;
                count += y->step == step;
                fits = fits && !(y->step == step && meets);
            }
            fits = fits && count < x->most;
        }
        x->step = step;
        f->steps = step >= f->steps ? step + 1 : f->steps;
    }
}

bool fleet_suspects(struct fleet *f, const char *path)
{
    char line[LINE_BYTES], metric[64], name[64];
    int rank, count = 0, used;
    bool ok = true;
    FILE *in = fopen(path, "r");
    if (!in)
        return false;
    while (ok && fgets(line, sizeof line, in) &&
           sscanf(line, "%63s %63s %d%n", metric, name, &rank, &used) == 3) {
        int device = -1, node = node_of(f, name, rank, &device);
        if (node < 0)
            continue;
        mark(f, metric, node, device);
        ok = strncmp(metric, "pair.", 5) != 0 || read_partners(f, node, line + used);
        printf("%s{\"metric\":\"%s\",\"node\":\"n%d\",\"rank\":%d,\"why\":\"told\"}",
               count++ ? "," : "{\"type\":\"suspects\",\"attempt\":2,\"suspects\":[",
               metric, f->number[node], rank < 0 ? f->first_rank[node] : rank);
    }
    if (count)
        printf("]}\n");
    fclose(in);
    if (f->choices)
        plan_steps(f);
    return ok;
}
