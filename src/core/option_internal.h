// SPDX-License-Identifier: BSD-3-Clause
/* What option.c and option_parse.c share; nobody else includes this. */
#ifndef FC_CORE_OPTION_INTERNAL_H
#define FC_CORE_OPTION_INTERNAL_H

#include "core/option.h"

/* Text of the user, fit for one line of a message: control characters become '?', and
 * what is long is cut. */
struct fc_quoted {
    char s[72];
};
struct fc_quoted fc_option_quote(const char *text);

/* The row whose long name is name[0..len); NULL when there is none. */
const struct fc_option *fc_option_find(const struct fc_option *table, const char *name,
                                       size_t len);

/* Sets the option's field from `value` and frees what it held; `where` begins the
 * error's line. Words and lists grow when `append`, else are replaced. */
enum fc_status fc_option_assign(const struct fc_option *option, const char *value,
                                const char *where, bool append, void *values,
                                struct fc_error *err) FC_MUST_USE;

/* "a|b|c" as "a, b, c". */
struct fc_choices_text {
    char s[320];
};
struct fc_choices_text fc_option_choices(const char *choices);

/* The error of a name that no row has: "unknown option 'SHOWN' (did you mean …?)",
 * where a row's name is near `name`. `prefix` is what stands before names ("--" or
 * nothing). */
enum fc_status fc_option_unknown(const struct fc_option *table, const char *name,
                                 const char *shown, const char *prefix,
                                 struct fc_error *err) FC_MUST_USE;

#endif
