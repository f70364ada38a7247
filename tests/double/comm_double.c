// SPDX-License-Identifier: BSD-3-Clause
/* A communicator that is slow, wrong, dead or hung on one rank, around a real one. */
#include "collectives/comm.h"
#include "core/clock.h"
#include "device_double.h"
#include "fault.h"

#include <stdlib.h>
#include <time.h>

struct comm_double {
    struct fc_comm base;
    struct fc_comm *real;
    struct faults faults;
};

static struct fc_comm *real_of(struct fc_comm *comm)
{
    return ((struct comm_double *)comm)->real;
}

static void sleep_until(uint64_t end)
{
    for (uint64_t now; (now = fc_now_ns()) < end;) {
        uint64_t left = end - now;
        nanosleep(&(struct timespec){.tv_sec = (time_t)(left / FC_NS_PER_S),
                                     .tv_nsec = (long)(left % FC_NS_PER_S)},
                  NULL);
    }
}

static enum fc_status enqueue(struct fc_comm *comm, const struct fc_coll_args *args,
                              struct fc_error *err)
{
    struct comm_double *d = (struct comm_double *)comm;
    const char *op = fc_coll_name(args->op);
    struct fc_coll_shape shape = fc_coll_shape(args->op, comm->size);
    size_t blocks =
        shape.send_blocks > shape.recv_blocks ? shape.send_blocks : shape.recv_blocks;
    size_t bytes = blocks * args->count * fc_dtype_bytes(args->dtype);
    bool link = args->op == FC_COLL_SENDRECV;
    const struct fault *fault = faults_strike_link(&d->faults, op, bytes,
                                                   !link           ? -1
                                                   : args->to >= 0 ? args->to
                                                                   : args->from);
    if (fault_is(fault, "hang"))
        fault_hang();
    if (fault_is(fault, "dead"))
        return fc_fail(err, FC_FAILED, "%s: the transport reports an error", op);
    uint64_t start = fc_now_ns();
    enum fc_status status = d->real->ops->enqueue(d->real, args, err);
    if (fault_is(fault, "slow"))
        for (uint64_t end =
                 fc_now_ns() + (uint64_t)((double)(fc_now_ns() - start) * fault->by);
             fc_now_ns() < end;)
            ;
    if (fault_is(fault, "paced"))
        sleep_until(start + (uint64_t)((double)bytes * fault->by));
    if (fault_is(fault, "wrong") && !(link && args->from < 0))
        /* The last byte of an element: its sign, or all of an int8. */
        ((unsigned char *)
             args->recv)[(args->count / 3 + 1) * fc_dtype_bytes(args->dtype) - 1] ^=
            0x80;
    return status;
}

static enum fc_status poll(struct fc_comm *comm, bool *out_done, struct fc_error *err)
{
    return real_of(comm)->ops->poll(real_of(comm), out_done, err);
}

static enum fc_status barrier_spin(struct fc_comm *comm, struct fc_error *err)
{
    return real_of(comm)->ops->barrier_spin(real_of(comm), err);
}

static void abort_real(struct fc_comm *comm)
{
    real_of(comm)->ops->abort(real_of(comm));
}

static const char *algorithm(const struct fc_comm *comm, enum fc_coll op)
{
    const struct fc_comm *real = ((const struct comm_double *)comm)->real;
    return real->ops->algorithm(real, op);
}

static void close_double(struct fc_comm *comm)
{
    real_of(comm)->ops->close(real_of(comm));
    free(comm);
}

static const struct fc_comm_ops ops = {
    .name = "double",
    .enqueue = enqueue,
    .poll = poll,
    .barrier_spin = barrier_spin,
    .abort = abort_real,
    .algorithm = algorithm,
    .close = close_double,
};

void comm_double_wrap(struct fc_comm **comm, int rank)
{
    struct comm_double *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->base = **comm;
    d->base.ops = &ops;
    d->real = *comm;
    faults_read(&d->faults, rank);
    *comm = &d->base;
}
