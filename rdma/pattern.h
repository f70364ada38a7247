// SPDX-License-Identifier: BSD-3-Clause
/* What transfers carry: bytes that are a pure function of a seed and their place, so
 * that whoever receives them can check each one without a copy. A memory is cleared by
 * the opposite of what it is to receive: no byte that was not written can be right.
 * Collective: no. Refuses to know: verbs, whose memory it is.
 */
#ifndef FC_RDMA_PATTERN_H
#define FC_RDMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes `bytes` bytes of stream `seed` from offset `at` on, a multiple of 8; inverted:
 * each the complement. Collective: no. */
void fc_rdma_fill(void *to, size_t bytes, uint64_t seed, uint64_t at, bool inverted);

/* How many bytes differ; *out_first is the offset of the first, where there is one.
 * Collective: no. */
uint64_t fc_rdma_check(const void *data, size_t bytes, uint64_t seed, uint64_t at,
                       uint64_t *out_first);

#endif
