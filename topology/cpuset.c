// SPDX-License-Identifier: BSD-3-Clause
#include "topology/cpuset.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = FC_CPUSET_MAX / 32 };

/* One group of at most eight digits that ends at "," or 0; -1: it is none. */
static int64_t parse_group(const char **text)
{
    const char *p = *text;
    int64_t value = 0;
    int digits = 0;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        p += 2;
        if (!isxdigit((unsigned char)*p))
            return -1;
    }
    for (; isxdigit((unsigned char)*p); p++) {
        int c = tolower((unsigned char)*p);
        value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
        if (++digits > 8)
            return -1;
    }
    if (*p != ',' && *p != '\0')
        return -1;
    *text = p;
    return value;
}

bool fc_cpuset_mask(const char *text, struct fc_cpuset *out)
{
    struct fc_cpuset set = {{0}};
    size_t groups = 1;
    if (!*text || text[strlen(text) - 1] == ',')
        return false;
    for (const char *p = text; *p; p++)
        groups += *p == ',';
    for (; groups > 0; groups--) {
        int64_t value = parse_group(&text);
        if (value < 0 || (value > 0 && groups > GROUPS))
            return false;
        if (value > 0)
            set.word[(groups - 1) / 2] |= (uint64_t)value << ((groups - 1) % 2 * 32);
        text += *text == ',';
    }
    *out = set;
    return true;
}

static bool parse_number(const char **text, unsigned *out)
{
    const char *p = *text;
    unsigned value = 0;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++) {
        value = value * 10 + (unsigned)(*p - '0');
        if (value >= FC_CPUSET_MAX)
            return false;
    }
    *text = p;
    *out = value;
    return true;
}

bool fc_cpuset_list(const char *text, struct fc_cpuset *out)
{
    struct fc_cpuset set = {{0}};
    while (*text) {
        unsigned first, last;
        if (!parse_number(&text, &first))
            return false;
        last = first;
        if (*text == '-') {
            text++;
            if (!parse_number(&text, &last) || last < first)
                return false;
        }
        for (unsigned cpu = first; cpu <= last; cpu++)
            fc_cpuset_add(&set, cpu);
        if (*text == ',' && text[1])
            text++;
        else if (*text)
            return false;
    }
    *out = set;
    return true;
}

void fc_cpuset_add(struct fc_cpuset *set, unsigned cpu)
{
    if (cpu < FC_CPUSET_MAX)
        set->word[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

bool fc_cpuset_has(const struct fc_cpuset *set, unsigned cpu)
{
    return cpu < FC_CPUSET_MAX && (set->word[cpu / 64] >> cpu % 64 & 1);
}

size_t fc_cpuset_count(const struct fc_cpuset *set)
{
    size_t n = 0;
    for (size_t i = 0; i < FC_CPUSET_MAX / 64; i++)
        n += (size_t)__builtin_popcountll(set->word[i]);
    return n;
}

int fc_cpuset_next(const struct fc_cpuset *set, int from)
{
    for (int cpu = from < 0 ? 0 : from; cpu < FC_CPUSET_MAX; cpu++) {
        uint64_t rest = set->word[cpu / 64] >> cpu % 64;
        if (rest)
            return cpu + __builtin_ctzll(rest);
        cpu |= 63; /* the loop's step goes to the next word */
    }
    return -1;
}

bool fc_cpuset_intersects(const struct fc_cpuset *a, const struct fc_cpuset *b)
{
    for (size_t i = 0; i < FC_CPUSET_MAX / 64; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

bool fc_cpuset_contains(const struct fc_cpuset *whole, const struct fc_cpuset *part)
{
    for (size_t i = 0; i < FC_CPUSET_MAX / 64; i++)
        if (part->word[i] & ~whole->word[i])
            return false;
    return true;
}

void fc_cpuset_merge(struct fc_cpuset *into, const struct fc_cpuset *from)
{
    for (size_t i = 0; i < FC_CPUSET_MAX / 64; i++)
        into->word[i] |= from->word[i];
}

void fc_cpuset_print(const struct fc_cpuset *set, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (int a = fc_cpuset_next(set, 0); a >= 0;) {
        int b = a;
        char part[32];
        while (fc_cpuset_has(set, (unsigned)b + 1))
            b++;
        int n = snprintf(part, sizeof part, a == b ? "%s%d" : "%s%d-%d",
                         used ? "," : "", a, b);
        if (used + (size_t)n + 4 > bytes) {
            snprintf(out + used, bytes - used, "...");
            return;
        }
        memcpy(out + used, part, (size_t)n + 1);
        used += (size_t)n;
        a = fc_cpuset_next(set, b + 1);
    }
}

void fc_cpuset_print_mask(const struct fc_cpuset *set, char *out, size_t bytes)
{
    size_t group = GROUPS, used = 0;
    while (group > 1 &&
           !(set->word[(group - 1) / 2] >> ((group - 1) % 2 * 32) & 0xffffffff))
        group--;
    for (; group > 0 && used < bytes; group--) {
        uint64_t value = set->word[(group - 1) / 2] >> ((group - 1) % 2 * 32);
        used += (size_t)snprintf(out + used, bytes - used, "%s0x%08x", used ? "," : "",
                                 (unsigned)(value & 0xffffffff));
    }
}
