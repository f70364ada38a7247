// SPDX-License-Identifier: BSD-3-Clause
/* Is C = A * B right? Checked in the time it takes to read C, so that it can be asked
 * after every repetition (Freivalds' check): for a vector x the sums C x must equal A
 * (B x), which is computed once, in double, from the patterns and not from the memory
 * of A and B.
 *
 * INTEGERS: everything is a small whole number, so the comparison is exact, and each
 * element of C must be a whole number; x has entries of +-1..+-1024, so that a row with
 * one wrong element is always found, and one with several with a chance of at least
 * 2047/2048. A and B random, a wrong index shows as a wrong value. RANDOM: the
 * comparison allows for rounding, which grows as k * sqrt(n); smaller errors than that
 * stay unseen. A wrong row is computed again element by element. Collective: no.
 * Refuses to know: how the product was computed, records.
 */
#ifndef FC_DEVICE_GEMM_CHECK_H
#define FC_DEVICE_GEMM_CHECK_H

#include "device/device.h"

struct fc_gemm_check {
    enum fc_dtype dtype;
    int m, n, k;
    struct fc_pattern a, b, stale;
    double *x, *y, *row; /* [n], [m], [n] */
    double row_tolerance, tolerance;
};

/* m * n, n * k and m * k evaluations of a pattern; allocates. `kind` is INTEGERS or
 * RANDOM; fp32 or fp64, and k such that the sums are exact (k < 2^20), else
 * FC_UNSUPPORTED. */
enum fc_status fc_gemm_check_open(struct fc_gemm_check *check, enum fc_dtype dtype,
                                  int m, int n, int k, enum fc_pattern_kind kind,
                                  uint64_t seed, struct fc_error *err) FC_MUST_USE;
void fc_gemm_check_close(struct fc_gemm_check *check);

/* Fills A and B with the patterns, and C with what no right product is. */
enum fc_status fc_gemm_check_fill(const struct fc_gemm_check *check,
                                  struct fc_device *device, struct fc_stream *stream,
                                  void *a, void *b, void *c,
                                  struct fc_error *err) FC_MUST_USE;
/* C alone, so that the result of an earlier product cannot pass for the next one's. */
enum fc_status fc_gemm_check_spoil(const struct fc_gemm_check *check,
                                   struct fc_device *device, struct fc_stream *stream,
                                   void *c, struct fc_error *err) FC_MUST_USE;

/* `c` is read by the host. out->wrong is exact when few rows are wrong, else a lower
 * bound; out->first is the first wrong element. */
void fc_gemm_check_product(const struct fc_gemm_check *check, const void *c,
                           struct fc_mismatch *out);

/* Elements of two outputs that differ in any bit; `b` is the one found. */
void fc_gemm_check_same(enum fc_dtype dtype, size_t count, const void *a, const void *b,
                        struct fc_mismatch *out);

#endif
