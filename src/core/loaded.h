// SPDX-License-Identifier: BSD-3-Clause
/* Which of Open MPI's transport components this process has loaded, read off its own
 * memory map: what is still loaded after MPI_Init is what was selected or can still be
 * used.
 * Collective: no. Refuses to know: MPI's API. */
#ifndef FC_CORE_LOADED_H
#define FC_CORE_LOADED_H

#include <jansson.h>

/* {"pml": ["ob1"], "btl": ["self", "tcp", "vader"], "mtl": …}: the components among the
 * mappings of `maps` ("/proc/self/maps"); {} when there are none or it cannot be read.
 * New reference. */
json_t *fc_loaded_components(const char *maps);

#endif
