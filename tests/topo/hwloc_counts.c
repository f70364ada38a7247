// SPDX-License-Identifier: BSD-3-Clause
/* What hwloc itself makes of an XML file (argument) or of HWLOC_FSROOT: "packages NUMA
 * nodes cores PUs PCI functions". The independent witness of tests/topo. */
#include <hwloc.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t) != 0 ||
        hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        (argc > 1 && hwloc_topology_set_xml(t, argv[1]) != 0) ||
        hwloc_topology_load(t) != 0) {
        fprintf(stderr, "hwloc cannot load it\n");
        return 1;
    }
    int pci = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PCI_DEVICE);
    hwloc_obj_t obj = NULL;
    while ((obj = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_BRIDGE, obj)))
        pci += obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
    printf("%d %d %d %d %d\n", hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE),
           hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE),
           hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE),
           hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU), pci);
    hwloc_topology_destroy(t);
    return 0;
}
