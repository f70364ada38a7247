// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/register.h"

#include "core/units.h"
#include "core/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* By its dma-buf; NULL with the reason in `note`. */
static struct ibv_mr *by_dmabuf(struct ibv_pd *pd, struct fc_rdma_memory *memory,
                                unsigned access, struct fc_worker_call *call,
                                char *note, size_t note_bytes)
{
    struct fc_error why = {""};
    uint64_t offset = 0;
    int fd = -1;
    if (memory->ops->dmabuf(memory, &fd, &offset, &why) != FC_OK) {
        snprintf(note, note_bytes, "no dma-buf: %.140s", why.text);
        return NULL;
    }
    fc_worker_note(call, "ibv_reg_dmabuf_mr");
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, offset, memory->bytes,
                                          (uintptr_t)memory->at, fd, (int)access);
    if (!mr)
        snprintf(note, note_bytes, "ibv_reg_dmabuf_mr: %s", strerror(errno));
    close(fd);
    return mr;
}

static enum fc_status refuse(const struct fc_rdma_memory *memory, const char *device,
                             int error, const char *note, struct fc_error *err)
{
    struct rlimit limit;
    if ((error == ENOMEM || error == EAGAIN || error == EPERM) &&
        getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < memory->bytes)
        return fc_fail(err, FC_UNREADABLE,
                       "%s: the limit of locked memory is %s, and a lane needs %s: "
                       "raise it (ulimit -l, LimitMEMLOCK of the launcher's service)",
                       device, fc_format_size(limit.rlim_cur).s,
                       fc_format_size(memory->bytes).s);
    if (memory->ops->host_visible)
        return fc_fail(err, FC_FAILED, "%s: ibv_reg_mr of %s: %s", device,
                       fc_format_size(memory->bytes).s, strerror(error));
    return fc_fail(err, FC_UNSUPPORTED,
                   "%s: %s memory cannot be registered: %s; by its pointer: "
                   "ibv_reg_mr: %s (is the peer-memory module loaded?)",
                   device, memory->ops->name, note, strerror(error));
}

enum fc_status fc_rdma_register(struct ibv_pd *pd, struct fc_rdma_memory *memory,
                                unsigned access, const char *device,
                                struct fc_worker_call *call, struct fc_rdma_mr *out,
                                struct fc_error *err)
{
    struct fc_rdma_mr made = {.by = "dma-buf"};
    if (memory->ops->dmabuf)
        made.mr = by_dmabuf(pd, memory, access, call, made.note, sizeof made.note);
    if (!made.mr) {
        fc_worker_note(call, "ibv_reg_mr");
        snprintf(made.by, sizeof made.by, "pointer");
        made.mr = ibv_reg_mr(pd, memory->at, memory->bytes, access);
    }
    if (!made.mr)
        return refuse(memory, device, errno, made.note, err);
    *out = made;
    return FC_OK;
}
