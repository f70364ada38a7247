// SPDX-License-Identifier: BSD-3-Clause
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void bad(const char *text)
{
    fprintf(stderr, "FABRICHECK_FAULT: '%s' makes no sense\n", text);
    _exit(99);
}

static void parse(struct fault *f, char *text)
{
    char *save = NULL;
    const char *op = strtok_r(text, ":", &save), *kind = strtok_r(NULL, ":", &save);
    if (!op || !kind)
        bad(text);
    *f = (struct fault){.rank = 0, .peer = -1, .by = 4, .from = 1};
    snprintf(f->op, sizeof f->op, "%s", op);
    snprintf(f->kind, sizeof f->kind, "%s", kind);
    for (char *pair; (pair = strtok_r(NULL, ":", &save));) {
        char *equals = strchr(pair, '=');
        if (!equals)
            bad(pair);
        *equals++ = '\0';
        if (strcmp(pair, "rank") == 0)
            f->rank = atoi(equals);
        else if (strcmp(pair, "by") == 0)
            f->by = atof(equals);
        else if (strcmp(pair, "from") == 0)
            f->from = strtoul(equals, NULL, 10);
        else if (strcmp(pair, "bytes") == 0)
            f->bytes = strtoul(equals, NULL, 10);
        else if (strcmp(pair, "above") == 0)
            f->above = strtoul(equals, NULL, 10);
        else if (strcmp(pair, "peer") == 0)
            f->peer = atoi(equals);
        else
            bad(pair);
    }
}

void faults_read(struct faults *out, int rank)
{
    const char *all = getenv("FABRICHECK_FAULT");
    *out = (struct faults){.count = 0};
    char *copy = strdup(all ? all : ""), *save = NULL;
    for (char *text = strtok_r(copy, ",", &save); text;
         text = strtok_r(NULL, ",", &save)) {
        struct fault f;
        parse(&f, text);
        if (f.rank == rank && out->count < FAULTS_MAX)
            out->fault[out->count++] = f;
    }
    free(copy);
}

static bool meant(const struct fault *f, const char *op, size_t bytes, int peer)
{
    return strcmp(f->op, op) == 0 && (!f->bytes || f->bytes == bytes) &&
           (!f->above || bytes > f->above) && (f->peer < 0 || f->peer == peer);
}

const struct fault *faults_strike(struct faults *faults, const char *op, size_t bytes)
{
    return faults_strike_link(faults, op, bytes, -1);
}

const struct fault *faults_strike_link(struct faults *faults, const char *op,
                                       size_t bytes, int peer)
{
    const struct fault *hit = NULL;
    for (size_t i = 0; i < faults->count; i++) {
        struct fault *f = &faults->fault[i];
        if (!meant(f, op, bytes, peer))
            continue;
        if (++f->calls >= f->from && !hit)
            hit = f;
    }
    return hit;
}

void fault_hang(void)
{
    for (;;)
        pause();
}

bool fault_is(const struct fault *fault, const char *kind)
{
    return fault && strcmp(fault->kind, kind) == 0;
}
