// SPDX-License-Identifier: BSD-3-Clause
/* Sizes, durations and rates as people write them, independent of the locale.
 *
 * Sizes take K, M, G, T as powers of two ("1M" = 1048576, "1.5G", "4KiB", "64B");
 * durations take ns, us, ms, s, m, h ("90" = seconds). Collective: no.
 */
#ifndef FC_CORE_UNITS_H
#define FC_CORE_UNITS_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Parses all of `text`; false (and `*out` untouched) when it is no such value, is
 * negative, or does not fit. */
bool fc_parse_size(const char *text, uint64_t *out_bytes);
bool fc_parse_duration(const char *text, uint64_t *out_ns);
bool fc_parse_double(const char *text, double *out); /* finite only; '.' always */
bool fc_parse_int(const char *text, int64_t *out);

struct fc_text {
    char s[32];
};
/* "64K", "1.5M": binary, at most one decimal. */
struct fc_text fc_format_size(uint64_t bytes);
/* "850us", "12.3s", "4m10s". */
struct fc_text fc_format_duration(uint64_t ns);

#endif
