// SPDX-License-Identifier: BSD-3-Clause
/* The operations' names and the shapes of their buffers. */
#include "collectives/comm.h"

#include <string.h>

/* n: one block for each rank. */
enum { ONE = 1, ALL = -1 };

static const struct {
    const char *name;
    bool reduces, rooted;
    int send_blocks, recv_blocks;
} colls[FC_COLL_COUNT] = {
    [FC_COLL_ALL_REDUCE] = {"all_reduce", true, false, ONE, ONE},
    [FC_COLL_ALL_GATHER] = {"all_gather", false, false, ONE, ALL},
    [FC_COLL_REDUCE_SCATTER] = {"reduce_scatter", true, false, ALL, ONE},
    [FC_COLL_BROADCAST] = {"broadcast", false, true, ONE, ONE},
    [FC_COLL_REDUCE] = {"reduce", true, true, ONE, ONE},
    [FC_COLL_ALLTOALL] = {"alltoall", false, false, ALL, ALL},
    [FC_COLL_GATHER] = {"gather", false, true, ONE, ALL},
    [FC_COLL_SCATTER] = {"scatter", false, true, ALL, ONE},
    [FC_COLL_SENDRECV] = {"sendrecv", false, false, ONE, ONE},
};

static const char *const redops[FC_REDOP_COUNT] = {
    [FC_REDOP_SUM] = "sum", [FC_REDOP_PROD] = "prod", [FC_REDOP_MIN] = "min",
    [FC_REDOP_MAX] = "max", [FC_REDOP_AVG] = "avg",
};

const char *fc_coll_name(enum fc_coll op)
{
    return colls[op].name;
}

const char *fc_redop_name(enum fc_redop redop)
{
    return redops[redop];
}

enum fc_coll fc_coll_find(const char *name)
{
    int op = 0;
    while (op < FC_COLL_COUNT && strcmp(name, colls[op].name) != 0)
        op++;
    return (enum fc_coll)op;
}

enum fc_redop fc_redop_find(const char *name)
{
    int redop = 0;
    while (redop < FC_REDOP_COUNT && strcmp(name, redops[redop]) != 0)
        redop++;
    return (enum fc_redop)redop;
}

bool fc_coll_reduces(enum fc_coll op)
{
    return colls[op].reduces;
}

bool fc_coll_rooted(enum fc_coll op)
{
    return colls[op].rooted;
}

struct fc_coll_shape fc_coll_shape(enum fc_coll op, int n)
{
    size_t all = (size_t)n;
    return (struct fc_coll_shape){colls[op].send_blocks == ALL ? all : 1,
                                  colls[op].recv_blocks == ALL ? all : 1};
}
