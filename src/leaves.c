// SPDX-License-Identifier: BSD-3-Clause
#include "leaves.h"

#include "core/log.h"
#include "topology/switches.h"

#include <stdlib.h>
#include <string.h>

/* What the file tells of these nodes. */
static enum fc_status ask_file(const char *file, const char *const *node, size_t nodes,
                               json_t **out, struct fc_error *err)
{
    struct fc_switches switches;
    enum fc_status status = fc_switches_read(file, &switches, err);
    if (status != FC_OK) {
        fc_prefix(err, "--switches");
        return status;
    }
    *out = fc_switches_told(&switches, file, node, nodes);
    fc_switches_fini(&switches);
    if (!*out)
        return fc_fail(err, FC_NOMEM, "out of memory for the switches");
    const char *missing = json_string_value(json_object_get(*out, "missing"));
    if (missing)
        fc_log(FC_LOG_NORMAL, "'%.200s' has no switch for %.300s", file, missing);
    return FC_OK;
}

/* --- what Slurm told --- */

struct hearing {
    const struct fc_rte *rte;
    json_t *leaf;
};

static enum fc_status hear(void *arg, int rank, const char *data, size_t bytes,
                           struct fc_error *err)
{
    struct hearing *h = arg;
    json_t *value = json_loadb(data, bytes, JSON_DECODE_ANY, NULL);
    (void)err;
    if (value)
        json_object_set_new(h->leaf, h->rte->node_name[h->rte->place[rank].node],
                            value);
    return FC_OK;
}

/* The first rank of each node tells its own; *out stays NULL when none knows. */
static enum fc_status ask_slurm(struct fc_run *run, json_t **out, struct fc_error *err)
{
    enum { LONGEST = 8192 };
    struct fc_rte *rte = run->rte;
    struct hearing hearing = {.rte = rte, .leaf = json_object()};
    char *text = NULL;
    if (rte->local_rank == 0) {
        json_t *mine = fc_switches_addr(getenv("SLURM_TOPOLOGY_ADDR"),
                                        getenv("SLURM_TOPOLOGY_ADDR_PATTERN"),
                                        fc_run_node(run), rte->hostname);
        text = mine ? json_dumps(mine, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        json_decref(mine);
    }
    size_t bytes = text && strlen(text) <= LONGEST ? strlen(text) : 0;
    enum fc_status status =
        fc_rte_gather(rte, "leaf switches", text, bytes, hear, &hearing, err);
    free(text);
    size_t known = json_object_size(hearing.leaf);
    if (status == FC_OK && known)
        *out = json_pack("{s:s, s:I, s:O}", "from", "SLURM_TOPOLOGY_ADDR", "nodes",
                         (json_int_t)known, "leaf", hearing.leaf);
    json_decref(hearing.leaf);
    return status;
}

enum fc_status fc_leaves_find(struct fc_run *run, const char *file,
                              struct fc_error *err)
{
    struct fc_rte *rte = run->rte;
    json_t *told = NULL;
    enum fc_status status = FC_OK;
    if (rte->rank == 0 && file) {
        fc_watchdog_push(run->watchdog, "read --switches", FC_WAIT_LOCAL,
                         run->settings->work_ns);
        status = ask_file(file, (const char *const *)rte->node_name, (size_t)rte->nodes,
                          &told, err);
        fc_watchdog_pop(run->watchdog);
    }
    if (!file)
        status = ask_slurm(run, &told, err);
    status = fc_rte_agree(rte, "leaf switches", status, err);
    if (status == FC_OK)
        status = fc_rte_bcast_json(rte, "leaf switches", &told, err);
    run->switches = told;
    return status;
}

json_t *fc_leaves_line(const struct fc_run *run)
{
    json_t *line = run->switches ? json_copy(run->switches) : NULL;
    json_object_del(line, "leaf"); /* that is in the nodes' lines */
    return line;
}

/* --- a journal's --- */

static bool is_type(const json_t *line, const char *type)
{
    return strcmp(json_string_value(json_object_get(line, "type")), type) == 0;
}

/* The line as the file has it, in its place; false when memory is short. Lines may
 * share what is inside them, so that one is changed in a copy of its own. */
static bool rewrite(json_t **line, const json_t *told)
{
    bool run = is_type(*line, "run");
    if (!run && !is_type(*line, "node"))
        return true;
    json_t *copy = json_copy(*line);
    const char *name = json_string_value(json_object_get(copy, "name"));
    json_t *value = name ? json_object_get(json_object_get(told, "leaf"), name) : NULL;
    json_object_del(copy, "switch");
    bool ok = copy && (!run || json_object_set_new(copy, "switches",
                                                   json_deep_copy(told)) == 0);
    if (ok && !run && value)
        ok = json_object_set(copy, "switch", value) == 0;
    if (!ok) {
        json_decref(copy);
        return false;
    }
    json_decref(*line);
    *line = copy;
    return true;
}

enum fc_status fc_leaves_apply(struct fc_journal_text *journal, const char *file,
                               struct fc_error *err)
{
    const char **node = malloc((journal->lines + 1) * sizeof(*node));
    size_t nodes = 0;
    json_t *told = NULL;
    for (size_t i = 0; node && i < journal->lines; i++) {
        const json_t *name = json_object_get(journal->line[i], "name");
        if (is_type(journal->line[i], "node") && json_is_string(name))
            node[nodes++] = json_string_value(name);
    }
    enum fc_status status =
        node ? ask_file(file, node, nodes, &told, err)
             : fc_fail(err, FC_NOMEM, "out of memory for the journal's nodes");
    for (size_t i = 0; status == FC_OK && i < journal->lines; i++)
        if (!rewrite(&journal->line[i], told))
            status = fc_fail(err, FC_NOMEM, "out of memory for the switches");
    json_decref(told);
    free(node);
    return status;
}
