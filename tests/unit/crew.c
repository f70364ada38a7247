// SPDX-License-Identifier: BSD-3-Clause
/* A crew does each thing once, always, whatever its size. Crews here are larger than
 * the machine: a CPU may stand in the list twice. */
#include "device/crew.h"
#include "core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { MEMBERS_MAX = 9, RUNS = 1000, COUNT_MAX = 5000 };

static struct fc_crew *crew_of(int members)
{
    int cpu[MEMBERS_MAX];
    struct fc_crew *crew = NULL;
    struct fc_error err;
    cpu_set_t mask;
    int first = 0;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    while (!CPU_ISSET((size_t)first, &mask))
        first++;
    for (int i = 0; i < members; i++) {
        cpu[i] = first;
        do /* the next CPU of the mask, in a circle */
            first = (first + 1) % CPU_SETSIZE;
        while (!CPU_ISSET((size_t)first, &mask));
    }
    assert_int_equal(fc_crew_open(cpu, members, &crew, &err), FC_OK);
    assert_int_equal(fc_crew_size(crew), members);
    return crew;
}

struct tally {
    atomic_int calls[MEMBERS_MAX];
    atomic_int strange;
    int expect_members;
};

static void count_call(void *arg, int member, int members)
{
    struct tally *t = arg;
    if (members != t->expect_members || member < 0 || member >= members)
        atomic_fetch_add(&t->strange, 1);
    else
        atomic_fetch_add(&t->calls[member], 1);
}

static void every_member_runs_once_each_time(void **state)
{
    (void)state;
    for (int members = 1; members <= MEMBERS_MAX; members++) {
        struct fc_crew *crew = crew_of(members);
        struct tally t = {.expect_members = members};
        for (int run = 1; run <= RUNS; run++) {
            fc_crew_run(crew, count_call, &t);
            for (int m = 0; m < members; m++)
                assert_int_equal(atomic_load(&t.calls[m]), run);
            if (run % 500 == 0)
                fc_sleep_ns(FC_NS_PER_MS); /* long enough that members sleep */
        }
        assert_int_equal(atomic_load(&t.strange), 0);
        fc_crew_close(crew);
    }
}

static void visit(void *arg, size_t begin, size_t end)
{
    atomic_uchar *seen = arg;
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&seen[i], 1);
}

static void every_index_is_visited_once(void **state)
{
    static const size_t counts[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 1000, COUNT_MAX};
    static const size_t grains[] = {1, 3, 8, 64, 6000};
    static atomic_uchar seen[COUNT_MAX];
    (void)state;
    for (int members = 1; members <= MEMBERS_MAX; members += 2) {
        struct fc_crew *crew = crew_of(members);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
                memset(seen, 0, sizeof seen);
                fc_crew_for(crew, counts[c], grains[g], visit, seen);
                for (size_t i = 0; i < COUNT_MAX; i++)
                    assert_int_equal(atomic_load(&seen[i]), i < counts[c]);
            }
        fc_crew_close(crew);
    }
}

static void parts_are_contiguous_and_fair(void **state)
{
    (void)state;
    for (int members = 1; members <= 70; members++)
        for (size_t count = 0; count < 300; count += 7) {
            size_t at = 0, least = SIZE_MAX, most = 0;
            for (int m = 0; m < members; m++) {
                size_t begin, end;
                fc_crew_part(count, 4, m, members, &begin, &end);
                assert_int_equal(begin, at);
                assert_true(end >= begin && (begin % 4 == 0 || begin == count));
                least = end - begin < least ? end - begin : least;
                most = end - begin > most ? end - begin : most;
                at = end;
            }
            assert_int_equal(at, count);
            assert_true(most - least <= 4 + 3); /* one grain, and the last one's rest */
        }
}

static void note_cpu(void *arg, int member, int members)
{
    int *cpu = arg;
    (void)members;
    cpu[member] = sched_getcpu();
}

static void members_sit_on_their_cpus_and_the_caller_is_set_free(void **state)
{
    cpu_set_t before, after;
    int first = 0, second, cpu[2] = {0, 0};
    struct fc_crew *crew;
    struct fc_error err;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET((size_t)first, &before))
        first++;
    for (second = first + 1; second < CPU_SETSIZE; second++)
        if (CPU_ISSET((size_t)second, &before))
            break;
    if (second == CPU_SETSIZE) {
        print_message("only one CPU in the affinity mask\n");
        skip();
    }
    const int want[2] = {second, first};
    assert_int_equal(fc_crew_open(want, 2, &crew, &err), FC_OK);
    for (int run = 0; run < 50; run++) {
        fc_crew_run(crew, note_cpu, cpu);
        assert_int_equal(cpu[0], second);
        assert_int_equal(cpu[1], first);
    }
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    fc_crew_close(crew);
}

static void spin(void *arg, int member, int members)
{
    uint64_t until = fc_now_ns() + 60 * FC_NS_PER_MS;
    (void)arg;
    (void)member;
    (void)members;
    while (fc_now_ns() < until)
        ;
}

static void members_on_one_cpu_know_that_they_share_it(void **state)
{
    cpu_set_t mask;
    int first = 0;
    struct fc_crew *crew;
    struct fc_error err;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    while (!CPU_ISSET((size_t)first, &mask))
        first++;
    const int cpu[] = {first, first};
    assert_int_equal(fc_crew_open(cpu, 2, &crew, &err), FC_OK);
    assert_true(fc_crew_core_share(crew) == 1.0); /* no work yet */
    fc_crew_run(crew, spin, NULL);
    double share = fc_crew_core_share(crew);
    assert_true(share > 0.0 && share < 0.8);
    assert_true(fc_crew_core_share(crew) == 1.0); /* counted anew */
    fc_crew_close(crew);
    assert_int_equal(fc_crew_open(cpu, 1, &crew, &err), FC_OK);
    fc_crew_run(crew, spin, NULL);
    share = fc_crew_core_share(crew);
    assert_true(share > 0.0 && share < 1.05);
    fc_crew_close(crew);
}

static void impossible_cpus_are_used_unpinned(void **state)
{
    const int cpu[] = {-1, CPU_SETSIZE + 5, CPU_SETSIZE - 1};
    struct tally t = {.expect_members = 3};
    struct fc_crew *crew;
    struct fc_error err;
    (void)state;
    assert_int_equal(fc_crew_open(cpu, 3, &crew, &err), FC_OK);
    fc_crew_run(crew, count_call, &t);
    for (int m = 0; m < 3; m++)
        assert_int_equal(atomic_load(&t.calls[m]), 1);
    fc_crew_close(crew);
    fc_crew_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_runs_once_each_time),
        cmocka_unit_test(every_index_is_visited_once),
        cmocka_unit_test(parts_are_contiguous_and_fair),
        cmocka_unit_test(members_sit_on_their_cpus_and_the_caller_is_set_free),
        cmocka_unit_test(members_on_one_cpu_know_that_they_share_it),
        cmocka_unit_test(impossible_cpus_are_used_unpinned),
    };
    return cmocka_run_group_tests_name("crew", tests, NULL, NULL);
}
