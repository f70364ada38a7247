// SPDX-License-Identifier: BSD-3-Clause
/* What a run writes before and between its measurements, and the device probe. */
#include "fleet.h"

#include <stdio.h>
#include <string.h>

static int sources, records;

int emit_source(void)
{
    return sources++;
}

/* Of no samples there is none. */
static void number(const char *key, const struct sampled *s, double value)
{
    if (s->samples)
        printf(",\"%s\":%.9g", key, value);
    else
        printf(",\"%s\":null", key);
}

void emit_record(const struct record *r, const struct sampled *s)
{
    printf("{\"type\":\"record\",\"seq\":%d,\"probe\":\"%s\",\"metric\":\"%s\","
           "\"unit\":\"%s\","
           "\"better\":\"%s\",\"subject\":{%s},\"params\":{%s,\"attempt\":%d},",
           ++records, r->probe, r->metric, r->unit, r->lower ? "lower" : "higher",
           r->subject, r->params, r->attempt);
    if (r->bytes >= 0)
        printf("\"bytes\":%lld", r->bytes);
    else
        printf("\"bytes\":null");
    printf(",\"samples\":%d", s->samples);
    number("median", s, s->median);
    number("min", s, s->min);
    number("max", s, s->max);
    number("p99", s, s->p99);
    number("mad", s, s->mad);
    number("lo", s, s->lo);
    number("hi", s, s->hi);
    if (r->limit > 0.0)
        printf(",\"limit\":{\"value\":%.9g,\"basis\":\"%s\"}", r->limit, r->basis);
    else
        printf(",\"limit\":null");
    printf(",\"path\":{\"name\":\"%s\",\"how\":\"%s\"}", r->path, r->how);
    if (r->wrong >= 0)
        printf(",\"wrong\":%lld", r->wrong);
    else
        printf(",\"wrong\":null");
    if (r->reason)
        printf(",\"status\":\"failed\",\"reason\":\"%s\"", r->reason);
    else
        printf(",\"status\":\"ok\"");
    printf(",\"src\":\"%d.%d\"}\n", r->rank, emit_source());
}

void emit_phase(const char *name, const char *state, int attempt)
{
    static int seconds;
    printf("{\"type\":\"phase\",\"name\":\"%s\",\"state\":\"%s\","
           "\"time\":\"2026-01-01T00:%02d:%02d.000Z\",\"attempt\":%d%s}\n",
           name, state, seconds / 60 % 60, seconds % 60, attempt,
           strcmp(state, "end") == 0 ? ",\"status\":\"ok\"" : "");
    seconds++;
}

/* --- before the first probe --- */

static void emit_run(const struct fleet *f)
{
    printf(
        "{\"type\":\"run\",\"schema\":\"fabricheck-journal/1\",\"version\":\"0.1.0\","
        "\"started\":\"2026-01-01T00:00:00.000Z\",\"level\":\"quick\","
        "\"command\":[\"run\"],\"options\":{},\"labels\":{},\"launcher\":\"srun\","
        "\"mpi\":\"Open MPI v4.1.4\",\"ranks\":%d,\"nodes\":%d,"
        "\"duplicate_hosts\":0,\"simulated\":true,\"seed\":%llu,\"control\":{}}\n",
        f->nodes * f->ranks, f->nodes, (unsigned long long)f->seed);
    printf("{\"type\":\"plan\",\"probes\":[");
    static const char *const probes[] = {"config", "device", "pairs", "collectives",
                                         "training"};
    for (int i = 0; i < 5; i++)
        printf("%s{\"name\":\"%s\",\"demanded\":false,\"cost_s\":4.0}", i ? "," : "",
               probes[i]);
    printf("],\"skipped\":[],\"seconds\":20.0}\n");
    printf("{\"type\":\"profile\",\"name\":\"default\",\"floor\":{},\"effect\":{},"
           "\"expect\":{\"nodes\":%d}}\n",
           f->nodes);
}

static void emit_switch(const struct fleet *f, int node)
{
    if (!f->tell_switch)
        return;
    printf(",\"switch\":");
    if (f->rails == 1)
        printf("\"leaf-%d\"", fleet_leaf(f, node));
    for (int r = 0; f->rails > 1 && r < f->rails; r++)
        printf("%s\"leaf-%d-rail-%d\"%s", r ? "," : "[", fleet_leaf(f, node), r,
               r + 1 == f->rails ? "]" : "");
}

static void emit_node(const struct fleet *f, int node)
{
    int rank = f->first_rank[node], class = fleet_class(f, node);
    printf("{\"type\":\"node\",\"name\":\"n%d\",\"ranks\":[", f->number[node]);
    for (int i = 0; i < f->ranks; i++)
        printf("%s%d", i ? "," : "", rank + i);
    printf("],\"class\":\"%016x\"", 0xabc0 + class);
    emit_switch(f, node);
    if (node == class)
        printf(",\"picture\":{\"facts\":{\"cpu.model\":\"CPU %c\",\"cpu.sockets\":2,"
               "\"cpu.cores\":64,\"cpu.threads\":64,\"mem.gib\":512}}",
               'A' + class);
    printf(",\"src\":\"%d.%d\"}\n", rank, emit_source());
    printf(
        "{\"type\":\"fact\",\"node\":\"n%d\",\"facts\":{\"host.name\":\"n%d\","
        "\"os.name\":\"Debian GNU/Linux 12 (bookworm)\","
        "\"kernel.release\":\"6.1.0-13-amd64\",\"kernel.options\":\"\","
        "\"cpu.model\":\"CPU %c\",\"cpu.smt\":false,\"cpu.governor\":\"performance\","
        "\"cpu.clocksource\":\"tsc\",\"cpu.sockets\":2,\"cpu.cores\":64,"
        "\"cpu.threads\":64,\"numa.nodes\":2,\"numa.balancing\":0,\"mem.gib\":512,"
        "\"mem.thp\":\"madvise\",\"virt.container\":\"none\",\"gpu.count\":0,"
        "\"rdma.count\":%d,\"net.links\":\"mlx5_core 100 Gb/s mtu 9000\","
        "\"load.other_share\":0.004,\"load.steal_share\":0.0},\"unreadable\":{},"
        "\"src\":\"%d.%d\"}\n",
        f->number[node], f->number[node], 'A' + class, f->rails, rank, emit_source());
    for (int i = 0; i < f->ranks; i++)
        printf("{\"type\":\"fact\",\"node\":\"n%d\",\"rank\":%d,\"facts\":{"
               "\"limit.memlock\":\"unlimited\",\"limit.nofile\":1048576,"
               "\"affinity.count\":%d,\"rank.policy\":\"other\",\"rank.nice\":0,"
               "\"lib.mpi\":\"Open MPI v4.1.4\",\"lib.libc\":\"2.36\"},"
               "\"unreadable\":{},\"src\":\"%d.%d\"}\n",
               f->number[node], rank + i, 64 / f->ranks, rank + i, emit_source());
}

/* --- the device probe --- */

static const struct {
    const char *metric, *params, *unit, *path;
    double typical, peak; /* peak: of the same class; 0: it is a peak itself */
    long long bytes;
    bool verified;
} devices[] = {
    {"device.stream_peak", "\"op\":\"stream\",\"memory\":\"host\"", "GB/s", "memory",
     410.0, 0.0, 134217728, true},
    {"device.mem_bw", "\"op\":\"copy\",\"memory\":\"host\"", "GB/s", "memory", 378.0,
     410.0, 134217728, true},
    {"device.fma_peak.fp32", "\"op\":\"fma\",\"dtype\":\"fp32\",\"memory\":\"host\"",
     "TFLOP/s", "cores", 3.95, 0.0, -1, false},
    {"device.gemm.fp32",
     "\"op\":\"gemm\",\"dtype\":\"fp32\",\"n\":1280,\"memory\":\"host\"", "TFLOP/s",
     "cores", 3.41, 3.95, -1, true},
    {"device.fma_peak.fp64", "\"op\":\"fma\",\"dtype\":\"fp64\",\"memory\":\"host\"",
     "TFLOP/s", "cores", 1.97, 0.0, -1, false},
    {"device.gemm.fp64",
     "\"op\":\"gemm\",\"dtype\":\"fp64\",\"n\":1024,\"memory\":\"host\"", "TFLOP/s",
     "cores", 1.69, 1.97, -1, true},
};

/* What a device of the class can do at best; no fault of the fleet changes it. */
static double limit_of(const struct fleet *f, int node, int device, size_t i)
{
    static const double of_class[] = {1.0, 0.7, 1.4, 0.5};
    struct dice dice = dice_for(f->seed, devices[i].metric, (uint64_t)node + (1u << 20),
                                (uint64_t)device);
    double class = of_class[fleet_class(f, node) % 4];
    return devices[i].peak * class * (1.0 + f->sigma_b * dice_normal(&dice));
}

static void emit_device(const struct fleet *f, int node, int device, int attempt)
{
    int rank = f->first_rank[node] + device;
    char subject[96];
    snprintf(subject, sizeof subject, "\"kind\":\"node\",\"node\":\"n%d\",\"rank\":%d",
             f->number[node], rank);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const char *metric = devices[i].metric;
        struct dice dice = dice_for(f->seed + ((uint64_t)attempt << 40), metric,
                                    (uint64_t)node, (uint64_t)device + 1000);
        struct noise noise = fleet_noise(f);
        double rate = devices[i].typical * fleet_device(f, node, device, metric);
        struct sampled s =
            dice_rate(&dice, rate, &noise, f->samples * (attempt > 1 ? 3 : 1));
        bool ill = fleet_ill(f, FAULT_WRONG, node, metric) && device == 0;
        struct record r = {.probe = "device",
                           .metric = metric,
                           .unit = devices[i].unit,
                           .subject = subject,
                           .params = devices[i].params,
                           .path = devices[i].path,
                           .how = "host device",
                           .bytes = devices[i].bytes,
                           .wrong = ill                   ? 17
                                    : devices[i].verified ? 0
                                                          : -1,
                           .limit = limit_of(f, node, device, i),
                           .basis = "best of a loop that does nothing else",
                           .attempt = attempt,
                           .rank = rank};
        if (!fleet_ill(f, FAULT_MISSING, node, metric))
            emit_record(&r, &s);
    }
}

/* --- attempts --- */

void emit_first(const struct fleet *f)
{
    emit_run(f);
    emit_phase("config", "begin", 1);
    for (int i = 0; i < f->nodes; i++)
        emit_node(f, i);
    emit_phase("config", "end", 1);
    emit_phase("device", "begin", 1);
    for (int i = 0; i < f->nodes; i++)
        for (int k = 0; k < f->ranks; k++)
            emit_device(f, i, k, 1);
    emit_phase("device", "end", 1);
    emit_phase("pairs", "begin", 1);
    emit_pairs(f, 1);
    emit_phase("pairs", "end", 1);
    emit_phase("collectives", "begin", 1);
    emit_collectives(f);
    emit_phase("collectives", "end", 1);
    emit_phase("training", "begin", 1);
    emit_training(f, 1);
    emit_phase("training", "end", 1);
}

static bool any(const bool *wanted, int count)
{
    for (int i = 0; i < count; i++)
        if (wanted[i])
            return true;
    return false;
}

static void emit_end(const struct fleet *f)
{
    bool lost = false;
    for (int i = 0; i < f->nodes; i++) {
        if (!fleet_ill(f, FAULT_LOST, i, NULL))
            continue;
        lost = true;
        for (int k = 0; k < f->ranks; k++)
            printf(
                "{\"type\":\"event\",\"time\":\"2026-01-01T00:59:00.000Z\","
                "\"kind\":\"silent\",\"node\":\"n%d\",\"rank\":%d,\"phase\":\"pairs\","
                "\"what\":\"\",\"wait\":\"none\",\"seconds\":60.0,\"message\":\"no "
                "trace of this rank when the run ended\"}\n",
                f->number[i], f->first_rank[i] + k);
    }
    printf("{\"type\":\"end\",\"time\":\"2026-01-01T00:59:30.000Z\",\"status\":\"%s\","
           "\"reason\":%s}\n",
           lost ? "interrupted" : "complete", lost ? "\"a node was lost\"" : "null");
}

void emit_again(const struct fleet *f)
{
    sources = records = 1 << 24; /* beyond those of the first attempt */
    if (any(f->again, f->nodes * f->ranks)) {
        emit_phase("device", "begin", 2);
        for (int i = 0; i < f->nodes; i++)
            for (int k = 0; k < f->ranks; k++)
                if (f->again[i * f->ranks + k] && !fleet_lost(f, i, -1))
                    emit_device(f, i, k, 2);
        emit_phase("device", "end", 2);
    }
    if (any(f->meet, f->nodes)) {
        emit_phase("pairs", "begin", 2);
        emit_pairs(f, 2);
        emit_phase("pairs", "end", 2);
    }
    if (any(f->train, f->nodes)) {
        emit_phase("training", "begin", 2);
        emit_training(f, 2);
        emit_phase("training", "end", 2);
    }
    emit_end(f);
}
