// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/pattern.h"

#include "core/rng.h"

#include <string.h>

enum { WORD = sizeof(uint64_t) };

void fc_rdma_fill(void *to, size_t bytes, uint64_t seed, uint64_t at, bool inverted)
{
    uint64_t flip = inverted ? UINT64_MAX : 0, index = at / WORD;
    char *byte = to;
    for (; bytes >= WORD; bytes -= WORD, byte += WORD) {
        uint64_t word = fc_rng_at(seed, index++) ^ flip;
        memcpy(byte, &word, WORD);
    }
    uint64_t last = fc_rng_at(seed, index) ^ flip;
    memcpy(byte, &last, bytes);
}

static uint64_t compare_bytes(const char *data, size_t bytes, uint64_t word,
                              size_t *out_first)
{
    char expected[WORD];
    uint64_t wrong = 0;
    memcpy(expected, &word, WORD);
    for (size_t i = bytes; i-- > 0;) {
        if (data[i] == expected[i])
            continue;
        *out_first = i;
        wrong++;
    }
    return wrong;
}

uint64_t fc_rdma_check(const void *data, size_t bytes, uint64_t seed, uint64_t at,
                       uint64_t *out_first)
{
    const char *byte = data;
    uint64_t index = at / WORD, wrong = 0;
    for (size_t done = 0; done < bytes; done += WORD) {
        size_t part = bytes - done < WORD ? bytes - done : WORD, first = 0;
        uint64_t expected = fc_rng_at(seed, index++), found = ~expected;
        memcpy(&found, byte + done, part);
        if (found == expected)
            continue;
        uint64_t here = compare_bytes(byte + done, part, expected, &first);
        if (here && wrong == 0)
            *out_first = done + first;
        wrong += here;
    }
    return wrong;
}
