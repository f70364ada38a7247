// SPDX-License-Identifier: BSD-3-Clause
/* The shared page in which a worker names the call that it is about to make.
 *
 * Two slots and a turn: the writer fills the slot that nobody reads and then publishes
 * it by one store, so that a worker that dies in the middle of a write leaves the last
 * whole note behind. One writing thread. Collective: no. Refuses to know: what notes
 * mean.
 */
#ifndef FC_CORE_WORKER_NOTE_H
#define FC_CORE_WORKER_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FC_NOTE_BYTES = 64 };

struct fc_note_slot {
    _Atomic uint64_t t_ns; /* fc_now_ns when it was written; 0: no note */
    _Atomic uint64_t word[FC_NOTE_BYTES / 8];
};

struct fc_note_page {
    _Atomic uint64_t turn; /* slot[turn % 2] is the one to read */
    struct fc_note_slot slot[2];
};

/* NULL: none. At most 63 bytes are kept. */
void fc_note_write(struct fc_note_page *page, const char *what);

/* The last whole note, always ended by '\0'; false when there is none. The writer is
 * not trusted: the text may hold any bytes and the time may be any number. */
bool fc_note_read(const struct fc_note_page *page, char out_what[FC_NOTE_BYTES],
                  uint64_t *out_t_ns);

#endif
