// SPDX-License-Identifier: BSD-3-Clause
/* What rank and worker tell each other about transfers, as JSON. Each object is written
 * and read here. All returned objects are new references, NULL where memory is short;
 * readers borrow, and answer false where the object is not what it should be.
 * Collective: no. Refuses to know: verbs, sockets.
 */
#ifndef FC_RDMA_TRANSFER_JSON_H
#define FC_RDMA_TRANSFER_JSON_H

#include "rdma/transfer.h"

json_t *fc_lane_plan_json(const struct fc_lane_plan *plan);
bool fc_lane_plan_read(json_t *json, struct fc_lane_plan *out);

json_t *fc_lane_answer_json(const struct fc_lane_answer *answer);
bool fc_lane_answer_read(json_t *json, struct fc_lane_answer *out);

json_t *fc_lane_link_json(const struct fc_lane_link *link);
bool fc_lane_link_read(json_t *json, struct fc_lane_link *out);

json_t *fc_transfer_plan_json(const struct fc_transfer_plan *plan);
bool fc_transfer_plan_read(json_t *json, struct fc_transfer_plan *out);

json_t *fc_lane_tasks_json(const struct fc_lane_task *task, size_t tasks);
/* At most `room` of them; -1: it is no list of tasks, or longer. */
int fc_lane_tasks_read(json_t *json, struct fc_lane_task *out, size_t room);

json_t *fc_lane_result_json(const struct fc_lane_result *result);
bool fc_lane_result_read(json_t *json, struct fc_lane_result *out);

#endif
