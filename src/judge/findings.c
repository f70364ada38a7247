// SPDX-License-Identifier: BSD-3-Clause
#include "judge/findings.h"

#include "core/hostlist.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVIDENCE_MAX = 64 };

static bool grow(void **array, size_t size, size_t used, size_t *room)
{
    if (used < *room)
        return true;
    size_t larger = *room ? 2 * *room : 32;
    void *more = realloc(*array, larger * size);
    if (!more)
        return false;
    *array = more;
    *room = larger;
    return true;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static json_t *make_seqs(const struct fc_finding *f)
{
    int64_t seq[EVIDENCE_MAX];
    size_t count = f->evidences < EVIDENCE_MAX ? f->evidences : EVIDENCE_MAX;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        seq[i] = f->evidence[i]->seq;
    qsort(seq, count, sizeof *seq, by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || seq[i] != seq[i - 1])
            json_array_append_new(list, json_integer(seq[i]));
    return list;
}

static void drop_finding(struct fc_finding *f)
{
    free((void *)(uintptr_t)f->odd);
    free(f->message);
    json_decref(f->seqs);
}

void fc_find(struct fc_findings *all, const struct fc_finding *f, const char *fmt, ...)
{
    struct fc_finding copy = *f;
    size_t *odd = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&copy.message, fmt, args) < 0)
        copy.message = NULL;
    va_end(args);
    if (f->odds && (odd = malloc(f->odds * sizeof *odd)))
        memcpy(odd, f->odd, f->odds * sizeof *odd);
    copy.odd = odd;
    copy.seqs = make_seqs(f);
    copy.evidence = NULL;
    bool ok =
        copy.message && copy.seqs && (odd || !f->odds) &&
        grow((void **)&all->finding, sizeof copy, all->findings, &all->finding_room);
    if (!ok) {
        drop_finding(&copy);
        all->status = FC_NOMEM;
        return;
    }
    all->finding[all->findings++] = copy;
}

void fc_miss(struct fc_findings *all, const struct fc_missing *missing, const char *fmt,
             ...)
{
    struct fc_missing copy = *missing;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&copy.reason, fmt, args) < 0)
        copy.reason = NULL;
    va_end(args);
    bool ok = copy.reason && grow((void **)&all->missing, sizeof copy, all->missings,
                                  &all->missing_room);
    if (!ok) {
        free(copy.reason);
        all->status = FC_NOMEM;
        return;
    }
    all->missing[all->missings++] = copy;
}

bool fc_missing_counts(const struct fc_missing *missing)
{
    return missing->class != FC_CLASS_INFORMATIVE && !missing->substitute;
}

static int by_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_size(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int by_weight(const void *pa, const void *pb)
{
    const struct fc_finding *a = pa, *b = pb;
    int order = (int)a->severity - (int)b->severity;
    if (!order)
        order = by_size(a->node, b->node);
    if (!order)
        order = by_text(a->metric, b->metric);
    if (!order)
        order = by_text(a->check, b->check);
    if (!order)
        order = a->rank < b->rank ? -1 : a->rank > b->rank;
    return order ? order : by_text(a->message, b->message);
}

static int missing_order(const void *pa, const void *pb)
{
    const struct fc_missing *a = pa, *b = pb;
    int order = (int)fc_missing_counts(b) - (int)fc_missing_counts(a);
    if (!order)
        order = (int)a->class - (int)b->class;
    if (!order)
        order = by_text(a->probe, b->probe);
    if (!order)
        order = by_text(a->check, b->check);
    if (!order)
        order = by_text(a->what, b->what);
    if (!order)
        order = by_text(a->reason, b->reason);
    return order ? order : by_size(a->node, b->node);
}

void fc_findings_sort(struct fc_findings *all)
{
    if (all->findings)
        qsort(all->finding, all->findings, sizeof *all->finding, by_weight);
    if (all->missings)
        qsort(all->missing, all->missings, sizeof *all->missing, missing_order);
}

void fc_findings_close(struct fc_findings *all)
{
    for (size_t i = 0; i < all->findings; i++)
        drop_finding(&all->finding[i]);
    for (size_t i = 0; i < all->missings; i++)
        free(all->missing[i].reason);
    free(all->finding);
    free(all->missing);
    *all = (struct fc_findings){0};
}

struct fc_clip fc_clip(const char *text)
{
    struct fc_clip clip;
    size_t length = strlen(text);
    if (length < sizeof clip.s) {
        memcpy(clip.s, text, length + 1);
        return clip;
    }
    static const char dots[] = "…";
    length = sizeof clip.s - sizeof dots;
    while (length && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    memcpy(clip.s, text, length);
    memcpy(clip.s + length, dots, sizeof dots);
    return clip;
}

struct fc_clip fc_node_who(const struct fc_evidence *ev, size_t node, int rank)
{
    struct fc_clip who = fc_clip(node == FC_NONE ? "the run" : ev->node[node].name);
    size_t used = strlen(who.s);
    if (rank >= 0 && used + 20 < sizeof who.s)
        snprintf(who.s + used, sizeof who.s - used, " rank %d", rank);
    return who;
}

struct fc_clip fc_rank_prefix(const struct fc_ev_record *r)
{
    struct fc_clip prefix = {""};
    if (r->rank >= 0)
        snprintf(prefix.s, sizeof prefix.s, "rank %d: ", r->rank);
    return prefix;
}

struct fc_clip fc_hosts(const struct fc_evidence *ev, const size_t *node, size_t count)
{
    const char **name = malloc((count ? count : 1) * sizeof *name);
    for (size_t i = 0; name && i < count; i++)
        name[i] = ev->node[node[i]].name;
    char *list = name ? fc_hostlist(name, count) : NULL;
    struct fc_clip clip = fc_clip(list ? list : "…");
    free(list);
    free(name);
    return clip;
}
