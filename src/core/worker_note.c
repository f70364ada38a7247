// SPDX-License-Identifier: BSD-3-Clause
#include "core/worker_note.h"

#include "core/clock.h"

#include <stdatomic.h>
#include <string.h>

enum { NOTE_WORDS = FC_NOTE_BYTES / 8, NOTE_TRIES = 1000 };

void fc_note_write(struct fc_note_page *page, const char *what)
{
    uint64_t turn = atomic_load_explicit(&page->turn, memory_order_relaxed) + 1;
    struct fc_note_slot *slot = &page->slot[turn % 2];
    uint64_t word[NOTE_WORDS] = {0};
    if (what)
        memcpy(word, what, strnlen(what, FC_NOTE_BYTES - 1));
    /* The turn that was published before must not be seen after what overwrites the
     * slot of the turn before it. */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&slot->t_ns, what ? fc_now_ns() : 0, memory_order_relaxed);
    for (size_t i = 0; i < NOTE_WORDS; i++)
        atomic_store_explicit(&slot->word[i], word[i], memory_order_relaxed);
    atomic_store_explicit(&page->turn, turn, memory_order_release);
}

bool fc_note_read(const struct fc_note_page *page, char out_what[FC_NOTE_BYTES],
                  uint64_t *out_t_ns)
{
    uint64_t word[NOTE_WORDS];
    uint64_t t_ns = 0;
    /* Bounded, since a wild writer could turn for ever: a torn note is better then than
     * a rank that hangs. */
    for (int tries = 0; tries < NOTE_TRIES; tries++) {
        uint64_t turn = atomic_load_explicit(&page->turn, memory_order_acquire);
        const struct fc_note_slot *slot = &page->slot[turn % 2];
        t_ns = atomic_load_explicit(&slot->t_ns, memory_order_relaxed);
        for (size_t i = 0; i < NOTE_WORDS; i++)
            word[i] = atomic_load_explicit(&slot->word[i], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&page->turn, memory_order_relaxed) == turn)
            break;
    }
    memcpy(out_what, word, FC_NOTE_BYTES);
    out_what[FC_NOTE_BYTES - 1] = '\0';
    *out_t_ns = t_ns;
    return t_ns != 0 && out_what[0] != '\0';
}
