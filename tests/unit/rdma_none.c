// SPDX-License-Identifier: BSD-3-Clause
/* The program without libibverbs (rdma/port_none.c stands in its place here, whatever
 * this build has): no ports, and the reason. */
#include "rdma/port.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void it_says_so(void **state)
{
    char root[128];
    struct fc_rdma_ports *ports = NULL;
    struct fc_error err;
    (void)state;
    tree_make(root, sizeof root);
    struct fc_rdma_source source = {.root = root};
    assert_int_equal(fc_rdma_ports_open(&source, &ports, &err), FC_OK);
    assert_int_equal(ports->ports, 0);
    assert_string_equal(ports->none, "built without libibverbs");
    fc_rdma_ports_close(ports);
    tree_write(root, "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    tree_write(root, "/sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
    assert_int_equal(fc_rdma_ports_open(&source, &ports, &err), FC_OK);
    assert_int_equal(ports->ports, 0);
    assert_string_equal(ports->none,
                        "built without libibverbs: the node's RDMA devices "
                        "(mlx5_0 and 1 more) are out of reach");
    fc_rdma_ports_close(ports);
    tree_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
