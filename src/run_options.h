// SPDX-License-Identifier: BSD-3-Clause
/* The options of `run`, as one table and one struct. */
#ifndef FC_RUN_OPTIONS_H
#define FC_RUN_OPTIONS_H

#include "core/option.h"
#include "core/run.h"

struct fc_run_options {
    char *level, *device, *control, *out, *profile, *switches;
    char *pairs; /* "full" or a number; NULL: as the level says */
    struct fc_words probes, skip, labels;
    int64_t expect_nodes, expect_gpus; /* 0: nothing expected */
    uint64_t min_bytes, max_bytes;
    double factor;
    bool json, quiet, verbose;
};

extern const struct fc_option fc_run_option_table[];

/* What one option alone cannot tell: -b above -e, a label that is no K=V, a probe that
 * is both demanded and skipped. FC_USAGE, one line. Collective: no. */
enum fc_status fc_run_options_check(const struct fc_run_options *options,
                                    struct fc_error *err) FC_MUST_USE;

/* The settings that probes see. */
enum fc_status fc_run_settings(const struct fc_run_options *options,
                               struct fc_settings *out,
                               struct fc_error *err) FC_MUST_USE;

#endif
