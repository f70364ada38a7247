// SPDX-License-Identifier: BSD-3-Clause
/* What a node is: kernel, processors, memory and room; and the order in which all
 * groups of facts are read. */
#include "topology/facts.h"
#include "topology/facts_parts.h"

#include <errno.h>
#include <hwloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <xxhash.h>

/* Processors' flags alone take 2 KiB; only the first processor's lines are used. */
enum { FILE_BYTES = 32 * 1024 };

/* The value after "key" and blanks and ':' or '=' at the start of a line of `text`. */
static bool line_value(const char *text, const char *key, char *out, size_t bytes)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) != 0)
            continue;
        const char *p = line + n + strspn(line + n, " \t");
        if (*p != ':' && *p != '=')
            continue;
        p += 1 + strspn(p + 1, " \t\"");
        size_t length = strcspn(p, "\n");
        while (length > 0 && strchr(" \t\"", p[length - 1]))
            length--;
        snprintf(out, bytes, "%.*s", (int)length, p);
        return true;
    }
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Options that change how fast or how evenly a node runs. Others (the root disk, the
 * boot image, addresses) name the node itself and would differ everywhere. */
static bool is_tuning(const char *option)
{
    static const char *const prefixes[] = {
        "iommu",
        "intel_iommu",
        "amd_iommu",
        "pci=",
        "pcie_",
        "mitigation",
        "isolcpus",
        "nohz",
        "rcu_nocb",
        "idle=",
        "processor.",
        "intel_idle.",
        "intel_pstate",
        "amd_pstate",
        "cpufreq.",
        "cpuidle.",
        "hugepages",
        "hugetlb_cma",
        "cma=",
        "default_hugepagesz",
        "transparent_hugepage",
        "numa",
        "nosmt",
        "mem=",
        "maxcpus",
        "nr_cpus",
        "clocksource",
        "tsc",
        "skew_tick",
        "nmi_watchdog",
        "nowatchdog",
        "irqaffinity",
        "preempt",
        "swiotlb",
        "nvidia",
        "mlx5",
        "spec",
        "nospec",
        "l1tf",
        "mds",
        "init_on_",
        "systemd.unified_cgroup_hierarchy",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(option, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void set_options(struct fc_facts *out, char *cmdline)
{
    char *word[256], joined[4096] = "", *save = NULL;
    size_t n = 0, used = 0;
    for (char *w = strtok_r(cmdline, " \n", &save); w && n < 256;
         w = strtok_r(NULL, " \n", &save))
        if (is_tuning(w))
            word[n++] = w;
    qsort(word, n, sizeof *word, by_text);
    for (size_t i = 0; i < n && used < sizeof joined; i++)
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s",
                                 i ? " " : "", word[i]);
    fc_facts_text(out, "kernel.options", joined);
}

/* Hashed, since the raw id is meant to be kept from others. */
static void set_machine_id(const struct fc_source *source, struct fc_facts *out)
{
    char text[256], hex[32];
    struct fc_gap gap;
    if (!fc_source_read(source, "/etc/machine-id", text, sizeof text, &gap)) {
        fc_facts_gap(out, "host.machine_id", &gap);
        return;
    }
    /* Images are shipped with an empty file, or with this word, for the first boot. */
    if (!text[0] || strcmp(text, "uninitialized") == 0) {
        fc_gap_set(&gap, "unsupported", "no right helps: /etc/machine-id is not set");
        fc_facts_gap(out, "host.machine_id", &gap);
        return;
    }
    snprintf(hex, sizeof hex, "%016" PRIx64, (uint64_t)XXH64(text, strlen(text), 0));
    fc_facts_text(out, "host.machine_id", hex);
}

/* Of one kernel the same everywhere, whatever /proc is laid over it. */
static void set_boot_time(const struct fc_source *source, struct fc_facts *out)
{
    struct timespec now, up;
    struct fc_gap gap;
    if (source->root[0]) {
        fc_gap_set(&gap, "unsupported",
                   "no right helps: a clock is the kernel's, not in files");
        fc_facts_gap(out, "host.boot_time", &gap);
    } else if (clock_gettime(CLOCK_REALTIME, &now) != 0 ||
               clock_gettime(CLOCK_BOOTTIME, &up) != 0) {
        fc_gap_set(&gap, "error", "no right helps: clock_gettime: %s", strerror(errno));
        fc_facts_gap(out, "host.boot_time", &gap);
    } else {
        fc_facts_int(out, "host.boot_time", (int64_t)(now.tv_sec - up.tv_sec));
    }
}

static void set_os_name(const struct fc_source *source, struct fc_facts *out)
{
    char text[8192], name[256];
    struct fc_gap gap;
    if (!fc_source_read(source, "/etc/os-release", text, sizeof text, &gap) &&
        !fc_source_read(source, "/usr/lib/os-release", text, sizeof text, &gap)) {
        fc_facts_gap(out, "os.name", &gap);
        return;
    }
    if (!line_value(text, "PRETTY_NAME", name, sizeof name))
        snprintf(name, sizeof name, "Linux");
    fc_facts_text(out, "os.name", name);
}

void fc_facts_kernel(const struct fc_source *source, struct fc_facts *out)
{
    char text[8192];
    struct fc_gap gap;
    fc_facts_file(out, "host.name", source, "/proc/sys/kernel/hostname");
    fc_facts_file(out, "host.boot_id", source, "/proc/sys/kernel/random/boot_id");
    set_boot_time(source, out);
    set_machine_id(source, out);
    set_os_name(source, out);
    fc_facts_file(out, "kernel.release", source, "/proc/sys/kernel/osrelease");
    fc_facts_file(out, "kernel.version", source, "/proc/sys/kernel/version");
    if (fc_source_read(source, "/proc/cmdline", text, sizeof text, &gap)) {
        fc_facts_text(out, "kernel.cmdline", text);
        set_options(out, text);
    } else {
        fc_facts_gap(out, "kernel.cmdline", &gap);
        fc_facts_gap(out, "kernel.options", &gap);
    }
}

/* Each governor once; the kernel has one policy for each group of CPUs that share a
 * clock. */
static void set_governors(const struct fc_source *source, struct fc_facts *out)
{
    static const char folder[] = "/sys/devices/system/cpu/cpufreq";
    struct fc_names policies;
    struct fc_gap gap;
    char path[256], name[64], joined[256] = "";
    fc_gap_set(&gap, "ENOENT", "no right helps: no frequency policy in %s", folder);
    if (!fc_source_list(source, folder, &policies, &gap)) {
        fc_facts_gap(out, "cpu.governor", &gap);
        return;
    }
    for (size_t i = 0; i < policies.count; i++) {
        snprintf(path, sizeof path, "%s/%s/scaling_governor", folder, policies.name[i]);
        if (strncmp(policies.name[i], "policy", 6) != 0 ||
            !fc_source_read(source, path, name, sizeof name, &gap) ||
            strstr(joined, name))
            continue;
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof joined - used, "%s%s", used ? "," : "", name);
    }
    fc_names_free(&policies);
    if (joined[0])
        fc_facts_text(out, "cpu.governor", joined);
    else
        fc_facts_gap(out, "cpu.governor", &gap);
}

void fc_facts_cpu(const struct fc_source *source, struct fc_facts *out)
{
    char *text = malloc(FILE_BYTES), name[256];
    struct fc_gap gap;
    int64_t smt;
    if (!text) {
        out->short_of_memory = true;
        return;
    }
    if (!fc_source_read(source, "/proc/cpuinfo", text, FILE_BYTES, &gap)) {
        fc_facts_gap(out, "cpu.model", &gap);
    } else if (line_value(text, "model name", name, sizeof name) ||
               line_value(text, "CPU part", name, sizeof name) ||
               line_value(text, "cpu", name, sizeof name)) {
        fc_facts_text(out, "cpu.model", name);
    } else {
        fc_gap_set(&gap, "unsupported", "no right helps: /proc/cpuinfo names no model");
        fc_facts_gap(out, "cpu.model", &gap);
    }
    free(text);
    if (fc_source_int(source, "/sys/devices/system/cpu/smt/active", &smt, &gap))
        fc_facts_set(out, "cpu.smt", json_boolean(smt));
    else
        fc_facts_gap(out, "cpu.smt", &gap);
    set_governors(source, out);
    fc_facts_file(out, "cpu.clocksource", source,
                  "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    fc_facts_int_file(out, "numa.balancing", source, "/proc/sys/kernel/numa_balancing");
}

/* GPUs with coherent memory show it as NUMA nodes of their own. */
static int count_numa(hwloc_topology_t topology)
{
    int n = 0;
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)))
        n += !(node->subtype && strcmp(node->subtype, "GPUMemory") == 0);
    return n;
}

/* The threads of each core, of cores that have several. */
static json_t *siblings_json(hwloc_topology_t topology)
{
    json_t *list = json_array();
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core))) {
        char text[256];
        if (hwloc_bitmap_weight(core->cpuset) < 2)
            continue;
        hwloc_bitmap_list_snprintf(text, sizeof text, core->cpuset);
        json_array_append_new(list, json_string(text));
    }
    return list;
}

/* hwloc, without its x86 part, which would bind itself to every core in turn. Cores
 * that a control group keeps from us are counted: they are the node's. */
void fc_facts_topology(const struct fc_source *source, struct fc_facts *out)
{
    static const char *const keys[] = {"cpu.sockets", "cpu.cores", "cpu.threads",
                                       "numa.nodes", "cpu.siblings"};
    hwloc_topology_t topology;
    struct fc_gap gap;
    if (source->note)
        source->note(source->arg, "hwloc_topology_load");
    bool made = hwloc_topology_init(&topology) == 0;
    if (!made ||
        hwloc_topology_set_components(
            topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") != 0 ||
        hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) !=
            0 ||
        hwloc_topology_load(topology) != 0) {
        fc_gap_set(&gap, "error", "no right helps: hwloc: %s", strerror(errno));
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            fc_facts_gap(out, keys[i], &gap);
        if (made)
            hwloc_topology_destroy(topology);
        return;
    }
    const int count[] = {
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE),
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU),
        count_numa(topology),
    };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        fc_facts_int(out, keys[i], count[i]);
    fc_facts_set(out, "cpu.siblings", siblings_json(topology));
    hwloc_topology_destroy(topology);
}

/* Firmware and kernel keep a few percent, a little more or less on each node, so the
 * managed size is rounded up to the next sixteenth of its power of two: the installed
 * size, far from any boundary, while one missing module still shows. */
static int64_t installed_gib(int64_t bytes)
{
    const int64_t gib = INT64_C(1) << 30;
    int64_t step = 1;
    while (step * 32 * gib <= bytes)
        step *= 2;
    return (bytes + step * gib - 1) / (step * gib) * step;
}

/* "always [madvise] never" -> "madvise". */
static void set_chosen(const struct fc_source *source, struct fc_facts *out,
                       const char *key, const char *path)
{
    char text[256];
    struct fc_gap gap;
    if (!fc_source_read(source, path, text, sizeof text, &gap)) {
        fc_facts_gap(out, key, &gap);
        return;
    }
    char *start = strchr(text, '['), *end = start ? strchr(start, ']') : NULL;
    if (end)
        *end = '\0';
    fc_facts_text(out, key, end ? start + 1 : text);
}

void fc_facts_memory(const struct fc_source *source, struct fc_facts *out)
{
    char text[8192], value[64];
    struct fc_gap gap;
    fc_gap_set(&gap, "unsupported", "no right helps: /proc/meminfo has no MemTotal");
    if (!fc_source_read(source, "/proc/meminfo", text, sizeof text, &gap) ||
        !line_value(text, "MemTotal", value, sizeof value)) {
        fc_facts_gap(out, "mem.bytes", &gap);
        fc_facts_gap(out, "mem.gib", &gap);
    } else {
        int64_t bytes = strtoll(value, NULL, 10) * 1024;
        fc_facts_int(out, "mem.bytes", bytes);
        fc_facts_int(out, "mem.gib", installed_gib(bytes));
    }
    set_chosen(source, out, "mem.thp", "/sys/kernel/mm/transparent_hugepage/enabled");
    fc_facts_int_file(out, "mem.hugepages", source, "/proc/sys/vm/nr_hugepages");
    fc_facts_int_file(out, "mem.overcommit", source, "/proc/sys/vm/overcommit_memory");
    fc_facts_int_file(out, "mem.zone_reclaim", source,
                      "/proc/sys/vm/zone_reclaim_mode");
}

static void set_space(const struct fc_source *source, struct fc_facts *out,
                      const char *path, const char *size_key, const char *free_key)
{
    char full[4096];
    struct statvfs fs;
    struct fc_gap gap;
    if (source->note)
        source->note(source->arg, path);
    bool good = fc_source_path(source, path, full, sizeof full, &gap);
    if (good && statvfs(full, &fs) != 0) {
        fc_gap_errno(&gap, source, path, errno);
        good = false;
    }
    if (!good) {
        if (size_key)
            fc_facts_gap(out, size_key, &gap);
        fc_facts_gap(out, free_key, &gap);
        return;
    }
    int64_t unit = (int64_t)(fs.f_frsize ? fs.f_frsize : fs.f_bsize);
    if (size_key)
        fc_facts_int(out, size_key, (int64_t)fs.f_blocks * unit);
    fc_facts_int(out, free_key, (int64_t)fs.f_bavail * unit);
}

void fc_facts_space(const struct fc_source *source, struct fc_facts *out)
{
    set_space(source, out, "/dev/shm", "shm.bytes", "shm.free");
    set_space(source, out, "/tmp", NULL, "tmp.free");
}

enum fc_status fc_facts_host(const struct fc_source *source,
                             enum fc_status (*take)(void *arg,
                                                    const struct fc_facts *part,
                                                    struct fc_error *err),
                             void *arg, struct fc_error *err)
{
    /* Kernel memory first, then firmware, file systems, and drivers of devices last. */
    static void (*const groups[])(const struct fc_source *, struct fc_facts *) = {
        fc_facts_kernel, fc_facts_memory,    fc_facts_pages,      fc_facts_cpu,
        fc_facts_cgroup, fc_facts_topology,  fc_facts_virt,       fc_facts_space,
        fc_facts_rdma,   fc_facts_addresses, fc_facts_nccl,       fc_facts_net,
        fc_facts_gpu,    fc_facts_gpudirect, fc_facts_privileged, fc_facts_picture,
        fc_facts_verbs,  fc_facts_topo_file, /* wherever a variable points */
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct fc_facts part;
        enum fc_status status = fc_facts_init(&part, err);
        if (status != FC_OK)
            return status;
        groups[i](source, &part);
        status = fc_facts_check(&part, err);
        if (status == FC_OK)
            status = take(arg, &part, err);
        fc_facts_fini(&part);
        if (status != FC_OK)
            return status;
    }
    return FC_OK;
}
