// SPDX-License-Identifier: BSD-3-Clause
/* Matrix lines: the pairs of one round, checked entry by entry. A line whose frame is
 * not what it should be counts as one that is malformed; so does each pair of it that
 * cannot be used. A rank belongs to the node that other lines say it runs on. */
#include "judge/evidence_parts.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The lists of one line, each as long as `pair`, or NULL. */
struct lists {
    const json_t *pair, *bw, *latency, *limit, *wrong, *status, *reason, *path;
};

static bool read_list(const json_t *line, const char *key, size_t count,
                      const json_t **out)
{
    const json_t *list = json_object_get(line, key);
    *out = json_is_array(list) ? list : NULL;
    return !list || json_is_null(list) ||
           (json_is_array(list) && json_array_size(list) == count);
}

static bool read_lists(const json_t *line, struct lists *out)
{
    out->pair = json_object_get(line, "pair");
    size_t count = json_array_size(out->pair);
    return json_is_array(out->pair) && read_list(line, "bw", count, &out->bw) &&
           read_list(line, "latency", count, &out->latency) &&
           read_list(line, "limit", count, &out->limit) &&
           read_list(line, "wrong", count, &out->wrong) &&
           read_list(line, "status", count, &out->status) &&
           read_list(line, "reason", count, &out->reason) &&
           read_list(line, "path", count, &out->path);
}

static bool absent(const json_t *value)
{
    return !value || json_is_null(value);
}

static bool read_round(const json_t *line, struct fc_ev_round *out)
{
    const json_t *bytes = json_object_get(line, "bytes");
    out->round = fc_ev_int(line, "round", 0, UINT32_MAX, -1);
    out->rounds = fc_ev_int(line, "rounds", 1, UINT32_MAX, -1);
    out->bytes = fc_ev_int(line, "bytes", 0, INT64_MAX, -1);
    out->attempt = (int)fc_ev_int(line, "attempt", 1, INT_MAX,
                                  json_object_get(line, "attempt") ? -1 : 1);
    out->concurrency = (int)fc_ev_int(line, "concurrency", 0, INT_MAX, 0);
    return out->round >= 0 && out->rounds >= 0 && out->attempt >= 1 &&
           (out->bytes >= 0 || absent(bytes));
}

/* A positive number, or NaN for null and nothing; false for anything else. */
static bool read_positive(const json_t *value, double *out)
{
    *out = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return absent(value) || (*out > 0.0 && isfinite(*out));
}

/* Two entries, of null or nothing for none. */
static bool read_two(const json_t *two, const json_t **a, const json_t **b)
{
    *a = json_array_get(two, 0);
    *b = json_array_get(two, 1);
    return absent(two) || (json_is_array(two) && json_array_size(two) == 2);
}

static bool read_wrong(const json_t *value, bool told, int32_t *out)
{
    if (absent(value)) {
        *out = told ? -1 : 0;
        return true;
    }
    int64_t count = json_is_integer(value) ? json_integer_value(value) : -1;
    *out = count > INT32_MAX ? INT32_MAX : (int32_t)count;
    return count >= 0;
}

static bool read_members(const struct fc_evidence *ev, const json_t *two,
                         struct fc_ev_pair *out)
{
    const json_t *a = json_array_get(two, 0), *b = json_array_get(two, 1);
    if (json_array_size(two) != 2 || !json_is_integer(a) || !json_is_integer(b))
        return false;
    json_int_t x = json_integer_value(a), y = json_integer_value(b);
    if (x < 0 || y < 0 || x > INT_MAX || y > INT_MAX || x == y)
        return false;
    out->a_rank = (int)x;
    out->b_rank = (int)y;
    size_t m = fc_ev_node_of_rank(ev, out->a_rank);
    size_t n = fc_ev_node_of_rank(ev, out->b_rank);
    out->a_node = (uint32_t)m;
    out->b_node = (uint32_t)n;
    return m < UINT32_MAX && n < UINT32_MAX;
}

static bool read_state(const struct lists *lists, size_t i, struct fc_ev_pair *out)
{
    const json_t *status = json_array_get(lists->status, i);
    const json_t *path = json_array_get(lists->path, i);
    const char *word = absent(status) ? "ok" : json_string_value(status);
    if (!word || !(absent(path) || json_is_object(path)))
        return false;
    out->reason = json_string_value(json_array_get(lists->reason, i));
    out->path = fc_ev_text(path, "name");
    out->state = strcmp(word, "ok") == 0       ? FC_EV_OK
                 : strcmp(word, "failed") == 0 ? FC_EV_FAILED
                                               : FC_EV_UNMEASURED;
    return true;
}

static bool read_pair(const struct fc_evidence *ev, const struct lists *lists, size_t i,
                      struct fc_ev_pair *out)
{
    const json_t *ab, *ba, *wrong_ab, *wrong_ba;
    return read_members(ev, json_array_get(lists->pair, i), out) &&
           read_two(json_array_get(lists->bw, i), &ab, &ba) &&
           read_two(json_array_get(lists->wrong, i), &wrong_ab, &wrong_ba) &&
           read_positive(ab, &out->bw_ab) && read_positive(ba, &out->bw_ba) &&
           read_positive(json_array_get(lists->latency, i), &out->latency) &&
           read_positive(json_array_get(lists->limit, i), &out->limit) &&
           read_wrong(wrong_ab, lists->wrong, &out->wrong_ab) &&
           read_wrong(wrong_ba, lists->wrong, &out->wrong_ba) &&
           read_state(lists, i, out);
}

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

static void read_line(struct fc_evidence *ev, const struct numbered *line)
{
    struct lists lists;
    if (!read_lists(line->line, &lists)) {
        ev->malformed++;
        return;
    }
    ev->round[ev->rounds] = line->round;
    for (size_t i = 0; i < json_array_size(lists.pair); i++) {
        struct fc_ev_pair pair = {.round = (uint32_t)ev->rounds};
        if (read_pair(ev, &lists, i, &pair))
            ev->pair[ev->pairs++] = pair;
        else
            ev->malformed++;
    }
    ev->rounds++;
}

enum fc_status fc_ev_read_matrix(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                 struct fc_error *err)
{
    size_t lines = 0, pairs = 0;
    struct numbered *line = malloc((bag->count + 1) * sizeof *line);
    for (size_t i = 0; line && i < bag->count; i++) {
        line[lines] = (struct numbered){.line = bag->line[i], .order = i};
        if (!read_round(bag->line[i], &line[lines].round)) {
            ev->malformed++;
            continue;
        }
        pairs += json_array_size(json_object_get(bag->line[i], "pair"));
        lines++;
    }
    ev->round = malloc((lines + 1) * sizeof *ev->round);
    ev->pair = malloc((pairs + 1) * sizeof *ev->pair);
    bool ok = line && ev->round && ev->pair;
    if (ok)
        qsort(line, lines, sizeof *line, by_round);
    for (size_t i = 0; ok && i < lines; i++)
        read_line(ev, &line[i]);
    free(line);
    if (!ok)
        return fc_fail(err, FC_NOMEM, "out of memory for the pairs");
    return FC_OK;
}
