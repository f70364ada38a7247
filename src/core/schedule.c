// SPDX-License-Identifier: BSD-3-Clause
#include "core/schedule.h"

#include "core/rng.h"

#include <stdlib.h>

enum fc_status fc_schedule_open(struct fc_schedule *s, uint32_t n, uint64_t seed,
                                struct fc_error *err)
{
    size_t room = n > 0 ? n : 1;
    uint32_t *label = calloc(room, sizeof *label);
    uint32_t *member = calloc(room, sizeof *member);
    if (!label || !member) {
        free(label);
        free(member);
        return fc_fail(err, FC_NOMEM, "pair schedule: no memory for %lu nodes",
                       (unsigned long)n);
    }
    struct fc_rng rng;
    fc_rng_seed(&rng, seed);
    fc_rng_permutation(&rng, member, n);
    for (uint32_t place = 0; place < n; place++)
        label[member[place]] = place;
    *s = (struct fc_schedule){
        .n = n,
        /* m - 1, where m is n rounded up to even */
        .rounds = n < 2 ? 0 : n - 1 + n % 2,
        .seed = seed,
        .label = label,
        .member = member,
    };
    return FC_OK;
}

int64_t fc_schedule_partner(const struct fc_schedule *s, uint32_t round,
                            uint32_t member)
{
    if (round >= s->rounds || member >= s->n)
        return -1;
    uint64_t circle =
        s->rounds; /* places that turn; place `circle` stands in the middle */
    uint64_t place = s->label[member], partner;
    if (place == circle)
        partner = round;
    else if (place == round)
        partner = circle;
    else
        partner = (2 * (uint64_t)round + circle - place) % circle;
    /* With n odd nobody stands in the middle: whoever would meet that place rests. */
    return partner < s->n ? (int64_t)s->member[partner] : -1;
}

void fc_schedule_close(struct fc_schedule *s)
{
    if (!s)
        return;
    free(s->label);
    free(s->member);
    *s = (struct fc_schedule){.n = 0};
}
