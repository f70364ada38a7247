// SPDX-License-Identifier: BSD-3-Clause
/* What the tests of workers share: a table of commands that behave badly in every way,
 * and a rig that opens a spawner before each test and counts descriptors and children
 * after. */
#ifndef FC_TESTS_WORKER_RIG_H
#define FC_TESTS_WORKER_RIG_H

#include "core/clock.h"
#include "core/spawner.h"
#include "core/worker.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOON (60 * FC_NS_PER_S)             /* a deadline that must not pass */
#define SHORT (300 * FC_NS_PER_MS)          /* a deadline that must */
#define BOUND_NS (SHORT + 10 * FC_NS_PER_S) /* after which a rank counts as hung */

extern const struct fc_worker_command rig_table[];

struct rig {
    struct fc_spawner *spawner;
    struct fc_worker *worker;
    struct fc_error err;
    size_t fds; /* open before the test */
};

/* cmocka fixtures. Teardown fails the test when a descriptor, a child or a child of the
 * spawner is left. */
int rig_open(void **state);
int rig_close(void **state);

/* Opens (the rig's worker when `out` is NULL) and fails the test when that fails. */
void rig_worker(struct rig *rig, const char *const *env, struct fc_worker **out);
/* One call of the rig's worker without lines; frees `args`. */
enum fc_status rig_call(struct rig *rig, const char *command, json_t *args,
                        uint64_t deadline_ns, json_t **out_reply);
/* A call that must succeed. */
json_t *rig_ask(struct rig *rig, struct fc_worker *worker, const char *command,
                json_t *args);
/* Closes the rig's worker and opens a fresh one. */
void rig_renew(struct rig *rig, const char *const *env);

/* Fails the test unless `text` matches the extended regular expression. */
void rig_says(const char *text, const char *regex);

/* In /proc: open descriptors of this process; processes whose parent is `pid` (zombies
 * too, if `zombies`); whether `pid` is there and no zombie. */
size_t rig_count_fds(void);
size_t rig_count_children(int pid, bool zombies);
bool rig_runs(int pid);
/* Waits until `pid` does not run; false after `limit_ns`. */
bool rig_vanishes(int pid, uint64_t limit_ns);

/* NULL-ended overrides under which a sanitizer leaves crashes to the kernel. */
extern const char *const rig_raw_crash[];

#endif
