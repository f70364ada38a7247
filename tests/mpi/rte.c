// SPDX-License-Identifier: BSD-3-Clause
/* The runtime on several ranks: every rank checks, all agree, rank 0 prints TAP. Run by
 * tests/mpi/rte.sh with 1 to 8 ranks and several shapes of nodes (FABRICHECK_NODE). */
#include "core/rte.h"

#include "core/clock.h"
#include "core/journal.h"
#include "core/run.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fc_rte *rte;

static void check(bool ok, const char *name)
{
    tap_check(rte, ok, name);
}

static void test_agree(void)
{
    struct fc_error err = {""};
    check(fc_rte_agree(rte, "fine", FC_OK, &err) == FC_OK, "all ranks fine: agreed");
    /* The last rank is the worst, the middle one the lowest that fails. */
    int last = rte->size - 1, middle = rte->size / 2;
    enum fc_status mine = FC_OK;
    if (rte->rank == middle)
        mine = fc_fail(&err, FC_FAILED, "middle fails");
    if (rte->rank == last && last != middle)
        mine = fc_fail(&err, FC_IO, "last fails");
    enum fc_status status = fc_rte_agree(rte, "two fail", mine, &err);
    check(status == (last != middle ? FC_IO : FC_FAILED),
          "the worst status, everywhere");
    check(strstr(err.text, "middle fails") != NULL,
          "the lowest rank's text, everywhere");
    char rank[32];
    snprintf(rank, sizeof rank, "rank %d", middle);
    check(rte->size == 1 || strstr(err.text, rank), "the text names the rank");
    if (rte->rank == 0)
        mine = fc_fail(&err, FC_USAGE, "--out: no");
    else
        mine = FC_OK;
    status = fc_rte_agree(rte, "usage", mine, &err);
    check(status == FC_USAGE && strcmp(err.text, "--out: no") == 0,
          "a usage error keeps its one line");
}

static void test_max(void)
{
    struct fc_error err;
    int64_t values[3] = {rte->rank, -rte->rank, 7};
    enum fc_status status = fc_rte_max(rte, "max", values, 3, &err);
    check(status == FC_OK && values[0] == rte->size - 1 && values[1] == 0 &&
              values[2] == 7,
          "maximum of integers");
    static const double table[] = {-3.5, -1e300, 2.25, 0, 1e-300};
    double x = table[rte->rank % 5], expected = table[0];
    for (int r = 1; r < rte->size; r++)
        expected = fmax(expected, table[r % 5]);
    status = fc_rte_max_double(rte, "max double", &x, &err);
    check(status == FC_OK && x == expected, "maximum of doubles, negative ones too");
}

static void test_bcast(void)
{
    struct fc_error err;
    size_t bytes = 9 << 20; /* more than one piece */
    char *data = malloc(bytes);
    memset(data, rte->rank == rte->size - 1 ? 42 : 0, bytes);
    bool ok = fc_rte_bcast(rte, "bcast", data, bytes, rte->size - 1, &err) == FC_OK;
    for (size_t i = 0; i < bytes; i++)
        ok = ok && data[i] == 42;
    free(data);
    check(ok, "broadcast of several pieces from the last rank");
    json_t *value =
        rte->rank == 0 ? json_pack("{s:i,s:[s,n]}", "a", 1, "b", "ü") : NULL;
    ok = fc_rte_bcast_json(rte, "json", &value, &err) == FC_OK &&
         json_integer_value(json_object_get(value, "a")) == 1 &&
         json_array_size(json_object_get(value, "b")) == 2;
    json_decref(value);
    check(ok, "broadcast of JSON");
    value = NULL;
    ok = fc_rte_bcast_json(rte, "no json", &value, &err) == FC_OK && !value;
    check(ok, "broadcast of no JSON");
}

struct taken {
    size_t bytes[64];
    bool right, ordered;
    int last;
};

static enum fc_status take(void *arg, int rank, const char *data, size_t bytes,
                           struct fc_error *err)
{
    struct taken *t = arg;
    (void)err;
    for (size_t i = 0; i < bytes; i++)
        t->right = t->right && data[i] == (char)(rank + 1);
    t->bytes[rank] += bytes;
    return FC_OK;
}

static void test_gather(void)
{
    struct fc_error err;
    struct taken t = {.right = true};
    /* Rank 0 gives nothing, the last one more than a piece. */
    size_t bytes = rte->rank == 0               ? 0
                   : rte->rank == rte->size - 1 ? (5u << 20)
                                                : (size_t)rte->rank * 1000;
    char *data = malloc(bytes + 1);
    memset(data, rte->rank + 1, bytes);
    bool ok = fc_rte_gather(rte, "gather", data, bytes, take, &t, &err) == FC_OK;
    free(data);
    for (int r = 0; r < rte->size && rte->rank == 0; r++) {
        size_t expected = r == 0               ? 0
                          : r == rte->size - 1 ? (5u << 20)
                                               : (size_t)r * 1000;
        ok = ok && t.bytes[r] == expected;
    }
    check(ok && t.right, "gather of unequal lengths in pieces");
    int32_t mine = 10 + rte->rank, all[64];
    ok = fc_rte_allgather(rte, "allgather", &mine, sizeof mine, all, &err) == FC_OK;
    for (int r = 0; r < rte->size; r++)
        ok = ok && all[r] == 10 + r;
    check(ok, "allgather");
}

static enum fc_status refuse(void *arg, int rank, const char *data, size_t bytes,
                             struct fc_error *err)
{
    (void)arg, (void)rank, (void)data, (void)bytes;
    return fc_fail(err, FC_IO, "no more");
}

static void test_refused_gather(void)
{
    struct fc_error err = {""};
    enum fc_status status = fc_rte_gather(rte, "refused", "x\n", 2, refuse, NULL, &err);
    bool mine = status == (rte->rank == 0 ? FC_IO : FC_OK);
    status = fc_rte_agree(rte, "refused", status, &err);
    check(mine && status == FC_IO && strstr(err.text, "no more"),
          "rank 0 alone cannot take a gather: all know");
}

/* FC_TEST_NODES: the node of each rank, as FABRICHECK_NODE gave it. */
static void test_nodes(void)
{
    const char *shape =
        getenv("FC_TEST_SHAPE"); /* "2,2" ranks of each node, in order */
    bool ok = rte->nodes >= 1 && rte->place[rte->rank].node == rte->node &&
              rte->node_size[rte->node] == rte->local_size;
    int sum = 0;
    for (int n = 0; n < rte->nodes; n++)
        sum += rte->node_size[n];
    check(ok && sum == rte->size, "every rank is on one node");
    ok = true;
    if (shape) {
        int node = 0;
        for (const char *at = shape; *at && node < 64;
             at += strcspn(at, ","), at += *at == ',')
            ok = ok && node < rte->nodes && rte->node_size[node++] == atoi(at);
        ok = ok && node == rte->nodes;
    } else {
        ok = rte->nodes == 1;
    }
    check(ok, "nodes have the shape that was asked for");
}

/* Each rank commits records of its own; the journal holds all, numbered, once. */
static void test_commit(const char *dir)
{
    struct fc_error err = {""};
    struct fc_run run = {.rte = rte};
    bool ok = fc_sink_open(rte->rank, &run.sink, &err) == FC_OK;
    if (rte->rank == 0)
        ok = ok && fc_journal_create(dir, &run.journal, &err) == FC_OK &&
             fc_journal_line(
                 run.journal,
                 strdup("{\"type\":\"run\",\"schema\":\"" FC_JOURNAL_SCHEMA "\"}"),
                 &err) == FC_OK;
    for (int i = 0; i <= rte->rank; i++) {
        struct fc_record record = fc_record_new("device.mem_bw");
        record.subject = fc_run_subject(&run);
        ok = ok && fc_sink_add(run.sink, &record, &err) == FC_OK;
    }
    ok = ok && fc_phase_commit(&run, "commit", &err) == FC_OK;
    ok = ok && fc_phase_commit(&run, "nothing new", &err) == FC_OK;
    check(ok, "commit");
    struct fc_journal_text text = {0};
    if (rte->rank == 0) {
        int n = rte->size * (rte->size + 1) / 2;
        ok = fc_journal_read(dir, &text, &err) == FC_OK && text.lines == (size_t)n + 1;
        int last_rank = 0;
        for (size_t i = 1; ok && i < text.lines; i++) {
            int rank = (int)json_integer_value(
                json_object_get(json_object_get(text.line[i], "subject"), "rank"));
            ok = json_integer_value(json_object_get(text.line[i], "seq")) ==
                     (json_int_t)i &&
                 rank >= last_rank;
            last_rank = rank;
        }
        fc_journal_text_free(&text);
    }
    check(ok, "every rank's records are in the journal, in rank order, numbered");
    fc_journal_close(run.journal);
    fc_sink_close(run.sink);
}

int main(int argc, char **argv)
{
    struct fc_error err = {""};
    if (argc != 2 || fc_rte_open(&rte, NULL, &err) != FC_OK) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    test_agree();
    test_max();
    test_bcast();
    test_gather();
    test_refused_gather();
    test_nodes();
    test_commit(argv[1]);
    check(fc_rte_barrier(rte, "end", &err) == FC_OK &&
              fc_rte_barrier_spin(rte, &err) == FC_OK,
          "barriers");
    tap_end(rte);
    fc_rte_close(rte);
    return 0;
}
