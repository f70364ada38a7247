// SPDX-License-Identifier: BSD-3-Clause
#include "cli.h"

#include "commands.h"
#include "config.h"
#include "core/clock.h"
#include "core/launch.h"
#include "core/watchdog.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct fc_command commands[] = {
    {"run", "run [options]", "measure this cluster and give a verdict", fc_cmd_run},
    {"judge", "judge RUN... [options]", "judge a run again from its journal",
     fc_cmd_judge},
    {"report", "report RUN [options]", "render a run's report", fc_cmd_report},
    {"bench", "bench WHAT [options]", "measure one thing, in nccl-tests' columns",
     fc_cmd_bench},
    {"topo", "topo [options]", "show what a node is made of, and what is near what",
     fc_cmd_topo},
    {"facts", "facts [-o FILE]", "write what only root can read, for a prolog",
     fc_cmd_facts},
    {"list", "list [options]", "show probes, metrics, checks and floors", fc_cmd_list},
    {NULL, NULL, NULL, NULL},
};

/* Started by a rank's spawner, never by a person. */
static const struct fc_command worker = {"worker", "", "", fc_cmd_worker};

static void print_help(FILE *out)
{
    fprintf(out,
            "fabricheck %s: is this cluster ready to train on, and if not, what is to "
            "blame?\n\nusage:\n",
            PACKAGE_VERSION);
    for (const struct fc_command *c = commands; c->name; c++)
        fprintf(out, "  fabricheck %-24s %s\n", c->usage, c->help);
    fprintf(out,
            "\n`fabricheck COMMAND --help` lists a command's options.\n"
            "On a cluster: srun --mpi=pmix -N 16 --ntasks-per-node=8 fabricheck run\n"
            "Exit status: 0 PASS, 1 FAIL, 2 wrong usage or unreadable input, 3 "
            "INCONCLUSIVE "
            "or fabricheck itself failed.\n");
}

enum fc_status fc_command_begin(const struct fc_option *table, int argc, char **argv,
                                void *options, struct fc_words *words,
                                void (*print_command_help)(void), bool *out_done,
                                struct fc_error *err)
{
    *out_done = false;
    enum fc_status status = fc_options_init(table, options, err);
    if (status == FC_OK)
        status = fc_options_parse(table, argc, argv, options, words, out_done, err);
    if (status == FC_OK && *out_done)
        print_command_help();
    return status;
}

static const struct fc_command *find(const char *name)
{
    for (const struct fc_command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return strcmp(name, worker.name) == 0 ? &worker : NULL;
}

/* One line, whatever the text holds; only the launcher's rank 0 speaks. mpirun ends all
 * others as soon as one rank exits with a status, so the others let it speak first. */
static void print_error(const char *command, const struct fc_error *err, int rank)
{
    if (rank != 0) {
        fc_sleep_ns(300 * FC_NS_PER_MS);
        return;
    }
    char text[sizeof err->text];
    size_t n = 0;
    for (; err->text[n] && n < sizeof text - 1; n++)
        text[n] = (unsigned char)err->text[n] < ' ' ? ' ' : err->text[n];
    text[n] = '\0';
    fprintf(stderr, "fabricheck%s%s: %s\n", *command ? " " : "", command, text);
}

/* Output that could not be written is no success: a full disk behind `> file`. */
static int flushed(int status, const char *command, int rank)
{
    struct fc_error err;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fc_fail(&err, FC_IO, "standard output could not be written");
    print_error(command, &err, rank);
    return FC_EXIT_INCONCLUSIVE;
}

int fc_cli_main(int argc, char **argv, const struct fc_backends *backends)
{
    struct fc_launch launch;
    fc_launch_read(&launch);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        if (launch.rank == 0)
            print_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? FC_EXIT_USAGE : flushed(FC_EXIT_PASS, "help", launch.rank);
    }
    if (strcmp(argv[1], "--version") == 0) {
        if (launch.rank == 0)
            printf("fabricheck %s\n", PACKAGE_VERSION);
        return flushed(FC_EXIT_PASS, "--version", launch.rank);
    }
    struct fc_error err = {""};
    const struct fc_command *command = find(argv[1]);
    if (!command) {
        fc_fail(&err, FC_USAGE,
                "unknown command '%.60s' (run, judge, report, bench, topo, facts, "
                "list)",
                argv[1]);
        print_error("", &err, launch.rank);
        return FC_EXIT_USAGE;
    }
    int status = FC_EXIT_INCONCLUSIVE;
    enum fc_status result = command->run(backends, argc - 1, argv + 1, &status, &err);
    if (result == FC_OK)
        return flushed(status, command->name, launch.rank);
    print_error(command->name, &err, launch.rank);
    return result == FC_USAGE ? FC_EXIT_USAGE : FC_EXIT_INCONCLUSIVE;
}
