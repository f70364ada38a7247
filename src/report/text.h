// SPDX-License-Identifier: BSD-3-Clause
/* Parts of the text renderer: safe, wrapped writing, and names of subjects.
 * Collective: no. Refuses to know: what a report holds. */
#ifndef FC_REPORT_TEXT_H
#define FC_REPORT_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

enum { FC_TEXT_WIDTH = 100 };

/* Text with control characters (C0, DEL, C1, and those that turn the direction of
 * writing) shown as '?'. NULL is "-". */
void fc_text_put(FILE *out, const char *text);

/* The same, its words wrapped at FC_TEXT_WIDTH; the first line goes on at column `at`,
 * others begin at `indent`. Ends the line. */
void fc_text_wrap(FILE *out, const char *text, size_t at, size_t indent);

/* "node02 rank 3", "node[01-04]", "a and b", "all nodes together": malloc'd, NULL when
 * memory is short. */
char *fc_text_subject(const json_t *subject);

/* Columns that the text takes, no character being wide. */
size_t fc_text_columns(const char *text);

#endif
