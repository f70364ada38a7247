// SPDX-License-Identifier: BSD-3-Clause
/* What the control group allows: CPU time, memory, CPUs.
 *
 * The limit in force is the lowest from the process's own group up to the top. Version
 * 2 has one tree, version 1 one for each controller; both may be mounted. Inside a
 * container the path that /proc names may be the host's and not exist here: then the
 * top of what is mounted is the container's own group.
 */
#include "topology/facts_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_BYTES = 1024 };

/* One kind of limit: where it is and how a file's text becomes a value. */
struct limit {
    const char *key;
    const char *controller; /* version 1 */
    const char *folder_v1[2], *file_v1, *file_v2;
    double (*value_v1)(const struct fc_source *, const char *folder, const char *text);
};

static const double no_limit = -1;

static double lower(double a, double b)
{
    if (a < 0)
        return b;
    return b < 0 || a < b ? a : b;
}

/* "200000 100000" -> 2.0 CPUs; "1073741824" -> itself; "max …" -> none. */
static double value_v2(const char *text)
{
    char *end;
    if (strncmp(text, "max", 3) == 0)
        return no_limit;
    long long value = strtoll(text, &end, 10);
    if (end == text)
        return no_limit;
    long long period = *end == ' ' ? strtoll(end, NULL, 10) : 1;
    return period > 0 ? (double)value / (double)period : no_limit;
}

static double cpus_v1(const struct fc_source *source, const char *folder,
                      const char *text)
{
    char path[2 * GROUP_BYTES];
    struct fc_gap gap;
    int64_t period;
    long long quota = strtoll(text, NULL, 10);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (quota <= 0 || !fc_source_int(source, path, &period, &gap) || period <= 0)
        return no_limit;
    return (double)quota / (double)period;
}

/* Version 1 writes "no limit" as the largest number of whole pages. */
static double memory_v1(const struct fc_source *source, const char *folder,
                        const char *text)
{
    (void)source;
    (void)folder;
    long long bytes = strtoll(text, NULL, 10);
    return bytes <= 0 || bytes >= 1LL << 60 ? no_limit : (double)bytes;
}

/* The group's path in the tree of `controller` ("" is version 2), out of lines such as
 * "4:cpu,cpuacct:/a/b". */
static bool group_path(const char *table, const char *controller, char *out,
                       size_t bytes)
{
    char copy[8192], *save = NULL;
    size_t n = strlen(controller);
    snprintf(copy, sizeof copy, "%s", table);
    for (char *line = strtok_r(copy, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *names++ = *path++ = '\0';
        bool found = n == 0 && *names == '\0';
        for (char *c = n ? strstr(names, controller) : NULL; c && !found;
             c = strstr(c + 1, controller))
            found = (c == names || c[-1] == ',') && (c[n] == ',' || c[n] == '\0');
        if (!found)
            continue;
        snprintf(out, bytes, "%s", strcmp(path, "/") == 0 ? "" : path);
        return true;
    }
    return false;
}

/* The lowest limit from `top``group` up to `top`; *out_seen: some folder was there. */
static double walk(const struct fc_source *source, const struct limit *limit, bool v2,
                   const char *top, const char *group, bool *out_seen)
{
    char folder[GROUP_BYTES], path[2 * GROUP_BYTES], text[128];
    struct fc_gap gap;
    double lowest = no_limit;
    int n = snprintf(folder, sizeof folder, "%s%s", top, group);
    if (n < 0 || (size_t)n >= sizeof folder)
        return no_limit;
    for (;;) {
        snprintf(path, sizeof path, "%s/%s", folder,
                 v2 ? limit->file_v2 : limit->file_v1);
        if (fc_source_read(source, path, text, sizeof text, &gap)) {
            *out_seen = true;
            lowest = lower(lowest,
                           v2 ? value_v2(text) : limit->value_v1(source, folder, text));
        }
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= strlen(top) || !slash)
            break;
        *slash = '\0';
    }
    return lowest;
}

static void set_limit(const struct fc_source *source, struct fc_facts *out,
                      const struct limit *limit, const char *table)
{
    static const char *const top_v2[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char group[GROUP_BYTES];
    double lowest = no_limit;
    bool seen = false, mounted = fc_source_exists(source, "/sys/fs/cgroup");
    if (group_path(table, "", group, sizeof group))
        for (size_t i = 0; i < 2 && !seen; i++)
            lowest = walk(source, limit, true, top_v2[i], group, &seen);
    if (group_path(table, limit->controller, group, sizeof group))
        for (size_t i = 0; i < 2; i++)
            lowest = lower(
                lowest, walk(source, limit, false, limit->folder_v1[i], group, &seen));
    struct fc_gap gap;
    /* The top group of version 2 has no limit files: mounted and unseen is no limit. */
    if (!seen && !mounted) {
        fc_gap_set(&gap, "ENOENT", "no right helps: no control group is mounted here");
        fc_facts_gap(out, limit->key, &gap);
    } else if (lowest < 0) {
        fc_facts_limit(out, limit->key, -1);
    } else if (limit->value_v1 == cpus_v1) {
        fc_facts_set(out, limit->key, json_real(lowest));
    } else {
        fc_facts_int(out, limit->key, (int64_t)lowest);
    }
}

/* The file of the group, or of the nearest group above it that has one. */
static bool nearest_list(const struct fc_source *source, const char *top,
                         const char *group, const char *file, char *out, size_t bytes)
{
    char folder[GROUP_BYTES], path[2 * GROUP_BYTES];
    struct fc_gap gap;
    int n = snprintf(folder, sizeof folder, "%s%s", top, group);
    while (n >= 0 && (size_t)n < sizeof folder) {
        snprintf(path, sizeof path, "%s/%s", folder, file);
        if (fc_source_read(source, path, out, bytes, &gap) && out[0])
            return true;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= strlen(top) || !slash)
            return false;
        *slash = '\0';
    }
    return false;
}

/* Where no controller limits CPUs, all that are online are allowed. */
static void set_cpuset(const struct fc_source *source, struct fc_facts *out,
                       const char *table)
{
    char group[GROUP_BYTES], list[4096];
    struct fc_gap gap;
    bool found = group_path(table, "", group, sizeof group) &&
                 nearest_list(source, "/sys/fs/cgroup", group, "cpuset.cpus.effective",
                              list, sizeof list);
    if (!found && group_path(table, "cpuset", group, sizeof group))
        found = nearest_list(source, "/sys/fs/cgroup/cpuset", group,
                             "cpuset.effective_cpus", list, sizeof list) ||
                nearest_list(source, "/sys/fs/cgroup/cpuset", group, "cpuset.cpus",
                             list, sizeof list);
    if (found || fc_source_read(source, "/sys/devices/system/cpu/online", list,
                                sizeof list, &gap))
        fc_facts_text(out, "cgroup.cpuset", list);
    else
        fc_facts_gap(out, "cgroup.cpuset", &gap);
}

void fc_facts_cgroup(const struct fc_source *source, struct fc_facts *out)
{
    static const struct limit limits[] = {
        {"cgroup.cpus",
         "cpu",
         {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"},
         "cpu.cfs_quota_us",
         "cpu.max",
         cpus_v1},
        {"cgroup.memory",
         "memory",
         {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"},
         "memory.limit_in_bytes",
         "memory.max",
         memory_v1},
    };
    char table[8192];
    struct fc_gap gap;
    bool read = fc_source_read(source, "/proc/self/cgroup", table, sizeof table, &gap);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (read)
            set_limit(source, out, &limits[i], table);
        else
            fc_facts_gap(out, limits[i].key, &gap);
    }
    if (read)
        set_cpuset(source, out, table);
    else
        fc_facts_gap(out, "cgroup.cpuset", &gap);
}
