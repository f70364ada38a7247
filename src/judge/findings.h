// SPDX-License-Identifier: BSD-3-Clause
/* What rules hand in: findings (something is wrong, with who, why and what next) and
 * gaps (something that should have been measured was not). Collected in any order,
 * sorted once: by severity, node, metric. What memory cannot hold is remembered as a
 * status, so that rules need not check each call. Collective: no. Refuses to know:
 * which rules there are. */
#ifndef FC_JUDGE_FINDINGS_H
#define FC_JUDGE_FINDINGS_H

#include "judge/evidence.h"

/* A report holds at most this many of each; the rest is counted. */
enum { FC_FINDINGS_MAX = 10000 };

enum fc_severity { FC_SEV_FAIL, FC_SEV_WARN, FC_SEV_INFO };

/* What a missing measurement means for the verdict. */
enum fc_class {
    FC_CLASS_REQUIRED,      /* INCONCLUSIVE */
    FC_CLASS_SUBSTITUTABLE, /* INCONCLUSIVE unless the named substitute was measured */
    FC_CLASS_INFORMATIVE,   /* said, and no more */
};

enum fc_confidence { FC_CONF_HIGH, FC_CONF_MEDIUM, FC_CONF_LOW };

/* All text but `message` is borrowed (of the journal, the evidence, or static). */
struct fc_finding {
    enum fc_severity severity;
    enum fc_confidence confidence;
    const char *check;
    size_t node;           /* FC_NONE: fabric, group, run */
    int rank;              /* -1: none; only with a node */
    const json_t *subject; /* borrowed; NULL: made from node, rank and nodes */
    const size_t *odd;     /* several nodes that it names without failing; copied */
    size_t odds;
    const char *metric; /* NULL: none */
    const char *cause, *remedy;
    const char *probe; /* what to run again to see it; NULL: none */
    char *message;
    const struct fc_ev_record *const *evidence; /* copied, at most 64 */
    size_t evidences;
    json_t *seqs; /* made of it */
};

struct fc_missing {
    enum fc_class class;
    const char *check;
    const char *probe;      /* NULL: none */
    const char *what;       /* a metric, "end of the run", … */
    size_t node;            /* FC_NONE: the whole run */
    const char *substitute; /* what was measured instead; NULL: nothing */
    char *reason;
};

struct fc_findings {
    struct fc_finding *finding;
    size_t findings, finding_room;
    struct fc_missing *missing;
    size_t missings, missing_room;
    enum fc_status status; /* FC_NOMEM once memory was short */
};

/* Adds a copy of `f` with the message. */
void fc_find(struct fc_findings *all, const struct fc_finding *f, const char *fmt, ...)
    FC_PRINTF(3, 4);
void fc_miss(struct fc_findings *all, const struct fc_missing *missing, const char *fmt,
             ...) FC_PRINTF(3, 4);
void fc_findings_sort(struct fc_findings *all);
void fc_findings_close(struct fc_findings *all);

/* True when it makes a run INCONCLUSIVE. */
bool fc_missing_counts(const struct fc_missing *missing);

/* The report's arrays; findings get the ids F1, F2, … in their order. New
 * references. */
json_t *fc_findings_json(const struct fc_findings *all, const struct fc_evidence *ev);
json_t *fc_missing_json(const struct fc_findings *all, const struct fc_evidence *ev);

/* True for a name that may stand in a command without quotes. */
bool fc_plain_name(const char *name);

/* Text of at most 159 bytes that is still UTF-8, for messages. */
struct fc_clip {
    char s[160];
};
struct fc_clip fc_clip(const char *text);

/* "rank 3: ", or nothing when the record is of no rank. */
struct fc_clip fc_rank_prefix(const struct fc_ev_record *record);
/* "node02 rank 3"; "the run" for FC_NONE. */
struct fc_clip fc_node_who(const struct fc_evidence *ev, size_t node, int rank);
/* The names as one host list. */
struct fc_clip fc_hosts(const struct fc_evidence *ev, const size_t *node, size_t count);

#endif
