// SPDX-License-Identifier: BSD-3-Clause
/* Status codes and error text: what every function that can fail returns.
 *
 * A leaf that detects a fault fills `err` in the same statement that returns it:
 *     return fc_fail(err, FC_IO, "%s: %s", path, strerror(errno));
 * Callers may prefix. Nothing here logs or exits; main.c does.
 * Refuses to know: ranks, files, anything that can fail.
 */
#ifndef FC_CORE_STATUS_H
#define FC_CORE_STATUS_H

#include <stddef.h>

/* Ordered by severity: an agreement of ranks takes the greatest. */
enum fc_status {
    FC_OK = 0,
    FC_UNSUPPORTED, /* the hardware or library cannot do this */
    FC_UNREADABLE,  /* a right or a file is missing; the text says which */
    FC_WRONG,       /* a result was verified and is not right */
    FC_TIMEOUT,     /* a named deadline passed */
    FC_FAILED,      /* an operation under test failed */
    FC_NOMEM,
    FC_IO,    /* the validator's own files */
    FC_USAGE, /* the user's option, profile, journal: exit status 2 */
    FC_LOST,  /* the order of collectives is broken: the run can only end */
};

struct fc_error {
    char text[512];
};

#define FC_MUST_USE __attribute__((warn_unused_result))
#define FC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Fills `err` (may be NULL) and returns `status`. Collective: no. */
enum fc_status fc_fail(struct fc_error *err, enum fc_status status, const char *fmt,
                       ...) FC_PRINTF(3, 4);

/* Puts "prefix: " before the text that `err` holds. Collective: no. */
void fc_prefix(struct fc_error *err, const char *fmt, ...) FC_PRINTF(2, 3);

/* The status in one lower-case word, as journals carry it; static. Collective: no. */
const char *fc_status_name(enum fc_status status);

#endif
