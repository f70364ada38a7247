// SPDX-License-Identifier: BSD-3-Clause
/* Pairs as a graph: members, one link for each direction of each pair, which links are
 * bad, and the smallest part that explains them.
 *
 * Members of an arena are the NICs of the nodes (one a node where nodes have one), or
 * the ranks of one node. A pair that was measured again counts with its last attempt;
 * wrong and failed ones stay wrong and failed.
 *
 * Blame: parts are leaf switches (of three nodes or more, or of two whose own link is
 * well), rails, nodes of several NICs, and members. A member explains bad links when
 * they are at least three quarters of those that it sends (receives) on, and at least
 * two, or when at least three meet in it and that is far beyond chance; a larger part
 * when they are nine tenths. Of a switch the links that cross its border count, since
 * those inside may be well; where there are but two switches the inside must be bad as
 * well, else both are as likely. The part with most goes first, of equals the
 * smallest, and the next is looked for among the links that are left. What is left then
 * are links. A part of which at least two links were measured again, of which three
 * quarters are well, is not to blame, nor are the links that it had when they were
 * measured once.
 * When that takes more than half of the members, or more than half of the links that
 * are left are bad, all together are to blame. Two members cannot be told apart: their
 * link is.
 *
 * Slow, relative to the others (pairs_slow.c). Links of one kind are equals: the same
 * classes of nodes, both ends under one switch or not, along one rail or across, of
 * like size and path. A member is slow when even the better ones of its links are far
 * below what its equals reach, which is the middle of all members' better links, so
 * that it holds with 40 % of the members bad. With 3 to 8 members one is slow when
 * every link that it sends (receives) on is far below the middle of the links without
 * it. Far is the larger of `least` and four robust deviations. Then single links, by
 * six. Where many links lie far out without such a pattern nothing is marked: they
 * spread. Collective: no. Refuses to know: findings, limits' floors. */
#ifndef FC_JUDGE_PAIRS_H
#define FC_JUDGE_PAIRS_H

#include "judge/evidence.h"

/* The least drop of a bandwidth that is looked at; below it no spread is small
 * enough. With few members it is larger. */
#define FC_PAIRS_DROP 0.025

/* Up to FEW members the pattern of single links decides; below SOME there are too few
 * links to know their spread well. */
enum { FC_PAIRS_SOME = 6, FC_PAIRS_FEW = 8 };

enum fc_pairs_of {
    FC_PAIRS_BW,      /* value: GB/s */
    FC_PAIRS_LATENCY, /* value: 1/s, so that less is worse as well; both directions */
    FC_PAIRS_WRONG,   /* bad: the receiver got wrong data */
    FC_PAIRS_FAILED,  /* bad: it failed; both directions */
};

struct fc_link {
    uint32_t from, to;             /* indices of members in the arena */
    double value;                  /* NaN where there is none */
    double equal;                  /* what its equals reach; NaN: not looked at */
    const struct fc_ev_pair *pair; /* NULL: known by a record alone */
    uint32_t record; /* index + 1 of the record that says it is bad; 0: none */
    bool bad : 1;
    bool mild : 1;  /* bad only as one of many: no fault of the link alone */
    bool near : 1;  /* not bad, but speaks against the same parts as if it were */
    bool skip : 1;  /* not looked at */
    bool again : 1; /* measured in an attempt beyond the first */
    /* Measured again for the sake of its other end: says nothing of this one, whose
     * partners in a retest are all suspects. */
    bool guest_from : 1, guest_to : 1;
};

struct fc_member {
    uint32_t node; /* index in the evidence */
    uint32_t id;   /* rank number inside a node, else the NIC's number */
    uint32_t leaf; /* number of its leaf switch, or FC_EV_NO_LEAF */
};

struct fc_arena {
    size_t node;          /* whose ranks are the members; FC_NONE: NICs are */
    const char *metric;   /* of the bandwidths */
    struct fc_link *link; /* by sender, then receiver */
    size_t links;
    struct fc_member *member; /* by node, then id */
    size_t members;
    size_t nodes;  /* that they belong to */
    bool rails;    /* NICs have numbers */
    bool inferred; /* leaf switches were found from latencies */
};

struct fc_pairs {
    struct fc_arena *arena; /* between nodes first, then by node; by metric */
    size_t arenas;
    struct fc_link *link;
    struct fc_member *member;
};

/* Links of FC_PAIRS_BW and FC_PAIRS_LATENCY are those that have a value; of the
 * other two there is none when none is bad. False when memory is short. Ownership:
 * fc_pairs_close. */
bool fc_pairs_open(const struct fc_evidence *ev, enum fc_pairs_of of,
                   struct fc_pairs *out);
void fc_pairs_close(struct fc_pairs *pairs);

/* The pairs that were asked for last. */
struct fc_pairs_shelf {
    bool full;
    enum fc_pairs_of of;
    struct fc_pairs pairs;
};
/* What fc_pairs_open makes, kept on the shelf for who asks next, without marks. NULL
 * when memory is short. Ownership: the shelf; fc_pairs_close of its pairs. */
struct fc_pairs *fc_pairs_share(const struct fc_evidence *ev, enum fc_pairs_of of,
                                struct fc_pairs_shelf *shelf);

/* The floor of pairs whose bytes took this path (may be NULL), a share of their limit.
 */
double fc_pairs_floor(double floor, const char *path);
/* Looks only at links of pairs of at least `from_bytes` whose limit is known, and sets
 * `bad` of those below `floor` of it, and `near` of those that are slow against the
 * others, so that a part whose links lie on both sides of its floor is found. False
 * when memory is short. */
bool fc_pairs_mark_floor(const struct fc_evidence *ev, struct fc_arena *arena,
                         double floor, int64_t from_bytes);

/* True when nearly all links across rails are bad and nearly none along them: a fabric
 * that connects rails only by the nodes' own means. The links across are no longer
 * looked at. */
bool fc_pairs_drop_across(struct fc_arena *arena);

/* Gives members without a leaf switch the one that latencies show: nodes that answer
 * each other clearly sooner than others do. Nothing where any switch is known, or where
 * latencies do not form such groups. False when memory is short. */
bool fc_pairs_infer_leaves(struct fc_arena *arena);

/* What the slow ones are held against. */
struct fc_pairs_level {
    double centre; /* median of the links that are not marked */
    double scale;  /* robust deviation, a share of it */
    double top;    /* what the best tenth of all links reaches */
    double part;   /* robust deviation among the members' better links; NaN: few */
    bool spread;   /* many links lie far out without a pattern */
};

/* Sets `bad` of links that are slow against the others; least: the least drop, a
 * share. Nothing with fewer than 3 members. False when memory is short. */
bool fc_pairs_mark_slow(const struct fc_evidence *ev, struct fc_arena *arena,
                        double least, struct fc_pairs_level *out);

/* From the largest part to the smallest. */
enum fc_culprit_kind {
    FC_CULPRIT_ALL,
    FC_CULPRIT_LEAF,
    FC_CULPRIT_RAIL,
    FC_CULPRIT_NODE,   /* with all its NICs */
    FC_CULPRIT_MEMBER, /* one NIC, or rank; where nodes have one NIC: the node */
    FC_CULPRIT_LINK
};

struct fc_culprit {
    enum fc_culprit_kind kind;
    uint32_t member, other; /* the first of the part; other: the far end of a link */
    bool sends, receives;   /* what is bad: what the part sends, what it gets */
    bool inside;            /* as well or only: links between two of its members */
    size_t bad, of;         /* links that it explains, of those that were looked at */
    size_t again;           /* of the bad: measured again */
    size_t met;             /* of those that were looked at: measured again */
};

struct fc_blame {
    struct fc_culprit *culprit; /* parts by kind and member, then links; or one: all */
    size_t count;
};

/* Who explains the bad links. Pure. False when memory is short. Ownership:
 * fc_blame_close. */
bool fc_blame_open(const struct fc_arena *arena, struct fc_blame *out);
void fc_blame_close(struct fc_blame *blame);
/* After mark_slow and blame: sets `bad` only of the few links that are far below what
 * the parts to blame explain, so that a second fault behind a first one is found; their
 * `equal` becomes what they should reach then. False when memory is short. */
bool fc_pairs_mark_deeper(struct fc_arena *arena, const struct fc_blame *blame,
                          const struct fc_pairs_level *level);
/* True when the link is one of the bad ones that it explains. */
bool fc_culprit_explains(const struct fc_arena *arena, const struct fc_culprit *culprit,
                         const struct fc_link *link);
/* The next such link from `at` on, its index; SIZE_MAX: no more. The arena's links are
 * sorted by sender, then receiver. */
size_t fc_culprit_next(const struct fc_arena *arena, const struct fc_culprit *culprit,
                       size_t at);
/* True when the member belongs to the part that is to blame. */
bool fc_culprit_has(const struct fc_arena *arena, const struct fc_culprit *culprit,
                    uint32_t member);
/* True when at least half of what it explains was measured again; of a part also when
 * three links or more were, and three quarters of those are bad still. */
bool fc_culprit_confirmed(const struct fc_culprit *culprit);

#endif
