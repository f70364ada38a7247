// SPDX-License-Identifier: BSD-3-Clause
/* The collectives and training probes. */
#include "fleet.h"

#include <math.h>
#include <stdio.h>

/* What the slowest way between any two nodes leaves of a healthy one's rate. */
static double slowest_way(const struct fleet *f)
{
    double worth = 1.0;
    for (int k = 0; k < f->faults; k++) {
        const struct fault *x = &f->fault[k];
        bool slows =
            x->kind == FAULT_NIC || x->kind == FAULT_LINK || x->kind == FAULT_SWITCH;
        if (slows)
            worth = fmin(worth, 1.0 - x->percent / 100.0);
        if (x->kind == FAULT_LOSSY)
            worth = fmin(worth, 0.4);
    }
    return worth;
}

static void emit_coll(const struct fleet *f, const char *op, const char *params,
                      long long bytes, double factor)
{
    struct dice dice = dice_for(f->seed, op, (uint64_t)bytes, 0);
    struct noise noise = fleet_noise(f);
    double rate = 9.0 * slowest_way(f) * (double)bytes / ((double)bytes + 262144.0);
    struct sampled s =
        dice_time(&dice, factor * (double)bytes / 1e9 / rate, &noise, 25);
    char metric[64];
    snprintf(metric, sizeof metric, "collective.%s.time", op);
    struct record r = {.probe = "collectives",
                       .metric = metric,
                       .unit = "s",
                       .lower = true,
                       .subject = "\"kind\":\"fabric\"",
                       .params = params,
                       .path = "rdma",
                       .how = "the ports' counters",
                       .bytes = bytes,
                       .wrong = 0,
                       .attempt = 1};
    emit_record(&r, &s);
    s = dice_rate(&dice, rate, &noise, 25);
    snprintf(metric, sizeof metric, "collective.%s.busbw", op);
    r.unit = "GB/s";
    r.lower = false;
    emit_record(&r, &s);
}

void emit_collectives(const struct fleet *f)
{
    int n = f->nodes * f->ranks;
    char params[200];
    if (n < 2)
        return;
    snprintf(params, sizeof params,
             "\"op\":\"all_reduce\",\"redop\":\"sum\",\"dtype\":\"fp32\","
             "\"in_place\":false,\"n\":%d,\"algorithm\":\"mpi\",\"memory\":\"host\"",
             n);
    for (long long bytes = 1024; bytes <= 67108864; bytes *= 16)
        emit_coll(f, "all_reduce", params, bytes, 2.0 * (n - 1) / n);
    snprintf(params, sizeof params,
             "\"op\":\"all_gather\",\"dtype\":\"fp32\",\"in_place\":false,\"n\":%d,"
             "\"algorithm\":\"mpi\",\"memory\":\"host\"",
             n);
    for (long long bytes = 1048576; bytes <= 16777216; bytes *= 16)
        emit_coll(f, "all_gather", params, bytes, 1.0 * (n - 1) / n);
}

/* --- training --- */

static const double compute_s = 0.090, comm_s = 0.030, hidden = 0.6;

static void emit_step(const struct fleet *f, const char *what, const char *subject,
                      int rank, uint64_t who, double time, int attempt)
{
    char metric[64], params[200];
    struct dice dice = dice_for(f->seed + ((uint64_t)attempt << 40), what, who, 0);
    struct noise noise = fleet_noise(f);
    struct sampled s = dice_time(&dice, time, &noise, attempt > 1 ? 60 : 20);
    snprintf(metric, sizeof metric, "training.%s", what);
    snprintf(params, sizeof params,
             "\"op\":\"ddp\",\"dtype\":\"fp32\",\"n\":%d,\"algorithm\":\"mpi\","
             "\"memory\":\"host\",\"variant\":\"small, 128 tokens\"",
             f->nodes * f->ranks);
    bool is_step = what[0] == 's';
    struct record r = {.probe = "training",
                       .metric = metric,
                       .unit = "s",
                       .lower = true,
                       .subject = subject,
                       .params = params,
                       .path = is_step || what[3] == 'm' ? "rdma" : "cores",
                       .how = "host device",
                       .bytes = 14155776,
                       .wrong = is_step ? 0 : -1,
                       .attempt = attempt,
                       .rank = rank};
    emit_record(&r, &s);
}

static void emit_steps(const struct fleet *f, const char *subject, int rank,
                       uint64_t who, double compute, int attempt)
{
    double comm = comm_s / slowest_way(f);
    emit_step(f, "compute_time", subject, rank, who, compute, attempt);
    emit_step(f, "comm_time", subject, rank, who, comm, attempt);
    emit_step(f, "step_time", subject, rank, who, compute + (1.0 - hidden) * comm,
              attempt);
}

void emit_training(const struct fleet *f, int attempt)
{
    double slowest = 0.0;
    for (int i = 0; i < f->nodes; i++)
        for (int k = 0; k < f->ranks; k++) {
            char subject[96];
            int rank = f->first_rank[i] + k;
            double compute = compute_s / fleet_device(f, i, k, "device.gemm.fp32");
            slowest = fmax(slowest, compute);
            if (fleet_ill(f, FAULT_LOST, i, NULL) || (attempt > 1 && !f->train[i]))
                continue;
            snprintf(subject, sizeof subject,
                     "\"kind\":\"node\",\"node\":\"n%d\",\"rank\":%d", f->number[i],
                     rank);
            emit_steps(f, subject, rank, (uint64_t)(i * f->ranks + k), compute,
                       attempt);
        }
    emit_steps(f, "\"kind\":\"fabric\"", 0, UINT64_MAX, slowest, attempt);
}
