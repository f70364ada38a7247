// SPDX-License-Identifier: BSD-3-Clause
#include "judge/hints.h"

#include <string.h>

struct row {
    const char *prefix; /* of the metric; "" ends a table */
    struct fc_hint hint;
};

static const struct row slow[] = {
    {"device.gemm.",
     {"a throttled clock (heat, power cap, governor), fewer cores than expected, other "
      "load, "
      "or a BLAS without kernels for this processor",
      "look at clock, temperature and governor under load and at the affinity of the "
      "ranks; "
      "run again on this node alone; drain it if it stays slow"}},
    {"device.fma_peak.",
     {"a throttled clock (heat, power cap, governor) or cores shared with other work",
      "look at clock, temperature and governor under load; run again on this node "
      "alone"}},
    {"device.mem_bw",
     {"memory on another NUMA node, an empty or failed memory channel, or other load",
      "compare the memory modules and NUMA settings with a good node; look at "
      "corrected "
      "memory errors (EDAC)"}},
    {"device.stream_peak",
     {"memory on another NUMA node, an empty or failed memory channel, or other load",
      "compare the memory modules and NUMA settings with a good node"}},
    {"pair.",
     {"a link that came up at a lower rate or width, a port with errors, a cable or "
      "transceiver, or other traffic on the way",
      "compare rate, width and error counters of both ends with a good node's; run the "
      "pairs probe again on an idle network, on the parts named and a good one"}},
    {"rdma.all_rails_bw",
     {"rails that share a PCIe switch, a memory channel or an uplink, or one that is "
      "slow "
      "by itself",
      "look at the findings of single rails first, then at which NICs share a switch "
      "(`fabricheck topo`)"}},
    {"rdma.",
     {"a port that came up at a lower rate or width, a NIC whose PCIe link is narrower "
      "than its card's, an MTU of 1024, relaxed ordering that is off, or congestion on "
      "the way",
      "compare rate, MTU and error counters of both ports with a good node's, and "
      "LnkSta of the NIC (lspci -vv); swap the cable, then the switch port"}},
    {"training.compute_time",
     {"a throttled clock (heat, power cap, governor), cores or memory shared with "
      "other "
      "work",
      "look at clock, temperature and governor under load and at the affinity of the "
      "rank; run the device probe on this node alone"}},
    {"training.",
     {"a slow link, port or core on the way of the collectives, or work that "
      "interferes "
      "when computation and communication run together",
      "run the pairs and collectives probes; look at the affinity of the ranks"}},
    {"collective.",
     {"another transport than expected (no shared memory, no fast network), ranks that "
      "share "
      "cores, or a slow link between the nodes",
      "look at what MPI selected (the run line's control, OMPI_MCA_* and UCX_*), then "
      "run the "
      "collectives probe on halves of the nodes"}},
    {"",
     {"a slow part, or other load",
      "run again on this part alone; drain it if it stays "
      "slow"}},
};

static const struct row wrong[] = {
    {"device.",
     {"a processor, memory or GPU that computes or stores wrong data: silent "
      "corruption",
      "drain the node at once; run again on it alone; look at machine checks and ECC "
      "counters; "
      "do not train on it even if a second run passes"}},
    {"pair.",
     {"data corrupted by a NIC, a link or a node's memory on the way",
      "drain what is named; look at link error and ECC counters of both ends; run the "
      "pairs probe on them with a good node"}},
    {"rdma.",
     {"data changed by a NIC, its firmware, a link or a node's memory on the way",
      "drain what is named; look at the ECC and link counters of both ports; write to "
      "it from another node to see which end it follows"}},
    {"training.",
     {"a replica that computed or received other numbers than the rest: silent "
      "corruption in a processor, memory, or on the way",
      "drain the nodes named; run the device and collectives probes on them; do not "
      "train on them even if a second run passes"}},
    {"collective.",
     {"data corrupted on the way (NIC, link, memory) or by the communication library",
      "drain the nodes named; run the collectives probe on halves of the nodes; look "
      "at link "
      "error and ECC counters"}},
    {"", {"data corrupted by the part under test", "drain it; run again on it alone"}},
};

static const struct row dead[] = {
    {"rdma.",
     {"a port, cable or switch port that carries nothing, a partition or subnet that "
      "the ports do not share, or UDP port 4791 blocked on the way (RoCE)",
      "read the reason; look at port state, GID and P_Key of both ends; try the line "
      "of perftest below"}},
    {"",
     {"a link, port or route between them that does not carry traffic, or a firewall",
      "read the reason; look at link state and counters of both ends; run the pairs "
      "probe again on them alone"}},
};

static struct fc_hint find(const struct row *table, const char *metric)
{
    while (table->prefix[0] &&
           strncmp(metric, table->prefix, strlen(table->prefix)) != 0)
        table++;
    return table->hint;
}

struct fc_hint fc_hint_slow(const char *metric)
{
    return find(slow, metric);
}

struct fc_hint fc_hint_wrong(const char *metric)
{
    return find(wrong, metric);
}

struct fc_hint fc_hint_dead(const char *metric)
{
    return find(dead, metric);
}
