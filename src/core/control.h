// SPDX-License-Identifier: BSD-3-Clause
/* The control plane: which of MPI's own paths carry the validator's agreements.
 *
 * A validator whose agreements run over the HCA under test hangs with it. So for runs
 * with GPUs or verbs devices Open MPI is told, before MPI_Init, to use its TCP and
 * shared memory transports and no offloaded collectives. A run on the host device alone
 * leaves MPI's own choice, since that is what it measures. What the user has set is
 * never changed. What was selected in the end is known after MPI_Init only:
 * core/loaded.h tells it.
 * Collective: no (every rank comes to the same answer from the same arguments).
 * Refuses to know: MPI's API (Open MPI reads its environment once, in MPI_Init).
 */
#ifndef FC_CORE_CONTROL_H
#define FC_CORE_CONTROL_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>

/* The choices of --control, for option tables. */
#define FC_CONTROL_CHOICES "auto|tcp|mpi"

/* Open MPI's major version out of what MPI_Get_library_version says ("Open MPI v4.1.4,
 * …" is 4); 0 for any other library. */
int fc_control_major(const char *library);

/* True when this node has a verbs device or an NVIDIA GPU, as `root` ("" or a test
 * folder) shows in /sys/class/infiniband and /proc/driver/nvidia/gpus. Lists two
 * folders and opens no device, so that it may run in the rank itself. Nodes may differ:
 * those without either have only the same transports to choose from, so the two choices
 * meet. */
bool fc_control_fabric_present(const char *root);

/* Sets OMPI_MCA_* for `mode` (a choice of --control). To be called before MPI_Init and
 * before threads exist that read the environment. `fabric`: the run has GPUs or verbs
 * devices. `mpi_major`: fc_control_major's answer; 0 sets nothing.
 * *out_control (new reference) is the `control` of the journal's run line:
 * {"mode", "why", "set": {variable: value}, "kept": {variable: value the user had}}.
 * FC_USAGE for an unknown mode, FC_NOMEM. */
enum fc_status fc_control_apply(const char *mode, bool fabric, int mpi_major,
                                json_t **out_control, struct fc_error *err) FC_MUST_USE;

#endif
