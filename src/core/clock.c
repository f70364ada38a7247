// SPDX-License-Identifier: BSD-3-Clause
#include "core/clock.h"

#include <stdio.h>
#include <time.h>

uint64_t fc_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * FC_NS_PER_S + (uint64_t)t.tv_nsec;
}

void fc_sleep_ns(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / FC_NS_PER_S),
                         .tv_nsec = (long)(ns % FC_NS_PER_S)};
    nanosleep(&t, NULL);
}

struct fc_timestamp fc_timestamp_now(void)
{
    struct timespec t;
    struct tm tm;
    struct fc_timestamp out;
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &tm);
    char seconds[24];
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out.text, sizeof out.text, "%s.%03dZ", seconds,
             (int)(t.tv_nsec / (long)FC_NS_PER_MS));
    return out;
}

struct fc_timestamp fc_timestamp_compact(void)
{
    time_t now = time(NULL);
    struct tm tm;
    struct fc_timestamp out;
    gmtime_r(&now, &tm);
    strftime(out.text, sizeof out.text, "%Y%m%dT%H%M%SZ", &tm);
    return out;
}
