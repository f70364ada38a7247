// SPDX-License-Identifier: BSD-3-Clause
/* The config probe: what every node and rank is, before anything is timed.
 *
 * It measures nothing but other users' load. Facts of a node are read once a node, by
 * its first rank's worker, since a file of a sick machine may hang; load is read after
 * a barrier, when all ranks sleep, so that this run does not see itself. Facts of a
 * rank are read in it. A worker that hangs or crashes is an event, and the facts it
 * still owed are unreadable; the run goes on.
 * Which faults it catches: nodes that are not what the others are (kernel, driver,
 * memory, limits, affinity, environment), and a machine that is not ours alone. Telling
 * so is the judge's; core/facts.def has the keys.
 */
#include "topology/probe_config.h"

#include "core/clock.h"
#include "topology/differ.h"
#include "topology/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static const struct fc_source this_machine = {.root = ""};

static const uint64_t facts_deadline_ns = 10 * FC_NS_PER_S;
static const uint64_t load_window_ns = 200 * FC_NS_PER_MS;
/* What opening, killing and closing a worker may take beyond its deadline. */
static const uint64_t worker_grace_ns = 10 * FC_NS_PER_S;

/* --- the worker's side --- */

static void note(void *arg, const char *path)
{
    fc_worker_note(arg, path);
}

static enum fc_status emit(void *arg, const struct fc_facts *part, struct fc_error *err)
{
    json_t *object =
        json_pack("{s:O, s:O}", "facts", part->values, "unreadable", part->unreadable);
    char *line = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (!line)
        return fc_fail(err, FC_NOMEM, "facts: out of memory");
    enum fc_status status = fc_worker_emit(arg, line, err);
    free(line);
    return status;
}

static enum fc_status emit_load(struct fc_worker_call *call,
                                const struct fc_source *source, json_t *args,
                                struct fc_error *err)
{
    const json_t *list = json_object_get(args, "pids");
    uint64_t window_ns =
        (uint64_t)json_integer_value(json_object_get(args, "window_ns"));
    size_t n = json_array_size(list);
    int *pids = calloc(n + 1, sizeof *pids);
    struct fc_facts facts;
    if (!pids)
        return fc_fail(err, FC_NOMEM, "facts: out of memory");
    for (size_t i = 0; i < n; i++)
        pids[i] = (int)json_integer_value(json_array_get(list, i));
    enum fc_status status = fc_facts_init(&facts, err);
    if (status == FC_OK) {
        status = fc_facts_load(source, pids, n, window_ns, &facts, err);
        if (status == FC_OK)
            status = emit(call, &facts, err);
        fc_facts_fini(&facts);
    }
    free(pids);
    return status;
}

static enum fc_status serve(struct fc_worker_call *call, json_t *args,
                            json_t **out_reply, struct fc_error *err)
{
    const char *root = json_string_value(json_object_get(args, "root"));
    const char *what = json_string_value(json_object_get(args, "what"));
    const struct fc_source source = {
        .root = root ? root : "", .note = note, .arg = call};
    *out_reply = NULL;
    if (what && strcmp(what, "load") == 0)
        return emit_load(call, &source, args, err);
    if (what && strcmp(what, "node") == 0)
        return fc_facts_host(&source, emit, call, err);
    return fc_fail(err, FC_USAGE, "facts: \"%s\" is not node or load",
                   what ? what : "");
}

const struct fc_worker_command fc_facts_command = {.name = "facts", .run = serve};

/* --- the rank's side --- */

/* Where a rank lives: ranks with one `host` see each other's process ids. */
struct home {
    uint64_t host;
    int32_t pid;
    int32_t unused; /* no padding goes over the wire */
};

struct state {
    struct home *home;    /* [ranks] */
    struct fc_kin *kin;   /* [ranks], sorted once all are known */
    struct fc_kin own;    /* this rank's */
    int usual_rank;       /* who leads the usual node; -1: nobody, or none differs */
    json_t *usual;        /* that node's picture; NULL: none differs */
    struct fc_facts node; /* leader only */
    struct fc_worker *worker;
};

static bool is_leader(const struct fc_run *run)
{
    return run->rte->local_rank == 0;
}

static double cost_s(const struct fc_run *run)
{
    (void)run;
    return 1;
}

static void teardown(struct fc_run *run, void *state)
{
    struct state *s = state;
    (void)run;
    if (!s)
        return;
    fc_worker_close(s->worker);
    fc_facts_fini(&s->node);
    json_decref(s->usual);
    free(s->kin);
    free(s->home);
    free(s);
}

static enum fc_status setup(struct fc_run *run, void **out_state, struct fc_error *err)
{
    size_t ranks = (size_t)run->rte->size;
    struct state *s = calloc(1, sizeof *s);
    *out_state = s;
    if (s)
        s->home = calloc(ranks, sizeof *s->home);
    if (s)
        s->kin = calloc(ranks, sizeof *s->kin);
    if (!s || !s->home || !s->kin)
        return fc_fail(err, FC_NOMEM, "out of memory for the config probe");
    return fc_facts_init(&s->node, err);
}

/* Hostname, boot and process namespace together: only ranks that share all three can
 * read each other's times in /proc. FABRICHECK_NODE does not count here. */
static struct home my_home(const struct fc_run *run)
{
    char text[512], boot[64] = "", space[64] = "";
    struct fc_gap gap;
    (void)fc_source_read(&this_machine, "/proc/sys/kernel/random/boot_id", boot,
                         sizeof boot, &gap);
    (void)fc_source_link(&this_machine, "/proc/self/ns/pid", space, sizeof space, &gap);
    snprintf(text, sizeof text, "%s %s %s", run->rte->hostname, boot, space);
    return (struct home){.host = XXH64(text, strlen(text), 0), .pid = getpid()};
}

static json_t *my_neighbours(const struct fc_run *run, const struct state *s)
{
    json_t *pids = json_array();
    for (int r = 0; r < run->rte->size; r++)
        if (s->home[r].host == s->home[run->rte->rank].host)
            json_array_append_new(pids, json_integer(s->home[r].pid));
    return pids;
}

static void take_line(void *arg, const char *line)
{
    struct fc_facts *facts = arg;
    json_t *object = json_loads(line, 0, NULL);
    fc_facts_merge(facts, object);
    json_decref(object);
}

static enum fc_status add_event(struct fc_run *run, double seconds, const char *message,
                                struct fc_error *err)
{
    char *line = fc_event_line(&(struct fc_event){.kind = "worker",
                                                  .node = fc_run_node(run),
                                                  .rank = run->rte->rank,
                                                  .phase = "config",
                                                  .what = "facts",
                                                  .wait = "local",
                                                  .seconds = seconds,
                                                  .message = message});
    return fc_sink_add_line(run->sink, line, err);
}

/* What the worker owed when it was lost. */
static void mark_owed(struct fc_facts *facts, enum fc_status how, const char *text)
{
#define FC_FACT(key, equal_across_nodes, help) key,
#define FC_RANK_FACT(key, equal_across_nodes, help)
    static const char *const keys[] = {
#include "core/facts.def"
    };
#undef FC_FACT
    struct fc_gap gap;
    fc_gap_set(&gap, how == FC_TIMEOUT ? "timeout" : "failed", "no right helps: %.230s",
               text);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_object_get(facts->unreadable, keys[i]))
            fc_facts_gap(facts, keys[i], &gap);
}

/* Has the worker read `what`. Its loss is journalled and is no failure of the probe. */
static enum fc_status ask_worker(struct fc_run *run, struct state *s, json_t *args,
                                 struct fc_error *err)
{
    uint64_t deadline = run->settings->work_ns < facts_deadline_ns
                            ? run->settings->work_ns
                            : facts_deadline_ns;
    struct fc_error why = {""};
    uint64_t start = fc_now_ns();
    enum fc_status status = FC_OK;
    fc_watchdog_push(run->watchdog, "facts of the node", FC_WAIT_LOCAL,
                     deadline + worker_grace_ns);
    if (!s->worker)
        status = fc_worker_open(run->spawner, NULL, &s->worker, &why);
    if (status == FC_OK)
        status = fc_worker_call(s->worker, fc_facts_command.name, args, deadline,
                                take_line, &s->node, NULL, &why);
    fc_watchdog_pop(run->watchdog);
    if (status == FC_OK)
        return FC_OK;
    mark_owed(&s->node, status, why.text);
    return add_event(run, (double)(fc_now_ns() - start) / 1e9, why.text, err);
}

static enum fc_status read_node(struct fc_run *run, struct state *s,
                                struct fc_error *err)
{
    json_t *args = json_pack("{s:s, s:s}", "what", "node", "root", "");
    enum fc_status status = ask_worker(run, s, args, err);
    json_decref(args);
    return status;
}

static enum fc_status read_load(struct fc_run *run, struct state *s,
                                struct fc_error *err)
{
    /* Lost with the node's facts: what it owed is marked. */
    if (!s->worker || !fc_worker_alive(s->worker))
        return FC_OK;
    json_t *args =
        json_pack("{s:s, s:s, s:I, s:o}", "what", "load", "root", "", "window_ns",
                  (json_int_t)load_window_ns, "pids", my_neighbours(run, s));
    enum fc_status status = ask_worker(run, s, args, err);
    json_decref(args);
    return status;
}

/* {"facts", "topology"}, the class and the print of this node; steals the picture from
 * its facts, which have their own line. */
static enum fc_status make_picture(struct state *s, json_t **out_picture,
                                   struct fc_error *err)
{
    json_t *facts = NULL, *topology = json_object_get(s->node.values, "topo.picture");
    enum fc_status status = fc_facts_class(&s->node, &s->own.class, &facts, err);
    if (status != FC_OK)
        return status;
    json_t *picture = json_pack("{s:o, s:O?}", "facts", facts, "topology", topology);
    json_object_del(s->node.values, "topo.picture");
    if (!picture)
        status = fc_fail(err, FC_NOMEM, "a node's picture: out of memory");
    else
        status = fc_differ_print(picture, &s->own.print, err);
    *out_picture = picture;
    return status;
}

/* The picture of the usual node goes to all, where any node differs from it. */
static enum fc_status share_usual(struct fc_run *run, struct state *s, json_t *picture,
                                  struct fc_error *err)
{
    size_t ranks = (size_t)run->rte->size;
    for (int r = 0; r < run->rte->size; r++)
        s->kin[r].rank = r;
    fc_kin_sort(s->kin, ranks);
    s->usual_rank = fc_kin_alike(s->kin, ranks) ? -1 : fc_kin_usual(s->kin, ranks, 0);
    if (s->usual_rank < 0)
        return FC_OK;
    if (s->usual_rank == run->rte->rank)
        s->usual = json_incref(picture);
    return fc_rte_bcast_json_from(run->rte, "the usual node's picture", &s->usual,
                                  s->usual_rank, err);
}

/* What this node has otherwise than the usual one; NULL: nothing. */
static enum fc_status find_differences(const struct fc_run *run, const struct state *s,
                                       const json_t *picture, json_t **out,
                                       struct fc_error *err)
{
    const struct fc_rte *rte = run->rte;
    *out = NULL;
    if (!s->usual || s->own.class == 0 || s->usual_rank == rte->rank)
        return FC_OK;
    enum fc_status status = fc_differ(picture, s->usual, out, err);
    if (status == FC_OK && *out)
        json_object_set_new(
            *out, "from", json_string(rte->node_name[rte->place[s->usual_rank].node]));
    return status;
}

/* The usual node of each class shows its picture, which stands for all of the class. A
 * node of which nothing is known has class 0 and no picture. */
static enum fc_status add_node_line(struct fc_run *run, const struct state *s,
                                    json_t *picture, struct fc_error *err)
{
    const struct fc_rte *rte = run->rte;
    char hex[32];
    json_t *ranks = json_array(), *differs;
    enum fc_status status = find_differences(run, s, picture, &differs, err);
    for (int r = 0; r < rte->size; r++)
        if (rte->place[r].node == rte->node)
            json_array_append_new(ranks, json_integer(r));
    snprintf(hex, sizeof hex, "%016" PRIx64, s->own.class);
    json_t *o = json_pack("{s:s, s:o, s:s}", "name", fc_run_node(run), "ranks", ranks,
                          "class", hex);
    json_t *leaf = fc_run_switch(run, rte->node);
    if (leaf)
        json_object_set(o, "switch", leaf);
    if (differs)
        json_object_set_new(o, "differs", differs);
    if (s->own.class != 0 &&
        fc_kin_usual(s->kin, (size_t)rte->size, s->own.class) == rte->rank)
        json_object_set(o, "picture", picture);
    char *line = fc_line("node", o);
    if (status == FC_OK)
        return fc_sink_add_line(run->sink, line, err);
    free(line);
    return status;
}

/* `rank` -1: the node's. */
static enum fc_status add_facts(struct fc_run *run, const struct fc_facts *facts,
                                int rank, struct fc_error *err)
{
    json_t *o = json_pack("{s:s, s:O, s:O}", "node", fc_run_node(run), "facts",
                          facts->values, "unreadable", facts->unreadable);
    if (rank >= 0)
        json_object_set_new(o, "rank", json_integer(rank));
    return fc_sink_add_line(run->sink, fc_line("fact", o), err);
}

static enum fc_status add_rank_facts(struct fc_run *run, struct fc_error *err)
{
    struct fc_facts facts;
    enum fc_status status = fc_facts_init(&facts, err);
    if (status != FC_OK)
        return status;
    status = fc_facts_rank(&this_machine, run->rte->library, &facts, err);
    if (status == FC_OK)
        status = add_facts(run, &facts, run->rte->rank, err);
    fc_facts_fini(&facts);
    return status;
}

/* The collective steps, which every rank takes whatever has failed on it; `*mine` and
 * `why` keep this rank's first failure for the runner's agreement. */
static enum fc_status gather(struct fc_run *run, struct state *s, json_t **out_picture,
                             enum fc_status *mine, struct fc_error *why,
                             struct fc_error *err)
{
    struct home home = my_home(run);
    enum fc_status status = fc_rte_allgather(run->rte, "homes of the ranks", &home,
                                             sizeof home, s->home, err);
    if (status == FC_OK && is_leader(run))
        *mine = read_node(run, s, why);
    if (status == FC_OK)
        status = fc_rte_barrier(run->rte, "facts of all nodes", err);
    if (status == FC_OK && is_leader(run) && *mine == FC_OK)
        *mine = read_load(run, s, why);
    if (status == FC_OK && is_leader(run) && *mine == FC_OK)
        *mine = fc_facts_check(&s->node, why);
    if (status == FC_OK && is_leader(run) && *mine == FC_OK)
        *mine = make_picture(s, out_picture, why);
    if (*mine != FC_OK)
        s->own.class = 0;
    if (status == FC_OK)
        status = fc_rte_allgather(run->rte, "classes of the nodes", &s->own,
                                  sizeof s->own, s->kin, err);
    if (status == FC_OK)
        status = share_usual(run, s, *out_picture, err);
    return status;
}

static enum fc_status run_config(struct fc_run *run, void *state,
                                 const struct fc_focus *focus, struct fc_error *err)
{
    struct state *s = state;
    struct fc_error why = {""};
    json_t *picture = NULL;
    enum fc_status mine = FC_OK;
    (void)focus;
    enum fc_status status = gather(run, s, &picture, &mine, &why, err);
    if (status == FC_OK && mine != FC_OK) {
        *err = why;
        status = mine;
    }
    if (status == FC_OK && is_leader(run))
        status = add_node_line(run, s, picture, err);
    if (status == FC_OK && is_leader(run))
        status = add_facts(run, &s->node, -1, err);
    if (status == FC_OK)
        status = add_rank_facts(run, err);
    json_decref(picture);
    return status;
}

const struct fc_probe fc_probe_config = {
    .name = "config",
    .help =
        "reads what every node and rank is, and who else uses it; catches nodes that "
        "differ from the others and machines that are not ours alone",
    .cost_s = cost_s,
    .setup = setup,
    .run = run_config,
    .teardown = teardown,
    .retests = false,
};
