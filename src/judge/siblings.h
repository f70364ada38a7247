// SPDX-License-Identifier: BSD-3-Clause
/* Siblings: the GPUs, NICs and ports of all nodes, compared with those of their kind.
 * What most of them are is what they should be, unless most nodes have the odd value in
 * the same place: then somebody meant it. Collective: no. Refuses to know: what is
 * compared, and what it means. */
#ifndef FC_JUDGE_SIBLINGS_H
#define FC_JUDGE_SIBLINGS_H

#include "judge/rules.h"

/* Fewer equals cannot say what is usual. */
enum { FC_SIBLINGS_ENOUGH = 3 };

/* One entry of an array among the facts of a node, and what a rule compares of it. */
struct fc_sibling {
    const json_t *o;
    size_t node;
    const char *kind, *part; /* those that should be alike agree in both */
    const char *word;        /* and in this, "" where it is a number: */
    double number;           /* NaN: unknown */
};

struct fc_siblings {
    struct fc_sibling *item;
    size_t count;
};

/* All objects of the array `key` of all nodes' own facts, kind, part and word "" and
 * number NaN. The caller frees .item, which is NULL without memory. */
struct fc_siblings fc_siblings_collect(const struct fc_case *c, const char *key);

/* Text of a member, "" where there is none. */
const char *fc_sibling_text(const json_t *o, const char *key);
/* A positive number of a member; NaN: none. */
double fc_sibling_number(const json_t *o, const char *key);
/* The number of the port that it is; 0: none. */
int64_t fc_sibling_port(const struct fc_sibling *item);
/* A port of the fabric; one that is up. */
bool fc_sibling_is_fabric(const struct fc_sibling *item);
bool fc_sibling_is_active(const struct fc_sibling *item);

/* Of the same kind and part; with the same word and number. */
bool fc_sibling_same_kind(const struct fc_sibling *a, const struct fc_sibling *b);
bool fc_sibling_same_value(const struct fc_sibling *a, const struct fc_sibling *b);

/* Says what `odd` is, of which `alike` equals are like `usual`. `also` ends the
 * message: "; so too mlx5_1, mlx5_2" where more of the same node have the same odd
 * value, else "". */
typedef void (*fc_sibling_say_fn)(const struct fc_case *c, const struct fc_sibling *odd,
                                  const struct fc_sibling *usual, size_t alike,
                                  const char *also);

/* Sorts by kind, part and value; drops those without kind or value. */
void fc_siblings_sort(struct fc_siblings *all);

/* In each group of equals: when at least two thirds of an item's equals have one value,
 * `say` is told of each that has another, once a node and value. Those without kind or
 * value do not count. */
void fc_siblings_compare(const struct fc_case *c, struct fc_siblings *all,
                         fc_sibling_say_fn say);

#endif
