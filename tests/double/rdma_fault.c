// SPDX-License-Identifier: BSD-3-Clause
#include "rdma_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rdma_rails(void)
{
    const char *text = getenv("FABRICHECK_RAILS");
    return text ? atoi(text) : 2;
}

const char *rdma_fault(const char *node, int rail, const char *kind)
{
    static char value[64];
    const char *all = getenv("FABRICHECK_RDMA");
    char copy[1024], *save = NULL;
    snprintf(copy, sizeof copy, "%s", all ? all : "");
    for (char *one = strtok_r(copy, ",", &save); one;
         one = strtok_r(NULL, ",", &save)) {
        char who[64] = "", which[16] = "", what[32] = "", left[64] = "1";
        if (sscanf(one, "%63[^:]:%15[^:]:%31[^=]=%63s", who, which, what, left) < 3) {
            fprintf(stderr, "FABRICHECK_RDMA: '%s' makes no sense\n", one);
            exit(99);
        }
        if (strcmp(who, node) != 0 || strcmp(what, kind) != 0 ||
            (strcmp(which, "*") != 0 && atoi(which) != rail))
            continue;
        memcpy(value, left, sizeof value);
        return value;
    }
    return NULL;
}
