// SPDX-License-Identifier: BSD-3-Clause
/* Matrix lines: the pairs of one round, checked entry by entry. A line whose frame is
 * not what it should be counts as one that is malformed; so does each pair of it that
 * cannot be used. A rank belongs to the node that other lines say it runs on. Lists
 * come as JSON or, where they are long, as its text. */
#include "judge/evidence_parts.h"
#include "judge/lists.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR, BW, LATENCY, LIMIT, WRONG, NUMBERS };
enum { STATUS = NUMBERS, REASON, PATH, LISTS };

static const struct {
    const char *key;
    size_t width; /* numbers an entry */
} list_kind[LISTS] = {
    [PAIR] = {"pair", 2},     [BW] = {"bw", 2},       [LATENCY] = {"latency", 1},
    [LIMIT] = {"limit", 1},   [WRONG] = {"wrong", 2}, [STATUS] = {"status", 0},
    [REASON] = {"reason", 0}, [PATH] = {"path", 0},
};

/* Entries of text tend to be alike: the last one is remembered. */
struct memo {
    struct fc_slice slice;
    const char *word; /* what it says; NULL: nothing */
    bool ok;
};

/* The lists of one line, and memory for those of the next. */
struct desk {
    struct fc_evidence *ev;
    struct fc_numbers number[NUMBERS];
    struct fc_slices text[LISTS];
    struct memo memo[LISTS];
    bool has[LISTS];
    bool nomem;
};

static void desk_close(struct desk *d)
{
    for (size_t i = 0; i < NUMBERS; i++)
        free(d->number[i].x);
    for (size_t i = 0; i < LISTS; i++)
        free(d->text[i].x);
}

static bool absent(const json_t *value)
{
    return !value || json_is_null(value);
}

/* The list as a string of its text; NULL when it is no list. */
static const json_t *as_text(struct desk *d, const json_t *value)
{
    if (!json_is_array(value))
        return json_is_string(value) ? value : NULL;
    char *text = json_dumps(value, JSON_COMPACT);
    const json_t *kept = fc_ev_keep(d->ev, text ? json_string(text) : NULL);
    free(text);
    d->nomem = d->nomem || !kept;
    return kept;
}

static bool read_list(struct desk *d, const json_t *line, size_t i)
{
    const json_t *value = json_object_get(line, list_kind[i].key);
    enum fc_list result;
    size_t count;
    d->has[i] = !absent(value);
    if (!d->has[i])
        return i != PAIR;
    if (!(value = as_text(d, value)))
        return false;
    const char *text = json_string_value(value);
    size_t bytes = json_string_length(value);
    if (i < NUMBERS) {
        result = fc_numbers_read(text, bytes, list_kind[i].width, &d->number[i]);
        count = d->number[i].count;
    } else {
        result = fc_slices_read(text, bytes, &d->text[i]);
        count = d->text[i].count;
        d->memo[i].slice.text = NULL;
    }
    d->nomem = d->nomem || result == FC_LIST_NOMEM;
    return result == FC_LIST_READ && count == d->number[PAIR].count;
}

static bool read_lists(struct desk *d, const json_t *line)
{
    bool ok = true;
    for (size_t i = 0; ok && i < LISTS; i++)
        ok = read_list(d, line, i);
    return ok;
}

/* A number in [min, max]; -1 when there is none; false for anything else. */
static bool read_small(const json_t *line, const char *key, int64_t max, int *out)
{
    *out = (int)fc_ev_int(line, key, 0, max, -1);
    return *out >= 0 || absent(json_object_get(line, key));
}

static bool read_round(const json_t *line, struct fc_ev_round *out)
{
    const json_t *bytes = json_object_get(line, "bytes");
    const json_t *metric = json_object_get(line, "metric");
    out->round = fc_ev_int(line, "round", 0, UINT32_MAX, -1);
    out->rounds = fc_ev_int(line, "rounds", 1, UINT32_MAX, -1);
    out->bytes = fc_ev_int(line, "bytes", 0, INT64_MAX, -1);
    out->attempt = (int)fc_ev_int(line, "attempt", 1, INT_MAX,
                                  json_object_get(line, "attempt") ? -1 : 1);
    out->concurrency = (int)fc_ev_int(line, "concurrency", 0, INT_MAX, 0);
    out->metric = absent(metric) ? "pair.bw" : json_string_value(metric);
    if (!read_small(line, "rail", FC_EV_RAILS - 1, &out->rail) ||
        !read_small(line, "peer_rail", FC_EV_RAILS - 1, &out->peer_rail))
        return false;
    if (out->peer_rail < 0)
        out->peer_rail = out->rail;
    return out->round >= 0 && out->rounds >= 0 && out->attempt >= 1 &&
           (out->bytes >= 0 || absent(bytes)) && out->metric && *out->metric &&
           (out->rail < 0) == (out->peer_rail < 0);
}

/* --- one pair --- */

/* Positive, or NaN for none; false for anything else. */
static bool read_positive(const struct desk *d, size_t list, size_t at, double *out)
{
    *out = d->has[list] ? d->number[list].x[at] : (double)NAN;
    return isnan(*out) || (*out > 0.0 && isfinite(*out));
}

static bool is_count(double x)
{
    return x >= 0.0 && isfinite(x) && x == floor(x);
}

static bool read_wrong(const struct desk *d, size_t at, int32_t *out)
{
    double x = d->has[WRONG] ? d->number[WRONG].x[at] : 0.0;
    *out = isnan(x) ? -1 : x > INT32_MAX ? INT32_MAX : (int32_t)x;
    return isnan(x) || is_count(x);
}

static bool read_members(const struct desk *d, size_t i, struct fc_ev_pair *out)
{
    double a = d->number[PAIR].x[2 * i], b = d->number[PAIR].x[2 * i + 1];
    if (!is_count(a) || !is_count(b) || a > INT_MAX || b > INT_MAX)
        return false;
    out->a_rank = (int)a;
    out->b_rank = (int)b;
    size_t m = fc_ev_node_of_rank(d->ev, out->a_rank);
    size_t n = fc_ev_node_of_rank(d->ev, out->b_rank);
    out->a_node = (uint32_t)m;
    out->b_node = (uint32_t)n;
    return out->a_rank != out->b_rank && m < UINT32_MAX && n < UINT32_MAX;
}

/* What an entry of a list of text says: status and reason are text, of a path the
 * name. False when it is of another type. */
static bool decode(struct desk *d, size_t list, const struct fc_slice *s,
                   const char **out)
{
    json_t *value = json_loadb(s->text, s->bytes, JSON_DECODE_ANY, NULL);
    bool ok = absent(value)
                  ? value != NULL
                  : (list == PATH ? json_is_object(value) : json_is_string(value));
    const char *word =
        list == PATH ? fc_ev_text(value, "name") : json_string_value(value);
    *out = word ? fc_ev_intern(d->ev, word) : NULL;
    d->nomem = d->nomem || (word && !*out);
    json_decref(value);
    return ok;
}

static bool read_text(struct desk *d, size_t list, size_t i, const char **out)
{
    struct memo *m = &d->memo[list];
    *out = NULL;
    if (!d->has[list])
        return true;
    const struct fc_slice *s = &d->text[list].x[i];
    if (!m->slice.text || m->slice.bytes != s->bytes ||
        memcmp(m->slice.text, s->text, s->bytes) != 0) {
        m->ok = decode(d, list, s, &m->word);
        m->slice = *s;
    }
    *out = m->word;
    return m->ok;
}

static bool read_state(struct desk *d, size_t i, struct fc_ev_pair *out)
{
    const char *word;
    bool ok = read_text(d, STATUS, i, &word) && read_text(d, PATH, i, &out->path);
    (void)read_text(d, REASON, i, &out->reason);
    out->state = !word || strcmp(word, "ok") == 0 ? FC_EV_OK
                 : strcmp(word, "failed") == 0    ? FC_EV_FAILED
                                                  : FC_EV_UNMEASURED;
    return ok;
}

static bool read_pair(struct desk *d, size_t i, struct fc_ev_pair *out)
{
    return read_members(d, i, out) && read_positive(d, BW, 2 * i, &out->bw_ab) &&
           read_positive(d, BW, 2 * i + 1, &out->bw_ba) &&
           read_positive(d, LATENCY, i, &out->latency) &&
           read_positive(d, LIMIT, i, &out->limit) &&
           read_wrong(d, 2 * i, &out->wrong_ab) &&
           read_wrong(d, 2 * i + 1, &out->wrong_ba) && read_state(d, i, out);
}

/* --- all lines --- */

struct numbered {
    struct fc_ev_round round;
    const json_t *line;
    size_t order; /* of the line in the bag, which is canonical */
};

static int by_round(const void *pa, const void *pb)
{
    const struct numbered *a = pa, *b = pb;
    if (a->round.attempt != b->round.attempt)
        return a->round.attempt < b->round.attempt ? -1 : 1;
    if (a->round.round != b->round.round)
        return a->round.round < b->round.round ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool make_room(struct fc_evidence *ev, size_t pairs, size_t *room)
{
    if (ev->pairs + pairs <= *room)
        return true;
    size_t larger = ev->pairs + pairs + *room / 2;
    struct fc_ev_pair *more = realloc(ev->pair, larger * sizeof *more);
    if (!more)
        return false;
    ev->pair = more;
    *room = larger;
    return true;
}

/* False when memory is short. */
static bool read_line(struct desk *d, const struct numbered *line, size_t *room)
{
    struct fc_evidence *ev = d->ev;
    if (!read_lists(d, line->line)) {
        ev->malformed++;
        return !d->nomem;
    }
    size_t count = d->number[PAIR].count;
    if (!make_room(ev, count, room))
        return false;
    ev->round[ev->rounds] = line->round;
    for (size_t i = 0; i < count; i++) {
        struct fc_ev_pair pair = {.round = (uint32_t)ev->rounds};
        if (read_pair(d, i, &pair))
            ev->pair[ev->pairs++] = pair;
        else
            ev->malformed++;
    }
    ev->rounds++;
    return !d->nomem;
}

enum fc_status fc_ev_read_matrix(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                 struct fc_error *err)
{
    struct desk d = {.ev = ev};
    size_t lines = 0, room = 0;
    struct numbered *line = malloc((bag->count + 1) * sizeof *line);
    for (size_t i = 0; line && i < bag->count; i++) {
        line[lines] = (struct numbered){.line = bag->line[i], .order = i};
        if (read_round(bag->line[i], &line[lines].round))
            lines++;
        else
            ev->malformed++;
    }
    ev->round = malloc((lines + 1) * sizeof *ev->round);
    bool ok = line && ev->round && make_room(ev, 1, &room);
    if (ok)
        qsort(line, lines, sizeof *line, by_round);
    for (size_t i = 0; ok && i < lines; i++)
        ok = read_line(&d, &line[i], &room);
    free(line);
    desk_close(&d);
    if (!ok || !fc_ev_sort_ways(ev))
        return fc_fail(err, FC_NOMEM, "out of memory for the pairs");
    return FC_OK;
}
