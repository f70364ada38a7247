// SPDX-License-Identifier: BSD-3-Clause
/* Evidence: a journal's lines as typed arrays that rules can walk.
 *
 * Nothing in it depends on the order of the lines: nodes stand in natural order of
 * names, ranks by number, records by seq, all else by content. Lines that are not
 * what their type says are counted, not used: the coverage rules make that visible.
 * All text is borrowed from the journal. Collective: no. Refuses to know: what any
 * of it means for a verdict. */
#ifndef FC_JUDGE_EVIDENCE_H
#define FC_JUDGE_EVIDENCE_H

#include "core/journal.h"
#include "core/metric.h"
#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define FC_NONE SIZE_MAX
#define FC_EV_NO_LEAF UINT32_MAX
/* More NICs than any node has. */
enum { FC_EV_RAILS = 64 };

struct fc_ev_node {
    const char *name;
    const char *class;  /* one pointer a class; "" when no node line says */
    const json_t *leaf; /* its switch or a list of them by rail, unchecked; or NULL */
    const json_t *differs; /* from the usual node's picture, unchecked; or NULL */
    size_t usual;          /* that node; FC_NONE: it does not differ, or nobody says */
    bool declared;         /* has a node line */
    size_t ranks;
};

struct fc_ev_rank {
    int rank;
    size_t node;
};

enum fc_ev_state {
    FC_EV_OK,
    FC_EV_FAILED,
    FC_EV_UNMEASURED, /* skipped, timeout, unreadable, or a word of a newer version */
};

struct fc_ev_record {
    json_t *line; /* borrowed, or of `made` when it got its seq here */
    int64_t seq;
    const char *metric;           /* as written */
    const struct fc_metric *info; /* NULL: not in this version's catalogue */
    const char *probe, *unit, *kind;
    bool higher;
    size_t node, peer; /* FC_NONE: none */
    int rank;          /* -1: none */
    enum fc_ev_state state;
    const char *status, *reason; /* reason may be NULL */
    double median, mad, p99;     /* NaN: none */
    double limit;                /* NaN: none; else positive */
    const char *limit_basis;
    const char *path;              /* what carried the bytes; NULL: not told */
    int64_t samples, wrong, bytes; /* -1: none */
    int attempt;
    const char *who;  /* the subject in canonical text, equal for equal subjects */
    const char *what; /* metric, parameters without the attempt, bytes: the same way */
};

/* The attempts of one measurement: same who, same what. */
struct fc_ev_series {
    const struct fc_ev_record **record; /* by attempt, then seq */
    size_t count;
};

/* One matrix line: pairs that were measured in one round. */
struct fc_ev_round {
    int64_t bytes;         /* -1: not told */
    int64_t round, rounds; /* rounds: of the whole schedule */
    int attempt, concurrency;
    int rail, peer_rail; /* NICs of a and of b; -1: not told */
    const char *metric;  /* of the bandwidths */
};

/* One pair of one matrix line; small, since a full schedule of 1024 nodes has half a
 * million. Bandwidths in GB/s, latency in seconds, NaN: none; all else is positive. */
struct fc_ev_pair {
    double bw_ab, bw_ba, latency, limit;
    const char *reason;         /* NULL: none */
    const char *path;           /* its name; NULL: not told */
    int a_rank, b_rank;         /* a < b is not promised */
    uint32_t a_node, b_node;    /* equal for two ranks of one node */
    int32_t wrong_ab, wrong_ba; /* elements that b, and a, got; -1: not verified */
    uint32_t round;             /* index into fc_evidence.round */
    enum fc_ev_state state;
};

/* One way of a pair; all of them in the order of who sends to whom. */
struct fc_ev_way {
    double bw, latency; /* of the pair; NaN: none, or its state is not ok */
    uint32_t back : 1;  /* b to a */
    uint32_t again : 1; /* of an attempt beyond the first */
    uint32_t pair : 30; /* index */
    uint32_t from,
        to;         /* node * rails + rail; inside a node places in fc_evidence.rank */
    uint32_t arena; /* index into fc_evidence.arena */
};

/* Whose pairs can be compared. */
struct fc_ev_arena {
    size_t node; /* whose ranks they are; FC_NONE: they are of nodes */
    const char *metric;
};

struct fc_ev_fact {
    size_t node;
    int rank;                 /* -1: of the whole node */
    const char *phase;        /* it was true while this phase measured; NULL: before */
    size_t order;             /* among the fact lines */
    const json_t *facts;      /* an object or NULL */
    const json_t *unreadable; /* an object or NULL */
};

struct fc_ev_event {
    const char *kind, *phase, *what, *wait, *message; /* never NULL */
    size_t node;                                      /* FC_NONE: none */
    int rank;                                         /* -1: none */
    double seconds;
};

struct fc_ev_phase {
    const char *name, *status, *reason; /* status "" while it is only begun */
    bool end;
    int attempt;
};

struct fc_ev_plan {
    const char *name, *reason; /* reason: why it is skipped; NULL for a planned probe */
    bool demanded;
};

struct fc_evidence {
    const json_t *run, *profile, *end; /* lines; profile and end may be NULL */
    bool has_plan;
    struct fc_ev_node *node;
    size_t nodes;
    struct fc_ev_rank *rank; /* by rank; each rank once */
    size_t ranks;
    size_t rank_conflicts; /* ranks that two nodes claim */
    struct fc_ev_record *record;
    size_t records;
    struct fc_ev_series *series; /* by metric, node, who, what */
    size_t series_count;
    struct fc_ev_round *round; /* by attempt, then round */
    size_t rounds;
    struct fc_ev_pair *pair; /* by round, then as the line has them */
    size_t pairs;
    struct fc_ev_way *way; /* by arena, from, to, then as pairs stand */
    size_t ways;
    struct fc_ev_arena *arena; /* between nodes first, then by node; by metric */
    size_t arenas;
    size_t rails;           /* NICs of a node, at least 1 */
    uint32_t *leaf;         /* [nodes * rails]: leaf switch of the NIC, or NO_LEAF */
    const char **leaf_name; /* [leaves], sorted */
    size_t leaves;
    struct fc_ev_fact *fact; /* by node, then rank */
    size_t facts;
    struct fc_ev_event *event;
    size_t events;
    struct fc_ev_phase *phase;
    size_t phases;
    struct fc_ev_plan *plan; /* planned probes, each once, then skipped ones */
    size_t plans;
    size_t malformed; /* lines of a known type that are not what it says */
    size_t bad_lines; /* lines that are no JSON object with a type */
    bool cut;         /* the last line is cut */
    /* memory */
    const struct fc_ev_record **by_series;
    json_t *made;   /* lines that got a seq here */
    json_t *names;  /* node name -> index */
    json_t *intern; /* canonical texts */
};

/* `journal` must outlive `out`. FC_USAGE when it has no run line of our schema.
 * Ownership: fc_evidence_close. */
enum fc_status fc_evidence_open(const struct fc_journal_text *journal,
                                struct fc_evidence *out,
                                struct fc_error *err) FC_MUST_USE;
void fc_evidence_close(struct fc_evidence *ev);

/* The last record of a series that was measured (state ok, finite median); NULL:
 * none. */
const struct fc_ev_record *fc_ev_latest(const struct fc_ev_series *series);
/* The last record of a series, whatever became of it. */
const struct fc_ev_record *fc_ev_last(const struct fc_ev_series *series);
/* True when the record speaks of one node (or a rank, GPU, NIC or link of it). */
bool fc_ev_of_node(const struct fc_ev_record *record);
/* True when it speaks of a pair of nodes: a metric of pairs with a node and a peer. */
bool fc_ev_of_pair(const struct fc_ev_record *record);
/* Of limit or its inverse for metrics where less is better; NaN without a limit. */
double fc_ev_share(const struct fc_ev_record *record);
/* The probe that measures pairs by this bandwidth or latency: "pairs" where the metric
 * is not in the catalogue; static. */
const char *fc_ev_pair_probe(const char *metric);
/* What their latency is called, and the bandwidth beside a latency (a bandwidth's is
 * itself); static, or `metric`. */
const char *fc_ev_pair_latency(const char *metric);
const char *fc_ev_pair_bandwidth(const char *metric);
/* What is counted of data that is wrong: "byte", "element"; static. */
const char *fc_ev_wrong_unit(const char *probe);
/* True when there are matrix lines of the probe. */
bool fc_ev_has_rounds(const struct fc_evidence *ev, const char *probe);
/* True when matrix lines hold pairs by `metric`, a bandwidth or a latency. */
bool fc_ev_in_matrix(const struct fc_evidence *ev, const char *metric);
/* The node's index, FC_NONE when no line speaks of that rank. */
size_t fc_ev_node_of_rank(const struct fc_evidence *ev, int rank);
/* Its place in ev->rank, FC_NONE when no line speaks of it. */
size_t fc_ev_rank_index(const struct fc_evidence *ev, int rank);
/* The facts of one node: *out_count entries of ev->fact. */
const struct fc_ev_fact *fc_ev_facts_of(const struct fc_evidence *ev, size_t node,
                                        size_t *out_count);
/* Seconds from the run's start to its end line; NaN when either is not known. */
double fc_ev_duration(const struct fc_evidence *ev);

/* The one copy of `text` that lives as long as the evidence; NULL without memory. */
const char *fc_ev_intern(const struct fc_evidence *ev, const char *text);
/* A reference that lives as long as the evidence, for a subject made here; steals
 * `value`. NULL without memory. */
const json_t *fc_ev_keep(const struct fc_evidence *ev, json_t *value);
/* Text of a member, NULL when it is absent or not text. */
const char *fc_ev_text(const json_t *object, const char *key);
/* A whole number of a member within [min, max], else `fallback`. */
int64_t fc_ev_int(const json_t *object, const char *key, int64_t min, int64_t max,
                  int64_t fallback);

#endif
