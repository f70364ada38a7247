// SPDX-License-Identifier: BSD-3-Clause
/* Which container a node's ranks run in, how GPUs came into it, and which slices of
 * GPUs (MIG) it may use.
 *
 * Runtimes leave marks inside: a file, a variable, a word in the control group's path,
 * a mount. Of GPUs the mounts tell most: NVIDIA's nvidia-container-cli (its runtime,
 * and the hooks of enroot, Apptainer and LXC) lays a tmpfs over /proc/driver/nvidia;
 * CDI does not, but leaves its list of folders for the linker, or says void in
 * NVIDIA_VISIBLE_DEVICES; `apptainer --nv` mounts the driver's libraries into a folder
 * of its own. A machine that was made of a container's image keeps that one's
 * /.dockerenv, which counts for nothing where "/" is a whole file system of a disk.
 */
#include "topology/facts_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOUNTS_BYTES = 256 << 10, ENVIRON_BYTES = 128 << 10 };

struct mark {
    const char *where, *what;
};

/* ---- variables: of this process, or of the one that a captured tree is of ---- */

struct variables {
    const struct fc_source *source;
    char *text; /* NAME=value, each ended by 0, of a captured tree; else NULL */
};

static struct variables read_variables(const struct fc_source *source)
{
    struct variables v = {source, NULL};
    struct fc_gap gap;
    if (!source->root[0])
        return v;
    v.text = calloc(ENVIRON_BYTES + 1, 1); /* what is not read stays 0: the end */
    if (v.text &&
        !fc_source_read(source, "/proc/self/environ", v.text, ENVIRON_BYTES - 1, &gap))
        memset(v.text, 0, 2);
    for (size_t i = 0; v.text && i < ENVIRON_BYTES; i++)
        if (v.text[i] == '\n') /* captured line by line */
            v.text[i] = '\0';
    return v;
}

/* NULL: it is not set. */
static const char *variable(const struct variables *v, const char *name)
{
    size_t n = strlen(name);
    if (!v->source->root[0])
        return getenv(name);
    for (const char *p = v->text; p && *p; p += strlen(p) + 1)
        if (strncmp(p, name, n) == 0 && p[n] == '=')
            return p + n + 1;
    return NULL;
}

static const char *text_of(const struct variables *v, const char *name)
{
    const char *text = variable(v, name);
    return text ? text : "";
}

/* ---- mounts ---- */

struct mounts {
    char root[256]; /* which folder of its file system "/" is; "": not told */
    bool disk;      /* "/" is a whole file system of a block device */
    bool lock;      /* enroot's lock file */
    const char *by; /* who mounted the name files of the machine; NULL: nobody known */
    bool over_proc; /* a tmpfs over /proc/driver/nvidia */
    bool libraries, apptainer, folder; /* of the driver */
    bool dev;                          /* the host's whole /dev */
    bool plugin;                       /* Kubernetes' device plugin's list */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Who makes /etc/hosts or /etc/hostname of a container, by where theirs is kept. */
static const char *keeper(const char *root)
{
    static const struct mark keepers[] = {
        {"/kubelet/pods/", "kubernetes"},
        {"/docker/containers/", "docker"},
        {"/overlay-containers/", "podman"},
    };
    for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++)
        if (strstr(root, keepers[i].where))
            return keepers[i].what;
    return NULL;
}

static void note_root(struct mounts *m, const char *root, const char *device)
{
    snprintf(m->root, sizeof m->root, "%s", root);
    m->disk = strcmp(root, "/") == 0 && begins(device, "/dev/");
}

static bool is_library(const char *point)
{
    const char *last = strrchr(point, '/');
    return last && (begins(last, "/libcuda.so") || begins(last, "/libnvidia-ml.so"));
}

static void note_mount(struct mounts *m, const char *root, const char *point,
                       const char *type, const char *device)
{
    if (strcmp(point, "/") == 0)
        note_root(m, root, device);
    else if (strcmp(point, "/etc/hosts") == 0 || strcmp(point, "/etc/hostname") == 0)
        m->by = m->by ? m->by : keeper(root);
    m->lock |= strcmp(point, "/.lock") == 0;
    m->over_proc |=
        strcmp(point, "/proc/driver/nvidia") == 0 && strcmp(type, "tmpfs") == 0;
    m->apptainer |= begins(point, "/.singularity.d/libs/");
    m->libraries |= is_library(point);
    m->folder |=
        strcmp(point, "/usr/local/nvidia") == 0 || begins(point, "/run/nvidia/driver");
    m->dev |= strcmp(point, "/dev") == 0 && strcmp(type, "devtmpfs") == 0;
    m->plugin |= strstr(point, "/run/nvidia-container-devices") != NULL;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS … - TYPE DEVICE OPTIONS" */
static void note_line(struct mounts *m, char *line)
{
    char *word[5] = {NULL}, *save = NULL;
    char *dash = strstr(line, " - ");
    if (!dash)
        return;
    *dash = '\0';
    for (size_t i = 0; i < 5; i++)
        word[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
    char *type = strtok_r(dash + 3, " ", &save);
    char *device = type ? strtok_r(NULL, " ", &save) : NULL;
    if (word[4] && type)
        note_mount(m, word[3], word[4], type, device ? device : "");
}

static struct mounts read_mounts(const struct fc_source *source)
{
    struct mounts m = {.root = ""};
    struct fc_gap gap;
    char *text = malloc(MOUNTS_BYTES), *save = NULL;
    if (text &&
        fc_source_read(source, "/proc/self/mountinfo", text, MOUNTS_BYTES, &gap))
        for (char *line = strtok_r(text, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
            note_line(&m, line);
    free(text);
    return m;
}

/* ---- the container ---- */

/* Pyxis calls the folders that it makes for a job's step pyxis_…. */
static const char *container_by_enroot(const struct mounts *m)
{
    const char *last = strrchr(m->root, '/');
    if (!m->lock)
        return NULL;
    return last && begins(last, "/pyxis_") ? "pyxis" : "enroot";
}

static const char *container_by_variable(const struct variables *v)
{
    static const struct mark known[] = {
        {"APPTAINER_CONTAINER", "apptainer"}, {"SINGULARITY_CONTAINER", "apptainer"},
        {"CH_RUNNING", "charliecloud"},       {"KUBERNETES_SERVICE_HOST", "kubernetes"},
        {"ENROOT_ROOTFS", "enroot"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (variable(v, known[i].where))
            return known[i].what;
    const char *name = variable(v, "container");
    return name && *name ? name : NULL;
}

static const char *container_by_file(const struct fc_source *source,
                                     const struct mounts *m)
{
    static const struct mark files[] = {
        {"/run/.containerenv", "podman"},
        {"/.dockerenv", "docker"},
        {"/.singularity.d", "apptainer"},
        {"/run/secrets/kubernetes.io", "kubernetes"},
        {"/run/host/container-manager", "other"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files && !m->disk; i++)
        if (fc_source_exists(source, files[i].where))
            return files[i].what;
    return NULL;
}

static const char *container_by_cgroup(const struct fc_source *source)
{
    static const struct mark words[] = {
        {"kubepods", "kubernetes"},
        {"/docker", "docker"},
        {"libpod", "podman"},
        {"/lxc", "lxc"},
        {"containerd", "other"},
        {"crio-", "kubernetes"},
        {"machine.slice/machine-", "nspawn"},
    };
    char text[4096];
    struct fc_gap gap;
    if (!fc_source_read(source, "/proc/self/cgroup", text, sizeof text, &gap))
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i].where))
            return words[i].what;
    return NULL;
}

static const char *find_container(const struct fc_source *source,
                                  const struct variables *v, const struct mounts *m)
{
    const char *name = container_by_enroot(m);
    if (!name)
        name = container_by_variable(v);
    if (!name)
        name = container_by_file(source, m);
    if (!name)
        name = container_by_cgroup(source);
    if (!name)
        name = m->by;
    return name ? name : "none";
}

/* ---- how GPUs came into it ---- */

/* How many of NVIDIA's GPUs have a device file here: /dev/nvidia0 and so on; -1: there
 * is no /dev. */
static int64_t count_files(const struct fc_source *source, struct fc_gap *gap)
{
    struct fc_names names;
    int64_t n = 0;
    if (!fc_source_list(source, "/dev", &names, gap))
        return -1;
    for (size_t i = 0; i < names.count; i++)
        n +=
            begins(names.name[i], "nvidia") && isdigit((unsigned char)names.name[i][6]);
    fc_names_free(&names);
    return n;
}

/* CDI has the linker look into the folders of the libraries that it mounts. */
static bool has_cdi_list(const struct fc_source *source)
{
    struct fc_names names;
    struct fc_gap gap;
    bool found = false;
    if (!fc_source_list(source, "/etc/ld.so.conf.d", &names, &gap))
        return false;
    for (size_t i = 0; i < names.count; i++)
        found |= begins(names.name[i], "00-nvcr-");
    fc_names_free(&names);
    return found;
}

static const char *find_way(const struct fc_source *source, const struct variables *v,
                            const struct mounts *m)
{
    bool voided = strcmp(text_of(v, "NVIDIA_VISIBLE_DEVICES"), "void") == 0;
    if (m->over_proc)
        return "nvidia-container-cli";
    if (m->apptainer)
        return "apptainer --nv";
    if (has_cdi_list(source) || (m->libraries && voided))
        return "CDI";
    if (m->libraries)
        return "bind mounts";
    if (m->folder)
        return "a mounted driver folder";
    return m->dev ? "the host's /dev" : "device files alone";
}

/* Kubernetes' device plugin names GPUs; an image's own "all" asks nobody. */
static const char *kubernetes_way(const struct variables *v, const struct mounts *m)
{
    const char *visible = text_of(v, "NVIDIA_VISIBLE_DEVICES");
    if (m->plugin || begins(visible, "GPU-") || begins(visible, "MIG-") ||
        strcmp(visible, "void") == 0 ||
        strstr(visible, "/run/nvidia-container-devices"))
        return ", device plugin";
    return strcmp(visible, "all") == 0 ? ", NVIDIA_VISIBLE_DEVICES=all of the image"
                                       : "";
}

static void set_way(const struct fc_source *source, const struct variables *v,
                    const struct mounts *m, const char *container, struct fc_facts *out)
{
    char text[96];
    struct fc_gap gap;
    int64_t files = count_files(source, &gap);
    bool amd = fc_source_exists(source, "/dev/kfd");
    if (files < 0) {
        fc_facts_gap(out, "virt.gpu_files", &gap);
        fc_facts_gap(out, "virt.gpus_by", &gap);
        return;
    }
    fc_facts_int(out, "virt.gpu_files", files);
    if (files == 0 && !amd)
        snprintf(text, sizeof text, "none");
    else if (strcmp(container, "none") == 0)
        snprintf(text, sizeof text, "host");
    else
        snprintf(text, sizeof text, "%s%s", find_way(source, v, m),
                 strcmp(container, "kubernetes") == 0 ? kubernetes_way(v, m) : "");
    fc_facts_text(out, "virt.gpus_by", text);
}

/* ---- slices of GPUs ---- */

struct slices {
    int gpus, slices, open;
};

/* True when the capability that guards the slice has its device file here. */
static bool is_open(const struct fc_source *source, const char *folder)
{
    char path[320], text[256];
    struct fc_gap gap;
    int minor;
    snprintf(path, sizeof path, "%s/access", folder);
    if (!fc_source_read(source, path, text, sizeof text, &gap))
        return false;
    const char *at = strstr(text, "DeviceFileMinor:");
    if (!at || sscanf(at, "DeviceFileMinor: %d", &minor) != 1)
        return false;
    snprintf(path, sizeof path, "/dev/nvidia-caps/nvidia-cap%d", minor);
    return fc_source_exists(source, path);
}

static void count_slices_of(const struct fc_source *source, const char *gpu,
                            struct slices *s)
{
    char folder[256], at[192];
    struct fc_names names;
    struct fc_gap gap;
    int before = s->slices;
    snprintf(at, sizeof at, "/proc/driver/nvidia/capabilities/%.63s/mig", gpu);
    if (!fc_source_exists(source, at) || !fc_source_list(source, at, &names, &gap))
        return;
    for (size_t i = 0; i < names.count; i++) {
        if (!begins(names.name[i], "gi"))
            continue;
        snprintf(folder, sizeof folder, "%s/%.60s", at, names.name[i]);
        s->slices++;
        s->open += is_open(source, folder);
    }
    fc_names_free(&names);
    s->gpus += s->slices > before;
}

/* Names of slices in a list of devices: MIG-…,MIG-…. */
static int count_named(const char *list)
{
    int n = 0;
    for (const char *p = strstr(list, "MIG-"); p; p = strstr(p + 1, "MIG-"))
        n += p == list || p[-1] == ',';
    return n;
}

static void set_slices(const struct fc_source *source, const struct variables *v,
                       struct fc_facts *out)
{
    static const char folder[] = "/proc/driver/nvidia/capabilities";
    struct slices s = {0, 0, 0};
    struct fc_names names;
    struct fc_gap gap;
    if (fc_source_exists(source, folder) &&
        fc_source_list(source, folder, &names, &gap)) {
        for (size_t i = 0; i < names.count; i++)
            if (begins(names.name[i], "gpu"))
                count_slices_of(source, names.name[i], &s);
        fc_names_free(&names);
    }
    int named = count_named(text_of(v, "NVIDIA_VISIBLE_DEVICES"));
    if (named == 0)
        named = count_named(text_of(v, "CUDA_VISIBLE_DEVICES"));
    fc_facts_set(out, "virt.mig",
                 json_pack("{s:i, s:i, s:i}", "gpus", s.gpus, "slices", s.slices,
                           "open", named > 0 ? named : s.open));
}

void fc_facts_container(const struct fc_source *source, struct fc_facts *out)
{
    struct variables v = read_variables(source);
    struct mounts m = read_mounts(source);
    const char *container = find_container(source, &v, &m);
    fc_facts_text(out, "virt.container", container);
    set_way(source, &v, &m, container, out);
    set_slices(source, &v, out);
    free(v.text);
}
