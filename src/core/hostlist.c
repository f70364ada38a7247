// SPDX-License-Identifier: BSD-3-Clause
#include "core/hostlist.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 15 }; /* of a number that may stand in a range */

/* A name, split before the number at its end. digits 0: it has none that is usable. */
struct host {
    const char *name;
    size_t prefix;
    size_t digits;
    uint64_t number;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_zeros(const char *s)
{
    return strspn(s, "0");
}

static size_t count_digits(const char *s)
{
    return strspn(s, "0123456789");
}

int fc_natural_cmp(const char *a, const char *b)
{
    int tie = 0; /* first difference that only leading zeros make */
    while (*a && *b) {
        if (!is_digit(*a) || !is_digit(*b)) {
            if (*a != *b)
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        size_t a_zeros = skip_zeros(a), b_zeros = skip_zeros(b);
        a += a_zeros;
        b += b_zeros;
        size_t a_digits = count_digits(a), b_digits = count_digits(b);
        if (a_digits != b_digits)
            return a_digits < b_digits ? -1 : 1;
        int order = strncmp(a, b, a_digits);
        if (order)
            return order < 0 ? -1 : 1;
        if (!tie && a_zeros != b_zeros)
            tie = a_zeros > b_zeros ? -1 : 1;
        a += a_digits;
        b += b_digits;
    }
    if (*a || *b)
        return *a ? 1 : -1;
    return tie;
}

static struct host split(const char *name)
{
    size_t length = strlen(name), at = length;
    while (at > 0 && is_digit(name[at - 1]) && length - at < MAX_DIGITS)
        at--;
    bool plain = at == length || (at > 0 && is_digit(name[at - 1])) ||
                 strpbrk(name, "[], \t\n") != NULL;
    if (plain)
        return (struct host){.name = name, .prefix = length};
    return (struct host){.name = name,
                         .prefix = at,
                         .digits = length - at,
                         .number = strtoull(name + at, NULL, 10)};
}

static bool same_prefix(const struct host *a, const struct host *b)
{
    return a->digits && b->digits && a->prefix == b->prefix &&
           strncmp(a->name, b->name, a->prefix) == 0;
}

static int by_name(const void *a, const void *b)
{
    return fc_natural_cmp(((const struct host *)a)->name,
                          ((const struct host *)b)->name);
}

/* True when `next` continues a range that began at `first` and has come to `last`. */
static bool continues(const struct host *first, const struct host *last,
                      const struct host *next)
{
    if (next->number != last->number + 1)
        return false;
    bool padded = first->digits > 1 && first->name[first->prefix] == '0';
    if (padded)
        return next->digits == first->digits;
    return next->name[next->prefix] != '0';
}

static size_t put_range(FILE *out, const struct host *host, size_t i, size_t end)
{
    size_t last = i;
    while (last + 1 < end && continues(&host[i], &host[last], &host[last + 1]))
        last++;
    fputs(host[i].name + host[i].prefix, out);
    if (last > i)
        fprintf(out, "-%s", host[last].name + host[last].prefix);
    return last + 1;
}

static void put_group(FILE *out, const struct host *host, size_t from, size_t end)
{
    fwrite(host[from].name, 1, host[from].prefix, out);
    if (end - from == 1) {
        fputs(host[from].name + host[from].prefix, out);
        return;
    }
    fputc('[', out);
    for (size_t i = from; i < end;) {
        if (i > from)
            fputc(',', out);
        i = put_range(out, host, i, end);
    }
    fputc(']', out);
}

static size_t drop_repeats(struct host *host, size_t hosts)
{
    size_t kept = 0;
    for (size_t i = 0; i < hosts; i++)
        if (kept == 0 || strcmp(host[kept - 1].name, host[i].name) != 0)
            host[kept++] = host[i];
    return kept;
}

char *fc_hostlist(const char *const *name, size_t names)
{
    struct host *host = malloc((names ? names : 1) * sizeof *host);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = host ? open_memstream(&text, &bytes) : NULL;
    if (!out) {
        free(host);
        return NULL;
    }
    for (size_t i = 0; i < names; i++)
        host[i] = split(name[i]);
    qsort(host, names, sizeof *host, by_name);
    size_t hosts = drop_repeats(host, names);
    for (size_t i = 0; i < hosts;) {
        size_t end = i + 1;
        while (end < hosts && same_prefix(&host[i], &host[end]))
            end++;
        if (i)
            fputc(',', out);
        put_group(out, host, i, end);
        i = end;
    }
    free(host);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
