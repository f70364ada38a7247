// SPDX-License-Identifier: BSD-3-Clause
/* Is each host one, and is it only itself? NCCL takes ranks for neighbours when the
 * host's name and its boot agree, others go by the name alone; ranks that are taken for
 * neighbours and are not crash, and those that are and see no common /dev/shm do, too.
 *
 * Several nodes of one kernel (one boot at one time, one build, one command line) are a
 * lab, or containers beside each other: nothing is said of them. */
#include "judge/nodefacts.h"
#include "judge/rules.h"
#include "judge/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 3 }; /* that many nodes that are all alike are made from one image */
/* One kernel's boot is one moment, give or take how nodes read it. */
static const double moment_s = 5;

struct identity {
    const char *same;  /* what two nodes should not share, */
    const char *other; /* when they differ in this */
    double time;       /* or by more than moment_s in this; NaN: not told */
    size_t node;
};

static int by_identity(const void *pa, const void *pb)
{
    const struct identity *a = pa, *b = pb;
    int order = strcmp(a->same, b->same);
    order = order ? order : strcmp(a->other, b->other);
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

static void report_twins(const struct fc_case *c, const struct fc_finding *base,
                         const struct identity *twin, size_t count, bool image,
                         const char *what)
{
    struct fc_finding f = *base;
    size_t *odd = malloc(count * sizeof *odd);
    if (!odd) {
        c->out->status = FC_NOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++)
        odd[i] = twin[i].node;
    f.odd = odd;
    f.odds = count;
    if (image && count == c->ev->nodes && count >= ENOUGH)
        f.severity = FC_SEV_INFO;
    fc_find(c->out, &f, "%s %s: %s", what, fc_clip(twin->same).s,
            fc_hosts(c->ev, odd, count).s);
    free(odd);
}

static bool is_one_time(const struct identity *id, size_t count)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t i = 0; i < count; i++)
        if (isfinite(id[i].time)) {
            low = fmin(low, id[i].time);
            high = fmax(high, id[i].time);
        }
    return !(high - low > moment_s);
}

/* Groups of nodes that share `same` and differ otherwise. */
static void find_twins(const struct fc_case *c, const struct fc_finding *base,
                       struct identity *id, size_t count, bool image, const char *what)
{
    qsort(id, count, sizeof *id, by_identity);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && strcmp(id[i].same, id[end].same) == 0;)
            end++;
        if (strcmp(id[i].other, id[end - 1].other) != 0 ||
            !is_one_time(id + i, end - i))
            report_twins(c, base, id + i, end - i, image, what);
    }
}

/* What no namespace changes of a kernel, as one text; NULL: not told, or no memory. */
static const char *kernel_of(const struct fc_evidence *ev, size_t node)
{
    char text[512];
    const char *release = fc_setup_text(ev, node, "kernel.release");
    const char *cmdline = fc_setup_text(ev, node, "kernel.cmdline");
    if (!release[0] || !cmdline[0])
        return NULL;
    snprintf(text, sizeof text, "%.80s %.100s %.300s", release,
             fc_setup_text(ev, node, "kernel.version"), cmdline);
    return fc_ev_intern(ev, text);
}

static bool is_contained(const struct fc_evidence *ev, size_t node)
{
    const char *container = fc_setup_text(ev, node, "virt.container");
    return container[0] && strcmp(container, "none") != 0;
}

static void check_names(const struct fc_case *c, struct identity *id)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    size_t count = 0;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        id[count] =
            (struct identity){fc_setup_text(c->ev, i, "host.name"),
                              fc_setup_text(c->ev, i, "host.boot_id"), (double)NAN, i};
        count += id[count].same[0] && id[count].other[0];
    }
    f.cause = "containers or images that all have one name; ranks of two machines are "
              "then taken for neighbours";
    f.remedy = "give each host a name of its own, or set NCCL_HOSTID on each node";
    find_twins(c, &f, id, count, false, "several machines have the host name");
}

static void check_boots(const struct fc_case *c, struct identity *id)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    size_t count = 0;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        const char *kernel = kernel_of(c->ev, i);
        id[count] =
            (struct identity){fc_setup_text(c->ev, i, "host.boot_id"), kernel,
                              fc_nodefact_number(c->ev, i, "host.boot_time"), i};
        count += id[count].same[0] && kernel;
    }
    f.cause = "virtual machines that were started from one snapshot, or a sandbox that "
              "says the same everywhere; libraries tell hosts apart by it";
    f.remedy = "boot them instead of restoring them, or set NCCL_HOSTID on each node";
    find_twins(c, &f, id, count, false,
               "several kernels say that they are of the boot");
}

/* A container's file is its image's, and says nothing of the machine. */
static void check_machines(const struct fc_case *c, struct identity *id)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    size_t count = 0;
    for (size_t i = 0; i < c->ev->nodes; i++) {
        id[count] =
            (struct identity){fc_setup_text(c->ev, i, "host.machine_id"),
                              fc_setup_text(c->ev, i, "host.boot_id"), (double)NAN, i};
        count += id[count].same[0] && id[count].other[0] && !is_contained(c->ev, i);
    }
    f.cause = "machines that were cloned from one image with its /etc/machine-id";
    f.remedy = "empty /etc/machine-id in the image, so that each first boot makes one";
    find_twins(c, &f, id, count, true, "several machines have the (hashed) machine id");
}

void fc_rule_identity(const struct fc_case *c)
{
    struct identity *id = malloc((c->ev->nodes + 1) * sizeof *id);
    if (!id) {
        c->out->status = FC_NOMEM;
        return;
    }
    check_names(c, id);
    check_boots(c, id);
    check_machines(c, id);
    free(id);
}

static enum fc_setup_level shm_level(const struct fc_case *c, size_t node,
                                     struct fc_setup_why *why)
{
    size_t n;
    const char *first = "";
    const struct fc_ev_fact *fact = fc_ev_facts_of(c->ev, node, &n);
    for (size_t i = 0; i < n; i++) {
        const char *shm = fc_setup_member(fact[i].facts, "rank.shm");
        if (fact[i].rank < 0 || !shm[0])
            continue;
        if (!first[0])
            first = shm;
        if (strcmp(first, shm) != 0) {
            snprintf(why->s, sizeof why->s, "it is device %.20s and device %.20s",
                     first, shm);
            return FC_SETUP_WARN;
        }
    }
    return FC_SETUP_FINE;
}

void fc_rule_setup_ipc(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "a container for each rank, with a /dev/shm of its own";
    f.remedy = "start them with one IPC namespace (--ipc=host), or set another "
               "NCCL_HOSTID for each";
    fc_setup_report(c, &f, shm_level,
                    "ranks of one node do not see one /dev/shm, through which they "
                    "would speak");
}
