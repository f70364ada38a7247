// SPDX-License-Identifier: BSD-3-Clause
/* Repeats a training step in its three forms until it is known: computation alone,
 * communication alone, the whole step with a computation alone beside it, so that what
 * communication adds is the difference of neighbours in time. A repetition is as slow
 * as its slowest rank. Beside each computation the ranks' multiply-add peak is
 * measured, all at the same moment. After every whole step all replicas' weights are
 * compared.
 * Refuses to know: records, how a step is made, what is good.
 */
#ifndef FC_TRAINING_TRAINING_H
#define FC_TRAINING_TRAINING_H

#include "collectives/path.h"
#include "core/run.h"
#include "core/stats.h"
#include "training/model.h"
#include "training/replicas.h"
#include "training/step.h"

struct fc_training_result;

/* Called while it is measured; both fields may be NULL. */
struct fc_training_watch {
    /* On a rank whose communicator failed, before it waits for the others, who may
     * never come. */
    void (*failed)(void *arg, const struct fc_training_result *result);
    /* After each form, with what is known by then. Collective: yes. */
    enum fc_status (*measured)(void *arg, enum fc_step_form form,
                               const struct fc_training_result *result,
                               struct fc_error *err);
    void *arg;
};

/* What is wanted, equal on all ranks; zeroes and NULLs: as the run's level says. */
struct fc_training_settings {
    const char *preset; /* FC_MODEL_PRESETS; NULL: 7b where it fits from standard on */
    const char *layers; /* "512x2048,2048x512" instead of a preset */
    int64_t tokens;
    uint64_t bucket_bytes;
    bool sharded;
    int steps; /* repetitions of each form; 0: for a time */
    int times; /* the level's time, so often: 3 in a retest */
    const struct fc_training_watch *watch;
};

/* Equal on all ranks, except what says "own". Times are seconds; a summary of nothing
 * has n = 0. */
struct fc_training_result {
    struct fc_model model; /* owned */
    size_t buckets;
    uint64_t gradient_bytes; /* communicated a step */
    double flop;             /* of one rank a step */
    int ranks;
    bool sharded;
    const char *algorithm;   /* the communicator's */
    struct fc_path own_path; /* of the communication, as this node's counters say; its
                                name is empty until that was measured */
    struct fc_summary step_s, compute_s, comm_s;
    struct fc_summary exposed_s; /* step less computation */
    struct fc_summary overlap; /* (computation + communication - step) / the smaller */
    struct fc_summary mfu;     /* all ranks' FLOP / (step * sum of their peaks) */
    double jitter;             /* p99 / median of step_s; NaN: none */

    struct fc_summary own_compute_s, own_comm_s, own_step_s;
    struct fc_summary own_alone_s; /* compute_s, had others not used the cores */
    struct fc_summary own_peak, own_peak_alone; /* FLOP/s, the same way */
    enum fc_status own_status;                  /* the first failure here */
    struct fc_error own_error;
    enum fc_status worst; /* of all ranks; not FC_OK: it ended early */

    int64_t compared; /* whole steps after which weights were compared, up to the
                           first that showed a fault */
    struct fc_replica_fault fault;
};

/* Measures. FC_USAGE: a setting makes no sense (one line that names it); FC_NOMEM: it
 * does not fit a rank's memory, nothing was allocated. What fails in the measurement
 * itself is in the result. The result is always to be closed.
 * Collective: yes; the status is the same on all ranks. */
enum fc_status fc_training_run(struct fc_run *run,
                               const struct fc_training_settings *settings,
                               struct fc_training_result *out,
                               struct fc_error *err) FC_MUST_USE;
void fc_training_result_close(struct fc_training_result *result);

/* Seconds that it takes at the run's level. */
double fc_training_cost_s(const struct fc_run *run);

#endif
