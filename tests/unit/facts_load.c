// SPDX-License-Identifier: BSD-3-Clause
/* Who else uses a node, told from two looks at a written /proc; and what a rank knows
 * of itself. */
#include "topology/facts_load.h"

#include "tests/unit/tree.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static struct fc_source source; /* the running test's tree */
static struct fc_facts facts;

static int set_up(void **state)
{
    static char root[64];
    struct fc_error err;
    (void)state;
    tree_make(root, sizeof root);
    source = (struct fc_source){.root = root};
    return fc_facts_init(&facts, &err) == FC_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    fc_facts_fini(&facts);
    tree_remove(source.root);
    return 0;
}

static void put_process(int pid, const char *name, char state, int parent, int flags,
                        int ticks)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (%s) %c %d 1 1 0 -1 %d 5 5 5 5 %d %d 0 0 20 0 1",
             pid, name, state, parent, flags, ticks - ticks / 4, ticks / 4);
    tree_write(source.root, path, text);
}

/* Two CPUs; ticks over both. */
static void put_times(int busy, int idle, int steal)
{
    char text[256];
    snprintf(text, sizeof text,
             "cpu  %d 0 0 %d 0 0 0 %d 0 0\ncpu0 1 1 1 1 1\ncpu1 1 1 1 1 1\nintr 5\n",
             busy, idle, steal);
    tree_write(source.root, "/proc/stat", text);
}

static struct fc_load_look look(void)
{
    struct fc_load_look out;
    struct fc_gap gap;
    assert_true(fc_load_look(&source, &out, &gap));
    return out;
}

static double share(const char *key)
{
    const json_t *value = json_object_get(facts.values, key);
    assert_true(json_is_real(value));
    return json_real_value(value);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static int64_t running(void)
{
    return json_integer_value(json_object_get(facts.values, "load.other_running"));
}

enum { KTHREAD = 0x00200000 };

/* 100 ticks of 2 CPUs pass: 200 in all. The ranks (20, 21 under mpirun 10) and a worker
 * (31 under spawner 30 under rank 20) take 60, another user's process 80. */
static void own_work_is_not_others(void **state)
{
    (void)state;
    const int pids[] = {20, 21};
    put_times(1000, 1000, 0);
    put_process(1, "init", 'S', 0, 0, 50);
    put_process(2, "kthreadd", 'S', 0, KTHREAD, 0);
    put_process(10, "mpirun", 'R', 5, 0, 100);
    put_process(5, "bash", 'S', 1, 0, 10);
    put_process(20, "fabricheck", 'R', 10, 0, 100);
    put_process(21, "fabricheck", 'S', 10, 0, 100);
    put_process(30, "fabricheck", 'S', 20, 0, 0);
    put_process(31, "fabricheck", 'R', 30, 0, 10);
    put_process(77, "a) R 20 (", 'R', 1, 0, 500);
    put_process(78, "threads", 'S', 1, 0, 500);
    put_process(79, "wakes", 'S', 1, 0, 500);
    struct fc_load_look before = look();
    assert_int_equal(before.count, 10); /* all but the kernel's */
    assert_int_equal(before.cpus, 2);
    put_times(1140, 1050, 10);
    put_process(10, "mpirun", 'R', 5, 0, 110);
    put_process(20, "fabricheck", 'R', 10, 0, 130);
    put_process(31, "fabricheck", 'R', 30, 0, 30);
    put_process(77, "a) R 20 (", 'R', 1, 0, 510);
    put_process(78, "threads", 'S', 1, 0, 568);
    put_process(79, "wakes", 'R', 1, 0, 502);
    struct fc_load_look after = look();
    fc_load_compare(&before, &after, pids, 2, &facts);
    assert_true(near(share("load.other_share"), 0.4));
    assert_true(near(share("load.steal_share"), 0.05));
    assert_int_equal(running(),
                     2); /* 77 was R twice, 78's threads took 0.68 of a CPU */
    const json_t *top = json_object_get(facts.values, "load.top");
    const json_t *first = json_array_get(top, 0), *second = json_array_get(top, 1);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "threads");
    assert_true(near(json_real_value(json_object_get(first, "share")), 0.68));
    assert_string_equal(json_string_value(json_object_get(second, "name")),
                        "a) R 20 (");
    assert_int_equal(json_integer_value(json_object_get(second, "uid")), getuid());
    fc_load_look_free(&before);
    fc_load_look_free(&after);
}

static void an_idle_node(void **state)
{
    (void)state;
    const int pid = 20;
    put_times(1000, 1000, 0);
    put_process(20, "fabricheck", 'S', 1, 0, 100);
    struct fc_load_look before = look();
    put_times(1001, 1199, 0);
    put_process(20, "fabricheck", 'S', 1, 0, 103);
    struct fc_load_look after = look();
    fc_load_compare(&before, &after, &pid, 1, &facts);
    assert_true(near(share("load.other_share"), 0)); /* rounding made it negative */
    assert_int_equal(running(), 0);
    assert_int_equal(json_array_size(json_object_get(facts.values, "load.top")), 0);
    fc_load_look_free(&before);
    fc_load_look_free(&after);
}

/* A process id that is used anew, no time between the looks, no processes to be seen.
 */
static void odd_looks(void **state)
{
    (void)state;
    put_times(1000, 1000, 0);
    put_process(9, "old", 'S', 1, 0, 900);
    struct fc_load_look before = look();
    put_times(1100, 1100, 0);
    put_process(9, "new", 'S', 1, 0, 90);
    struct fc_load_look after = look();
    fc_load_compare(&before, &after, NULL, 0, &facts);
    assert_true(near(share("load.other_share"), 0.5));
    assert_int_equal(running(), 1);
    const json_t *top = json_object_get(facts.values, "load.top");
    const json_t *took = json_object_get(json_array_get(top, 0), "share");
    assert_true(near(json_real_value(took), 0.9));
    struct fc_facts still;
    struct fc_error err;
    assert_int_equal(fc_facts_init(&still, &err), FC_OK);
    fc_load_compare(&after, &after, NULL, 0, &still);
    assert_null(json_object_get(still.values, "load.other_share"));
    assert_non_null(json_object_get(still.unreadable, "load.other_share"));
    fc_facts_fini(&still);
    struct fc_load_look none = {.busy = 5, .total = 9};
    fc_load_compare(&none, &none, NULL, 0, &facts);
    assert_int_equal(running(), 0);
    fc_load_look_free(&before);
    fc_load_look_free(&after);
}

static void no_times(void **state)
{
    (void)state;
    struct fc_load_look out;
    struct fc_gap gap;
    struct fc_error err;
    assert_false(fc_load_look(&source, &out, &gap));
    assert_string_equal(gap.reason, "ENOENT");
    tree_write(source.root, "/proc/stat", "intr 5\n");
    assert_false(fc_load_look(&source, &out, &gap));
    assert_string_equal(gap.reason, "unsupported");
    tree_write(source.root, "/proc/loadavg", "12.05 3.00 1.00 2/300 77\n");
    assert_int_equal(fc_facts_load(&source, NULL, 0, 1, &facts, &err), FC_OK);
    assert_true(near(share("load.average"), 12.05));
    assert_non_null(json_object_get(facts.unreadable, "load.top"));
}

/* --- a rank --- */

static const char *text_of(const char *key)
{
    const char *text = json_string_value(json_object_get(facts.values, key));
    if (!text)
        fail_msg("%s is no text", key);
    return text;
}

static void read_rank(void)
{
    struct fc_error err;
    assert_int_equal(fc_facts_rank(&source, "Open MPI v9", &facts, &err), FC_OK);
}

static void limits(void **state)
{
    (void)state;
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 123;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(getrlimit(RLIMIT_STACK, &low), 0);
    read_rank();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(json_integer_value(json_object_get(facts.values, "limit.nofile")),
                     123);
    if (low.rlim_cur == RLIM_INFINITY)
        assert_string_equal(text_of("limit.stack"), "unlimited");
    else
        assert_int_equal(
            json_integer_value(json_object_get(facts.values, "limit.stack")),
            low.rlim_cur);
}

static void affinity(void **state)
{
    (void)state;
    cpu_set_t old, one;
    char list[16];
    size_t cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    while (!CPU_ISSET(cpu, &old))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    read_rank();
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
    snprintf(list, sizeof list, "%zu", cpu);
    assert_string_equal(text_of("affinity.list"), list);
    assert_int_equal(
        json_integer_value(json_object_get(facts.values, "affinity.count")), 1);
    assert_string_equal(text_of("rank.policy"), "other");
}

static void environment(void **state)
{
    (void)state;
    char *words[] = {"OMPI_MCA_pml=ob1",
                     "OMPI_MCA_orte_hnp_uri=1;tcp://x",
                     "OMPI_MCA_btl=tcp,self",
                     "NCCL_DEBUG=INFO",
                     "NCCLX=1",
                     "CUDA_VISIBLE_DEVICES=0,1",
                     "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                     "HOME=/root",
                     "OMP_NUM_THREADS=2",
                     "MKL_NUM_THREADS=3",
                     NULL};
    char **old = environ;
    environ = words;
    read_rank();
    environ = old;
    assert_string_equal(text_of("env.mpi"), "OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1");
    assert_string_equal(text_of("env.nccl"), "NCCL_DEBUG=INFO");
    assert_string_equal(text_of("env.threads"), "MKL_NUM_THREADS=3 OMP_NUM_THREADS=2");
    assert_string_equal(text_of("env.cuda"), "CUDA_DEVICE_ORDER=PCI_BUS_ID");
    assert_string_equal(text_of("env.cuda_devices"), "0,1");
    assert_string_equal(text_of("env.ucx"), "");
    assert_string_equal(text_of("env.preload"), "");
}

static void more_environment_than_fits(void **state)
{
    (void)state;
    static char word[300][100];
    static char *words[301];
    for (int i = 0; i < 300; i++) {
        snprintf(word[i], sizeof word[i], "NCCL_%03d=%080d", i, i);
        words[i] = word[i];
    }
    char **old = environ;
    environ = words;
    read_rank();
    environ = old;
    size_t length = strlen(text_of("env.nccl"));
    assert_true(length > 4000 && length < 4096);
}

static void libraries_and_group(void **state)
{
    (void)state;
    tree_write(source.root, "/proc/self/cgroup", "3:cpuset:/\n2:memory:/a/b\n0::/a\n");
    read_rank();
    assert_string_equal(text_of("lib.mpi"), "Open MPI v9");
    assert_string_equal(text_of("rank.cgroup"), "/a/b");
    assert_non_null(strchr(text_of("lib.libc"), '.'));
    assert_string_equal(text_of("lib.jansson"), jansson_version_str());
}

int main(void)
{
#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TREE_TEST(own_work_is_not_others),
        TREE_TEST(an_idle_node),
        TREE_TEST(odd_looks),
        TREE_TEST(no_times),
        TREE_TEST(limits),
        TREE_TEST(affinity),
        TREE_TEST(environment),
        TREE_TEST(more_environment_than_fits),
        TREE_TEST(libraries_and_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
