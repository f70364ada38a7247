// SPDX-License-Identifier: BSD-3-Clause
/* Peers: nodes of one class that did the same measurement, and how far each is from
 * their middle. The two-stage rule of robust statistics: a node is suspect when it
 * is well below the median, and condemned only when a fresh measurement says so
 * again.
 *
 * A node counts with its worst rank. Shares are of the centre: deficit 0.05 is 5 %
 * worse. Scale s = max(1.4826 MAD, 0.3 %). Stage one: deficit > max(1.5 %, 2.5 s).
 * Stage two: > max(2 %, 3.1 s'), s' with the noise part shrunk by the larger number
 * of samples (the variance of a median of R is 1.57 sigma^2 / R).
 *
 * A node passes many such tests. Beyond doubt is who is further out in the retest than
 * a healthy node is in one of all its tests with a chance of 1e-3 together (Sidak):
 * for one test that is 3.1 s', for 150 it is 4.3 s'. Small groups know their spread
 * badly, so that it counts (1 + 16/n) times. Tests that cannot FAIL, of metrics without
 * an effect that is worth a ticket, are not counted.
 *
 * In groups of 5 to 8 nodes (peers_few.c) the median is no yardstick: the worst node,
 * of 8 nodes also the worst two together, is held against the mean and the standard
 * deviation of the others, by Student's t with as many degrees of freedom as those
 * give: suspect with a chance of 2e-2, condemned with 1e-2, beyond doubt as above. Of
 * fewer nodes the others' spread is not known: nobody is suspect. Collective: no.
 * Refuses to know: findings. */
#ifndef FC_JUDGE_PEERS_H
#define FC_JUDGE_PEERS_H

#include "judge/evidence.h"
#include "judge/expectation.h"

/* From FEW on each is held against the others, from MIN on against the median. */
enum { FC_PEERS_FEW = 5, FC_PEERS_MIN = 9 };

struct fc_peer {
    size_t node;
    const struct fc_ev_record *first; /* the worst rank's, attempt 1 */
    const struct fc_ev_record *again; /* the worst of the retests; NULL: none */
    size_t tests;  /* groups in which the node is compared and may fail */
    double centre; /* what it is held against */
    double scale;  /* a share of the centre */
    size_t others; /* nodes that the centre is of */
    size_t aside;  /* few: those that are held against the others together with it, and
                      itself; 0: it is one of the others, and not looked at */
};

struct fc_peer_group {
    const char *class, *what;
    const struct fc_ev_record *sample; /* any record of it */
    struct fc_peer *peer;              /* by node */
    size_t peers;
    bool compared; /* enough peers, and a usable centre */
    bool few;      /* each is held against the others */
    double centre; /* median of the first attempts */
    double scale;  /* s, a share of the centre */
    double noise;  /* median variance of one node's score, a share squared */
};

struct fc_peers {
    struct fc_peer_group *group; /* by what, then class */
    size_t groups;
    struct fc_peer *peer;
};

bool fc_peers_open(const struct fc_evidence *ev, const struct fc_expectation *expect,
                   struct fc_peers *out);
void fc_peers_close(struct fc_peers *peers);
/* The group that a record belongs to; NULL: none. */
const struct fc_peer_group *fc_peers_find(const struct fc_peers *peers,
                                          const struct fc_evidence *ev,
                                          const struct fc_ev_record *record);

/* Share of its centre that a record of the group is worse; negative: better. */
double fc_peer_deficit(const struct fc_peer_group *group,
                       const struct fc_ev_record *record);
bool fc_peer_suspect(const struct fc_peer_group *group,
                     const struct fc_ev_record *first);
/* Stage two, of the retest or, where there is none, of the first attempt. */
bool fc_peer_condemned(const struct fc_peer_group *group, const struct fc_peer *peer);
/* The same with no more than 1e-3 false alarms over all tests of the node. False
 * without a retest. */
bool fc_peer_beyond_doubt(const struct fc_peer_group *group,
                          const struct fc_peer *peer);
/* The least degradation that is found with 99 % power at 0.1 % false alarms; not of
 * few. */
double fc_peer_detectable(const struct fc_peer_group *group);

#endif
