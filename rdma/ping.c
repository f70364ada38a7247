// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/ping.h"

#include "core/clock.h"
#include "core/stats.h"
#include "rdma/ticks.h"

#include <math.h>
#include <stdlib.h>

enum {
    CHUNK_FIRST = 8,
    CHUNK_MOST = 1000,
    PINGS_MIN = 20,
    PINGS_MOST = 100000,
    SIGNAL_EVERY = 16,
    POLL_ROOM = 8,
    LOOK_EVERY = 1024, /* turns of a spinning loop between looks at clock and queue */
    TAGS = 255,
    LAST_BOX = 4,
};
#define RECEIVE_ID (UINT64_C(1) << 32)
#define NAP_NS (50 * FC_NS_PER_US)

struct ping {
    struct fc_side side;
    uint64_t count; /* pings so far: what the last byte of the next one says */
    uint32_t in_flight, unsignaled;
    uint64_t receives, received; /* posted, and come */
    uint64_t moved_ns;
    bool heard_ready;
    double *sample; /* of counted pings: seconds */
    size_t samples, room;
};

static void fail(struct ping *p, enum fc_status status, struct fc_error *why)
{
    if (p->count)
        fc_prefix(why, "after %llu messages of %llu bytes",
                  (unsigned long long)p->count,
                  (unsigned long long)p->side.plan->bytes);
    fc_side_fail(&p->side, status, why);
}

/* ---- one message ---- */

static bool reap(struct ping *p)
{
    struct ibv_wc wc[POLL_ROOM];
    struct fc_error why;
    int n = 0;
    enum fc_status status =
        fc_lane_poll(p->side.lane, p->side.lane->data_cq, POLL_ROOM, wc, &n, &why);
    if (status != FC_OK)
        fail(p, status, &why);
    for (int i = 0; i < n && status == FC_OK; i++) {
        if (wc[i].wr_id & RECEIVE_ID) {
            p->received++;
            if (wc[i].byte_len == p->side.plan->bytes)
                continue;
            status =
                fc_fail(&why, FC_WRONG, "%s <- %s: a message of %u bytes came",
                        p->side.lane->name, p->side.lane->peer.name, wc[i].byte_len);
            fail(p, status, &why);
        } else {
            p->in_flight -= (uint32_t)wc[i].wr_id;
        }
    }
    return status == FC_OK;
}

/* What spins looks up now and then. A target that only waits is told that this goes on.
 */
static bool look(struct ping *p, const char *doing)
{
    uint64_t now = fc_now_ns();
    if (p->side.by_completion && !fc_side_beat(&p->side, now))
        return false;
    return reap(p) && fc_side_watch(&p->side, now, p->moved_ns, doing);
}

/* It took so long that the clock may be read. */
static bool moved(struct ping *p, unsigned turns)
{
    if (turns >= LOOK_EVERY)
        p->moved_ns = fc_now_ns();
    return true;
}

static bool post(struct ping *p, bool signaled)
{
    struct fc_error why;
    bool sign = signaled || p->unsignaled + 1 >= SIGNAL_EVERY ||
                p->side.lane->transport->signal_all;
    struct fc_post request = fc_side_post(&p->side, 0, p->unsignaled + 1, sign);
    for (unsigned turn = 1; p->in_flight >= p->side.lane->depth; turn++)
        if (!reap(p) || (turn % LOOK_EVERY == 0 && !look(p, "the queue is full")))
            return false;
    enum fc_status status = fc_lane_post(p->side.lane, 1, &request, 1, &why);
    if (status != FC_OK) {
        fail(p, status, &why);
        return false;
    }
    p->unsignaled = sign ? 0 : p->unsignaled + 1;
    p->in_flight++;
    return true;
}

static uint8_t tag_of(uint64_t count)
{
    return (uint8_t)(1 + count % TAGS);
}

static volatile uint8_t *last_byte(const struct ping *p, uint64_t ring)
{
    /* The device changes it; only a CPU's memory comes here. */
    return (volatile uint8_t *)(uintptr_t)(ring + p->side.plan->bytes - 1); // NOLINT
}

static bool give(struct ping *p, bool last)
{
    if (p->side.plan->op == FC_RDMA_WRITE && !p->side.by_completion)
        *last_byte(p, fc_lane_source(p->side.lane)) = tag_of(p->count);
    return post(p, last || p->side.by_completion);
}

static bool take_byte(struct ping *p)
{
    volatile uint8_t *byte = last_byte(p, fc_lane_target(p->side.lane));
    uint8_t tag = tag_of(p->count);
    unsigned turn = 1;
    for (; *byte != tag; turn++)
        if (turn % LOOK_EVERY == 0 && !look(p, "no answer is written"))
            return false;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return moved(p, turn);
}

static bool take_message(struct ping *p)
{
    uint64_t wanted = p->count + 1;
    unsigned turn = 1;
    for (; p->received < wanted; turn++)
        if (!reap(p) || (turn % LOOK_EVERY == 0 && !look(p, "no message comes")))
            return false;
    return moved(p, turn);
}

static bool take_completion(struct ping *p)
{
    unsigned turn = 1;
    for (; p->in_flight > 0; turn++)
        if (!reap(p) ||
            (turn % LOOK_EVERY == 0 && !look(p, "the request does not complete")))
            return false;
    return moved(p, turn);
}

static bool take(struct ping *p)
{
    return p->side.by_completion               ? take_completion(p)
           : p->side.plan->op == FC_RDMA_WRITE ? take_byte(p)
                                               : take_message(p);
}

/* Receives for this chunk's messages, as far as the queue holds them. */
static bool receive_more(struct ping *p, uint64_t until)
{
    struct fc_error why;
    struct fc_receive receive = fc_side_receive(&p->side, 0, RECEIVE_ID);
    if (p->side.plan->op != FC_RDMA_SEND)
        return true;
    while (p->receives < until && p->receives - p->received < p->side.lane->depth) {
        enum fc_status status = fc_lane_receive(p->side.lane, 1, &receive, 1, &why);
        if (status != FC_OK) {
            fail(p, status, &why);
            return false;
        }
        p->receives++;
    }
    return true;
}

/* ---- words ---- */

/* Waits for a word of that step; beats are none. */
static bool expect(struct ping *p, enum fc_step step, enum fc_step or_step,
                   struct fc_word *out)
{
    for (unsigned turn = 1;; turn++) {
        bool heard = false;
        if (!fc_side_hear(&p->side, out, &heard))
            return false;
        if (heard && (out->step == step || out->step == or_step))
            return true;
        if (turn > LOOK_EVERY) /* whoever is waited for may need this core */
            fc_sleep_ns(NAP_NS);
        if (turn % LOOK_EVERY == 0 &&
            !fc_side_watch(&p->side, fc_now_ns(), p->side.heard_ns,
                           step == FC_STEP_READY ? "the peer does not begin"
                                                 : "the peer says nothing"))
            return false;
    }
}

static bool shake_hands(struct ping *p)
{
    struct fc_word word;
    return fc_side_say(&p->side, FC_STEP_READY, p->side.plan->bytes,
                       fc_side_kind(&p->side)) &&
           expect(p, FC_STEP_READY, FC_STEP_READY, &word);
}

/* ---- the initiator ---- */

/* `n` pings and one before them; their ticks into `ticks`. */
static bool ping(struct ping *p, uint32_t n, double *ticks)
{
    uint64_t end = p->count + n + 1, last = 0;
    for (uint32_t i = 0; i <= n; i++) {
        uint64_t start = i ? last : fc_ticks();
        if (!receive_more(p, end) || !give(p, i == n) || !take(p))
            return false;
        last = fc_ticks();
        if (i)
            ticks[i - 1] = (double)(last - start);
        p->count++;
    }
    return true;
}

/* One chunk; its samples in seconds are appended if they count. */
static bool chunk(struct ping *p, uint32_t n, bool counts, double *out_s)
{
    struct fc_word word;
    double *ticks = p->sample + p->samples;
    if (!receive_more(p, p->count + n + 1) ||
        !fc_side_say(&p->side, FC_STEP_BURST, (uint64_t)n + 1, 0) ||
        !expect(p, FC_STEP_GO, FC_STEP_GO, &word))
        return false;
    uint64_t start = p->moved_ns = fc_now_ns(), start_ticks = fc_ticks();
    if (!ping(p, n, ticks))
        return false;
    uint64_t ns = fc_now_ns() - start, spent = fc_ticks() - start_ticks;
    double scale = (double)ns / 1e9 / (double)(spent ? spent : 1);
    p->moved_ns = start + ns;
    *out_s = (double)ns / 1e9;
    for (uint32_t i = 0; i < n; i++)
        ticks[i] *= p->side.by_completion ? scale : scale / 2;
    if (counts)
        p->samples += n;
    return true;
}

/* What the rest of the box has room for, in chunks that end within any patience. */
static uint32_t next_chunk(const struct ping *p, double one_s, double left_s)
{
    uint32_t wanted = p->side.plan->iterations;
    double fit = left_s / (one_s > 1e-9 ? one_s : 1e-9);
    double part = (double)p->side.patience_ns / 1e9 / 8 / (one_s > 1e-9 ? one_s : 1e-9);
    double n = wanted ? (double)(wanted - p->samples) : fmax(fit, PINGS_MIN);
    n = fmin(fmin(n, part), CHUNK_MOST);
    if (n > (double)(p->room - p->samples))
        n = (double)(p->room - p->samples);
    return n < 1 ? 1 : (uint32_t)n;
}

static bool enough(const struct ping *p, double spent_s)
{
    double box_s = (double)p->side.plan->box_ns / 1e9;
    if (p->samples >= p->room)
        return true;
    if (p->side.plan->iterations)
        return p->samples >= p->side.plan->iterations;
    return (spent_s >= box_s && p->samples >= PINGS_MIN) || spent_s >= LAST_BOX * box_s;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sum_up(struct ping *p)
{
    struct fc_lane_latency *out = &p->side.out->latency;
    double sum = 0, squares = 0;
    qsort(p->sample, p->samples, sizeof *p->sample, by_size);
    for (size_t i = 0; i < p->samples; i++)
        sum += p->sample[i];
    double mean = sum / (double)p->samples;
    for (size_t i = 0; i < p->samples; i++)
        squares += (p->sample[i] - mean) * (p->sample[i] - mean);
    *out = (struct fc_lane_latency){
        .n = p->samples,
        .min = p->sample[0],
        .max = p->sample[p->samples - 1],
        .typical = fc_quantile_sorted(p->sample, p->samples, 0.5),
        .mean = mean,
        .stdev = sqrt(squares / (double)p->samples),
        .p99 = fc_quantile_sorted(p->sample, p->samples, 0.99),
        .p999 = fc_quantile_sorted(p->sample, p->samples, 0.999),
        .by_completion = p->side.by_completion,
    };
}

static bool initiate(struct ping *p)
{
    double seconds = 0, spent_s = 0, box_s = (double)p->side.plan->box_ns / 1e9;
    if (!chunk(p, CHUNK_FIRST, false, &seconds))
        return false;
    double one_s = seconds / (CHUNK_FIRST + 1);
    while (!enough(p, spent_s)) {
        uint32_t n = next_chunk(p, one_s, box_s - spent_s);
        if (!chunk(p, n, true, &seconds))
            return false;
        one_s = seconds / (n + 1);
        spent_s += seconds;
    }
    p->side.out->seconds = spent_s;
    sum_up(p);
    return fc_side_say(&p->side, FC_STEP_OVER, p->count, 0);
}

/* ---- the target ---- */

static bool answer_chunk(struct ping *p, uint64_t n)
{
    if (!receive_more(p, p->count + n) || !fc_side_say(&p->side, FC_STEP_GO, 0, 0))
        return false;
    p->moved_ns = fc_now_ns();
    uint64_t end = p->count + n;
    if (p->side.by_completion) { /* nothing to answer: a device does that */
        p->count = end;
        return true;
    }
    while (p->count < end) {
        if (!take(p) || !receive_more(p, end) || !give(p, p->count + 1 == end))
            return false;
        p->count++;
    }
    p->moved_ns = fc_now_ns();
    return true;
}

static bool serve(struct ping *p)
{
    struct fc_word word;
    for (;;) {
        if (!expect(p, FC_STEP_BURST, FC_STEP_OVER, &word))
            return false;
        if (word.step == FC_STEP_OVER)
            return true;
        if (!answer_chunk(p, word.a))
            return false;
    }
}

/* ---- both ---- */

/* The last byte of what was written is the tag of the last ping. */
static void verify(struct ping *p)
{
    bool tagged = p->side.plan->op == FC_RDMA_WRITE && !p->side.by_completion;
    uint64_t bytes = p->side.plan->bytes;
    struct fc_lane_result *out = p->side.out;
    if (!fc_side_takes(&p->side))
        return;
    fc_side_verify(&p->side, 1, tagged ? bytes - 1 : bytes);
    out->payload = p->count * bytes;
    out->messages = p->count;
    if (tagged && !p->side.failed)
        out->checked++; /* take_byte saw it */
}

void fc_ping_measure(struct fc_lane *lane, const struct fc_transfer_plan *plan,
                     enum fc_lane_role role, struct fc_lane_result *out)
{
    struct ping p = {.room = PINGS_MOST};
    struct fc_error why;
    fc_side_open(&p.side, lane, plan, role, out);
    if (plan->iterations && plan->iterations < PINGS_MOST)
        p.room = plan->iterations;
    p.sample = calloc(p.room + CHUNK_FIRST, sizeof *p.sample);
    if (!p.sample)
        fail(&p, fc_fail(&why, FC_NOMEM, "no memory for %zu pings", p.room), &why);
    else if (role == FC_LANE_BOTH)
        fail(&p, fc_fail(&why, FC_USAGE, "latency has one initiator"), &why);
    if (!p.side.failed && plan->op == FC_RDMA_WRITE && !p.side.by_completion)
        *last_byte(&p, fc_lane_target(lane)) = 0; /* no tag */
    p.moved_ns = fc_now_ns();
    if (!p.side.failed && shake_hands(&p) &&
        (role == FC_LANE_INITIATES ? initiate(&p) : serve(&p)) && take_completion(&p))
        verify(&p);
    free(p.sample);
}
