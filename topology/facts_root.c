// SPDX-License-Identifier: BSD-3-Clause
/* What only root can read: `fabricheck facts` writes it into a file, for example from a
 * job's prolog; `run`, which has no such right, takes it from there.
 *
 * ACS: an extended capability of PCIe bridges. Redirection of requests, of completions
 * and forwarding upstream send traffic between two devices through the root complex.
 * Without root /sys shows the first 64 bytes of a function's configuration only.
 * The file counts when root owns it, nobody else may write it, and it was written since
 * this boot; its age is a fact. */
#include "topology/facts_root.h"

#include "core/clock.h"
#include "topology/facts_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CONFIG_BYTES = 4096, FILE_BYTES = 1 << 20, MAX_CAPABILITIES = 96 };

static unsigned word16(const unsigned char *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

/* The ACS control word; -1: the function has none; -2: the bytes end before it. */
int fc_acs_control(const unsigned char *config, size_t bytes)
{
    const unsigned acs = 0x000d;
    size_t at = 0x100;
    if (bytes <= 64)
        return -2;
    for (int i = 0; i < MAX_CAPABILITIES && at >= 0x100 && at + 8 <= bytes; i++) {
        unsigned id = word16(config + at), next = word16(config + at + 2) >> 4;
        if (id == acs)
            return (int)word16(config + at + 6);
        if (next == 0 || id == 0 || id == 0xffff)
            return -1;
        at = next & ~3u;
    }
    return -1;
}

static ssize_t read_config(const struct fc_source *source, const char *bdf,
                           unsigned char *out, struct fc_gap *gap)
{
    char path[128], full[4096];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/config", bdf);
    if (source->note)
        source->note(source->arg, path);
    if (!fc_source_path(source, path, full, sizeof full, gap))
        return -1;
    int fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, CONFIG_BYTES) : -1;
    if (n < 0)
        fc_gap_errno(gap, source, path, errno);
    if (fd >= 0)
        close(fd);
    return n;
}

/* The control word of a function's PCI Express capability; -1 and -2 as above. */
int fc_pcie_control(const unsigned char *config, size_t bytes)
{
    const unsigned has_list = 0x10, pci_express = 0x10;
    if (bytes < 64)
        return -2;
    if (!(config[6] & has_list))
        return -1;
    size_t at = config[0x34] & ~3u;
    for (int i = 0; i < MAX_CAPABILITIES && at >= 0x40; i++) {
        if (at + 10 > bytes)
            return bytes <= 64 ? -2 : -1;
        if (config[at] == pci_express)
            return (int)word16(config + at + 8);
        at = config[at + 1] & ~3u;
    }
    return -1;
}

/* Class: 02 network, 03 display, 12 accelerator. */
static bool may_relax(int64_t class)
{
    return class >> 16 == 0x02 || class >> 16 == 0x03 || class >> 16 == 0x12;
}

/* Whether firmware lets a function relax the order of its writes. What a card makes of
 * it (mlx5's PCI_WR_ORDERING) is in the card, for its maker's tools alone. */
static void set_relaxed(const struct fc_source *source, struct fc_facts *out)
{
    static const char folder[] = "/sys/bus/pci/devices";
    const int relaxed = 0x10;
    struct fc_names names;
    struct fc_gap gap;
    unsigned char config[CONFIG_BYTES];
    size_t short_ones = 0, asked = 0;
    if (!fc_source_list(source, folder, &names, &gap)) {
        fc_facts_gap(out, "root.relaxed", &gap);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < names.count; i++) {
        int64_t class;
        char path[128];
        snprintf(path, sizeof path, "%s/%s/class", folder, names.name[i]);
        if (!fc_source_int(source, path, &class, &gap) || !may_relax(class))
            continue;
        asked++;
        ssize_t n = read_config(source, names.name[i], config, &gap);
        int control = n > 0 ? fc_pcie_control(config, (size_t)n) : -2;
        short_ones += control == -2;
        if (control >= 0)
            json_array_append_new(list, json_pack("{s:s, s:b}", "bdf", names.name[i],
                                                  "relaxed", control & relaxed));
    }
    fc_names_free(&names);
    if (asked > 0 && short_ones == asked) {
        json_decref(list);
        fc_gap_set(&gap, "EACCES",
                   "root, to read configurations beyond 64 bytes; verified writes to "
                   "GPU memory show what the order does");
        fc_facts_gap(out, "root.relaxed", &gap);
        return;
    }
    fc_facts_set(out, "root.relaxed", list);
}

static void set_acs(const struct fc_source *source, struct fc_facts *out)
{
    static const char folder[] = "/sys/bus/pci/devices";
    struct fc_names names;
    struct fc_gap gap;
    unsigned char config[CONFIG_BYTES];
    size_t short_ones = 0, bridges = 0;
    json_t *list = json_array();
    if (!fc_source_list(source, folder, &names, &gap)) {
        json_decref(list);
        fc_facts_gap(out, "root.acs", &gap);
        return;
    }
    for (size_t i = 0; i < names.count; i++) {
        int64_t class;
        char path[128];
        snprintf(path, sizeof path, "%s/%s/class", folder, names.name[i]);
        if (!fc_source_int(source, path, &class, &gap) || class >> 8 != 0x0604)
            continue;
        bridges++;
        ssize_t n = read_config(source, names.name[i], config, &gap);
        int control = n > 0 ? fc_acs_control(config, (size_t)n) : -2;
        short_ones += control == -2;
        if (control >= 0)
            json_array_append_new(list, json_pack("{s:s, s:i}", "bdf", names.name[i],
                                                  "control", control));
    }
    fc_names_free(&names);
    if (bridges > 0 && short_ones == bridges) {
        json_decref(list);
        fc_gap_set(&gap, "EACCES", "root, to read configurations beyond 64 bytes");
        fc_facts_gap(out, "root.acs", &gap);
        return;
    }
    fc_facts_set(out, "root.acs", list);
}

void fc_facts_root(const struct fc_source *source, struct fc_facts *out)
{
    set_relaxed(source, out);
    set_acs(source, out);
    fc_facts_xids(source, out);
    fc_facts_file(out, "dmi.serial", source, "/sys/class/dmi/id/product_serial");
}

enum fc_status fc_facts_root_file(const struct fc_source *source, json_t **out,
                                  struct fc_error *err)
{
    struct fc_facts facts;
    char boot[64] = "";
    struct fc_gap gap;
    enum fc_status status = fc_facts_init(&facts, err);
    if (status != FC_OK)
        return status;
    fc_facts_root(source, &facts);
    (void)fc_source_read(source, "/proc/sys/kernel/random/boot_id", boot, sizeof boot,
                         &gap);
    *out = json_pack("{s:s, s:s, s:s, s:I, s:O, s:O}", "schema", "fabricheck-facts/1",
                     "boot_id", boot, "time", fc_timestamp_now().text, "epoch_s",
                     (json_int_t)time(NULL), "facts", facts.values, "unreadable",
                     facts.unreadable);
    status = *out ? fc_facts_check(&facts, err)
                  : fc_fail(err, FC_NOMEM, "facts: out of memory");
    fc_facts_fini(&facts);
    return status;
}

/* The file's object, when it may be trusted; NULL: `gap` says why not. */
static json_t *load_file(const struct fc_source *source, const char *path,
                         struct fc_gap *gap)
{
    char full[4096], boot[64] = "";
    struct stat st = {0};
    json_t *json = NULL;
    if (!fc_source_path(source, path, full, sizeof full, gap))
        return NULL;
    int fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0) {
        fc_gap_set(gap, "EACCES",
                   "root: `fabricheck facts` as root since boot (%s: %s)", path,
                   strerror(errno));
    } else if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022) ||
               st.st_size > FILE_BYTES) {
        fc_gap_set(gap, "error", "no right helps: %s is not a file of root's alone",
                   path);
    } else {
        json = json_loadfd(fd, 0, NULL);
        const char *told = json_string_value(json_object_get(json, "boot_id"));
        (void)fc_source_read(source, "/proc/sys/kernel/random/boot_id", boot,
                             sizeof boot, gap);
        if (!told || !boot[0] || strcmp(told, boot) != 0) {
            json_decref(json);
            json = NULL;
            fc_gap_set(gap, "EACCES", "root: %s is of another boot", path);
        }
    }
    if (fd >= 0)
        close(fd);
    return json;
}

void fc_facts_privileged(const struct fc_source *source, struct fc_facts *out)
{
    static const char *const keys[] = {"root.acs", "root.relaxed", "root.xids",
                                       "root.age_s"};
    struct fc_gap gap;
    const char *key;
    json_t *value;
    json_t *json = load_file(source, FC_FACTS_ROOT_PATH, &gap);
    for (size_t i = 0; !json && i < sizeof keys / sizeof *keys; i++)
        fc_facts_gap(out, keys[i], &gap);
    json_object_foreach(json_object_get(json, "unreadable"), key, value)
    {
        fc_gap_set(&gap, "error", "no right helps: root could not read it either");
        if (strncmp(key, "root.", 5) == 0)
            fc_facts_gap(out, key, &gap);
    }
    json_object_foreach(json_object_get(json, "facts"), key, value)
    {
        if (strncmp(key, "root.", 5) == 0 || strcmp(key, "dmi.serial") == 0)
            fc_facts_set(out, key, json_incref(value));
    }
    json_int_t written = json_integer_value(json_object_get(json, "epoch_s"));
    if (json)
        fc_facts_int(out, "root.age_s", (int64_t)time(NULL) - written);
    json_decref(json);
}
