// SPDX-License-Identifier: BSD-3-Clause
/* A tree of /sys and /proc: a folder, or a JSON object {path: content}, through one set
 * of calls. Collective: no. Refuses to know: what the files mean.
 */
#ifndef FC_TOPOLOGY_TREE_H
#define FC_TOPOLOGY_TREE_H

#include "topology/facts_read.h"

#include <jansson.h>

struct fc_tree {
    struct fc_source source; /* a folder; unless */
    const json_t *json;      /* borrowed; not NULL: the content */
};

/* As fc_source_read; false: it is not there or cannot be read. `path` is a format. */
bool fc_tree_read(const struct fc_tree *tree, char *out, size_t bytes, const char *path,
                  ...) __attribute__((format(printf, 4, 5)));
bool fc_tree_int(const struct fc_tree *tree, int64_t *out, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* Names in a folder, sorted; an empty list where there is none. The caller frees. */
struct fc_names fc_tree_list(const struct fc_tree *tree, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
bool fc_tree_exists(const struct fc_tree *tree, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
/* Where a symbolic link points, as it is written; false: none. */
bool fc_tree_link(const struct fc_tree *tree, char *out, size_t bytes, const char *path,
                  ...) __attribute__((format(printf, 4, 5)));
/* The last part of it. */
bool fc_tree_link_name(const struct fc_tree *tree, char *out, size_t bytes,
                       const char *path, ...) __attribute__((format(printf, 4, 5)));

#endif
