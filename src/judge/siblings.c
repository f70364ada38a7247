// SPDX-License-Identifier: BSD-3-Clause
#include "judge/siblings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *fact_array(const struct fc_ev_fact *fact, const char *key)
{
    const json_t *list = fact->rank < 0 ? json_object_get(fact->facts, key) : NULL;
    return json_is_array(list) ? list : NULL;
}

struct fc_siblings fc_siblings_collect(const struct fc_case *c, const char *key)
{
    size_t room = 1;
    for (size_t i = 0; i < c->ev->facts; i++)
        room += json_array_size(fact_array(&c->ev->fact[i], key));
    struct fc_siblings all = {calloc(room, sizeof *all.item), 0};
    if (!all.item)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; all.item && i < c->ev->facts; i++) {
        const json_t *list = fact_array(&c->ev->fact[i], key);
        for (size_t j = 0; j < json_array_size(list); j++)
            if (json_is_object(json_array_get(list, j)))
                all.item[all.count++] =
                    (struct fc_sibling){.o = json_array_get(list, j),
                                        .node = c->ev->fact[i].node,
                                        .kind = "",
                                        .part = "",
                                        .word = "",
                                        .number = (double)NAN};
    }
    return all;
}

const char *fc_sibling_text(const json_t *o, const char *key)
{
    const char *s = fc_ev_text(o, key);
    return s ? s : "";
}

double fc_sibling_number(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    double n = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return n > 0 && isfinite(n) ? n : (double)NAN;
}

int64_t fc_sibling_port(const struct fc_sibling *p)
{
    return fc_ev_int(p->o, "port", 0, 255, 0);
}

bool fc_sibling_is_fabric(const struct fc_sibling *p)
{
    return json_is_true(json_object_get(p->o, "fabric"));
}

bool fc_sibling_is_active(const struct fc_sibling *p)
{
    return strcmp(fc_sibling_text(p->o, "state"), "ACTIVE") == 0;
}

/* By what the part is called: "GPU3", or the NIC and the port. */
static int by_place(const struct fc_sibling *a, const struct fc_sibling *b)
{
    int order = strcmp(fc_sibling_text(a->o, "name"), fc_sibling_text(b->o, "name"));
    order = order ? order
                  : strcmp(fc_sibling_text(a->o, "nic"), fc_sibling_text(b->o, "nic"));
    return order ? order
                 : (fc_sibling_port(a) > fc_sibling_port(b)) -
                       (fc_sibling_port(a) < fc_sibling_port(b));
}

static int by_kind(const void *pa, const void *pb)
{
    const struct fc_sibling *a = pa, *b = pb;
    int order = strcmp(a->kind, b->kind);
    order = order ? order : strcmp(a->part, b->part);
    order = order ? order : strcmp(a->word, b->word);
    if (order)
        return order;
    if (a->number < b->number || a->number > b->number)
        return a->number < b->number ? -1 : 1;
    order = by_place(a, b);
    return order ? order : a->node < b->node ? -1 : a->node > b->node;
}

bool fc_sibling_same_kind(const struct fc_sibling *a, const struct fc_sibling *b)
{
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->part, b->part) == 0;
}

bool fc_sibling_same_value(const struct fc_sibling *a, const struct fc_sibling *b)
{
    return strcmp(a->word, b->word) == 0 && !(a->number < b->number) &&
           !(a->number > b->number);
}

/* Most nodes have the same value in the same place. */
static bool is_by_design(const struct fc_sibling *group, size_t n,
                         const struct fc_sibling *odd)
{
    size_t others = 0, alike = 0;
    for (size_t i = 0; i < n; i++) {
        if (group[i].node == odd->node || by_place(&group[i], odd) != 0)
            continue;
        others++;
        alike += fc_sibling_same_value(&group[i], odd);
    }
    return others + 1 >= FC_SIBLINGS_ENOUGH && 2 * alike > others;
}

/* "; so too mlx5_1, mlx5_2 and 4 more" of the node of run[0], of those marked. */
static struct fc_clip also_text(const struct fc_sibling *run, const bool *odd, size_t n)
{
    char text[128] = "";
    size_t used = 0, more = 0;
    for (size_t i = 1; i < n; i++) {
        const char *name = fc_sibling_text(run[i].o, "name");
        if (!odd[i] || run[i].node != run->node)
            continue;
        name = *name ? name : fc_sibling_text(run[i].o, "nic");
        if (used + strlen(name) + 40 < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used ? ", " : "; so too ", name);
        else
            more++;
    }
    if (more > 0)
        snprintf(text + used, sizeof text - used, "%s%zu more",
                 used ? " and " : "; so too ", more);
    return fc_clip(text);
}

/* run[0..n) have one odd value: those that are not so by design, once a node. */
static void say_run(const struct fc_case *c, const struct fc_sibling *run, size_t n,
                    const bool *odd, const struct fc_sibling *usual, size_t alike,
                    fc_sibling_say_fn say)
{
    bool *said = calloc(c->ev->nodes + 1, sizeof *said);
    if (!said) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!odd[i] || said[run[i].node])
            continue;
        said[run[i].node] = true;
        say(c, &run[i], usual, alike, also_text(&run[i], &odd[i], n - i).s);
    }
    free(said);
}

/* Items of one value stand in a row, and of those the ones in one place: one answer for
 * all of these. */
static void say_odd(const struct fc_case *c, const struct fc_sibling *group, size_t n,
                    const struct fc_sibling *usual, size_t alike, fc_sibling_say_fn say)
{
    bool *odd = calloc(n, sizeof *odd);
    if (!odd) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0, end; i < n; i = end) {
        bool any = false;
        for (end = i; end < n && fc_sibling_same_value(&group[i], &group[end]); end++) {
            bool asked = end > i && by_place(&group[end - 1], &group[end]) == 0;
            odd[end] = !fc_sibling_same_value(&group[end], usual) &&
                       (asked ? odd[end - 1] : !is_by_design(group, n, &group[end]));
            any |= odd[end];
        }
        if (any)
            say_run(c, &group[i], end - i, &odd[i], usual, alike, say);
    }
    free(odd);
}

void fc_siblings_sort(struct fc_siblings *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->item[i].kind[0] &&
            (all->item[i].word[0] || isfinite(all->item[i].number)))
            all->item[kept++] = all->item[i];
    if (kept > 0)
        qsort(all->item, kept, sizeof *all->item, by_kind);
    all->count = kept;
}

void fc_siblings_compare(const struct fc_case *c, struct fc_siblings *all,
                         fc_sibling_say_fn say)
{
    fc_siblings_sort(all);
    size_t kept = all->count;
    for (size_t i = 0, end; i < kept; i = end) {
        size_t alike = 0, most = i;
        for (end = i;
             end < kept && fc_sibling_same_kind(&all->item[i], &all->item[end]);) {
            size_t first = end;
            while (end < kept && fc_sibling_same_kind(&all->item[i], &all->item[end]) &&
                   fc_sibling_same_value(&all->item[first], &all->item[end]))
                end++;
            if (end - first > alike) {
                alike = end - first;
                most = first;
            }
        }
        if (end - i >= FC_SIBLINGS_ENOUGH && 3 * alike >= 2 * (end - i - 1))
            say_odd(c, &all->item[i], end - i, &all->item[most], alike, say);
    }
}
