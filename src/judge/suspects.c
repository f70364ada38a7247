// SPDX-License-Identifier: BSD-3-Clause
/* What should be measured again to decide: values below their floor or above their
 * limit, nodes unlike their peers, and the members of pairs that are to blame for slow
 * ones, each as long as it was measured once only. Of pairs also how: as few at the
 * same time as a retest has room for, so that load on shared links cannot be the
 * reason, with partners that are well and, first, with the far end of a link that is
 * itself suspect. Who has met none but those to blame is measured with others. */
#include "judge/evidence.h"
#include "judge/expectation.h"
#include "judge/judge.h"
#include "judge/pairs.h"
#include "judge/peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_FLOOR, WHY_ABOVE, WHY_PEERS, WHY_PAIRS };
/* Partners that are well, and as many far ends of links; pairs that a retest has time
 * for, one after the other. */
enum { PARTNERS = 3, STEPS = 100 };

struct suspect {
    const char *metric;
    size_t node; /* FC_NONE: none */
    int rank;    /* -1: none */
    int why;
    bool between; /* nodes: a pair's */
    size_t other; /* node at the far end of a suspect link; FC_NONE: none */
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
    const struct suspect *a = pa, *b = pb;
    int order = strcmp(a->metric, b->metric);
    if (order == 0 && a->node != b->node)
        order = a->node < b->node ? -1 : 1;
    if (order == 0)
        order = a->rank < b->rank ? -1 : a->rank > b->rank;
    return order;
}

static int by_place_and_why(const void *pa, const void *pb)
{
    int order = by_place(pa, pb);
    const struct suspect *a = pa, *b = pb;
    if (order == 0)
        order = a->why - b->why;
    return order ? order : a->other < b->other ? -1 : a->other > b->other;
}

static json_t *suspect_json(const struct fc_evidence *ev, const struct suspect *s)
{
    static const char *const why[] = {
        [WHY_FLOOR] = "below its floor",
        [WHY_ABOVE] = "above its limit",
        [WHY_PEERS] = "worse than its equals",
        [WHY_PAIRS] = "its pairs are slower than the others",
    };
    json_t *entry = json_pack("{s:s, s:s}", "metric", s->metric, "why", why[s->why]);
    if (s->node != FC_NONE)
        json_object_set_new(entry, "node", json_string(ev->node[s->node].name));
    if (s->rank >= 0)
        json_object_set_new(entry, "rank", json_integer(s->rank));
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
            out[count++] =
                (struct suspect){r->metric, r->node, r->rank, why, false, FC_NONE};
    }
    return count;
}

/* --- pairs --- */

/* The member's rank in its pairs. */
static int rank_of(const struct fc_arena *a, uint32_t member)
{
    const struct fc_member *m = &a->member[member];
    for (size_t i = 0; i < a->links && a->node == FC_NONE; i++) {
        const struct fc_ev_pair *p = a->link[i].pair;
        if (a->link[i].from == member || a->link[i].to == member)
            return p->a_node == m->node ? p->a_rank : p->b_rank;
    }
    return a->node == FC_NONE ? -1 : (int)m->id;
}

/* other: the far end of its link, or the member itself. */
static void suspect_member(const struct fc_arena *a, uint32_t member, uint32_t other,
                           int why, struct suspect *out, size_t *count)
{
    size_t node = a->member[member].node, far = a->member[other].node;
    out[(*count)++] = (struct suspect){.metric = a->metric,
                                       .node = node,
                                       .rank = rank_of(a, member),
                                       .why = why,
                                       .between = a->node == FC_NONE,
                                       .other = far == node ? FC_NONE : far};
}

static bool is_blamed(const struct fc_arena *a, const struct fc_blame *blame,
                      uint32_t member)
{
    for (size_t i = 0; i < blame->count; i++)
        if (blame->culprit[i].kind != FC_CULPRIT_LINK &&
            fc_culprit_has(a, &blame->culprit[i], member))
            return true;
    return false;
}

/* Members of whom nobody saw a good link, since all that they met are to blame
 * themselves: they may be as ill as those. False when memory is short. */
static bool accuse_hidden(const struct fc_arena *a, const struct fc_blame *blame,
                          int why, struct suspect *out, size_t *count)
{
    size_t *bad = calloc(2 * a->members + 1, sizeof *bad), *of = bad + a->members;
    for (size_t i = 0; bad && i < a->links; i++) {
        const struct fc_link *l = &a->link[i];
        of[l->from] += !l->skip;
        of[l->to] += !l->skip;
        bad[l->from] += l->bad;
        bad[l->to] += l->bad;
    }
    for (uint32_t m = 0; bad && m < a->members; m++)
        if (of[m] > 2 && bad[m] == of[m] && !is_blamed(a, blame, m))
            suspect_member(a, m, m, why, out, count);
    free(bad);
    return bad != NULL;
}

/* Those to blame for bad links, a part of them all at most; `out` has room for two a
 * link and four a member, which is of four parts at most. False when memory is
 * short. */
static bool accuse(const struct fc_arena *a, int why, struct suspect *out,
                   size_t *count)
{
    struct fc_blame blame;
    if (!fc_blame_open(a, &blame))
        return false;
    for (size_t i = 0; i < blame.count; i++) {
        const struct fc_culprit *k = &blame.culprit[i];
        if (k->kind == FC_CULPRIT_ALL || k->again > 0)
            continue;
        if (k->kind == FC_CULPRIT_LINK) {
            suspect_member(a, k->member, k->other, why, out, count);
            suspect_member(a, k->other, k->member, why, out, count);
            continue;
        }
        for (uint32_t m = 0; m < a->members; m++)
            if (fc_culprit_has(a, k, m))
                suspect_member(a, m, m, why, out, count);
    }
    bool ok = blame.count == 0 || blame.culprit[0].kind == FC_CULPRIT_ALL ||
              accuse_hidden(a, &blame, why, out, count);
    fc_blame_close(&blame);
    return ok;
}

static bool collect_pairs(const struct fc_evidence *ev,
                          const struct fc_expectation *expect, struct suspect *out,
                          size_t *count)
{
    struct fc_pairs pairs;
    bool ok = fc_pairs_open(ev, FC_PAIRS_BW, &pairs);
    for (size_t i = 0; ok && i < pairs.arenas; i++) {
        struct fc_arena *a = &pairs.arena[i];
        const struct fc_floor *row = fc_floor_find(a->metric);
        double floor = fc_expectation_floor(expect, fc_metric_find(a->metric));
        struct fc_pairs_level level;
        ok = fc_pairs_infer_leaves(a) &&
             fc_pairs_mark_slow(ev, a, FC_PAIRS_DROP, &level) &&
             accuse(a, WHY_PAIRS, out, count);
        if (!ok || !isfinite(floor))
            continue;
        ok = fc_pairs_mark_floor(ev, a, floor, row ? row->from_bytes : 0);
        (void)fc_pairs_drop_across(a);
        ok = ok && accuse(a, WHY_FLOOR, out, count);
    }
    fc_pairs_close(&pairs);
    return ok;
}

/* good[0..*count): nodes that nothing is held against; NULL without memory. */
static size_t *good_nodes(const struct fc_evidence *ev, const struct suspect *suspect,
                          size_t suspects, size_t *count)
{
    size_t *good = malloc((ev->nodes + 1) * sizeof *good);
    bool *bad = calloc(ev->nodes + 1, sizeof *bad);
    *count = 0;
    for (size_t i = 0; bad && i < suspects; i++)
        if (suspect[i].node != FC_NONE)
            bad[suspect[i].node] = true;
    for (size_t i = 0; good && bad && i < ev->nodes; i++)
        if (!bad[i] && ev->node[i].ranks > 0)
            good[(*count)++] = i;
    if (!bad) {
        free(good);
        good = NULL;
    }
    free(bad);
    return good;
}

/* One entry of the answer: suspect[0…same), which are of one place. */
struct entry {
    const struct suspect *suspect;
    size_t same;
    size_t partner[2 * PARTNERS], partners; /* nodes */
};

static void add_partner(struct entry *e, size_t node)
{
    for (size_t i = 0; i < e->partners; i++)
        if (e->partner[i] == node)
            return;
    e->partner[e->partners++] = node;
}

/* Each suspect gets others, so that one of them, if it is not well, spoils little. */
static void choose_partners(struct entry *e, const size_t *good, size_t goods,
                            size_t turn)
{
    for (size_t i = 0; i < e->same && e->partners < PARTNERS; i++)
        if (e->suspect[i].other != FC_NONE)
            add_partner(e, e->suspect[i].other);
    for (size_t i = 0; i < PARTNERS && i < goods; i++)
        add_partner(e, good[(PARTNERS * turn + i) % goods]);
}

static json_t *entry_json(const struct fc_evidence *ev, const struct entry *e,
                          size_t concurrency)
{
    json_t *entry = suspect_json(ev, e->suspect), *list;
    if (!e->partners || !(list = json_array()))
        return entry;
    for (size_t i = 0; i < e->partners; i++)
        json_array_append_new(list, json_string(ev->node[e->partner[i]].name));
    json_object_set_new(entry, "concurrency", json_integer((json_int_t)concurrency));
    json_object_set_new(entry, "partners", list);
    return entry;
}

/* Entries in order, each place once; how many. */
static size_t make_entries(struct suspect *suspect, size_t count, const size_t *good,
                           size_t goods, struct entry *out)
{
    size_t entries = 0, turn = 0;
    qsort(suspect, count, sizeof *suspect, by_place_and_why);
    for (size_t i = 0; i < count;) {
        struct entry *e = &out[entries++];
        *e = (struct entry){.suspect = &suspect[i], .same = 1};
        while (i + e->same < count && by_place(&suspect[i], &suspect[i + e->same]) == 0)
            e->same++;
        if (suspect[i].between)
            choose_partners(e, good, goods, turn++);
        i += e->same;
    }
    return entries;
}

static json_t *list_json(const struct fc_evidence *ev, struct suspect *suspect,
                         size_t count)
{
    json_t *list = json_array();
    size_t goods, pairs = 0, entries = 0;
    size_t *good = good_nodes(ev, suspect, count, &goods);
    struct entry *entry = malloc((count + 1) * sizeof *entry);
    bool ok = list && good && entry;
    if (ok)
        entries = make_entries(suspect, count, good, goods, entry);
    for (size_t i = 0; i < entries; i++)
        pairs += entry[i].partners;
    for (size_t i = 0; ok && i < entries; i++)
        ok = json_array_append_new(
                 list, entry_json(ev, &entry[i], pairs / (STEPS + 1) + 1)) == 0;
    free(entry);
    free(good);
    if (!ok) {
        json_decref(list);
        list = NULL;
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
    size_t ends = ev.ranks + ev.nodes * ev.rails, count;
    size_t room = ev.series_count + 8 * ev.pairs + 8 * ends + 1;
    struct suspect *suspect = malloc(room * sizeof *suspect);
    if (status == FC_OK && suspect && fc_peers_open(&ev, &expect, &peers)) {
        count = collect(&ev, &expect, &peers, suspect);
        if (collect_pairs(&ev, &expect, suspect, &count))
            list = list_json(&ev, suspect, count);
    }
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
