// SPDX-License-Identifier: BSD-3-Clause
/* A journal of nodes that look like the pictures given: what the config probe would
 * have written of them. Arguments: a picture (a file, or a folder that stands for "/")
 * begins a node; "+{...}" after it changes facts of that node. */
#include "topology/facts_parts.h"
#include "topology/model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void print_line(json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (!text) {
        fprintf(stderr, "journal_of: out of memory, or a text that is no UTF-8\n");
        exit(1);
    }
    puts(text);
    free(text);
    json_decref(line);
}

static json_t *facts_of(const char *path)
{
    struct stat st;
    struct fc_error err = {""};
    struct fc_topo *topo = NULL;
    struct fc_facts facts;
    bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    const struct fc_topo_source source = {.from = folder ? NULL : path,
                                          .sysroot = folder ? path : NULL};
    if (fc_topo_open(&source, &topo, &err) != FC_OK ||
        fc_facts_init(&facts, &err) != FC_OK) {
        fprintf(stderr, "journal_of: %s\n", err.text);
        exit(2);
    }
    fc_facts_of_picture(topo, &facts);
    if (topo->hypervisor[0])
        fc_facts_text(&facts, "virt.hypervisor", topo->hypervisor);
    json_t *values = json_incref(facts.values);
    json_object_del(values, "topo.picture");
    fc_facts_fini(&facts);
    fc_topo_close(topo);
    return values;
}

static void print_head(int nodes)
{
    print_line(json_pack("{s:s, s:s, s:s, s:s, s:[s], s:{}, s:{}, s:s, s:s, s:i, s:i, "
                         "s:b, s:{}, s:s}",
                         "type", "run", "schema", "fabricheck-journal/1", "version",
                         "0.1.0", "started", "2026-01-31T12:00:00.000Z", "command",
                         "run", "options", "labels", "launcher", "srun", "mpi",
                         "Open MPI v4.1.4", "ranks", nodes, "nodes", nodes, "simulated",
                         0, "control", "level", "quick"));
    print_line(json_pack("{s:s, s:[], s:f, s:[{s:s, s:b, s:f}]}", "type", "plan",
                         "skipped", "seconds", 1.0, "probes", "name", "config",
                         "demanded", 0, "cost_s", 1.0));
    print_line(json_pack("{s:s, s:s, s:{}, s:{}, s:{}}", "type", "profile", "name",
                         "default", "floor", "effect", "expect"));
    print_line(json_pack("{s:s, s:s, s:s, s:i, s:s}", "type", "phase", "name", "config",
                         "state", "begin", "attempt", 1, "time",
                         "2026-01-31T12:00:01.000Z"));
}

static void print_node(int node, json_t *facts)
{
    char name[16], source[16];
    snprintf(name, sizeof name, "n%d", node + 1);
    snprintf(source, sizeof source, "%d.0", node);
    print_line(json_pack("{s:s, s:s, s:[i], s:s}", "type", "node", "name", name,
                         "ranks", node, "class", "00000000000000aa"));
    print_line(json_pack("{s:s, s:s, s:o, s:{}, s:s}", "type", "fact", "node", name,
                         "facts", facts, "unreadable", "src", source));
    snprintf(source, sizeof source, "%d.1", node);
    print_line(json_pack("{s:s, s:s, s:i, s:{s:s}, s:{}, s:s}", "type", "fact", "node",
                         name, "rank", node, "facts", "limit.memlock", "unlimited",
                         "unreadable", "src", source));
}

static void print_end(void)
{
    print_line(json_pack("{s:s, s:s, s:s, s:i, s:s, s:s}", "type", "phase", "name",
                         "config", "state", "end", "attempt", 1, "time",
                         "2026-01-31T12:00:02.000Z", "status", "ok"));
    print_line(json_pack("{s:s, s:s, s:s, s:n}", "type", "end", "time",
                         "2026-01-31T12:00:03.000Z", "status", "complete", "reason"));
}

int main(int argc, char **argv)
{
    int nodes = 0;
    for (int i = 1; i < argc; i++)
        nodes += argv[i][0] != '+';
    print_head(nodes);
    nodes = 0;
    for (int i = 1; i < argc;) {
        json_t *facts = facts_of(argv[i++]);
        for (; i < argc && argv[i][0] == '+'; i++) {
            json_t *change = json_loads(argv[i] + 1, 0, NULL);
            if (!change || json_object_update(facts, change) != 0) {
                fprintf(stderr, "journal_of: '%s' is no object\n", argv[i]);
                return 2;
            }
            json_decref(change);
        }
        print_node(nodes++, facts);
    }
    print_end();
    return 0;
}
