// SPDX-License-Identifier: BSD-3-Clause
/* The metric catalogue: every entry is whole, and names are what users and journals
 * rely on. */
#include "core/metric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void entries_are_whole(void **state)
{
    (void)state;
    assert_true(fc_metric_count() > 0);
    for (size_t i = 0; i < fc_metric_count(); i++) {
        const struct fc_metric *m = fc_metric_at(i);
        assert_non_null(m);
        assert_true(strlen(m->name) > 0 && strlen(m->unit) > 0);
        assert_true(strlen(m->probe) > 0 && strlen(m->help) > 0);
        size_t plain = strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789._");
        if (m->name[plain] != '\0' || !strchr(m->name, '.'))
            fail_msg("'%s' is no name of dots and lower case", m->name);
        /* Found by its own name, so no other one has it. */
        assert_ptr_equal(fc_metric_find(m->name), m);
    }
}

static void unknown_names_are_not_found(void **state)
{
    (void)state;
    assert_null(fc_metric_find(NULL));
    assert_null(fc_metric_find(""));
    assert_null(fc_metric_find("device.gemm"));
    assert_null(fc_metric_find("device.mem_bw "));
    assert_null(fc_metric_at(fc_metric_count()));
}

/* A rate is better when it is higher, a time when it is lower. */
static void better_follows_the_unit(void **state)
{
    (void)state;
    for (size_t i = 0; i < fc_metric_count(); i++) {
        const struct fc_metric *m = fc_metric_at(i);
        if (strstr(m->unit, "/s"))
            assert_true(m->higher_is_better);
        if (strcmp(m->unit, "s") == 0)
            assert_false(m->higher_is_better);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_whole),
        cmocka_unit_test(unknown_names_are_not_found),
        cmocka_unit_test(better_follows_the_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
