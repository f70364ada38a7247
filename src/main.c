// SPDX-License-Identifier: BSD-3-Clause
#include "cli.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    static const struct fc_backends backends = {.wrap_device = NULL, .wrap_comm = NULL};
    return fc_cli_main(argc, argv, &backends);
}
