// SPDX-License-Identifier: BSD-3-Clause
#include "core/control.h"

#include "tests/unit/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const variables[] = {"OMPI_MCA_pml", "OMPI_MCA_btl",
                                        "OMPI_MCA_coll_hcoll_enable"};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return 0;
}

static json_t *apply(const char *mode, bool fabric, int major)
{
    json_t *control = NULL;
    struct fc_error err = {""};
    assert_int_equal(fc_control_apply(mode, fabric, major, &control, &err), FC_OK);
    assert_string_equal(json_string_value(json_object_get(control, "mode")), mode);
    assert_true(strlen(json_string_value(json_object_get(control, "why"))) > 0);
    return control;
}

static size_t count(const json_t *control, const char *which)
{
    json_t *object = json_object_get(control, which);
    assert_true(json_is_object(object));
    return json_object_size(object);
}

static const char *value(const json_t *control, const char *which, const char *variable)
{
    return json_string_value(
        json_object_get(json_object_get(control, which), variable));
}

static void with_fabric(void **state)
{
    (void)state;
    json_t *control = apply("auto", true, 4);
    assert_string_equal(getenv("OMPI_MCA_pml"), "ob1");
    assert_string_equal(getenv("OMPI_MCA_btl"), "tcp,self,vader");
    assert_string_equal(getenv("OMPI_MCA_coll_hcoll_enable"), "0");
    assert_null(getenv("OMPI_MCA_mpi_yield_when_idle"));
    assert_int_equal(count(control, "set"), 3);
    assert_int_equal(count(control, "kept"), 0);
    assert_string_equal(value(control, "set", "OMPI_MCA_btl"), "tcp,self,vader");
    json_decref(control);
}

static void newer_open_mpi(void **state)
{
    (void)state;
    json_decref(apply("tcp", false, 5));
    assert_string_equal(getenv("OMPI_MCA_btl"), "tcp,self,sm");
}

static void mpis_own_choice(void **state)
{
    (void)state;
    struct {
        const char *mode;
        bool fabric;
        int major;
    } cases[] = {
        {"auto", false, 4}, {"mpi", true, 4}, {"auto", true, 0}, {"tcp", true, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *control = apply(cases[i].mode, cases[i].fabric, cases[i].major);
        for (size_t v = 0; v < sizeof variables / sizeof *variables; v++)
            assert_null(getenv(variables[v]));
        assert_int_equal(count(control, "set"), 0);
        json_decref(control);
    }
}

static void the_users_choice_stays(void **state)
{
    (void)state;
    setenv("OMPI_MCA_pml", "ucx", 1);
    setenv("OMPI_MCA_btl", "\xff", 1);
    json_t *control = apply("tcp", true, 4);
    assert_string_equal(getenv("OMPI_MCA_pml"), "ucx");
    assert_string_equal(getenv("OMPI_MCA_btl"), "\xff");
    assert_string_equal(value(control, "kept", "OMPI_MCA_pml"), "ucx");
    assert_int_equal(count(control, "kept"), 2);
    assert_int_equal(count(control, "set"), 1);
    char *text = json_dumps(control, 0); /* every byte of it can be written */
    assert_non_null(text);
    free(text);
    json_decref(control);
}

static void unknown_mode(void **state)
{
    (void)state;
    json_t *control = NULL;
    struct fc_error err = {""};
    assert_int_equal(fc_control_apply("ib", true, 4, &control, &err), FC_USAGE);
    assert_string_equal(err.text, "--control: \"ib\" is not auto, tcp or mpi");
    assert_null(control);
    assert_null(getenv("OMPI_MCA_pml"));
}

static void major_versions(void **state)
{
    (void)state;
    assert_int_equal(fc_control_major("Open MPI v4.1.4, package: Debian OpenMPI"), 4);
    assert_int_equal(fc_control_major("Open MPI v5.0.0rc9, …"), 5);
    assert_int_equal(fc_control_major("Open MPI v10.2"), 10);
    assert_int_equal(fc_control_major("MPICH Version: 4.0.2"), 0);
    assert_int_equal(fc_control_major("Open MPI v99999999999"), 0);
    assert_int_equal(fc_control_major(""), 0);
    assert_int_equal(fc_control_major(NULL), 0);
}

static void fabric_present(void **state)
{
    (void)state;
    static const char *const there[] = {"/sys/class/infiniband/mlx5_0",
                                        "/proc/driver/nvidia/gpus/0000:01:00.0"};
    for (size_t i = 0; i < 2; i++) {
        char root[64];
        tree_make(root, sizeof root);
        assert_false(fc_control_fabric_present(root));
        tree_write(root, "/sys/class/infiniband/.empty", "");
        assert_false(fc_control_fabric_present(root));
        tree_write(root, there[i], "");
        assert_true(fc_control_fabric_present(root));
        tree_remove(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(with_fabric, clear, clear),
        cmocka_unit_test_setup_teardown(newer_open_mpi, clear, clear),
        cmocka_unit_test_setup_teardown(mpis_own_choice, clear, clear),
        cmocka_unit_test_setup_teardown(the_users_choice_stays, clear, clear),
        cmocka_unit_test_setup_teardown(unknown_mode, clear, clear),
        cmocka_unit_test(major_versions),
        cmocka_unit_test(fabric_present),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
