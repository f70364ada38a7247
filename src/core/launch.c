// SPDX-License-Identifier: BSD-3-Clause
#include "core/launch.h"

#include "core/units.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slurm numbers batch, interactive and extern steps from the top of its 32 bits; in
 * those no srun has started this process. */
static const int64_t special_step = 0xfffffff0;

/* A count or index of the environment, or -1. */
static int env_number(const char *name)
{
    int64_t value;
    const char *text = getenv(name);
    if (!text || !fc_parse_int(text, &value) || value < 0 || value > INT_MAX)
        return -1;
    return (int)value;
}

static bool env_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text;
}

static void env_copy(const char *first, const char *second, char *out, size_t bytes)
{
    const char *text = getenv(first);
    if (!text || !*text)
        text = getenv(second);
    snprintf(out, bytes, "%s", text ? text : "");
}

/* Takes the first of `names` (NULL-ended) that is a number as the count of processes.
 */
static bool take_tasks(struct fc_launch *out, const char *const *names)
{
    for (; *names; names++) {
        int n = env_number(*names);
        if (n < 1)
            continue;
        out->tasks = n;
        snprintf(out->tasks_from, sizeof out->tasks_from, "%s", *names);
        return true;
    }
    return false;
}

static void take_rank(struct fc_launch *out, const char *rank, const char *local)
{
    int n = env_number(rank);
    if (n >= 0)
        out->rank = n;
    out->local_rank = env_number(local);
}

static bool in_step(void)
{
    int64_t step;
    const char *id = getenv("SLURM_STEP_ID");
    if (!id)
        id = getenv("SLURM_STEPID");
    return id && fc_parse_int(id, &step) && step >= 0 && step < special_step;
}

static void read_slurm(struct fc_launch *out)
{
    static const char *const step[] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
                                       "SLURM_NPROCS", NULL};
    /* A job asked for by nodes alone has no number of tasks, but one process is still
     * too few for it. */
    static const char *const job[] = {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES",
                                      "SLURM_JOB_NUM_NODES", NULL};
    if (in_step()) {
        out->launcher = "srun";
        take_tasks(out, step);
        take_rank(out, "SLURM_PROCID", "SLURM_LOCALID");
        int n = env_number("SLURM_STEP_NUM_NODES");
        if (n > 0)
            out->nodes = n;
        return;
    }
    out->bare = true;
    take_tasks(out, job);
}

static void read_job(struct fc_launch *out)
{
    out->in_job = env_set("SLURM_JOB_ID") || env_set("SLURM_JOBID");
    if (!out->in_job) {
        env_copy("PBS_JOBID", "LSB_JOBID", out->job_id, sizeof out->job_id);
        return;
    }
    env_copy("SLURM_JOB_ID", "SLURM_JOBID", out->job_id, sizeof out->job_id);
    env_copy("SLURM_JOB_NODELIST", "SLURM_NODELIST", out->node_list,
             sizeof out->node_list);
    int n = env_number("SLURM_JOB_NUM_NODES");
    if (n < 0)
        n = env_number("SLURM_NNODES");
    if (n > 0)
        out->nodes = n;
}

void fc_launch_read(struct fc_launch *out)
{
    static const char *const mpirun[] = {"OMPI_COMM_WORLD_SIZE", NULL};
    static const char *const pmi[] = {"PMI_SIZE", NULL};
    memset(out, 0, sizeof *out);
    out->launcher = "none";
    out->tasks = 1;
    out->local_rank = -1;
    out->pmix = env_set("PMIX_RANK") || env_set("PMIX_NAMESPACE");
    out->pmi = out->pmix || env_set("PMI_RANK") || env_set("PMI_FD") ||
               env_set("PMI2_PMI_FD") || env_set("OMPI_COMM_WORLD_SIZE");
    read_job(out);
    if (take_tasks(out, mpirun)) {
        out->launcher = "mpirun";
        take_rank(out, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK");
    } else if (out->in_job && (in_step() || !out->pmi)) {
        read_slurm(out);
    } else if (out->pmix) {
        out->launcher = "pmix";
        take_tasks(out, pmi);
        take_rank(out, "PMIX_RANK", "PMIX_LOCAL_RANK");
    } else if (out->pmi) {
        out->launcher = "pmi";
        take_tasks(out, pmi);
        take_rank(out, "PMI_RANK", "MPI_LOCALRANKID");
    }
}

bool fc_launch_by_mpi(const struct fc_launch *launch)
{
    return launch->pmi;
}

/* "-N4 --ntasks-per-node=8", as far as it is known and even. */
static void shape(const struct fc_launch *launch, char *out, size_t bytes)
{
    bool by_nodes = strstr(launch->tasks_from, "NODES") != NULL;
    if (by_nodes)
        snprintf(out, bytes, "-N%d", launch->tasks);
    else if (launch->nodes > 0 && launch->tasks % launch->nodes == 0)
        snprintf(out, bytes, "-N%d --ntasks-per-node=%d", launch->nodes,
                 launch->tasks / launch->nodes);
    else
        snprintf(out, bytes, "-n%d", launch->tasks);
}

/* The file that this program's MPI comes from: what a person needs to find the mpirun
 * that belongs to it. */
static const char *mpi_file(void)
{
    Dl_info info;
    void *init = dlsym(RTLD_DEFAULT, "MPI_Init");
    return init && dladdr(init, &info) && info.dli_fname ? info.dli_fname : "libmpi";
}

enum fc_status fc_launch_check(const struct fc_launch *launch, int mpi_size,
                               struct fc_error *err)
{
    char how[64];
    if (mpi_size != 1 || launch->tasks <= 1)
        return FC_OK;
    shape(launch, how, sizeof how);
    if (launch->bare)
        return fc_fail(
            err, FC_USAGE,
            "wrong launch: job %s is for %d %s (%s) but fabricheck was started "
            "once, without srun or mpirun; try: srun --mpi=pmix %s fabricheck run",
            launch->job_id, launch->tasks,
            strstr(launch->tasks_from, "NODES") ? "nodes" : "tasks", launch->tasks_from,
            how);
    if (strcmp(launch->launcher, "srun") == 0 && !launch->pmix)
        return fc_fail(
            err, FC_USAGE,
            "wrong launch: srun started %d tasks but each one is rank 0 of 1: "
            "this Open MPI and Slurm share no PMI; try: srun --mpi=pmix %s "
            "fabricheck run",
            launch->tasks, how);
    if (strcmp(launch->launcher, "srun") == 0)
        return fc_fail(
            err, FC_USAGE,
            "wrong launch: srun started %d tasks with PMIx but each one is rank "
            "0 of 1: this Open MPI cannot use Slurm's PMIx; try, in salloc or "
            "sbatch: mpirun -n %d fabricheck run",
            launch->tasks, launch->tasks);
    if (strcmp(launch->launcher, "mpirun") == 0)
        return fc_fail(
            err, FC_USAGE,
            "wrong launch: mpirun started %d processes but each one is rank 0 of "
            "1: fabricheck uses %s, this mpirun is another MPI's; try with the "
            "one that belongs to it: mpirun -n %d fabricheck run",
            launch->tasks, mpi_file(), launch->tasks);
    return fc_fail(
        err, FC_USAGE,
        "wrong launch: the launcher started %d processes (%s) but each one is "
        "rank 0 of 1: it does not speak PMIx with this Open MPI; try: mpirun -n "
        "%d fabricheck run",
        launch->tasks, launch->tasks_from, launch->tasks);
}
