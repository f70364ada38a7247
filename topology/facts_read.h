// SPDX-License-Identifier: BSD-3-Clause
/* Reading /proc and /sys, or a test's small tree of them: bounded, and every failure
 * explained. A read that hangs is the caller's to survive (a worker process); before
 * each file `note` is told its path, so that a hang has a name.
 * Collective: no. Refuses to know: what the files mean.
 */
#ifndef FC_TOPOLOGY_FACTS_READ_H
#define FC_TOPOLOGY_FACTS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fc_source {
    const char *root; /* "" for this machine, or a folder that stands for "/" */
    void (*note)(void *arg, const char *path); /* may be NULL */
    void *arg;
};

/* Why a value is missing. */
struct fc_gap {
    const char *reason; /* "EACCES", "ENOENT", "unsupported", "masked", "error",
                           "timeout", "failed"; static */
    char right[256];    /* the right that is missing, or why none would help */
};

void fc_gap_set(struct fc_gap *gap, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* From errno of an access to `path`. */
void fc_gap_errno(struct fc_gap *gap, const struct fc_source *source, const char *path,
                  int error);

/* "ROOT/PATH" into `out`; false (and a gap) when it is too long. */
bool fc_source_path(const struct fc_source *source, const char *path, char *out,
                    size_t bytes, struct fc_gap *gap);

/* At most bytes - 1 bytes of a regular file, ended by 0, blanks at the end removed.
 * False: `gap` says why. */
bool fc_source_read(const struct fc_source *source, const char *path, char *out,
                    size_t bytes, struct fc_gap *gap);
/* One non-negative or negative integer. */
bool fc_source_int(const struct fc_source *source, const char *path, int64_t *out,
                   struct fc_gap *gap);
/* The last part of where a symbolic link points to. */
bool fc_source_link(const struct fc_source *source, const char *path, char *out,
                    size_t bytes, struct fc_gap *gap);
bool fc_source_exists(const struct fc_source *source, const char *path);

/* A folder's names, sorted, dot files left out, at most FC_NAMES_MAX (names of 64 bytes
 * and more are left out: none of the folders read here has them). */
enum { FC_NAMES_MAX = 4096 };
struct fc_names {
    char (*name)[64];
    size_t count;
};
bool fc_source_list(const struct fc_source *source, const char *path,
                    struct fc_names *out, struct fc_gap *gap);
void fc_names_free(struct fc_names *names);

/* True when a container has put something else over `path` of /proc or /sys; `what`
 * says what. */
bool fc_source_masked(const struct fc_source *source, const char *path, char *what,
                      size_t bytes);

#endif
