// SPDX-License-Identifier: BSD-3-Clause
#include "load.h"

#include "core/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What each rank tells the others. */
struct usage {
    struct fc_kernel_id kernel;
    double own_s;
};

struct fc_kernel_id fc_kernel_id(const char *hostname)
{
    struct fc_kernel_id id = {""};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file || !fgets(id.text, sizeof id.text, file))
        snprintf(id.text, sizeof id.text, "%.63s", hostname);
    if (file)
        fclose(file);
    return id;
}

/* Busy and stolen seconds of all CPUs since boot; false when they cannot be read. The
 * kernel's line: cpu user nice system idle iowait irq softirq steal …, in ticks. */
static bool read_counters(double *out_busy_s, double *out_steal_s)
{
    unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
    FILE *file = fopen("/proc/stat", "re");
    int fields =
        file ? fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice,
                      &system, &idle, &iowait, &irq, &softirq, &steal)
             : 0;
    if (file)
        fclose(file);
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    if (fields == 8) {
        *out_busy_s = (double)(user + nice + system + irq + softirq) * tick_s;
        *out_steal_s = (double)steal * tick_s;
    }
    return fields == 8;
}

static double own_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void fc_load_begin(struct fc_load *load)
{
    load->start_ns = fc_now_ns();
    load->own_s = own_cpu_s();
    if (!read_counters(&load->busy_s, &load->steal_s))
        load->busy_s = -1;
}

static double share(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static enum fc_status add_fact(const struct fc_load *load, struct fc_run *run,
                               const char *phase, double own_s, struct fc_error *err)
{
    double busy_s, steal_s;
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double all_s = cpus * (double)(fc_now_ns() - load->start_ns) / 1e9;
    /* Counters tick every 10 ms, and starting the workers is load of the run's own. */
    if (fc_now_ns() - load->start_ns < FC_NS_PER_S)
        return FC_OK;
    if (load->busy_s < 0 || !read_counters(&busy_s, &steal_s))
        return FC_OK; /* the config probe has said that it cannot be read */
    json_t *facts = json_object();
    json_object_set_new(facts, "load.other_share",
                        json_real(share((busy_s - load->busy_s - own_s) / all_s)));
    json_object_set_new(facts, "load.steal_share",
                        json_real(share((steal_s - load->steal_s) / all_s)));
    json_t *o = json_object();
    json_object_set_new(o, "node", json_string(fc_run_node(run)));
    json_object_set_new(o, "phase", json_string(phase));
    json_object_set_new(o, "facts", facts);
    return fc_sink_add_line(run->sink, fc_line("fact", o), err);
}

enum fc_status fc_load_end(const struct fc_load *load, struct fc_run *run,
                           const char *phase, struct fc_error *err)
{
    struct fc_rte *rte = run->rte;
    struct usage mine, *all = calloc((size_t)rte->size, sizeof *all);
    double own_s = 0;
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks", rte->size);
    memset(&mine, 0, sizeof mine);
    mine.kernel = fc_kernel_id(rte->hostname);
    mine.own_s = own_cpu_s() - load->own_s;
    enum fc_status status =
        fc_rte_allgather(rte, "CPU time of a phase", &mine, sizeof mine, all, err);
    for (int r = 0; status == FC_OK && r < rte->size; r++)
        if (strcmp(all[r].kernel.text, mine.kernel.text) == 0)
            own_s += all[r].own_s;
    free(all);
    if (status == FC_OK && rte->local_rank == 0)
        status = add_fact(load, run, phase, own_s, err);
    return status == FC_LOST ? FC_LOST : fc_rte_agree(rte, "load", status, err);
}
