// SPDX-License-Identifier: BSD-3-Clause
/* NCCL's topology file, held against the node: NCCL takes it for the truth, and looks
 * for its own GPUs and NICs there by their bus addresses. What it does not find there
 * it places as if there were no file, and says nothing.
 *
 * Bridges are not compared: in files for virtual machines they are made up. NICs are,
 * where the file has any as PCI functions. A file that gives functions no class still
 * has to name addresses that exist, and each GPU's. */
#include "topology/facts_parts.h"
#include "topology/model_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read when the variable is not set. */
static const char default_file[] = "/var/run/nvidia-topologyd/virtualTopology.xml";

enum { SHOWN = 16 }; /* addresses of a kind in the journal: more tell nothing new */

struct comparison {
    const struct fc_source *source;
    const struct fc_topo *file, *node;
    json_t *not_here;    /* in the file, not on this bus */
    json_t *not_in_file; /* GPUs and NICs of this node, not in the file */
    json_t *links;       /* the file's link is another than the device's best */
};

static void append(json_t *list, json_t *one)
{
    if (json_array_size(list) < SHOWN)
        json_array_append_new(list, one);
    else
        json_decref(one);
}

static bool has_child(const struct fc_topo *topo, size_t pci)
{
    for (size_t i = pci + 1; i < topo->pcis; i++)
        if (topo->pci[i].parent == (int)pci)
            return true;
    return false;
}

/* GPUs, NICs, and functions without a class that are no bridges. */
static bool is_device(const struct fc_topo *topo, size_t i)
{
    const struct fc_topo_pci *p = &topo->pci[i];
    bool unclassed = p->role == FC_PCI_OTHER && p->class_code < 0;
    return p->role == FC_PCI_GPU || p->role == FC_PCI_NIC ||
           (unclassed && !has_child(topo, i));
}

static void check_presence(struct comparison *c)
{
    char path[128];
    for (size_t i = 0; i < c->file->pcis; i++) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s", c->file->pci[i].bdf);
        if (is_device(c->file, i) && !fc_source_exists(c->source, path))
            append(c->not_here, json_string(c->file->pci[i].bdf));
    }
}

static bool has_nics(const struct fc_topo *topo)
{
    for (size_t i = 0; i < topo->pcis; i++)
        if (topo->pci[i].role == FC_PCI_NIC)
            return true;
    return false;
}

static void check_completeness(struct comparison *c)
{
    for (size_t i = 0; i < c->node->gpus; i++) {
        const char *bdf = c->node->pci[c->node->gpu[i].pci].bdf;
        if (fc_topo_find_pci(c->file, bdf) < 0)
            append(c->not_in_file, json_string(bdf));
    }
    for (size_t i = 0; has_nics(c->file) && i < c->node->nics; i++) {
        const struct fc_topo_nic *nic = &c->node->nic[i];
        if (nic->role == FC_NIC_FABRIC && nic->pci >= 0 &&
            fc_topo_find_pci(c->file, c->node->pci[nic->pci].bdf) < 0)
            append(c->not_in_file, json_string(c->node->pci[nic->pci].bdf));
    }
}

static bool differ(double a, double b)
{
    return a > 0 && b > 0 && (a > 1.01 * b || b > 1.01 * a);
}

/* The file's word for a link against what the device can do at most: today's speed of
 * an idle GPU says nothing. */
static void check_links(struct comparison *c)
{
    char file[48], here[48];
    for (size_t i = 0; i < c->file->pcis; i++) {
        const struct fc_topo_pci *f = &c->file->pci[i];
        int at = fc_topo_find_pci(c->node, f->bdf);
        bool device = f->role == FC_PCI_GPU || f->role == FC_PCI_NIC;
        if (!device || at < 0)
            continue;
        const struct fc_topo_link *best = &c->node->pci[at].link;
        if (!differ(f->link.GTps, best->max_GTps) &&
            !differ(f->link.width, best->max_width))
            continue;
        snprintf(file, sizeof file, "%g GT/s x%d", f->link.GTps, f->link.width);
        snprintf(here, sizeof here, "%g GT/s x%d", best->max_GTps, best->max_width);
        append(c->links,
               json_pack("{s:s, s:s, s:s}", "bdf", f->bdf, "file", file, "here", here));
    }
}

static void compare(struct comparison *c, json_t *fact)
{
    c->not_here = json_array();
    c->not_in_file = json_array();
    c->links = json_array();
    check_presence(c);
    check_completeness(c);
    check_links(c);
    json_object_set_new(fact, "not_here", c->not_here);
    json_object_set_new(fact, "not_in_file", c->not_in_file);
    json_object_set_new(fact, "links", c->links);
}

static void set_status(json_t *fact, const char *status, const char *reason)
{
    json_object_set_new(fact, "status", json_string(status));
    json_object_set_new(fact, "reason",
                        *reason ? fc_facts_string(reason) : json_null());
}

/* Without "--from 'path': ", which the fact has as its path. */
static const char *bare(const char *text)
{
    const char *end = strstr(text, "': ");
    return strncmp(text, "--from ", 7) == 0 && end ? end + 3 : text;
}

/* False: `fact` says why it is no topology. */
static bool open_file(const char *full, struct fc_topo **out_file, json_t *fact)
{
    struct fc_error err = {""};
    struct stat st;
    const struct fc_topo_source from = {.from = full};
    if (stat(full, &st) != 0 || access(full, R_OK) != 0) {
        set_status(fact, "unreadable", strerror(errno));
        return false;
    }
    if (fc_topo_open(&from, out_file, &err) != FC_OK) {
        set_status(fact, "invalid", bare(err.text));
        return false;
    }
    if ((*out_file)->kind == FC_TOPO_NCCL_XML) {
        set_status(fact, "ok", "");
        return true;
    }
    fc_topo_close(*out_file);
    set_status(fact, "invalid", "it is a picture, but not NCCL's <system>");
    return false;
}

static void read_node(const struct fc_source *source, struct fc_topo *file,
                      json_t *fact)
{
    struct fc_topo *node = NULL;
    struct fc_error err = {""};
    const struct fc_topo_source here = {
        .sysroot = source->root[0] ? source->root : NULL,
        .note = source->note,
        .arg = source->arg,
    };
    if (fc_topo_open(&here, &node, &err) == FC_OK) {
        struct comparison c = {.source = source, .file = file, .node = node};
        compare(&c, fact);
    }
    fc_topo_close(node);
}

/* What NCCL's files of variables say; false: nothing. */
static bool set_by_conf(const struct fc_source *source, char *out, size_t bytes)
{
    static const char name[] = "NCCL_TOPO_FILE=";
    struct fc_facts conf;
    const char *file;
    json_t *words;
    out[0] = '\0';
    if (fc_facts_init(&conf, NULL) != FC_OK)
        return false;
    fc_facts_nccl(source, &conf);
    /* in the order in which NCCL reads them */
    json_object_foreach(json_object_get(conf.values, "nccl.conf"), file, words)
    {
        const char *at = json_string_value(words);
        at = at ? strstr(at, name) : NULL;
        if (at && !out[0])
            snprintf(out, bytes, "%.*s", (int)strcspn(at + sizeof name - 1, " "),
                     at + sizeof name - 1);
    }
    fc_facts_fini(&conf);
    return out[0] != '\0';
}

void fc_facts_topo_file(const struct fc_source *source, struct fc_facts *out)
{
    const char *path = getenv("NCCL_TOPO_FILE"), *by = "NCCL_TOPO_FILE";
    char full[4096], told[1024];
    struct fc_topo *file = NULL;
    struct fc_gap gap;
    json_t *fact = json_object();
    if (!path || !*path) {
        bool set = set_by_conf(source, told, sizeof told);
        path = set ? told : default_file;
        by = set ? "nccl.conf" : "NCCL";
        if (!set && !fc_source_exists(source, path)) {
            set_status(fact, "none", "");
            fc_facts_set(out, "nccl.topo_file", fact);
            return;
        }
    }
    if (source->note)
        source->note(source->arg, path);
    json_object_set_new(fact, "path", fc_facts_string(path));
    json_object_set_new(fact, "by", json_string(by));
    if (!fc_source_path(source, path, full, sizeof full, &gap))
        set_status(fact, "unreadable", gap.right);
    else if (open_file(full, &file, fact)) {
        read_node(source, file, fact);
        fc_topo_close(file);
    }
    fc_facts_set(out, "nccl.topo_file", fact);
}
