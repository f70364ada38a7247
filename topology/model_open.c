// SPDX-License-Identifier: BSD-3-Clause
/* Which reader a source needs: by what the file holds, not by its name. */
#include "core/journal.h"
#include "topology/facts_parts.h"
#include "topology/model_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 32 << 20 };

/* A regular file, ended by 0; the caller frees. Of one that is too large only the
 * beginning, and *out_whole is false. NULL: err says why. */
static char *read_file(const char *path, size_t *out_length, bool *out_whole,
                       struct fc_error *err)
{
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    size_t used = 0, room = 0;
    ssize_t n = 1;
    char *text = NULL;
    if (fd < 0 || fstat(fd, &st) != 0) {
        (void)!fc_fail(err, FC_USAGE, "%s", strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        (void)!fc_fail(err, FC_USAGE,
                       "a folder without a journal: a captured tree is given by "
                       "--sysroot");
    } else if (!S_ISREG(st.st_mode)) {
        (void)!fc_fail(err, FC_USAGE, "no regular file");
    } else {
        room = st.st_size > MAX_FILE ? MAX_FILE : (size_t)st.st_size;
        if (!(text = malloc(room + 1)))
            (void)!fc_topo_full(err);
    }
    while (text && used < room && n > 0) {
        n = read(fd, text + used, room - used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (text)
        text[used] = '\0';
    *out_length = used;
    *out_whole = st.st_size <= MAX_FILE;
    if (fd >= 0)
        close(fd);
    return text;
}

/* libxml2 prints some errors whatever its options say. */
static void say_nothing(void *arg, const char *fmt, ...)
{
    (void)arg;
    (void)fmt;
}

/* No network, no external files, no growing entities. */
static xmlDoc *parse_xml(const char *text, size_t length, struct fc_error *err)
{
    const int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                        XML_PARSE_NOBLANKS | XML_PARSE_NOCDATA;
    xmlSetGenericErrorFunc(NULL, say_nothing);
    xmlResetLastError();
    xmlDoc *doc = xmlReadMemory(text, (int)length, "picture", NULL, options);
    if (doc && xmlDocGetRootElement(doc))
        return doc;
    if (doc)
        xmlFreeDoc(doc);
    const xmlError *why = xmlGetLastError();
    const char *message = why && why->message ? why->message : "no element";
    (void)!fc_fail(err, FC_USAGE, "no well-formed XML: line %d: %.*s",
                   why ? why->line : 0, (int)strcspn(message, "\n"), message);
    return NULL;
}

static enum fc_status keep_xml(struct fc_topo *topo, xmlDoc *doc, struct fc_error *err)
{
    xmlChar *text = NULL;
    int length = 0;
    xmlDocDumpFormatMemoryEnc(doc, &text, &length, "UTF-8", 1);
    topo->hwloc_xml = text ? strdup((const char *)text) : NULL;
    xmlFree(text);
    return topo->hwloc_xml ? FC_OK : fc_topo_full(err);
}

static enum fc_status read_xml(struct fc_topo *topo, const char *text, size_t length,
                               bool want_xml, struct fc_error *err)
{
    enum fc_status status;
    xmlDoc *doc = parse_xml(text, length, err);
    if (!doc)
        return FC_USAGE;
    xmlNode *root = xmlDocGetRootElement(doc);
    const char *name = (const char *)root->name;
    if (strcmp(name, "topology") == 0) {
        topo->kind = FC_TOPO_HWLOC_XML;
        status = fc_topo_read_hwloc_xml(topo, root, err);
        if (status == FC_OK && want_xml)
            status = keep_xml(topo, doc, err);
    } else if (strcmp(name, "system") == 0) {
        topo->kind = FC_TOPO_NCCL_XML;
        status = fc_topo_read_nccl_xml(topo, root, err);
    } else if (strcmp(name, "graphs") == 0) {
        status = fc_fail(err, FC_USAGE,
                         "an NCCL graph file (NCCL_GRAPH_DUMP_FILE); the topology is "
                         "what NCCL_TOPO_DUMP_FILE writes");
    } else {
        status = fc_fail(err, FC_USAGE,
                         "an XML of <%.40s>; known are <topology> (hwloc) and <system> "
                         "(NCCL)",
                         name);
    }
    xmlFreeDoc(doc);
    return status;
}

/* How the machine is virtual; a tree in JSON is not looked at. */
static enum fc_status read_virt(struct fc_topo *topo, const struct fc_tree *tree,
                                struct fc_error *err)
{
    struct fc_facts facts;
    enum fc_status status = tree->json ? FC_UNSUPPORTED : fc_facts_init(&facts, err);
    if (status != FC_OK)
        return status == FC_UNSUPPORTED ? FC_OK : status;
    fc_facts_virt(&tree->source, &facts);
    fc_topo_text(topo->hypervisor, sizeof topo->hypervisor,
                 json_string_value(json_object_get(facts.values, "virt.hypervisor")));
    fc_topo_text(topo->container, sizeof topo->container,
                 json_string_value(json_object_get(facts.values, "virt.container")));
    fc_topo_text(topo->gpus_by, sizeof topo->gpus_by,
                 json_string_value(json_object_get(facts.values, "virt.gpus_by")));
    const json_t *files = json_object_get(facts.values, "virt.gpu_files");
    topo->gpu_files = files ? (int)json_integer_value(files) : -1;
    topo->mig = fc_topo_mig_of(json_object_get(facts.values, "virt.mig"));
    fc_facts_fini(&facts);
    return FC_OK;
}

static enum fc_status read_tree(struct fc_topo *topo, const struct fc_tree *tree,
                                bool want_xml, struct fc_error *err)
{
    char text[128];
    enum fc_status status = topo->kind == FC_TOPO_LIVE
                                ? fc_topo_read_live_cpus(topo, want_xml, err)
                                : fc_topo_read_sys_cpus(topo, tree, err);
    if (status == FC_OK)
        status = fc_topo_read_sys_pci(topo, tree, err);
    if (status == FC_OK)
        status = fc_topo_read_sys_gpus(topo, tree, err);
    if (status == FC_OK)
        status = fc_topo_read_sys_nics(topo, tree, err);
    if (status == FC_OK)
        status = read_virt(topo, tree, err);
    if (fc_tree_read(tree, text, sizeof text, "/proc/sys/kernel/hostname"))
        fc_topo_text(topo->host_name, sizeof topo->host_name, text);
    if (fc_tree_read(tree, text, sizeof text, "/sys/class/dmi/id/product_name"))
        fc_topo_text(topo->machine, sizeof topo->machine, text);
    return status;
}

/* The picture of the first node line that has one; others are counted. */
static enum fc_status read_journal(struct fc_topo *topo, const char *text, bool whole,
                                   struct fc_error *err)
{
    enum fc_status status = FC_OK;
    size_t pictures = 0;
    topo->kind = FC_TOPO_JOURNAL;
    for (const char *line = text; *line && status == FC_OK;) {
        size_t length = strcspn(line, "\n");
        json_t *json = memmem(line, length, "\"picture\"", 9)
                           ? json_loadb(line, length, 0, NULL)
                           : NULL;
        const json_t *picture =
            json_object_get(json_object_get(json, "picture"), "topology");
        if (json_is_object(picture) && pictures++ == 0) {
            status = fc_topo_read_own(topo, picture, err);
            if (!topo->host_name[0])
                fc_topo_text(topo->host_name, sizeof topo->host_name,
                             json_string_value(json_object_get(json, "name")));
        }
        json_decref(json);
        line += length + (line[length] == '\n');
    }
    if (status == FC_OK && pictures == 0)
        return fc_fail(err, FC_USAGE, "a journal without a node's picture%s",
                       whole ? "" : " in its first 32 MiB");
    if (pictures > 1)
        fc_topo_unknown(topo,
                        "the journal's %zu more pictures, of other kinds of nodes",
                        pictures - 1);
    return status;
}

/* {"/sys/...": "content", ...} */
static enum fc_status read_json(struct fc_topo *topo, const char *text, size_t length,
                                struct fc_error *err)
{
    json_error_t why;
    json_t *json = json_loadb(text, length, 0, &why);
    struct fc_tree tree = {.source = {.root = ""}, .json = json};
    enum fc_status status = FC_OK;
    const char *schema = json_string_value(json_object_get(json, "schema"));
    if (schema && strcmp(schema, "fabricheck-topo/1") == 0) {
        topo->kind = FC_TOPO_OWN_JSON;
        status = fc_topo_read_own(topo, json, err);
        json_decref(json);
        return status;
    }
    bool paths = json_is_object(json) && json_object_size(json) > 0, any = false;
    for (void *i = paths ? json_object_iter(json) : NULL; i && paths;
         i = json_object_iter_next(json, i)) {
        const char *key = json_object_iter_key(i);
        paths = key[0] == '/' && json_is_string(json_object_iter_value(i));
        any |= strncmp(key, "/sys/", 5) == 0;
    }
    topo->kind = FC_TOPO_SYS_JSON;
    if (!json)
        status = fc_fail(err, FC_USAGE, "no well-formed JSON: line %d: %.120s",
                         why.line, why.text);
    else if (!paths || !any)
        status = fc_fail(err, FC_USAGE,
                         "a JSON without files of /sys ({\"/sys/...\": \"content\"}): "
                         "no picture of a node");
    else
        status = read_tree(topo, &tree, false, err);
    json_decref(json);
    return status;
}

/* Its first line is an object with a type. */
static bool is_journal(const char *text)
{
    json_t *json = json_loadb(text, strcspn(text, "\n"), 0, NULL);
    bool typed = json_is_string(json_object_get(json, "type"));
    json_decref(json);
    return typed;
}

static enum fc_status read_from(struct fc_topo *topo, const char *path, bool want_xml,
                                struct fc_error *err)
{
    size_t length = 0;
    bool whole = true;
    char in_run[4096];
    enum fc_status status;
    int n = snprintf(in_run, sizeof in_run, "%s/" FC_JOURNAL_NAME, path);
    bool is_run = n > 0 && (size_t)n < sizeof in_run && access(in_run, F_OK) == 0;
    char *text = read_file(is_run ? in_run : path, &length, &whole, err);
    if (!text)
        return FC_USAGE;
    const char *start = text + strspn(text, " \t\r\n");
    if (strncmp(start, "\xef\xbb\xbf", 3) == 0)
        start += 3;
    bool journal = is_journal(start);
    if (!whole && !journal)
        status = fc_fail(err, FC_USAGE, "larger than %d MiB: no picture of a node",
                         MAX_FILE >> 20);
    else if (strlen(text) != length)
        status = fc_fail(err, FC_USAGE,
                         "binary; an archive is unpacked first, and its "
                         "folder given by --sysroot");
    else if (*start == '<')
        status = read_xml(topo, start, strlen(start), want_xml, err);
    else if (journal)
        status = read_journal(topo, start, whole, err);
    else if (*start == '{')
        status = read_json(topo, start, strlen(start), err);
    else
        status = fc_fail(err, FC_USAGE, "%s",
                         *start ? "neither XML nor JSON: no picture of a node"
                                : "an empty file");
    free(text);
    return status;
}

static enum fc_status read_source(struct fc_topo *topo,
                                  const struct fc_topo_source *source,
                                  struct fc_error *err)
{
    struct stat st;
    struct fc_tree tree = {
        .source = {.root = source->sysroot ? source->sysroot : "",
                   .note = source->note,
                   .arg = source->arg},
    };
    fc_topo_text(topo->source, sizeof topo->source,
                 source->from      ? source->from
                 : source->sysroot ? source->sysroot
                                   : "live");
    if (source->from)
        return read_from(topo, source->from, source->want_xml, err);
    topo->kind = source->sysroot ? FC_TOPO_SYSROOT : FC_TOPO_LIVE;
    if (!source->sysroot)
        return read_tree(topo, &tree, source->want_xml, err);
    if (stat(source->sysroot, &st) != 0)
        return fc_fail(err, FC_USAGE, "%s", strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fc_fail(err, FC_USAGE, "no folder; a file is given by --from");
    if (!fc_tree_exists(&tree, "/sys"))
        return fc_fail(err, FC_USAGE, "there is no folder sys in it");
    enum fc_status status = read_tree(topo, &tree, false, err);
    if (status == FC_OK && topo->pus < 0 && topo->pcis == 0 && topo->nics == 0)
        return fc_fail(err, FC_USAGE,
                       "its sys holds no CPU, no PCI function and no "
                       "verbs device: nothing to show");
    return status;
}

enum fc_status fc_topo_open(const struct fc_topo_source *source,
                            struct fc_topo **out_topo, struct fc_error *err)
{
    struct fc_topo *topo = calloc(1, sizeof *topo);
    if (!topo)
        return fc_fail(err, FC_NOMEM, "a node's picture: out of memory");
    topo->packages_n = topo->cores = topo->pus = topo->numa_n = -1;
    topo->gpu_files = -1;
    enum fc_status status = read_source(topo, source, err);
    if (status == FC_OK)
        status = fc_topo_relate(topo, err);
    if (status == FC_OK) {
        *out_topo = topo;
        return FC_OK;
    }
    fc_topo_close(topo);
    fc_prefix(err, "%s '%.200s'",
              source->from      ? "--from"
              : source->sysroot ? "--sysroot"
                                : "this machine",
              source->from      ? source->from
              : source->sysroot ? source->sysroot
                                : "");
    return status;
}
