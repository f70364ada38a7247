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

/* --- from a list to names --- */

enum { MAX_NAME = 255 };

struct expansion {
    fc_hostlist_take_fn take;
    void *arg;
    size_t left, most;
    const char *word; /* what is expanded, for texts */
    size_t word_bytes;
    char name[MAX_NAME + 1];
    struct fc_error *err;
};

static enum fc_status refuse(const struct expansion *x, const char *why)
{
    return fc_fail(x->err, FC_USAGE, "'%.*s' is no list of hosts: %s",
                   (int)(x->word_bytes < 60 ? x->word_bytes : 60), x->word, why);
}

static bool put(struct expansion *x, size_t *used, const char *text, size_t bytes)
{
    if (bytes > MAX_NAME - *used)
        return false;
    memcpy(x->name + *used, text, bytes);
    *used += bytes;
    return true;
}

/* A whole number at *at, moved behind it; false: none that is usable. */
static bool take_number(const char **at, const char *end, uint64_t *out, int *width)
{
    const char *from = *at;
    *out = 0;
    while (*at < end && is_digit(**at) && *at - from < MAX_DIGITS)
        *out = *out * 10 + (uint64_t)(*(*at)++ - '0');
    *width = (int)(*at - from);
    return *at > from && (*at == end || !is_digit(**at));
}

static enum fc_status expand_from(struct expansion *x, size_t used, const char *at,
                                  const char *end);

/* One "7" or "08-11" of a bracket, with all that follows the bracket. */
static enum fc_status expand_range(struct expansion *x, size_t used, const char **at,
                                   const char *close, const char *end)
{
    uint64_t low, high;
    int width, ignored;
    enum fc_status status = FC_OK;
    if (!take_number(at, close, &low, &width))
        return refuse(x, "a bracket holds something else than numbers");
    high = low;
    if (*at < close && **at == '-') {
        ++*at;
        if (!take_number(at, close, &high, &ignored))
            return refuse(x, "a bracket holds something else than numbers");
    }
    if (high < low)
        return refuse(x, "a range ends before it begins");
    if (high - low >= x->left)
        return fc_fail(x->err, FC_USAGE, "more than %zu names", x->most);
    for (uint64_t n = low; n <= high && status == FC_OK; n++) {
        char number[32];
        size_t here = used;
        int bytes = snprintf(number, sizeof number, "%0*" PRIu64, width, n);
        status = put(x, &here, number, (size_t)bytes)
                     ? expand_from(x, here, close + 1, end)
                     : refuse(x, "a name is longer than 255 bytes");
    }
    return status;
}

/* What is left of one word, behind the `used` bytes of x->name. */
static enum fc_status expand_from(struct expansion *x, size_t used, const char *at,
                                  const char *end)
{
    const char *open = memchr(at, '[', (size_t)(end - at));
    if (!put(x, &used, at, (size_t)((open ? open : end) - at)))
        return refuse(x, "a name is longer than 255 bytes");
    if (!open && used == 0)
        return refuse(x, "a name is empty");
    if (!open && x->left == 0)
        return fc_fail(x->err, FC_USAGE, "more than %zu names", x->most);
    if (!open) {
        x->left--;
        x->name[used] = '\0';
        return x->take(x->arg, x->name, x->err);
    }
    const char *close = memchr(open, ']', (size_t)(end - open));
    if (!close)
        return refuse(x, "a bracket is not closed");
    enum fc_status status = FC_OK;
    for (at = open + 1; status == FC_OK; at++) {
        status = expand_range(x, used, &at, close, end);
        if (status == FC_OK && at == close)
            break;
        if (status == FC_OK && *at != ',')
            status = refuse(x, "a bracket holds something else than numbers");
    }
    return status;
}

/* The end of the word that begins at `at`: a comma outside of brackets. */
static const char *word_end(const char *at, const char *end)
{
    for (bool inside = false; at < end && (inside || *at != ','); at++)
        inside = *at == '[' || (inside && *at != ']');
    return at;
}

enum fc_status fc_hostlist_expand(const char *list, size_t bytes, size_t most,
                                  fc_hostlist_take_fn take, void *arg,
                                  struct fc_error *err)
{
    struct expansion x = {
        .take = take, .arg = arg, .left = most, .most = most, .err = err};
    const char *end = list + bytes;
    enum fc_status status = FC_OK;
    for (const char *at = list; at < end && status == FC_OK;) {
        const char *stop = word_end(at, end), *last = stop;
        while (at < last && strchr(" \t\r\n", *at))
            at++;
        while (last > at && strchr(" \t\r\n", last[-1]))
            last--;
        x.word = at;
        x.word_bytes = (size_t)(last - at);
        status = expand_from(&x, 0, at, last);
        at = stop + (stop < end);
    }
    return status;
}
