// SPDX-License-Identifier: BSD-3-Clause
/* How a worker ended or where it sticks, in words. Everything that comes from the
 * worker is cleaned: one line, no control characters, valid UTF-8, bounded. Collective:
 * no. Refuses to know: sockets, deadlines.
 */
#ifndef FC_CORE_WORKER_WHY_H
#define FC_CORE_WORKER_WHY_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The last bytes that a worker wrote on stdout and stderr. */
struct fc_tail {
    char data[2048];
    size_t used; /* bytes held */
    size_t next; /* where the next one goes */
};
void fc_tail_add(struct fc_tail *tail, const char *data, size_t bytes);

/* Text that is put together piece by piece; what does not fit is cut. */
struct fc_why {
    char text[sizeof((struct fc_error *)0)->text];
    size_t used;
};
void fc_why_add(struct fc_why *why, const char *fmt, ...) FC_PRINTF(2, 3);
/* Adds at most `most` bytes of `text`, cleaned; the end of it when `from_end`. */
void fc_why_add_clean(struct fc_why *why, const char *text, size_t bytes, size_t most,
                      bool from_end);
/* "; last words: \"…\"", or nothing when it said nothing. */
void fc_why_add_words(struct fc_why *why, const struct fc_tail *tail);
/* "died of SIGSEGV" or "exited with status 7". */
void fc_why_add_ending(struct fc_why *why, bool by_signal, int value);
/* " (state D, wchan rpc_wait, syscall 16)", with what /proc tells; it may tell nothing.
 */
void fc_why_add_state(struct fc_why *why, int pid);

#endif
