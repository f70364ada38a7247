// SPDX-License-Identifier: BSD-3-Clause
#include "device/crew.h"

#include "core/clock.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPIN_NS = 30000, SPINS_A_LOOK = 32, WORK_MIN_NS = 1000000 };

/* A cache line each: members count their time while others work. */
struct member {
    _Alignas(128) struct fc_crew *crew;
    pthread_t thread;
    int index, cpu;
    uint64_t work_ns, cpu_ns; /* at work; of that, on a CPU */
};

/* `generation` counts runs; a member that sees a new one takes `fn`. Both conditions
 * are signalled under `lock`, so that a member which stops spinning cannot miss a
 * change. */
struct fc_crew {
    int members, started;
    struct member *member;
    pthread_mutex_t lock;
    pthread_cond_t begin, done;
    atomic_uint generation;
    atomic_int left;
    bool stop;
    fc_crew_fn fn;
    void *arg;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void pin(int cpu)
{
    cpu_set_t one;
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/* Waits for a generation other than `seen`; false when the crew ends. */
static bool next_run(struct fc_crew *crew, unsigned *seen)
{
    uint64_t until = fc_now_ns() + SPIN_NS;
    while (atomic_load_explicit(&crew->generation, memory_order_acquire) == *seen) {
        for (int i = 0; i < SPINS_A_LOOK; i++)
            relax();
        if (fc_now_ns() < until)
            continue;
        pthread_mutex_lock(&crew->lock);
        while (atomic_load(&crew->generation) == *seen)
            pthread_cond_wait(&crew->begin, &crew->lock);
        pthread_mutex_unlock(&crew->lock);
    }
    *seen = atomic_load_explicit(&crew->generation, memory_order_acquire);
    return !crew->stop;
}

static uint64_t cpu_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * FC_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void work(struct member *self, fc_crew_fn fn, void *arg)
{
    uint64_t begin = fc_now_ns(), cpu = cpu_now_ns();
    fn(arg, self->index, self->crew->members);
    self->cpu_ns += cpu_now_ns() - cpu;
    self->work_ns += fc_now_ns() - begin;
}

static void *serve(void *arg)
{
    struct member *self = arg;
    struct fc_crew *crew = self->crew;
    unsigned seen = 0;
    pin(self->cpu);
    while (next_run(crew, &seen)) {
        work(self, crew->fn, crew->arg);
        if (atomic_fetch_sub_explicit(&crew->left, 1, memory_order_acq_rel) == 1) {
            pthread_mutex_lock(&crew->lock);
            pthread_cond_signal(&crew->done);
            pthread_mutex_unlock(&crew->lock);
        }
    }
    return NULL;
}

static void start_generation(struct fc_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    atomic_fetch_add_explicit(&crew->generation, 1, memory_order_release);
    pthread_cond_broadcast(&crew->begin);
    pthread_mutex_unlock(&crew->lock);
}

static void wait_all(struct fc_crew *crew)
{
    uint64_t until = fc_now_ns() + SPIN_NS;
    while (atomic_load_explicit(&crew->left, memory_order_acquire) > 0) {
        for (int i = 0; i < SPINS_A_LOOK; i++)
            relax();
        if (fc_now_ns() < until)
            continue;
        pthread_mutex_lock(&crew->lock);
        while (atomic_load(&crew->left) > 0)
            pthread_cond_wait(&crew->done, &crew->lock);
        pthread_mutex_unlock(&crew->lock);
    }
}

void fc_crew_run(struct fc_crew *crew, fc_crew_fn fn, void *arg)
{
    cpu_set_t before;
    bool restore = pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
    if (restore)
        pin(crew->member[0].cpu);
    if (crew->members > 1) {
        crew->fn = fn;
        crew->arg = arg;
        atomic_store(&crew->left, crew->members - 1);
        start_generation(crew);
    }
    work(&crew->member[0], fn, arg);
    if (crew->members > 1)
        wait_all(crew);
    if (restore)
        (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before);
}

double fc_crew_core_share(struct fc_crew *crew)
{
    double least = 1.0;
    for (int i = 0; i < crew->members; i++) {
        struct member *m = &crew->member[i];
        double share = m->work_ns ? (double)m->cpu_ns / (double)m->work_ns : 1.0;
        if (m->work_ns >= WORK_MIN_NS && share < least)
            least = share;
        m->work_ns = m->cpu_ns = 0;
    }
    return least;
}

int fc_crew_size(const struct fc_crew *crew)
{
    return crew->members;
}

void fc_crew_part(size_t count, size_t grain, int member, int members,
                  size_t *out_begin, size_t *out_end)
{
    size_t grains = count / grain + (count % grain != 0);
    size_t each = grains / (size_t)members, over = grains % (size_t)members;
    size_t m = (size_t)member;
    size_t begin = (m * each + (m < over ? m : over)) * grain;
    size_t end = begin + (each + (m < over)) * grain;
    *out_begin = begin < count ? begin : count;
    *out_end = end < count ? end : count;
}

struct for_job {
    size_t count, grain;
    fc_crew_part_fn fn;
    void *arg;
};

static void run_part(void *arg, int member, int members)
{
    const struct for_job *job = arg;
    size_t begin, end;
    fc_crew_part(job->count, job->grain, member, members, &begin, &end);
    if (begin < end)
        job->fn(job->arg, begin, end);
}

void fc_crew_for(struct fc_crew *crew, size_t count, size_t grain, fc_crew_part_fn fn,
                 void *arg)
{
    struct for_job job = {.count = count, .grain = grain, .fn = fn, .arg = arg};
    fc_crew_run(crew, run_part, &job);
}

/* Threads take no signals: those belong to the rank's main thread and its watchdog. */
static enum fc_status start_threads(struct fc_crew *crew, struct fc_error *err)
{
    sigset_t all, before;
    int code = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 1; i < crew->members && !code; i++) {
        code = pthread_create(&crew->member[i].thread, NULL, serve, &crew->member[i]);
        crew->started += code == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return fc_fail(err, FC_FAILED, "host device: cannot make thread %d of %d: %s",
                       crew->started + 1, crew->members - 1, strerror(code));
    return FC_OK;
}

enum fc_status fc_crew_open(const int *cpu, int members, struct fc_crew **out,
                            struct fc_error *err)
{
    struct fc_crew *crew = calloc(1, sizeof *crew);
    struct member *member =
        aligned_alloc(_Alignof(struct member), (size_t)members * sizeof *member);
    if (!crew || !member) {
        free(crew);
        free(member);
        return fc_fail(err, FC_NOMEM, "host device: out of memory for %d threads",
                       members);
    }
    crew->members = members;
    crew->member = member;
    for (int i = 0; i < members; i++)
        member[i] = (struct member){.crew = crew, .index = i, .cpu = cpu[i]};
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->begin, NULL);
    pthread_cond_init(&crew->done, NULL);
    enum fc_status status = start_threads(crew, err);
    if (status != FC_OK) {
        fc_crew_close(crew);
        return status;
    }
    *out = crew;
    return FC_OK;
}

void fc_crew_close(struct fc_crew *crew)
{
    if (!crew)
        return;
    crew->stop = true;
    start_generation(crew);
    for (int i = 1; i <= crew->started; i++)
        pthread_join(crew->member[i].thread, NULL);
    pthread_cond_destroy(&crew->done);
    pthread_cond_destroy(&crew->begin);
    pthread_mutex_destroy(&crew->lock);
    free(crew->member);
    free(crew);
}
