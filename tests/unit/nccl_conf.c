// SPDX-License-Identifier: BSD-3-Clause
/* NCCL's variables: the environment before the user's file before the system's. */
#include "core/nccl_conf.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char root[128], home[160];
static struct fc_error err;

static int set_up(void **state)
{
    (void)state;
    tree_make(root, sizeof root);
    snprintf(home, sizeof home, "%s/home", root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

static struct fc_nccl_conf *open_conf(const char *const *env)
{
    struct fc_nccl_source source = {.env = env, .home = home, .root = root};
    struct fc_nccl_conf *conf = NULL;
    assert_int_equal(fc_nccl_conf_open(&source, &conf, &err), FC_OK);
    return conf;
}

static void assert_value(const struct fc_nccl_conf *conf, const char *name,
                         const char *value, const char *origin_end)
{
    const char *origin = "";
    const char *found = fc_nccl_conf_get(conf, name, &origin);
    if (!value) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, value);
    size_t n = strlen(origin), m = strlen(origin_end);
    assert_true(n >= m);
    assert_string_equal(origin + n - m, origin_end);
}

static void first_one_wins(void **state)
{
    const char *const env[] = {"NCCL_IB_TC=1", "HOME=/", "NCCL_IB_SL=", NULL};
    (void)state;
    tree_write(root, "/home/.nccl.conf",
               "NCCL_IB_TC=2\nNCCL_IB_HCA=mlx5_1\n"
               "NCCL_IB_HCA=mlx5_9\n");
    tree_write(root, "/etc/nccl.conf",
               "NCCL_IB_HCA=mlx5_2\nNCCL_IB_TIMEOUT=22\n"
               "NCCL_IB_SL=3\n");
    struct fc_nccl_conf *conf = open_conf(env);
    assert_value(conf, "NCCL_IB_TC", "1", "environment");
    assert_value(conf, "NCCL_IB_HCA", "mlx5_1", "/home/.nccl.conf");
    assert_value(conf, "NCCL_IB_TIMEOUT", "22", "/etc/nccl.conf");
    assert_value(conf, "NCCL_IB_SL", NULL, ""); /* set to nothing, and that stands */
    assert_value(conf, "HOME", NULL, "");
    fc_nccl_conf_close(conf);
}

static void a_named_file_replaces_the_users(void **state)
{
    char named[200];
    snprintf(named, sizeof named, "NCCL_CONF_FILE=%s/mine", root);
    const char *const env[] = {named, NULL};
    (void)state;
    tree_write(root, "/home/.nccl.conf", "NCCL_IB_TC=2\n");
    tree_write(root, "/mine", "NCCL_IB_SL=4\n");
    tree_write(root, "/etc/nccl.conf", "NCCL_IB_SL=5\nNCCL_DEBUG=INFO\n");
    struct fc_nccl_conf *conf = open_conf(env);
    assert_value(conf, "NCCL_IB_TC", NULL, "");
    assert_value(conf, "NCCL_IB_SL", "4", "/mine");
    assert_value(conf, "NCCL_DEBUG", "INFO", "/etc/nccl.conf");
    fc_nccl_conf_close(conf);
}

/* As NCCL splits them: no trimming, the first '=' ends the name. */
static void lines_are_not_trimmed(void **state)
{
    (void)state;
    tree_write(root, "/etc/nccl.conf",
               "# NCCL_IB_TC=1\n NCCL_IB_SL=2\nNCCL_IB_HCA==mlx5_0 \n"
               "=3\nno line\nNCCL_LAST=end");
    struct fc_nccl_conf *conf = open_conf(NULL);
    assert_value(conf, "NCCL_IB_TC", NULL, "");
    assert_value(conf, "NCCL_IB_SL", NULL, "");
    assert_value(conf, "NCCL_IB_HCA", "=mlx5_0 ", "nccl.conf");
    assert_value(conf, "NCCL_LAST", "end", "nccl.conf");
    fc_nccl_conf_close(conf);
}

static void numbers_are_as_nccl_reads_them(void **state)
{
    const char *const env[] = {"NCCL_A=0x10", "NCCL_B=abc",
                               "NCCL_C=12us", "NCCL_D=99999999999999999999",
                               "NCCL_E=-1",   NULL};
    bool odd = true;
    (void)state;
    struct fc_nccl_conf *conf = open_conf(env);
    assert_int_equal(fc_nccl_conf_int(conf, "NCCL_A", 7, &odd), 16);
    assert_false(odd);
    assert_int_equal(fc_nccl_conf_int(conf, "NCCL_B", 7, &odd), 0);
    assert_true(odd);
    assert_int_equal(fc_nccl_conf_int(conf, "NCCL_C", 7, &odd), 12);
    assert_true(odd);
    assert_int_equal(fc_nccl_conf_int(conf, "NCCL_D", 7, &odd), 7);
    assert_true(odd);
    assert_int_equal(fc_nccl_conf_int(conf, "NCCL_E", 7, NULL), -1);
    assert_int_equal(fc_nccl_conf_int(conf, "NCCL_F", 7, &odd), 7);
    assert_false(odd);
    fc_nccl_conf_close(conf);
}

/* Whatever lies there under that name. */
static void any_file_is_survived(void **state)
{
    char *huge = malloc(3000001);
    (void)state;
    assert_non_null(huge);
    memset(huge, 'x', 3000000);
    memcpy(huge, "NCCL_X=", 7);
    huge[3000000] = '\0';
    tree_write(root, "/etc/nccl.conf", huge);
    free(huge);
    tree_write(root, "/home/.nccl.conf/is/a/folder", "");
    struct fc_nccl_conf *conf = open_conf(NULL);
    const char *value = fc_nccl_conf_get(conf, "NCCL_X", NULL);
    assert_non_null(value);
    assert_int_equal(strlen(value), 1023);
    fc_nccl_conf_close(conf);
    fc_nccl_conf_close(NULL);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_one_wins),        TEST(a_named_file_replaces_the_users),
        TEST(lines_are_not_trimmed), TEST(numbers_are_as_nccl_reads_them),
        TEST(any_file_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
