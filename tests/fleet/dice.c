// SPDX-License-Identifier: BSD-3-Clause
#include "dice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A permuted congruential generator, 64 bits of state, 32 of output, as M. O'Neill
 * describes it; the step chooses the sequence. */
static uint32_t next(struct dice *dice)
{
    uint64_t old = dice->state;
    dice->state = old * UINT64_C(6364136223846793005) + dice->step;
    uint32_t word = (uint32_t)(((old >> 18) ^ old) >> 27), turn = (uint32_t)(old >> 59);
    return (word >> turn) | (word << ((32 - turn) & 31));
}

static uint64_t stir(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

struct dice dice_for(uint64_t seed, const char *what, uint64_t a, uint64_t b)
{
    uint64_t mix = stir(seed + 1);
    for (; *what; what++)
        mix = stir(mix * 31 + (unsigned char)*what);
    mix = stir(mix + a);
    struct dice dice = {.state = stir(mix ^ stir(b + 77)), .step = mix * 2 + 1};
    (void)next(&dice);
    return dice;
}

double dice_share(struct dice *dice)
{
    return next(dice) / 4294967296.0;
}

uint32_t dice_below(struct dice *dice, uint32_t limit)
{
    return (uint32_t)(((uint64_t)next(dice) * limit) >> 32);
}

double dice_normal(struct dice *dice)
{
    double x, y, square;
    do {
        x = 2.0 * dice_share(dice) - 1.0;
        y = 2.0 * dice_share(dice) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square <= 0.0);
    return x * sqrt(-2.0 * log(square) / square);
}

void dice_order(struct dice *dice, int *out, int count)
{
    for (int i = 0; i < count; i++) {
        int k = (int)dice_below(dice, (uint32_t)i + 1);
        out[i] = out[k];
        out[k] = i;
    }
}

static int ascending(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

/* How many times longer than its true time one measurement takes. */
static double stretch(struct dice *dice, const struct noise *noise)
{
    double s = 1.0 + noise->deviation * dice_normal(dice);
    if (noise->spikes > 0.0 && dice_share(dice) < noise->spikes)
        s *= 1.05 + 0.45 * dice_share(dice);
    if (noise->bad > 0.0 && dice_share(dice) < noise->bad)
        s /= noise->bad_min + (0.9 - noise->bad_min) * dice_share(dice);
    return s > 0.01 ? s : 0.01;
}

static void sort(double *x, int n)
{
    if (n > 32) {
        qsort(x, (size_t)n, sizeof *x, ascending);
        return;
    }
    for (int i = 1; i < n; i++) {
        double v = x[i];
        int k = i;
        for (; k > 0 && x[k - 1] > v; k--)
            x[k] = x[k - 1];
        x[k] = v;
    }
}

static double at_share(const double *sorted, int n, double share)
{
    double place = share * (n - 1);
    int i = (int)place;
    return i + 1 < n ? sorted[i] + (place - i) * (sorted[i + 1] - sorted[i])
                     : sorted[n - 1];
}

static struct sampled sum_up(double *x, int n)
{
    struct sampled s = {.samples = n};
    double far[DICE_SAMPLES_MAX];
    int low = (int)floor((n - 1.96 * sqrt(n)) / 2.0);
    int high = (int)ceil(1.0 + (n + 1.96 * sqrt(n)) / 2.0);
    sort(x, n);
    s.median = at_share(x, n, 0.5);
    s.min = x[0];
    s.max = x[n - 1];
    s.p99 = at_share(x, n, 0.99);
    s.lo = x[low < 1 ? 0 : low - 1];
    s.hi = x[high > n ? n - 1 : high - 1];
    for (int i = 0; i < n; i++)
        far[i] = fabs(x[i] - s.median);
    sort(far, n);
    s.mad = at_share(far, n, 0.5);
    return s;
}

static struct sampled measure(struct dice *dice, double value, bool rate,
                              const struct noise *noise, int samples)
{
    double x[DICE_SAMPLES_MAX];
    int n = samples < DICE_SAMPLES_MAX ? samples : DICE_SAMPLES_MAX;
    for (int i = 0; i < n; i++)
        x[i] = rate ? value / stretch(dice, noise) : value * stretch(dice, noise);
    return sum_up(x, n);
}

struct sampled dice_rate(struct dice *dice, double rate, const struct noise *noise,
                         int samples)
{
    return measure(dice, rate, true, noise, samples);
}

struct sampled dice_time(struct dice *dice, double time, const struct noise *noise,
                         int samples)
{
    return measure(dice, time, false, noise, samples);
}

double dice_median(struct dice *dice, double rate, const struct noise *noise,
                   int samples)
{
    double x[DICE_SAMPLES_MAX];
    int n = samples < DICE_SAMPLES_MAX ? samples : DICE_SAMPLES_MAX;
    for (int i = 0; i < n; i++)
        x[i] = rate / stretch(dice, noise);
    sort(x, n);
    return at_share(x, n, 0.5);
}
