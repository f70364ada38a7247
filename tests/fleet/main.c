// SPDX-License-Identifier: BSD-3-Clause
/* fleet OPTIONS: writes a simulated fleet's journal to stdout, its first attempt; then,
 * with the same options and --suspects FILE, what a retest of those adds, and the end.
 * FILE has a line "METRIC NODE RANK" for each; "-" stands for no node, -1 for no rank;
 * of pairs also "MOST PARTNER…", pairs at the same time and whom to be measured with.
 * --truth FILE: what is ill, one JSON object a line. --names FILE: "NAME ORIGINAL" of
 * each node, for a shuffled fleet. It links nothing of the product. */
#include "fleet.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES,
    RANKS,
    RAILS,
    LEAF,
    CLASSES,
    SAMPLES,
    ROUNDS,
    SIGMA_B,
    SIGMA_W,
    SPIKES,
    SEED,
    SHUFFLE,
    NO_SWITCH,
    CROSS,
    FAULT,
    SUSPECTS,
    TRUTH,
    NAMES
};

static const struct option options[] = {
    {"nodes", 1, NULL, NODES},
    {"ranks", 1, NULL, RANKS},
    {"rails", 1, NULL, RAILS},
    {"leaf", 1, NULL, LEAF},
    {"classes", 1, NULL, CLASSES},
    {"samples", 1, NULL, SAMPLES},
    {"rounds", 1, NULL, ROUNDS},
    {"sigma-b", 1, NULL, SIGMA_B},
    {"sigma-w", 1, NULL, SIGMA_W},
    {"spikes", 1, NULL, SPIKES},
    {"seed", 1, NULL, SEED},
    {"shuffle", 1, NULL, SHUFFLE},
    {"no-switch", 0, NULL, NO_SWITCH},
    {"cross", 1, NULL, CROSS},
    {"fault", 1, NULL, FAULT},
    {"suspects", 1, NULL, SUSPECTS},
    {"truth", 1, NULL, TRUTH},
    {"names", 1, NULL, NAMES},
    {NULL, 0, NULL, 0},
};

struct files {
    const char *suspects, *truth, *names;
};

static bool read_count(const char *text, int least, int *out)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || end == text || value < least || value > 1 << 20)
        return false;
    *out = (int)value;
    return true;
}

static bool read_percent(const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    *out = value / 100.0;
    return *end == '\0' && end != text && value >= 0.0 && value < 50.0;
}

static bool read_option(struct fleet *f, struct files *files, int option)
{
    switch (option) {
    case NODES:
        return read_count(optarg, 1, &f->nodes);
    case RANKS:
        return read_count(optarg, 1, &f->ranks);
    case RAILS:
        return read_count(optarg, 1, &f->rails) && f->rails <= 64;
    case LEAF:
        return read_count(optarg, 1, &f->leaf_size);
    case CLASSES:
        return read_count(optarg, 1, &f->classes) && f->classes <= 4;
    case SAMPLES:
        return read_count(optarg, 1, &f->samples);
    case ROUNDS:
        return read_count(optarg, 0, &f->rounds);
    case SIGMA_B:
        return read_percent(optarg, &f->sigma_b);
    case SIGMA_W:
        return read_percent(optarg, &f->sigma_w);
    case SPIKES:
        return read_percent(optarg, &f->spikes);
    case SEED:
        f->seed = strtoull(optarg, NULL, 10);
        return true;
    case SHUFFLE:
        f->shuffle = strtoull(optarg, NULL, 10);
        return true;
    case NO_SWITCH:
        f->tell_switch = false;
        return true;
    case CROSS:
        f->cross = true;
        f->cross_silent = strcmp(optarg, "silent") == 0;
        return f->cross_silent || strcmp(optarg, "open") == 0;
    case FAULT:
        return fleet_fault(f, optarg);
    case SUSPECTS:
        files->suspects = optarg;
        return true;
    case TRUTH:
        files->truth = optarg;
        return true;
    case NAMES:
        files->names = optarg;
        return true;
    default:
        return false;
    }
}

/* --- files beside the journal --- */

static bool write_names(const struct fleet *f, const char *path)
{
    FILE *out = fopen(path, "w");
    for (int i = 0; out && i < f->nodes; i++)
        fprintf(out, "n%d n%d\n", f->number[i], i);
    return out && fclose(out) == 0;
}

static void write_fault(const struct fleet *f, const struct fault *x, FILE *out)
{
    static const char *const ways[] = {"both", "sends", "receives"};
    fprintf(out, "{\"kind\":\"%s\",\"metric\":\"%s\",\"percent\":%g,\"nodes\":[",
            fault_names[x->kind], x->metric, x->percent);
    for (int i = 0; i < x->nodes; i++)
        fprintf(out, "%s\"n%d\"", i ? "," : "", f->number[x->node[i]]);
    fprintf(out, "],\"direction\":\"%s\"", ways[x->direction]);
    if (x->peer >= 0)
        fprintf(out, ",\"peer\":\"n%d\"", f->number[x->peer]);
    if (x->rail >= 0)
        fprintf(out, ",\"rail\":%d", x->rail);
    if (x->leaf >= 0 && f->rails == 1)
        fprintf(out, ",\"switch\":\"leaf-%d\"", x->leaf);
    else if (x->leaf >= 0)
        fprintf(out, ",\"switch\":\"leaf-%d-rail-%d\"", x->leaf, x->rail);
    if (x->leaf >= 0) {
        fprintf(out, ",\"members\":[");
        bool comma = false;
        for (int i = 0; i < f->nodes; i++)
            if (fleet_leaf(f, i) == x->leaf) {
                fprintf(out, "%s\"n%d\"", comma ? "," : "", f->number[i]);
                comma = true;
            }
        fprintf(out, "]");
    }
    fprintf(out, "}\n");
}

static bool write_truth(const struct fleet *f, const char *path)
{
    FILE *out = fopen(path, "w");
    for (int i = 0; out && i < f->faults; i++)
        write_fault(f, &f->fault[i], out);
    return out && fclose(out) == 0;
}

int main(int argc, char **argv)
{
    struct fleet f = {.nodes = 64,
                      .ranks = 1,
                      .rails = 1,
                      .classes = 1,
                      .samples = 5,
                      .rounds = -1,
                      .sigma_b = 0.005,
                      .sigma_w = 0.01,
                      .spikes = 0.02,
                      .seed = 1,
                      .tell_switch = true};
    struct files files = {NULL, NULL, NULL};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (!read_option(&f, &files, option)) {
            fprintf(stderr, "fleet: wrong option or value; see tests/fleet/main.c\n");
            return 2;
        }
    if (f.leaf_size == 0)
        f.leaf_size = f.nodes < 16 ? 3 : f.nodes < 128 ? 16 : 32;
    if (f.rounds < 0)
        f.rounds = f.nodes > 64 ? 3 : 0;
    if (!fleet_open(&f))
        return 2;
    fleet_draw(&f);
    bool ok = (!files.truth || write_truth(&f, files.truth)) &&
              (!files.names || write_names(&f, files.names));
    if (files.suspects) {
        ok = ok && fleet_suspects(&f, files.suspects);
        if (ok)
            emit_again(&f);
    } else {
        emit_first(&f);
    }
    fleet_close(&f);
    if (!ok || fflush(stdout) != 0) {
        fprintf(stderr, "fleet: a file cannot be read or written\n");
        return 2;
    }
    return 0;
}
