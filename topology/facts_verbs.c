// SPDX-License-Identifier: BSD-3-Clause
/* What programs need of RDMA devices: the file /dev/infiniband/uverbsN of each, and
 * the right to open it; the files of ib_umad, without which no subnet manager runs
 * here; the versions of the library and of the kernel's modules.
 *
 * Opening the file asks ib_uverbs for a descriptor and nothing of the card. Why it
 * fails is told apart: no such file (a container that was not given it), rights of the
 * file (EACCES), the control group's list of devices (EPERM), a file of a device that
 * is gone (ENXIO). */
#include "topology/facts_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char verbs_class[] = "/sys/class/infiniband_verbs";

static const char *access_word(int error)
{
    switch (error) {
    case 0:
        return "ok";
    case ENOENT:
    case ENOTDIR:
        return "ENOENT";
    case EACCES:
        return "EACCES";
    case EPERM:
        return "cgroup";
    case ENXIO:
    case ENODEV:
        return "ENXIO";
    default:
        return "error";
    }
}

static const char *try_open(const struct fc_source *source, const char *name)
{
    char path[128], full[4096];
    struct fc_gap gap;
    snprintf(path, sizeof path, "/dev/infiniband/%s", name);
    if (!fc_source_path(source, path, full, sizeof full, &gap))
        return "error";
    if (source->note)
        source->note(source->arg, path);
    int fd = open(full, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return access_word(error);
}

/* The name of the file that belongs to an RDMA device; "": it has none. */
static void find_file(const struct fc_source *source, const struct fc_names *files,
                      const char *device, char *out, size_t bytes)
{
    char path[192], text[128];
    struct fc_gap gap;
    out[0] = '\0';
    for (size_t i = 0; i < files->count && !out[0]; i++) {
        snprintf(path, sizeof path, "%s/%s/ibdev", verbs_class, files->name[i]);
        if (strncmp(files->name[i], "uverbs", 6) == 0 &&
            fc_source_read(source, path, text, sizeof text, &gap) &&
            strcmp(text, device) == 0)
            snprintf(out, bytes, "%s", files->name[i]);
    }
}

static void set_uverbs(const struct fc_source *source, struct fc_facts *out)
{
    struct fc_names devices = {0}, files = {0};
    struct fc_gap gap;
    if (!fc_source_list(source, "/sys/class/infiniband", &devices, &gap) &&
        strcmp(gap.reason, "ENOENT") != 0) {
        fc_facts_gap(out, "rdma.uverbs", &gap);
        return;
    }
    (void)fc_source_list(source, verbs_class, &files, &gap);
    json_t *list = json_array();
    for (size_t i = 0; i < devices.count; i++) {
        char file[64];
        find_file(source, &files, devices.name[i], file, sizeof file);
        const char *access = file[0] ? try_open(source, file) : "no ib_uverbs";
        json_t *o = json_pack(
            "{s:o, s:o, s:s}", "nic", fc_facts_string(devices.name[i]), "file",
            file[0] ? fc_facts_string(file) : json_null(), "access", access);
        if (json_array_append_new(list, o) != 0)
            out->short_of_memory = true;
    }
    fc_names_free(&devices);
    fc_names_free(&files);
    fc_facts_set(out, "rdma.uverbs", list);
}

static void set_umad(const struct fc_source *source, struct fc_facts *out)
{
    struct fc_names names = {0};
    struct fc_gap gap;
    int64_t count = 0;
    if (!fc_source_list(source, "/sys/class/infiniband_mad", &names, &gap) &&
        strcmp(gap.reason, "ENOENT") != 0) {
        fc_facts_gap(out, "rdma.umad", &gap);
        return;
    }
    for (size_t i = 0; i < names.count; i++)
        count += strncmp(names.name[i], "umad", 4) == 0;
    fc_names_free(&names);
    fc_facts_int(out, "rdma.umad", count);
}

/* The library's file is named after its version: libibverbs.so.1.14.44.0 is of
 * rdma-core 44. */
static void set_core(const struct fc_source *source, struct fc_facts *out)
{
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                          "/lib64", "/usr/lib"};
    static const char prefix[] = "libibverbs.so.";
    char path[128], text[128];
    struct fc_gap gap;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/libibverbs.so.1", folders[i]);
        if (fc_source_link(source, path, text, sizeof text, &gap) &&
            strncmp(text, prefix, sizeof prefix - 1) == 0) {
            fc_facts_text(out, "rdma.core", text + sizeof prefix - 1);
            return;
        }
    }
    fc_facts_text(out, "rdma.core", "none");
}

static void set_driver(const struct fc_source *source, struct fc_facts *out)
{
    static const char *const modules[] = {"mlx5_core", "mlx4_core", "bnxt_re", "irdma",
                                          "efa",       "hfi1",      "rdma_rxe"};
    char path[128], version[64], words[512] = "";
    struct fc_gap gap;
    size_t used = 0;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        snprintf(path, sizeof path, "/sys/module/%s", modules[i]);
        if (!fc_source_exists(source, path) || used >= sizeof words)
            continue;
        snprintf(path, sizeof path, "/sys/module/%s/version", modules[i]);
        /* the kernel's own modules have none */
        if (!fc_source_read(source, path, version, sizeof version, &gap))
            snprintf(version, sizeof version, "inbox");
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s %s",
                                 used ? ", " : "", modules[i], version);
    }
    fc_facts_text(out, "rdma.driver", used ? words : "none");
}

void fc_facts_verbs(const struct fc_source *source, struct fc_facts *out)
{
    set_core(source, out);
    set_driver(source, out);
    set_umad(source, out);
    set_uverbs(source, out);
}
