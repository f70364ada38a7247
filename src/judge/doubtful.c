// SPDX-License-Identifier: BSD-3-Clause
#include "judge/doubtful.h"

/* One in so many is low by chance, where one sample in fifty is held up and three of
 * five must be: 8e-5, with room for noisier networks. */
enum { ONE_IN = 1000 };

bool fc_doubtful_take(struct fc_doubtful *io, const struct fc_arena *a,
                      const struct fc_culprit *k, double value, double should)
{
    double share = value / should;
    if (k->kind != FC_CULPRIT_LINK || fc_culprit_confirmed(k) ||
        a->links < FC_DOUBTFUL_LINKS || k->sends == k->receives)
        return false;
    if (!io->lowest || share < io->share) {
        io->lowest = k;
        io->value = value;
        io->share = share;
    }
    io->count++;
    return true;
}

bool fc_doubtful_report(const struct fc_case *c, const struct fc_arena *a,
                        const struct fc_doubtful *d, const char *low)
{
    bool chance = d->count <= 1 + a->links / ONE_IN;
    struct fc_accused accused;
    if (d->count == 0)
        return true;
    if (!fc_accused_open(c, a, d->lowest, a->metric, &accused))
        return false;
    struct fc_finding f = {
        .severity = chance ? FC_SEV_INFO : FC_SEV_WARN,
        .confidence = FC_CONF_LOW,
        .check = c->rule->id,
        .node = FC_NONE,
        .rank = -1,
        .metric = a->metric,
        .probe = fc_ev_pair_probe(a->metric),
        .cause = chance ? "measurements that were held up, as some of very many are"
                        : "a network that is loaded, or many links that are slow one "
                          "way",
        .remedy = "measure again: a link that is slow is slow again"};
    fc_find(c->out, &f,
            "%zu of %zu transfers %s, each one way and measured once, %s chance "
            "explains; the lowest, %s, reached %.3g GB/s",
            d->count, a->links, low, chance ? "which" : "which is more than",
            accused.scope, d->value);
    fc_accused_close(&accused);
    return true;
}
