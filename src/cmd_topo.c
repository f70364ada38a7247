// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck topo`: the picture of this node, or of one that was captured. */
#include "commands.h"

#include "core/option.h"
#include "core/watchdog.h"
#include "topology/model.h"
#include "topology/print.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct topo_options {
    char *from, *sysroot, *format;
};

static const struct fc_option table[] = {
    {.name = "from",
     .type = FC_OPT_STRING,
     .offset = offsetof(struct topo_options, from),
     .arg = "FILE",
     .help = "an hwloc XML, an NCCL topology XML, a journal, this command's JSON, or "
             "files of /sys as one JSON object; default: this machine"},
    {.name = "sysroot",
     .type = FC_OPT_STRING,
     .offset = offsetof(struct topo_options, sysroot),
     .arg = "DIR",
     .help = "a folder that holds another machine's sys and proc"},
    {.name = "format",
     .type = FC_OPT_CHOICE,
     .offset = offsetof(struct topo_options, format),
     .def = "text",
     .choices = "text|matrix|json|xml|svg",
     .arg = "FORMAT",
     .help = "a tree, the matrix of nvidia-smi topo -m, JSON, hwloc's XML, a drawing"},
    FC_OPTION_END,
};

static const struct {
    const char *name;
    enum fc_status (*print)(const struct fc_topo *, FILE *, struct fc_error *);
} formats[] = {
    {"text", fc_topo_print_text}, {"matrix", fc_topo_print_matrix},
    {"json", fc_topo_print_json}, {"xml", fc_topo_print_xml},
    {"svg", fc_topo_print_svg},
};

static void print_help(void)
{
    printf(
        "usage: fabricheck topo [options]\n\n"
        "Shows the processors, NUMA nodes, PCIe tree, GPUs and NICs of a node, who is "
        "near\n"
        "whom, the rails, and what each link can carry at most.\n\n");
    fc_options_help(table, stdout);
}

static enum fc_status topo(const struct topo_options *o, struct fc_error *err)
{
    struct fc_topo *picture = NULL;
    const struct fc_topo_source source = {.from = o->from,
                                          .sysroot = o->sysroot,
                                          .want_xml = strcmp(o->format, "xml") == 0};
    if (o->from && o->sysroot)
        return fc_fail(err, FC_USAGE,
                       "--from '%.200s' and --sysroot exclude each other", o->from);
    enum fc_status status = fc_topo_open(&source, &picture, err);
    for (size_t i = 0; status == FC_OK && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, o->format) == 0) {
            status = formats[i].print(picture, stdout, err);
            break;
        }
    fc_topo_close(picture);
    return status;
}

enum fc_status fc_cmd_topo(const struct fc_backends *backends, int argc, char **argv,
                           int *out_exit, struct fc_error *err)
{
    struct topo_options o = {.from = NULL};
    bool done = false;
    (void)backends;
    enum fc_status status =
        fc_command_begin(table, argc, argv, &o, NULL, print_help, &done, err);
    if (status == FC_OK && !done)
        status = topo(&o, err);
    *out_exit = FC_EXIT_PASS;
    fc_options_free(table, &o);
    return status;
}
