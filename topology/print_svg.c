// SPDX-License-Identifier: BSD-3-Clause
/* The picture as a drawing: nearness is containment. A package holds NUMA nodes, they
 * hold switches (PXB in nested boxes, PIX in one), switches hold GPUs in their last row
 * and NICs above; links between GPUs are drawn below everything. */
#include "topology/print.h"

enum fc_status fc_topo_print_svg(const struct fc_topo *topo, FILE *out,
                                 struct fc_error *err)
{
    (void)topo;
    (void)out;
    return fc_fail(err, FC_USAGE, "--format svg: not yet");
}
