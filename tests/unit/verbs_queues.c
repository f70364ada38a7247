// SPDX-License-Identifier: BSD-3-Clause
/* The double's queue pairs and completion queues: see verbs_wire.h. */
#include "verbs_wire_parts.h"

#include <errno.h>
#include <infiniband/efadv.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { QPS = 256, QUEUE = 8192, CHAIN = 64, WAITING = 512 };

struct entry { /* a completion */
    struct ibv_wc wc;
    struct wire_qp *qp;
    uint32_t frees; /* places of the send queue; receives: 1 of the receive queue */
    bool receive;
};

struct wire_cq {
    struct ibv_cq cq;
    struct entry entry[QUEUE];
    uint32_t first, count, room;
};

struct request {
    uint64_t id, local, remote;
    uint32_t bytes, lkey, rkey, dest;
    unsigned flags;
    enum ibv_wr_opcode op;
    uint8_t inlined[256];
    bool set;
};

struct wire_qp {
    struct ibv_qp_ex ex; /* first: an ibv_qp is found through it */
    struct wire_cq *cq;
    struct ibv_qp_cap cap;
    bool srd, first; /* first: a lane's queue pair for words */
    uint32_t dest;
    uint32_t sends, unsignaled; /* in the send queue */
    uint64_t receive_id[QUEUE], receive_at[QUEUE];
    uint32_t receive_bytes[QUEUE];
    uint64_t receives, taken;
    struct request waiting[WAITING]; /* sends without a receive */
    uint32_t waits;
    struct request chain[CHAIN]; /* SRD: being built */
    int chained;
};

static struct wire_qp *qps[QPS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void wire_queues_reset(void)
{
    memset(qps, 0, sizeof qps);
}

/* ---- completions ---- */

struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *context, int cqe, void *arg,
                                    struct ibv_comp_channel *channel, int vector);
struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *context, int cqe, void *arg,
                                    struct ibv_comp_channel *channel, int vector)
{
    (void)arg, (void)channel, (void)vector;
    struct wire_cq *cq = wire_fails("ibv_create_cq") ? NULL : calloc(1, sizeof *cq);
    if (!cq)
        return NULL;
    cq->cq.context = context;
    cq->room = (uint32_t)cqe < QUEUE ? (uint32_t)cqe : QUEUE;
    wire.cqs++;
    return &cq->cq;
}

int __wrap_ibv_destroy_cq(struct ibv_cq *cq);
int __wrap_ibv_destroy_cq(struct ibv_cq *cq)
{
    free(cq);
    wire.cqs--;
    return 0;
}

static void complete(struct wire_cq *cq, const struct entry *entry)
{
    if (cq->count == cq->room) {
        wire_broken("a completion queue overflows");
        return;
    }
    cq->entry[(cq->first + cq->count++) % QUEUE] = *entry;
}

int wire_poll(struct ibv_cq *base, int room, struct ibv_wc *out)
{
    struct wire_cq *cq = (struct wire_cq *)(void *)base;
    int n = 0;
    pthread_mutex_lock(&lock);
    if (wire_fails("ibv_poll_cq"))
        n = -1;
    for (; n >= 0 && n < room && cq->count; n++) {
        struct entry *entry = &cq->entry[cq->first];
        cq->first = (cq->first + 1) % QUEUE;
        cq->count--;
        out[n] = entry->wc;
        if (!entry->receive)
            entry->qp->sends -= entry->frees;
    }
    pthread_mutex_unlock(&lock);
    if (n == 0 && wire.yields)
        (void)sched_yield();
    return n;
}

/* ---- moving ---- */

static void finish(struct wire_qp *qp, const struct request *r,
                   enum ibv_wc_status status)
{
    uint32_t frees = ++qp->unsignaled;
    if (!(r->flags & IBV_SEND_SIGNALED) && status == IBV_WC_SUCCESS)
        return;
    qp->unsignaled = 0;
    complete(qp->cq, &(struct entry){.wc = {.wr_id = r->id,
                                            .status = status,
                                            .vendor_err = status ? 0x81 : 0,
                                            .qp_num = qp->ex.qp_base.qp_num},
                                     .qp = qp,
                                     .frees = frees});
}

/* Data messages are counted; some are damaged, or get lost. */
static void copy(const struct wire_qp *qp, uint64_t to, const struct request *r)
{
    char *dst = (char *)(uintptr_t)to;
    const void *src =
        r->flags & IBV_SEND_INLINE ? r->inlined : (const void *)(uintptr_t)r->local;
    if (!qp->first && ++wire.messages == wire.drop_at)
        return;
    memcpy(dst, src, r->bytes);
    if (!qp->first && wire.messages == wire.damage_at)
        dst[r->bytes / 2] ^= 0x10;
}

static bool deliver(struct wire_qp *from, struct wire_qp *to, const struct request *r)
{
    if (to->taken == to->receives)
        return false;
    uint64_t slot = to->taken++ % QUEUE;
    bool fits = r->bytes <= to->receive_bytes[slot];
    if (fits)
        copy(from, to->receive_at[slot], r);
    complete(to->cq, &(struct entry){
                         .wc = {.wr_id = to->receive_id[slot],
                                .status = fits ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR,
                                .opcode = IBV_WC_RECV,
                                .byte_len = r->bytes,
                                .qp_num = to->ex.qp_base.qp_num},
                         .qp = to,
                         .receive = true});
    finish(from, r, fits ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR);
    return true;
}

/* Until a receive is posted; the sender's number takes the place of the receiver's. */
static void hold(const struct wire_qp *from, struct wire_qp *to,
                 const struct request *r)
{
    if (to->waits == WAITING)
        abort();
    to->waiting[to->waits] = *r;
    to->waiting[to->waits++].dest = from->ex.qp_base.qp_num;
}

static void read_remote(const struct wire_qp *qp, const struct request *r)
{
    struct request back = *r;
    back.local = r->remote;
    back.flags = 0;
    copy(qp, r->local, &back);
}

static void move(struct wire_qp *qp, const struct request *r)
{
    bool reads = r->op == IBV_WR_RDMA_READ;
    struct wire_qp *to = r->dest < QPS ? qps[r->dest] : NULL;
    unsigned right = reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    uint64_t next = wire.messages + 1;
    if (!qp->first && wire.silent_from && next >= wire.silent_from) {
        wire.messages++;
        return; /* as if the wire were cut, and no time-out came */
    }
    if (!qp->first && next == wire.fail_message_at) {
        wire.messages++;
        finish(qp, r, wire.fail_status);
        return;
    }
    if (!(r->flags & IBV_SEND_INLINE) &&
        !wire_may(r->lkey, r->local, r->bytes, reads ? IBV_ACCESS_LOCAL_WRITE : 0))
        finish(qp, r, IBV_WC_LOC_PROT_ERR);
    else if (!to)
        finish(qp, r, IBV_WC_RETRY_EXC_ERR);
    else if (r->op == IBV_WR_SEND) {
        if (!deliver(qp, to, r))
            hold(qp, to, r);
    } else if (!wire_may(r->rkey - WIRE_MRS, r->remote, r->bytes, right)) {
        finish(qp, r, IBV_WC_REM_ACCESS_ERR);
    } else {
        if (reads)
            read_remote(qp, r);
        else
            copy(qp, r->remote, r);
        finish(qp, r, IBV_WC_SUCCESS);
    }
}

static int admit(struct wire_qp *qp, const struct request *r)
{
    if (qp->ex.qp_base.state != IBV_QPS_RTS)
        return EINVAL;
    if (qp->sends == qp->cap.max_send_wr) {
        wire_broken("a send queue overflows");
        return ENOMEM;
    }
    if (r->flags & IBV_SEND_INLINE && r->bytes > qp->cap.max_inline_data)
        return EINVAL;
    if (qp->srd && !(r->flags & IBV_SEND_SIGNALED))
        return EINVAL;
    qp->sends++;
    return 0;
}

static void take_inline(struct request *r, const void *at)
{
    if (r->flags & IBV_SEND_INLINE && r->bytes <= sizeof r->inlined)
        memcpy(r->inlined, at, r->bytes);
}

int wire_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
                   struct ibv_send_wr **bad)
{
    struct wire_qp *qp = (struct wire_qp *)(void *)base;
    int error = 0;
    pthread_mutex_lock(&lock);
    if (wire_fails("ibv_post_send"))
        error = errno;
    for (; wr && !error; wr = wr->next) {
        struct request r = {.id = wr->wr_id,
                            .local = wr->sg_list->addr,
                            .remote = wr->wr.rdma.remote_addr,
                            .bytes = wr->sg_list->length,
                            .lkey = wr->sg_list->lkey,
                            .rkey = wr->wr.rdma.rkey,
                            .dest = qp->dest,
                            .flags = wr->send_flags,
                            .op = wr->opcode};
        take_inline(&r, (const void *)(uintptr_t)r.local);
        error = admit(qp, &r);
        *bad = wr;
        if (!error)
            move(qp, &r);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int wire_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
                   struct ibv_recv_wr **bad)
{
    struct wire_qp *qp = (struct wire_qp *)(void *)base;
    int error = 0;
    pthread_mutex_lock(&lock);
    if (wire_fails("ibv_post_recv"))
        error = errno;
    for (; wr && !error; wr = wr->next) {
        *bad = wr;
        if (qp->receives - qp->taken == qp->cap.max_recv_wr) {
            wire_broken("a receive queue overflows");
            error = ENOMEM;
            break;
        }
        if (!wire_may(wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length,
                      IBV_ACCESS_LOCAL_WRITE))
            wire_broken("a receive outside of its memory");
        qp->receive_id[qp->receives % QUEUE] = wr->wr_id;
        qp->receive_at[qp->receives % QUEUE] = wr->sg_list->addr;
        qp->receive_bytes[qp->receives++ % QUEUE] = wr->sg_list->length;
        if (qp->waits) {
            struct request r = qp->waiting[0];
            memmove(qp->waiting, qp->waiting + 1, --qp->waits * sizeof r);
            (void)deliver(qps[r.dest], qp, &r);
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* ---- SRD: requests that are built, and moved in another order ---- */

static struct request *last(struct ibv_qp_ex *ex)
{
    struct wire_qp *qp = (struct wire_qp *)(void *)ex;
    return &qp->chain[qp->chained - 1];
}

static void start(struct ibv_qp_ex *ex)
{
    ((struct wire_qp *)(void *)ex)->chained = 0;
}

static void begin(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t rkey,
                  uint64_t remote)
{
    struct wire_qp *qp = (struct wire_qp *)(void *)ex;
    if (qp->chained == CHAIN)
        abort();
    qp->chain[qp->chained++] = (struct request){.id = ex->wr_id,
                                                .flags = ex->wr_flags,
                                                .op = op,
                                                .rkey = rkey,
                                                .remote = remote};
}

static void begin_send(struct ibv_qp_ex *ex)
{
    begin(ex, IBV_WR_SEND, 0, 0);
}
static void begin_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote)
{
    begin(ex, IBV_WR_RDMA_WRITE, rkey, remote);
}
static void begin_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote)
{
    begin(ex, IBV_WR_RDMA_READ, rkey, remote);
}

static void set_inline(struct ibv_qp_ex *ex, void *at, size_t bytes)
{
    struct request *r = last(ex);
    r->bytes = (uint32_t)bytes;
    if (r->op != IBV_WR_SEND)
        wire_broken("SRD has no inline RDMA");
    take_inline(r, at);
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t at, uint32_t bytes)
{
    struct request *r = last(ex);
    r->lkey = lkey;
    r->local = at;
    r->bytes = bytes;
}

static void set_address(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn,
                        uint32_t qkey)
{
    (void)ah;
    if (!qkey)
        wire_broken("a request without a Q_Key");
    last(ex)->dest = qpn;
    last(ex)->set = true;
}

static int finish_chain(struct ibv_qp_ex *ex)
{
    struct wire_qp *qp = (struct wire_qp *)(void *)ex;
    int error = 0;
    pthread_mutex_lock(&lock);
    if (wire_fails("ibv_wr_complete"))
        error = errno;
    for (int i = qp->chained - 1; i >= 0 && !error; i--) {
        struct request *r = &qp->chain[i];
        if (r->op == IBV_WR_SEND && r->bytes > 8192)
            wire_broken("SRD sends one packet");
        error = r->set ? admit(qp, r) : EINVAL;
        if (!error)
            move(qp, r);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

struct ibv_qp_ex *__wrap_ibv_qp_to_qp_ex(struct ibv_qp *qp);
struct ibv_qp_ex *__wrap_ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return (struct ibv_qp_ex *)(void *)qp;
}

/* ---- queue pairs ---- */

static struct wire_qp *make(struct ibv_context *context, struct ibv_cq *cq,
                            const struct ibv_qp_cap *cap)
{
    static uint32_t made;
    uint32_t number = 0;
    for (uint32_t i = 1; i < QPS && !number; i++)
        if (!qps[(made + i) % QPS])
            number = (made + i) % QPS;
    struct wire_qp *qp = calloc(1, sizeof *qp);
    if (!qp || !number)
        abort();
    made = number;
    qp->ex.qp_base.context = context;
    qp->ex.qp_base.qp_num = number;
    qp->ex.qp_base.state = IBV_QPS_RESET;
    qp->cq = (struct wire_cq *)(void *)cq;
    qp->cap = *cap;
    qp->first = cap->max_send_wr == 16; /* FC_LANE_WORDS */
    qps[number] = qp;
    wire.qps++;
    return qp;
}

struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    if ((int64_t)attr->cap.max_inline_data > wire.max_inline) {
        errno = EINVAL;
        return NULL;
    }
    if (wire_fails("ibv_create_qp"))
        return NULL;
    if (wire_device_of(pd->context)->efa || attr->qp_type != IBV_QPT_RC)
        wire_broken("a queue pair of the wrong kind");
    return &make(pd->context, attr->send_cq, &attr->cap)->ex.qp_base;
}

struct ibv_qp *__wrap_efadv_create_qp_ex(struct ibv_context *context,
                                         struct ibv_qp_init_attr_ex *attr,
                                         struct efadv_qp_init_attr *efa,
                                         uint32_t bytes);
struct ibv_qp *__wrap_efadv_create_qp_ex(struct ibv_context *context,
                                         struct ibv_qp_init_attr_ex *attr,
                                         struct efadv_qp_init_attr *efa, uint32_t bytes)
{
    (void)bytes;
    if (wire_fails("efadv_create_qp_ex"))
        return NULL;
    if (efa->driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD ||
        attr->qp_type != IBV_QPT_DRIVER || attr->cap.max_inline_data > 32)
        wire_broken("no SRD queue pair is made so");
    struct wire_qp *qp = make(context, attr->send_cq, &attr->cap);
    qp->srd = true;
    qp->ex.wr_start = start;
    qp->ex.wr_send = begin_send;
    if (attr->send_ops_flags & IBV_QP_EX_WITH_RDMA_WRITE)
        qp->ex.wr_rdma_write = begin_write;
    if (attr->send_ops_flags & IBV_QP_EX_WITH_RDMA_READ)
        qp->ex.wr_rdma_read = begin_read;
    qp->ex.wr_set_inline_data = set_inline;
    qp->ex.wr_set_sge = set_sge;
    qp->ex.wr_set_ud_addr = set_address;
    qp->ex.wr_complete = finish_chain;
    return &qp->ex.qp_base;
}

int __wrap_ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask);
int __wrap_ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    struct wire_qp *qp = (struct wire_qp *)(void *)base;
    if (wire_fails("ibv_modify_qp"))
        return errno;
    if (!qp->srd && attr->qp_state == IBV_QPS_RTS && attr->retry_cnt > 6)
        wire_broken("a dead link is tried for ever");
    if (!qp->srd && mask & IBV_QP_DEST_QPN)
        qp->dest = attr->dest_qp_num;
    base->state = attr->qp_state;
    return 0;
}

int __wrap_ibv_destroy_qp(struct ibv_qp *base);
int __wrap_ibv_destroy_qp(struct ibv_qp *base)
{
    qps[base->qp_num] = NULL;
    free(base);
    wire.qps--;
    return 0;
}

struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    (void)attr;
    struct ibv_ah *ah = wire_fails("ibv_create_ah") ? NULL : calloc(1, sizeof *ah);
    if (!ah)
        return NULL;
    ah->pd = pd;
    wire.ahs++;
    return ah;
}

int __wrap_ibv_destroy_ah(struct ibv_ah *ah);
int __wrap_ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    wire.ahs--;
    return 0;
}
