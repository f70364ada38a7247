// SPDX-License-Identifier: BSD-3-Clause
#include "bench_table.h"

#include "collectives/busbw.h"

#include <inttypes.h>
#include <math.h>

#define FULL 100.0 /* three digits */

enum { DECIMALS_MAX = 12 };

void fc_bench_row_set(struct fc_bench_row *row, int place, int n, double seconds,
                      int64_t wrong)
{
    row->side[place] = (struct fc_bench_side){
        .time_s = seconds,
        .algbw_GBps = fc_algbw_GBps((size_t)row->bytes, seconds),
        .busbw_GBps = fc_busbw_GBps(row->op, (size_t)row->bytes, seconds, n),
        .wrong = wrong,
    };
}

void fc_bench_totals_add(struct fc_bench_totals *totals, const struct fc_bench_row *row)
{
    for (int i = 0; i < FC_PLACES; i++) {
        totals->busbw_GBps += row->side[i].busbw_GBps;
        totals->sides++;
        if (row->side[i].wrong > 0)
            totals->wrong += row->side[i].wrong;
    }
}

double fc_bench_totals_mean(const struct fc_bench_totals *totals)
{
    return totals->sides ? totals->busbw_GBps / totals->sides : 0.0;
}

const char *fc_bench_type_name(enum fc_dtype dtype)
{
    switch (dtype) {
    case FC_DTYPE_FP32:
        return "float";
    case FC_DTYPE_FP64:
        return "double";
    case FC_DTYPE_BF16:
        return "bfloat16";
    case FC_DTYPE_FP16:
        return "half";
    default:
        return fc_dtype_name(dtype);
    }
}

struct fc_bench_text fc_bench_number(double value, int decimals)
{
    struct fc_bench_text text;
    double shown =
        fabs(value); /* its digits before the point are those that are printed */
    for (int i = 0; i < decimals; i++)
        shown *= 10;
    for (; shown > 0 && shown < FULL && decimals < DECIMALS_MAX; decimals++)
        shown *= 10;
    snprintf(text.s, sizeof text.s, "%.*f", decimals, value);
    return text;
}

/* Widths and titles are nccl-tests' (src/common.cu). */
void fc_bench_table_head(FILE *out)
{
    fprintf(out,
            "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                    "
            "   in-place          \n",
            "", "", "", "", "");
    fprintf(out, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %7s  %6s  %6s %6s\n",
            "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
            "#wrong", "time", "algbw", "busbw", "#wrong");
    fprintf(out,
            "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %5s  %7s  %6s  %6s  %5s\n",
            "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)",
            "(GB/s)", "(GB/s)", "");
}

static const char *redop_name(const struct fc_bench_row *row)
{
    return fc_coll_reduces(row->op) ? fc_redop_name(row->redop) : "none";
}

static int root_of(const struct fc_bench_row *row)
{
    return fc_coll_rooted(row->op) ? row->root : -1;
}

static struct fc_bench_text time_text(double us)
{
    return fc_bench_number(us, us >= 10000.0 ? 0 : us >= 100.0 ? 1 : 2);
}

static void print_side(FILE *out, const struct fc_bench_side *side)
{
    char wrong[24] = "N/A";
    if (side->wrong >= 0)
        snprintf(wrong, sizeof wrong, "%" PRId64, side->wrong);
    fprintf(out, "  %7s  %6s  %6s  %5s", time_text(side->time_s * 1e6).s,
            fc_bench_number(side->algbw_GBps, 2).s,
            fc_bench_number(side->busbw_GBps, 2).s, wrong);
}

void fc_bench_table_row(FILE *out, const struct fc_bench_row *row)
{
    fprintf(out, "%12" PRIu64 "  %12" PRIu64 "  %8s  %6s  %6d", row->bytes, row->count,
            fc_bench_type_name(row->dtype), redop_name(row), root_of(row));
    for (int i = 0; i < FC_PLACES; i++)
        print_side(out, &row->side[i]);
    fputc('\n', out);
}

void fc_bench_table_wrong(FILE *out, int64_t wrong)
{
    fprintf(out, "# Out of bounds values : %" PRId64 " %s\n", wrong,
            wrong ? "FAILED" : "OK");
}

void fc_bench_table_foot(FILE *out, const struct fc_bench_totals *totals)
{
    fc_bench_table_wrong(out, totals->wrong);
    fprintf(out, "# Avg bus bandwidth    : %g\n#\n", fc_bench_totals_mean(totals));
}

void fc_bench_rates_head(FILE *out, const char *size_unit, const char *rate_unit)
{
    char unit[16];
    snprintf(unit, sizeof unit, "(%.12s)", rate_unit);
    fprintf(out, "#\n# %4s  %12s  %8s  %9s  %9s  %9s  %6s  %6s  %s\n", "rank", "size",
            "type", "time", "rate", "peak", "share", "#wrong", "node");
    fprintf(out, "# %4s  %12s  %8s  %9s  %9s  %9s  %6s\n", "", size_unit, "", "(us)",
            unit, unit, "(%)");
}

static struct fc_bench_text known(double value, int decimals)
{
    static const struct fc_bench_text none = {"-"};
    return isfinite(value) ? fc_bench_number(value, decimals) : none;
}

void fc_bench_rates_row(FILE *out, const struct fc_bench_rate *rate)
{
    fprintf(out, "%6d  %12" PRIu64 "  %8s  %9s  %9s  %9s  %6s  %6" PRId64 "  %s\n",
            rate->rank, rate->size, fc_bench_type_name(rate->dtype),
            time_text(rate->time_s * 1e6).s, known(rate->rate, 2).s,
            known(rate->peak, 2).s, known(100.0 * rate->rate / rate->peak, 1).s,
            rate->wrong, rate->node);
}

static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *fc_bench_rate_json(const struct fc_bench_rate *rate)
{
    return json_pack("{s:i, s:s, s:I, s:s, s:f, s:f, s:o, s:I}", "rank", rate->rank,
                     "node", rate->node, "size", (json_int_t)rate->size, "type",
                     fc_bench_type_name(rate->dtype), "time_us", rate->time_s * 1e6,
                     "rate", rate->rate, "peak", number_json(rate->peak), "wrong",
                     (json_int_t)rate->wrong);
}

void fc_bench_pairs_head(FILE *out)
{
    fprintf(out, "#\n# %5s  %5s  %5s  %9s  %9s  %9s  %9s  %6s  %s\n", "round", "a", "b",
            "size", "a to b", "b to a", "latency", "#wrong", "path");
    fprintf(out, "# %5s  %5s  %5s  %9s  %9s  %9s  %9s\n", "", "", "", "(B)", "(GB/s)",
            "(GB/s)", "(us)");
}

void fc_bench_pairs_row(FILE *out, const struct fc_bench_pair *pair)
{
    fprintf(out,
            "%7" PRIu32 "  %5d  %5d  %9" PRIu64 "  %9s  %9s  %9s  %6" PRId64 "  %s\n",
            pair->round, pair->a, pair->b, pair->bytes, known(pair->a_to_b_GBps, 2).s,
            known(pair->b_to_a_GBps, 2).s, known(pair->latency_s * 1e6, 2).s,
            pair->wrong, pair->path);
}

json_t *fc_bench_pair_json(const struct fc_bench_pair *pair)
{
    return json_pack(
        "{s:i, s:i, s:i, s:I, s:o, s:o, s:o, s:I, s:s}", "round", (int)pair->round, "a",
        pair->a, "b", pair->b, "size", (json_int_t)pair->bytes, "a_to_b_GBps",
        number_json(pair->a_to_b_GBps), "b_to_a_GBps", number_json(pair->b_to_a_GBps),
        "latency_us", number_json(pair->latency_s * 1e6), "wrong",
        (json_int_t)pair->wrong, "path", pair->path);
}

void fc_bench_values_head(FILE *out)
{
    fprintf(out, "#\n# %8s  %5s  %5s  %10s  %10s  %10s  %10s  %7s\n", "value", "rank",
            "unit", "median", "min", "max", "p99", "samples");
}

void fc_bench_values_row(FILE *out, const struct fc_bench_value *value)
{
    const struct fc_summary *s = &value->sample;
    char rank[16] = "all";
    if (value->rank >= 0)
        snprintf(rank, sizeof rank, "%d", value->rank);
    fprintf(out, "%10s  %5s  %5s  %10s  %10s  %10s  %10s  %7zu\n", value->name, rank,
            value->unit, known(s->median * value->scale, 2).s,
            known(s->min * value->scale, 2).s, known(s->max * value->scale, 2).s,
            known(s->p99 * value->scale, 2).s, s->n);
}

json_t *fc_bench_value_json(const struct fc_bench_value *value)
{
    const struct fc_summary *s = &value->sample;
    return json_pack(
        "{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:I}", "value", value->name, "rank",
        value->rank < 0 ? json_string("all") : json_integer(value->rank), "unit",
        value->unit, "median", number_json(s->median * value->scale), "min",
        number_json(s->min * value->scale), "max", number_json(s->max * value->scale),
        "p99", number_json(s->p99 * value->scale), "samples", (json_int_t)s->n);
}

static json_t *side_json(const struct fc_bench_side *side)
{
    return json_pack("{s:f, s:f, s:f, s:o}", "time_us", side->time_s * 1e6,
                     "algbw_GBps", side->algbw_GBps, "busbw_GBps", side->busbw_GBps,
                     "wrong",
                     side->wrong < 0 ? json_null() : json_integer(side->wrong));
}

json_t *fc_bench_row_json(const struct fc_bench_row *row)
{
    return json_pack("{s:I, s:I, s:s, s:s, s:i, s:o, s:o}", "size",
                     (json_int_t)row->bytes, "count", (json_int_t)row->count, "type",
                     fc_bench_type_name(row->dtype), "redop", redop_name(row), "root",
                     root_of(row), "out_of_place",
                     side_json(&row->side[FC_OUT_OF_PLACE]), "in_place",
                     side_json(&row->side[FC_IN_PLACE]));
}
