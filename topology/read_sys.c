// SPDX-License-Identifier: BSD-3-Clause
/* The PCIe tree of /sys: which functions there are, what is above them, and what their
 * links do. A function's link in /sys/bus/pci/devices spells out its bridges. */
#include "topology/model_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HOSTS = 256 };
static const char DEVICES[] = "/sys/bus/pci/devices";

/* "pci0000:00" of the host bridges, in the order in which they are met. */
struct hosts {
    char name[MAX_HOSTS][16];
};

static int host_number(struct fc_topo *topo, struct hosts *hosts, const char *name)
{
    for (int i = 0; i < topo->hosts; i++)
        if (strcmp(hosts->name[i], name) == 0)
            return i;
    if (topo->hosts == MAX_HOSTS)
        return -1;
    snprintf(hosts->name[topo->hosts], sizeof *hosts->name, "%.15s", name);
    return topo->hosts++;
}

/* "../../../devices/pci0000:00/0000:00:03.0/0000:06:00.0": the host, and the bridge
 * above (empty: none). */
static bool read_place(const struct fc_tree *tree, const char *folder, const char *name,
                       char *host, char *above, size_t bytes)
{
    char target[1024], *save = NULL;
    host[0] = above[0] = '\0';
    if (!fc_tree_link(tree, target, sizeof target, "%s/%s", folder, name))
        return false;
    for (char *part = strtok_r(target, "/", &save); part;
         part = strtok_r(NULL, "/", &save)) {
        char bdf[24];
        if (strcmp(part, name) == 0)
            break;
        if (strncmp(part, "pci", 3) == 0)
            snprintf(host, bytes, "%.15s", part);
        else if (fc_topo_bdf(part, bdf, sizeof bdf))
            snprintf(above, bytes, "%.23s", part);
    }
    return host[0] != '\0';
}

/* By its own word, else by the CPUs beside it. */
static int read_numa(const struct fc_topo *topo, const struct fc_tree *tree,
                     const char *at)
{
    char text[4096];
    struct fc_cpuset cpus;
    int64_t numa;
    if (fc_tree_int(tree, &numa, "%s/numa_node", at) && numa >= 0)
        return fc_topo_find_numa(topo, (int)numa);
    if (!fc_tree_read(tree, text, sizeof text, "%s/local_cpus", at) ||
        !fc_cpuset_mask(text, &cpus) || topo->numas < 2)
        return -1;
    for (size_t i = 0; i < topo->numas; i++)
        if (memcmp(&topo->numa[i].cpus, &cpus, sizeof cpus) == 0)
            return (int)i;
    return -1;
}

static void read_link(struct fc_topo *topo, const struct fc_tree *tree, const char *at,
                      int index)
{
    static const char *const files[] = {"current_link_speed", "max_link_speed",
                                        "current_link_width", "max_link_width"};
    char text[4][64], bdf[sizeof topo->pci->bdf];
    memcpy(bdf, topo->pci[index].bdf, sizeof bdf);
    for (size_t i = 0; i < 4; i++)
        if (!fc_tree_read(tree, text[i], sizeof text[i], "%s/%s", at, files[i]))
            text[i][0] = '\0';
    topo->pci[index].link = (struct fc_topo_link){
        .GTps = fc_topo_speed(topo, bdf, text[0]),
        .max_GTps = fc_topo_speed(topo, bdf, text[1]),
        .width = fc_topo_width(topo, bdf, text[2]),
        .max_width = fc_topo_width(topo, bdf, text[3]),
    };
}

/* Adds the function NAME of `folder`, unless its class says that it matters to nobody
 * here. `above`: its bridge's address, for link_bridges. */
static enum fc_status read_function(struct fc_topo *topo, const struct fc_tree *tree,
                                    const char *folder, const char *name,
                                    struct hosts *hosts, char (*above)[24],
                                    struct fc_error *err)
{
    char at[256], host[24], bdf[24];
    int64_t class = -1, vendor = -1, device = -1;
    if (!fc_topo_bdf(name, bdf, sizeof bdf) || fc_topo_find_pci(topo, bdf) >= 0)
        return FC_OK;
    snprintf(at, sizeof at, "%s/%s", folder, name);
    (void)!fc_tree_int(tree, &class, "%s/class", at);
    (void)!fc_tree_int(tree, &vendor, "%s/vendor", at);
    (void)!fc_tree_int(tree, &device, "%s/device", at);
    /* captures may lack the vendor; NVIDIA's driver lists its own */
    if (vendor < 0 && fc_tree_exists(tree, "/proc/driver/nvidia/gpus/%s", bdf))
        vendor = 0x10de;
    struct fc_topo_pci pci = {
        .class_code = class < 0 ? -1 : class >> 8, .vendor = vendor, .device = device};
    fc_topo_classify(&pci);
    if (pci.role == FC_PCI_OTHER && pci.class_code >= 0)
        return FC_OK;
    struct fc_topo_pci *p = fc_topo_add_pci(topo);
    if (!p)
        return fc_topo_full(err);
    int index = (int)topo->pcis - 1;
    memcpy(p->bdf, bdf, sizeof bdf);
    p->class_code = pci.class_code;
    p->vendor = vendor;
    p->device = device;
    p->role = pci.role;
    if (read_place(tree, folder, name, host, above[index], sizeof *above))
        p->host = host_number(topo, hosts, host);
    p->numa = read_numa(topo, tree, at);
    p->package = p->numa >= 0 ? topo->numa[p->numa].package : -1;
    p->vf = fc_tree_exists(tree, "%s/physfn", at);
    char text[64];
    if (fc_tree_link_name(tree, text, sizeof text, "%s/driver", at))
        fc_topo_text(p->driver, sizeof p->driver, text);
    if (fc_tree_read(tree, text, sizeof text, "%s/iommu_group/type", at))
        fc_topo_text(p->iommu, sizeof p->iommu, text);
    read_link(topo, tree, at, index);
    return FC_OK;
}

static void link_bridges(struct fc_topo *topo, char (*above)[24])
{
    for (size_t i = 0; i < topo->pcis; i++) {
        char bdf[24];
        if (fc_topo_bdf(above[i], bdf, sizeof bdf))
            topo->pci[i].parent = fc_topo_find_pci(topo, bdf);
        topo->ports_told |= topo->pci[i].host >= 0;
    }
}

static enum fc_status read_functions(struct fc_topo *topo, const struct fc_tree *tree,
                                     char (*above)[24], struct fc_error *err)
{
    struct hosts hosts;
    enum fc_status status = FC_OK;
    struct fc_names names = fc_tree_list(tree, "%s", DEVICES);
    for (size_t i = 0; i < names.count && status == FC_OK; i++)
        status = read_function(topo, tree, DEVICES, names.name[i], &hosts, above, err);
    fc_names_free(&names);
    if (status != FC_OK || !tree->json)
        return status;
    /* Collections in JSON list functions below their bus. */
    struct fc_names buses = fc_tree_list(tree, "/sys/class/pci_bus");
    for (size_t b = 0; b < buses.count && status == FC_OK; b++) {
        char folder[128];
        snprintf(folder, sizeof folder, "/sys/class/pci_bus/%s/device", buses.name[b]);
        names = fc_tree_list(tree, "%s", folder);
        for (size_t i = 0; i < names.count && status == FC_OK; i++) {
            char bdf[24];
            int pci = fc_topo_bdf(names.name[i], bdf, sizeof bdf)
                          ? fc_topo_find_pci(topo, bdf)
                          : -1;
            char at[256];
            snprintf(at, sizeof at, "%s/%s", folder, names.name[i]);
            if (pci >= 0)
                read_link(topo, tree, at, pci);
            else
                status = read_function(topo, tree, folder, names.name[i], &hosts, above,
                                       err);
        }
        fc_names_free(&names);
    }
    fc_names_free(&buses);
    return status;
}

enum fc_status fc_topo_read_sys_pci(struct fc_topo *topo, const struct fc_tree *tree,
                                    struct fc_error *err)
{
    size_t unclassed = 0;
    char(*above)[24] = calloc(FC_TOPO_MAX_PCI, sizeof *above);
    if (!above)
        return fc_topo_full(err);
    enum fc_status status = read_functions(topo, tree, above, err);
    if (status == FC_OK)
        link_bridges(topo, above);
    free(above);
    if (status != FC_OK)
        return status;
    for (size_t i = 0; i < topo->pcis; i++)
        unclassed += topo->pci[i].class_code < 0;
    bool listed = fc_tree_exists(tree, "%s", DEVICES);
    topo->gpus_known = topo->nics_known = listed && unclassed == 0;
    if (!listed)
        fc_topo_unknown(topo, "GPUs and NICs: there is no %s here", DEVICES);
    else if (unclassed > 0)
        fc_topo_unknown(topo,
                        "what %zu of %zu PCI functions are: no class file for them",
                        unclassed, topo->pcis);
    return FC_OK;
}

/* "Model:  NVIDIA H100" of /proc/driver/nvidia/gpus/BDF/information. */
static void line_value(const char *text, const char *key, char *out, size_t bytes)
{
    size_t n = strlen(key);
    for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        if (strncmp(p, key, n) != 0 || p[n] != ':')
            continue;
        char value[128];
        snprintf(value, sizeof value, "%.*s", (int)strcspn(p + n + 1, "\n"), p + n + 1);
        fc_topo_text(out, bytes, value);
        return;
    }
}

static void read_nvidia(struct fc_topo *topo, const struct fc_tree *tree,
                        struct fc_topo_gpu *gpu)
{
    static const char gpus[] = "/proc/driver/nvidia/gpus";
    const char *bdf = topo->pci[gpu->pci].bdf;
    char text[4096], node[16] = "";
    if (fc_tree_read(tree, text, sizeof text, "%s/%s/information", gpus, bdf)) {
        line_value(text, "Model", gpu->name, sizeof gpu->name);
        line_value(text, "GPU UUID", gpu->uuid, sizeof gpu->uuid);
    }
    if (!fc_tree_read(tree, text, sizeof text, "%s/%s/numa_status", gpus, bdf))
        return;
    line_value(text, "Node", node, sizeof node);
    if (!*node)
        return;
    long number = strtol(node, NULL, 10);
    gpu->memory_numa =
        number >= 0 && number < 65536 ? fc_topo_find_numa(topo, (int)number) : -1;
    if (gpu->memory_numa >= 0)
        topo->numa[gpu->memory_numa].is_gpu_memory = true;
}

static void read_amd(struct fc_topo *topo, const struct fc_tree *tree,
                     struct fc_topo_gpu *gpu)
{
    const char *bdf = topo->pci[gpu->pci].bdf;
    char text[128];
    if (fc_tree_read(tree, text, sizeof text, "%s/%s/product_name", DEVICES, bdf))
        fc_topo_text(gpu->name, sizeof gpu->name, text);
    if (fc_tree_read(tree, text, sizeof text, "%s/%s/unique_id", DEVICES, bdf))
        fc_topo_text(gpu->uuid, sizeof gpu->uuid, text);
    if (fc_tree_read(tree, text, sizeof text, "%s/%s/serial_number", DEVICES, bdf))
        fc_topo_text(gpu->serial, sizeof gpu->serial, text);
    (void)!fc_tree_int(tree, &gpu->memory_bytes, "%s/%s/mem_info_vram_total", DEVICES,
                       bdf);
}

/* The driver remembers a GPU that has fallen off the bus. */
static void note_lost_gpus(struct fc_topo *topo, const struct fc_tree *tree)
{
    struct fc_names names = fc_tree_list(tree, "/proc/driver/nvidia/gpus");
    for (size_t i = 0; i < names.count && topo->pcis > 0; i++) {
        char bdf[24];
        if (fc_topo_bdf(names.name[i], bdf, sizeof bdf) &&
            fc_topo_find_pci(topo, bdf) < 0)
            fc_topo_odd(topo, "%s: NVIDIA's driver knows this GPU, the bus does not",
                        bdf);
    }
    fc_names_free(&names);
}

enum fc_status fc_topo_read_sys_gpus(struct fc_topo *topo, const struct fc_tree *tree,
                                     struct fc_error *err)
{
    for (size_t i = 0; i < topo->pcis; i++) {
        if (topo->pci[i].role != FC_PCI_GPU || topo->pci[i].vf)
            continue;
        struct fc_topo_gpu *gpu = fc_topo_gpu_of(topo, (int)i);
        if (!gpu)
            return fc_topo_full(err);
        if (topo->pci[i].vendor == 0x1002)
            read_amd(topo, tree, gpu);
        else
            read_nvidia(topo, tree, gpu);
    }
    note_lost_gpus(topo, tree);
    return FC_OK;
}
