// SPDX-License-Identifier: BSD-3-Clause
/* The journal: the append-only file a run writes, and how any program reads it back.
 *
 * Writer (rank 0 only; thread-safe, its lock is shared with the watchdog): each append
 * is whole lines, numbered when they are records, written before it returns. When the
 * file can no longer be written (disk full, folder gone), all that it holds and all
 * that follows moves to a rescue file in $TMPDIR, /tmp or /dev/shm, and
 * `fc_journal_trouble` tells; nothing is dropped.
 *
 * Reader: tolerates a cut last line, counts lines it cannot parse, merges spool files
 * beside the journal, and drops lines that were seen before (same "src").
 * Of a matrix line, lists that are long are given as their text, unparsed: a JSON
 * string that holds "[[0,12],[4,8]]".
 * Collective: no. Refuses to know: what lines mean, beyond type, seq and src.
 */
#ifndef FC_CORE_JOURNAL_H
#define FC_CORE_JOURNAL_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FC_JOURNAL_SCHEMA "fabricheck-journal/1"
#define FC_JOURNAL_NAME "journal.jsonl"

struct fc_journal;

/* Makes `dir` (and its parents) and the journal in it. FC_USAGE when `dir` cannot be
 * written or already holds a journal; the text names "--out" and `dir`. */
enum fc_status fc_journal_create(const char *dir, struct fc_journal **out,
                                 struct fc_error *err) FC_MUST_USE;

/* Appends text of whole lines ("…\n…\n"). Lines whose type is "record" get the next
 * seq. FC_IO only when no rescue place took it either. */
enum fc_status fc_journal_append(struct fc_journal *journal, const char *text,
                                 size_t bytes, struct fc_error *err) FC_MUST_USE;
/* One line, as fc_line makes it; frees `line`. */
enum fc_status fc_journal_line(struct fc_journal *journal, char *line,
                               struct fc_error *err) FC_MUST_USE;

/* Where the journal is now, and NULL or why it is not where it was asked for. */
const char *fc_journal_path(const struct fc_journal *journal);
const char *fc_journal_trouble(const struct fc_journal *journal);

void fc_journal_close(struct fc_journal *journal);

/* Where rank `rank` saves what it could not commit: "DIR/spool-RANK.jsonl". */
void fc_journal_spool_path(const char *dir, int rank, char *out, size_t out_bytes);
/* Writes lines to a new or existing file and flushes it; for spools. */
enum fc_status fc_journal_spool(const char *path, const char *text, size_t bytes,
                                struct fc_error *err) FC_MUST_USE;

struct fc_journal_text {
    json_t **line; /* objects, in file order; each has a string "type" */
    size_t lines;
    size_t bad_lines; /* unparsable or not an object with a type */
    bool cut;         /* the last line was cut and left out */
    size_t spools;    /* spool files merged */
};

/* Reads `path`: a run's folder or its journal. FC_USAGE when it cannot be read, is
 * empty, or its first line is no `run` line of this schema; the text names `path`.
 * Memory is about ten times the file, without its matrix lines. */
enum fc_status fc_journal_read(const char *path, struct fc_journal_text *out,
                               struct fc_error *err) FC_MUST_USE;
void fc_journal_text_free(struct fc_journal_text *text);

#endif
