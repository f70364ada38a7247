// SPDX-License-Identifier: BSD-3-Clause
/* What RDMA devices need to reach the memory of GPUs: a module that registers itself
 * with RDMA's core (peer memory), or DMA-BUF, which takes NVIDIA's open kernel module
 * and Linux 5.12. All this says only what is possible; registering memory decides.
 *
 * A module that has registered has an entry in /sys/kernel/mm/memory_peers, or is a
 * holder of the module whose function it calls; kernels have the one, the other, or
 * both. EFA's module is asked by EFA's driver and registers nowhere. */
#include "topology/facts_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES = 1 << 20, RELEASE_BYTES = 96 };

static const char *const peers[] = {"nvidia_peermem", "nv_peer_mem", "efa_nv_peermem"};

static void set_kind(const struct fc_source *source, struct fc_facts *out)
{
    char text[1024];
    struct fc_gap gap;
    if (fc_source_read(source, "/proc/driver/nvidia/version", text, sizeof text, &gap))
        fc_facts_text(out, "gpu.driver_kind",
                      strstr(text, "Open Kernel Module") ? "open" : "proprietary");
    else if (strcmp(gap.reason, "ENOENT") == 0)
        fc_facts_text(out, "gpu.driver_kind", "none");
    else
        fc_facts_gap(out, "gpu.driver_kind", &gap);
}

static bool is_registered(const struct fc_source *source, const char *module)
{
    static const char *const cores[] = {"ib_core", "ib_uverbs"};
    struct fc_names names;
    struct fc_gap gap;
    char path[192];
    bool found = strncmp(module, "efa", 3) == 0;
    for (size_t i = 0; i < sizeof cores / sizeof *cores && !found; i++) {
        snprintf(path, sizeof path, "/sys/module/%s/holders/%s", cores[i], module);
        found = fc_source_exists(source, path);
    }
    if (found || !fc_source_list(source, "/sys/kernel/mm/memory_peers", &names, &gap))
        return found;
    for (size_t i = 0; i < names.count; i++)
        found |= strncmp(names.name[i], "nv", 2) == 0;
    fc_names_free(&names);
    return found;
}

static void set_peermem(const struct fc_source *source, struct fc_facts *out)
{
    char path[128], words[128] = "";
    size_t used = 0;
    bool registered = false;
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        snprintf(path, sizeof path, "/sys/module/%s", peers[i]);
        if (!fc_source_exists(source, path))
            continue;
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s",
                                 used ? ", " : "", peers[i]);
        registered |= is_registered(source, peers[i]);
    }
    fc_facts_text(out, "gpu.peermem", used ? words : "none");
    fc_facts_set(out, "gpu.peermem_registered", json_boolean(registered));
}

/* The kernel's own configuration, where the distribution keeps it; NULL: nowhere. */
static char *read_config(const struct fc_source *source, const char *release)
{
    static const char *const forms[] = {"/boot/config-%s", "/lib/modules/%s/config",
                                        "/usr/lib/modules/%s/config"};
    char *text = malloc(CONFIG_BYTES);
    char path[64 + RELEASE_BYTES];
    struct fc_gap gap;
    for (size_t i = 0; text && i < sizeof forms / sizeof *forms; i++) {
        const char *rest = strstr(forms[i], "%s");
        snprintf(path, sizeof path, "%.*s%s%s", (int)(rest - forms[i]), forms[i],
                 release, rest + 2);
        if (fc_source_read(source, path, text, CONFIG_BYTES, &gap))
            return text;
    }
    free(text);
    return NULL;
}

/* "y", "m", or "n" where the option is not set. */
static char option_value(const char *config, const char *option)
{
    size_t n = strlen(option);
    for (const char *at = config; (at = strstr(at, option)); at += n)
        if ((at == config || at[-1] == '\n') && at[n] == '=')
            return at[n + 1];
    return 'n';
}

static json_t *options_json(const struct fc_source *source, const char *release)
{
    static const char *const options[] = {
        "CONFIG_DMA_SHARED_BUFFER", "CONFIG_DMABUF_MOVE_NOTIFY",
        "CONFIG_INFINIBAND_USER_MEM", "CONFIG_PCI_P2PDMA"};
    char *config = read_config(source, release);
    if (!config)
        return json_null();
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char value[2] = {option_value(config, options[i]), '\0'};
        json_object_set_new(o, options[i], fc_facts_string(value));
    }
    free(config);
    return o;
}

/* {"kernel": 5.12 or later, "options": {name: "y", "m" or "n"}}; options null: the
 * file cannot be read. */
static void set_dmabuf(const struct fc_source *source, struct fc_facts *out)
{
    char release[RELEASE_BYTES];
    struct fc_gap gap;
    int major, minor;
    if (!fc_source_read(source, "/proc/sys/kernel/osrelease", release, sizeof release,
                        &gap)) {
        fc_facts_gap(out, "kernel.dmabuf", &gap);
        return;
    }
    if (sscanf(release, "%d.%d", &major, &minor) != 2 || strchr(release, '/')) {
        fc_gap_set(&gap, "unsupported", "no right helps: \"%.60s\" is no release",
                   release);
        fc_facts_gap(out, "kernel.dmabuf", &gap);
        return;
    }
    bool recent = major > 5 || (major == 5 && minor >= 12);
    fc_facts_set(out, "kernel.dmabuf",
                 json_pack("{s:b, s:o}", "kernel", recent, "options",
                           options_json(source, release)));
}

void fc_facts_gpudirect(const struct fc_source *source, struct fc_facts *out)
{
    set_kind(source, out);
    set_peermem(source, out);
    set_dmabuf(source, out);
}
