// SPDX-License-Identifier: BSD-3-Clause
#include "topology/traits.h"

#include "topology/model_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fc_trait_word(enum fc_trait_kind kind)
{
    switch (kind) {
    case FC_TRAIT_GPU:
    case FC_TRAIT_PAIR:
        return "GPU";
    case FC_TRAIT_NIC:
        return "NIC";
    case FC_TRAIT_NUMA:
        return "NUMA node";
    default:
        return "";
    }
}

/* ---- one trait ---- */

/* Whose trait it is. */
struct part {
    enum fc_trait_kind kind;
    char key[64], shown[96];
};

/* Nothing, when `value` is empty: what is not told is no trait. */
static void add(struct fc_traits *all, const struct part *part, const char *what,
                const char *value)
{
    if (!value || !*value || all->short_of_memory)
        return;
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 128;
        struct fc_trait *more = realloc(all->trait, room * sizeof *more);
        if (!more) {
            all->short_of_memory = true;
            return;
        }
        all->trait = more;
        all->room = room;
    }
    struct fc_trait *t = &all->trait[all->count++];
    t->kind = part->kind;
    fc_topo_text(t->part, sizeof t->part, part->key);
    fc_topo_text(t->shown, sizeof t->shown, part->shown);
    fc_topo_text(t->what, sizeof t->what, what);
    fc_topo_text(t->value, sizeof t->value, value);
}

static void addf(struct fc_traits *all, const struct part *part, const char *what,
                 const char *fmt, ...) FC_PRINTF(4, 5);
static void addf(struct fc_traits *all, const struct part *part, const char *what,
                 const char *fmt, ...)
{
    char value[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(value, sizeof value, fmt, args);
    va_end(args);
    add(all, part, what, value);
}

/* ---- members of JSON ---- */

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* Text or a whole number of a member; nothing else is a trait. */
static void add_member(struct fc_traits *all, const struct part *part, const char *what,
                       const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    if (json_is_integer(value))
        addf(all, part, what, "%lld", (long long)json_integer_value(value));
    else
        add(all, part, what, json_string_value(value));
}

static double positive(const json_t *o, const char *key)
{
    double n = json_number_value(json_object_get(o, key));
    return n > 0 && n < 1e15 ? n : 0;
}

static void add_rate(struct fc_traits *all, const struct part *part, const char *what,
                     const json_t *o)
{
    if (positive(o, "Gbps") > 0)
        addf(all, part, what, "%g Gb/s", positive(o, "Gbps"));
}

/* As installed: what the kernel keeps for itself differs from boot to boot. */
static void add_memory(struct fc_traits *all, const struct part *part, const json_t *o,
                       const char *key)
{
    double bytes = positive(o, key), step = 1 << 20;
    while (step * 32 < bytes)
        step *= 2;
    if (bytes > 0)
        addf(all, part, "memory", "%.4g GiB",
             ceil(bytes / step) * step / (double)(1 << 30));
}

/* ---- counts ---- */

static size_t count_role(const json_t *pci, const char *role)
{
    size_t n = 0, i;
    json_t *o;
    json_array_foreach(pci, i, o) n += strcmp(text(o, "role"), role) == 0;
    return n;
}

static void read_counts(struct fc_traits *all, const json_t *topology)
{
    static const struct part node = {.kind = FC_TRAIT_COUNT};
    static const char *const names[][2] = {
        {"packages", "packages"}, {"numa_nodes", "NUMA nodes"},
        {"cores", "cores"},       {"pus", "hardware threads"},
        {"gpus", "GPUs"},         {"nics", "NICs"},
    };
    static const char *const roles[][2] = {{"bridge", "PCIe bridges"},
                                           {"nvswitch", "NVSwitches"},
                                           {"storage", "storage functions"}};
    const json_t *counts = json_object_get(topology, "counts");
    const json_t *pci = json_object_get(topology, "pci");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_member(all, &node, names[i][1], counts, names[i][0]);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        addf(all, &node, roles[i][1], "%zu", count_role(pci, roles[i][0]));
}

/* ---- which GPU or NIC of one node is which of another ---- */

static bool has_address(const json_t *list, const char *bdf)
{
    size_t i;
    json_t *o;
    json_array_foreach(list, i, o)
    {
        if (strcmp(text(o, "bdf"), bdf) == 0)
            return true;
    }
    return false;
}

/* Of those in `list` that `other` has at no such address: the one with this name, or,
 * without names, the one at this place; NULL: none. */
static const json_t *moved(const json_t *list, const json_t *other, const char *name,
                           size_t place)
{
    size_t i, n = 0;
    json_t *o;
    json_array_foreach(list, i, o)
    {
        if (has_address(other, text(o, "bdf")))
            continue;
        if (name ? strcmp(text(o, "name"), name) == 0 : n++ == place)
            return o;
    }
    return NULL;
}

static size_t count_moved(const json_t *list, const json_t *other, size_t end)
{
    size_t n = 0;
    for (size_t i = 0; i < end && i < json_array_size(list); i++)
        n += !has_address(other, text(json_array_get(list, i), "bdf"));
    return n;
}

/* A device is known by its bus address. One that the usual node has elsewhere is known
 * by that node's address for it: NICs by their names, GPUs by their order where as many
 * have moved. */
static struct part part_of(enum fc_trait_kind kind, const json_t *list, size_t i,
                           const json_t *usual)
{
    const json_t *o = json_array_get(list, i), *there = NULL;
    const char *bdf = text(o, "bdf"), *name = text(o, "name");
    struct part part = {.kind = kind};
    size_t all = json_array_size(list);
    if (*bdf && usual && !has_address(usual, bdf)) {
        if (kind == FC_TRAIT_NIC)
            there = moved(usual, list, name, 0);
        else if (count_moved(list, usual, all) ==
                 count_moved(usual, list, json_array_size(usual)))
            there = moved(usual, list, NULL, count_moved(list, usual, i));
    }
    const char *key = there && *text(there, "bdf") ? text(there, "bdf") : bdf;
    snprintf(part.key, sizeof part.key, "%.40s", *key ? key : name);
    if (kind == FC_TRAIT_GPU || !*bdf || strcmp(bdf, name) == 0)
        snprintf(part.shown, sizeof part.shown, "%.40s", *bdf ? bdf : name);
    else
        snprintf(part.shown, sizeof part.shown, "%.40s (%.30s)", name, bdf);
    return part;
}

/* The ends of the matrix: GPUs, then NICs. */
struct ends {
    struct part *part;
    size_t gpus, count;
};

static struct ends read_ends(struct fc_traits *all, const json_t *topology,
                             const json_t *usual)
{
    const json_t *gpus = json_object_get(topology, "gpus"),
                 *nics = json_object_get(topology, "nics");
    struct ends e = {.gpus = json_array_size(gpus),
                     .count = json_array_size(gpus) + json_array_size(nics)};
    e.part = calloc(e.count + 1, sizeof *e.part);
    if (!e.part) {
        all->short_of_memory = true;
        e.gpus = e.count = 0;
    }
    for (size_t i = 0; i < e.count; i++)
        e.part[i] = i < e.gpus
                        ? part_of(FC_TRAIT_GPU, gpus, i, json_object_get(usual, "gpus"))
                        : part_of(FC_TRAIT_NIC, nics, i - e.gpus,
                                  json_object_get(usual, "nics"));
    return e;
}

/* ---- GPUs, NICs, NUMA nodes ---- */

/* An idle GPU's speed sinks, so that only its width counts. */
static void add_link(struct fc_traits *all, const struct part *part, const json_t *link)
{
    double GTps = positive(link, "GTps"), width = positive(link, "width");
    double max_GTps = positive(link, "max_GTps"), most = positive(link, "max_width");
    if (part->kind == FC_TRAIT_GPU && width > 0)
        addf(all, part, "link", "x%g", width);
    else if (GTps > 0 && width > 0)
        addf(all, part, "link", "%g GT/s x%g", GTps, width);
    if (max_GTps > 0 && most > 0)
        addf(all, part, "link at most", "%g GT/s x%g", max_GTps, most);
}

static void read_gpu(struct fc_traits *all, const struct part *part, const json_t *gpu)
{
    static const char *const keys[][2] = {{"bdf", "at"},
                                          {"name", "product"},
                                          {"numa", "NUMA node"},
                                          {"driver", "driver"},
                                          {"iommu", "IOMMU"}};
    add(all, part, "", "is there");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        add_member(all, part, keys[i][1], gpu, keys[i][0]);
    add_memory(all, part, gpu, "memory_bytes");
    add_link(all, part, json_object_get(gpu, "link"));
}

static void read_port(struct fc_traits *all, const struct part *part,
                      const json_t *port)
{
    static const char *const keys[][2] = {
        {"state", "state"}, {"link_layer", "link layer"}, {"pkeys", "P_Keys"}};
    int number = (int)json_integer_value(json_object_get(port, "number"));
    char what[64];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(what, sizeof what, "port %d %s", number, keys[i][1]);
        add(all, part, what, text(port, keys[i][0]));
    }
    snprintf(what, sizeof what, "port %d", number);
    add_rate(all, part, what, port);
}

static void add_interfaces(struct fc_traits *all, const struct part *part,
                           const json_t *nic)
{
    char joined[160] = "";
    size_t used = 0, i;
    json_t *net;
    json_array_foreach(json_object_get(nic, "nets"), i, net)
    {
        int n = snprintf(joined + used, sizeof joined - used, "%s%s", i ? " " : "",
                         json_string_value(net) ? json_string_value(net) : "?");
        used += n > 0 ? (size_t)n : 0;
        used = used < sizeof joined ? used : sizeof joined - 1;
    }
    add(all, part, "interfaces", joined);
}

static void read_nic(struct fc_traits *all, const struct part *part, const json_t *nic)
{
    static const char *const keys[][2] = {
        {"name", "name"},      {"role", "role"},
        {"numa", "NUMA node"}, {"bdf", "at"},
        {"driver", "driver"},  {"type", "type"},
        {"board", "board"},    {"firmware", "firmware"},
        {"mtu", "MTU"},        {"net_state", "interface"}};
    const json_t *ports = json_object_get(nic, "ports");
    size_t i;
    json_t *port;
    add(all, part, "", "is there");
    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        add_member(all, part, keys[i][1], nic, keys[i][0]);
    add_interfaces(all, part, nic);
    add_link(all, part, json_object_get(nic, "link"));
    json_array_foreach(ports, i, port) read_port(all, part, port);
    if (json_array_size(ports) == 0)
        add_rate(all, part, "rate", nic);
}

/* The PCI function's vendor and device, which some drivers say no more of. */
static void add_id(struct fc_traits *all, const struct part *part, const json_t *pci,
                   const char *bdf)
{
    size_t i;
    json_t *o;
    json_array_foreach(pci, i, o)
    {
        if (*bdf && strcmp(text(o, "bdf"), bdf) == 0)
            add(all, part, "PCI id", text(o, "id"));
    }
}

static void read_devices(struct fc_traits *all, const json_t *topology,
                         const struct ends *ends)
{
    const json_t *gpus = json_object_get(topology, "gpus"),
                 *nics = json_object_get(topology, "nics"),
                 *pci = json_object_get(topology, "pci");
    for (size_t i = 0; i < ends->count; i++) {
        const json_t *o = i < ends->gpus ? json_array_get(gpus, i)
                                         : json_array_get(nics, i - ends->gpus);
        if (strcmp(text(o, "role"), "virtual") == 0)
            continue;
        if (i < ends->gpus)
            read_gpu(all, &ends->part[i], o);
        else
            read_nic(all, &ends->part[i], o);
        add_id(all, &ends->part[i], pci, text(o, "bdf"));
    }
}

static void read_numa(struct fc_traits *all, const json_t *topology)
{
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(topology, "numa"), i, node)
    {
        struct part part = {.kind = FC_TRAIT_NUMA};
        snprintf(part.key, sizeof part.key, "%lld",
                 (long long)json_integer_value(json_object_get(node, "index")));
        memcpy(part.shown, part.key, sizeof part.key);
        add(all, &part, "", "is there");
        add_member(all, &part, "package", node, "package");
        add_member(all, &part, "CPUs", node, "cpus");
        add_memory(all, &part, node, "bytes");
    }
}

/* ---- who is near whom ---- */

static bool is_compared(const json_t *topology, const struct ends *ends, size_t i)
{
    const json_t *nics = json_object_get(topology, "nics");
    return i < ends->gpus ||
           strcmp(text(json_array_get(nics, i - ends->gpus), "role"), "fabric") == 0;
}

static void read_pairs(struct fc_traits *all, const json_t *topology,
                       const struct ends *ends)
{
    const json_t *rows = json_object_get(json_object_get(topology, "matrix"), "rows");
    for (size_t a = 0; a < ends->gpus; a++)
        for (size_t b = a + 1; b < ends->count; b++) {
            const struct part *from = &ends->part[a], *to = &ends->part[b];
            struct part part = {.kind = FC_TRAIT_PAIR};
            if (!is_compared(topology, ends, b))
                continue;
            snprintf(part.key, sizeof part.key, "%.30s %.30s", from->key, to->key);
            snprintf(part.shown, sizeof part.shown, "%.30s to %.60s", from->shown,
                     to->shown);
            add(all, &part, "",
                json_string_value(json_array_get(json_array_get(rows, a), b)));
        }
}

/* ---- the whole ---- */

static void read_node(struct fc_traits *all, const json_t *topology)
{
    static const struct part node = {.kind = FC_TRAIT_NODE};
    static const char *const keys[][2] = {{"machine", "product"},
                                          {"hypervisor", "hypervisor"},
                                          {"container", "container"},
                                          {"gpus_by", "GPUs by"},
                                          {"gpu_files", "GPUs' device files"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        add_member(all, &node, keys[i][1], topology, keys[i][0]);
    size_t i;
    json_t *package;
    json_array_foreach(json_object_get(topology, "packages"), i, package)
    {
        char what[32];
        snprintf(what, sizeof what, "package %zu", i);
        add(all, &node, what, text(package, "model"));
    }
}

/* What the topology says as well is left to it, and a hash says nothing. */
static void read_facts(struct fc_traits *all, const json_t *facts, bool has_topology)
{
    static const struct part node = {.kind = FC_TRAIT_FACT};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)facts, key, value)
    {
        bool both = strcmp(key, "cpu.model") != 0 && strcmp(key, "mem.gib") != 0;
        if (strcmp(key, "topo.class") == 0 || (both && has_topology))
            continue;
        if (json_is_real(value))
            addf(all, &node, key, "%g", json_real_value(value));
        else
            add_member(all, &node, key, facts, key);
    }
}

struct fc_traits fc_traits_read(const json_t *picture, const json_t *usual)
{
    struct fc_traits all = {.trait = NULL};
    const json_t *topology = json_object_get(picture, "topology");
    bool has_topology = json_is_object(topology);
    read_facts(&all, json_object_get(picture, "facts"), has_topology);
    if (!has_topology)
        return all;
    struct ends ends = read_ends(&all, topology, json_object_get(usual, "topology"));
    read_node(&all, topology);
    read_counts(&all, topology);
    read_devices(&all, topology, &ends);
    read_numa(&all, topology);
    read_pairs(&all, topology, &ends);
    free(ends.part);
    return all;
}

void fc_traits_free(struct fc_traits *traits)
{
    free(traits->trait);
    *traits = (struct fc_traits){.trait = NULL};
}
