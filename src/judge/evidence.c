// SPDX-License-Identifier: BSD-3-Clause
/* From lines in any order to evidence in one order: sort the lines of each type by what
 * they say, find the nodes and ranks, then let the parsers fill the arrays. */
#include "judge/evidence.h"

#include "core/hostlist.h"
#include "judge/evidence_parts.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME_MAX_BYTES = 300 };

static const char *const type_name[FC_EV_TYPES] = {
    [FC_EV_RUN] = "run",       [FC_EV_PLAN] = "plan",     [FC_EV_PROFILE] = "profile",
    [FC_EV_NODE] = "node",     [FC_EV_FACT] = "fact",     [FC_EV_PHASE] = "phase",
    [FC_EV_RECORD] = "record", [FC_EV_MATRIX] = "matrix", [FC_EV_EVENT] = "event",
    [FC_EV_END] = "end",
};

const char *fc_ev_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

int64_t fc_ev_int(const json_t *object, const char *key, int64_t min, int64_t max,
                  int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return fallback;
    int64_t number = json_integer_value(value);
    return number >= min && number <= max ? number : fallback;
}

bool fc_ev_name_ok(const char *name)
{
    return name && *name && strlen(name) <= NAME_MAX_BYTES;
}

const char *fc_ev_intern(const struct fc_evidence *ev, const char *text)
{
    void *at = json_object_iter_at(ev->intern, text);
    if (!at) {
        if (json_object_set_new(ev->intern, text, json_true()) != 0)
            return NULL;
        at = json_object_iter_at(ev->intern, text);
    }
    return json_object_iter_key(at);
}

const json_t *fc_ev_keep(const struct fc_evidence *ev, json_t *value)
{
    return value && json_array_append_new(ev->made, value) == 0 ? value : NULL;
}

size_t fc_ev_node_index(const struct fc_evidence *ev, const char *name)
{
    const json_t *index = name ? json_object_get(ev->names, name) : NULL;
    return index ? (size_t)json_integer_value(index) : FC_NONE;
}

/* --- lines by type, in canonical order --- */

struct keyed {
    json_t *line;
    int64_t seq, also;
    char *text;
};

static int by_seq_and_text(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    if (a->also != b->also)
        return a->also < b->also ? -1 : 1;
    if (!a->text || !b->text)
        return 0;
    return strcmp(a->text, b->text);
}

/* Gives text to those whose seq does not tell them apart, and sorts them by it. */
static bool settle_ties(struct keyed *key, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && key[end].seq == key[i].seq &&
               key[end].also == key[i].also)
            end++;
        for (size_t k = i; end - i > 1 && k < end; k++) {
            key[k].text = json_dumps(key[k].line, JSON_COMPACT | JSON_SORT_KEYS);
            if (!key[k].text)
                return false;
        }
        if (end - i > 1)
            qsort(key + i, end - i, sizeof *key, by_seq_and_text);
        i = end;
    }
    return true;
}

static void store_without_repeats(struct fc_ev_bag *bag, const struct keyed *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < bag->count; i++) {
        bool twin = i > 0 && key[i].text && key[i - 1].text &&
                    strcmp(key[i].text, key[i - 1].text) == 0;
        if (!twin)
            bag->line[kept++] = key[i].line;
    }
    bag->count = kept;
}

/* What orders lines of a type before their text does: the seq, or the round and the
 * rails, since the text of many pairs is long. */
static struct keyed key_of(json_t *line, bool matrix)
{
    struct keyed key = {.line = line};
    if (!matrix) {
        key.seq = fc_ev_int(line, "seq", 0, INT64_MAX, INT64_MAX);
        return key;
    }
    key.seq = fc_ev_int(line, "attempt", 1, INT32_MAX, 1) << 32 |
              fc_ev_int(line, "round", 0, UINT32_MAX, UINT32_MAX);
    key.also = fc_ev_int(line, "rail", 0, FC_EV_RAILS, 0) * FC_EV_RAILS +
               fc_ev_int(line, "peer_rail", 0, FC_EV_RAILS, 0);
    return key;
}

static bool sort_bag(struct fc_ev_bag *bag, bool matrix)
{
    size_t count = bag->count;
    struct keyed *key = calloc(count ? count : 1, sizeof *key);
    if (!key)
        return false;
    for (size_t i = 0; i < count; i++)
        key[i] = key_of(bag->line[i], matrix);
    qsort(key, count, sizeof *key, by_seq_and_text);
    bool ok = settle_ties(key, count);
    if (ok)
        store_without_repeats(bag, key);
    for (size_t i = 0; i < count; i++)
        free(key[i].text);
    free(key);
    return ok;
}

static enum fc_ev_type type_of(const json_t *line)
{
    const char *type = fc_ev_text(line, "type");
    size_t i = 0;
    while (i < FC_EV_TYPES && !(type && strcmp(type, type_name[i]) == 0))
        i++;
    return (enum fc_ev_type)i;
}

static bool fill_bags(const struct fc_journal_text *journal, struct fc_ev_bag *bag)
{
    for (size_t i = 0; i < journal->lines; i++) {
        enum fc_ev_type type = type_of(journal->line[i]);
        if (type != FC_EV_TYPES)
            bag[type].room++;
    }
    for (size_t t = 0; t < FC_EV_TYPES; t++) {
        bag[t].line = malloc((bag[t].room ? bag[t].room : 1) * sizeof(json_t *));
        if (!bag[t].line)
            return false;
    }
    for (size_t i = 0; i < journal->lines; i++) {
        enum fc_ev_type type = type_of(journal->line[i]);
        if (type != FC_EV_TYPES)
            bag[type].line[bag[type].count++] = journal->line[i];
    }
    for (size_t t = 0; t < FC_EV_TYPES; t++)
        if (!sort_bag(&bag[t], t == FC_EV_MATRIX))
            return false;
    return true;
}

/* --- nodes and ranks --- */

static bool note_name(struct fc_evidence *ev, const char *name)
{
    if (!fc_ev_name_ok(name) || json_object_get(ev->names, name))
        return true;
    return json_object_set_new(ev->names, name, json_integer(0)) == 0;
}

static bool note_names(struct fc_evidence *ev, const struct fc_ev_bag *bag)
{
    bool ok = true;
    for (size_t i = 0; ok && i < bag[FC_EV_NODE].count; i++)
        ok = note_name(ev, fc_ev_text(bag[FC_EV_NODE].line[i], "name"));
    for (size_t i = 0; ok && i < bag[FC_EV_FACT].count; i++)
        ok = note_name(ev, fc_ev_text(bag[FC_EV_FACT].line[i], "node"));
    for (size_t i = 0; ok && i < bag[FC_EV_EVENT].count; i++)
        ok = note_name(ev, fc_ev_text(bag[FC_EV_EVENT].line[i], "node"));
    for (size_t i = 0; ok && i < bag[FC_EV_RECORD].count; i++) {
        const json_t *subject = json_object_get(bag[FC_EV_RECORD].line[i], "subject");
        ok = note_name(ev, fc_ev_text(subject, "node")) &&
             note_name(ev, fc_ev_text(subject, "peer"));
    }
    return ok;
}

static int by_node_name(const void *a, const void *b)
{
    return fc_natural_cmp(((const struct fc_ev_node *)a)->name,
                          ((const struct fc_ev_node *)b)->name);
}

static bool make_nodes(struct fc_evidence *ev, const struct fc_ev_bag *bag)
{
    size_t room = json_object_size(ev->names), i = 0;
    const char *name;
    json_t *value;
    if (!(ev->node = calloc(room ? room : 1, sizeof *ev->node)))
        return false;
    json_object_foreach(ev->names, name, value) ev->node[ev->nodes++] =
        (struct fc_ev_node){.name = name, .class = "", .usual = FC_NONE};
    qsort(ev->node, ev->nodes, sizeof *ev->node, by_node_name);
    for (i = 0; i < ev->nodes; i++)
        json_integer_set(json_object_get(ev->names, ev->node[i].name), (json_int_t)i);
    for (i = 0; i < bag->count; i++) {
        size_t at = fc_ev_node_index(ev, fc_ev_text(bag->line[i], "name"));
        const char *class = fc_ev_text(bag->line[i], "class");
        if (at == FC_NONE) {
            ev->malformed++;
            continue;
        }
        ev->node[at].declared = true;
        ev->node[at].leaf = json_object_get(bag->line[i], "switch");
        const json_t *differs = json_object_get(bag->line[i], "differs");
        if (json_is_object(differs)) {
            ev->node[at].differs = differs;
            ev->node[at].usual = fc_ev_node_index(ev, fc_ev_text(differs, "from"));
        }
        if (class && *class && !(ev->node[at].class = fc_ev_intern(ev, class)))
            return false;
    }
    return true;
}

struct claims {
    struct fc_ev_rank *claim;
    size_t count, room;
};

static bool claim(struct claims *c, int64_t rank, size_t node)
{
    if (rank < 0 || rank > INT_MAX || node == FC_NONE)
        return true;
    if (c->count == c->room) {
        size_t larger = c->room ? 2 * c->room : 256;
        struct fc_ev_rank *more = realloc(c->claim, larger * sizeof *more);
        if (!more)
            return false;
        c->claim = more;
        c->room = larger;
    }
    c->claim[c->count++] = (struct fc_ev_rank){.rank = (int)rank, .node = node};
    return true;
}

static bool claim_line(const struct fc_evidence *ev, struct claims *c,
                       const json_t *object)
{
    return claim(c, fc_ev_int(object, "rank", 0, INT_MAX, -1),
                 fc_ev_node_index(ev, fc_ev_text(object, "node")));
}

static bool claim_all(const struct fc_evidence *ev, struct claims *c,
                      const struct fc_ev_bag *bag)
{
    bool ok = true;
    for (size_t i = 0; ok && i < bag[FC_EV_NODE].count; i++) {
        const json_t *line = bag[FC_EV_NODE].line[i];
        size_t node = fc_ev_node_index(ev, fc_ev_text(line, "name")), k;
        json_t *rank;
        json_array_foreach(json_object_get(line, "ranks"), k, rank) ok =
            ok && (!json_is_integer(rank) || claim(c, json_integer_value(rank), node));
    }
    for (size_t i = 0; ok && i < bag[FC_EV_FACT].count; i++)
        ok = claim_line(ev, c, bag[FC_EV_FACT].line[i]);
    for (size_t i = 0; ok && i < bag[FC_EV_EVENT].count; i++)
        ok = claim_line(ev, c, bag[FC_EV_EVENT].line[i]);
    for (size_t i = 0; ok && i < bag[FC_EV_RECORD].count; i++)
        ok = claim_line(ev, c, json_object_get(bag[FC_EV_RECORD].line[i], "subject"));
    return ok;
}

static int by_rank(const void *pa, const void *pb)
{
    const struct fc_ev_rank *a = pa, *b = pb;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool make_ranks(struct fc_evidence *ev, const struct fc_ev_bag *bag)
{
    struct claims c = {0};
    bool ok = claim_all(ev, &c, bag);
    if (ok && c.count)
        qsort(c.claim, c.count, sizeof *c.claim, by_rank);
    ev->rank = c.claim;
    for (size_t i = 0; ok && i < c.count; i++) {
        const struct fc_ev_rank *last = ev->ranks ? &ev->rank[ev->ranks - 1] : NULL;
        if (last && last->rank == c.claim[i].rank) {
            ev->rank_conflicts += last->node != c.claim[i].node;
            continue;
        }
        ev->rank[ev->ranks++] = c.claim[i];
        ev->node[c.claim[i].node].ranks++;
    }
    return ok;
}

size_t fc_ev_rank_index(const struct fc_evidence *ev, int rank)
{
    size_t low = 0, high = ev->ranks;
    /* Where none is missing, each stands at its own place. */
    if (rank >= 0 && (size_t)rank < ev->ranks && ev->rank[rank].rank == rank)
        return (size_t)rank;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ev->rank[mid].rank < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low < ev->ranks && ev->rank[low].rank == rank ? low : FC_NONE;
}

size_t fc_ev_node_of_rank(const struct fc_evidence *ev, int rank)
{
    size_t at = fc_ev_rank_index(ev, rank);
    return at == FC_NONE ? FC_NONE : ev->rank[at].node;
}

/* --- the whole --- */

/* The run, profile and end lines. Of several different ones the first in canonical
 * order counts, an interrupted end before a complete one; the others count as
 * malformed, since a run has one of each. */
static enum fc_status take_singles(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                   struct fc_error *err)
{
    const struct fc_ev_bag *run = &bag[FC_EV_RUN], *end = &bag[FC_EV_END];
    if (run->count == 0)
        return fc_fail(err, FC_USAGE, "no journal: it has no 'run' line");
    ev->run = run->line[0];
    const char *schema = fc_ev_text(ev->run, "schema");
    if (!schema || strcmp(schema, FC_JOURNAL_SCHEMA) != 0)
        return fc_fail(err, FC_USAGE, "schema '%.60s' is not " FC_JOURNAL_SCHEMA,
                       schema ? schema : "(none)");
    if (bag[FC_EV_PROFILE].count)
        ev->profile = bag[FC_EV_PROFILE].line[0];
    ev->malformed += run->count - 1;
    ev->malformed += bag[FC_EV_PROFILE].count > 1 ? bag[FC_EV_PROFILE].count - 1 : 0;
    for (size_t i = 0; i < end->count; i++) {
        const char *status = fc_ev_text(end->line[i], "status");
        if (!ev->end || !status || strcmp(status, "complete") != 0)
            ev->end = end->line[i];
    }
    return FC_OK;
}

static enum fc_status read_all(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                               struct fc_error *err)
{
    enum fc_status status = take_singles(ev, bag, err);
    if (status == FC_OK && (!note_names(ev, bag) || !make_nodes(ev, &bag[FC_EV_NODE]) ||
                            !make_ranks(ev, bag)))
        status = fc_fail(err, FC_NOMEM, "out of memory for the evidence");
    if (status == FC_OK)
        status = fc_ev_read_plans(ev, &bag[FC_EV_PLAN], err);
    if (status == FC_OK)
        status = fc_ev_read_phases(ev, &bag[FC_EV_PHASE], err);
    if (status == FC_OK)
        status = fc_ev_read_facts(ev, &bag[FC_EV_FACT], err);
    if (status == FC_OK)
        status = fc_ev_read_events(ev, &bag[FC_EV_EVENT], err);
    if (status == FC_OK)
        status = fc_ev_read_records(ev, &bag[FC_EV_RECORD], err);
    if (status == FC_OK)
        status = fc_ev_read_matrix(ev, &bag[FC_EV_MATRIX], err);
    return status;
}

enum fc_status fc_evidence_open(const struct fc_journal_text *journal,
                                struct fc_evidence *out, struct fc_error *err)
{
    struct fc_ev_bag bag[FC_EV_TYPES] = {{0}};
    struct fc_evidence ev = {.bad_lines = journal->bad_lines,
                             .cut = journal->cut,
                             .made = json_array(),
                             .names = json_object(),
                             .intern = json_object()};
    enum fc_status status = FC_OK;
    if (!ev.made || !ev.names || !ev.intern || !fill_bags(journal, bag))
        status = fc_fail(err, FC_NOMEM, "out of memory for the evidence");
    if (status == FC_OK)
        status = read_all(&ev, bag, err);
    for (size_t t = 0; t < FC_EV_TYPES; t++)
        free(bag[t].line);
    if (status != FC_OK) {
        fc_evidence_close(&ev);
        return status;
    }
    *out = ev;
    return FC_OK;
}

void fc_evidence_close(struct fc_evidence *ev)
{
    free(ev->node);
    free(ev->rank);
    free(ev->record);
    free(ev->series);
    free(ev->by_series);
    free(ev->round);
    free(ev->pair);
    free(ev->way);
    free(ev->arena);
    free(ev->leaf);
    free(ev->leaf_name);
    free(ev->fact);
    free(ev->event);
    free(ev->phase);
    free(ev->plan);
    json_decref(ev->made);
    json_decref(ev->names);
    json_decref(ev->intern);
    *ev = (struct fc_evidence){0};
}

/* Seconds since 1970 of "2026-01-31T12:00:00.123Z"; NaN for anything else. */
static double seconds_of(const char *time)
{
    struct tm tm = {0};
    const char *rest = time ? strptime(time, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    if (!rest)
        return (double)NAN;
    double fraction = 0.0, unit = 0.1;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10.0)
            fraction += (*rest - '0') * unit;
    return strcmp(rest, "Z") == 0 ? (double)timegm(&tm) + fraction : (double)NAN;
}

double fc_ev_duration(const struct fc_evidence *ev)
{
    double seconds = seconds_of(fc_ev_text(ev->end, "time")) -
                     seconds_of(fc_ev_text(ev->run, "started"));
    return seconds >= 0.0 ? seconds : (double)NAN;
}
