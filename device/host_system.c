// SPDX-License-Identifier: BSD-3-Clause
#include "device/host_system.h"

#include "core/status.h"
#include "core/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

struct line {
    char s[512];
};

/* Opens a file whose name is put together; NULL when it cannot. */
static FC_PRINTF(1, 2) FILE *open_named(const char *fmt, ...)
{
    char path[2048];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    return length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
}

/* The first line, without its end; closes the file. False when there is none. */
static bool first_line(FILE *file, struct line *out)
{
    if (!file)
        return false;
    bool got = fgets(out->s, sizeof out->s, file) != NULL;
    fclose(file);
    if (got)
        out->s[strcspn(out->s, "\n")] = '\0';
    return got;
}

/* A CPU list as the kernel writes it: "0-3,8,10-11". */
static void parse_list(const char *text, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (const char *p = text; *p;) {
        char *end;
        long first = strtol(p, &end, 10), last = first;
        if (end == p)
            return;
        if (*end == '-') {
            p = end + 1;
            last = strtol(p, &end, 10);
        }
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            if (cpu >= 0)
                CPU_SET((size_t)cpu, out);
        p = *end == ',' ? end + 1 : "";
    }
}

static bool read_cpus(const char *sysroot, int cpu, const char *name, cpu_set_t *out)
{
    struct line line;
    if (!first_line(
            open_named("%s/sys/devices/system/cpu/cpu%d/%s", sysroot, cpu, name),
            &line))
        return false;
    parse_list(line.s, out);
    return true;
}

void fc_host_cores(const char *sysroot, const cpu_set_t *mask, cpu_set_t *out)
{
    cpu_set_t taken;
    CPU_ZERO(&taken);
    CPU_ZERO(out);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t siblings;
        if (!CPU_ISSET((size_t)cpu, mask) || CPU_ISSET((size_t)cpu, &taken))
            continue;
        CPU_SET((size_t)cpu, out);
        if (read_cpus(sysroot, cpu, "topology/thread_siblings_list", &siblings))
            CPU_OR(&taken, &taken, &siblings);
    }
}

void fc_host_share(const cpu_set_t *cores, int share, int shares, cpu_set_t *out)
{
    int n = CPU_COUNT(cores), seen = 0;
    CPU_ZERO(out);
    if (n == 0)
        return;
    shares = shares < 1 ? 1 : shares;
    share = share < 0 ? 0 : share % shares;
    int begin = (int)((int64_t)n * share / shares);
    int end = (int)((int64_t)n * (share + 1) / shares);
    if (shares > n)
        end = begin + 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, cores))
            continue;
        if (seen >= begin && seen < end)
            CPU_SET((size_t)cpu, out);
        seen++;
    }
}

static bool cache_line(const char *sysroot, int cpu, int index, const char *name,
                       struct line *out)
{
    return first_line(open_named("%s/sys/devices/system/cpu/cpu%d/cache/index%d/%s",
                                 sysroot, cpu, index, name),
                      out);
}

/* The last level that holds data at `cpu`: its bytes, and who shares it. */
static uint64_t last_cache(const char *sysroot, int cpu, cpu_set_t *out_shared)
{
    long best_level = 0;
    uint64_t best = 0;
    struct line level, type, size, shared;
    for (int index = 0; cache_line(sysroot, cpu, index, "level", &level); index++) {
        uint64_t bytes;
        if (!cache_line(sysroot, cpu, index, "type", &type) ||
            strcmp(type.s, "Instruction") == 0 ||
            !cache_line(sysroot, cpu, index, "size", &size) ||
            !fc_parse_size(size.s, &bytes) || strtol(level.s, NULL, 10) <= best_level)
            continue;
        best_level = strtol(level.s, NULL, 10);
        best = bytes;
        CPU_ZERO(out_shared);
        if (cache_line(sysroot, cpu, index, "shared_cpu_list", &shared))
            parse_list(shared.s, out_shared);
    }
    return best;
}

uint64_t fc_host_cache_bytes(const char *sysroot, const cpu_set_t *cores)
{
    cpu_set_t counted;
    uint64_t sum = 0;
    CPU_ZERO(&counted);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t shared;
        if (!CPU_ISSET((size_t)cpu, cores) || CPU_ISSET((size_t)cpu, &counted))
            continue;
        CPU_ZERO(&shared);
        sum += last_cache(sysroot, cpu, &shared);
        CPU_OR(&counted, &counted, &shared);
    }
    return sum;
}

static bool read_bytes(const char *folder, const char *name, uint64_t *out)
{
    struct line line;
    char *end;
    if (!first_line(open_named("%s/%s", folder, name), &line))
        return false;
    errno = 0;
    unsigned long long value = strtoull(line.s, &end, 10);
    if (end == line.s || errno) /* "max" */
        return false;
    *out = value;
    return true;
}

/* The folder of this process in the hierarchy that controls memory: the line
 * "4:memory:/path" of version 1 or "0::/path" of version 2. */
static bool own_group(const char *sysroot, const char *controller, struct line *out)
{
    struct line line;
    bool found = false;
    FILE *file = open_named("%s/proc/self/cgroup", sysroot);
    if (!file)
        return false;
    while (!found && fgets(line.s, sizeof line.s, file)) {
        line.s[strcspn(line.s, "\n")] = '\0';
        char *names = strchr(line.s, ':');
        char *folder = names ? strchr(names + 1, ':') : NULL;
        if (!folder)
            continue;
        *folder++ = '\0';
        found = strcmp(names + 1, controller) == 0;
        if (found)
            snprintf(out->s, sizeof out->s, "%s",
                     strcmp(folder, "/") == 0 ? "" : folder);
    }
    fclose(file);
    return found;
}

/* Where one version of control groups keeps its numbers. */
struct group_files {
    const char *mount, *controller, *limit, *used, *inactive, *active;
};

/* Page cache counts as used, yet makes room when it is wanted. */
static uint64_t reclaimable(const char *folder, const struct group_files *files)
{
    struct line line;
    uint64_t sum = 0;
    FILE *file = open_named("%s/memory.stat", folder);
    if (!file)
        return 0;
    while (fgets(line.s, sizeof line.s, file)) {
        char *space = strchr(line.s, ' ');
        if (!space)
            continue;
        *space = '\0';
        if (strcmp(line.s, files->inactive) == 0 || strcmp(line.s, files->active) == 0)
            sum += strtoull(space + 1, NULL, 10);
    }
    fclose(file);
    return sum;
}

static uint64_t folder_room(const char *folder, const struct group_files *files)
{
    uint64_t limit, used;
    if (!read_bytes(folder, files->limit, &limit))
        return UINT64_MAX;
    if (!read_bytes(folder, files->used, &used))
        return limit;
    uint64_t back = reclaimable(folder, files);
    used -= back < used ? back : used;
    return limit > used ? limit - used : 0;
}

/* The least that the group and its parents leave. Inside a container the path may not
 * exist, but then the walk ends at the mount, which is the container's own group. */
static uint64_t group_room(const char *sysroot, const struct group_files *files)
{
    uint64_t room = UINT64_MAX;
    struct line at;
    if (!own_group(sysroot, files->controller, &at))
        return room;
    for (;;) {
        char folder[1100];
        snprintf(folder, sizeof folder, "%s%s%s", sysroot, files->mount, at.s);
        uint64_t left = folder_room(folder, files);
        room = left < room ? left : room;
        char *slash = strrchr(at.s, '/');
        if (!slash)
            return room;
        *slash = '\0';
    }
}

static uint64_t cgroup_room(const char *sysroot)
{
    static const struct group_files v2 = {"/sys/fs/cgroup", "",
                                          "memory.max",     "memory.current",
                                          "inactive_file",  "active_file"};
    static const struct group_files v1 = {
        "/sys/fs/cgroup/memory", "memory",
        "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file",   "total_active_file"};
    uint64_t a = group_room(sysroot, &v2), b = group_room(sysroot, &v1);
    return a < b ? a : b;
}

static uint64_t available(const char *sysroot)
{
    struct line line;
    unsigned long long kib = 0;
    FILE *file = open_named("%s/proc/meminfo", sysroot);
    if (!file)
        return 0;
    while (fgets(line.s, sizeof line.s, file))
        if (strncmp(line.s, "MemAvailable:", 13) == 0)
            kib = strtoull(line.s + 13, NULL, 10);
    fclose(file);
    return (uint64_t)kib * 1024;
}

int fc_host_machine_cores(const char *sysroot)
{
    cpu_set_t online, cores;
    struct line list;
    if (!first_line(open_named("%s/sys/devices/system/cpu/online", sysroot), &list))
        return 0;
    parse_list(list.s, &online);
    fc_host_cores(sysroot, &online, &cores);
    return CPU_COUNT(&cores);
}

uint64_t fc_host_memory_bytes(const char *sysroot, int cores, int all)
{
    uint64_t whole = available(sysroot), room = cgroup_room(sysroot);
    if (all > cores && cores > 0)
        whole = whole / (uint64_t)all * (uint64_t)cores;
    uint64_t least = whole && whole < room ? whole : room;
    if (least == UINT64_MAX)
        return 0;
    return least ? least : 1;
}

void fc_host_cpu_name(const char *sysroot, char *out, size_t out_bytes)
{
    struct line line;
    struct utsname machine;
    snprintf(out, out_bytes, "%s",
             uname(&machine) == 0 ? machine.machine : "unknown CPU");
    FILE *file = open_named("%s/proc/cpuinfo", sysroot);
    if (!file)
        return;
    while (fgets(line.s, sizeof line.s, file)) {
        const char *colon = strchr(line.s, ':');
        if (strncmp(line.s, "model name", 10) != 0 || !colon)
            continue;
        line.s[strcspn(line.s, "\n")] = '\0';
        snprintf(out, out_bytes, "%s", colon + 1 + (colon[1] == ' '));
        break;
    }
    fclose(file);
}
