// SPDX-License-Identifier: BSD-3-Clause
/* The table that the option tests share: one row of every type. */
#ifndef FC_TESTS_OPTION_TABLE_H
#define FC_TESTS_OPTION_TABLE_H

#include "core/option.h"

#include <stddef.h>

struct values {
    char *level;
    struct fc_words probes, labels, tags;
    char *out;
    int64_t nodes;
    double factor;
    uint64_t begin, duration;
    bool json, verbose;
};

#define AT(field) .offset = offsetof(struct values, field)

static const struct fc_option table[] = {
    {.name = "level",
     .letter = 'l',
     .type = FC_OPT_CHOICE,
     AT(level),
     .def = "standard",
     .choices = "quick|standard|full|soak",
     .arg = "LEVEL",
     .in_profile = true,
     .help = "how long to measure and how much of the machine to cover while doing so"},
    {.name = "probes",
     .type = FC_OPT_WORDS,
     AT(probes),
     .def = "config,device",
     .choices = "config|device|collectives",
     .arg = "A,B",
     .in_profile = true,
     .help = "which probes to run"},
    {.name = "label",
     .type = FC_OPT_LIST,
     AT(labels),
     .arg = "K=V",
     .help = "put a label into the journal"},
    {.name = "tags", .type = FC_OPT_WORDS, AT(tags), .arg = "A,B", .help = "any words"},
    {.name = "out",
     .letter = 'o',
     .type = FC_OPT_STRING,
     AT(out),
     .arg = "DIR",
     .help = "where to write"},
    {.name = "expect-nodes",
     .type = FC_OPT_INT,
     AT(nodes),
     .min = 1,
     .max = 1e9,
     .arg = "N",
     .in_profile = true,
     .help = "nodes there must be"},
    {.name = "factor",
     .letter = 'f',
     .type = FC_OPT_DOUBLE,
     AT(factor),
     .def = "2",
     .min = 1.1,
     .arg = "FACTOR",
     .in_profile = true,
     .help = "ratio of sizes"},
    {.name = "begin",
     .letter = 'b',
     .type = FC_OPT_SIZE,
     AT(begin),
     .def = "64K",
     .min = 8,
     .max = 1073741824,
     .arg = "SIZE",
     .in_profile = true,
     .help = "smallest size"},
    {.name = "duration",
     .type = FC_OPT_DURATION,
     AT(duration),
     .min = 1,
     .max = 86400,
     .arg = "T",
     .help = "how long to soak"},
    {.name = "json",
     .type = FC_OPT_FLAG,
     AT(json),
     .in_profile = true,
     .help = "print JSON"},
    {.name = "verbose",
     .letter = 'v',
     .type = FC_OPT_FLAG,
     AT(verbose),
     .help = "say more"},
    FC_OPTION_END,
};

#endif
