// SPDX-License-Identifier: BSD-3-Clause
/* Lists of hosts as Slurm writes them ("node[01-03,7],gpu5"), and the order in which
 * people count names (node9 before node10). Collective: no. Refuses to know: what
 * the names mean. */
#ifndef FC_CORE_HOSTLIST_H
#define FC_CORE_HOSTLIST_H

#include "core/status.h"

#include <stddef.h>

/* <0, 0, >0 as strcmp, but runs of digits compare by value; equal values with more
 * leading zeros come first. A total order: 0 only for equal text. */
int fc_natural_cmp(const char *a, const char *b);

/* The names, in any order and with repeats, as one list (malloc'd; "" for none; NULL
 * when memory is short). Only a number at the end of a name is made part of a range,
 * since that is what every Slurm understands; a range never mixes a padded with a
 * longer number, so that `scontrol show hostnames` gives back exactly the names. */
char *fc_hostlist(const char *const *name, size_t names);

/* Calls `take` for each name that a list stands for, in its order, until one call does
 * not return FC_OK, which is then returned. Brackets may stand anywhere in a name, and
 * several of them; blanks around names are no part of them. FC_USAGE when it is no
 * such list, or stands for more than `most` names. */
typedef enum fc_status (*fc_hostlist_take_fn)(void *arg, const char *name,
                                              struct fc_error *err);
enum fc_status fc_hostlist_expand(const char *list, size_t bytes, size_t most,
                                  fc_hostlist_take_fn take, void *arg,
                                  struct fc_error *err) FC_MUST_USE;

#endif
