// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck bench WHAT`: one measurement on the screen, without a verdict and without
 * a file. */
#include "bench.h"
#include "bench_options.h"
#include "bench_verbs.h"
#include "commands.h"
#include "config.h"
#include "core/log.h"
#include "core/watchdog.h"
#include "run_options.h"
#include "session.h"

#include <stdio.h>
#include <string.h>

#define TYPE(dtype) (1u << (unsigned)FC_DTYPE_##dtype)
#define COLLECTIVE                                                                     \
    .dtypes = TYPE(FP32) | TYPE(FP64) | TYPE(INT32) | TYPE(INT8) | TYPE(BF16),         \
    .min_bytes = 8, .max_bytes = (uint64_t)32 << 20, .run = fc_bench_collective
#define VERBS .own = fc_bench_verbs_table, .run = fc_bench_verbs
#define SWEEP FC_BENCH_SAMPLES | FC_BENCH_SIZES | FC_BENCH_COLLECTIVE

static const struct fc_bench_what whats[] = {
    {.name = "all_reduce",
     .has = SWEEP | FC_BENCH_REDOP,
     .help = "all ranks get the reduction of all ranks' messages",
     COLLECTIVE},
    {.name = "all_gather",
     .has = SWEEP,
     .help = "all ranks get all ranks' blocks",
     COLLECTIVE},
    {.name = "reduce_scatter",
     .has = SWEEP | FC_BENCH_REDOP,
     .help = "each rank gets its block of the reduction",
     COLLECTIVE},
    {.name = "broadcast",
     .has = SWEEP | FC_BENCH_ROOT,
     .help = "all ranks get the root's message",
     COLLECTIVE},
    {.name = "reduce",
     .has = SWEEP | FC_BENCH_REDOP | FC_BENCH_ROOT,
     .help = "the root gets the reduction of all ranks' messages",
     COLLECTIVE},
    {.name = "alltoall",
     .has = SWEEP,
     .help = "each rank sends each other rank a block",
     COLLECTIVE},
    {.name = "gather",
     .has = SWEEP | FC_BENCH_ROOT,
     .help = "the root gets all ranks' blocks",
     COLLECTIVE},
    {.name = "scatter",
     .has = SWEEP | FC_BENCH_ROOT,
     .help = "each rank gets its block of the root's",
     COLLECTIVE},
    {.name = "sendrecv",
     .has = SWEEP,
     .help = "each rank sends to the next one, in a ring",
     COLLECTIVE},
    {.name = "gemm",
     .has = FC_BENCH_SAMPLES,
     .dtypes = TYPE(FP32) | TYPE(FP64),
     .help = "each rank's matrix products, beside a loop of multiply-adds",
     .run = fc_bench_gemm},
    {.name = "mem",
     .has = FC_BENCH_SAMPLES | FC_BENCH_SIZES,
     .help = "each rank's copies in memory, beside a copy that bypasses the cache",
     .run = fc_bench_mem},
    {.name = "pairs",
     .has = FC_BENCH_PAIRS,
     .help =
         "bandwidth both ways and latency between any two nodes (of one node: ranks)",
     .run = fc_bench_pairs},
    {.name = "training",
     .has = FC_BENCH_TRAINING,
     .help = "a data-parallel training step, its computation and its communication",
     .run = fc_bench_training},
    {.name = "write_bw", .help = "RDMA writes between two ranks, bandwidth", VERBS},
    {.name = "read_bw", .help = "RDMA reads between two ranks, bandwidth", VERBS},
    {.name = "send_bw", .help = "RDMA sends between two ranks, bandwidth", VERBS},
    {.name = "write_lat", .help = "RDMA writes between two ranks, latency", VERBS},
    {.name = "read_lat", .help = "RDMA reads between two ranks, latency", VERBS},
    {.name = "send_lat", .help = "RDMA sends between two ranks, latency", VERBS},
};
enum { WHATS = sizeof whats / sizeof *whats };

static enum fc_status find_what(const struct fc_words *words,
                                const struct fc_bench_what **out, struct fc_error *err)
{
    char known[320] = "";
    const char *name = words->count ? words->word[0] : NULL;
    if (words->count > 1)
        return fc_fail(err, FC_USAGE, "WHAT: '%.60s' after '%.60s' is one too many",
                       words->word[1], name);
    for (size_t i = 0; i < WHATS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 whats[i].name);
        if (name && strcmp(name, whats[i].name) == 0) {
            *out = &whats[i];
            return FC_OK;
        }
    }
    if (!name)
        return fc_fail(err, FC_USAGE, "WHAT is missing (%s)", known);
    return fc_fail(err, FC_USAGE, "WHAT: '%.60s' is unknown (%s)", name, known);
}

static void print_help(const struct fc_bench_what *what)
{
    if (what) {
        printf("usage: fabricheck bench %s [options]\n\n%s.\n\n", what->name,
               what->help);
        if (what->own)
            fc_options_help(what->own, stdout);
        else
            fc_bench_options_help(what, stdout);
        return;
    }
    printf("usage: fabricheck bench WHAT [options]\n\n"
           "Launched by srun or mpirun as `run` is. Prints one measurement in the "
           "columns of\nnccl-tests or perftest; writes no file and gives no verdict. "
           "Exit status: 0 "
           "all results right,\n1 a wrong one, 2 wrong usage, 3 it could not be "
           "measured.\n\n");
    for (size_t i = 0; i < WHATS; i++)
        printf("  %-16s %s\n", whats[i].name, whats[i].help);
    printf("\n`fabricheck bench WHAT --help` lists its options.\n");
}

/* With --json on rank 0: what is printed at the end. */
static enum fc_status open_object(struct fc_bench *b,
                                  const struct fc_backends *backends,
                                  struct fc_error *err)
{
    const struct fc_rte *rte = b->run->rte;
    b->out = rte->rank == 0 && !b->options->json ? stdout : NULL;
    if (b->out && backends->simulated)
        printf("# simulated: a test's double stands for the hardware\n");
    if (rte->rank != 0 || b->out)
        return FC_OK;
    b->rows = json_array();
    b->object =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:b}", "schema", "fabricheck-bench/1",
                  "version", PACKAGE_VERSION, "what", b->what->name, "ranks", rte->size,
                  "nodes", rte->nodes, "simulated", backends->simulated);
    return b->object ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory for the rows");
}

/* Prints what is left to print. Output that could not be written is known to all ranks.
 * Collective: yes. */
static enum fc_status end_output(struct fc_bench *b, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    if (b->object)
        json_object_set(b->object, "rows", b->rows);
    if (b->object && json_dumpf(b->object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER))
        status = fc_fail(err, FC_IO, "the JSON could not be written");
    if (b->object)
        putchar('\n');
    if (fflush(stdout) != 0 || ferror(stdout))
        status = fc_fail(err, FC_IO, "standard output could not be written");
    return fc_rte_agree(b->run->rte, "output", status, err);
}

static enum fc_status measure(struct fc_session *s, struct fc_bench *b, int *out_exit,
                              struct fc_error *err)
{
    enum fc_status status = fc_session_open_bench(s, err);
    if (status != FC_OK)
        return status;
    fc_watchdog_phase(s->run.watchdog, b->what->name);
    fc_log_set_phase(b->what->name);
    b->run = &s->run;
    status = fc_rte_agree(s->run.rte, "output", open_object(b, s->backends, err), err);
    if (status == FC_OK)
        status = b->what->run(b, err);
    if (status == FC_OK)
        status = end_output(b, err);
    if (status == FC_LOST)
        fc_watchdog_end(s->run.watchdog, err->text);
    *out_exit = b->wrong ? FC_EXIT_FAIL : FC_EXIT_PASS;
    fc_watchdog_done(s->run.watchdog, status == FC_OK      ? *out_exit
                                      : status == FC_USAGE ? FC_EXIT_USAGE
                                                           : FC_EXIT_INCONCLUSIVE);
    json_decref(b->object);
    json_decref(b->rows);
    fc_session_close(s);
    return status;
}

/* The run's own options keep their defaults. */
static enum fc_status open_and_measure(const struct fc_backends *backends, int argc,
                                       char **argv, struct fc_bench *b, int *out_exit,
                                       struct fc_error *err)
{
    struct fc_run_options defaults = {.level = NULL};
    struct fc_session session = {
        .options = &defaults, .backends = backends, .argc = argc, .argv = argv};
    enum fc_status status = fc_options_init(fc_run_option_table, &defaults, err);
    if (status == FC_OK)
        status = measure(&session, b, out_exit, err);
    fc_options_free(fc_run_option_table, &defaults);
    return status;
}

/* The WHAT with options of its own that is among the words: which table they are parsed
 * by must be known before. */
static const struct fc_bench_what *own_what(int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++)
        for (size_t w = 0; w < WHATS; w++)
            if (whats[w].own && strcmp(whats[w].name, argv[i]) == 0)
                return &whats[w];
    return NULL;
}

/* Parses by `table` into `values` and finds the WHAT. */
static enum fc_status parse(const struct fc_option *table, int argc, char **argv,
                            void *values, struct fc_bench *bench, bool *out_help,
                            struct fc_error *err)
{
    struct fc_words words = {.count = 0};
    enum fc_status status = fc_options_init(table, values, err);
    if (status == FC_OK)
        status = fc_options_parse(table, argc, argv, values, &words, out_help, err);
    if (status == FC_OK && !(*out_help && words.count == 0))
        status = find_what(&words, &bench->what, err);
    fc_words_free(&words);
    return status;
}

static enum fc_status run_verbs(const struct fc_backends *backends, int argc,
                                char **argv, struct fc_bench *bench, bool *out_help,
                                int *out_exit, struct fc_error *err)
{
    struct fc_bench_verbs_options o = {.bytes = 0};
    struct fc_bench_verbs_kind kind;
    struct fc_bench_options common = {.json = false};
    enum fc_status status =
        parse(fc_bench_verbs_table, argc, argv, &o, bench, out_help, err);
    if (status == FC_OK && !*out_help && fc_bench_verbs_kind(bench->what->name, &kind))
        status = fc_bench_verbs_check(&o, &kind, err);
    if (status == FC_OK && !*out_help) {
        common.json = o.json;
        bench->options = &common;
        bench->verbs = &o;
        status = open_and_measure(backends, argc, argv, bench, out_exit, err);
    }
    fc_options_free(fc_bench_verbs_table, &o);
    return status;
}

static enum fc_status run_other(const struct fc_backends *backends, int argc,
                                char **argv, struct fc_bench *bench, bool *out_help,
                                int *out_exit, struct fc_error *err)
{
    struct fc_bench_options o = {.check = NULL};
    bench->options = &o;
    enum fc_status status =
        parse(fc_bench_option_table, argc, argv, &o, bench, out_help, err);
    if (status == FC_OK && !*out_help)
        status = fc_bench_options_check(bench->what, argc, argv, &o, err);
    if (status == FC_OK && !*out_help)
        status = open_and_measure(backends, argc, argv, bench, out_exit, err);
    fc_options_free(fc_bench_option_table, &o);
    return status;
}

enum fc_status fc_cmd_bench(const struct fc_backends *backends, int argc, char **argv,
                            int *out_exit, struct fc_error *err)
{
    struct fc_bench bench = {.what = NULL};
    struct fc_launch launch;
    bool help = false;
    fc_launch_read(&launch);
    *out_exit = FC_EXIT_PASS;
    enum fc_status status =
        own_what(argc, argv)
            ? run_verbs(backends, argc, argv, &bench, &help, out_exit, err)
            : run_other(backends, argc, argv, &bench, &help, out_exit, err);
    if (status == FC_OK && help && launch.rank == 0)
        print_help(bench.what);
    return status;
}
