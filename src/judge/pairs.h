// SPDX-License-Identifier: BSD-3-Clause
/* Pairs as a graph: members, one link for each direction of each pair, which links are
 * bad, and the smallest part that explains them.
 *
 * Members of an arena are nodes, or the ranks of one node. A pair that was measured
 * again counts with its last attempt; wrong and failed ones stay wrong and failed.
 *
 * Blame: a member explains bad links when they are at least three quarters of those
 * that it sends (receives) on, and at least two, or when at least three meet in it and
 * that is far beyond chance. The one with most goes first, and the next is looked for
 * among the links that are left. What is left then are links.
 * When that takes more than half of the members, or more than half of the links that
 * are left are bad, all together are to blame. Two members cannot be told apart: their
 * link is.
 *
 * Slow, relative to the others: with 3 to 8 members one is slow when every link that
 * it sends (receives) on is far below the middle of the links without it; with more
 * members, when the median of its links is. Far is the larger of `least` and four
 * robust deviations. Then single links, by six. Where many links lie far out without
 * such a pattern nothing is marked: they spread. Collective: no. Refuses to know:
 * findings, limits' floors. */
#ifndef FC_JUDGE_PAIRS_H
#define FC_JUDGE_PAIRS_H

#include "judge/evidence.h"

/* The least drop of a bandwidth that is looked at; below it no spread is small
 * enough. */
#define FC_PAIRS_DROP 0.05

enum fc_pairs_of {
    FC_PAIRS_BW,      /* value: GB/s */
    FC_PAIRS_LATENCY, /* value: 1/s, so that less is worse as well; both directions */
    FC_PAIRS_WRONG,   /* bad: the receiver got wrong data */
    FC_PAIRS_FAILED,  /* bad: it failed; both directions */
};

struct fc_link {
    uint32_t from, to;                 /* indices of members in the arena */
    double value;                      /* NaN where there is none */
    const struct fc_ev_pair *pair;     /* NULL: known by a record alone */
    const struct fc_ev_record *record; /* that says it is bad; NULL: none */
    bool bad;
    bool again; /* measured in an attempt beyond the first */
};

struct fc_arena {
    size_t node; /* whose ranks are the members; FC_NONE: the members are nodes */
    struct fc_link *link;
    size_t links;
    uint32_t *id; /* [members]: node indices or rank numbers, ascending */
    size_t members;
};

struct fc_pairs {
    struct fc_arena *arena; /* between nodes first, then by node */
    size_t arenas;
    struct fc_link *link;
    uint32_t *id;
};

/* Links of FC_PAIRS_BW and FC_PAIRS_LATENCY are those that have a value; of the
 * other two there is none when none is bad. False when memory is short. Ownership:
 * fc_pairs_close. */
bool fc_pairs_open(const struct fc_evidence *ev, enum fc_pairs_of of,
                   struct fc_pairs *out);
void fc_pairs_close(struct fc_pairs *pairs);

/* Keeps the links of pairs of at least `from_bytes` whose limit is known, and sets
 * `bad` of those below `floor` of it. */
void fc_pairs_mark_floor(const struct fc_evidence *ev, struct fc_arena *arena,
                         double floor, int64_t from_bytes);

/* What the slow ones are held against. */
struct fc_pairs_level {
    double centre; /* median of the links that are not marked */
    double scale;  /* robust deviation, a share of it */
    double top;    /* what the best tenth of all links reaches */
    bool spread;   /* many links lie far out without a pattern */
};

/* Sets `bad` of links that are slow against the others; least: the least drop, a
 * share. Nothing with fewer than 3 members. False when memory is short. */
bool fc_pairs_mark_slow(struct fc_arena *arena, double least,
                        struct fc_pairs_level *out);

enum fc_culprit_kind { FC_CULPRIT_ALL, FC_CULPRIT_MEMBER, FC_CULPRIT_LINK };

struct fc_culprit {
    enum fc_culprit_kind kind;
    uint32_t member, other; /* other: the far end of a link */
    bool sends, receives;   /* what is bad: what the member sends, what it gets */
    size_t bad, of;         /* links that it explains, of those that were looked at */
    size_t again;           /* of the bad: measured again */
};

struct fc_blame {
    struct fc_culprit *culprit; /* members, then links, by index; or one of all */
    size_t count;
};

/* Who explains the bad links. Pure. False when memory is short. Ownership:
 * fc_blame_close. */
bool fc_blame_open(const struct fc_link *link, size_t links, size_t members,
                   struct fc_blame *out);
void fc_blame_close(struct fc_blame *blame);
/* True when the link is one of the bad ones that it explains. */
bool fc_culprit_explains(const struct fc_culprit *culprit, const struct fc_link *link);
/* True when at least half of what it explains was measured again. */
bool fc_culprit_confirmed(const struct fc_culprit *culprit);

#endif
