// SPDX-License-Identifier: BSD-3-Clause
/* A simulated fleet: what its parts are worth, and which of them are ill.
 *
 * Nodes have a class, a leaf switch, `rails` NICs and `ranks` ranks, one device each. A
 * healthy part is worth 1 + sigma_b z of its class, z normal; a pair carries what its
 * slower end does. Each measurement adds noise (dice.h). Faults are drawn by the seed
 * where an option does not say which part. A part keeps its worth in all attempts; the
 * noise of each attempt is fresh. Refuses to know: the product, thresholds, JSON. */
#ifndef TESTS_FLEET_FLEET_H
#define TESTS_FLEET_FLEET_H

#include "dice.h"

#include <stdbool.h>
#include <stddef.h>

enum { FAULTS_MAX = 8, ILL_MAX = 512 };

enum fault_kind {
    FAULT_DEVICE,    /* a metric of a node's first device is slow */
    FAULT_NIC,       /* one rail of a node, both directions or one */
    FAULT_LINK,      /* between two nodes, both directions or one */
    FAULT_LOSSY,     /* a link that loses packets: many samples are slow, some very */
    FAULT_SWITCH,    /* what crosses the border of a leaf switch */
    FAULT_SHORTFALL, /* every node's metric, alike */
    FAULT_MISSING,   /* a node's metric was not measured */
    FAULT_WRONG,     /* a node's device computes wrong results */
    FAULT_CORRUPT,   /* what a node sends arrives wrong */
    FAULT_LOST,      /* a node that leaves in the middle of the pairs */
    FAULT_KINDS
};
extern const char *const fault_names[FAULT_KINDS];

enum direction { BOTH, SENDS, RECEIVES };

struct fault {
    enum fault_kind kind;
    enum direction direction;
    char metric[48];
    double percent;
    int node[ILL_MAX], nodes; /* the ill ones; of a link the end that sends */
    int peer;                 /* of a link; -1: none */
    int rail;                 /* -1: all */
    int leaf;                 /* -1: none */
};

/* A pair of a retest. */
struct chosen {
    int node, partner;
    int turn, most; /* of the node's pairs; pairs at the same time */
    int order;      /* as they were told */
    int step;       /* when; -1: never */
};

struct fleet {
    int nodes, ranks, rails, leaf_size, classes, samples, rounds; /* rounds: 0: all */
    double sigma_b, sigma_w, spikes;
    uint64_t seed, shuffle; /* shuffle: 0: in order */
    bool tell_switch, cross, cross_silent;
    struct fault fault[FAULTS_MAX];
    int faults;
    int *circle;     /* [members]: who stands where in the schedule; -1: nobody */
    int members;     /* nodes, rounded up to even */
    int *first_rank; /* [nodes] */
    int *number;     /* [nodes]: in its name */
    bool *again;     /* [nodes * ranks]: devices to be measured again */
    bool *meet;      /* [nodes]: its pairs are measured again */
    bool *train;     /* [nodes]: its training is */
    struct chosen *chosen;
    int choices, steps; /* 0: nobody named partners */
};

/* From the command line, after the options were read. False without memory. */
bool fleet_open(struct fleet *fleet);
void fleet_close(struct fleet *fleet);
/* Reads KIND[:key=value,...]. False when it is none; why is on stderr. */
bool fleet_fault(struct fleet *fleet, const char *text);
/* Reads who is suspect, and journals that as the runner does. */
bool fleet_suspects(struct fleet *fleet, const char *path);
/* Draws the parts of each fault that were not named. */
void fleet_draw(struct fleet *fleet);
int fleet_leaf(const struct fleet *fleet, int node);
int fleet_class(const struct fleet *fleet, int node);
int fleet_rounds(const struct fleet *fleet); /* of the whole schedule */
int fleet_walked(const struct fleet *fleet); /* in the first attempt */
/* The i-th pair of a round; false when somebody rests. */
bool fleet_pair(const struct fleet *fleet, int round, int i, int *a, int *b);
/* True when the node has left by that round (of attempt 1; later ones: -1). */
bool fleet_lost(const struct fleet *fleet, int node, int round);
/* A fault of that kind that has the node ill in that metric (NULL: any); or NULL. */
const struct fault *fleet_ill(const struct fleet *fleet, enum fault_kind kind, int node,
                              const char *metric);

/* What a device, a direction of a NIC is worth, 1 being the class's middle. */
double fleet_device(const struct fleet *fleet, int node, int device,
                    const char *metric);
/* Rate and noise of what `from` sends to `to` on these rails, 1 being healthy. */
double fleet_link(const struct fleet *fleet, int from, int rail, int to, int peer_rail,
                  struct noise *noise);
struct noise fleet_noise(const struct fleet *fleet);

/* The journal's lines to stdout: attempt 1 with all before it, or attempt 2 and the
 * end. */
void emit_first(const struct fleet *fleet);
void emit_again(const struct fleet *fleet);
/* Of emit.c, for its parts: */
int emit_source(void); /* the next N of "src" */
void emit_phase(const char *name, const char *state, int attempt);
void emit_pairs(const struct fleet *fleet, int attempt);
void emit_training(const struct fleet *fleet, int attempt);
void emit_collectives(const struct fleet *fleet);

struct record {
    const char *probe, *metric, *unit, *subject, *params, *path, *how;
    bool lower;
    long long bytes, wrong; /* -1: null */
    double limit;           /* 0: null */
    const char *basis;
    const char *reason; /* why it failed; NULL: it is ok */
    int attempt, rank;
};
void emit_record(const struct record *record, const struct sampled *values);

#endif
