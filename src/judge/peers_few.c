// SPDX-License-Identifier: BSD-3-Clause
/* Five to eight equal nodes: those that are worst against all the others. */
#include "judge/peers_parts.h"

#include <math.h>
#include <stdlib.h>

/* --- Student's t --- */

/* The chance that t of `freedom` degrees exceeds x > 0: the finite series for whole
 * degrees (Abramowitz and Stegun 26.7.3 and 26.7.4). */
static double student_tail(double x, size_t freedom)
{
    double angle = atan(x / sqrt((double)freedom)), c = cos(angle), s = sin(angle);
    bool odd = freedom % 2;
    double term = odd ? c : 1.0, sum = freedom > 1 ? term : 0.0;
    for (size_t k = odd ? 3 : 2; k + 2 <= freedom; k += 2) {
        term *= (double)(k - 1) / (double)k * c * c;
        sum += term;
    }
    double within = odd ? 2.0 / acos(-1.0) * (angle + s * sum) : s * sum;
    return 0.5 * (1.0 - within);
}

/* How many ways there are to choose who else stands aside: each is a test. */
static double ways_of(size_t nodes, size_t aside)
{
    double ways = 1.0;
    for (size_t i = 1; i < aside; i++)
        ways *= (double)(nodes - i) / (double)i;
    return ways;
}

bool fc_peers_few_far(const struct fc_peer *p, double deficit, double chance)
{
    if (p->aside == 0 || !(deficit > 0.0))
        return false;
    return student_tail(deficit / p->scale, p->others - 1) <
           chance / ways_of(p->others + p->aside, p->aside);
}

/* --- who stands aside --- */

static int by_value(const void *pa, const void *pb)
{
    const struct fc_peer *a = *(const struct fc_peer *const *)pa;
    const struct fc_peer *b = *(const struct fc_peer *const *)pb;
    double x = a->first->median, y = b->first->median;
    if (x != y)
        return (x < y) == a->first->higher ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The centre and spread of peer[aside…count), for those before them. A value of another
 * node scatters about the mean of n as one of n + 1 does. */
static void hold_against(struct fc_peer **peer, size_t count, size_t aside)
{
    double n = (double)(count - aside), mean = 0.0, squares = 0.0;
    for (size_t i = aside; i < count; i++)
        mean += peer[i]->first->median / n;
    for (size_t i = aside; i < count; i++)
        squares += pow(peer[i]->first->median / mean - 1.0, 2.0);
    double scale = fmax(sqrt(squares / (n - 1.0)), FC_PEERS_SCALE_MIN);
    for (size_t i = 0; i < count; i++) {
        peer[i]->centre = mean;
        peer[i]->scale = scale * sqrt(1.0 + 1.0 / n);
        peer[i]->others = count - aside;
        peer[i]->aside = i < aside ? aside : 0;
    }
}

bool fc_peers_few_measure(struct fc_peer_group *g)
{
    struct fc_peer *peer[FC_PEERS_MIN];
    size_t aside = (g->peers - 2) / 3;
    for (size_t i = 0; i < g->peers; i++)
        peer[i] = &g->peer[i];
    qsort(peer, g->peers, sizeof(*peer), by_value);
    for (; aside > 0; aside--) {
        size_t far = 0;
        hold_against(peer, g->peers, aside);
        while (far < aside && fc_peer_suspect(g, peer[far]->first))
            far++;
        if (far == aside || aside == 1)
            break;
    }
    return isfinite(peer[0]->centre) && peer[0]->centre > 0.0 &&
           isfinite(peer[0]->scale);
}
