// SPDX-License-Identifier: BSD-3-Clause
/* The sink: lines that this rank has made and that no commit has taken yet.
 *
 * Shared by the rank's main thread, which adds, and its watchdog, which saves what is
 * here when the rank must end. Each line gets "src":"RANK.N", so that a line that
 * reached both the journal and a spool is known to be one. Collective: no.
 */
#ifndef FC_CORE_SINK_H
#define FC_CORE_SINK_H

#include "core/record.h"
#include "core/status.h"

struct fc_sink;

enum fc_status fc_sink_open(int rank, struct fc_sink **out,
                            struct fc_error *err) FC_MUST_USE;
void fc_sink_close(struct fc_sink *sink);

/* Takes ownership of `line` (a JSON object without newline; NULL counts as out of
 * memory). */
enum fc_status fc_sink_add_line(struct fc_sink *sink, char *line,
                                struct fc_error *err) FC_MUST_USE;
/* Appends the record. */
enum fc_status fc_sink_add(struct fc_sink *sink, const struct fc_record *record,
                           struct fc_error *err) FC_MUST_USE;

/* All lines, each ended by '\n', as one malloc'd string; they stay in the sink until
 * fc_sink_drop. *out_text is NULL when it is empty. */
enum fc_status fc_sink_peek(struct fc_sink *sink, char **out_text, size_t *out_bytes,
                            size_t *out_lines, struct fc_error *err) FC_MUST_USE;
/* Drops the oldest `lines` lines. */
void fc_sink_drop(struct fc_sink *sink, size_t lines);

#endif
