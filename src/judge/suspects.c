// SPDX-License-Identifier: BSD-3-Clause
/* What should be measured again to decide: values below their floor or above their
 * limit and nodes unlike their peers, each as long as it was measured once only. */
#include "judge/evidence.h"
#include "judge/expectation.h"
#include "judge/judge.h"
#include "judge/peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_FLOOR, WHY_ABOVE, WHY_PEERS };

struct suspect {
    const struct fc_ev_record *record;
    int why;
};

static bool retested(const struct fc_ev_series *series)
{
    return series->record[series->count - 1]->attempt > 1;
}

/* Sets *why only when it is true. */
static bool misses_limit(const struct fc_expectation *expect,
                         const struct fc_ev_record *r, int *why)
{
    const struct fc_floor *row = r->info ? fc_floor_find(r->metric) : NULL;
    double share = fc_ev_share(r), floor = fc_expectation_floor(expect, r->info);
    if (row && r->bytes >= 0 && r->bytes < row->from_bytes)
        return false;
    bool above = share > FC_LIMIT_SHARE_MAX, below = isfinite(floor) && share < floor;
    if (above || below)
        *why = above ? WHY_ABOVE : WHY_FLOOR;
    return above || below;
}

/* By metric, node, rank: one entry of each remains. */
static int by_place(const void *pa, const void *pb)
{
    const struct fc_ev_record *a = ((const struct suspect *)pa)->record;
    const struct fc_ev_record *b = ((const struct suspect *)pb)->record;
    int order = strcmp(a->metric, b->metric);
    if (order == 0 && a->node != b->node)
        order = a->node < b->node ? -1 : 1;
    if (order == 0)
        order = a->rank < b->rank ? -1 : a->rank > b->rank;
    if (order == 0)
        order = ((const struct suspect *)pa)->why - ((const struct suspect *)pb)->why;
    return order;
}

static json_t *suspect_json(const struct fc_evidence *ev, const struct suspect *s)
{
    static const char *const why[] = {
        [WHY_FLOOR] = "below its floor",
        [WHY_ABOVE] = "above its limit",
        [WHY_PEERS] = "worse than its equals",
    };
    const struct fc_ev_record *r = s->record;
    json_t *entry = json_pack("{s:s, s:s}", "metric", r->metric, "why", why[s->why]);
    if (r->node != FC_NONE)
        json_object_set_new(entry, "node", json_string(ev->node[r->node].name));
    if (r->rank >= 0)
        json_object_set_new(entry, "rank", json_integer(r->rank));
    return entry;
}

static size_t collect(const struct fc_evidence *ev, const struct fc_expectation *expect,
                      const struct fc_peers *peers, struct suspect *out)
{
    size_t count = 0;
    for (size_t i = 0; i < ev->series_count; i++) {
        const struct fc_ev_record *r = fc_ev_latest(&ev->series[i]);
        if (!r || retested(&ev->series[i]))
            continue;
        const struct fc_peer_group *group = fc_peers_find(peers, ev, r);
        int why = WHY_PEERS;
        if (misses_limit(expect, r, &why) || (group && fc_peer_suspect(group, r)))
            out[count++] = (struct suspect){r, why};
    }
    return count;
}

static json_t *list_json(const struct fc_evidence *ev, struct suspect *suspect,
                         size_t count)
{
    json_t *list = json_array();
    qsort(suspect, count, sizeof *suspect, by_place);
    for (size_t i = 0; i < count; i++) {
        const struct fc_ev_record *a = suspect[i].record;
        const struct fc_ev_record *b = i ? suspect[i - 1].record : NULL;
        if (b && strcmp(a->metric, b->metric) == 0 && a->node == b->node &&
            a->rank == b->rank)
            continue;
        if (json_array_append_new(list, suspect_json(ev, &suspect[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

enum fc_status fc_judge_suspects(const struct fc_journal_text *journal, json_t **out,
                                 struct fc_error *err)
{
    struct fc_evidence ev;
    struct fc_expectation expect = {0};
    struct fc_peers peers = {0};
    json_t *list = NULL;
    enum fc_status status = fc_evidence_open(journal, &ev, err);
    if (status != FC_OK)
        return status;
    status = fc_expectation_open(ev.profile, &expect, err);
    struct suspect *suspect = malloc((ev.series_count + 1) * sizeof *suspect);
    if (status == FC_OK && suspect && fc_peers_open(&ev, &peers))
        list = list_json(&ev, suspect, collect(&ev, &expect, &peers, suspect));
    if (status == FC_OK && !list)
        status = fc_fail(err, FC_NOMEM, "out of memory for the suspects");
    if (status == FC_OK)
        *out = json_pack("{s:i, s:o}", "attempt", 2, "suspects", list);
    fc_peers_close(&peers);
    free(suspect);
    fc_expectation_close(&expect);
    fc_evidence_close(&ev);
    return status;
}
