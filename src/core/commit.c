// SPDX-License-Identifier: BSD-3-Clause
/* fc_phase_commit: what ranks have measured becomes part of the journal. */
#include "core/journal.h"
#include "core/log.h"
#include "core/run.h"

#include <stdlib.h>
#include <string.h>

/* A rank's text arrives in pieces that may end inside a line; `rest` holds what follows
 * its last newline until the next piece. */
struct rest {
    char *text;
    size_t bytes;
};

struct taking {
    struct fc_journal *journal;
    struct rest *rest; /* [ranks] */
};

static enum fc_status take(void *arg, int rank, const char *data, size_t bytes,
                           struct fc_error *err)
{
    struct taking *t = arg;
    struct rest *rest = &t->rest[rank];
    char *text = realloc(rest->text, rest->bytes + bytes);
    if (!text)
        return fc_fail(err, FC_NOMEM, "out of memory for the lines of rank %d", rank);
    memcpy(text + rest->bytes, data, bytes);
    rest->text = text;
    rest->bytes += bytes;
    const char *last = memrchr(text, '\n', rest->bytes);
    if (!last)
        return FC_OK;
    size_t whole = (size_t)(last - text) + 1;
    enum fc_status status = fc_journal_append(t->journal, text, whole, err);
    rest->bytes -= whole;
    memmove(text, text + whole, rest->bytes);
    if (rest->bytes == 0) { /* of many ranks the empty ones add up */
        free(text);
        rest->text = NULL;
    }
    return status;
}

enum fc_status fc_phase_commit(struct fc_run *run, const char *name,
                               struct fc_error *err)
{
    char *text = NULL;
    size_t bytes = 0, lines = 0;
    struct taking t = {.journal = run->journal};
    if (run->journal)
        fc_log_step(name);
    /* What fails before the gather must not keep this rank from it: it gives nothing,
     * the lines stay in its sink, and the agreement carries the reason. */
    enum fc_status mine = fc_sink_peek(run->sink, &text, &bytes, &lines, err);
    struct fc_error why = *err;
    if (run->rte->rank == 0 &&
        !(t.rest = calloc((size_t)run->rte->size, sizeof *t.rest))) {
        free(text);
        return fc_fail(err, FC_LOST, "out of memory for the commit of %s", name);
    }
    enum fc_status status =
        fc_rte_gather(run->rte, name, text, mine == FC_OK ? bytes : 0, take, &t, err);
    for (int r = 0; t.rest && r < run->rte->size; r++)
        free(t.rest[r].text);
    free(t.rest);
    free(text);
    if (mine != FC_OK && status != FC_LOST) {
        status = mine;
        *err = why;
    }
    status = fc_rte_agree(run->rte, name, status, err);
    if (status == FC_OK)
        fc_sink_drop(run->sink, lines);
    return status;
}

struct fc_subject fc_run_subject(const struct fc_run *run)
{
    return (struct fc_subject){
        .kind = "node", .node = fc_run_node(run), .rank = run->rte->rank, .rail = -1};
}

const char *fc_run_node(const struct fc_run *run)
{
    return run->rte->node_name[run->rte->node];
}

json_t *fc_run_switch(const struct fc_run *run, int node)
{
    return json_object_get(json_object_get(run->switches, "leaf"),
                           run->rte->node_name[node]);
}
