// SPDX-License-Identifier: BSD-3-Clause
/* The host's own ceilings, measured: a multiply-add loop that lives in registers and a
 * copy that bypasses the cache. A peak computed from CPUID is no ceiling (clocks under
 * wide vectors, units that take two turns), so it is run, in each vector width that the
 * CPU has. Collective: no. Refuses to know: records, BLAS.
 */
#ifndef FC_DEVICE_HOST_PEAK_H
#define FC_DEVICE_HOST_PEAK_H

#include "core/dtype.h"
#include "core/status.h"
#include "device/crew.h"

#include <stddef.h>
#include <stdint.h>

/* The loops that this CPU is tried with: "AVX-512F, AVX2"; static. */
const char *fc_host_fma_names(void);
/* The streaming copy's instruction: "non-temporal stores", or "plain stores"; static.
 */
const char *fc_host_stream_name(void);

/* FLOP/s of all members together, the best of the loops, each for about `ns` a member.
 * `rate` is scratch for one double a member. fp32 and fp64; else FC_UNSUPPORTED. */
enum fc_status fc_host_fma_peak(struct fc_crew *crew, enum fc_dtype dtype, uint64_t ns,
                                double *rate, double *out_flops,
                                struct fc_error *err) FC_MUST_USE;

/* Copies past the cache; any alignment; the stores are complete when it returns. */
void fc_host_stream_copy(void *dst, const void *src, size_t bytes);

#endif
