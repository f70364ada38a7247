// SPDX-License-Identifier: BSD-3-Clause
/* Does NCCL's topology file describe the node it is used on? NCCL looks for its GPUs
 * and NICs in it by their bus addresses; what it does not find it places as if there
 * were no file, and says so nowhere. A file that says another speed of a link than the
 * device does may be meant so by the cloud that wrote it: that is only told. */
#include "judge/nodefacts.h"
#include "judge/nodegroup.h"

#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *o, const char *key)
{
    const char *s = fc_ev_text(o, key);
    return s ? s : "";
}

static bool is(const json_t *file, const char *status)
{
    return strcmp(text(file, "status"), status) == 0;
}

static size_t length(const json_t *file, const char *key)
{
    return json_array_size(json_object_get(file, key));
}

static bool is_unreadable(const json_t *file)
{
    return is(file, "unreadable");
}

static bool is_invalid(const json_t *file)
{
    return is(file, "invalid");
}

static bool is_of_another_machine(const json_t *file)
{
    return is(file, "ok") && length(file, "not_here") + length(file, "not_in_file") > 0;
}

static bool has_other_links(const json_t *file)
{
    return is(file, "ok") && length(file, "links") > 0;
}

/* The file of the first node of which `is_so` holds; all such nodes into `group`. */
static const json_t *gather(const struct fc_case *c, bool (*is_so)(const json_t *),
                            struct fc_nodegroup *group)
{
    const json_t *first = NULL;
    group->count = 0;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        const json_t *file = fc_nodefact_json(c->ev, i, "nccl.topo_file");
        if (!json_is_object(file) || !is_so(file))
            continue;
        first = first ? first : file;
        fc_nodegroup_add(group, i);
    }
    return first;
}

static void find_unusable(const struct fc_case *c, struct fc_nodegroup *group)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    const json_t *file = gather(c, is_unreadable, group);
    f.cause =
        "a path that exists elsewhere only (another image, outside the container), "
        "or a missing right; NCCL goes on without the file";
    f.remedy = "put the file there on every node and into the container, or unset the "
               "variable";
    fc_nodegroup_find(c, group, &f, "NCCL's topology file %s cannot be read (%s)",
                      fc_clip(text(file, "path")).s, fc_clip(text(file, "reason")).s);
    file = gather(c, is_invalid, group);
    f.cause =
        "a file that was cut, edited by hand, or is of another kind; NCCL does not "
        "start with it";
    f.remedy = "take the file that the cloud gives for this type of machine anew";
    fc_nodegroup_find(c, group, &f, "NCCL's topology file %s is none (%s)",
                      fc_clip(text(file, "path")).s, fc_clip(text(file, "reason")).s);
}

/* "a, b, and 3 more" of an array of texts. */
static struct fc_clip first_of(const json_t *list)
{
    char words[128];
    size_t n = json_array_size(list), used = 0;
    words[0] = '\0';
    for (size_t i = 0; i < n && i < 2; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        int more = snprintf(words + used, sizeof words - used, "%s%.24s", i ? ", " : "",
                            word ? word : "?");
        used += more > 0 ? (size_t)more : 0;
    }
    if (n > 2)
        snprintf(words + used, sizeof words - used, " and %zu more", n - 2);
    return fc_clip(words);
}

static void find_mismatches(const struct fc_case *c, struct fc_nodegroup *group)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    const json_t *file = gather(c, is_of_another_machine, group);
    f.cause = "a file for another type of machine, or of before cards were moved; NCCL "
              "places what it does not find in it as if there were no file";
    f.remedy =
        "take the file of this type of machine, or have NCCL write what it finds "
        "with NCCL_TOPO_DUMP_FILE and compare the addresses";
    const json_t *here = json_object_get(file, "not_here"),
                 *in_file = json_object_get(file, "not_in_file");
    const char *path = text(file, "path");
    if (json_array_size(in_file) == 0)
        fc_nodegroup_find(
            c, group, &f,
            "NCCL's topology file %s is not of this node: it has %s, which "
            "are not on the bus",
            fc_clip(path).s, first_of(here).s);
    else if (json_array_size(here) == 0)
        fc_nodegroup_find(c, group, &f,
                          "NCCL's topology file %s is not of this node: it lacks %s",
                          fc_clip(path).s, first_of(in_file).s);
    else
        fc_nodegroup_find(
            c, group, &f,
            "NCCL's topology file %s is not of this node: it has %s, which "
            "are not on the bus, and lacks %s",
            fc_clip(path).s, first_of(here).s, first_of(in_file).s);
}

static void find_links(const struct fc_case *c, struct fc_nodegroup *group)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_INFO, FC_NONE);
    const json_t *file = gather(c, has_other_links, group);
    const json_t *link = json_array_get(json_object_get(file, "links"), 0);
    f.cause = "a file that was written for several types of machine, or by hand";
    f.remedy =
        "none is needed where rates are well; NCCL chooses its paths by the file";
    fc_nodegroup_find(
        c, group, &f,
        "NCCL's topology file says of %s %s, the device %s (%zu such links)",
        fc_clip(text(link, "bdf")).s, fc_clip(text(link, "file")).s,
        fc_clip(text(link, "here")).s, length(file, "links"));
}

void fc_rule_topo_file(const struct fc_case *c)
{
    struct fc_nodegroup group;
    if (!fc_nodegroup_open(c, &group))
        return;
    find_unusable(c, &group);
    find_mismatches(c, &group);
    find_links(c, &group);
    fc_nodegroup_close(&group);
}
