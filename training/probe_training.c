// SPDX-License-Identifier: BSD-3-Clause
/* The training probe: a synthetic data-parallel training step over all ranks.
 *
 * What it measures: the time of a step's computation alone, of its communication alone,
 * and of the whole step (training.h); from these the exposed communication, the overlap
 * (reported; about 0 on the host), the model FLOP/s utilization and the jitter.
 * Which faults it catches: a straggler, and whether it is late in computation or in
 * communication (each rank's own times); a step that is slower than its parts; steps
 * that vary; a bit that flips in a replica's weights, in the update or on the way (the
 * rank and the first layer are named).
 * Limit: a rank's computation can be no faster than its FLOP at the multiply-add loop's
 * rate, which is measured beside it. None where ranks share cores, and none for groups.
 */
#include "training/probe_training.h"

#include "training/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* With less of its cores a rank is held to what the rest of them could do. */
#define CORE_SHARE_MIN 0.9

struct notes {
    struct fc_run *run;
    int attempt;
    bool told; /* this rank's failure has its record */
};

static struct fc_record base_record(const struct notes *n,
                                    const struct fc_training_result *result,
                                    const char *metric)
{
    struct fc_record r = fc_record_new(metric);
    r.params.op = result->sharded ? "sharded" : "ddp";
    r.params.dtype = "fp32";
    r.params.n = result->ranks;
    r.params.algorithm = result->algorithm;
    r.params.memory = "host";
    r.params.variant = result->model.variant;
    r.params.attempt = n->attempt;
    r.bytes = (int64_t)result->gradient_bytes;
    if (strcmp(metric, "training.comm_time") == 0 && result->own_path.name[0]) {
        r.path = result->own_path.name;
        r.path_how = result->own_path.how;
    }
    return r;
}

/* A journal knows four ways of not being ok. */
static enum fc_status record_status(enum fc_status status)
{
    switch (status) {
    case FC_OK:
    case FC_UNSUPPORTED:
    case FC_UNREADABLE:
    case FC_WRONG:
    case FC_TIMEOUT:
        return status;
    default:
        return FC_FAILED;
    }
}

static struct fc_subject group_subject(const struct fc_run *run)
{
    struct fc_subject node = fc_run_subject(run);
    node.rank = -1;
    return run->rte->nodes == 1
               ? node
               : (struct fc_subject){.kind = "fabric", .rank = -1, .rail = -1};
}

/* --- what each rank says of itself --- */

/* The best of the peak. Where other programs had the cores for part of the time, what
 * the rest of them could do. */
static void set_limit(struct fc_record *r, const struct notes *n,
                      const struct fc_training_result *result, char *basis,
                      size_t basis_bytes)
{
    double peak = fmax(result->own_peak.max, result->own_peak_alone.median);
    double share = result->own_alone_s.median / result->own_compute_s.median;
    char rest[80] = "";
    if (n->run->sharers > 1 || !result->own_peak.n || !result->own_compute_s.n)
        return;
    r->limit = result->flop / peak;
    if (share < CORE_SHARE_MIN) {
        r->limit /= share;
        snprintf(rest, sizeof rest, ", with the %.0f %% of the cores that others left",
                 100.0 * share);
    }
    snprintf(basis, basis_bytes,
             "%.3g GFLOP of GEMM at the FMA loop's rate, %.3g GFLOP/s, best of %zu%s",
             result->flop / 1e9, peak / 1e9, result->own_peak.n, rest);
    r->limit_basis = basis;
}

static enum fc_status add_own(struct notes *n, const struct fc_training_result *result,
                              const char *metric, const struct fc_summary *value,
                              struct fc_error *err)
{
    char basis[200];
    struct fc_record r = base_record(n, result, metric);
    r.subject = fc_run_subject(n->run);
    r.value = *value;
    r.status = record_status(result->own_status);
    r.reason = result->own_status == FC_OK ? NULL : result->own_error.text;
    n->told = n->told || result->own_status != FC_OK;
    if (value == &result->own_step_s && result->fault.own) {
        r.wrong = result->fault.elements;
        r.status = FC_WRONG;
        r.reason = result->fault.text.text;
    } else if (value == &result->own_step_s && !result->fault.nobody) {
        r.wrong = result->compared > 0 ? 0 : -1;
    }
    if (value == &result->own_compute_s) {
        r.path = "cores";
        r.path_how = "host device";
        set_limit(&r, n, result, basis, sizeof basis);
    }
    return fc_sink_add(n->run->sink, &r, err);
}

static void note_failure(void *arg, const struct fc_training_result *result)
{
    struct notes *n = arg;
    struct fc_error err;
    if (!n->told) /* what cannot be noted is said again, in `measured` */
        n->told = add_own(n, result, "training.comm_time", &result->own_comm_s, &err) ==
                  FC_OK;
}

static enum fc_status add_rank_records(struct notes *n, enum fc_step_form form,
                                       const struct fc_training_result *result,
                                       struct fc_error *err)
{
    if (n->told)
        return FC_OK;
    if (form == FC_STEP_COMPUTE)
        return add_own(n, result, "training.compute_time", &result->own_compute_s, err);
    if (form == FC_STEP_COMM)
        return add_own(n, result, "training.comm_time", &result->own_comm_s, err);
    return add_own(n, result, "training.step_time", &result->own_step_s, err);
}

/* --- what rank 0 says of all --- */

static enum fc_status add_group(const struct notes *n,
                                const struct fc_training_result *result,
                                const char *metric, const struct fc_summary *value,
                                struct fc_error *err)
{
    struct fc_record r = base_record(n, result, metric);
    r.subject = group_subject(n->run);
    r.value = *value;
    if (result->worst != FC_OK) {
        r.status = FC_UNSUPPORTED;
        r.reason = "failed on a rank; see the ranks' records";
    } else if (value == &result->step_s && result->fault.nobody) {
        r.wrong = result->fault.elements;
        r.status = FC_WRONG;
        r.reason = result->fault.text.text;
    } else if (value == &result->step_s && !result->fault.any) {
        r.wrong = 0;
    }
    return fc_sink_add(n->run->sink, &r, err);
}

static enum fc_status add_step_records(const struct notes *n,
                                       const struct fc_training_result *result,
                                       struct fc_error *err)
{
    const struct {
        const char *metric;
        const struct fc_summary *value;
    } exposed[] = {{"training.exposed_comm", &result->exposed_s},
                   {"training.overlap", &result->overlap}};
    struct fc_summary jitter;
    enum fc_status status =
        add_group(n, result, "training.step_time", &result->step_s, err);
    if (status == FC_OK)
        status = add_group(n, result, "training.mfu", &result->mfu, err);
    for (size_t i = 0; i < 2 && result->ranks > 1 && status == FC_OK; i++)
        status = add_group(n, result, exposed[i].metric, exposed[i].value, err);
    if (status != FC_OK)
        return status;
    fc_summarize_sorted(&result->jitter, isfinite(result->jitter), &jitter);
    jitter.n = result->step_s.n;
    return add_group(n, result, "training.jitter", &jitter, err);
}

static enum fc_status add_group_records(const struct notes *n, enum fc_step_form form,
                                        const struct fc_training_result *result,
                                        struct fc_error *err)
{
    if (form == FC_STEP_COMPUTE)
        return add_group(n, result, "training.compute_time", &result->compute_s, err);
    if (form == FC_STEP_COMM)
        return add_group(n, result, "training.comm_time", &result->comm_s, err);
    return add_step_records(n, result, err);
}

static enum fc_status measured(void *arg, enum fc_step_form form,
                               const struct fc_training_result *result,
                               struct fc_error *err)
{
    static const char *const names[] = {"training: compute", "training: communication",
                                        "training: step"};
    struct notes *n = arg;
    enum fc_status status = add_rank_records(n, form, result, err);
    if (status == FC_OK && n->run->rte->rank == 0)
        status = add_group_records(n, form, result, err);
    status = fc_rte_agree(n->run->rte, names[form], status, err);
    return status == FC_OK ? fc_phase_commit(n->run, names[form], err) : status;
}

static enum fc_status run(struct fc_run *run, void *state, const struct fc_focus *focus,
                          struct fc_error *err)
{
    struct notes notes = {.run = run, .attempt = focus->attempt};
    struct fc_training_watch watch = {
        .failed = note_failure, .measured = measured, .arg = &notes};
    struct fc_training_settings settings = {.watch = &watch,
                                            .times = focus->attempt > 1 ? 3 : 1};
    struct fc_training_result result;
    (void)state;
    enum fc_status status = fc_training_run(run, &settings, &result, err);
    fc_training_result_close(&result);
    return status;
}

const struct fc_probe fc_probe_training = {
    .name = "training",
    .help = "a synthetic data-parallel training step: stragglers and whether they are "
            "late in computation or in communication, exposed communication, jitter, "
            "replicas whose weights differ",
    .cost_s = fc_training_cost_s,
    .run = run,
    .retests = true,
};
