// SPDX-License-Identifier: BSD-3-Clause
/* CPUs and memory. Of this machine through hwloc, which knows the quirks of many. Of a
 * captured tree by its files: hwloc trusts what it reads and may abort. */
#include "topology/model_parts.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char CPUS[] = "/sys/devices/system/cpu";
static const char NODES[] = "/sys/devices/system/node";

/* ---- this machine ---- */

static void set_cpus(struct fc_cpuset *out, hwloc_const_bitmap_t from)
{
    for (int cpu = hwloc_bitmap_first(from); cpu >= 0 && cpu < FC_CPUSET_MAX;
         cpu = hwloc_bitmap_next(from, cpu))
        fc_cpuset_add(out, (unsigned)cpu);
}

static enum fc_status read_packages(struct fc_topo *topo, hwloc_topology_t hwloc,
                                    struct fc_error *err)
{
    hwloc_obj_t obj = NULL;
    while ((obj = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, obj))) {
        struct fc_topo_package *package = fc_topo_add_package(topo);
        if (!package)
            return fc_topo_full(err);
        package->os_index = (int)obj->os_index;
        fc_topo_text(package->model, sizeof package->model,
                     hwloc_obj_get_info_by_name(obj, "CPUModel"));
        set_cpus(&package->cpus, obj->cpuset);
    }
    return FC_OK;
}

static void set_packages(struct fc_topo *topo)
{
    for (size_t i = 0; i < topo->numas; i++)
        for (size_t j = 0; topo->numa[i].package < 0 && j < topo->packages; j++)
            if (fc_cpuset_intersects(&topo->numa[i].cpus, &topo->package[j].cpus))
                topo->numa[i].package = (int)j;
}

static enum fc_status read_objects(struct fc_topo *topo, hwloc_topology_t hwloc,
                                   struct fc_error *err)
{
    hwloc_obj_t obj = NULL;
    enum fc_status status = read_packages(topo, hwloc, err);
    if (status != FC_OK)
        return status;
    while ((obj = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, obj))) {
        struct fc_topo_numa *numa = fc_topo_add_numa(topo);
        if (!numa)
            return fc_topo_full(err);
        numa->os_index = (int)obj->os_index;
        numa->bytes = (int64_t)obj->attr->numanode.local_memory;
        numa->is_gpu_memory = obj->subtype && strcmp(obj->subtype, "GPUMemory") == 0;
        set_cpus(&numa->cpus, obj->cpuset);
        numa->without_cpus = fc_cpuset_count(&numa->cpus) == 0;
    }
    set_packages(topo);
    topo->packages_n = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_PACKAGE);
    topo->cores = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE);
    topo->pus = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_PU);
    topo->numa_n = (int64_t)topo->numas;
    return FC_OK;
}

static enum fc_status export(struct fc_topo *topo, hwloc_topology_t hwloc,
                             struct fc_error *err) {
    char *xml = NULL; int length = 0;
    if (hwloc_topology_export_xmlbuffer(hwloc, &xml, &length, 0) !=
        0) return fc_fail(err, FC_IO, "hwloc could not write its XML: %s",
                          strerror(errno));
    topo->hwloc_xml = strdup(xml);
    hwloc_free_xmlbuffer(hwloc, xml);
    return topo->hwloc_xml ? FC_OK : fc_topo_full(err);
}

/* Without hwloc's x86 part, which would bind itself to every core in turn, and without
 * those that load drivers' libraries, which may hang. */
static bool leave_out_parts(hwloc_topology_t hwloc)
{
    static const char *const parts[] = {"x86",  "opencl", "gl",        "cuda",
                                        "nvml", "rsmi",   "levelzero", "pci"};
    /* hwloc does not mind the names of parts that it was built without */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (hwloc_topology_set_components(
                hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, parts[i]) != 0 &&
            i == 0)
            return false;
    return true;
}

/* Cores that a control group keeps from us are counted: they are the node's. */
enum fc_status fc_topo_read_live_cpus(struct fc_topo *topo, bool want_xml,
                                      struct fc_error *err)
{
    hwloc_topology_t hwloc;
    if (hwloc_topology_init(&hwloc) != 0)
        return fc_fail(err, FC_IO, "hwloc: %s", strerror(errno));
    enum fc_status status = FC_OK;
    if (!leave_out_parts(hwloc) ||
        hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        (want_xml && hwloc_topology_set_io_types_filter(
                         hwloc, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0) ||
        hwloc_topology_load(hwloc) != 0)
        status = fc_fail(err, FC_IO, "hwloc: %s", strerror(errno));
    if (status == FC_OK)
        status = read_objects(topo, hwloc, err);
    if (status == FC_OK && want_xml)
        status = export(topo, hwloc, err);
    hwloc_topology_destroy(hwloc);
    return status;
}

/* ---- a captured tree ---- */

/* "cpu12" -> 12; -1: another file. */
static int cpu_number(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    char *end;
    if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9')
        return -1;
    long value = strtol(name + n, &end, 10);
    return *end || value >= FC_CPUSET_MAX ? -1 : (int)value;
}

static bool is_online(const struct fc_tree *tree, int cpu)
{
    int64_t online;
    if (fc_tree_int(tree, &online, "%s/cpu%d/online", CPUS, cpu) && online == 0)
        return false;
    return fc_tree_exists(tree, "%s/cpu%d/topology", CPUS, cpu);
}

/* Threads of the CPU's core, or CPUs of its package: by mask, then by list. */
static bool read_siblings(const struct fc_tree *tree, int cpu, const char *mask,
                          const char *list, struct fc_cpuset *out)
{
    char text[4096];
    return (fc_tree_read(tree, text, sizeof text, "%s/cpu%d/topology/%s", CPUS, cpu,
                         mask) &&
            fc_cpuset_mask(text, out)) ||
           (fc_tree_read(tree, text, sizeof text, "%s/cpu%d/topology/%s", CPUS, cpu,
                         list) &&
            fc_cpuset_list(text, out));
}

static struct fc_topo_package *find_package(struct fc_topo *topo, int64_t id)
{
    for (size_t i = 0; i < topo->packages; i++)
        if (topo->package[i].os_index == id)
            return &topo->package[i];
    return NULL;
}

static enum fc_status read_cpu(struct fc_topo *topo, const struct fc_tree *tree,
                               int cpu, const struct fc_cpuset *online,
                               struct fc_error *err)
{
    struct fc_cpuset threads = {{0}}, package_cpus = {{0}};
    int64_t id = -1;
    (void)!fc_tree_int(tree, &id, "%s/cpu%d/topology/physical_package_id", CPUS, cpu);
    /* firmware without sockets gives -1 for all of them */
    if (id < 0 &&
        read_siblings(tree, cpu, "core_siblings", "core_siblings_list", &package_cpus))
        id = fc_cpuset_next(&package_cpus, 0);
    struct fc_topo_package *package = find_package(topo, id);
    if (!package) {
        package = fc_topo_add_package(topo);
        if (!package)
            return fc_topo_full(err);
        package->os_index = (int)id;
    }
    fc_cpuset_add(&package->cpus, (unsigned)cpu);
    int first = cpu;
    if (read_siblings(tree, cpu, "thread_siblings", "thread_siblings_list", &threads))
        for (first = fc_cpuset_next(&threads, 0);
             first >= 0 && !fc_cpuset_has(online, (unsigned)first);)
            first = fc_cpuset_next(&threads, first + 1);
    topo->cores += first == cpu || first < 0;
    return FC_OK;
}

/* The kernel tells packages twice: as a number, and as a set. */
static void check_packages(struct fc_topo *topo, const struct fc_tree *tree,
                           const struct fc_cpuset *online)
{
    for (size_t i = 0; i < topo->packages; i++) {
        const struct fc_cpuset *all = &topo->package[i].cpus;
        for (int cpu = fc_cpuset_next(all, 0); cpu >= 0;
             cpu = fc_cpuset_next(all, cpu + 1)) {
            struct fc_cpuset told = {{0}};
            if (!read_siblings(tree, cpu, "core_siblings", "core_siblings_list", &told))
                continue;
            for (size_t w = 0; w < FC_CPUSET_MAX / 64; w++)
                told.word[w] &= online->word[w];
            if (memcmp(&told, all, sizeof told) != 0)
                fc_topo_odd(topo,
                            "CPU %d is in package %d by number, but not with the same "
                            "CPUs by its core_siblings",
                            cpu, topo->package[i].os_index);
        }
    }
}

/* "Node 0 MemTotal:  123 kB" */
static int64_t node_bytes(const struct fc_tree *tree, int node)
{
    char text[8192];
    if (!fc_tree_read(tree, text, sizeof text, "%s/node%d/meminfo", NODES, node))
        return -1;
    const char *total = strstr(text, "MemTotal:");
    long long kib = total ? strtoll(total + 9, NULL, 10) : -1;
    return kib < 0 || kib > INT64_C(1) << 50 ? -1 : kib * 1024;
}

static enum fc_status read_nodes(struct fc_topo *topo, const struct fc_tree *tree,
                                 const struct fc_cpuset *online, struct fc_error *err)
{
    struct fc_names names = fc_tree_list(tree, "%s", NODES);
    enum fc_status status = FC_OK;
    for (size_t i = 0; i < names.count && status == FC_OK; i++) {
        char text[4096];
        int node = cpu_number(names.name[i], "node");
        if (node < 0)
            continue;
        struct fc_cpuset cpus = {{0}};
        bool read =
            fc_tree_read(tree, text, sizeof text, "%s/node%d/cpumap", NODES, node) &&
            fc_cpuset_mask(text, &cpus);
        if (!read &&
            !(fc_tree_read(tree, text, sizeof text, "%s/node%d/cpulist", NODES, node) &&
              fc_cpuset_list(text, &cpus)))
            fc_topo_odd(topo, "NUMA node %d: its CPUs are not readable", node);
        struct fc_topo_numa *numa = fc_topo_add_numa(topo);
        if (!numa) {
            status = fc_topo_full(err);
            break;
        }
        for (size_t w = 0; w < FC_CPUSET_MAX / 64; w++)
            cpus.word[w] &= online->word[w];
        numa->os_index = node;
        numa->cpus = cpus;
        numa->without_cpus = fc_cpuset_count(&cpus) == 0;
        numa->bytes = node_bytes(tree, node);
    }
    fc_names_free(&names);
    return status;
}

static int by_os_index(const void *a, const void *b)
{
    return ((const struct fc_topo_numa *)a)->os_index -
           ((const struct fc_topo_numa *)b)->os_index;
}

static void read_model(struct fc_topo *topo, const struct fc_tree *tree)
{
    char *text = malloc(65536), model[96] = "";
    if (text && fc_tree_read(tree, text, 65536, "/proc/cpuinfo")) {
        const char *key = strstr(text, "model name");
        key = key ? key : strstr(text, "cpu\t");
        const char *value = key ? strchr(key, ':') : NULL;
        if (value) {
            char line[128];
            snprintf(line, sizeof line, "%.*s", (int)strcspn(value + 1, "\n"),
                     value + 1);
            fc_topo_text(model, sizeof model, line);
        }
    }
    free(text);
    for (size_t i = 0; i < topo->packages; i++)
        memcpy(topo->package[i].model, model, sizeof model);
}

enum fc_status fc_topo_read_sys_cpus(struct fc_topo *topo, const struct fc_tree *tree,
                                     struct fc_error *err)
{
    struct fc_cpuset online = {{0}};
    struct fc_names names = fc_tree_list(tree, "%s", CPUS);
    enum fc_status status = FC_OK;
    for (size_t i = 0; i < names.count; i++) {
        int cpu = cpu_number(names.name[i], "cpu");
        if (cpu >= 0 && is_online(tree, cpu))
            fc_cpuset_add(&online, (unsigned)cpu);
    }
    fc_names_free(&names);
    size_t pus = fc_cpuset_count(&online);
    if (pus == 0) {
        fc_topo_unknown(topo, "packages, cores and NUMA nodes: no CPU's topology in %s",
                        CPUS);
        return FC_OK;
    }
    topo->cores = 0;
    for (int cpu = fc_cpuset_next(&online, 0); cpu >= 0 && status == FC_OK;
         cpu = fc_cpuset_next(&online, cpu + 1))
        status = read_cpu(topo, tree, cpu, &online, err);
    if (status == FC_OK)
        check_packages(topo, tree, &online);
    if (status == FC_OK)
        status = read_nodes(topo, tree, &online, err);
    if (status != FC_OK)
        return status;
    if (topo->numas > 0)
        qsort(topo->numa, topo->numas, sizeof *topo->numa, by_os_index);
    set_packages(topo);
    read_model(topo, tree);
    topo->packages_n = (int64_t)topo->packages;
    topo->pus = (int64_t)pus;
    /* a kernel without NUMA shows no node, and is one */
    topo->numa_n = topo->numas > 0 ? (int64_t)topo->numas : 1;
    return FC_OK;
}
