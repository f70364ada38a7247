// SPDX-License-Identifier: BSD-3-Clause
/* Host lists: the form that Slurm reads, and back to exactly the same names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#include "core/hostlist.h"
#include "core/rng.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 64 };

static void test_known_lists(void **state)
{
    static const struct {
        const char *names; /* by blanks */
        const char *list;
    } cases[] = {
        {"", ""},
        {"node01", "node01"},
        {"node03 node01 node02 node7 gpu5", "gpu5,node[01-03,7]"},
        {"n9 n10 n11", "n[9-11]"},
        {"n99 n100", "n[99-100]"},
        {"n08 n09 n10", "n[08-10]"},
        {"n099 n100", "n[099-100]"},
        {"n09 n10 n100", "n[09-10,100]"},
        {"n01 n1", "n[01,1]"},
        {"n1 n1 n1", "n1"},
        {"n1 n3 n5", "n[1,3,5]"},
        {"rack1-n2 rack1-n1 rack10-n1 rack2-n1", "rack1-n[1-2],rack2-n1,rack10-n1"},
        {"login a1.example.org a2.example.org", "a1.example.org,a2.example.org,login"},
        {"1 2 3", "[1-3]"},
        {"x9999999999999999999 x1", "x1,x9999999999999999999"},
        {"a[1 a2", "a2,a[1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], *rest = NULL;
        const char *name[NAMES];
        size_t names = 0;
        snprintf(text, sizeof text, "%s", cases[i].names);
        for (char *n = strtok_r(text, " ", &rest); n; n = strtok_r(NULL, " ", &rest))
            name[names++] = n;
        char *list = fc_hostlist(name, names);
        assert_non_null(list);
        assert_string_equal(list, cases[i].list);
        free(list);
    }
}

static void test_natural_order(void **state)
{
    static const char *const sorted[] = {"",    "a",   "a01",       "a1",
                                         "a2",  "a10", "a10b",      "a10b2",
                                         "a11", "b0",  "rack9-n10", "rack10-n9"};
    size_t n = sizeof sorted / sizeof *sorted;
    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            int order = fc_natural_cmp(sorted[i], sorted[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
}

/* Slurm's reading of a list, as far as ours goes: prefix[ranges],…. A range's width
 * is that of its first number. Adds to `out`, sorted later. */
static size_t expand(const char *list, char (*out)[64])
{
    size_t count = 0;
    while (*list) {
        char prefix[64] = "";
        size_t length = strcspn(list, "[,");
        memcpy(prefix, list, length);
        list += length;
        if (*list != '[') {
            snprintf(out[count++], 64, "%s", prefix);
            list += *list == ',';
            continue;
        }
        while (*list != ']') {
            char *end;
            const char *begin = list + 1;
            unsigned long from = strtoul(begin, &end, 10), to = from;
            int width = (int)(end - begin);
            if (*end == '-')
                to = strtoul(end + 1, &end, 10);
            for (unsigned long k = from; k <= to; k++)
                snprintf(out[count++], 64, "%.40s%0*lu", prefix, width, k);
            list = end;
        }
        list++;
        list += *list == ',';
    }
    return count;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

struct names {
    char *at; /* 64 bytes each */
    size_t count;
};

static enum fc_status keep(void *arg, const char *name, struct fc_error *err)
{
    struct names *n = arg;
    (void)err;
    snprintf(n->at + 64 * n->count++, 64, "%s", name);
    return FC_OK;
}

static void test_random_lists_come_back(void **state)
{
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 5);
    for (int round = 0; round < 2000; round++) {
        char name[NAMES][64], back[NAMES][64];
        const char *pointer[NAMES];
        size_t names = (size_t)fc_rng_below(&rng, NAMES), unique = 0;
        for (size_t i = 0; i < names; i++) {
            static const char *const prefix[] = {"n", "gpu-", "r1n"};
            snprintf(name[i], sizeof name[i], "%s%0*d", prefix[fc_rng_below(&rng, 3)],
                     (int)fc_rng_below(&rng, 4), (int)fc_rng_below(&rng, 120));
            pointer[i] = name[i];
        }
        char *list = fc_hostlist(pointer, names);
        assert_non_null(list);
        qsort(name, names, sizeof *name, by_text);
        for (size_t i = 0; i < names; i++)
            if (unique == 0 || strcmp(name[unique - 1], name[i]) != 0)
                memmove(name[unique++], name[i], sizeof *name);
        size_t count = expand(list, back);
        char again[64 * NAMES] = "";
        struct names ours = {again, 0};
        assert_int_equal(
            fc_hostlist_expand(list, strlen(list), NAMES, keep, &ours, NULL), FC_OK);
        assert_int_equal(ours.count, count);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(again + 64 * i, back[i]);
        qsort(back, count, sizeof *back, by_text);
        assert_int_equal(count, unique);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(back[i], name[i]);
        free(list);
    }
}

/* --- from a list to names --- */

static enum fc_status take(void *arg, const char *name, struct fc_error *err)
{
    char *text = arg;
    (void)err;
    size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%s%s", used ? " " : "", name);
    return FC_OK;
}

static void test_known_names(void **state)
{
    static const struct {
        const char *list, *names;
    } cases[] = {
        {"", ""},
        {"n1", "n1"},
        {"n[1-3],m7", "n1 n2 n3 m7"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"n[1,5,03]", "n1 n5 n03"},
        {"r[1-2]n[1-2]-ib", "r1n1-ib r1n2-ib r2n1-ib r2n2-ib"},
        {" a , b[1] ", "a b1"},
        {"[1-2]", "1 2"},
        {"a,", "a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char names[512] = "";
        struct fc_error err;
        const char *list = cases[i].list;
        assert_int_equal(fc_hostlist_expand(list, strlen(list), 100, take, names, &err),
                         FC_OK);
        assert_string_equal(names, cases[i].names);
    }
}

static void test_bad_lists(void **state)
{
    static const char *const lists[] = {
        "n[",       "n[1",     "n[]",    "n[1-]",       "n[-1]",       "n[1,,2]",
        "n[1 2]",   "n[1--2]", "n[3-1]", "a,,b",        ",",           "n[1]]x[",
        "n[1-5:2]", "n[x]",    "n[1-6]", "a,b,c,d,e,f", "n[1-2][1-3]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char names[512] = "";
        struct fc_error err = {""};
        assert_int_equal(
            fc_hostlist_expand(lists[i], strlen(lists[i]), 5, take, names, &err),
            FC_USAGE);
        assert_true(err.text[0] != '\0');
    }
    char longest[600], names[512] = "";
    struct fc_error err;
    memset(longest, 'x', sizeof longest);
    assert_int_equal(fc_hostlist_expand(longest, 255, 5, take, names, &err), FC_OK);
    assert_int_equal(fc_hostlist_expand(longest, 256, 5, take, names, &err), FC_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_names),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_known_lists),
        cmocka_unit_test(test_natural_order),
        cmocka_unit_test(test_random_lists_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
