// SPDX-License-Identifier: BSD-3-Clause
/* The lists of a matrix line, read straight from their text: numbers into an array,
 * without a JSON value each. Collective: no. Refuses to know: what the numbers mean. */
#ifndef FC_JUDGE_LISTS_H
#define FC_JUDGE_LISTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Numbers, `width` an entry. NaN: null. Infinity: not what an entry must be (JSON has
 * none of its own), then all of the entry's. */
struct fc_numbers {
    double *x;
    size_t room;
    size_t count; /* entries */
};

/* Entries as JSON text, borrowed. */
struct fc_slice {
    const char *text;
    size_t bytes;
};
struct fc_slices {
    struct fc_slice *x;
    size_t room;
    size_t count;
};

enum fc_list { FC_LIST_READ, FC_LIST_BAD, FC_LIST_NOMEM };

/* `text` is a JSON array and nothing else; each entry a number or null (width 1), or a
 * list of as many, or null (width > 1). The arrays grow and are used again; they are
 * freed by the caller. */
enum fc_list fc_numbers_read(const char *text, size_t bytes, size_t width,
                             struct fc_numbers *io);
enum fc_list fc_slices_read(const char *text, size_t bytes, struct fc_slices *io);

#endif
