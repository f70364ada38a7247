// SPDX-License-Identifier: BSD-3-Clause
/* One data-parallel training step of one rank, in its three forms.
 *
 * Per linear layer three products: forward Y = X W, gradient of the input dX = dY W^T,
 * gradient of the weights dW = X^T dY; beside each direction a copy of what it made
 * stands for norms and activations, which are bound by memory. Gradients are averaged
 * bucket by bucket in reverse layer order, each as soon as its last layer is there;
 * then the weights are updated (SGD). The sharded form scatters the averaged gradients,
 * updates a shard on each rank and gathers the weights.
 *
 * X and dY are random, differ by rank and layer and stay the same from step to step, so
 * that nothing can overflow; weights begin equal on all ranks.
 *
 * A rank whose device fails still communicates all buckets, so that the others need not
 * wait; only a communicator that fails leaves them waiting. Only the host device for
 * now: weights are read where they lie, and a collective follows its gradients without
 * an event; other kinds get FC_UNSUPPORTED.
 * Refuses to know: MPI, records, repetition, limits.
 */
#ifndef FC_TRAINING_STEP_H
#define FC_TRAINING_STEP_H

#include "collectives/comm.h"
#include "core/run.h"
#include "device/device.h"
#include "training/buckets.h"
#include "training/model.h"

enum fc_step_form {
    FC_STEP_COMPUTE, /* without communication; the update goes into the gradients, at
                        the same cost, and leaves the weights alone */
    FC_STEP_COMM,    /* the buckets alone, a spinning barrier before each, which does
                        not count: so a rank that leaves an operation late shows. Who is
                        slow inside of one makes all late; pairs tell who that is */
    FC_STEP_WHOLE,
    FC_STEP_FORMS
};

struct fc_step {
    /* The caller sets these; borrowed. */
    struct fc_run *run;
    struct fc_comm *comm;
    const struct fc_model *model;
    const struct fc_buckets *buckets; /* for comm->size ranks */
    bool sharded;
    /* Called once, when the communicator has failed here and other ranks may wait for
     * ever: what it notes down is then safe in the sink. May be NULL. */
    void (*failed)(void *arg, enum fc_status status, const struct fc_error *err);
    void *arg;

    struct fc_stream *stream;
    float *weights, *gradients; /* flat, as the buckets say */
    float *x, *dy;              /* all layers' */
    float *made, *copied;       /* the largest layer's */
    size_t x_count, dy_count, made_count;
    bool comm_dead;
};

/* Bytes that fc_step_open takes from the device. */
uint64_t fc_step_bytes(const struct fc_model *model, const struct fc_buckets *buckets);

/* Allocates and fills. FC_NOMEM, FC_UNSUPPORTED. On failure fc_step_close is still
 * allowed. Collective: no. */
enum fc_status fc_step_open(struct fc_step *step, struct fc_error *err) FC_MUST_USE;
void fc_step_close(struct fc_step *step);

/* Runs one step in its form, behind a spinning barrier; `*out_s` is this rank's time.
 * The first failure of this rank is returned, after all that others may wait for.
 * Collective: yes, over the communicator, also where it fails. */
enum fc_status fc_step_run(struct fc_step *step, enum fc_step_form form, double *out_s,
                           struct fc_error *err) FC_MUST_USE;

#endif
