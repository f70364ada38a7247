// SPDX-License-Identifier: BSD-3-Clause
#include "run_options.h"

#include "core/clock.h"
#include "core/control.h"
#include "core/units.h"
#include "probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct fc_run_options, name)
#define MAX_BYTES 1e12

const struct fc_option fc_run_option_table[] = {
    {.name = "level",
     .type = FC_OPT_CHOICE,
     .offset = FIELD(level),
     .def = "quick",
     .choices = "quick|standard|full",
     .arg = "L",
     .in_profile = true,
     .help =
         "how long to look: quick (30 s), standard (ten minutes), full (half an hour)"},
    {.name = "probes",
     .type = FC_OPT_WORDS,
     .offset = FIELD(probes),
     .choices = FC_PROBE_CHOICES,
     .arg = "A,B",
     .in_profile = true,
     .help = "run only these probes, and demand each of them"},
    {.name = "skip",
     .type = FC_OPT_WORDS,
     .offset = FIELD(skip),
     .choices = FC_PROBE_CHOICES,
     .arg = "A,B",
     .in_profile = true,
     .help = "leave these probes out"},
    {.name = "device",
     .type = FC_OPT_CHOICE,
     .offset = FIELD(device),
     .def = "auto",
     .choices = "auto|host",
     .arg = "D",
     .in_profile = true,
     .help = "the device that computes; auto takes the best that is there"},
    {.name = "out",
     .type = FC_OPT_STRING,
     .offset = FIELD(out),
     .arg = "DIR",
     .help = "the run's folder (default: fabricheck-<job id or UTC time>)"},
    {.name = "profile",
     .type = FC_OPT_STRING,
     .offset = FIELD(profile),
     .arg = "FILE",
     .help = "an INI file with what is expected of this cluster"},
    {.name = "label",
     .type = FC_OPT_LIST,
     .offset = FIELD(labels),
     .arg = "K=V",
     .help = "a note for the report, any number of times"},
    {.name = "expect-nodes",
     .type = FC_OPT_INT,
     .offset = FIELD(expect_nodes),
     .min = 1,
     .max = 1e6,
     .arg = "N",
     .in_profile = true,
     .help = "fail when fewer nodes take part"},
    {.name = "expect-gpus",
     .type = FC_OPT_INT,
     .offset = FIELD(expect_gpus),
     .min = 1,
     .max = 1e3,
     .arg = "N",
     .in_profile = true,
     .help = "fail when a node has fewer GPUs"},
    {.name = "min-bytes",
     .letter = 'b',
     .type = FC_OPT_SIZE,
     .offset = FIELD(min_bytes),
     .min = 4,
     .max = MAX_BYTES,
     .arg = "SIZE",
     .in_profile = true,
     .help = "smallest message of a sweep"},
    {.name = "max-bytes",
     .letter = 'e',
     .type = FC_OPT_SIZE,
     .offset = FIELD(max_bytes),
     .min = 4,
     .max = MAX_BYTES,
     .arg = "SIZE",
     .in_profile = true,
     .help = "largest message of a sweep"},
    {.name = "factor",
     .letter = 'f',
     .type = FC_OPT_DOUBLE,
     .offset = FIELD(factor),
     .min = 1.1,
     .max = 1e6,
     .arg = "FACTOR",
     .in_profile = true,
     .help = "from one size of a sweep to the next"},
    {.name = "pairs",
     .type = FC_OPT_STRING,
     .offset = FIELD(pairs),
     .arg = "ROUNDS",
     .in_profile = true,
     .help =
         "rounds of disjoint pairs to walk, or full: every pair (default: all up to "
         "64 nodes, above that 3 rounds; within a time budget)"},
    {.name = "control",
     .type = FC_OPT_CHOICE,
     .offset = FIELD(control),
     .def = "auto",
     .choices = FC_CONTROL_CHOICES,
     .arg = "HOW",
     .in_profile = true,
     .help = "what carries fabricheck's own agreements: tcp, MPI's choice, or tcp only "
             "when there are GPUs or HCAs (auto)"},
    {.name = "switches",
     .type = FC_OPT_STRING,
     .offset = FIELD(switches),
     .arg = "FILE",
     .in_profile = true,
     .help = "which leaf switch each node hangs on: Slurm's topology.conf or what "
             "ibnetdiscover prints (default: what Slurm tells the tasks)"},
    {.name = "json",
     .type = FC_OPT_FLAG,
     .offset = FIELD(json),
     .help = "print report.json instead of the summary"},
    {.name = "quiet",
     .letter = 'q',
     .type = FC_OPT_FLAG,
     .offset = FIELD(quiet),
     .help = "print the verdict line only"},
    {.name = "verbose",
     .letter = 'v',
     .type = FC_OPT_FLAG,
     .offset = FIELD(verbose),
     .help = "tell each step"},
    FC_OPTION_END,
};

static enum fc_status check_labels(const struct fc_words *labels, struct fc_error *err)
{
    for (size_t i = 0; i < labels->count; i++) {
        const char *equals = strchr(labels->word[i], '=');
        if (!equals || equals == labels->word[i])
            return fc_fail(err, FC_USAGE, "--label: '%.60s' is no K=V",
                           labels->word[i]);
    }
    return FC_OK;
}

static enum fc_status check_size(const char *name, uint64_t bytes, struct fc_error *err)
{
    if (bytes % 4 == 0)
        return FC_OK;
    return fc_fail(err, FC_USAGE, "%s: %llu bytes are no whole number of fp32 elements",
                   name, (unsigned long long)bytes);
}

/* 0 where the option was not given. */
static enum fc_status read_pairs(const char *text, uint32_t *out, struct fc_error *err)
{
    char *end;
    *out = 0;
    if (!text)
        return FC_OK;
    if (strcmp(text, "full") == 0) {
        *out = UINT32_MAX;
        return FC_OK;
    }
    errno = 0;
    unsigned long long rounds = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || rounds < 1 ||
        rounds >= UINT32_MAX)
        return fc_fail(err, FC_USAGE,
                       "--pairs: '%.60s' is neither 'full' nor a number of rounds from "
                       "1 on",
                       text);
    *out = (uint32_t)rounds;
    return FC_OK;
}

enum fc_status fc_run_options_check(const struct fc_run_options *o,
                                    struct fc_error *err)
{
    if (o->min_bytes && o->max_bytes && o->min_bytes > o->max_bytes)
        return fc_fail(err, FC_USAGE, "-b: %s is above -e %s",
                       fc_format_size(o->min_bytes).s, fc_format_size(o->max_bytes).s);
    for (size_t i = 0; i < o->probes.count; i++)
        if (fc_words_has(&o->skip, o->probes.word[i]))
            return fc_fail(err, FC_USAGE, "--skip: '%.60s' is demanded by --probes",
                           o->probes.word[i]);
    if (o->out && !o->out[0])
        return fc_fail(err, FC_USAGE, "--out: '' is no folder");
    uint32_t rounds;
    enum fc_status status = read_pairs(o->pairs, &rounds, err);
    if (status == FC_OK)
        status = check_size("-b", o->min_bytes, err);
    if (status == FC_OK)
        status = check_size("-e", o->max_bytes, err);
    return status == FC_OK ? check_labels(&o->labels, err) : status;
}

static enum fc_level level_of(const char *name)
{
    if (strcmp(name, "full") == 0)
        return FC_LEVEL_FULL;
    return strcmp(name, "standard") == 0 ? FC_LEVEL_STANDARD : FC_LEVEL_QUICK;
}

enum fc_status fc_run_settings(const struct fc_run_options *o, struct fc_settings *out,
                               struct fc_error *err)
{
    struct fc_settings s = {.level = level_of(o->level),
                            .min_bytes = o->min_bytes,
                            .max_bytes = o->max_bytes,
                            .factor = o->factor,
                            .work_ns = 60 * FC_NS_PER_S};
    /* For labs and impatient tests; a run on real machines has no use for it. */
    const char *deadline = getenv("FABRICHECK_DEADLINE");
    if (deadline &&
        (!fc_parse_duration(deadline, &s.work_ns) || s.work_ns < FC_NS_PER_S))
        return fc_fail(err, FC_USAGE,
                       "FABRICHECK_DEADLINE: '%.40s' is no duration of a "
                       "second or more (like 30s, 2m)",
                       deadline);
    enum fc_status status = read_pairs(o->pairs, &s.pair_rounds, err);
    if (status == FC_OK)
        *out = s;
    return status;
}
