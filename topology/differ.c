// SPDX-License-Identifier: BSD-3-Clause
/* A picture becomes a sorted list of traits (part, what, value); two pictures differ
 * where their lists do. A part that only one of them has is one difference, not one for
 * each of its traits. */
#include "topology/differ.h"

#include "core/hostlist.h"
#include "topology/traits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* One difference; "" for a value that its side does not have. */
struct change {
    const struct fc_trait *mine, *usual; /* either may be NULL */
    bool told;
};

struct changes {
    struct change *change;
    size_t count;
};

static int order_of(const struct fc_trait *a, const struct fc_trait *b)
{
    int order = (int)a->kind - (int)b->kind;
    order = order ? order : fc_natural_cmp(a->part, b->part);
    return order ? order : fc_natural_cmp(a->what, b->what);
}

static int by_name(const void *a, const void *b)
{
    int order = order_of(a, b);
    return order ? order
                 : strcmp(((const struct fc_trait *)a)->value,
                          ((const struct fc_trait *)b)->value);
}

static bool same_part(const struct fc_trait *a, const struct fc_trait *b)
{
    return a && b && a->kind == b->kind && strcmp(a->part, b->part) == 0;
}

static const struct fc_trait *any_of(const struct change *c)
{
    return c->mine ? c->mine : c->usual;
}

/* A whole part that one side lacks. */
static bool is_whole(const struct change *c)
{
    return (!c->mine || !c->usual) && any_of(c)->what[0] == '\0';
}

static void add_change(struct changes *all, const struct fc_trait *mine,
                       const struct fc_trait *usual)
{
    struct change c = {mine, usual, false};
    const struct change *last = all->count ? &all->change[all->count - 1] : NULL;
    /* how near a part is to others says nothing when it is not there */
    if (any_of(&c)->kind == FC_TRAIT_PAIR && (!mine || !usual))
        return;
    if (last && is_whole(last) && same_part(any_of(last), any_of(&c)))
        return;
    all->change[all->count++] = c;
}

static void compare(const struct fc_traits *mine, const struct fc_traits *usual,
                    struct changes *all)
{
    size_t i = 0, j = 0;
    while (i < mine->count || j < usual->count) {
        const struct fc_trait *a = i < mine->count ? &mine->trait[i] : NULL;
        const struct fc_trait *b = j < usual->count ? &usual->trait[j] : NULL;
        int order = !a ? 1 : !b ? -1 : order_of(a, b);
        if (order < 0)
            add_change(all, a, NULL);
        else if (order > 0)
            add_change(all, NULL, b);
        else if (strcmp(a->value, b->value) != 0)
            add_change(all, a, b);
        i += order <= 0;
        j += order >= 0;
    }
}

/* ---- words ---- */

static const char *value_of(const struct fc_trait *t)
{
    return t ? t->value : "unknown";
}

static bool same_change(const struct change *a, const struct change *b)
{
    const struct fc_trait *x = any_of(a), *y = any_of(b);
    return x->kind == y->kind && !a->mine == !b->mine && !a->usual == !b->usual &&
           strcmp(x->what, y->what) == 0 &&
           (is_whole(a) || (strcmp(value_of(a->mine), value_of(b->mine)) == 0 &&
                            strcmp(value_of(a->usual), value_of(b->usual)) == 0));
}

/* "GPU 0000:b3:00.0", "NICs mlx5_2, mlx5_3, mlx5_4 and 2 more": of all that changed
 * alike from `first` on, which count as told then. */
static void put_parts(FILE *out, struct changes *all, size_t first)
{
    enum { NAMED = 3 };
    struct change *c = &all->change[first];
    const char *word = fc_trait_word(any_of(c)->kind);
    size_t n = 0, named = 0;
    for (size_t i = first; i < all->count; i++)
        n += same_change(c, &all->change[i]);
    fprintf(out, "%s%s ", word, n > 1 && *word ? "s" : "");
    for (size_t i = first; i < all->count; i++) {
        if (!same_change(c, &all->change[i]))
            continue;
        all->change[i].told = true;
        if (named < NAMED)
            fprintf(out, "%s%s", named ? ", " : "", any_of(&all->change[i])->shown);
        named++;
    }
    if (n > NAMED)
        fprintf(out, " and %zu more", n - NAMED);
}

/* "7 GPUs instead of 8", "1 GPU instead of 8": the words are plurals. */
static void put_count(FILE *out, const struct change *c)
{
    const char *what = any_of(c)->what;
    bool one = strcmp(value_of(c->mine), "1") == 0;
    size_t n = strlen(what), tail = !one ? 0 : strcmp(what, "NVSwitches") == 0 ? 2 : 1;
    fprintf(out, "%s %.*s instead of %s", value_of(c->mine), (int)(n - tail), what,
            value_of(c->usual));
}

static void put_change(FILE *out, struct changes *all, size_t first)
{
    struct change *c = &all->change[first];
    const struct fc_trait *t = any_of(c);
    c->told = true;
    if (t->kind == FC_TRAIT_COUNT) {
        put_count(out, c);
    } else if (t->part[0] == '\0') {
        fprintf(out, "%s %s instead of %s", t->what, value_of(c->mine),
                value_of(c->usual));
    } else {
        put_parts(out, all, first);
        if (is_whole(c))
            fprintf(out, c->mine ? " additional" : " missing");
        else
            fprintf(out, ": %s%s%s instead of %s", t->what, t->what[0] ? " " : "",
                    value_of(c->mine), value_of(c->usual));
    }
}

static json_t *text_of(struct changes *all, size_t first)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    put_change(out, all, first);
    json_t *json = fclose(out) == 0 ? json_string(text) : NULL;
    free(text);
    return json;
}

/* False: out of memory. */
static bool tell(struct changes *all, json_t *facts, json_t *topology, size_t *out_more)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->change[i].told)
            continue;
        json_t *list =
            any_of(&all->change[i])->kind == FC_TRAIT_FACT ? facts : topology;
        json_t *text = text_of(all, i);
        bool full = json_array_size(list) >= FC_DIFFER_MOST;
        *out_more += full;
        if (full)
            json_decref(text);
        else if (json_array_append_new(list, text) != 0)
            return false;
    }
    return true;
}

/* ---- pictures ---- */

static enum fc_status traits_of(const json_t *picture, const json_t *usual,
                                struct fc_traits *out, struct fc_error *err)
{
    *out = fc_traits_read(picture, usual);
    if (out->short_of_memory) {
        fc_traits_free(out);
        return fc_fail(err, FC_NOMEM, "differences of nodes: out of memory");
    }
    if (out->count > 0)
        qsort(out->trait, out->count, sizeof *out->trait, by_name);
    return FC_OK;
}

static enum fc_status differ(const struct fc_traits *mine,
                             const struct fc_traits *usual, json_t **out,
                             struct fc_error *err)
{
    struct changes all = {calloc(mine->count + usual->count + 1, sizeof *all.change),
                          0};
    json_t *facts = json_array(), *topology = json_array();
    size_t more = 0;
    bool good = all.change && facts && topology;
    if (good) {
        compare(mine, usual, &all);
        good = tell(&all, facts, topology, &more);
    }
    *out = NULL;
    if (good && all.count > 0)
        *out = json_pack("{s:O, s:O, s:I}", "facts", facts, "topology", topology,
                         "more", (json_int_t)more);
    good = good && (all.count == 0 || *out);
    json_decref(facts);
    json_decref(topology);
    free(all.change);
    return good ? FC_OK : fc_fail(err, FC_NOMEM, "differences of nodes: out of memory");
}

enum fc_status fc_differ(const json_t *mine, const json_t *usual, json_t **out,
                         struct fc_error *err)
{
    struct fc_traits a, b;
    enum fc_status status = traits_of(mine, usual, &a, err);
    if (status != FC_OK)
        return status;
    status = traits_of(usual, NULL, &b, err);
    if (status == FC_OK) {
        status = differ(&a, &b, out, err);
        fc_traits_free(&b);
    }
    fc_traits_free(&a);
    return status;
}

enum fc_status fc_differ_print(const json_t *picture, uint64_t *out,
                               struct fc_error *err)
{
    struct fc_traits traits;
    enum fc_status status = traits_of(picture, NULL, &traits, err);
    if (status != FC_OK)
        return status;
    uint64_t print = 0;
    for (size_t i = 0; i < traits.count; i++) {
        const struct fc_trait *t = &traits.trait[i];
        print = XXH64(&t->kind, sizeof t->kind, print);
        print = XXH64(t->part, strlen(t->part), print);
        print = XXH64(t->what, strlen(t->what), print);
        print = XXH64(t->value, strlen(t->value), print);
    }
    fc_traits_free(&traits);
    *out = print;
    return FC_OK;
}

/* ---- the usual node ---- */

static int by_kin(const void *pa, const void *pb)
{
    const struct fc_kin *a = pa, *b = pb;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->print != b->print)
        return a->print < b->print ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

void fc_kin_sort(struct fc_kin *kin, size_t n)
{
    if (n > 0)
        qsort(kin, n, sizeof *kin, by_kin);
}

static size_t end_of_class(const struct fc_kin *kin, size_t n, size_t i)
{
    size_t end = i;
    while (end < n && kin[end].class == kin[i].class)
        end++;
    return end;
}

bool fc_kin_alike(const struct fc_kin *kin, size_t n)
{
    size_t first = 0; /* class 0 stands before all others */
    while (first < n && kin[first].class == 0)
        first++;
    return first == n || (kin[first].class == kin[n - 1].class &&
                          kin[first].print == kin[n - 1].print);
}

/* The largest group of equal prints in one class, and its lowest rank. */
static const struct fc_kin *usual_of(const struct fc_kin *kin, size_t n)
{
    const struct fc_kin *best = NULL;
    size_t most = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && kin[end].print == kin[i].print;)
            end++;
        if (end - i > most || (end - i == most && kin[i].rank < best->rank)) {
            most = end - i;
            best = &kin[i];
        }
    }
    return best;
}

static int lowest_rank(const struct fc_kin *kin, size_t n)
{
    int rank = kin->rank;
    for (size_t i = 1; i < n; i++)
        rank = kin[i].rank < rank ? kin[i].rank : rank;
    return rank;
}

int fc_kin_usual(const struct fc_kin *kin, size_t n, uint64_t class)
{
    size_t from = n, most = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_class(kin, n, i);
        bool asked = class ? kin[i].class == class : kin[i].class != 0;
        if (asked && (end - i > most ||
                      (end - i == most && lowest_rank(&kin[i], end - i) <
                                              lowest_rank(&kin[from], most)))) {
            from = i;
            most = end - i;
        }
    }
    return most > 0 ? usual_of(&kin[from], most)->rank : -1;
}
