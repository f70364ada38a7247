// SPDX-License-Identifier: BSD-3-Clause
/* Whether a report names what is ill in a simulated fleet, and nothing else. A fault
 * counts as found when a finding (WARN or FAIL) names its smallest part: node and
 * metric, node and rail and direction, the two ends of a link, the switch. The blame is
 * right when all faults are found and nothing else is: no FAIL of a healthy part, and
 * nothing said of one by the checks that found the ill ones. Refuses to know: how the
 * journal was made, how it was judged. */
#ifndef TESTS_FLEET_TRUTH_H
#define TESTS_FLEET_TRUTH_H

#include <jansson.h>
#include <stdbool.h>

struct tally {
    long fleets, right;           /* right: blame */
    long healthy, failed, warned; /* nodes without a fault, and those accused */
    long ill, found, condemned;   /* parts with a fault; found: WARN or FAIL */
    long pass, fail, open;        /* verdicts */
};

/* Adds one fleet; `truth` is an array of what the generator wrote; `report` gets a
 * member in each finding. Explains on stderr what is not right when `explain` is
 * set. */
void truth_compare(const json_t *truth, json_t *report, bool explain,
                   struct tally *tally);

#endif
