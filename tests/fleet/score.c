// SPDX-License-Identifier: BSD-3-Clause
/* score GENERATOR DIR FIRST COUNT [-v] OPTIONS…: simulates COUNT fleets of seeds from
 * FIRST on, each as a run would go (a first attempt, the judge's suspects, their
 * retest, the verdict), and counts how often the judge was right. The last line on
 * stdout is "fleets=… right=… …"; -v tells on stderr what was not. DIR keeps the last
 * journal, truth and suspects.
 * score cost COMMAND…: runs it and says what it took of CPU and memory. */
#include "truth.h"

#include "judge/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct plan {
    char *generator;
    const char *dir;
    char *const *option; /* of the generator */
    int options;
    bool explain;
};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void path_of(const struct plan *p, const char *name, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/%s", p->dir, name);
}

/* Runs the generator, its output to (or at the end of) the journal. */
static bool generate(const struct plan *p, unsigned long long seed, bool again)
{
    char journal[512], truth[512], suspects[512], number[32];
    static char seed_option[] = "--seed", truth_option[] = "--truth",
                suspects_option[] = "--suspects";
    char *argv[64];
    int argc = 0, status = -1;
    path_of(p, "journal.jsonl", journal, sizeof journal);
    path_of(p, "truth", truth, sizeof truth);
    path_of(p, "suspects", suspects, sizeof suspects);
    snprintf(number, sizeof number, "%llu", seed);
    argv[argc++] = p->generator;
    for (int i = 0; i < p->options && argc < 48; i++)
        argv[argc++] = p->option[i];
    argv[argc++] = seed_option;
    argv[argc++] = number;
    argv[argc++] = again ? suspects_option : truth_option;
    argv[argc++] = again ? suspects : truth;
    argv[argc] = NULL;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen(journal, again ? "a" : "w", stdout))
            execv(p->generator, argv);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Of pairs how they should be measured again. */
static void write_partners(const json_t *suspect, FILE *out)
{
    const json_t *list = json_object_get(suspect, "partners");
    size_t i;
    json_t *partner;
    if (json_array_size(list))
        fprintf(out, " %lld",
                (long long)json_integer_value(json_object_get(suspect, "concurrency")));
    json_array_foreach(list, i, partner)
    {
        fprintf(out, " %s", json_string_value(partner));
    }
}

static bool write_suspects(const struct plan *p, const json_t *answer)
{
    char path[512];
    size_t i;
    json_t *s;
    path_of(p, "suspects", path, sizeof path);
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    json_array_foreach(json_object_get(answer, "suspects"), i, s)
    {
        const char *node = json_string_value(json_object_get(s, "node"));
        const json_t *rank = json_object_get(s, "rank");
        fprintf(out, "%s %s %lld", json_string_value(json_object_get(s, "metric")),
                node ? node : "-",
                json_is_integer(rank) ? (long long)json_integer_value(rank) : -1LL);
        write_partners(s, out);
        fprintf(out, "\n");
    }
    return fclose(out) == 0;
}

static bool read_journal(const struct plan *p, struct fc_journal_text *out)
{
    char path[512];
    struct fc_error err = {""};
    path_of(p, "journal.jsonl", path, sizeof path);
    if (fc_journal_read(path, out, &err) == FC_OK)
        return true;
    fprintf(stderr, "score: %s\n", err.text);
    return false;
}

static bool ask_suspects(const struct plan *p)
{
    struct fc_journal_text journal;
    struct fc_error err = {""};
    json_t *answer = NULL;
    if (!read_journal(p, &journal))
        return false;
    bool ok = fc_judge_suspects(&journal, &answer, &err) == FC_OK &&
              write_suspects(p, answer);
    json_decref(answer);
    fc_journal_text_free(&journal);
    return ok;
}

static json_t *judge(const struct plan *p)
{
    struct fc_journal_text journal;
    struct fc_error err = {""};
    json_t *report = NULL;
    if (!read_journal(p, &journal))
        return NULL;
    if (fc_judge(&journal, NULL, &report, &err) != FC_OK)
        fprintf(stderr, "score: %s\n", err.text);
    fc_journal_text_free(&journal);
    return report;
}

static json_t *read_truth(const struct plan *p)
{
    char path[512];
    json_t *list = json_array(), *fault;
    path_of(p, "truth", path, sizeof path);
    FILE *in = fopen(path, "r");
    while (in && (fault = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL)))
        json_array_append_new(list, fault);
    if (in)
        fclose(in);
    return list;
}

static bool one_fleet(const struct plan *p, unsigned long long seed, struct tally *t,
                      double *spent)
{
    if (!generate(p, seed, false) || !ask_suspects(p) || !generate(p, seed, true))
        return false;
    double start = cpu_s();
    json_t *report = judge(p);
    *spent += cpu_s() - start;
    json_t *truth = report ? read_truth(p) : NULL;
    if (!truth)
        return false;
    long right = t->right, failed = t->failed;
    truth_compare(truth, report, false, t);
    if (p->explain && (t->right == right || t->failed > failed)) {
        struct tally ignored = {0};
        fprintf(stderr, "seed %llu: %s\n", seed,
                json_string_value(json_object_get(report, "verdict")));
        truth_compare(truth, report, true, &ignored);
    }
    json_decref(truth);
    json_decref(report);
    return true;
}

static int cost(char **command)
{
    struct rusage use;
    int status = -1;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout))
            execv(command[0], command);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &use) != pid)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double wall = (double)(end.tv_sec - begin.tv_sec) +
                  1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    printf("cpu_s=%.2f wall_s=%.2f rss_MB=%.0f status=%d\n", cpu, wall,
           (double)use.ru_maxrss * 1024.0 / 1e6, WEXITSTATUS(status));
    return 0;
}

int main(int argc, char **argv)
{
    struct tally t = {0};
    double spent = 0.0;
    if (argc > 2 && strcmp(argv[1], "cost") == 0)
        return cost(argv + 2);
    if (argc < 5) {
        fprintf(stderr, "score GENERATOR DIR FIRST COUNT [-v] OPTIONS...\n");
        return 2;
    }
    struct plan p = {.generator = argv[1], .dir = argv[2]};
    unsigned long long first = strtoull(argv[3], NULL, 10);
    unsigned long long count = strtoull(argv[4], NULL, 10);
    p.explain = argc > 5 && strcmp(argv[5], "-v") == 0;
    p.option = argv + 5 + p.explain;
    p.options = argc - 5 - p.explain;
    for (unsigned long long seed = first; seed < first + count; seed++)
        if (!one_fleet(&p, seed, &t, &spent)) {
            fprintf(stderr, "score: seed %llu came to nothing\n", seed);
            return 2;
        }
    printf("fleets=%ld right=%ld healthy=%ld failed=%ld warned=%ld ill=%ld found=%ld "
           "condemned=%ld pass=%ld fail=%ld open=%ld cpu_s=%.2f\n",
           t.fleets, t.right, t.healthy, t.failed, t.warned, t.ill, t.found,
           t.condemned, t.pass, t.fail, t.open, spent);
    return 0;
}
