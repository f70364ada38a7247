// SPDX-License-Identifier: BSD-3-Clause
#include "judge/lists.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *at, *end;
};

static char peek(struct cursor *c)
{
    while (c->at < c->end &&
           (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
    return c->at < c->end ? *c->at : '\0';
}

static bool take(struct cursor *c, char what)
{
    bool there = peek(c) == what;
    c->at += there;
    return there;
}

/* --- numbers --- */

/* JSON's own reader knows all the rest: many digits, large exponents, other types. */
static double read_rarely(const char *text, size_t bytes)
{
    json_t *value = json_loadb(text, bytes, JSON_DECODE_ANY, NULL);
    double x = (double)INFINITY;
    if (json_is_number(value))
        x = json_number_value(value);
    json_decref(value);
    return x;
}

/* Digits into *m as long as they fit; how many. */
static int read_digits(struct cursor *c, uint64_t *m)
{
    const char *from = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (*m < UINT64_C(1000000000000000000))
            *m = 10 * *m + (uint64_t)(*c->at - '0');
        else
            return -1;
    return (int)(c->at - from);
}

/* "-12.5e-6" as mantissa and exponent; false when that is not all. */
static bool read_plain(struct cursor *c, double *out)
{
    static const long double ten[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                      1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                      1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                      1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    static const double small[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t m = 0, power = 0;
    bool minus = take(c, '-');
    bool zero = c->at < c->end && *c->at == '0';
    int whole = read_digits(c, &m), exponent = 0;
    if (whole < 1 || (zero && whole > 1))
        return false;
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        exponent = -read_digits(c, &m);
        if (exponent >= 0)
            return false;
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        c->at++;
        bool down = c->at < c->end && *c->at == '-';
        c->at += down || (c->at < c->end && *c->at == '+');
        if (read_digits(c, &power) < 1 || power > 99)
            return false;
        exponent += down ? -(int)power : (int)power;
    }
    if (exponent < -27 || exponent > 27)
        return false;
    if (m < UINT64_C(1) << 53 && exponent <= 0 && exponent >= -22) {
        /* Both are exact, so that the quotient is exactly rounded. */
        double x = (double)m / small[-exponent];
        *out = minus ? -x : x;
        return true;
    }
    long double x = (long double)m;
    x = exponent < 0 ? x / ten[-exponent] : x * ten[exponent];
    *out = (double)(minus ? -x : x);
    return true;
}

/* Past one entry of any type; false when it has no end. */
static bool skip(struct cursor *c)
{
    size_t depth = 0;
    bool text = false;
    for (; c->at < c->end; c->at++) {
        char x = *c->at;
        if (text && x == '\\') {
            c->at++;
        } else if (x == '"') {
            text = !text;
        } else if (text) {
            continue;
        } else if (x == '[' || x == '{') {
            depth++;
        } else if (depth == 0 && (x == ',' || x == ']' || x == '}')) {
            return true;
        } else {
            depth -= x == ']' || x == '}';
        }
    }
    return false;
}

static double read_number(struct cursor *c)
{
    double x;
    char first = peek(c);
    const char *from = c->at;
    if ((first == '-' || (first >= '0' && first <= '9')) && read_plain(c, &x) &&
        (peek(c) == ',' || peek(c) == ']'))
        return x;
    c->at = from;
    if (first == 'n' && c->end - from >= 4 && from[1] == 'u' && from[2] == 'l' &&
        from[3] == 'l') {
        c->at += 4;
        if (peek(c) == ',' || peek(c) == ']')
            return (double)NAN;
        c->at = from;
    }
    return skip(c) ? read_rarely(from, (size_t)(c->at - from)) : (double)INFINITY;
}

static void fill(double *x, size_t width, double value)
{
    for (size_t i = 0; i < width; i++)
        x[i] = value;
}

/* False when the entry is no list of `width` numbers. */
static bool read_several(struct cursor *c, size_t width, double *x)
{
    bool ok = take(c, '[');
    for (size_t i = 0; ok && i < width; i++) {
        x[i] = read_number(c);
        ok = !isinf(x[i]) && take(c, i + 1 < width ? ',' : ']');
    }
    return ok;
}

static void read_entry(struct cursor *c, size_t width, double *x)
{
    bool nothing = peek(c) == 'n';
    const char *from = c->at;
    if (width > 1 && !nothing && read_several(c, width, x))
        return;
    c->at = from;
    fill(x, width, width > 1 && !nothing ? (double)INFINITY : read_number(c));
    if (width > 1 && !nothing)
        (void)skip(c);
}

static bool grow(void **array, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return true;
    size_t larger = need < 512 ? 1024 : 2 * need;
    void *more = realloc(*array, larger * size);
    if (!more)
        return false;
    *array = more;
    *room = larger;
    return true;
}

/* After an entry: true when another follows; *whole when the list ends well. */
static bool goes_on(struct cursor *c, bool *whole)
{
    if (take(c, ','))
        return true;
    *whole = take(c, ']') && peek(c) == '\0' && c->at == c->end;
    return false;
}

static bool is_empty(struct cursor *c)
{
    const char *from = c->at;
    bool empty = take(c, '[') && take(c, ']') && peek(c) == '\0' && c->at == c->end;
    c->at = from;
    return empty;
}

enum fc_list fc_numbers_read(const char *text, size_t bytes, size_t width,
                             struct fc_numbers *io)
{
    struct cursor c = {text, text + bytes};
    bool whole = is_empty(&c);
    io->count = 0;
    if (whole)
        return FC_LIST_READ;
    if (!take(&c, '['))
        return FC_LIST_BAD;
    do {
        void *x = io->x;
        if (!grow(&x, &io->room, (io->count + 1) * width, sizeof *io->x))
            return FC_LIST_NOMEM;
        io->x = x;
        read_entry(&c, width, io->x + width * io->count++);
    } while (goes_on(&c, &whole));
    return whole ? FC_LIST_READ : FC_LIST_BAD;
}

/* Past an entry that is, to its end, the same text as the last one. */
static bool skip_same(struct cursor *c, const struct fc_slices *io)
{
    const struct fc_slice *last = io->count ? &io->x[io->count - 1] : NULL;
    if (!last || (size_t)(c->end - c->at) <= last->bytes ||
        (c->at[last->bytes] != ',' && c->at[last->bytes] != ']') ||
        memcmp(c->at, last->text, last->bytes) != 0)
        return false;
    c->at += last->bytes;
    return true;
}

enum fc_list fc_slices_read(const char *text, size_t bytes, struct fc_slices *io)
{
    struct cursor c = {text, text + bytes};
    bool whole = is_empty(&c);
    io->count = 0;
    if (whole)
        return FC_LIST_READ;
    if (!take(&c, '['))
        return FC_LIST_BAD;
    do {
        void *x = io->x;
        if (!grow(&x, &io->room, io->count + 1, sizeof *io->x))
            return FC_LIST_NOMEM;
        io->x = x;
        (void)peek(&c);
        const char *from = c.at;
        if (!skip_same(&c, io) && !skip(&c))
            return FC_LIST_BAD;
        io->x[io->count++] = (struct fc_slice){from, (size_t)(c.at - from)};
    } while (goes_on(&c, &whole));
    return whole ? FC_LIST_READ : FC_LIST_BAD;
}
