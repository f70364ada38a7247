// SPDX-License-Identifier: BSD-3-Clause
#include "device/trial.h"

/* Less is noise of the clocks. */
#define SHARE_MIN 0.01

void fc_trial_fault(struct fc_trial_half *half, enum fc_status status,
                    const struct fc_error *err)
{
    if (half->status == FC_OK) {
        half->status = status;
        half->why = *err;
    }
    half->over = half->over || status != FC_WRONG;
}

void fc_trial_checked(struct fc_trial_half *half, uint64_t wrong,
                      const struct fc_error *err)
{
    half->checks++;
    half->wrong += wrong;
    if (wrong)
        fc_trial_fault(half, FC_WRONG, err);
}

static void prepare(struct fc_trial *trial, struct fc_trial_half *half)
{
    struct fc_error err;
    enum fc_status status = half->prepare ? half->prepare(trial->work, &err) : FC_OK;
    (void)trial->core_share(trial->work);
    if (status != FC_OK)
        fc_trial_fault(half, status, &err);
}

static void measure(struct fc_trial *trial, struct fc_trial_half *half)
{
    struct fc_error err;
    double rate;
    uint64_t wrong = 0;
    enum fc_status status = half->measure(trial->work, &rate, &err);
    if (status == FC_OK) {
        fc_sampler_add(&half->sampler, rate);
        double share = half->brief ? 1.0 : trial->core_share(trial->work);
        fc_sampler_add(&half->alone, rate / (share > SHARE_MIN ? share : SHARE_MIN));
        status = half->check ? half->check(trial->work, &wrong, &err) : FC_OK;
    }
    if (status != FC_OK)
        fc_trial_fault(half, status, &err);
    else if (half->check)
        fc_trial_checked(half, wrong, &err);
}

static void watched(struct fc_run *run, struct fc_trial *trial,
                    struct fc_trial_half *half,
                    void (*step)(struct fc_trial *, struct fc_trial_half *))
{
    if (!trial->active || half->over)
        return;
    fc_watchdog_push(run->watchdog, half->name, FC_WAIT_LOCAL, run->settings->work_ns);
    step(trial, half);
    fc_watchdog_pop(run->watchdog);
}

static bool wants_more(const struct fc_trial *trial)
{
    const struct fc_trial_half *rate = &trial->half[FC_TRIAL_RATE];
    const struct fc_trial_half *peak = &trial->half[FC_TRIAL_PEAK];
    if (!trial->active)
        return false;
    /* Without the rate, the ceiling is still worth knowing. */
    return !rate->over ? fc_sampler_wants_more(&rate->sampler)
                       : !peak->over && fc_sampler_wants_more(&peak->sampler);
}

enum fc_status fc_trial_run(struct fc_run *run, struct fc_trial *trial,
                            struct fc_error *err)
{
    for (;;) {
        int64_t more = wants_more(trial);
        enum fc_status status =
            fc_rte_max(run->rte, "device: next repetition", &more, 1, err);
        if (status != FC_OK || !more)
            return status;
        for (int i = 0; i < FC_TRIAL_HALVES; i++) {
            struct fc_trial_half *half = &trial->half[i];
            watched(run, trial, half, prepare);
            if (trial->sync && (status = fc_rte_barrier_spin(run->rte, err)) != FC_OK)
                return status;
            watched(run, trial, half, measure);
        }
    }
}
