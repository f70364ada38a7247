// SPDX-License-Identifier: BSD-3-Clause
/* A trial: a rate and the ceiling that it is judged by, measured in turn on all ranks
 * at once, so that whatever else the machine does meanwhile meets both.
 *
 * Each half repeats prepare, measure, check; only measure is timed, and check looks at
 * the whole result of every repetition. A half that fails is over, with its reason; a
 * wrong result is counted and goes on. All ranks loop equally often, failed ones too.
 * Refuses to know: devices, metrics.
 */
#ifndef FC_DEVICE_TRIAL_H
#define FC_DEVICE_TRIAL_H

#include "core/run.h"
#include "core/sampler.h"

struct fc_trial_half {
    const char *name; /* for the watchdog: "device.gemm fp32" */
    /* `prepare` and `check` may be NULL. `*out_wrong` counts wrong elements, `err` then
     * tells the first. */
    enum fc_status (*prepare)(void *work, struct fc_error *err);
    enum fc_status (*measure)(void *work, double *out_rate, struct fc_error *err);
    enum fc_status (*check)(void *work, uint64_t *out_wrong, struct fc_error *err);
    bool brief; /* measures in bursts shorter than a turn on the core, the best of which
                   had it alone */

    struct fc_sampler sampler;
    struct fc_sampler alone; /* each rate over its core_share: had it been alone */
    enum fc_status status;   /* the first fault, FC_WRONG included */
    struct fc_error why;
    bool over;
    uint64_t wrong;
    uint64_t checks; /* results looked at */
};

enum { FC_TRIAL_PEAK, FC_TRIAL_RATE, FC_TRIAL_HALVES };

struct fc_trial {
    struct fc_trial_half half[FC_TRIAL_HALVES];
    void *work;
    /* The share of its cores' time that the device got since the last call. */
    double (*core_share)(void *work);
    bool active; /* this rank measures; else it only keeps step */
    bool sync;   /* the same on all ranks: measure at the same moment */
};

/* Notes a fault of a half; only the first is kept. Other than FC_WRONG ends the half.
 */
void fc_trial_fault(struct fc_trial_half *half, enum fc_status status,
                    const struct fc_error *err);
/* Counts one look at a result. */
void fc_trial_checked(struct fc_trial_half *half, uint64_t wrong,
                      const struct fc_error *err);

/* Repeats until every active rank has had enough. Only what the runtime reports is an
 * error here. Collective: yes. */
enum fc_status fc_trial_run(struct fc_run *run, struct fc_trial *trial,
                            struct fc_error *err) FC_MUST_USE;

#endif
