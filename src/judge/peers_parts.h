// SPDX-License-Identifier: BSD-3-Clause
/* What the files behind peers.h share; nobody else includes it. */
#ifndef FC_JUDGE_PEERS_PARTS_H
#define FC_JUDGE_PEERS_PARTS_H

#include "judge/peers.h"

/* No spread is known better than this. */
#define FC_PEERS_SCALE_MIN 0.003

/* Says of each peer of a group of FC_PEERS_FEW to FC_PEERS_MIN - 1 what it is held
 * against. False when their values are no yardstick. */
bool fc_peers_few_measure(struct fc_peer_group *group);
/* True when a deficit of that peer has no more than this chance in a healthy group. */
bool fc_peers_few_far(const struct fc_peer *peer, double deficit, double chance);
/* The chances of a suspect, and of one that is condemned. */
#define FC_PEERS_FEW_FIRST 2e-2
#define FC_PEERS_FEW_AGAIN 1e-2

#endif
