// SPDX-License-Identifier: BSD-3-Clause
/* Profiles: what is expected of a cluster, as an INI file. Sections: [run] holds
 * options of `run` by name; [floor] a metric's least share of its limit; [effect] the
 * share below its peers that is worth a ticket; [expect] nodes and gpus. Every key is
 * checked: an unknown section, key or a value out of range is FC_USAGE and names file,
 * line and key.
 * Collective: no (rank 0 reads, then broadcasts the JSON).
 */
#ifndef FC_JUDGE_PROFILE_H
#define FC_JUDGE_PROFILE_H

#include "core/status.h"

#include <jansson.h>

/* The built-in profile: {"name": "default", "floor": {metric: share}, "effect": {…},
 * "expect": {}}. New reference; NULL when memory is short. */
json_t *fc_profile_default(void);

/* The built-in profile with `path`'s values over it; "name" is the file's name, and
 * "run" holds the [run] section as {option: text} for the caller to apply. */
enum fc_status fc_profile_load(const char *path, json_t **out,
                               struct fc_error *err) FC_MUST_USE;

#endif
