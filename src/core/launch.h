// SPDX-License-Identifier: BSD-3-Clause
/* The launcher's word: what the environment says about this process before MPI starts.
 *
 * Precedence, strongest first, since each launcher's variables are inherited by what it
 * starts: Open MPI's mpirun (inside a Slurm job its remote daemons are a Slurm step, so
 * that step's variables speak of daemons, not of ranks), then a Slurm step, then a bare
 * PMIx or PMI client, then a Slurm job without a step, whose size says how many
 * processes the job was made for. Collective: no. Refuses to know: MPI.
 */
#ifndef FC_CORE_LAUNCH_H
#define FC_CORE_LAUNCH_H

#include "core/status.h"

#include <stdbool.h>

enum { FC_LAUNCH_LIST_BYTES = 4096 };

struct fc_launch {
    const char *launcher; /* "mpirun", "srun", "pmix", "pmi", "none"; static */
    int rank;             /* 0 where nobody says */
    int local_rank;       /* -1 where nobody says */
    int tasks;            /* processes that the launcher speaks of, at least 1 */
    int nodes;            /* nodes they are on; 0 where nobody says */
    char tasks_from[32];  /* the variable that says so, or "" */
    bool in_job;          /* inside a Slurm job */
    bool bare;            /* inside a Slurm job, but no launcher started this process */
    bool pmi;             /* variables that MPI can start from are there */
    bool pmix;            /* … and they are PMIx's */
    char job_id[64];      /* "" outside a job */
    char node_list[FC_LAUNCH_LIST_BYTES]; /* Slurm's hostlist, or ""; cut if longer */
};

/* Reads the environment; a variable that is no number counts as not set. */
void fc_launch_read(struct fc_launch *out);

/* True when MPI_Init would find a launcher's server, so that MPI should be started.
 * False for a process of its own and for a step whose Slurm offers no PMI (where
 * MPI_Init may abort instead of returning an error). */
bool fc_launch_by_mpi(const struct fc_launch *launch);

/* FC_USAGE, one line with what is wrong and the right line, when MPI says that this
 * process is alone (`mpi_size` 1) and the launcher says that it is one of several, or
 * when a single process was started inside a job made for several. Every process comes
 * to the same answer; `launch->rank` 0 prints it. */
enum fc_status fc_launch_check(const struct fc_launch *launch, int mpi_size,
                               struct fc_error *err) FC_MUST_USE;

#endif
