// SPDX-License-Identifier: BSD-3-Clause
#include "bench_options.h"

#include "bench_table.h"
#include "core/units.h"
#include "training/model.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(field) offsetof(struct fc_bench_options, field)
#define MAX_BYTES 1e12
#define MAX_COUNT 1e6

enum { DTYPE = 1 << 16 }; /* beside enum fc_bench_has: the WHATs that have types */

const struct fc_option fc_bench_option_table[] = {
    {.name = "min-bytes",
     .letter = 'b',
     .type = FC_OPT_SIZE,
     .offset = FIELD(min_bytes),
     .min = 1,
     .max = MAX_BYTES,
     .arg = "SIZE",
     .help = "smallest message"},
    {.name = "max-bytes",
     .letter = 'e',
     .type = FC_OPT_SIZE,
     .offset = FIELD(max_bytes),
     .min = 1,
     .max = MAX_BYTES,
     .arg = "SIZE",
     .help = "largest message"},
    {.name = "factor",
     .letter = 'f',
     .type = FC_OPT_DOUBLE,
     .offset = FIELD(factor),
     .def = "2",
     .min = 1.1,
     .max = 1e6,
     .arg = "FACTOR",
     .help = "from one size to the next"},
    {.name = "iters",
     .letter = 'n',
     .type = FC_OPT_INT,
     .offset = FIELD(iters),
     .def = "20",
     .min = 1,
     .max = MAX_COUNT,
     .arg = "N",
     .help = "samples at most; fewer where their median is known well enough"},
    {.name = "warmup",
     .letter = 'w',
     .type = FC_OPT_INT,
     .offset = FIELD(warmup),
     .def = "1",
     .min = 1,
     .max = MAX_COUNT,
     .arg = "N",
     .help = "operations before the first sample"},
    {.name = "check",
     .letter = 'c',
     .type = FC_OPT_CHOICE,
     .offset = FIELD(check),
     .def = "1",
     .choices = "0|1",
     .arg = "0|1",
     .help = "verify every element of every sample on every rank"},
    {.name = "dtype",
     .letter = 'd',
     .type = FC_OPT_STRING,
     .offset = FIELD(dtype),
     .def = "float",
     .arg = "TYPE",
     .help = "type of the elements"},
    {.name = "op",
     .letter = 'o',
     .type = FC_OPT_CHOICE,
     .offset = FIELD(redop),
     .def = "sum",
     .choices = "sum|prod|min|max|avg",
     .arg = "OP",
     .help = "reduction"},
    {.name = "root",
     .letter = 'r',
     .type = FC_OPT_INT,
     .offset = FIELD(root),
     .def = "0",
     .min = 0,
     .max = 1e9,
     .arg = "RANK",
     .help = "the rank that has or gets the message"},
    {.name = "algorithm",
     .type = FC_OPT_CHOICE,
     .offset = FIELD(algorithm),
     .def = "mpi",
     .choices = "mpi|node",
     .arg = "A",
     .help = "MPI's own, or through shared memory inside each node"},
    {.name = "comm",
     .type = FC_OPT_CHOICE,
     .offset = FIELD(comm),
     .def = "world",
     .choices = "world|node|leaders",
     .arg = "WHO",
     .help = "all ranks, each node by itself, or the first rank of each node"},
    {.name = "rounds",
     .type = FC_OPT_INT,
     .offset = FIELD(rounds),
     .min = 1,
     .max = MAX_COUNT,
     .arg = "N",
     .help = "rounds of pairs, a random sample; without it every pair meets once"},
    {.name = "preset",
     .type = FC_OPT_CHOICE,
     .offset = FIELD(preset),
     .choices = FC_MODEL_PRESETS,
     .arg = "NAME",
     .help = "a known model's shapes"},
    {.name = "layers",
     .type = FC_OPT_STRING,
     .offset = FIELD(layers),
     .arg = "INxOUT,…",
     .help = "linear layers of one's own instead of a preset"},
    {.name = "tokens",
     .type = FC_OPT_INT,
     .offset = FIELD(tokens),
     .min = 1,
     .max = MAX_COUNT,
     .arg = "N",
     .help = "tokens of a rank in a step"},
    {.name = "bucket",
     .type = FC_OPT_SIZE,
     .offset = FIELD(bucket_bytes),
     .min = 4,
     .max = MAX_BYTES,
     .arg = "SIZE",
     .help = "gradients that are communicated together; without it 25M"},
    {.name = "sharded",
     .type = FC_OPT_FLAG,
     .offset = FIELD(sharded),
     .help = "reduce-scatter and all-gather instead of all-reduce"},
    {.name = "steps",
     .type = FC_OPT_INT,
     .offset = FIELD(steps),
     .min = 1,
     .max = MAX_COUNT,
     .arg = "N",
     .help = "repetitions of each part; without it until it is known well enough"},
    {.name = "json",
     .type = FC_OPT_FLAG,
     .offset = FIELD(json),
     .help = "print one JSON object instead of the table"},
    FC_OPTION_END,
};

enum { ROWS = sizeof fc_bench_option_table / sizeof *fc_bench_option_table - 1 };

/* What a WHAT must have for the option to mean something there. */
static unsigned needs(const struct fc_option *option)
{
    static const struct {
        const char *name;
        unsigned needs;
    } rows[] = {
        {"min-bytes", FC_BENCH_SIZES},
        {"max-bytes", FC_BENCH_SIZES},
        {"factor", FC_BENCH_SIZES},
        {"iters", FC_BENCH_SAMPLES},
        {"warmup", FC_BENCH_COLLECTIVE},
        {"check", FC_BENCH_COLLECTIVE},
        {"dtype", DTYPE},
        {"op", FC_BENCH_REDOP},
        {"root", FC_BENCH_ROOT},
        {"algorithm", FC_BENCH_COLLECTIVE},
        {"comm", FC_BENCH_COLLECTIVE},
        {"rounds", FC_BENCH_PAIRS},
        {"preset", FC_BENCH_TRAINING},
        {"layers", FC_BENCH_TRAINING},
        {"tokens", FC_BENCH_TRAINING},
        {"bucket", FC_BENCH_TRAINING},
        {"sharded", FC_BENCH_TRAINING},
        {"steps", FC_BENCH_TRAINING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, option->name) == 0)
            return rows[i].needs;
    return 0;
}

static bool applies(const struct fc_bench_what *what, const struct fc_option *option)
{
    unsigned has = what->has | (what->dtypes ? (unsigned)DTYPE : 0u);
    return (needs(option) & ~has) == 0;
}

struct spelling {
    char s[64];
};

static struct spelling spell(const struct fc_option *option)
{
    struct spelling text;
    if (option->letter)
        snprintf(text.s, sizeof text.s, "-%c", option->letter);
    else
        snprintf(text.s, sizeof text.s, "--%s", option->name);
    return text;
}

static enum fc_status refuse(const struct fc_bench_what *what,
                             const struct fc_option *option,
                             const struct fc_bench_options *options,
                             struct fc_error *err)
{
    json_t *echo = fc_options_echo(fc_bench_option_table, options);
    const json_t *value = json_object_get(echo, option->name);
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    enum fc_status status = fc_fail(
        err, FC_USAGE, "%s: '%.60s' means nothing to %s (its --help says what does)",
        spell(option).s, text ? text : json_string_value(value), what->name);
    free(text);
    json_decref(echo);
    return status;
}

/* Finds -d among the types of this WHAT. */
static enum fc_status find_type(const struct fc_bench_what *what,
                                struct fc_bench_options *o, struct fc_error *err)
{
    char known[128] = "";
    o->type = fc_dtype_find(o->dtype);
    if (!what->dtypes ||
        (o->type != FC_DTYPE_COUNT && what->dtypes & 1u << (unsigned)o->type))
        return FC_OK;
    for (int i = 0; i < FC_DTYPE_COUNT; i++) {
        size_t used = strlen(known);
        if (what->dtypes & 1u << (unsigned)i)
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                     fc_bench_type_name((enum fc_dtype)i));
    }
    return fc_fail(err, FC_USAGE, "-d: '%.60s' is no type of %s (%s)", o->dtype,
                   what->name, known);
}

static enum fc_status check_size(const char *name, uint64_t bytes, enum fc_dtype type,
                                 struct fc_error *err)
{
    if (bytes % fc_dtype_bytes(type) == 0)
        return FC_OK;
    return fc_fail(err, FC_USAGE, "%s: %llu bytes are no whole number of %s elements",
                   name, (unsigned long long)bytes, fc_bench_type_name(type));
}

/* An end that was not given follows the other where that is beyond its default. */
static enum fc_status check_sizes(const struct fc_bench_what *what,
                                  struct fc_bench_options *o, struct fc_error *err)
{
    if (o->min_bytes && o->max_bytes && o->min_bytes > o->max_bytes)
        return fc_fail(err, FC_USAGE, "-b: %s is above -e %s",
                       fc_format_size(o->min_bytes).s, fc_format_size(o->max_bytes).s);
    enum fc_status status = check_size("-b", o->min_bytes, o->type, err);
    if (status == FC_OK)
        status = check_size("-e", o->max_bytes, o->type, err);
    if (!o->min_bytes)
        o->min_bytes = o->max_bytes && o->max_bytes < what->min_bytes ? o->max_bytes
                                                                      : what->min_bytes;
    if (!o->max_bytes)
        o->max_bytes = o->min_bytes > what->max_bytes ? o->min_bytes : what->max_bytes;
    return status;
}

enum fc_status fc_bench_options_check(const struct fc_bench_what *what, int argc,
                                      char *const *argv,
                                      struct fc_bench_options *options,
                                      struct fc_error *err)
{
    for (const struct fc_option *o = fc_bench_option_table; o->name; o++)
        if (!applies(what, o) &&
            fc_options_given(fc_bench_option_table, argc, argv, o->name))
            return refuse(what, o, options, err);
    enum fc_status status = find_type(what, options, err);
    if (status == FC_OK && what->has & FC_BENCH_SIZES)
        status = check_sizes(what, options, err);
    return status;
}

void fc_bench_options_help(const struct fc_bench_what *what, FILE *out)
{
    struct fc_option rows[ROWS + 1];
    size_t n = 0;
    for (const struct fc_option *o = fc_bench_option_table; o->name; o++)
        if (applies(what, o))
            rows[n++] = *o;
    rows[n] = (struct fc_option)FC_OPTION_END;
    fc_options_help(rows, out);
}
