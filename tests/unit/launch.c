// SPDX-License-Identifier: BSD-3-Clause
/* What launchers say of a process, and what a wrong launch looks like. Each test starts
 * from an environment without any launcher's variables. */
#include "core/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern char **environ;

/* Leaves nothing but "NAME=value" words of `words` (NULL-ended). */
static struct fc_launch launch_with(char **words)
{
    struct fc_launch launch;
    char **old = environ;
    environ = words;
    fc_launch_read(&launch);
    environ = old;
    return launch;
}

#define LAUNCH(...) launch_with((char *[]){__VA_ARGS__, NULL})

static void check_text(const struct fc_launch *launch, const char *part)
{
    struct fc_error err = {""};
    assert_int_equal(fc_launch_check(launch, 1, &err), FC_USAGE);
    assert_non_null(strstr(err.text, "wrong launch: "));
    assert_null(strchr(err.text, '\n'));
    if (!strstr(err.text, part))
        fail_msg("\"%s\" lacks \"%s\"", err.text, part);
    /* MPI sees the others: all is well. */
    assert_int_equal(fc_launch_check(launch, launch->tasks, &err), FC_OK);
}

static void one_process(void **state)
{
    (void)state;
    struct fc_launch launch = LAUNCH("HOME=/root");
    struct fc_error err = {""};
    assert_string_equal(launch.launcher, "none");
    assert_int_equal(launch.rank, 0);
    assert_int_equal(launch.local_rank, -1);
    assert_int_equal(launch.tasks, 1);
    assert_false(launch.in_job);
    assert_false(fc_launch_by_mpi(&launch));
    assert_int_equal(fc_launch_check(&launch, 1, &err), FC_OK);
}

static void by_mpirun(void **state)
{
    (void)state;
    struct fc_launch launch =
        LAUNCH("OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3",
               "OMPI_COMM_WORLD_LOCAL_RANK=1", "PMIX_RANK=3", "PMIX_NAMESPACE=7");
    assert_string_equal(launch.launcher, "mpirun");
    assert_int_equal(launch.rank, 3);
    assert_int_equal(launch.local_rank, 1);
    assert_int_equal(launch.tasks, 4);
    assert_true(fc_launch_by_mpi(&launch));
    check_text(&launch, "mpirun started 4 processes but each one is rank 0 of 1");
    check_text(&launch, "mpirun -n 4 fabricheck run");
}

/* mpirun's remote daemons are a Slurm step of one task a node: the ranks inherit that
 * step's variables, which must not be taken for theirs. */
static void by_mpirun_in_a_job(void **state)
{
    (void)state;
    struct fc_launch launch = LAUNCH(
        "SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=2",
        "SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_NNODES=2", "OMPI_COMM_WORLD_SIZE=16",
        "OMPI_COMM_WORLD_RANK=9", "OMPI_COMM_WORLD_LOCAL_RANK=1", "PMIX_RANK=9");
    assert_string_equal(launch.launcher, "mpirun");
    assert_int_equal(launch.rank, 9);
    assert_int_equal(launch.tasks, 16);
    assert_int_equal(launch.nodes, 2);
    assert_string_equal(launch.job_id, "12");
}

static void by_srun(void **state)
{
    (void)state;
    struct fc_launch launch = LAUNCH(
        "SLURM_JOB_ID=99", "SLURM_JOB_NODELIST=node[1-4]", "SLURM_JOB_NUM_NODES=6",
        "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=32", "SLURM_STEP_NUM_NODES=4",
        "SLURM_NTASKS=64", "SLURM_PROCID=17", "SLURM_LOCALID=1", "PMIX_RANK=17");
    assert_string_equal(launch.launcher, "srun");
    assert_int_equal(launch.rank, 17);
    assert_int_equal(launch.local_rank, 1);
    assert_int_equal(launch.tasks, 32);
    assert_int_equal(launch.nodes, 4);
    assert_string_equal(launch.job_id, "99");
    assert_string_equal(launch.node_list, "node[1-4]");
    assert_true(fc_launch_by_mpi(&launch));
    /* PMIx was offered, so --mpi=pmix is not the remedy. */
    check_text(&launch, "srun started 32 tasks with PMIx but each one is rank 0 of 1");
    check_text(&launch, "mpirun -n 32 fabricheck run");
}

static void by_srun_without_pmi(void **state)
{
    (void)state;
    struct fc_launch launch =
        LAUNCH("SLURM_JOB_ID=5", "SLURM_STEP_ID=3", "SLURM_STEP_NUM_TASKS=32",
               "SLURM_STEP_NUM_NODES=4", "SLURM_PROCID=0");
    assert_false(fc_launch_by_mpi(&launch));
    check_text(&launch,
               "wrong launch: srun started 32 tasks but each one is rank 0 of 1: this "
               "Open MPI and Slurm share no PMI; try: srun --mpi=pmix -N4 "
               "--ntasks-per-node=8 fabricheck run");
    /* 33 tasks are not even over 4 nodes. */
    launch = LAUNCH("SLURM_JOB_ID=5", "SLURM_STEP_ID=3", "SLURM_STEP_NUM_TASKS=33",
                    "SLURM_STEP_NUM_NODES=4", "SLURM_PROCID=0");
    check_text(&launch, "srun --mpi=pmix -n33 fabricheck run");
    launch = LAUNCH("SLURM_JOB_ID=5", "SLURM_STEP_ID=3", "SLURM_STEP_NUM_TASKS=32",
                    "PMI_RANK=1", "PMI_SIZE=32", "SLURM_PROCID=1");
    assert_string_equal(launch.launcher, "srun");
    check_text(&launch, "share no PMI");
}

static void one_task_step(void **state)
{
    (void)state;
    struct fc_launch launch =
        LAUNCH("SLURM_JOB_ID=5", "SLURM_STEP_ID=3", "SLURM_STEP_NUM_TASKS=1",
               "SLURM_NNODES=4", "SLURM_PROCID=0");
    struct fc_error err = {""};
    assert_string_equal(launch.launcher, "srun");
    assert_int_equal(fc_launch_check(&launch, 1, &err), FC_OK);
}

static void bare_in_a_batch_script(void **state)
{
    (void)state;
    struct fc_launch launch = LAUNCH("SLURM_JOB_ID=41", "SLURM_NTASKS=16",
                                     "SLURM_NNODES=2", "SLURM_PROCID=0");
    assert_string_equal(launch.launcher, "none");
    assert_true(launch.bare);
    assert_false(fc_launch_by_mpi(&launch));
    check_text(&launch, "job 41 is for 16 tasks (SLURM_NTASKS) but fabricheck was "
                        "started once");
    check_text(&launch, "try: srun --mpi=pmix -N2 --ntasks-per-node=8 fabricheck run");
    /* Asked for by nodes alone. */
    launch = LAUNCH("SLURM_JOB_ID=41", "SLURM_NNODES=2");
    check_text(&launch, "job 41 is for 2 nodes");
    check_text(&launch, "srun --mpi=pmix -N2 fabricheck run");
    struct fc_error err = {""};
    launch = LAUNCH("SLURM_JOB_ID=41", "SLURM_NTASKS=1", "SLURM_NNODES=1");
    assert_int_equal(fc_launch_check(&launch, 1, &err), FC_OK);
}

/* salloc's own step on the first node and the batch step have numbers, but are no srun.
 */
static void special_steps(void **state)
{
    (void)state;
    struct fc_launch launch =
        LAUNCH("SLURM_JOB_ID=8", "SLURM_STEP_ID=4294967290", "SLURM_NTASKS=4",
               "SLURM_STEP_NUM_TASKS=1", "SLURM_NNODES=4");
    assert_string_equal(launch.launcher, "none");
    assert_true(launch.bare);
    assert_int_equal(launch.tasks, 4);
    launch = LAUNCH("SLURM_JOB_ID=8", "SLURM_STEP_ID=4294967291", "SLURM_NTASKS=4");
    assert_true(launch.bare);
}

static void another_launcher(void **state)
{
    (void)state;
    struct fc_launch launch = LAUNCH("PMI_RANK=2", "PMI_SIZE=4", "PMI_FD=9");
    assert_string_equal(launch.launcher, "pmi");
    assert_int_equal(launch.rank, 2);
    assert_int_equal(launch.tasks, 4);
    assert_true(fc_launch_by_mpi(&launch));
    check_text(&launch, "the launcher started 4 processes (PMI_SIZE)");
    launch = LAUNCH("PMIX_RANK=5", "PMIX_NAMESPACE=x");
    assert_string_equal(launch.launcher, "pmix");
    assert_int_equal(launch.rank, 5);
    assert_int_equal(launch.tasks, 1);
    assert_true(fc_launch_by_mpi(&launch));
}

static void nonsense(void **state)
{
    (void)state;
    struct fc_launch launch = LAUNCH("OMPI_COMM_WORLD_SIZE=many", "SLURM_NTASKS=-3",
                                     "SLURM_PROCID=1e9", "SLURM_JOB_ID=");
    struct fc_error err = {""};
    assert_int_equal(launch.tasks, 1);
    assert_int_equal(launch.rank, 0);
    assert_false(launch.in_job);
    assert_int_equal(fc_launch_check(&launch, 1, &err), FC_OK);
    launch = LAUNCH("OMPI_COMM_WORLD_SIZE=99999999999", "OMPI_COMM_WORLD_RANK=-1");
    assert_int_equal(launch.tasks, 1);
    static char list[2 * FC_LAUNCH_LIST_BYTES];
    memset(list, 'n', sizeof list - 1);
    memcpy(list, "SLURM_NODELIST=", 15);
    launch = LAUNCH("SLURM_JOB_ID=1", list);
    assert_int_equal(strlen(launch.node_list), FC_LAUNCH_LIST_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process),
        cmocka_unit_test(by_mpirun),
        cmocka_unit_test(by_mpirun_in_a_job),
        cmocka_unit_test(by_srun),
        cmocka_unit_test(by_srun_without_pmi),
        cmocka_unit_test(one_task_step),
        cmocka_unit_test(bare_in_a_batch_script),
        cmocka_unit_test(special_steps),
        cmocka_unit_test(another_launcher),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
