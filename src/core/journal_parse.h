// SPDX-License-Identifier: BSD-3-Clause
/* One line of a journal as a JSON object. What it accepts and makes is what jansson
 * does with a line, with two differences that keep a large fleet's journal in memory:
 * values that lines have in common (text, subjects, parameters) are one shared value,
 * and long lists of a matrix line are strings that hold the list's text.
 *
 * What is shared must not be changed: who wants to, copies a line and sets its members
 * anew. Collective: no. Refuses to know: what lines mean, beyond type and src. */
#ifndef FC_CORE_JOURNAL_PARSE_H
#define FC_CORE_JOURNAL_PARSE_H

#include <jansson.h>
#include <stddef.h>

/* Remembers the values of the lines that it read. */
struct fc_journal_parser;

/* NULL when memory is short. Ownership: fc_journal_parser_close. Collective: no. */
struct fc_journal_parser *fc_journal_parser_open(void);
/* Values that lines share live on with the lines. Collective: no. */
void fc_journal_parser_close(struct fc_journal_parser *parser);

/* A new reference; NULL when `line` (with or without its newline) is no JSON, or names
 * a member twice, or is longer than any line of a journal. Collective: no. */
json_t *fc_journal_parse(struct fc_journal_parser *parser, const char *line,
                         size_t bytes);

#endif
