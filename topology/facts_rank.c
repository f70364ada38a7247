// SPDX-License-Identifier: BSD-3-Clause
/* What a rank is: limits, affinity, scheduling, environment, libraries. Read in the
 * rank itself, since a launcher may give each rank its own: the limits of a login shell
 * say nothing about those of a job. */
#include "topology/facts.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

extern char **environ;

enum { CPUS_MAX = 1 << 15, JOINED_BYTES = 4096, VARIABLES_MAX = 256 };

static void set_limits(struct fc_facts *out)
{
    static const struct {
        const char *key;
        int what;
    } limits[] = {
        {"limit.memlock", RLIMIT_MEMLOCK}, {"limit.nofile", RLIMIT_NOFILE},
        {"limit.stack", RLIMIT_STACK},     {"limit.nproc", RLIMIT_NPROC},
        {"limit.core", RLIMIT_CORE},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit r;
        struct fc_gap gap;
        if (getrlimit(limits[i].what, &r) != 0) {
            fc_gap_set(&gap, "error", "no right helps: getrlimit: %s", strerror(errno));
            fc_facts_gap(out, limits[i].key, &gap);
        } else {
            fc_facts_limit(out, limits[i].key,
                           r.rlim_cur == RLIM_INFINITY ? -1 : (int64_t)r.rlim_cur);
        }
    }
}

/* "0-3,8" of a set. */
static void list_cpus(const cpu_set_t *set, size_t bytes, char *out, size_t out_bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0, end; i < CPUS_MAX && used < out_bytes; i = end) {
        end = i + 1;
        if (!CPU_ISSET_S(i, bytes, set))
            continue;
        while (end < CPUS_MAX && CPU_ISSET_S(end, bytes, set))
            end++;
        used +=
            (size_t)snprintf(out + used, out_bytes - used, "%s%zu", used ? "," : "", i);
        if (end > i + 1 && used < out_bytes)
            used += (size_t)snprintf(out + used, out_bytes - used, "-%zu", end - 1);
    }
}

static void set_affinity(struct fc_facts *out)
{
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    char list[JOINED_BYTES];
    struct fc_gap gap;
    if (!set) {
        out->short_of_memory = true;
        return;
    }
    CPU_ZERO_S(bytes, set);
    if (sched_getaffinity(0, bytes, set) == 0) {
        list_cpus(set, bytes, list, sizeof list);
        fc_facts_text(out, "affinity.list", list);
        fc_facts_int(out, "affinity.count", CPU_COUNT_S(bytes, set));
    } else {
        fc_gap_set(&gap, "error", "no right helps: sched_getaffinity: %s",
                   strerror(errno));
        fc_facts_gap(out, "affinity.list", &gap);
        fc_facts_gap(out, "affinity.count", &gap);
    }
    CPU_FREE(set);
}

/* The most specific path of all hierarchies: version 1 has one for each controller. */
static void set_cgroup(const struct fc_source *source, struct fc_facts *out)
{
    char text[8192], *save = NULL;
    const char *longest = "";
    struct fc_gap gap;
    if (!fc_source_read(source, "/proc/self/cgroup", text, sizeof text, &gap)) {
        fc_facts_gap(out, "rank.cgroup", &gap);
        return;
    }
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *path = strchr(line, '/');
        if (path && strlen(path) > strlen(longest))
            longest = path;
    }
    fc_facts_text(out, "rank.cgroup", longest);
}

/* Ranks of one node that see unlike ones are in containers apart. */
static void set_shm(const struct fc_source *source, struct fc_facts *out)
{
    static const char path[] = "/dev/shm";
    char full[4096], text[64];
    struct stat st;
    struct fc_gap gap;
    if (!fc_source_path(source, path, full, sizeof full, &gap)) {
        fc_facts_gap(out, "rank.shm", &gap);
    } else if (stat(full, &st) != 0) {
        fc_gap_errno(&gap, source, path, errno);
        fc_facts_gap(out, "rank.shm", &gap);
    } else {
        snprintf(text, sizeof text, "%u:%u", major(st.st_dev), minor(st.st_dev));
        fc_facts_text(out, "rank.shm", text);
    }
}

static void set_scheduling(const struct fc_source *source, struct fc_facts *out)
{
    static const char *const names[] = {
        [SCHED_OTHER] = "other", [SCHED_FIFO] = "fifo", [SCHED_RR] = "rr",
        [SCHED_BATCH] = "batch", [SCHED_IDLE] = "idle",
    };
    int policy = sched_getscheduler(0);
    size_t i = (size_t)policy;
    const char *name =
        policy >= 0 && i < sizeof names / sizeof *names ? names[i] : NULL;
    fc_facts_text(out, "rank.policy", name ? name : "unknown");
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    fc_facts_int(out, "rank.nice", errno ? 0 : nice);
    fc_facts_int(out, "rank.pid", getpid());
    set_cgroup(source, out);
    set_shm(source, out);
}

static bool has_prefix(const char *text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Words NAME=value of the variables that begin with one of `take` and none of `leave`,
 * sorted, so that equal environments give equal text. */
static void set_variables(struct fc_facts *out, const char *key,
                          const char *const *take, const char *const *leave)
{
    const char *word[VARIABLES_MAX];
    char joined[JOINED_BYTES] = "";
    size_t n = 0, used = 0;
    for (char **e = environ; e && *e && n < VARIABLES_MAX; e++)
        if (has_prefix(*e, take) && !has_prefix(*e, leave))
            word[n++] = *e;
    qsort(word, n, sizeof *word, by_text);
    for (size_t i = 0; i < n && used < sizeof joined; i++)
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s",
                                 i ? " " : "", word[i]);
    fc_facts_text(out, key, joined);
}

static void set_environment(struct fc_facts *out)
{
    static const char *const none[] = {NULL};
    static const char *const mpi[] = {"OMPI_MCA_", NULL};
    /* What mpirun itself tells each process: addresses, ranks, folders. */
    static const char *const mpirun[] = {"OMPI_MCA_orte_",
                                         "OMPI_MCA_ess",
                                         "OMPI_MCA_pmix",
                                         "OMPI_MCA_prte_",
                                         "OMPI_MCA_initial_wdir",
                                         "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
                                         "OMPI_MCA_rmaps_",
                                         "OMPI_MCA_plm_",
                                         "OMPI_MCA_mca_base_env",
                                         "OMPI_MCA_mpi_oversubscribe",
                                         NULL};
    static const char *const ucx[] = {"UCX_", "FI_", NULL};
    static const char *const nccl[] = {"NCCL_", NULL};
    static const char *const threads[] = {"OMP_", "OPENBLAS_", "GOTO_",
                                          "MKL_", "BLIS_",     NULL};
    static const char *const cuda[] = {"CUDA_", NULL};
    static const char *const cuda_devices[] = {"CUDA_VISIBLE_DEVICES=", NULL};
    set_variables(out, "env.mpi", mpi, mpirun);
    set_variables(out, "env.ucx", ucx, none);
    set_variables(out, "env.nccl", nccl, none);
    set_variables(out, "env.threads", threads, none);
    set_variables(out, "env.cuda", cuda, cuda_devices);
    const char *text = getenv("LD_PRELOAD");
    fc_facts_text(out, "env.preload", text ? text : "");
    text = getenv("CUDA_VISIBLE_DEVICES");
    fc_facts_text(out, "env.cuda_devices", text ? text : "");
}

/* The text of a library's own `const char *function(void)`, if the library is in this
 * process; none is loaded for it. */
static const char *library_says(const char *file, const char *function)
{
    union {
        void *address;
        const char *(*call)(void);
    } symbol = {.address = dlsym(RTLD_DEFAULT, function)};
    void *library = NULL;
    if (!symbol.address && file && (library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD)))
        symbol.address = dlsym(library, function);
    const char *text = symbol.address ? symbol.call() : NULL;
    /* Not ours to unload: RTLD_NOLOAD succeeded because someone else holds it. */
    if (library)
        dlclose(library);
    return text;
}

static void set_library(struct fc_facts *out, const char *key, const char *file,
                        const char *function)
{
    struct fc_gap gap;
    const char *text = library_says(file, function);
    if (text) {
        fc_facts_text(out, key, text);
        return;
    }
    fc_gap_set(&gap, "unsupported", "no right helps: this process has no %s", function);
    fc_facts_gap(out, key, &gap);
}

static void set_libraries(struct fc_facts *out, const char *mpi_library)
{
    char text[64];
    unsigned int v = hwloc_get_api_version();
    fc_facts_text(out, "lib.mpi", mpi_library);
    snprintf(text, sizeof text, "%u.%u.%u", v >> 16, v >> 8 & 0xff, v & 0xff);
    fc_facts_text(out, "lib.hwloc", text);
    fc_facts_text(out, "lib.libc", gnu_get_libc_version());
    set_library(out, "lib.openblas", NULL, "openblas_get_config");
    set_library(out, "lib.jansson", NULL, "jansson_version_str");
    const char *ucx = library_says("libucp.so.0", "ucp_get_version_string");
    fc_facts_text(out, "lib.ucx", ucx ? ucx : "not loaded");
}

enum fc_status fc_facts_rank(const struct fc_source *source, const char *mpi_library,
                             struct fc_facts *out, struct fc_error *err)
{
    set_limits(out);
    set_affinity(out);
    set_scheduling(source, out);
    set_environment(out);
    set_libraries(out, mpi_library);
    return fc_facts_check(out, err);
}
