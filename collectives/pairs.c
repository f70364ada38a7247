// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/pairs.h"

#include "core/clock.h"
#include "core/rng.h"
#include "core/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    GROWTH = 8,
    LEAST_BYTES = 4096,
    FIRST_BYTES = 64 << 10,
    PINGS_WARM = 2,
    PINGS_MIN = 3,
    PINGS_MAX = 200,
    ENOUGH = 3,   /* bursts, when two boxes are spent */
    LAST_BOX = 4, /* boxes after which one burst is enough */
};

/* What the members say to keep step. */
enum step { STEP_HELLO = 1, STEP_PINGS, STEP_BURST, STEP_READY, STEP_ACK, STEP_OVER };

struct word {
    int32_t round, step, a, b;
};
enum { WORD_INTS = sizeof(struct word) / sizeof(int32_t) };

/* One member's side while it measures. */
struct side {
    const struct fc_pair *pair;
    const struct fc_pair_plan *plan;
    struct fc_pair_result *out;
    uint64_t sent, received;
    unsigned burst; /* of this direction */
};

static enum fc_status move(struct fc_comm *comm, const struct fc_coll_args *args,
                           struct fc_error *err)
{
    bool done = false;
    enum fc_status status = comm->ops->enqueue(comm, args, err);
    while (status == FC_OK && !done)
        status = comm->ops->poll(comm, &done, err);
    return status;
}

/* --- words --- */

static struct fc_coll_args word_args(const struct word *send, struct word *recv,
                                     int peer)
{
    return (struct fc_coll_args){.op = FC_COLL_SENDRECV,
                                 .dtype = FC_DTYPE_INT32,
                                 .to = send ? peer : -1,
                                 .from = recv ? peer : -1,
                                 .send = send,
                                 .recv = recv,
                                 .count = WORD_INTS};
}

static struct word word_of(const struct side *s, enum step step, int32_t a, int32_t b)
{
    return (struct word){(int32_t)s->plan->round, (int32_t)step, a, b};
}

static enum fc_status check_word(const struct side *s, const struct word *got,
                                 enum step step, struct fc_error *err)
{
    if (got->round == (int32_t)s->plan->round && got->step == (int32_t)step)
        return FC_OK;
    return fc_fail(err, FC_FAILED,
                   "rank %d is out of step with rank %d: round %d step %d, expected "
                   "round %d step %d",
                   s->pair->peer_rank, s->pair->rank, got->round, got->step,
                   (int)s->plan->round, (int)step);
}

static enum fc_status tell(const struct side *s, enum step step, int32_t a, int32_t b,
                           struct fc_error *err)
{
    struct word word = word_of(s, step, a, b);
    struct fc_coll_args args = word_args(&word, NULL, s->pair->control_peer);
    return move(s->pair->control, &args, err);
}

static enum fc_status hear(const struct side *s, struct word *out, struct fc_error *err)
{
    struct fc_coll_args args = word_args(NULL, out, s->pair->control_peer);
    *out = (struct word){0};
    return move(s->pair->control, &args, err);
}

static enum fc_status expect(const struct side *s, enum step step, struct fc_error *err)
{
    struct word word;
    enum fc_status status = hear(s, &word, err);
    return status == FC_OK ? check_word(s, &word, step, err) : status;
}

static enum fc_status shake_hands(struct side *s, struct fc_error *err)
{
    struct word mine = word_of(s, STEP_HELLO, 0, 0), other = {0};
    struct fc_coll_args args = word_args(&mine, &other, s->pair->control_peer);
    enum fc_status status = move(s->pair->control, &args, err);
    return status == FC_OK ? check_word(s, &other, STEP_HELLO, err) : status;
}

/* --- latency --- */

static enum fc_status pass(const struct side *s, bool send, struct fc_error *err)
{
    const struct fc_pair *p = s->pair;
    struct fc_coll_args args = {.op = FC_COLL_SENDRECV,
                                .dtype = FC_DTYPE_FP64,
                                .to = send ? p->peer : -1,
                                .from = send ? -1 : p->peer,
                                .send = p->send,
                                .recv = p->recv,
                                .count = 1};
    return move(p->comm, &args, err);
}

/* `n` round trips, each one's seconds into `out`. */
static enum fc_status ping(const struct side *s, int32_t n, double *out,
                           struct fc_error *err)
{
    enum fc_status status = tell(s, STEP_PINGS, n, 0, err);
    for (int32_t i = 0; i < n && status == FC_OK; i++) {
        uint64_t start = fc_now_ns();
        status = pass(s, true, err);
        if (status == FC_OK)
            status = pass(s, false, err);
        out[i] = (double)(fc_now_ns() - start) / 1e9;
    }
    return status;
}

static enum fc_status measure_latency(struct side *s, struct fc_error *err)
{
    double trip_s[PINGS_MAX];
    uint64_t start = fc_now_ns();
    enum fc_status status = ping(s, PINGS_WARM, trip_s, err);
    if (status != FC_OK)
        return status;
    double one_ns = (double)(fc_now_ns() - start) / PINGS_WARM;
    double fit = (double)s->plan->box_ns / 10 / (one_ns > 1 ? one_ns : 1);
    int32_t n = fit < PINGS_MIN   ? PINGS_MIN
                : fit > PINGS_MAX ? PINGS_MAX
                                  : (int32_t)fit;
    status = ping(s, n, trip_s, err);
    if (status == FC_OK)
        s->out->latency_s = fc_median_in_place(trip_s, (size_t)n) / 2;
    return status;
}

static enum fc_status answer_pings(struct side *s, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (int batch = 0; batch < 2 && status == FC_OK; batch++) {
        struct word word;
        status = hear(s, &word, err);
        if (status == FC_OK)
            status = check_word(s, &word, STEP_PINGS, err);
        for (int32_t i = 0; i < word.a && status == FC_OK; i++) {
            status = pass(s, false, err);
            if (status == FC_OK)
                status = pass(s, true, err);
        }
    }
    return status;
}

/* --- bandwidth --- */

struct fc_burst fc_burst_next(struct fc_burst last, double seconds, double target_s,
                              size_t max_bytes)
{
    double done = (double)last.bytes * last.count, most = done * GROWTH;
    double want = seconds > 0 ? done / seconds * target_s : most;
    if (!(want < most))
        want = most;
    if (want < LEAST_BYTES)
        want = LEAST_BYTES;
    double count = ceil(want / (double)max_bytes);
    size_t bytes = (size_t)(want / count) / LEAST_BYTES * LEAST_BYTES;
    return (struct fc_burst){.bytes = bytes ? bytes : LEAST_BYTES,
                             .count = count < 1e6 ? (uint32_t)count : 1000000};
}

static struct fc_pattern contents(const struct side *s, int sender)
{
    uint64_t stream = fc_rng_at(s->plan->data_seed, (uint64_t)sender);
    return (struct fc_pattern){.kind = FC_PATTERN_INTEGERS,
                               .seed = fc_rng_at(stream, s->burst)};
}

/* The pair's first fault is what is told. A device that fails must not keep its peer
 * waiting: the words go on. */
static void note(struct side *s, enum fc_status status, const struct fc_error *why)
{
    if (status != FC_OK && s->out->status == FC_OK) {
        s->out->status = status;
        s->out->why = *why;
    }
}

static size_t elements(struct fc_burst burst)
{
    return burst.bytes / fc_dtype_bytes(FC_DTYPE_FP64);
}

static void fill(struct side *s, void *at, struct fc_burst burst,
                 struct fc_pattern pattern)
{
    struct fc_device *dev = s->pair->device;
    struct fc_error why;
    note(s,
         dev->ops->fill(dev, s->pair->stream, at, elements(burst), FC_DTYPE_FP64,
                        pattern, &why),
         &why);
}

static void verify(struct side *s, struct fc_burst burst)
{
    const struct fc_pair *p = s->pair;
    struct fc_device *dev = p->device;
    struct fc_mismatch found = {0};
    struct fc_error why;
    enum fc_status status =
        dev->ops->compare(dev, p->stream, p->recv, elements(burst), FC_DTYPE_FP64,
                          contents(s, p->peer_rank), &found, &why);
    s->out->wrong += found.wrong;
    if (status == FC_OK && found.wrong)
        status = fc_fail(&why, FC_WRONG,
                         "from rank %d to rank %d: byte %llu of %zu (element %llu) is "
                         "%.9g, expected %.9g (%llu wrong)",
                         p->peer_rank, p->rank,
                         (unsigned long long)found.first * sizeof(double), burst.bytes,
                         (unsigned long long)found.first, found.found, found.expected,
                         (unsigned long long)found.wrong);
    note(s, status, &why);
}

static enum fc_status move_burst(const struct side *s, struct fc_burst burst, bool send,
                                 struct fc_error *err)
{
    const struct fc_pair *p = s->pair;
    struct fc_coll_args args = {.op = FC_COLL_SENDRECV,
                                .dtype = FC_DTYPE_FP64,
                                .to = send ? p->peer : -1,
                                .from = send ? -1 : p->peer,
                                .send = p->send,
                                .recv = p->recv,
                                .count = elements(burst)};
    enum fc_status status = FC_OK;
    for (uint32_t i = 0; i < burst.count && status == FC_OK; i++)
        status = move(p->comm, &args, err);
    return status;
}

/* Tells the size, fills while the receiver clears, sends, waits for the
 * acknowledgement. */
static enum fc_status send_burst(struct side *s, struct fc_burst burst, double *out_s,
                                 struct fc_error *err)
{
    enum fc_status status =
        tell(s, STEP_BURST, (int32_t)burst.bytes, (int32_t)burst.count, err);
    if (status != FC_OK)
        return status;
    fill(s, s->pair->send, burst, contents(s, s->pair->rank));
    status = expect(s, STEP_READY, err);
    uint64_t start = fc_now_ns();
    if (status == FC_OK)
        status = move_burst(s, burst, true, err);
    if (status == FC_OK)
        status = expect(s, STEP_ACK, err);
    *out_s = (double)(fc_now_ns() - start) / 1e9;
    s->sent += (uint64_t)burst.bytes * burst.count;
    s->burst++;
    return status;
}

static bool enough(const struct fc_pair_plan *plan, unsigned n, uint64_t spent_ns)
{
    return n >= plan->bursts || (n >= ENOUGH && spent_ns >= 2 * plan->box_ns) ||
           (n > 0 && spent_ns >= LAST_BOX * plan->box_ns);
}

/* Bursts that are far too short for the clock, while the size still grows, do not
 * count. */
static enum fc_status send_bursts(struct side *s, struct fc_error *err)
{
    const struct fc_pair_plan *plan = s->plan;
    double rate[FC_PAIR_BURSTS_MAX], seconds = 0;
    double target_s = (double)plan->box_ns / 1e9 / 5;
    unsigned n = 0;
    uint64_t start = fc_now_ns(), spent_ns = 0;
    struct fc_burst burst = {.bytes = FIRST_BYTES, .count = 1};
    enum fc_status status = FC_OK;
    s->burst = 0;
    while (status == FC_OK && !enough(plan, n, spent_ns)) {
        if (s->burst > 0)
            burst = fc_burst_next(burst, seconds, target_s, plan->max_bytes);
        status = send_burst(s, burst, &seconds, err);
        spent_ns = fc_now_ns() - start;
        if (status == FC_OK &&
            (seconds >= target_s / 4 || spent_ns >= LAST_BOX * plan->box_ns))
            rate[n++] = (double)burst.bytes * burst.count / seconds / 1e9;
    }
    if (status == FC_OK)
        status = tell(s, STEP_OVER, 0, 0, err);
    if (status != FC_OK)
        return status;
    s->out->bytes = burst.bytes;
    s->out->samples = n;
    s->out->bw_GBps = fc_median_in_place(rate, n);
    return FC_OK;
}

static enum fc_status receive_burst(struct side *s, const struct word *word,
                                    struct fc_error *err)
{
    static const struct fc_pattern cleared = {.kind = FC_PATTERN_CONSTANT,
                                              .seed = 1000003};
    struct fc_burst burst = {(size_t)word->a, (uint32_t)word->b};
    enum fc_status status = check_word(s, word, STEP_BURST, err);
    if (status == FC_OK && (word->a < 8 || burst.bytes > s->plan->max_bytes ||
                            word->b < 1 || burst.bytes % 8))
        status = fc_fail(err, FC_FAILED, "rank %d announces %d messages of %d bytes",
                         s->pair->peer_rank, word->b, word->a);
    if (status != FC_OK)
        return status;
    fill(s, s->pair->recv, burst, cleared);
    status = tell(s, STEP_READY, 0, 0, err);
    if (status == FC_OK)
        status = move_burst(s, burst, false, err);
    if (status == FC_OK)
        status = tell(s, STEP_ACK, 0, 0, err);
    if (status == FC_OK)
        verify(s, burst);
    s->received += (uint64_t)burst.bytes * burst.count;
    s->burst++;
    return status;
}

static enum fc_status receive_bursts(struct side *s, struct fc_error *err)
{
    enum fc_status status;
    s->burst = 0;
    for (;;) {
        struct word word;
        status = hear(s, &word, err);
        if (status != FC_OK ||
            (word.step == STEP_OVER && word.round == (int32_t)s->plan->round))
            return status;
        status = receive_burst(s, &word, err);
        if (status != FC_OK)
            return status;
    }
}

/* --- the pair --- */

static enum fc_status measure(struct side *s, struct fc_error *err)
{
    bool first = s->pair->first;
    enum fc_status status = shake_hands(s, err);
    if (status == FC_OK)
        status = first ? measure_latency(s, err) : answer_pings(s, err);
    if (status == FC_OK)
        status = first ? send_bursts(s, err) : receive_bursts(s, err);
    if (status == FC_OK)
        status = first ? receive_bursts(s, err) : send_bursts(s, err);
    return status;
}

void fc_pair_measure(const struct fc_pair *pair, const struct fc_pair_plan *plan,
                     struct fc_pair_result *out)
{
    struct side s = {.pair = pair, .plan = plan, .out = out};
    struct fc_error why = {""};
    *out = (struct fc_pair_result){
        .bw_GBps = (double)NAN, .latency_s = (double)NAN, .status = FC_OK};
    enum fc_status status = measure(&s, &why);
    if (status != FC_OK) {
        /* Whatever else was wrong, a transport that failed is the news. */
        out->status = status;
        out->why = why;
        fc_prefix(&out->why, "rank %d with rank %d", pair->rank, pair->peer_rank);
    }
    out->payload = s.sent < s.received ? s.sent : s.received;
}
