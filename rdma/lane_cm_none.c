// SPDX-License-Identifier: BSD-3-Clause
/* A program that was built without librdmacm. */
#include "rdma/lane_cm.h"

enum fc_status fc_lane_cm_open(struct fc_lane *lane, struct fc_error *err)
{
    return fc_fail(err, FC_UNSUPPORTED, "%s: this program was built without librdmacm",
                   lane->name);
}

enum fc_status fc_lane_cm_connect(struct fc_lane *lane, struct fc_error *err)
{
    return fc_lane_cm_open(lane, err);
}

void fc_lane_cm_close(struct fc_lane *lane)
{
    (void)lane;
}
