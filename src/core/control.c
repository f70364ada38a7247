// SPDX-License-Identifier: BSD-3-Clause
#include "core/control.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct setting {
    const char *variable, *value;
};

int fc_control_major(const char *library)
{
    static const char prefix[] = "Open MPI v";
    if (!library || strncmp(library, prefix, sizeof prefix - 1) != 0)
        return 0;
    int major = 0;
    for (const char *c = library + sizeof prefix - 1; *c >= '0' && *c <= '9'; c++) {
        major = 10 * major + (*c - '0');
        if (major > 1000)
            return 0;
    }
    return major;
}

static bool has_entries(const char *root, const char *folder)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s%s", root, folder);
    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    bool found = false;
    for (struct dirent *e = readdir(dir); e && !found; e = readdir(dir))
        found = e->d_name[0] != '.';
    closedir(dir);
    return found;
}

bool fc_control_fabric_present(const char *root)
{
    return has_entries(root, "/sys/class/infiniband") ||
           has_entries(root, "/proc/driver/nvidia/gpus");
}

/* Notes what the user has, else sets one variable; false when memory is short. */
static bool apply_one(const struct setting *s, bool tcp, json_t *set, json_t *kept)
{
    const char *old = getenv(s->variable);
    if (old) {
        json_t *value = json_string(old);
        return json_object_set_new(kept, s->variable,
                                   value ? value : json_string("(not UTF-8)")) == 0;
    }
    return !tcp || (setenv(s->variable, s->value, 1) == 0 &&
                    json_object_set_new(set, s->variable, json_string(s->value)) == 0);
}

static const char *decide(const char *mode, bool fabric, int mpi_major, bool *out_tcp)
{
    *out_tcp = false;
    if (strcmp(mode, "mpi") == 0)
        return "--control mpi leaves MPI's own choice";
    if (mpi_major == 0)
        return "not Open MPI: its own choice";
    if (strcmp(mode, "tcp") == 0) {
        *out_tcp = true;
        return "--control tcp";
    }
    *out_tcp = fabric;
    return fabric
               ? "GPUs or verbs devices are there: a sick one must not hang agreements"
               : "host device only: MPI's own choice is what is measured";
}

enum fc_status fc_control_apply(const char *mode, bool fabric, int mpi_major,
                                json_t **out_control, struct fc_error *err)
{
    /* Open MPI 5 has renamed its shared memory transport from vader to sm. */
    const struct setting settings[] = {
        {"OMPI_MCA_pml", "ob1"},
        {"OMPI_MCA_btl", mpi_major >= 5 ? "tcp,self,sm" : "tcp,self,vader"},
        {"OMPI_MCA_coll_hcoll_enable", "0"},
    };
    if (strcmp(mode, "auto") != 0 && strcmp(mode, "tcp") != 0 &&
        strcmp(mode, "mpi") != 0)
        return fc_fail(err, FC_USAGE, "--control: \"%s\" is not auto, tcp or mpi",
                       mode);
    bool tcp;
    const char *why = decide(mode, fabric, mpi_major, &tcp);
    json_t *set = json_object(), *kept = json_object();
    bool good = set && kept;
    for (size_t i = 0; good && i < sizeof settings / sizeof *settings; i++)
        good = apply_one(&settings[i], tcp, set, kept);
    json_t *control = good ? json_pack("{s:s, s:s, s:O, s:O}", "mode", mode, "why", why,
                                       "set", set, "kept", kept)
                           : NULL;
    json_decref(set);
    json_decref(kept);
    if (!control)
        return fc_fail(err, FC_NOMEM, "--control: cannot set the environment: %s",
                       strerror(ENOMEM));
    *out_control = control;
    return FC_OK;
}
