// SPDX-License-Identifier: BSD-3-Clause
/* One typed option table a subcommand: it drives the command line, the profile file,
 * --help, the manual's list and the echo in the journal.
 *
 * Values live in a plain struct of the caller; each row names a field by offset. All
 * text in that struct is owned by it and freed by fc_options_free. Errors are one line
 * that names the option and the value, status FC_USAGE. Collective: no (each rank
 * parses the same arguments before MPI starts).
 * Refuses to know: what any option means.
 */
#ifndef FC_CORE_OPTION_H
#define FC_CORE_OPTION_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum fc_option_type {
    FC_OPT_FLAG,     /* bool, no argument */
    FC_OPT_STRING,   /* char * */
    FC_OPT_INT,      /* int64_t */
    FC_OPT_DOUBLE,   /* double */
    FC_OPT_SIZE,     /* uint64_t, bytes */
    FC_OPT_DURATION, /* uint64_t, ns */
    FC_OPT_CHOICE,   /* char *, one of `choices` ("a|b|c") */
    FC_OPT_WORDS,    /* struct fc_words; "a,b" appends; each one of `choices` if set */
    FC_OPT_LIST,     /* struct fc_words; each use appends one whole value */
};

struct fc_words {
    char **word;
    size_t count;
};

struct fc_option {
    const char *name; /* long name without dashes; NULL ends a table */
    char letter;      /* 0: none */
    enum fc_option_type type;
    size_t offset;
    const char *def; /* default as text; NULL: zero, empty, absent */
    double min, max; /* numbers only; both 0: no bound */
    const char *choices;
    const char *arg;  /* the argument's name in --help */
    const char *help; /* one sentence, lower case, no full stop */
    bool in_profile;  /* may be set in a profile's [run] section */
};

#define FC_OPTION_END                                                                  \
    {                                                                                  \
        .name = NULL                                                                   \
    }

/* Zeroes nothing: `values` must be zeroed by the caller. Applies the defaults. */
enum fc_status fc_options_init(const struct fc_option *table, void *values,
                               struct fc_error *err) FC_MUST_USE;

/* Parses argv[1..]; argv[0] is the subcommand. "--x=v", "--x v", "-xv", "--" are known;
 * abbreviations of long names are refused. Positional words are appended to
 * `positional` (NULL: any positional word is an error). "--help" and "-h" set
 * *out_help. */
enum fc_status fc_options_parse(const struct fc_option *table, int argc,
                                char *const *argv, void *values,
                                struct fc_words *positional, bool *out_help,
                                struct fc_error *err) FC_MUST_USE;

/* Sets one option by name as a profile does ("--NAME: …" in errors becomes `where`). A
 * flag takes yes/no/true/false/1/0. WORDS and LIST replace what was there. */
enum fc_status fc_options_set(const struct fc_option *table, const char *name,
                              const char *value, const char *where, void *values,
                              struct fc_error *err) FC_MUST_USE;

/* True if the option was given on the command line (by fc_options_parse). `argv` is the
 * same vector; used to let the command line win over a profile. */
bool fc_options_given(const struct fc_option *table, int argc, char *const *argv,
                      const char *name);

/* All values as one JSON object (new reference): sizes in bytes, durations in seconds.
 * */
json_t *fc_options_echo(const struct fc_option *table, const void *values);

/* One aligned line an option, wrapped at 80 columns. */
void fc_options_help(const struct fc_option *table, FILE *out);

void fc_options_free(const struct fc_option *table, void *values);

enum fc_status fc_words_add(struct fc_words *words, const char *word) FC_MUST_USE;
bool fc_words_has(const struct fc_words *words, const char *word);
void fc_words_free(struct fc_words *words);

#endif
