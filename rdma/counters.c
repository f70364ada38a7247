// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/counters.h"
#include "rdma/ethtool.h"
#include "topology/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel asks a driver for hw_counters at most this often, unless "lifespan" says
 * another number of milliseconds. */
enum { LIFESPAN_MS = 10, COUNTERS_MAX = 1024 };

static const struct known {
    const char *name;
    enum fc_counter_from from;
    int bits;
    uint32_t unit;
    bool shared;
    enum fc_counter_meaning meaning;
} known[] = {
#define FC_COUNTER_NAME(name, from, bits, unit, shared, meaning)                       \
    {name, FC_COUNTER_##from, bits, unit, shared, FC_COUNTER_##meaning},
#include "rdma/counter_names.def"
#undef FC_COUNTER_NAME
};

const char *fc_counter_meaning_name(enum fc_counter_meaning meaning)
{
    static const char *const names[] = {"bytes", "packets", "errors", "congestion",
                                        "other"};
    return names[meaning];
}

/* ---- what a name means ---- */

/* "rx_prio3_pause" is as "rx_prioN_pause". */
static bool name_fits(const char *pattern, const char *name)
{
    while (*pattern && *name) {
        size_t digits = strspn(name, "0123456789");
        if (*pattern == 'N' && digits > 0) {
            pattern++;
            name += digits;
        } else if (*pattern++ != *name++) {
            return false;
        }
    }
    return *pattern == *name;
}

static bool has_any(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

/* Of drivers that the table does not know: by the words that names are made of. */
static enum fc_counter_meaning guess(const char *name)
{
    static const char *const congestion[] = {"cnp", "ecn", "pause", "pfc", NULL};
    static const char *const errors[] = {"err",     "drop",       "discard",
                                         "retrans", "retry",      "timeout",
                                         "nak",     "out_of_seq", NULL};
    static const char *const none[] = {"flush", "cmd", "alloc", "lifespan", NULL};
    if (has_any(name, none))
        return FC_COUNTER_OTHER;
    if (has_any(name, congestion))
        return FC_COUNTER_CONGESTION;
    return has_any(name, errors) ? FC_COUNTER_ERRORS : FC_COUNTER_OTHER;
}

static void describe(struct fc_counter *counter)
{
    counter->unit = 1;
    counter->bits = 64;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].from != counter->from || !name_fits(known[i].name, counter->name))
            continue;
        counter->meaning = known[i].meaning;
        counter->unit = known[i].unit;
        counter->bits = known[i].bits;
        counter->shared = known[i].shared;
        return;
    }
    counter->meaning =
        counter->from == FC_COUNTER_HW ? guess(counter->name) : FC_COUNTER_OTHER;
}

/* ---- one reading ---- */

struct reading {
    struct fc_tree tree;
    struct fc_counters *out;
    enum fc_counter_from from;
};

/* Keeps what has a meaning. */
static enum fc_status add(struct reading *r, const char *name, uint64_t value,
                          struct fc_error *err)
{
    struct fc_counter new = {.from = r->from, .value = value};
    if (strlen(name) >= sizeof new.name || r->out->count == COUNTERS_MAX)
        return FC_OK; /* none of those that are known */
    snprintf(new.name, sizeof new.name, "%s", name);
    describe(&new);
    if (new.meaning == FC_COUNTER_OTHER)
        return FC_OK;
    struct fc_counter *wider =
        realloc(r->out->counter, (r->out->count + 1) * sizeof *wider);
    if (!wider)
        return fc_fail(err, FC_NOMEM, "out of memory for port counters");
    wider[r->out->count++] = new;
    r->out->counter = wider;
    return FC_OK;
}

static enum fc_status add_one(void *arg, const char *name, uint64_t value,
                              struct fc_error *err)
{
    return add(arg, name, value, err);
}

/* A counter that the device lacks has a text ("N/A (no PMA)"), or cannot be read. */
static enum fc_status add_file(struct reading *r, const char *folder, const char *name,
                               struct fc_error *err)
{
    char text[64], *end;
    if (!fc_tree_read(&r->tree, text, sizeof text, "%s/%s", folder, name))
        return FC_OK;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-')
        return FC_OK;
    return add(r, name, value, err);
}

static enum fc_status add_folder(struct reading *r, enum fc_counter_from from,
                                 const char *folder, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    struct fc_names names = fc_tree_list(&r->tree, "%s", folder);
    r->from = from;
    for (size_t i = 0; i < names.count && status == FC_OK; i++)
        status = add_file(r, folder, names.name[i], err);
    fc_names_free(&names);
    return status;
}

static enum fc_status add_net(struct reading *r, const char *net, bool live,
                              struct fc_error *err)
{
    char folder[160];
    snprintf(folder, sizeof folder, "/sys/class/net/%s/statistics", net);
    enum fc_status status = add_folder(r, FC_COUNTER_NET, folder, err);
    snprintf(folder, sizeof folder, "/sys/class/net/%s", net);
    if (status == FC_OK)
        status = add_file(r, folder, "carrier_changes", err);
    if (status != FC_OK || !live)
        return status;
    r->from = FC_COUNTER_ETHTOOL;
    if (r->tree.source.note)
        r->tree.source.note(r->tree.source.arg, "ioctl SIOCETHTOOL");
    struct fc_error ignored; /* a driver without statistics has none */
    status = fc_ethtool_stats(net, add_one, r, &ignored);
    return status == FC_NOMEM ? fc_fail(err, status, "%s", ignored.text) : FC_OK;
}

enum fc_status fc_counters_read(const struct fc_rdma_source *source,
                                const struct fc_rdma_port *port,
                                struct fc_counters *out, struct fc_error *err)
{
    static const struct {
        enum fc_counter_from from;
        const char *name;
    } folders[] = {{FC_COUNTER_PORT, "counters"}, {FC_COUNTER_HW, "hw_counters"}};
    char folder[160];
    int64_t lifespan = LIFESPAN_MS;
    enum fc_status status = FC_OK;
    struct reading r = {.tree = {.source = {.root = source->root,
                                            .note = source->note,
                                            .arg = source->arg}},
                        .out = out};
    *out = (struct fc_counters){0};
    for (size_t i = 0; i < 2 && status == FC_OK; i++) {
        snprintf(folder, sizeof folder, "/sys/class/infiniband/%s/ports/%d/%s",
                 port->device, port->port, folders[i].name);
        status = add_folder(&r, folders[i].from, folder, err);
    }
    if (!fc_tree_int(&r.tree, &lifespan, "%s/lifespan", folder) || lifespan < 0 ||
        lifespan > 10000)
        lifespan = LIFESPAN_MS;
    out->wait_ns = (uint64_t)lifespan * 1000000;
    if (status == FC_OK && port->net[0])
        status = add_net(&r, port->net, source->root[0] == '\0', err);
    if (status != FC_OK)
        fc_counters_fini(out);
    return status;
}

void fc_counters_fini(struct fc_counters *counters)
{
    if (!counters)
        return;
    free(counters->counter);
    *counters = (struct fc_counters){0};
}

/* ---- what grew ---- */

static const struct fc_counter *find(const struct fc_counters *counters,
                                     const struct fc_counter *like)
{
    for (size_t i = 0; i < counters->count; i++)
        if (counters->counter[i].from == like->from &&
            strcmp(counters->counter[i].name, like->name) == 0)
            return &counters->counter[i];
    return NULL;
}

/* Growth in counts. A value beyond its width shows that this device has a wider one. */
static uint64_t growth(const struct fc_counter *before, const struct fc_counter *after,
                       bool *out_at_least)
{
    uint64_t end = after->bits < 64 ? (UINT64_C(1) << after->bits) - 1 : UINT64_MAX;
    const uint64_t turn = UINT64_C(1) << 32;
    *out_at_least = after->bits < 64 && after->value == end;
    if (after->value >= before->value)
        return after->value - before->value;
    /* Cards count in 32 bits behind the kernel's 64. */
    if (after->bits == 64 && before->value < turn && before->value >= turn / 4 * 3 &&
        after->value < turn / 4)
        return after->value + turn - before->value;
    *out_at_least = true;
    return after->value; /* it began anew */
}

enum fc_status fc_counters_delta(const struct fc_counters *before,
                                 const struct fc_counters *after,
                                 struct fc_counter_delta **out_delta, size_t *out_count,
                                 struct fc_error *err)
{
    size_t count = 0;
    struct fc_counter_delta *list = calloc(after->count + 1, sizeof *list);
    if (!list)
        return fc_fail(err, FC_NOMEM, "out of memory for port counters");
    for (size_t i = 0; i < after->count; i++) {
        const struct fc_counter *now = &after->counter[i];
        const struct fc_counter *then = find(before, now);
        struct fc_counter_delta *delta = &list[count];
        if (!then)
            continue;
        delta->value = growth(then, now, &delta->at_least) * now->unit;
        delta->from = now->from;
        delta->meaning = now->meaning;
        delta->shared = now->shared;
        memcpy(delta->name, now->name, sizeof delta->name);
        count += delta->value > 0;
    }
    *out_delta = list;
    *out_count = count;
    return FC_OK;
}
