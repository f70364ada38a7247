// SPDX-License-Identifier: BSD-3-Clause
/* A double of librdmacm, beside verbs_wire.h; calls are failed through `wire.fail`, and
 * "event" is the status of an event. */
#ifndef FC_TESTS_UNIT_VERBS_CM_H
#define FC_TESTS_UNIT_VERBS_CM_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

extern int cm_open;     /* channels, ids, events that are still open */
extern bool cm_rejects; /* whoever is called says no */

#endif
