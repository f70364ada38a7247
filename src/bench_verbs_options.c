// SPDX-License-Identifier: BSD-3-Clause
/* perftest's options, by its letters and names; what it prints. */
#include "bench_table.h"
#include "bench_verbs.h"

#include <inttypes.h>
#include <string.h>

#define FIELD(field) offsetof(struct fc_bench_verbs_options, field)

const struct fc_option fc_bench_verbs_table[] = {
    {.name = "ib-dev",
     .letter = 'd',
     .type = FC_OPT_WORDS,
     .offset = FIELD(devices),
     .arg = "DEV[,DEV]",
     .help = "the two sides' devices (mlx5_0, or mlx5_0:1 with its port); one name is "
             "for both sides; without it, the first rails that NCCL would use"},
    {.name = "ib-port",
     .letter = 'i',
     .type = FC_OPT_INT,
     .offset = FIELD(port),
     .min = 1,
     .max = 255,
     .arg = "PORT",
     .help = "port of the devices; without it, the first that is up"},
    {.name = "size",
     .letter = 's',
     .type = FC_OPT_SIZE,
     .offset = FIELD(bytes),
     .min = 1,
     .max = 1 << 30,
     .arg = "SIZE",
     .help = "message size (bandwidth: 64K, latency: 2)"},
    {.name = "all",
     .letter = 'a',
     .type = FC_OPT_FLAG,
     .offset = FIELD(all),
     .help = "all sizes from 2 bytes to 8M"},
    {.name = "duration",
     .letter = 'D',
     .type = FC_OPT_DURATION,
     .offset = FIELD(duration_ns),
     .def = "1s",
     .min = 0.001,
     .max = 3600,
     .arg = "TIME",
     .help = "time for each size"},
    {.name = "iters",
     .letter = 'n',
     .type = FC_OPT_INT,
     .offset = FIELD(iters),
     .min = 5,
     .max = 1e8,
     .arg = "N",
     .help = "exactly so many messages of each size, however long they take"},
    {.name = "bidirectional",
     .letter = 'b',
     .type = FC_OPT_FLAG,
     .offset = FIELD(bidirectional),
     .help = "both directions at once; their bandwidths are summed up"},
    {.name = "qp",
     .letter = 'q',
     .type = FC_OPT_INT,
     .offset = FIELD(qps),
     .def = "1",
     .min = 1,
     .max = FC_RDMA_QPS_MAX,
     .arg = "N",
     .help = "queue pairs"},
    {.name = "tx-depth",
     .letter = 't',
     .type = FC_OPT_INT,
     .offset = FIELD(depth),
     .def = "128",
     .min = 2,
     .max = FC_RDMA_DEPTH_MAX,
     .arg = "N",
     .help = "messages in flight in each queue pair"},
    {.name = "gid-index",
     .letter = 'x',
     .type = FC_OPT_INT,
     .offset = FIELD(gid_index),
     .def = "-1",
     .min = -1,
     .max = 255,
     .arg = "N",
     .help = "GID by its index; -1: the one that NCCL would use"},
    {.name = "mtu",
     .letter = 'm',
     .type = FC_OPT_INT,
     .offset = FIELD(mtu),
     .min = 256,
     .max = 4096,
     .arg = "BYTES",
     .help = "path MTU; without it, the smaller one of both ports"},
    {.name = "sl",
     .letter = 'S',
     .type = FC_OPT_INT,
     .offset = FIELD(sl),
     .def = "-1",
     .min = -1,
     .max = 15,
     .arg = "N",
     .help = "service level; -1: as NCCL would"},
    {.name = "tclass",
     .type = FC_OPT_INT,
     .offset = FIELD(tclass),
     .def = "-1",
     .min = -1,
     .max = 255,
     .arg = "N",
     .help = "traffic class; -1: as NCCL would"},
    {.name = "pkey_index",
     .type = FC_OPT_INT,
     .offset = FIELD(pkey_index),
     .def = "-1",
     .min = -1,
     .max = 1023,
     .arg = "N",
     .help = "P_Key by its index; -1: as NCCL would"},
    {.name = "qp-timeout",
     .letter = 'u',
     .type = FC_OPT_INT,
     .offset = FIELD(timeout),
     .min = 1,
     .max = 31,
     .arg = "N",
     .help = "a lost packet is sent again after 4.096us * 2^N (14; of software 17)"},
    {.name = "retry_count",
     .type = FC_OPT_INT,
     .offset = FIELD(retries),
     .def = "-1",
     .min = -1,
     .max = 6,
     .arg = "N",
     .help = "how often, before the transfer fails; -1: 6"},
    {.name = "inline_size",
     .letter = 'I',
     .type = FC_OPT_INT,
     .offset = FIELD(inline_bytes),
     .def = "-1",
     .min = -1,
     .max = 1024,
     .arg = "BYTES",
     .help = "messages up to this size travel inside the request; -1: 220, or what the "
             "device takes"},
    {.name = "rdma_cm",
     .letter = 'R',
     .type = FC_OPT_FLAG,
     .offset = FIELD(rdma_cm),
     .help = "connect by rdma_cm, over the ports' IP addresses"},
    {.name = "report_gbits",
     .type = FC_OPT_FLAG,
     .offset = FIELD(gbits),
     .help = "bandwidths in Gb/s and not in MiB/s"},
    {.name = "json",
     .type = FC_OPT_FLAG,
     .offset = FIELD(json),
     .help = "one JSON object in place of the table"},
    FC_OPTION_END};

bool fc_bench_verbs_kind(const char *name, struct fc_bench_verbs_kind *out)
{
    static const struct {
        const char *name;
        struct fc_bench_verbs_kind kind;
    } rows[] = {
        {"write_bw", {FC_RDMA_WRITE, false}}, {"read_bw", {FC_RDMA_READ, false}},
        {"send_bw", {FC_RDMA_SEND, false}},   {"write_lat", {FC_RDMA_WRITE, true}},
        {"read_lat", {FC_RDMA_READ, true}},   {"send_lat", {FC_RDMA_SEND, true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out = rows[i].kind;
            return true;
        }
    return false;
}

enum fc_status fc_bench_verbs_check(const struct fc_bench_verbs_options *options,
                                    const struct fc_bench_verbs_kind *kind,
                                    struct fc_error *err)
{
    int64_t mtu = options->mtu;
    if (options->devices.count > 2)
        return fc_fail(err, FC_USAGE, "-d: '%.60s' is one device too many: one a side",
                       options->devices.word[2]);
    if (options->all && options->bytes)
        return fc_fail(err, FC_USAGE, "-a: means all sizes, and -s one of them");
    if (kind->latency && options->bidirectional)
        return fc_fail(err, FC_USAGE, "-b: latency has one direction");
    if (kind->latency && options->qps != 1)
        return fc_fail(err, FC_USAGE, "-q: latency is of one queue pair");
    if (mtu & (mtu - 1))
        return fc_fail(err, FC_USAGE, "-m: %d is no MTU (256, 512, 1024, 2048, 4096)",
                       (int)mtu);
    return FC_OK;
}

/* ---- perftest's columns (its perftest_parameters.h) ---- */

#define MIB 1048576.0

void fc_bench_verbs_head(FILE *out, bool latency, bool gbits)
{
    if (latency)
        fprintf(out, " #bytes #iterations    t_min[usec]    t_max[usec]  "
                     "t_typical[usec]    t_avg[usec]    t_stdev[usec]   99%% "
                     "percentile[usec]   99.9%% percentile[usec]\n");
    else
        fprintf(out,
                " #bytes     #iterations    BW peak[%s]    BW average[%s]   "
                "MsgRate[Mpps]\n",
                gbits ? "Gb/sec" : "MiB/sec", gbits ? "Gb/sec" : "MiB/sec");
}

void fc_bench_verbs_row(FILE *out, const struct fc_bench_verbs_row *row, bool latency,
                        bool gbits)
{
    const struct fc_lane_latency *l = &row->latency;
    double unit = gbits ? 8.0 : 1e9 / MIB;
    if (latency)
        fprintf(
            out,
            " %-7" PRIu64 " %-7" PRIu64 "        %-9s      %-9s    %-9s          "
            "%-9s      %-9s       %-9s              %-9s\n",
            row->bytes, row->iterations, fc_bench_number(l->min * 1e6, 2).s,
            fc_bench_number(l->max * 1e6, 2).s, fc_bench_number(l->typical * 1e6, 2).s,
            fc_bench_number(l->mean * 1e6, 2).s, fc_bench_number(l->stdev * 1e6, 2).s,
            fc_bench_number(l->p99 * 1e6, 2).s, fc_bench_number(l->p999 * 1e6, 2).s);
    else
        fprintf(out,
                " %-7" PRIu64 "    %-10" PRIu64 "       %-9s          %-9s      "
                "       %-7s\n",
                row->bytes, row->iterations,
                fc_bench_number(row->peak_GBps * unit, 2).s,
                fc_bench_number(row->average_GBps * unit, 2).s,
                fc_bench_number(row->messages_per_s / 1e6, 6).s);
}

json_t *fc_bench_verbs_json(const struct fc_bench_verbs_row *row, bool latency)
{
    const struct fc_lane_latency *l = &row->latency;
    if (!latency)
        return json_pack("{s:I, s:I, s:f, s:f, s:f, s:I}", "size",
                         (json_int_t)row->bytes, "iterations",
                         (json_int_t)row->iterations, "peak_GBps", row->peak_GBps,
                         "average_GBps", row->average_GBps, "messages_per_s",
                         row->messages_per_s, "wrong", (json_int_t)row->wrong);
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:I}", "size",
                     (json_int_t)row->bytes, "iterations", (json_int_t)row->iterations,
                     "min_us", l->min * 1e6, "max_us", l->max * 1e6, "typical_us",
                     l->typical * 1e6, "avg_us", l->mean * 1e6, "stdev_us",
                     l->stdev * 1e6, "p99_us", l->p99 * 1e6, "p999_us", l->p999 * 1e6,
                     "by_completion", l->by_completion, "wrong",
                     (json_int_t)row->wrong);
}
