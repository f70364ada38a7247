// SPDX-License-Identifier: BSD-3-Clause
/* What ports and devices told of themselves while a step was measured (a port's error,
 * a link that came back), as `verbs` events of the journal. Collective: no. Refuses to
 * know: what they mean.
 */
#ifndef FC_RDMA_STEP_EVENTS_H
#define FC_RDMA_STEP_EVENTS_H

#include "rdma/seats.h"

/* Takes all that came since the last call. A worker that cannot tell any is no failure;
 * what could not be noted down is. */
enum fc_status fc_rdma_events_take(const struct fc_rdma_seats *seats,
                                   const struct fc_transfer *transfer,
                                   struct fc_error *err) FC_MUST_USE;

#endif
