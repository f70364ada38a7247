// SPDX-License-Identifier: BSD-3-Clause
/* A folder that stands for "/" in a test: made in $TMPDIR, filled file by file,
 * removed. Anything that goes wrong is fatal to the test program. */
#ifndef FC_TESTS_UNIT_TREE_H
#define FC_TESTS_UNIT_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void tree_must(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

static inline void tree_make(char *root, size_t bytes)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(root, bytes, "%.40s/fc-tree-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    tree_must(mkdtemp(root) != NULL, root);
}

static inline void tree_parents(char *full)
{
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
}

static inline void tree_write(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    tree_parents(full);
    FILE *file = fopen(full, "w");
    tree_must(file && fputs(text, file) >= 0 && fclose(file) == 0, full);
}

static inline void tree_link(const char *root, const char *path, const char *target)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    tree_parents(full);
    tree_must(symlink(target, full) == 0, full);
}

static inline void tree_mode(const char *root, const char *path, mode_t mode)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    tree_must(chmod(full, mode) == 0, full);
}

static inline int tree_unlink(const char *path, const struct stat *st, int type,
                              struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void tree_remove(const char *root)
{
    tree_must(nftw(root, tree_unlink, 16, FTW_DEPTH | FTW_PHYS) == 0, root);
}

#endif
