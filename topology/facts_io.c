// SPDX-License-Identifier: BSD-3-Clause
/* What a node reaches the others with: GPUs on the bus, RDMA devices, interfaces. Names
 * and counts only; what they can do is topology's and rdma's. Reading an interface asks
 * its driver, and a sick one may never answer. */
#include "topology/facts_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Classes: 0300 display, 0302 3D controller, 0380 other display, 1200 accelerator.
 * A display of another maker than NVIDIA is the board's own console. */
static bool is_gpu(int64_t vendor, int64_t class)
{
    const int64_t nvidia = 0x10de, amd = 0x1002;
    switch (class >> 8) {
    case 0x0302:
        return true;
    case 0x0300:
        return vendor == nvidia;
    case 0x0380:
    case 0x1200:
        return vendor == amd;
    default:
        return false;
    }
}

static void set_driver(const struct fc_source *source, struct fc_facts *out)
{
    char text[1024];
    struct fc_gap gap;
    if (!fc_source_read(source, "/proc/driver/nvidia/version", text, sizeof text,
                        &gap)) {
        fc_facts_gap(out, "gpu.driver", &gap);
        return;
    }
    /* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun …" */
    text[strcspn(text, "\n")] = '\0';
    char *save = NULL;
    for (char *word = strtok_r(text, " ", &save); word;
         word = strtok_r(NULL, " ", &save))
        if (strchr(word, '.') && strspn(word, "0123456789.") == strlen(word)) {
            fc_facts_text(out, "gpu.driver", word);
            return;
        }
    fc_gap_set(&gap, "unsupported",
               "no right helps: /proc/driver/nvidia/version names no version");
    fc_facts_gap(out, "gpu.driver", &gap);
}

void fc_facts_gpu(const struct fc_source *source, struct fc_facts *out)
{
    static const char folder[] = "/sys/bus/pci/devices";
    struct fc_names devices;
    struct fc_gap gap;
    int64_t count = 0, nvidia = 0, vendor, class;
    char path[256];
    if (!fc_source_list(source, folder, &devices, &gap)) {
        fc_facts_gap(out, "gpu.count", &gap);
        fc_facts_gap(out, "gpu.driver", &gap);
        return;
    }
    for (size_t i = 0; i < devices.count; i++) {
        snprintf(path, sizeof path, "%s/%s/class", folder, devices.name[i]);
        if (!fc_source_int(source, path, &class, &gap))
            continue;
        snprintf(path, sizeof path, "%s/%s/vendor", folder, devices.name[i]);
        if (!fc_source_int(source, path, &vendor, &gap) || !is_gpu(vendor, class))
            continue;
        count++;
        nvidia += vendor == 0x10de;
    }
    fc_names_free(&devices);
    fc_facts_int(out, "gpu.count", count);
    if (nvidia > 0)
        set_driver(source, out);
    else
        fc_facts_text(out, "gpu.driver", "none");
}

void fc_facts_rdma(const struct fc_source *source, struct fc_facts *out)
{
    static const char folder[] = "/sys/class/infiniband";
    struct fc_names devices = {0};
    struct fc_gap gap;
    char path[256];
    int64_t physical = 0;
    json_t *names = json_array();
    /* No folder: the kernel has no RDMA, which is a count and not a gap. */
    if (!fc_source_list(source, folder, &devices, &gap) &&
        strcmp(gap.reason, "ENOENT") != 0) {
        json_decref(names);
        fc_facts_gap(out, "rdma.count", &gap);
        fc_facts_gap(out, "rdma.devices", &gap);
        return;
    }
    for (size_t i = 0; i < devices.count; i++) {
        snprintf(path, sizeof path, "%s/%s/device/physfn", folder, devices.name[i]);
        physical += !fc_source_exists(source, path);
        if (json_array_append_new(names, fc_facts_string(devices.name[i])) != 0)
            out->short_of_memory = true;
    }
    fc_names_free(&devices);
    fc_facts_int(out, "rdma.count", physical);
    fc_facts_set(out, "rdma.devices", names);
}

struct interface {
    char name[64], state[32], driver[64];
    int64_t speed_mbps, mtu; /* -1: not told */
    bool virtual;
};

static bool is_virtual(const struct fc_source *source, const char *name)
{
    char path[256], full[PATH_MAX], target[PATH_MAX];
    struct fc_gap gap;
    snprintf(path, sizeof path, "/sys/class/net/%s", name);
    if (!fc_source_path(source, path, full, sizeof full, &gap))
        return true;
    ssize_t n = readlink(full, target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    return strstr(target, "/virtual/") != NULL;
}

static void read_interface(const struct fc_source *source, const char *name,
                           struct interface *out)
{
    char path[256];
    struct fc_gap gap;
    snprintf(out->name, sizeof out->name, "%s", name);
    out->virtual = is_virtual(source, name);
    snprintf(path, sizeof path, "/sys/class/net/%s/operstate", name);
    if (!fc_source_read(source, path, out->state, sizeof out->state, &gap))
        snprintf(out->state, sizeof out->state, "unknown");
    snprintf(path, sizeof path, "/sys/class/net/%s/mtu", name);
    if (!fc_source_int(source, path, &out->mtu, &gap))
        out->mtu = -1;
    /* A link that is down, and most virtual ones, answer with an error or -1. */
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    if (!fc_source_int(source, path, &out->speed_mbps, &gap) || out->speed_mbps <= 0)
        out->speed_mbps = -1;
    snprintf(path, sizeof path, "/sys/class/net/%s/device/driver", name);
    if (!fc_source_link(source, path, out->driver, sizeof out->driver, &gap))
        out->driver[0] = '\0';
}

static json_t *interface_json(const struct interface *i)
{
    json_t *speed =
        i->speed_mbps < 0 ? json_null() : json_real((double)i->speed_mbps / 1e3);
    json_t *mtu = i->mtu < 0 ? json_null() : json_integer(i->mtu);
    json_t *driver = i->driver[0] ? fc_facts_string(i->driver) : json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "name", fc_facts_string(i->name),
                     "state", fc_facts_string(i->state), "speed_Gbps", speed, "mtu",
                     mtu, "driver", driver, "virtual", i->virtual);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum { LINK_BYTES = 128, LINKS_MAX = 64 };

/* "mlx5_core 100 Gb/s mtu 9000"; "virtio_net ? Gb/s mtu 1500" where no rate is told. */
static void link_text(const struct interface *i, char out[LINK_BYTES])
{
    const char *driver = i->driver[0] ? i->driver : "?";
    char rate[32] = "?";
    if (i->speed_mbps >= 0 && i->speed_mbps % 1000 == 0)
        snprintf(rate, sizeof rate, "%lld", (long long)i->speed_mbps / 1000);
    else if (i->speed_mbps >= 0)
        snprintf(rate, sizeof rate, "%lld.%03d", (long long)i->speed_mbps / 1000,
                 (int)(i->speed_mbps % 1000));
    snprintf(out, LINK_BYTES, "%s %s Gb/s mtu %lld", driver, rate, (long long)i->mtu);
}

/* "mlx5_core 100 Gb/s mtu 9000 x2; igb 1 Gb/s mtu 1500": the same on equal nodes,
 * however the kernel has named and ordered the interfaces. */
static void set_links(struct fc_facts *out, char (*link)[LINK_BYTES], size_t n)
{
    char joined[LINK_BYTES * 16] = "";
    size_t used = 0;
    qsort(link, n, sizeof *link, by_text);
    for (size_t i = 0, same; i < n && used < sizeof joined; i += same) {
        char times[16] = "";
        for (same = 1; i + same < n && strcmp(link[i], link[i + same]) == 0;)
            same++;
        if (same > 1)
            snprintf(times, sizeof times, " x%d", (int)same);
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s%s",
                                 i ? "; " : "", link[i], times);
    }
    fc_facts_text(out, "net.links", joined[0] ? joined : "none");
}

void fc_facts_net(const struct fc_source *source, struct fc_facts *out)
{
    struct fc_names names;
    struct fc_gap gap;
    char link[LINKS_MAX][LINK_BYTES];
    size_t links = 0;
    if (!fc_source_list(source, "/sys/class/net", &names, &gap)) {
        fc_facts_gap(out, "net.interfaces", &gap);
        fc_facts_gap(out, "net.links", &gap);
        return;
    }
    json_t *all = json_array();
    for (size_t i = 0; i < names.count; i++) {
        struct interface one;
        if (strcmp(names.name[i], "bonding_masters") == 0)
            continue;
        read_interface(source, names.name[i], &one);
        if (json_array_append_new(all, interface_json(&one)) != 0)
            out->short_of_memory = true;
        if (one.virtual || strcmp(one.state, "up") != 0 || links == LINKS_MAX)
            continue;
        link_text(&one, link[links++]);
    }
    fc_names_free(&names);
    fc_facts_set(out, "net.interfaces", all);
    set_links(out, link, links);
}
