// SPDX-License-Identifier: BSD-3-Clause
#include "config.h"

#include "rdma/hca.h"

#include "core/clock.h"
#include "core/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_EFADV
#include <infiniband/efadv.h>
#endif

enum { EVENTS_A_TURN = 64 };
/* efadv's device_caps; older headers do not name the second. */
enum { SRD_CAN_READ = 1 << 0, SRD_CAN_WRITE = 1 << 3 };

/* ---- finding it ---- */

static enum fc_status no_devices(int error, struct fc_error *err)
{
    if (error == ENOSYS)
        return fc_fail(err, FC_UNSUPPORTED,
                       "no RDMA device: this kernel has no RDMA subsystem");
    if (error)
        return fc_fail(err, FC_UNREADABLE, "RDMA devices cannot be listed: %s",
                       strerror(error));
    return fc_fail(err, FC_UNSUPPORTED, "no RDMA device on this node");
}

static enum fc_status unknown(const char *device, struct ibv_device **list, int n,
                              struct fc_error *err)
{
    char known[256] = "";
    for (int i = 0; i < n; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 ibv_get_device_name(list[i]));
    }
    return fc_fail(err, FC_USAGE, "there is no RDMA device '%.60s' (there is: %s)",
                   device, known);
}

static enum fc_status open_context(struct fc_hca *hca, struct fc_worker_call *call,
                                   struct fc_error *err)
{
    int n = 0;
    enum fc_status status = FC_OK;
    fc_worker_note(call, "ibv_get_device_list");
    errno = 0;
    struct ibv_device **list = ibv_get_device_list(&n), *found = NULL;
    if (!list || n == 0) {
        status = no_devices(list ? 0 : errno, err);
        goto done;
    }
    for (int i = 0; i < n && !found; i++)
        if (strcmp(ibv_get_device_name(list[i]), hca->name) == 0)
            found = list[i];
    if (!found) {
        status = unknown(hca->name, list, n, err);
        goto done;
    }
    fc_worker_note(call, "ibv_open_device");
    hca->context = ibv_open_device(found);
    if (!hca->context)
        status =
            fc_fail(err, errno == EACCES || errno == EPERM ? FC_UNREADABLE : FC_FAILED,
                    "%s cannot be opened: %s", hca->name, strerror(errno));
done:
    if (list)
        ibv_free_device_list(list);
    return status;
}

/* ---- what it is ---- */

static int numa_of(const char *device)
{
    char path[160];
    int numa = -1;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/device/numa_node", device);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &numa) != 1)
        numa = -1;
    if (file)
        (void)fclose(file);
    return numa;
}

static void read_srd(struct fc_hca *hca, struct fc_worker_call *call)
{
#ifdef HAVE_EFADV
    struct efadv_device_attr attr = {0};
    if (hca->context->device->transport_type != IBV_TRANSPORT_UNSPECIFIED)
        return;
    fc_worker_note(call, "efadv_query_device");
    if (efadv_query_device(hca->context, &attr, sizeof attr) != 0)
        return;
    hca->srd = true;
    hca->srd_inline = attr.inline_buf_size;
    hca->srd_send_depth = attr.max_sq_wr;
    hca->srd_recv_depth = attr.max_rq_wr;
    hca->rdma_bytes = attr.max_rdma_size;
    hca->srd_read = (attr.device_caps & SRD_CAN_READ) != 0;
    hca->srd_write = (attr.device_caps & SRD_CAN_WRITE) != 0;
#else
    (void)hca, (void)call;
#endif
}

static enum fc_status look(struct fc_hca *hca, struct fc_worker_call *call,
                           struct fc_error *err)
{
    fc_worker_note(call, "ibv_query_device");
    int error = ibv_query_device(hca->context, &hca->attr);
    if (error)
        return fc_fail(err, FC_FAILED, "%s: ibv_query_device: %s", hca->name,
                       strerror(error));
    fc_worker_note(call, "ibv_alloc_pd");
    hca->pd = ibv_alloc_pd(hca->context);
    if (!hca->pd)
        return fc_fail(err, FC_FAILED, "%s: ibv_alloc_pd: %s", hca->name,
                       strerror(errno));
    int flags = fcntl(hca->context->async_fd, F_GETFL);
    if (flags >= 0) /* else no events are told */
        (void)fcntl(hca->context->async_fd, F_SETFL, flags | O_NONBLOCK);
    hca->numa = numa_of(hca->name);
    read_srd(hca, call);
    return FC_OK;
}

enum fc_status fc_hca_open(const char *device, struct fc_worker_call *call,
                           struct fc_hca **out, struct fc_error *err)
{
    struct fc_hca *hca = calloc(1, sizeof *hca);
    if (!hca)
        return fc_fail(err, FC_NOMEM, "no memory for an RDMA device");
    snprintf(hca->name, sizeof hca->name, "%s", device);
    enum fc_status status = open_context(hca, call, err);
    if (status == FC_OK)
        status = look(hca, call, err);
    if (status != FC_OK) {
        fc_hca_close(hca, call);
        return status;
    }
    *out = hca;
    return FC_OK;
}

void fc_hca_close(struct fc_hca *hca, struct fc_worker_call *call)
{
    if (!hca)
        return;
    fc_worker_note(call, "ibv_dealloc_pd");
    if (hca->pd)
        (void)ibv_dealloc_pd(hca->pd);
    fc_worker_note(call, "ibv_close_device");
    if (hca->context)
        (void)ibv_close_device(hca->context);
    free(hca);
}

/* ---- events ---- */

/* The port an event is about; 0: the device, or a queue of it. */
static int port_of(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        return event->element.port_num;
    default:
        return 0;
    }
}

void fc_hca_events(struct fc_hca *hca, json_t *events)
{
    struct pollfd on = {.fd = hca->context->async_fd, .events = POLLIN};
    struct ibv_async_event event;
    for (int i = 0; i < EVENTS_A_TURN && poll(&on, 1, 0) == 1; i++) {
        if (!(on.revents & POLLIN) || ibv_get_async_event(hca->context, &event) != 0)
            return;
        const char *name = ibv_event_type_str(event.event_type);
        bool fatal = event.event_type == IBV_EVENT_DEVICE_FATAL;
        json_array_append_new(
            events, json_pack("{s:s, s:i, s:s, s:b, s:I}", "device", hca->name, "port",
                              port_of(&event), "event", name ? name : "unknown",
                              "fatal", fatal, "t_ns", (json_int_t)fc_now_ns()));
        ibv_ack_async_event(&event);
    }
}
