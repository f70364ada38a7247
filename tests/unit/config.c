// SPDX-License-Identifier: BSD-3-Clause
/* The config probe on a runtime of one process that plays a rank of several: with its
 * own worker, and with one that hangs or dies half-way. The program is its own worker:
 * the mode travels in the environment. */
#include "topology/probe_config.h"

#include "core/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MODE "FC_TEST_CONFIG"

/* --- the worker's side --- */

static enum fc_status serve(struct fc_worker_call *call, json_t *args,
                            json_t **out_reply, struct fc_error *err)
{
    const char *mode = getenv(MODE);
    if (!mode)
        return fc_facts_command.run(call, args, out_reply, err);
    enum fc_status status = fc_worker_emit(
        call, "{\"facts\": {\"host.name\": \"sick\"}, \"unreadable\": {}}", err);
    fc_worker_note(call, "/sys/class/net/eth0/speed");
    if (strcmp(mode, "crash") == 0)
        raise(SIGKILL);
    for (;;)
        pause();
    return status;
}

/* --- a runtime where every rank says what this one says --- */

static enum fc_status all_say_the_same(struct fc_rte *rte, const void *send, int bytes,
                                       void *recv, struct fc_error *err)
{
    (void)err;
    for (int r = 0; r < rte->size; r++)
        memcpy((char *)recv + (size_t)r * (size_t)bytes, send, (size_t)bytes);
    return FC_OK;
}

static enum fc_status nothing_to_agree(struct fc_rte *rte, int64_t *inout, int n,
                                       struct fc_error *err)
{
    (void)rte, (void)inout, (void)n, (void)err;
    return FC_OK;
}

static enum fc_status done(struct fc_rte *rte, bool *out_done, struct fc_error *err)
{
    (void)rte, (void)err;
    *out_done = true;
    return FC_OK;
}

static const struct fc_rte_ops ops = {.name = "test",
                                      .start_allgather = all_say_the_same,
                                      .start_max = nothing_to_agree,
                                      .test = done};

/* Ranks 0 and 1 are node a, rank 2 is node b. */
static char node_a[] = "a", node_b[] = "b";
static char *node_names[] = {node_a, node_b};
static struct fc_rte_place places[] = {{0, 0}, {0, 1}, {1, 0}};

struct fixture {
    struct fc_rte rte;
    struct fc_run run;
    struct fc_settings settings;
    json_t *line[8]; /* what the sink held */
    size_t lines;
};

static void take_lines(struct fixture *f)
{
    char *text = NULL, *save = NULL;
    size_t bytes = 0;
    struct fc_error err;
    assert_int_equal(fc_sink_peek(f->run.sink, &text, &bytes, &f->lines, &err), FC_OK);
    assert_true(f->lines <= sizeof f->line / sizeof *f->line);
    char *line = strtok_r(text, "\n", &save);
    for (size_t i = 0; i < f->lines; i++, line = strtok_r(NULL, "\n", &save)) {
        f->line[i] = json_loads(line, 0, NULL);
        assert_non_null(f->line[i]);
    }
    free(text);
}

/* Runs the probe as `rank` under `mode` (NULL: the real worker). */
static void run_as(struct fixture *f, int rank, const char *mode)
{
    static const struct fc_focus first = {.attempt = 1};
    struct fc_error err = {""};
    void *state = NULL;
    *f = (struct fixture){
        .rte = {.rank = rank,
                .size = 3,
                .node = places[rank].node,
                .nodes = 2,
                .local_rank = places[rank].local_rank,
                .node_name = node_names,
                .place = places,
                .wait_ns = 60 * FC_NS_PER_S,
                .ops = &ops,
                .hostname = "x",
                .library = "none"},
        .settings = {.work_ns = (mode ? 1 : 60) * FC_NS_PER_S},
    };
    f->run.rte = &f->rte;
    f->run.settings = &f->settings;
    if (mode)
        setenv(MODE, mode, 1);
    assert_int_equal(fc_spawner_open(&f->run.spawner, &err), FC_OK);
    assert_int_equal(fc_sink_open(rank, &f->run.sink, &err), FC_OK);
    const struct fc_probe *probe = &fc_probe_config;
    assert_int_equal(probe->setup(&f->run, &state, &err), FC_OK);
    if (probe->run(&f->run, state, &first, &err) != FC_OK)
        fail_msg("%s", err.text);
    probe->teardown(&f->run, state);
    take_lines(f);
}

static void close_run(struct fixture *f)
{
    for (size_t i = 0; i < f->lines; i++)
        json_decref(f->line[i]);
    fc_sink_close(f->run.sink);
    fc_spawner_close(f->run.spawner);
    unsetenv(MODE);
}

/* The i-th line's value at "key" or "outer" "key". */
static const json_t *at(const struct fixture *f, size_t i, const char *outer,
                        const char *key)
{
    assert_true(i < f->lines);
    const json_t *object = f->line[i];
    if (outer)
        object = json_object_get(object, outer);
    return json_object_get(object, key);
}

static void check_text(const struct fixture *f, size_t i, const char *key,
                       const char *expected)
{
    const char *text = json_string_value(at(f, i, NULL, key));
    assert_non_null(text);
    assert_string_equal(text, expected);
}

static void a_leader_tells_of_its_node(void **state)
{
    (void)state;
    struct fixture f;
    run_as(&f, 0, NULL);
    assert_int_equal(f.lines, 3);
    check_text(&f, 0, "type", "node");
    check_text(&f, 0, "name", "a");
    const json_t *ranks = at(&f, 0, NULL, "ranks");
    assert_int_equal(json_array_size(ranks), 2);
    assert_int_equal(json_integer_value(json_array_get(ranks, 1)), 1);
    assert_int_equal(strlen(json_string_value(at(&f, 0, NULL, "class"))), 16);
    const json_t *picture = at(&f, 0, "picture", "facts");
    assert_non_null(json_object_get(picture, "cpu.cores"));
    check_text(&f, 1, "type", "fact");
    check_text(&f, 1, "node", "a");
    assert_null(at(&f, 1, NULL, "rank"));
    assert_true(json_integer_value(at(&f, 1, "facts", "cpu.threads")) > 0);
    assert_non_null(at(&f, 1, "facts", "load.other_running"));
    check_text(&f, 2, "type", "fact");
    assert_int_equal(json_integer_value(at(&f, 2, NULL, "rank")), 0);
    assert_int_equal(json_integer_value(at(&f, 2, "facts", "rank.pid")), getpid());
    close_run(&f);
}

static void a_picture_once_a_class(void **state)
{
    (void)state;
    struct fixture f;
    run_as(&f, 2, NULL);
    assert_int_equal(f.lines, 3);
    check_text(&f, 0, "name", "b");
    assert_int_equal(json_array_size(at(&f, 0, NULL, "ranks")), 1);
    assert_null(at(&f, 0, NULL, "picture")); /* node a has shown it */
    close_run(&f);
}

static void other_ranks_tell_of_themselves(void **state)
{
    (void)state;
    struct fixture f;
    run_as(&f, 1, NULL);
    assert_int_equal(f.lines, 1);
    check_text(&f, 0, "type", "fact");
    check_text(&f, 0, "node", "a");
    assert_int_equal(json_integer_value(at(&f, 0, NULL, "rank")), 1);
    close_run(&f);
}

/* The run goes on, what was read is kept, the rest says why not. */
static void check_lost_worker(const char *mode, const char *reason, const char *part)
{
    struct fixture f;
    run_as(&f, 0, mode);
    assert_int_equal(f.lines, 4);
    check_text(&f, 0, "type", "event");
    check_text(&f, 0, "kind", "worker");
    check_text(&f, 0, "node", "a");
    check_text(&f, 0, "phase", "config");
    const char *message = json_string_value(at(&f, 0, NULL, "message"));
    if (!message || !strstr(message, part) ||
        !strstr(message, "/sys/class/net/eth0/speed"))
        fail_msg("message: %s", message ? message : "none");
    check_text(&f, 1, "class", "0000000000000000");
    assert_null(at(&f, 1, NULL, "picture"));
    const char *name = json_string_value(at(&f, 2, "facts", "host.name"));
    assert_non_null(name);
    assert_string_equal(name, "sick");
    static const char *const owed[] = {"net.links", "load.top", "cpu.model"};
    for (size_t i = 0; i < sizeof owed / sizeof *owed; i++) {
        const json_t *gap = at(&f, 2, "unreadable", owed[i]);
        const char *why = json_string_value(json_object_get(gap, "reason"));
        assert_non_null(why);
        assert_string_equal(why, reason);
    }
    assert_null(at(&f, 2, "unreadable", "host.name"));
    assert_null(at(&f, 2, "unreadable", "rank.pid"));
    close_run(&f);
}

static void a_worker_that_hangs(void **state)
{
    (void)state;
    check_lost_worker("hang", "timeout", "stuck");
}

static void a_worker_that_dies(void **state)
{
    (void)state;
    check_lost_worker("crash", "failed", "SIGKILL");
}

int main(int argc, char **argv)
{
    const struct fc_worker_command table[] = {{.name = "facts", .run = serve},
                                              {.name = NULL}};
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return fc_worker_main(table);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_tells_of_its_node),
        cmocka_unit_test(a_picture_once_a_class),
        cmocka_unit_test(other_ranks_tell_of_themselves),
        cmocka_unit_test(a_worker_that_hangs),
        cmocka_unit_test(a_worker_that_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
