// SPDX-License-Identifier: BSD-3-Clause
/* A set of CPU numbers below FC_CPUSET_MAX, in the forms in which /sys, hwloc and NCCL
 * write one. Malformed text is refused, never guessed at.
 * Collective: no. Refuses to know: what the CPUs belong to.
 */
#ifndef FC_TOPOLOGY_CPUSET_H
#define FC_TOPOLOGY_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FC_CPUSET_MAX = 8192 };
struct fc_cpuset {
    uint64_t word[FC_CPUSET_MAX / 64];
};

/* Comma-separated hexadecimal words of 32 bits, the highest first, with or without
 * "0x"; an empty word is 0 (hwloc writes those). False: not such a mask, or a CPU
 * beyond FC_CPUSET_MAX; `out` is then unchanged. hwloc's infinite sets ("0xf...f") are
 * refused. Collective: no. */
bool fc_cpuset_mask(const char *text, struct fc_cpuset *out);
/* "0-3,8,10-11", or "" for none. False as above. Collective: no. */
bool fc_cpuset_list(const char *text, struct fc_cpuset *out);

void fc_cpuset_add(struct fc_cpuset *set, unsigned cpu);
bool fc_cpuset_has(const struct fc_cpuset *set, unsigned cpu);
size_t fc_cpuset_count(const struct fc_cpuset *set);
/* The lowest member at or above `from`; -1: none. Collective: no. */
int fc_cpuset_next(const struct fc_cpuset *set, int from);
bool fc_cpuset_intersects(const struct fc_cpuset *a, const struct fc_cpuset *b);
/* Every member of `part` is in `whole`. Collective: no. */
bool fc_cpuset_contains(const struct fc_cpuset *whole, const struct fc_cpuset *part);
void fc_cpuset_merge(struct fc_cpuset *into, const struct fc_cpuset *from);

/* "0-3,8" into `out`; ends in "..." where `bytes` do not suffice. Collective: no. */
void fc_cpuset_print(const struct fc_cpuset *set, char *out, size_t bytes);
/* "0x0000000f" as hwloc's XML wants it, into `out`. Collective: no. */
void fc_cpuset_print_mask(const struct fc_cpuset *set, char *out, size_t bytes);

#endif
