// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck facts`: what only root can read on this node, into a file that `run`
 * takes it from. For a prolog, which runs as root; the run itself needs no such right.
 * */
#include "commands.h"

#include "core/option.h"
#include "core/watchdog.h"
#include "topology/facts_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct facts_options {
    char *output;
};

static const struct fc_option table[] = {
    {.name = "output",
     .letter = 'o',
     .type = FC_OPT_STRING,
     .offset = offsetof(struct facts_options, output),
     .def = FC_FACTS_ROOT_PATH,
     .arg = "FILE",
     .help = "where to; '-' is standard output; an older file is replaced"},
    FC_OPTION_END,
};

static void print_help(void)
{
    printf("usage: fabricheck facts [options]\n\n"
           "Writes what only root can read (ACS and PCI Express control words, Xids of "
           "the\n"
           "kernel's log, the serial number), for a prolog. `run` takes it from the "
           "default\n"
           "file when root owns it and it is of this boot.\n\n");
    fc_options_help(table, stdout);
}

/* Whole or not at all: into a new file beside it, which then takes its place. */
static enum fc_status replace(const char *path, const char *text, struct fc_error *err)
{
    char folder[4096], fresh[4096 + 8];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        if (mkdir(folder, 0755) != 0 && errno != EEXIST)
            return fc_fail(err, FC_USAGE, "-o: '%.300s': %s", folder, strerror(errno));
    }
    snprintf(fresh, sizeof fresh, "%.4000s.XXXXXX", path);
    int fd = mkstemp(fresh);
    if (fd < 0)
        return fc_fail(err, FC_USAGE, "-o: '%.300s': %s", path, strerror(errno));
    size_t length = strlen(text);
    bool good = fchmod(fd, 0644) == 0 && write(fd, text, length) == (ssize_t)length;
    good = close(fd) == 0 && good && rename(fresh, path) == 0;
    if (good)
        return FC_OK;
    int error = errno;
    unlink(fresh);
    return fc_fail(err, FC_USAGE, "-o: '%.300s': %s", path, strerror(error));
}

static enum fc_status facts(const struct facts_options *o, struct fc_error *err)
{
    const struct fc_source here = {.root = ""};
    json_t *json = NULL;
    enum fc_status status = fc_facts_root_file(&here, &json, err);
    char *text = status == FC_OK ? json_dumps(json, JSON_INDENT(1)) : NULL;
    json_decref(json);
    if (status == FC_OK && !text)
        status = fc_fail(err, FC_NOMEM, "facts: out of memory");
    if (status == FC_OK && strcmp(o->output, "-") == 0)
        printf("%s\n", text);
    else if (status == FC_OK)
        status = replace(o->output, text, err);
    free(text);
    return status;
}

enum fc_status fc_cmd_facts(const struct fc_backends *backends, int argc, char **argv,
                            int *out_exit, struct fc_error *err)
{
    struct facts_options o = {.output = NULL};
    bool done = false;
    (void)backends;
    enum fc_status status =
        fc_command_begin(table, argc, argv, &o, NULL, print_help, &done, err);
    if (status == FC_OK && !done && !*o.output)
        status = fc_fail(err, FC_USAGE, "-o: a file's name is missing");
    else if (status == FC_OK && !done)
        status = facts(&o, err);
    *out_exit = FC_EXIT_PASS;
    fc_options_free(table, &o);
    return status;
}
