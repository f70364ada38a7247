// SPDX-License-Identifier: BSD-3-Clause
#include "session.h"

#include "collectives/comm.h"
#include "core/clock.h"
#include "core/control.h"
#include "core/journal.h"
#include "core/loaded.h"
#include "core/log.h"
#include "core/worker.h"
#include "device/device.h"
#include "judge/profile.h"
#include "leaves.h"
#include "load.h"
#include "rdma/seats.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_Init has no deadline of its own; a launcher that lost a rank leaves the others
 * here. */
#define MPI_START_NS (180 * FC_NS_PER_S)

/* The steps before MPI: no rank can tell the others, each one only itself. */
static enum fc_status open_process(struct fc_session *s, struct fc_error *err)
{
    char library[256];
    fc_launch_read(&s->launch);
    enum fc_status status = fc_run_settings(s->options, &s->settings, err);
    if (status == FC_OK)
        status = fc_spawner_open(&s->run.spawner, err);
    fc_rte_mpi_library(library, sizeof library);
    if (status == FC_OK)
        status = fc_control_apply(s->options->control, fc_control_fabric_present(""),
                                  fc_control_major(library), &s->control, err);
    if (status == FC_OK)
        status = fc_watchdog_open(s->launch.rank, &s->run.watchdog, err);
    return status;
}

static enum fc_status open_mpi(struct fc_session *s, struct fc_error *err)
{
    fc_watchdog_push(s->run.watchdog, "MPI_Init", FC_WAIT_COLLECTIVE, MPI_START_NS);
    enum fc_status status = fc_rte_open(&s->run.rte, s->run.watchdog, err);
    fc_watchdog_pop(s->run.watchdog);
    if (status == FC_OK)
        status = fc_launch_check(&s->launch, s->run.rte->size, err);
    if (status != FC_OK)
        return status;
    const struct fc_rte *rte = s->run.rte;
    /* Waits see other ranks' work: several steps of it may stand between two
     * agreements. */
    s->run.rte->wait_ns = 4 * s->settings.work_ns;
    s->run.settings = &s->settings;
    if (rte->size > 1)
        json_object_set_new(s->control, "loaded",
                            fc_loaded_components("/proc/self/maps"));
    fc_log_set_who(rte->node_name[rte->node], rte->rank);
    status = fc_sink_open(rte->rank, &s->run.sink, err);
    return fc_rte_agree(s->run.rte, "start", status, err);
}

/* Rank 0 reads the profile, all ranks apply its [run] section below the command line.
 * */
static enum fc_status open_profile(struct fc_session *s, struct fc_error *err)
{
    struct fc_rte *rte = s->run.rte;
    struct fc_run_options *o = s->options;
    enum fc_status status = FC_OK;
    if (rte->rank == 0 && o->profile) {
        status = fc_profile_load(o->profile, &s->profile, err);
        if (status != FC_OK)
            fc_prefix(err, "--profile");
    } else if (rte->rank == 0 && !(s->profile = fc_profile_default())) {
        status = fc_fail(err, FC_NOMEM, "out of memory for the profile");
    }
    status = fc_rte_agree(rte, "profile", status, err);
    if (status == FC_OK)
        status = fc_rte_bcast_json(rte, "profile", &s->profile, err);
    if (status != FC_OK)
        return status;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(s->profile, "run"), name, value)
    {
        char where[128];
        snprintf(where, sizeof where, "--profile: [run] %.80s", name);
        if (status == FC_OK &&
            !fc_options_given(fc_run_option_table, s->argc, s->argv, name))
            status = fc_options_set(fc_run_option_table, name, json_string_value(value),
                                    where, o, err);
    }
    if (status == FC_OK)
        status = fc_run_options_check(o, err);
    if (status == FC_OK)
        status = fc_run_settings(o, &s->settings, err);
    return fc_rte_agree(rte, "profile applied", status, err);
}

static void choose_dir(struct fc_session *s)
{
    if (s->options->out)
        snprintf(s->dir, sizeof s->dir, "%.4000s", s->options->out);
    else if (s->launch.job_id[0])
        snprintf(s->dir, sizeof s->dir, "fabricheck-%s", s->launch.job_id);
    else
        snprintf(s->dir, sizeof s->dir, "fabricheck-%s", fc_timestamp_compact().text);
}

static enum fc_status open_seed(struct fc_session *s, struct fc_error *err)
{
    s->run.seed = fc_now_ns();
    return fc_rte_bcast(s->run.rte, "seed", &s->run.seed, sizeof s->run.seed, 0, err);
}

static enum fc_status open_journal(struct fc_session *s, struct fc_error *err)
{
    struct fc_rte *rte = s->run.rte;
    enum fc_status status = FC_OK;
    if (rte->rank == 0) {
        choose_dir(s);
        status = fc_journal_create(s->dir, &s->run.journal, err);
    }
    status = fc_rte_agree(rte, "output folder", status, err);
    if (status == FC_OK)
        status = fc_rte_bcast(rte, "output folder", s->dir, sizeof s->dir, 0, err);
    if (status == FC_OK)
        status = open_seed(s, err);
    if (status == FC_OK)
        fc_watchdog_attach(s->run.watchdog, rte->rank, fc_run_node(&s->run),
                           s->run.sink, s->run.journal, s->dir);
    return status;
}

/* What ranks tell each other of their machines. Who shares cores with whom: the same
 * kernel (boot id; in its absence the host name) and affinity masks that overlap.
 * FABRICHECK_NODE names nodes, it makes no cores. */
struct cores {
    struct fc_kernel_id kernel;
    cpu_set_t mask;
    bool rdma; /* there is an RDMA device */
};

static void read_cores(struct cores *c, const char *hostname)
{
    memset(c, 0, sizeof *c);
    c->kernel = fc_kernel_id(hostname);
    c->rdma = fc_rdma_present();
    if (sched_getaffinity(0, sizeof c->mask, &c->mask) != 0)
        memset(&c->mask, 0xff, sizeof c->mask);
}

static enum fc_status find_share(struct fc_session *s, int *out_share, int *out_shares,
                                 struct fc_error *err)
{
    struct fc_rte *rte = s->run.rte;
    struct cores mine;
    struct cores *all = calloc((size_t)rte->size, sizeof *all);
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks", rte->size);
    read_cores(&mine, rte->hostname);
    enum fc_status status =
        fc_rte_allgather(rte, "affinity masks", &mine, sizeof mine, all, err);
    *out_share = *out_shares = 0;
    s->run.one_kernel = true;
    s->run.rdma = false;
    for (int r = 0; status == FC_OK && r < rte->size; r++) {
        cpu_set_t both;
        s->run.rdma = s->run.rdma || all[r].rdma;
        if (strcmp(mine.kernel.text, all[r].kernel.text) != 0)
            s->run.one_kernel = false;
        CPU_AND(&both, &mine.mask, &all[r].mask);
        if (strcmp(mine.kernel.text, all[r].kernel.text) != 0 || !CPU_COUNT(&both))
            continue;
        *out_share += r < rte->rank;
        *out_shares += 1;
    }
    free(all);
    return status;
}

static enum fc_status open_device(struct fc_session *s, struct fc_error *err)
{
    int share = 0, shares = 1;
    cpu_set_t own;
    enum fc_status status = find_share(s, &share, &shares, err);
    if (status != FC_OK)
        return status;
    fc_device_host_cores(0, 1, &own);
    int cores = CPU_COUNT(&own);
    s->run.sharers = (shares + cores - 1) / (cores ? cores : 1);
    status = fc_device_host_open(share, shares, &s->run.device, err);
    if (status == FC_OK && s->backends->wrap_device)
        s->backends->wrap_device(&s->run.device, s->run.rte->rank);
    return fc_rte_agree(s->run.rte, "device", status, err);
}

static enum fc_status open_comm(struct fc_session *s, int color, struct fc_comm **out,
                                struct fc_error *err)
{
    fc_watchdog_push(s->run.watchdog, "make a communicator", FC_WAIT_COLLECTIVE,
                     s->settings.work_ns);
    enum fc_status status = s->run.rte->size > 1 ? fc_comm_mpi_open(color, out, err)
                                                 : fc_comm_self_open(out, err);
    fc_watchdog_pop(s->run.watchdog);
    if (status == FC_OK && *out && s->backends->wrap_comm)
        s->backends->wrap_comm(out, s->run.rte->rank);
    return fc_rte_agree(s->run.rte, "communicator", status, err);
}

/* Where memory cannot be shared the run goes on without; the run line says why. */
static enum fc_status open_aware(struct fc_session *s, int color, struct fc_comm **out,
                                 struct fc_error *err)
{
    fc_watchdog_push(s->run.watchdog, "share memory inside the nodes",
                     FC_WAIT_COLLECTIVE, s->settings.work_ns);
    enum fc_status status = fc_comm_node_open(color, s->run.rte->node, out, err);
    fc_watchdog_pop(s->run.watchdog);
    if (status == FC_OK && s->backends->wrap_comm)
        s->backends->wrap_comm(out, s->run.rte->rank);
    status = fc_rte_agree(s->run.rte, "shared memory", status, err);
    if (status != FC_UNSUPPORTED)
        return status;
    json_object_set_new(s->control, "no_shared_memory", json_string(err->text));
    fc_watchdog_push(s->run.watchdog, "give shared memory back", FC_WAIT_COLLECTIVE,
                     s->settings.work_ns);
    if (*out)
        (*out)->ops->close(*out);
    fc_watchdog_pop(s->run.watchdog);
    *out = NULL;
    return FC_OK;
}

static enum fc_status open_comms(struct fc_session *s, struct fc_error *err)
{
    struct fc_run *run = &s->run;
    int node = run->rte->node;
    enum fc_status status = open_comm(s, 0, &run->world, err);
    if (status == FC_OK)
        status = open_comm(s, node, &run->node, err);
    if (status == FC_OK && run->rte->nodes > 1)
        status = open_comm(s, run->rte->local_rank ? -1 : 0, &run->leaders, err);
    if (status == FC_OK && run->rte->size > run->rte->nodes)
        status = open_aware(s, 0, &run->world_aware, err);
    if (status == FC_OK && run->rte->size > run->rte->nodes && run->rte->nodes > 1)
        status = open_aware(s, node, &run->node_aware, err);
    return status;
}

/* What a failed start leaves to say and to do, on all ranks. */
static void abandon(struct fc_session *s, enum fc_status status,
                    const struct fc_error *err)
{
    if (status == FC_LOST && s->run.watchdog)
        fc_watchdog_end(s->run.watchdog, err->text);
    /* Before MPI runs nothing can be agreed: who fails alone speaks for itself. */
    if (status != FC_USAGE && !s->run.rte && s->launch.rank != 0)
        fc_log(FC_LOG_QUIET, "rank %d could not start: %s", s->launch.rank, err->text);
    /* All ranks have agreed on it and rank 0 will say why: no other word is needed,
     * also from those that the launcher ends because rank 0 was faster. */
    if (s->run.watchdog)
        fc_watchdog_done(s->run.watchdog,
                         status == FC_USAGE ? FC_EXIT_USAGE : FC_EXIT_INCONCLUSIVE);
    fc_session_close(s);
}

enum fc_status fc_session_open(struct fc_session *s, struct fc_error *err)
{
    enum fc_status status = open_process(s, err);
    if (status == FC_OK)
        status = open_mpi(s, err);
    if (status == FC_OK)
        status = open_profile(s, err);
    if (status == FC_OK)
        status = fc_leaves_find(&s->run, s->options->switches, err);
    if (status == FC_OK)
        status = open_journal(s, err);
    if (status == FC_OK)
        status = open_device(s, err);
    if (status == FC_OK)
        status = open_comms(s, err);
    if (status != FC_OK)
        abandon(s, status, err);
    return status;
}

enum fc_status fc_session_open_bench(struct fc_session *s, struct fc_error *err)
{
    enum fc_status status = open_process(s, err);
    if (status == FC_OK)
        status = open_mpi(s, err);
    if (status == FC_OK)
        status = open_seed(s, err);
    if (status == FC_OK)
        fc_watchdog_attach(s->run.watchdog, s->run.rte->rank, fc_run_node(&s->run),
                           NULL, NULL, NULL);
    if (status == FC_OK)
        status = open_device(s, err);
    if (status == FC_OK)
        status = open_comms(s, err);
    if (status != FC_OK)
        abandon(s, status, err);
    return status;
}

void fc_session_close(struct fc_session *s)
{
    struct fc_run *run = &s->run;
    struct fc_comm *comms[] = {run->node_aware, run->world_aware, run->leaders,
                               run->node, run->world};
    /* Freeing communicators and MPI_Finalize wait for the other ranks. */
    if (run->watchdog)
        fc_watchdog_push(run->watchdog, "end of MPI", FC_WAIT_COLLECTIVE,
                         s->settings.work_ns);
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++)
        if (comms[i])
            comms[i]->ops->close(comms[i]);
    if (run->device)
        run->device->ops->close(run->device);
    fc_log_set_who(NULL, -1);
    fc_rte_close(run->rte);
    fc_watchdog_close(run->watchdog);
    fc_journal_close(run->journal);
    fc_sink_close(run->sink);
    fc_spawner_close(run->spawner);
    json_decref(s->control);
    json_decref(s->profile);
    json_decref(run->switches);
    memset(run, 0, sizeof *run);
    s->control = s->profile = NULL;
}
