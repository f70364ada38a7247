// SPDX-License-Identifier: BSD-3-Clause
/* Does the kernel's log say that a GPU is sick? Xids are messages of NVIDIA's driver;
 * the number tells what happened, not whose fault it was. Those of programs (13, 31,
 * 43, 45) say nothing against a node, whatever their count. Of the rest some need a
 * reset, a repair or another card before work goes on, which is a FAIL as long as it is
 * fresh: the log reaches back to the boot, and a reset since may have cured what is
 * older than a day. What follows from a number is NVIDIA's catalogue of Xids. */
#include "judge/nodefacts.h"
#include "judge/nodegroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum weight {
    WEIGHT_NONE,  /* a program's fault, a consequence of others, or not known */
    WEIGHT_DOUBT, /* work goes on; the GPU is to be watched, or reset when convenient */
    WEIGHT_BROKEN, /* no work before a reset, a repair or a reboot */
};

static const struct {
    int xid;
    enum weight weight;
    const char *means;
} known[] = {
    {46, WEIGHT_BROKEN, "it stopped processing"},
    {48, WEIGHT_BROKEN, "an uncorrectable memory error"},
    {62, WEIGHT_BROKEN, "its microcontroller halted"},
    {63, WEIGHT_DOUBT, "a bad memory row was remapped"},
    {64, WEIGHT_BROKEN, "a bad memory row could not be remapped"},
    {74, WEIGHT_DOUBT, "an error of NVLink"},
    {79, WEIGHT_BROKEN, "it has fallen off the bus"},
    {92, WEIGHT_DOUBT, "very many corrected memory errors"},
    {94, WEIGHT_DOUBT, "a memory error, contained in one program"},
    {95, WEIGHT_BROKEN, "a memory error that was not contained"},
    {109, WEIGHT_DOUBT, "a change of context timed out"},
    {110, WEIGHT_BROKEN, "a security fault"},
    {119, WEIGHT_BROKEN, "its system processor (GSP) does not answer"},
    {120, WEIGHT_BROKEN, "its system processor (GSP) failed"},
    {136, WEIGHT_DOUBT, "an NVLink did not train"},
    {140, WEIGHT_BROKEN, "uncorrectable memory errors"},
    {143, WEIGHT_BROKEN, "it could not be initialised"},
    {144, WEIGHT_DOUBT, "an error of NVLink 5"},
    {145, WEIGHT_DOUBT, "an error of NVLink 5"},
    {146, WEIGHT_DOUBT, "an error of NVLink 5"},
    {147, WEIGHT_DOUBT, "an error of NVLink 5"},
    {148, WEIGHT_DOUBT, "an error of NVLink 5"},
    {149, WEIGHT_DOUBT, "an error of NVLink 5"},
    {150, WEIGHT_DOUBT, "an error of NVLink 5"},
    {156, WEIGHT_DOUBT, "a part of its memory was retired"},
    {157, WEIGHT_DOUBT, "a part of its memory could not be retired"},
    {158, WEIGHT_BROKEN, "a fatal timeout"},
    {167, WEIGHT_DOUBT, "a timeout of PCIe"},
    {171, WEIGHT_DOUBT, "an uncorrectable error of its DRAM"},
    {172, WEIGHT_DOUBT, "an uncorrectable error of its SRAM"},
};

struct xid {
    const char *bdf;
    int number; /* -1: the log only says that the GPU fell off the bus */
    enum weight weight;
    const char *means;
    int64_t count, boot_s, ago_s; /* -1: not told */
};

/* False: the entry is none. `age_s`: of the whole list, or -1. */
static bool read_xid(const json_t *o, int64_t age_s, struct xid *out)
{
    const int64_t years = INT64_C(1) << 31;
    bool sentence = json_is_null(json_object_get(o, "xid"));
    *out = (struct xid){
        .bdf = fc_ev_text(o, "bdf"),
        .number = (int)fc_ev_int(o, "xid", 0, 9999, -1),
        .count = fc_ev_int(o, "count", 1, INT64_MAX, 1),
        .boot_s = fc_ev_int(o, "boot_s", 0, years, -1),
        .ago_s = fc_ev_int(o, "ago_s", 0, years, -1),
    };
    if (!json_is_object(o) || !out->bdf || (out->number < 0 && !sentence))
        return false;
    if (out->ago_s >= 0 && age_s > 0)
        out->ago_s += age_s;
    if (sentence) {
        out->weight = WEIGHT_BROKEN;
        out->means = "it has fallen off the bus";
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].xid == out->number) {
            out->weight = known[i].weight;
            out->means = known[i].means;
        }
    return true;
}

static bool is_fresh(const struct xid *x)
{
    const int64_t day_s = 86400;
    return x->ago_s < day_s; /* also when nobody says how old it is */
}

static int severity_of(const struct xid *x)
{
    return 2 * (int)x->weight + (x->weight == WEIGHT_BROKEN && is_fresh(x));
}

/* By GPU; of one GPU the worst first, then the newest, then by number. */
static int by_weight(const void *pa, const void *pb)
{
    const struct xid *a = pa, *b = pb;
    int order = strcmp(a->bdf, b->bdf);
    if (order)
        return order;
    if (severity_of(a) != severity_of(b))
        return severity_of(a) > severity_of(b) ? -1 : 1;
    if (a->boot_s != b->boot_s)
        return a->boot_s > b->boot_s ? -1 : 1;
    /* a number says more than the sentence */
    return a->number > b->number ? -1 : a->number < b->number;
}

struct span {
    char s[32];
};

static struct span span_text(int64_t seconds)
{
    struct span span;
    double hours = (double)seconds / 3600.0;
    if (seconds < 120)
        snprintf(span.s, sizeof span.s, "%d s", (int)seconds);
    else if (hours < 2)
        snprintf(span.s, sizeof span.s, "%d min", (int)(seconds / 60));
    else if (hours < 48)
        snprintf(span.s, sizeof span.s, "%d h", (int)hours);
    else
        snprintf(span.s, sizeof span.s, "%d days", (int)(hours / 24));
    return span;
}

/* "; the last 3 h ago, 27 h after the boot" */
static struct fc_clip when_text(const struct xid *x)
{
    char text[128] = "";
    if (x->ago_s >= 0)
        snprintf(text, sizeof text, "; the last %s ago, %s after the boot",
                 span_text(x->ago_s).s, span_text(x->boot_s).s);
    else if (x->boot_s >= 0)
        snprintf(text, sizeof text, "; the last %s after the boot",
                 span_text(x->boot_s).s);
    return fc_clip(text);
}

/* "; also Xid 13, 45" */
static struct fc_clip others_text(const struct xid *x, size_t n)
{
    char text[128] = "";
    size_t used = 0;
    for (size_t i = 1; i < n && used + 16 < sizeof text; i++)
        if (x[i].number >= 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d",
                                     used ? ", " : "; also Xid ", x[i].number);
    return fc_clip(text);
}

/* "GPU3 (0000:9b:00.0)" by the picture; what it does not hold has its address alone. */
static struct fc_clip gpu_text(const struct fc_evidence *ev, size_t node,
                               const char *bdf)
{
    const json_t *list = fc_nodefact_json(ev, node, "topo.functions");
    char text[96];
    snprintf(text, sizeof text, "the GPU at %.40s", bdf);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const char *at = fc_ev_text(o, "bdf"), *name = fc_ev_text(o, "name");
        if (at && name && strcmp(at, bdf) == 0)
            snprintf(text, sizeof text, "%.24s (%.40s)", name, bdf);
    }
    return fc_clip(text);
}

/* x[0..n) are of one GPU, the worst first. */
static void say_gpu(const struct fc_case *c, size_t node, const struct xid *x, size_t n)
{
    bool broken = x->weight == WEIGHT_BROKEN;
    bool fail = broken && is_fresh(x);
    char number[32] = "", times[32] = "";
    struct fc_finding f =
        fc_finding_of_config(c, fail ? FC_SEV_FAIL : FC_SEV_WARN, node);
    json_t *subject = json_pack("{s:s, s:s, s:s}", "kind", "gpu", "node",
                                c->ev->node[node].name, "bdf", x->bdf);
    f.subject = subject ? fc_ev_keep(c->ev, subject) : NULL;
    f.confidence = fail ? FC_CONF_HIGH : FC_CONF_MEDIUM;
    f.cause =
        broken && !fail
            ? "the GPU, its memory, its slot or its power; a reset since then may "
              "have cured it"
            : "the GPU, its memory, its slot or its power";
    f.remedy = broken
                   ? "drain the node, reset the GPU or take the node's power off and "
                     "on; when it comes again, have the card replaced"
                   : "reset the GPU when it is convenient; when it comes again, have "
                     "the card and its links tested";
    if (x->number >= 0)
        snprintf(number, sizeof number, "Xid %d, ", x->number);
    if (x->count > 1)
        snprintf(times, sizeof times, ", %lld times", (long long)x->count);
    fc_find(c->out, &f, "the kernel's log says of %s: %s%s%s%s%s",
            gpu_text(c->ev, node, x->bdf).s, number, x->means, times, when_text(x).s,
            others_text(x, n).s);
}

/* True when some Xid does not count against the node. */
static bool say_node(const struct fc_case *c, size_t node)
{
    const json_t *list = fc_nodefact_json(c->ev, node, "root.xids");
    double age = fc_nodefact_number(c->ev, node, "root.age_s");
    int64_t age_s = age > 0 && age < 1e9 ? (int64_t)age : -1;
    size_t n = 0, room = json_array_size(list);
    bool harmless = false;
    struct xid *x = room ? calloc(room, sizeof *x) : NULL;
    if (room && !x)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; x && i < room; i++)
        n += read_xid(json_array_get(list, i), age_s, &x[n]);
    if (n > 0)
        qsort(x, n, sizeof *x, by_weight);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && strcmp(x[i].bdf, x[end].bdf) == 0; end++)
            harmless |= x[end].weight == WEIGHT_NONE;
        if (x[i].weight > WEIGHT_NONE)
            say_gpu(c, node, &x[i], end - i);
    }
    free(x);
    return harmless;
}

void fc_rule_xid(const struct fc_case *c)
{
    struct fc_nodegroup group;
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_INFO, FC_NONE);
    if (!fc_nodegroup_open(c, &group))
        return;
    for (size_t i = 0; i < c->ev->nodes; i++)
        if (say_node(c, i))
            fc_nodegroup_add(&group, i);
    f.cause = "programs that failed or were ended";
    f.remedy = "none; they do not count against the node";
    fc_nodegroup_find(
        c, &group, &f,
        "Xids of programs, or that by themselves say nothing of a GPU, in "
        "the kernel's log");
    fc_nodegroup_close(&group);
}
