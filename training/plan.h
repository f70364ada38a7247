// SPDX-License-Identifier: BSD-3-Clause
/* What to train: the model that the settings ask for, or the level's own choice, made
 * to fit the rank with the fewest cores and the least memory, so that all ranks train
 * the same. Refuses to know: steps, records. */
#ifndef FC_TRAINING_PLAN_H
#define FC_TRAINING_PLAN_H

#include "core/run.h"
#include "training/buckets.h"
#include "training/training.h"

/* FC_USAGE: a setting makes no sense, one line that names it; FC_NOMEM: it does not
 * fit; FC_UNSUPPORTED: a rank has no device. The caller closes both results, whatever
 * is returned. Collective: yes; the status is the same on all ranks. */
enum fc_status fc_plan_model(struct fc_run *run,
                             const struct fc_training_settings *settings,
                             struct fc_model *model, struct fc_buckets *buckets,
                             struct fc_error *err) FC_MUST_USE;

#endif
