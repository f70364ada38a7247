// SPDX-License-Identifier: BSD-3-Clause
/* Memory that is set aside: huge pages of each size and on each NUMA node (EFA's
 * endpoints take theirs from them), and what the kernel keeps for contiguous
 * allocations. */
#include "topology/facts_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDER_BYTES = 256, SIZES_MAX = 16 };

struct pool {
    int64_t kb, numa; /* numa -1: all of the machine */
    int64_t total, free;
};

/* "hugepages-2048kB" -> 2048; -1: it is none. */
static int64_t size_of(const char *name)
{
    static const char prefix[] = "hugepages-";
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return -1;
    long long kb = strtoll(name + sizeof prefix - 1, &end, 10);
    return kb > 0 && strcmp(end, "kB") == 0 ? kb : -1;
}

static bool read_pool(const struct fc_source *source, const char *folder,
                      struct pool *pool, struct fc_gap *gap)
{
    char path[FOLDER_BYTES + 64];
    snprintf(path, sizeof path, "%s/hugepages-%lldkB/nr_hugepages", folder,
             (long long)pool->kb);
    if (!fc_source_int(source, path, &pool->total, gap))
        return false;
    snprintf(path, sizeof path, "%s/hugepages-%lldkB/free_hugepages", folder,
             (long long)pool->kb);
    return fc_source_int(source, path, &pool->free, gap);
}

static void add_pool(struct fc_facts *out, json_t *list, const struct pool *pool)
{
    json_t *numa = pool->numa < 0 ? json_null() : json_integer(pool->numa);
    json_t *o =
        json_pack("{s:I, s:o, s:I, s:I}", "kB", (json_int_t)pool->kb, "numa", numa,
                  "total", (json_int_t)pool->total, "free", (json_int_t)pool->free);
    if (json_array_append_new(list, o) != 0)
        out->short_of_memory = true;
}

/* The same size on each NUMA node, where any is reserved. */
static void add_nodes(const struct fc_source *source, struct fc_facts *out,
                      json_t *list, int64_t kb)
{
    static const char nodes[] = "/sys/devices/system/node";
    char folder[FOLDER_BYTES];
    struct fc_names names;
    struct fc_gap gap;
    if (!fc_source_list(source, nodes, &names, &gap))
        return; /* a kernel without NUMA */
    for (size_t i = 0; i < names.count; i++) {
        struct pool pool = {.kb = kb};
        char *end;
        if (strncmp(names.name[i], "node", 4) != 0)
            continue;
        pool.numa = strtoll(names.name[i] + 4, &end, 10);
        snprintf(folder, sizeof folder, "%s/%s/hugepages", nodes, names.name[i]);
        if (end > names.name[i] + 4 && !*end && pool.numa >= 0 &&
            read_pool(source, folder, &pool, &gap))
            add_pool(out, list, &pool);
    }
    fc_names_free(&names);
}

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sizes that the kernel offers, the smallest first; false: `gap` says why none can be
 * listed. A kernel without huge pages offers none. */
static bool list_sizes(const struct fc_source *source, int64_t *out, size_t *out_n,
                       struct fc_gap *gap)
{
    struct fc_names names;
    *out_n = 0;
    if (!fc_source_list(source, "/sys/kernel/mm/hugepages", &names, gap))
        return strcmp(gap->reason, "ENOENT") == 0;
    for (size_t i = 0; i < names.count && *out_n < SIZES_MAX; i++)
        if (size_of(names.name[i]) > 0)
            out[(*out_n)++] = size_of(names.name[i]);
    fc_names_free(&names);
    qsort(out, *out_n, sizeof *out, by_size);
    return true;
}

static void set_pools(const struct fc_source *source, struct fc_facts *out)
{
    int64_t size[SIZES_MAX];
    char words[512] = "";
    size_t n, used = 0;
    struct fc_gap gap;
    if (!list_sizes(source, size, &n, &gap)) {
        fc_facts_gap(out, "mem.hugepage_pools", &gap);
        fc_facts_gap(out, "mem.hugepage_sizes", &gap);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        struct pool pool = {.kb = size[i], .numa = -1};
        if (!read_pool(source, "/sys/kernel/mm/hugepages", &pool, &gap))
            continue;
        add_pool(out, list, &pool);
        if (pool.total <= 0 || used >= sizeof words)
            continue;
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%lld x %lld kB",
                                 used ? ", " : "", (long long)pool.total,
                                 (long long)pool.kb);
        add_nodes(source, out, list, pool.kb);
    }
    fc_facts_set(out, "mem.hugepage_pools", list);
    fc_facts_text(out, "mem.hugepage_sizes", used ? words : "none");
}

/* "CmaTotal:  65536 kB" at the start of a line, in bytes; 0: there is no such line, so
 * the kernel keeps none. */
static int64_t line_bytes(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == ':')
            return strtoll(line + n + 1, NULL, 10) * 1024;
    }
    return 0;
}

void fc_facts_pages(const struct fc_source *source, struct fc_facts *out)
{
    char text[8192];
    struct fc_gap gap;
    set_pools(source, out);
    if (!fc_source_read(source, "/proc/meminfo", text, sizeof text, &gap)) {
        fc_facts_gap(out, "mem.cma", &gap);
        fc_facts_gap(out, "mem.cma_free", &gap);
        return;
    }
    fc_facts_int(out, "mem.cma", line_bytes(text, "CmaTotal"));
    fc_facts_int(out, "mem.cma_free", line_bytes(text, "CmaFree"));
}
