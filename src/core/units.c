// SPDX-License-Identifier: BSD-3-Clause
#include "core/units.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fraction of 18 digits times the largest unit needs more than 64 bits. */
__extension__ typedef unsigned __int128 wide;

enum { FRACTION_DIGITS_MAX = 18 };

/* whole + frac / scale, exactly as written. */
struct decimal {
    uint64_t whole, frac, scale;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits at *p; false when they do not fit. */
static bool take_digits(const char **p, uint64_t *out, size_t *out_count)
{
    const char *s = *p;
    uint64_t value = 0;
    for (; is_digit(*s); s++) {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
            return false;
    }
    *out_count = (size_t)(s - *p);
    *out = value;
    *p = s;
    return true;
}

/* "12", "1.5" or ".5", without sign or exponent. */
static bool take_decimal(const char **p, struct decimal *out)
{
    size_t whole_digits = 0, frac_digits = 0;
    *out = (struct decimal){.scale = 1};
    if (!take_digits(p, &out->whole, &whole_digits))
        return false;
    if (**p != '.')
        return whole_digits > 0;
    (*p)++;
    if (!take_digits(p, &out->frac, &frac_digits))
        return false;
    if (frac_digits == 0 || frac_digits > FRACTION_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < frac_digits; i++)
        out->scale *= 10;
    return true;
}

/* d units, rounded to the nearest whole; a part of an indivisible unit, or something
 * that would round to nothing, is refused rather than lost. */
static bool scale_decimal(struct decimal d, uint64_t unit, uint64_t *out)
{
    if (unit == 1 && d.frac != 0)
        return false;
    uint64_t value;
    if (__builtin_mul_overflow(d.whole, unit, &value))
        return false;
    wide part = ((wide)d.frac * unit + d.scale / 2) / d.scale;
    if (__builtin_add_overflow(value, (uint64_t)part, &value))
        return false;
    if (value == 0 && d.frac != 0)
        return false;
    *out = value;
    return true;
}

/* Powers of two only: "KB" and "MB" mean both 1000 and 1024 in the wild, and a
 * lower-case "b" means bits, so these are refused. */
static bool size_unit(const char *s, uint64_t *out)
{
    static const char letters[] = "KkMmGgTt";
    if (*s == '\0' || strcmp(s, "B") == 0) {
        *out = 1;
        return true;
    }
    const char *at = strchr(letters, *s);
    if (!at)
        return false;
    s++;
    if (*s != '\0' && strcmp(s, "i") != 0 && strcmp(s, "iB") != 0)
        return false;
    *out = UINT64_C(1) << (10 * ((at - letters) / 2 + 1));
    return true;
}

bool fc_parse_size(const char *text, uint64_t *out_bytes)
{
    struct decimal d;
    uint64_t unit;
    return take_decimal(&text, &d) && size_unit(text, &unit) &&
           scale_decimal(d, unit, out_bytes);
}

/* Largest first, so that "1h30m" can be checked for order. */
static const struct {
    const char *name;
    uint64_t ns;
} duration_units[] = {
    {"h", UINT64_C(3600000000000)}, {"m", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},    {"ms", UINT64_C(1000000)},
    {"us", UINT64_C(1000)},         {"ns", UINT64_C(1)},
};
enum { DURATION_UNITS = sizeof duration_units / sizeof *duration_units };

/* Index of the unit at *p, which is stepped over; DURATION_UNITS when there is none. */
static size_t take_duration_unit(const char **p)
{
    size_t len = strspn(*p, "hmsun");
    for (size_t i = 0; i < DURATION_UNITS; i++) {
        const char *name = duration_units[i].name;
        if (strlen(name) == len && strncmp(name, *p, len) == 0) {
            *p += len;
            return i;
        }
    }
    return DURATION_UNITS;
}

bool fc_parse_duration(const char *text, uint64_t *out_ns)
{
    uint64_t total = 0;
    size_t first_allowed = 0;
    for (bool first = true; first || *text != '\0'; first = false) {
        struct decimal d;
        if (!take_decimal(&text, &d))
            return false;
        uint64_t unit = UINT64_C(1000000000), part;
        if (!first || *text != '\0') { /* only a lone number needs no unit */
            size_t i = take_duration_unit(&text);
            if (i == DURATION_UNITS || i < first_allowed)
                return false;
            first_allowed = i + 1;
            unit = duration_units[i].ns;
        }
        if (!scale_decimal(d, unit, &part) ||
            __builtin_add_overflow(total, part, &total))
            return false;
    }
    *out_ns = total;
    return true;
}

/* Steps over digits; false when there are none. */
static bool skip_digits(const char **p)
{
    const char *start = *p;
    while (is_digit(**p))
        (*p)++;
    return *p > start;
}

/* [-] digits [. digits] [e [+-] digits], or [-] . digits …: what strtod takes less its
 * blanks, hexadecimal, infinities and NaN. */
static bool is_plain_real(const char *s)
{
    if (*s == '-')
        s++;
    bool whole = skip_digits(&s);
    if (*s == '.') {
        s++;
        if (!skip_digits(&s))
            return false;
    } else if (!whole) {
        return false;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        if (*s == '-' || *s == '+')
            s++;
        if (!skip_digits(&s))
            return false;
    }
    return *s == '\0';
}

bool fc_parse_double(const char *text, double *out)
{
    if (!is_plain_real(text))
        return false;
    /* The thread's locale may write decimals with a comma; a profile never does. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return false;
    double value = strtod_l(text, NULL, c);
    freelocale(c);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

bool fc_parse_int(const char *text, int64_t *out)
{
    const char *s = text + (*text == '-');
    if (!skip_digits(&s) || *s != '\0')
        return false;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return false;
    *out = value;
    return true;
}

/* value / unit in tenths, to the nearest. */
static uint64_t tenths_of(uint64_t value, uint64_t unit)
{
    return (uint64_t)(((wide)value * 10 + unit / 2) / unit);
}

static void print_tenths(struct fc_text *out, uint64_t tenths, const char *unit)
{
    if (tenths % 10 == 0)
        snprintf(out->s, sizeof out->s, "%llu%s", (unsigned long long)(tenths / 10),
                 unit);
    else
        snprintf(out->s, sizeof out->s, "%llu.%u%s", (unsigned long long)(tenths / 10),
                 (unsigned)(tenths % 10), unit);
}

struct fc_text fc_format_size(uint64_t bytes)
{
    static const char *const names[] = {"B", "K", "M", "G", "T"};
    enum { NAMES = sizeof names / sizeof *names };
    struct fc_text out;
    unsigned i = 0;
    uint64_t tenths = tenths_of(bytes, 1);
    if (bytes >= 1024)
        while (i + 1 < NAMES && tenths >= 10240) /* also when rounding made it 1024 */
            tenths = tenths_of(bytes, UINT64_C(1) << (10 * ++i));
    print_tenths(&out, tenths, names[i]);
    return out;
}

/* "4m10s", "2h5m": two units, the second left out when it is 0. */
static void print_pair(struct fc_text *out, uint64_t value, const char *big,
                       const char *small)
{
    unsigned long long whole = value / 60, rest = value % 60;
    if (rest == 0)
        snprintf(out->s, sizeof out->s, "%llu%s", whole, big);
    else
        snprintf(out->s, sizeof out->s, "%llu%s%llu%s", whole, big, rest, small);
}

struct fc_text fc_format_duration(uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns, below; /* used while the rounded value is less than this many */
    } small[] = {
        {"ns", 1, 1000},
        {"us", 1000, 1000},
        {"ms", 1000000, 1000},
        {"s", 1000000000, 60},
    };
    struct fc_text out;
    if (ns == 0) {
        print_tenths(&out, 0, "s");
        return out;
    }
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        uint64_t tenths = tenths_of(ns, small[i].ns);
        if (tenths >= 1000) /* three digits are enough */
            tenths = tenths_of(ns, small[i].ns * 10) * 10;
        if (tenths < small[i].below * 10) {
            print_tenths(&out, tenths, small[i].name);
            return out;
        }
    }
    uint64_t seconds = tenths_of(ns, UINT64_C(10000000000));
    if (seconds < 3600)
        print_pair(&out, seconds, "m", "s");
    else
        print_pair(&out, tenths_of(ns, UINT64_C(600000000000)), "h", "m");
    return out;
}
