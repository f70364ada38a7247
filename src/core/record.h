// SPDX-License-Identifier: BSD-3-Clause
/* A record: one measured metric of one subject, with its spread, limit, path and how it
 * was verified. Probes fill the struct; this module turns it into a journal line.
 * Numbers that are NaN or infinite become null. Collective: no.
 * Refuses to know: whether a value is good.
 */
#ifndef FC_CORE_RECORD_H
#define FC_CORE_RECORD_H

#include "core/metric.h"
#include "core/stats.h"
#include "core/status.h"

#include <jansson.h>
#include <stdint.h>

/* Who was measured. NULL or -1: does not apply. All text is borrowed. */
struct fc_subject {
    const char *kind; /* node, gpu, nic, link, pair, group, fabric */
    const char *node, *peer;
    int rank;
    const char *gpu, *nic, *peer_nic;
    int rail;
    const char *bdf, *uuid, *serial, *guid, *module, *slot, *switch_port;
};

/* How it was measured; NULL, -1 or 0: does not apply. */
struct fc_params {
    const char *op, *redop, *dtype;
    int in_place; /* 0, 1, -1 */
    int64_t n;    /* GEMM: m = n = k; collectives: ranks of the communicator */
    const char *algorithm, *memory, *direction;
    int qps, concurrency;
    const char *variant;
    int attempt; /* 1 first; 2 and more: retests */
};

struct fc_record {
    const char *metric; /* a name of the catalogue */
    struct fc_subject subject;
    struct fc_params params;
    int64_t bytes; /* message or array size; -1 */
    struct fc_summary value;
    double limit; /* in the metric's unit; NaN: none known */
    const char *limit_basis;
    const char *path, *path_how; /* NULL: "unknown" */
    int64_t wrong;               /* wrong elements found; -1: not verified */
    enum fc_status status;
    const char *reason; /* for other than ok; first wrong offset and so on */
};

/* A record with everything "does not apply", status ok, attempt 1, of `metric`. */
struct fc_record fc_record_new(const char *metric);

/* The journal line without its `seq`, which rank 0 gives at commit; malloc'd, ends in
 * no newline; NULL when memory is short or the metric is not in the catalogue. */
char *fc_record_line(const struct fc_record *record);

/* Any other line: {"type": type, …`body`}; steals the reference; malloc'd. */
char *fc_line(const char *type, json_t *body);

/* Something that happened: who, in which phase, and what is known of it. Text is
 * borrowed and never NULL; but for `node` (NULL: the whole run). */
struct fc_event {
    const char *kind; /* deadline, signal, silent, worker, journal */
    const char *node;
    int rank; /* -1: none */
    const char *phase, *what;
    const char *wait; /* local, collective, control, none */
    double seconds;   /* that it lasted; negative: does not apply */
    const char *message;
};
/* Its line, with the time now; malloc'd. */
char *fc_event_line(const struct fc_event *event);

/* A real, or null where it is not finite. New reference. */
json_t *fc_json_real(double value);

#endif
