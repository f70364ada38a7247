// SPDX-License-Identifier: BSD-3-Clause
/* Between the files that read switches. Refuses to know: files. Collective: no. */
#ifndef FC_TOPOLOGY_SWITCHES_PARTS_H
#define FC_TOPOLOGY_SWITCHES_PARTS_H

#include "topology/switches.h"

#include <stdbool.h>

/* More nodes than any cluster has; and more rails of all of them together. */
enum { FC_SWITCHES_NODES = 1 << 20, FC_SWITCHES_PLACES = 1 << 23 };

/* One rail of a node at its switch. */
struct fc_switches_place {
    char *node, *rail, *leaf; /* rail: "" where the order tells */
    size_t order;
};

struct fc_switches_list {
    struct fc_switches_place *place;
    size_t places, room;
};

/* A piece of text. */
struct fc_span {
    const char *at;
    size_t bytes;
};

/* Copies all three. FC_NOMEM; FC_USAGE beyond FC_SWITCHES_PLACES. */
enum fc_status fc_switches_add(struct fc_switches_list *list, struct fc_span node,
                               struct fc_span rail, struct fc_span leaf,
                               struct fc_error *err) FC_MUST_USE;

/* The next line of *text without its end, which is taken from it; false: none is
 * left. */
bool fc_span_line(struct fc_span *text, struct fc_span *out_line);
/* Without blanks at either end. */
struct fc_span fc_span_trim(struct fc_span span);
/* True when it begins with `word`, in capitals or not. */
bool fc_span_begins(struct fc_span span, const char *word);
/* The next run of other characters than blanks, taken from *span; empty: none. */
struct fc_span fc_span_word(struct fc_span *span);

/* True for a line that only this format has. */
bool fc_switches_slurm_line(struct fc_span line);
bool fc_switches_ib_line(struct fc_span line);
enum fc_status fc_switches_slurm(struct fc_span text, struct fc_switches_list *out,
                                 struct fc_error *err) FC_MUST_USE;
enum fc_status fc_switches_ib(struct fc_span text, struct fc_switches_list *out,
                              struct fc_error *err) FC_MUST_USE;

#endif
