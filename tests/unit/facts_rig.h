// SPDX-License-Identifier: BSD-3-Clause
/* A captured tree for the tests of facts: made before each test, removed after it. */
#ifndef FC_TESTS_UNIT_FACTS_RIG_H
#define FC_TESTS_UNIT_FACTS_RIG_H

#include "topology/facts_read.h"

#include "tests/unit/tree.h"

static struct fc_source source; /* the running test's tree */

static inline int set_up(void **state)
{
    static char root[64];
    (void)state;
    tree_make(root, sizeof root);
    source = (struct fc_source){.root = root};
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    tree_remove(source.root);
    return 0;
}

static inline void put(const char *path, const char *text)
{
    tree_write(source.root, path, text);
}

#endif
