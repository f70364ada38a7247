// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/words.h"

#include <string.h>

/* In the words' memory: FC_LANE_WORDS places to send from, then as many to receive
 * into. A word's place is its number modulo their count on the sender's side. On the
 * receiver's side any place may get any word: `number` is looked for. */
#define MAGIC UINT32_C(0x64724346)

enum { IS_RECEIVE = 1 << 8, POLL_ROOM = 8 };

static char *place(const struct fc_lane *lane, unsigned slot)
{
    return (char *)lane->region->words.at + (size_t)slot * FC_LANE_WORD_BYTES;
}

static enum fc_status await_word(struct fc_lane *lane, unsigned slot,
                                 struct fc_error *err)
{
    char *at = place(lane, FC_LANE_WORDS + slot);
    struct fc_receive receive = {.id = IS_RECEIVE | slot,
                                 .at = (uintptr_t)at,
                                 .bytes = FC_LANE_WORD_BYTES,
                                 .lkey = lane->region->words_mr.mr->lkey};
    memset(at, 0, FC_LANE_WORD_BYTES);
    return fc_lane_receive(lane, 0, &receive, 1, err);
}

enum fc_status fc_words_open(struct fc_lane *lane, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    for (unsigned i = 0; i < FC_LANE_WORDS && status == FC_OK; i++)
        status = await_word(lane, i, err);
    return status;
}

/* Reaps; a word that came stays in its place until it is heard. */
static enum fc_status reap(struct fc_lane *lane, struct fc_error *err)
{
    struct ibv_wc wc[POLL_ROOM];
    int n = 0;
    enum fc_status status = fc_lane_poll(lane, lane->word_cq, POLL_ROOM, wc, &n, err);
    for (int i = 0; i < n && status == FC_OK; i++) {
        if (!(wc[i].wr_id & IS_RECEIVE)) {
            lane->word_out--;
            continue;
        }
        unsigned slot = (unsigned)wc[i].wr_id & (FC_LANE_WORDS - 1);
        struct fc_word word;
        memcpy(&word, place(lane, FC_LANE_WORDS + slot), sizeof word);
        if (wc[i].byte_len < sizeof word || word.magic != MAGIC)
            return fc_fail(err, FC_WRONG, "%s <- %s: what came is no word of its peer",
                           lane->name, lane->peer.name);
        lane->word_ready |= 1u << slot;
    }
    return status;
}

enum fc_status fc_words_say(struct fc_lane *lane, uint32_t round, uint32_t step,
                            uint64_t a, uint64_t b, struct fc_error *err)
{
    enum fc_status status = reap(lane, err);
    if (status != FC_OK)
        return status;
    if (lane->word_out >= FC_LANE_WORDS)
        return fc_fail(err, FC_FAILED, "%s -> %s: %d words are not taken", lane->name,
                       lane->peer.name, FC_LANE_WORDS);
    struct fc_word word = {MAGIC, lane->word_sent, round, step, a, b};
    char *at = place(lane, lane->word_sent % FC_LANE_WORDS);
    memcpy(at, &word, sizeof word);
    struct fc_post post = {.op = FC_RDMA_SEND,
                           .local = (uintptr_t)at,
                           .bytes = FC_LANE_WORD_BYTES,
                           .lkey = lane->region->words_mr.mr->lkey,
                           .signaled = true,
                           .inlined = lane->max_inline >= FC_LANE_WORD_BYTES};
    status = fc_lane_post(lane, 0, &post, 1, err);
    if (status == FC_OK) {
        lane->word_sent++;
        lane->word_out++;
    }
    return status;
}

enum fc_status fc_words_hear(struct fc_lane *lane, struct fc_word *out, bool *out_heard,
                             struct fc_error *err)
{
    *out_heard = false;
    enum fc_status status = reap(lane, err);
    for (unsigned slot = 0; slot < FC_LANE_WORDS && status == FC_OK && lane->word_ready;
         slot++) {
        struct fc_word word;
        if (!(lane->word_ready & 1u << slot))
            continue;
        memcpy(&word, place(lane, FC_LANE_WORDS + slot), sizeof word);
        if (word.number != lane->word_heard)
            continue;
        lane->word_ready &= ~(1u << slot);
        lane->word_heard++;
        status = await_word(lane, slot, err);
        if (status == FC_OK) {
            *out = word;
            *out_heard = true;
        }
        return status;
    }
    return status;
}
