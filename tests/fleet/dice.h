// SPDX-License-Identifier: BSD-3-Clause
/* Random numbers of simulated fleets, and what a probe would tell of some samples. A
 * value is a function of the seed and of what it is for, so that a retest or another
 * part of a fleet never shifts it. Shares nothing with the product, on purpose: a
 * mistake in its statistics must not be repeated here. Refuses to know: fleets. */
#ifndef TESTS_FLEET_DICE_H
#define TESTS_FLEET_DICE_H

#include <stdbool.h>
#include <stdint.h>

enum { DICE_SAMPLES_MAX = 256 };

struct dice {
    uint64_t state, step;
};

/* Dice of their own for each (seed, what, a, b). */
struct dice dice_for(uint64_t seed, const char *what, uint64_t a, uint64_t b);
/* In [0, 1). */
double dice_share(struct dice *dice);
/* In [0, limit). */
uint32_t dice_below(struct dice *dice, uint32_t limit);
/* Normal, mean 0, deviation 1. */
double dice_normal(struct dice *dice);
/* 0 ... count - 1 in random order. */
void dice_order(struct dice *dice, int *out, int count);

/* How single measurements of a healthy part scatter; shares of 1. */
struct noise {
    double deviation;    /* of a sample */
    double spikes;       /* share of samples that something held up */
    double bad, bad_min; /* share of samples that a sick link slows, at most to this */
};

struct sampled {
    int samples;
    double median, min, max, p99, mad, lo, hi;
};

/* `samples` (at most DICE_SAMPLES_MAX) measurements of a rate: lower where held up. */
struct sampled dice_rate(struct dice *dice, double rate, const struct noise *noise,
                         int samples);
/* The same of a time: longer where held up. */
struct sampled dice_time(struct dice *dice, double time, const struct noise *noise,
                         int samples);
/* The median alone; faster, for many pairs. */
double dice_median(struct dice *dice, double rate, const struct noise *noise,
                   int samples);

#endif
