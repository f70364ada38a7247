// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/flow.h"

#include "core/clock.h"
#include "core/stats.h"

#include <math.h>
#include <stdio.h>

enum {
    SIGNAL_MOST = 16,
    SIGNAL_EACH_FROM = 8192, /* bytes: a completion costs nothing beside them */
    POLL_ROOM = 16,
    HEAR_EVERY = 64, /* turns, while data moves */
};

/* Ids of requests: the queue pair, and how many requests a completion stands for. */
#define RECEIVE_ID (UINT64_C(1) << 32)

static uint64_t id_of(unsigned qp, uint32_t count)
{
    return (uint64_t)qp << 16 | count;
}

/* Whole chains go to one queue pair after the other. */
static unsigned qp_of(const struct fc_flow *flow, uint64_t m)
{
    return (unsigned)(m / FC_LANE_CHAIN % (uint64_t)flow->side.lane->plan.qps);
}

/* The message that the k-th receive of a queue pair takes. */
static uint64_t message_of(const struct fc_flow *flow, unsigned qp, uint64_t k)
{
    uint64_t qps = (uint64_t)flow->side.lane->plan.qps;
    return (k / FC_LANE_CHAIN * qps + qp) * FC_LANE_CHAIN + k % FC_LANE_CHAIN;
}

void fc_flow_open(struct fc_flow *flow, struct fc_lane *lane,
                  const struct fc_transfer_plan *plan, enum fc_lane_role role,
                  struct fc_lane_result *out)
{
    *flow = (struct fc_flow){.state = FC_FLOW_IDLE};
    fc_side_open(&flow->side, lane, plan, role, out);
    flow->depth = lane->depth;
    if (plan->depth > 0 && (uint32_t)plan->depth < flow->depth)
        flow->depth = (uint32_t)plan->depth;
    flow->signal_every = flow->depth / 4 < 1 || plan->bytes > SIGNAL_EACH_FROM ? 1
                         : flow->depth / 4 > SIGNAL_MOST ? SIGNAL_MOST
                                                         : flow->depth / 4;
    if (!(role & FC_LANE_INITIATES))
        flow->state = FC_FLOW_ENDED;
    flow->over = !(role & FC_LANE_SERVES);
    flow->done = flow->side.failed;
}

static void fail(struct fc_flow *flow, enum fc_status status, struct fc_error *why)
{
    if (flow->state == FC_FLOW_RUNS)
        fc_prefix(why, "after %llu of %llu messages of %llu bytes",
                  (unsigned long long)(flow->completed - flow->base),
                  (unsigned long long)flow->want,
                  (unsigned long long)flow->side.plan->bytes);
    fc_side_fail(&flow->side, status, why);
}

/* ---- the initiator ---- */

static bool counts_iterations(const struct fc_flow *flow)
{
    return flow->side.plan->iterations > 0;
}

static uint64_t first_want(const struct fc_flow *flow)
{
    const struct fc_transfer_plan *plan = flow->side.plan;
    uint64_t most = (uint64_t)flow->depth * (uint64_t)flow->side.lane->plan.qps;
    uint64_t want = ((uint64_t)64 << 10) / plan->bytes;
    if (counts_iterations(flow) && plan->iterations < most)
        most = plan->iterations;
    return want < 1 ? 1 : want > most ? most : want;
}

static double target_s(const struct fc_flow *flow)
{
    const struct fc_transfer_plan *plan = flow->side.plan;
    return (double)plan->box_ns / 1e9 / (plan->bursts ? plan->bursts : 5);
}

enum { GROWTH = 8, ENOUGH = 3, LAST_BOX = 4 };

static uint64_t next_want(const struct fc_flow *flow, double seconds)
{
    double done = (double)flow->want, most = done * GROWTH;
    if (counts_iterations(flow))
        return flow->side.plan->iterations;
    double want = seconds > 0 ? done / seconds * target_s(flow) : most;
    return want < 1 ? 1 : want > most ? (uint64_t)most : (uint64_t)want;
}

static bool enough(const struct fc_flow *flow, uint64_t now)
{
    const struct fc_transfer_plan *plan = flow->side.plan;
    uint64_t spent = now - flow->box_start_ns;
    size_t n = flow->side.out->samples, wanted = plan->bursts ? plan->bursts : 5;
    if (counts_iterations(flow))
        return n > 0;
    return n >= wanted || n >= FC_RDMA_SAMPLES_MAX ||
           (n >= ENOUGH && spent >= 2 * plan->box_ns) ||
           (n > 0 && spent >= LAST_BOX * plan->box_ns);
}

static void run(struct fc_flow *flow)
{
    flow->state = FC_FLOW_RUNS;
    flow->parts_posted = flow->parts_completed = 0;
    flow->start_ns = flow->moved_ns = fc_now_ns();
}

static void begin_burst(struct fc_flow *flow, uint64_t want)
{
    flow->base = flow->posted;
    flow->want = want;
    if (flow->side.plan->op != FC_RDMA_SEND) {
        run(flow);
    } else if (fc_side_say(&flow->side, FC_STEP_BURST, want, 0)) {
        flow->state = FC_FLOW_ASKED;
    }
}

static void end_flow(struct fc_flow *flow)
{
    struct fc_lane_result *out = flow->side.out;
    double sorted[FC_RDMA_SAMPLES_MAX];
    for (size_t i = 0; i < out->samples; i++)
        sorted[i] = out->sample[i];
    flow->state = FC_FLOW_ENDED;
    if (out->samples)
        out->bw_GBps = fc_median_in_place(sorted, out->samples);
    out->payload += flow->completed * flow->side.plan->bytes;
    out->messages += flow->completed;
    if (flow->cut && flow->side.plan->op == FC_RDMA_SEND)
        out->reopen = true; /* receives are left over at the target */
    (void)fc_side_say(&flow->side, FC_STEP_OVER, flow->posted, 0);
}

static double rate_of(const struct fc_flow *flow, uint64_t messages, uint64_t ns)
{
    return (double)messages * (double)flow->side.plan->bytes / (double)(ns ? ns : 1);
}

/* Notes when each part of the burst is about to be posted, and when it had completed:
 * posting may take as long as moving. */
static void mark_posted(struct fc_flow *flow, uint64_t until)
{
    while (flow->parts_posted < FC_FLOW_PARTS &&
           until > flow->parts_posted * flow->want / FC_FLOW_PARTS)
        flow->posted_ns[flow->parts_posted++] = fc_now_ns();
}

static void mark_completed(struct fc_flow *flow)
{
    uint64_t done = flow->completed - flow->base;
    while (flow->parts_completed < flow->parts_posted &&
           done >= (flow->parts_completed + 1) * flow->want / FC_FLOW_PARTS)
        flow->completed_ns[flow->parts_completed++] = fc_now_ns();
}

/* The best rate of any run of parts, as perftest has it: from the posting of its first
 * message, so that completions which come late and all at once are no peak. */
static double peak_of(const struct fc_flow *flow)
{
    double best = 0;
    for (unsigned from = 0; from < flow->parts_completed; from++)
        for (unsigned to = from; to < flow->parts_completed; to++) {
            uint64_t messages = (to + 1) * flow->want / FC_FLOW_PARTS -
                                from * flow->want / FC_FLOW_PARTS;
            double rate =
                rate_of(flow, messages, flow->completed_ns[to] - flow->posted_ns[from]);
            best = rate > best ? rate : best;
        }
    return best;
}

/* Bursts that are far too short for the clock, while the size still grows, do not
 * count; nor does the first one of a given number of messages. */
static void end_burst(struct fc_flow *flow)
{
    struct fc_lane_result *out = flow->side.out;
    uint64_t now = fc_now_ns(), ns = now - flow->start_ns;
    uint64_t done = flow->completed - flow->base;
    double seconds = (double)ns / 1e9;
    bool late = now - flow->box_start_ns >= LAST_BOX * flow->side.plan->box_ns;
    bool counts = counts_iterations(flow) ? flow->bursts > 0
                                          : seconds >= target_s(flow) / 4 || late;
    flow->bursts++;
    if (counts) {
        double rate = rate_of(flow, done, ns);
        out->sample[out->samples++] = rate;
        double before = out->samples > 1 ? out->messages_per_s * out->seconds : 0;
        out->seconds += seconds;
        out->messages_per_s = (before + (double)done) / out->seconds;
        out->average_GBps = out->messages_per_s * (double)flow->side.plan->bytes / 1e9;
        double peak = flow->want >= FC_FLOW_PARTS && !flow->cut
                          ? fmax(peak_of(flow), rate)
                          : rate;
        if (!(peak <= out->peak_GBps))
            out->peak_GBps = peak;
    }
    if (enough(flow, now))
        end_flow(flow);
    else
        begin_burst(flow, next_want(flow, seconds));
}

/* Fills a chain for one queue pair from message `posted` on; how many. */
static int fill_chain(struct fc_flow *flow, unsigned qp, struct fc_post *chain)
{
    uint64_t end = flow->base + flow->want, m = flow->posted;
    uint64_t tail = (uint64_t)flow->side.lane->plan.qps * FC_LANE_CHAIN;
    uint32_t room = flow->depth - flow->in_flight[qp];
    int n = 0;
    while (m < end && (uint32_t)n < room && n < FC_LANE_CHAIN &&
           (n == 0 || m % FC_LANE_CHAIN != 0)) {
        uint32_t count = ++flow->unsignaled[qp];
        bool signaled = count >= flow->signal_every || end - m <= tail ||
                        flow->side.lane->transport->signal_all;
        chain[n++] = fc_side_post(&flow->side, m, id_of(qp, count), signaled);
        if (signaled)
            flow->unsignaled[qp] = 0;
        m++;
    }
    return n;
}

static void post_more(struct fc_flow *flow)
{
    struct fc_post chain[FC_LANE_CHAIN];
    struct fc_error why;
    while (flow->posted < flow->base + flow->want) {
        unsigned qp = qp_of(flow, flow->posted);
        int n = fill_chain(flow, qp, chain);
        if (n == 0)
            return;
        mark_posted(flow, flow->posted + (uint64_t)n - flow->base);
        enum fc_status status =
            fc_lane_post(flow->side.lane, (int)qp + 1, chain, n, &why);
        if (status != FC_OK) {
            fail(flow, status, &why);
            return;
        }
        flow->posted += (uint64_t)n;
        flow->in_flight[qp] += (uint32_t)n;
    }
}

/* A burst whose rate fell to a fraction ends with what is on its way. */
static void cut_burst(struct fc_flow *flow, uint64_t now)
{
    uint64_t limit = LAST_BOX * flow->side.plan->box_ns;
    if (limit < flow->side.patience_ns / 2)
        limit = flow->side.patience_ns / 2;
    if (counts_iterations(flow) || now - flow->start_ns <= limit ||
        flow->posted == flow->base + flow->want || flow->posted == flow->base)
        return;
    flow->cut = true;
    uint64_t want = flow->posted - flow->base;
    for (int i = 0; i < flow->side.lane->plan.qps; i++)
        if (flow->unsignaled[i]) /* a last one on each, so that all of them complete */
            want = flow->posted - flow->base +
                   (uint64_t)flow->side.lane->plan.qps * FC_LANE_CHAIN;
    if (want < flow->want)
        flow->want = want;
}

/* ---- the target ---- */

static void grant(struct fc_flow *flow)
{
    struct fc_receive chain[FC_LANE_CHAIN];
    struct fc_error why;
    for (unsigned qp = 0; qp < (unsigned)flow->side.lane->plan.qps; qp++) {
        uint64_t m = message_of(flow, qp, flow->receives[qp]);
        while (m < flow->granted && flow->open_receives[qp] < flow->side.lane->depth) {
            int n = 0;
            for (; n < FC_LANE_CHAIN && m < flow->granted &&
                   flow->open_receives[qp] < flow->side.lane->depth;
                 m = message_of(flow, qp, ++flow->receives[qp])) {
                chain[n++] = fc_side_receive(&flow->side, m, RECEIVE_ID | id_of(qp, 1));
                flow->open_receives[qp]++;
            }
            enum fc_status status =
                fc_lane_receive(flow->side.lane, (int)qp + 1, chain, n, &why);
            if (status != FC_OK) {
                fail(flow, status, &why);
                return;
            }
        }
    }
}

static void end_target(struct fc_flow *flow)
{
    bool sends = flow->side.plan->op == FC_RDMA_SEND;
    struct fc_lane_result *out = flow->side.out;
    flow->over = true;
    if (flow->side.plan->op == FC_RDMA_READ)
        return;
    out->payload += (sends ? flow->received : flow->total) * flow->side.plan->bytes;
    out->messages += sends ? flow->received : flow->total;
    if (flow->received < flow->granted)
        out->reopen = true;
}

/* ---- both ---- */

static void take_receive(struct fc_flow *flow, const struct ibv_wc *wc)
{
    struct fc_error why;
    unsigned qp = (unsigned)(wc->wr_id >> 16) & 0xff;
    flow->open_receives[qp]--;
    flow->received++;
    if (wc->byte_len == flow->side.plan->bytes)
        return;
    enum fc_status status =
        fc_fail(&why, FC_WRONG,
                "%s <- %s: a message of %u bytes came, where %llu were "
                "sent",
                flow->side.lane->name, flow->side.lane->peer.name, wc->byte_len,
                (unsigned long long)flow->side.plan->bytes);
    fail(flow, status, &why);
}

static void reap(struct fc_flow *flow)
{
    struct ibv_wc wc[POLL_ROOM];
    struct fc_error why;
    int n = 0;
    enum fc_status status = fc_lane_poll(flow->side.lane, flow->side.lane->data_cq,
                                         POLL_ROOM, wc, &n, &why);
    if (status != FC_OK)
        fail(flow, status, &why);
    for (int i = 0; i < n && status == FC_OK; i++) {
        if (wc[i].wr_id & RECEIVE_ID) {
            take_receive(flow, &wc[i]);
            continue;
        }
        uint32_t count = (uint32_t)wc[i].wr_id & 0xffff;
        flow->in_flight[(wc[i].wr_id >> 16) & 0xff] -= count;
        flow->completed += count;
    }
    if (n > 0)
        flow->moved = true;
}

static void take_word(struct fc_flow *flow, const struct fc_word *word)
{
    switch ((enum fc_step)word->step) {
    case FC_STEP_READY:
        flow->heard_ready = true;
        break;
    case FC_STEP_BURST:
        flow->granted += word->a;
        grant(flow);
        (void)fc_side_say(&flow->side, FC_STEP_GO, 0, 0);
        break;
    case FC_STEP_GO:
        if (flow->state == FC_FLOW_ASKED)
            run(flow);
        break;
    case FC_STEP_OVER:
        flow->total = word->a;
        flow->heard_over = true;
        break;
    case FC_STEP_BEAT:
    case FC_STEP_FAILED:
        break;
    }
}

static void hear(struct fc_flow *flow)
{
    struct fc_word word;
    bool heard = true;
    while (heard && fc_side_hear(&flow->side, &word, &heard))
        if (heard)
            take_word(flow, &word);
}

static void step_initiator(struct fc_flow *flow, bool go)
{
    if (flow->state == FC_FLOW_IDLE && go) {
        flow->box_start_ns = fc_now_ns();
        begin_burst(flow, first_want(flow));
    }
    if (flow->state != FC_FLOW_RUNS || flow->side.failed)
        return;
    post_more(flow);
    mark_completed(flow);
    if (flow->completed == flow->base + flow->want && !flow->side.failed)
        end_burst(flow);
}

static void step_target(struct fc_flow *flow)
{
    if (flow->over)
        return;
    if (flow->side.plan->op == FC_RDMA_SEND)
        grant(flow);
    if (flow->heard_over &&
        (flow->side.plan->op != FC_RDMA_SEND || flow->received >= flow->total))
        end_target(flow);
}

/* What is waited for, and since when. A lane that other lanes hold up waits for nobody
 * but tells its peer that it is there. */
static void watch(struct fc_flow *flow, uint64_t now)
{
    bool runs = flow->state == FC_FLOW_RUNS;
    bool held = flow->state == FC_FLOW_IDLE && flow->heard_ready;
    if (flow->moved)
        flow->moved_ns = now;
    flow->moved = false;
    if (runs)
        cut_burst(flow, now);
    if (((runs || held) && !fc_side_beat(&flow->side, now)) || held)
        return;
    (void)fc_side_watch(&flow->side, now, runs ? flow->moved_ns : flow->side.heard_ns,
                        runs                ? "posted messages do not complete"
                        : flow->heard_ready ? "the peer says nothing"
                                            : "the peer does not begin");
}

/* A target of reads and writes has nothing to do, and takes no core from who has. */
static bool is_busy(const struct fc_flow *flow)
{
    bool receives = flow->granted > flow->received;
    return !flow->done &&
           (receives || flow->state == FC_FLOW_RUNS || flow->state == FC_FLOW_ASKED);
}

bool fc_flow_step(struct fc_flow *flow, bool go)
{
    bool look = flow->turns++ % HEAR_EVERY == 0;
    if (flow->done)
        return false;
    if (!flow->said_ready) {
        flow->said_ready = true;
        (void)fc_side_say(&flow->side, FC_STEP_READY, flow->side.plan->bytes,
                          fc_side_kind(&flow->side));
    }
    if (look || flow->state != FC_FLOW_RUNS)
        hear(flow);
    if (!flow->side.failed)
        reap(flow);
    if (!flow->side.failed)
        step_target(flow);
    if (!flow->side.failed)
        step_initiator(flow, go && flow->heard_ready);
    if (look && !flow->side.failed)
        watch(flow, fc_now_ns());
    if (flow->over && flow->state == FC_FLOW_ENDED && !flow->side.failed) {
        fc_side_verify(&flow->side,
                       flow->side.plan->op == FC_RDMA_READ ? flow->posted : flow->total,
                       flow->side.plan->bytes);
        flow->done = true;
    }
    if (flow->side.failed)
        flow->done = true;
    return is_busy(flow);
}
