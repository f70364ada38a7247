// SPDX-License-Identifier: BSD-3-Clause
/* The records of one point of the collectives probe, and what bounds it. Collective:
 * no. Refuses to know: levels, how a point is measured. */
#ifndef FC_COLLECTIVES_COLL_RECORDS_H
#define FC_COLLECTIVES_COLL_RECORDS_H

#include "collectives/sweep.h"

/* A communicator under test and how its records call it. */
struct fc_coll_stage {
    struct fc_group group;
    bool one_node; /* all ranks of the group share memory */
    struct fc_subject subject;
    const char *variant; /* NULL, or "one rank a node" */
};

/* One size and placement of a stage. */
struct fc_coll_step {
    struct fc_run *run;
    const struct fc_coll_stage *stage;
    struct fc_point point;
    struct fc_point_result *result;
    double *rate;  /* [FC_SAMPLES_MAX] */
    double copy_s; /* the limit's copy; NaN: none bounds the operation */
    int attempt;
    bool told;            /* fc_coll_note_own has told of this placement */
    enum fc_status noted; /* whether it could */
};

/* Bytes that every rank receives at least, of a message of `bytes`; 0 where ranks
 * differ in that, so that a copy of it on all ranks at once bounds nothing. */
uint64_t fc_coll_received(enum fc_coll op, uint64_t bytes, int n);

/* What only this rank can say: its own wrong or failed operation. `step` is a
 * struct fc_coll_step: fits fc_point.failed. */
void fc_coll_note_own(void *step);

/* The group's records of time and bus bandwidth; by its first rank. */
enum fc_status fc_coll_note_group(const struct fc_coll_step *step,
                                  struct fc_error *err) FC_MUST_USE;

#endif
