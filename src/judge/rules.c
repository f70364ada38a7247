// SPDX-License-Identifier: BSD-3-Clause
#include "judge/rules.h"

#include "judge/nodefacts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRED FC_CLASS_REQUIRED
#define SUBSTITUTABLE FC_CLASS_SUBSTITUTABLE
#define INFORMATIVE FC_CLASS_INFORMATIVE

static const struct fc_rule rules[] = {
    {"result.wrong", "a result was verified and is wrong: FAIL",
     "records with wrong elements", REQUIRED, fc_rule_wrong},
    {"result.failed", "an operation under test failed: FAIL",
     "records with status failed", REQUIRED, fc_rule_failed},
    {"result.unverified", "a result that must be verified was not",
     "GEMM, collective and step records without a count of wrong elements", REQUIRED,
     fc_rule_unverified},
    {"limit.floor", "a value is below its floor: FAIL",
     "the last attempt's median against floor x limit", REQUIRED, fc_rule_floor},
    {"limit.exceeded", "a value is above its limit, so the limit is wrong: WARN",
     "medians above 110 % of the limit", SUBSTITUTABLE, fc_rule_exceeded},
    {"limit.missing", "a value that needs a limit has none", "records without a limit",
     SUBSTITUTABLE, fc_rule_no_limit},
    {"pair.wrong", "a node, NIC, switch or link gave others wrong data: FAIL",
     "wrong elements of all pairs, and what part has them in common", REQUIRED,
     fc_rule_pair_wrong},
    {"pair.failed", "nothing came through between the members of a pair: FAIL",
     "pairs with status failed, and what part has them in common; not those across "
     "rails, when those along them are well",
     REQUIRED, fc_rule_pair_failed},
    {"pair.floor", "a node, NIC, rail, switch or link is below its floor: FAIL",
     "the last attempt of each pair against floor x link rate", REQUIRED,
     fc_rule_pair_floor},
    {"pair.slow",
     "a node, NIC, rail, switch or link is slower than the others: WARN, with a retest "
     "and an effect FAIL",
     "each pair's bandwidth, both ways, against pairs of the same kind", INFORMATIVE,
     fc_rule_pair_slow},
    {"pair.latency", "a node or link answers much later than the others: WARN",
     "each pair's latency against pairs of the same kind", INFORMATIVE,
     fc_rule_pair_latency},
    {"pair.missing", "pairs or rounds of pairs were not measured",
     "rounds run of rounds planned, members without a pair or lost on the way, pairs "
     "without a value",
     REQUIRED, fc_rule_pair_missing},
    {"sweep.monotone", "a message takes longer than a much larger one: WARN",
     "times of one operation over its sizes", INFORMATIVE, fc_rule_monotone},
    {"sweep.collapse", "the rate falls far below its best at a large size: WARN",
     "bus bandwidths of one operation over its sizes, from 1M", INFORMATIVE,
     fc_rule_collapse},
    {"tail.intermittent", "single operations take much longer than the rest: WARN",
     "p99 / median of three equals or more with 20 samples or more", INFORMATIVE,
     fc_rule_tail},
    {"training.straggler", "a rank or node is late in each step: WARN",
     "each rank's own compute and communication time against all ranks' middle",
     INFORMATIVE, fc_rule_straggler},
    {"training.exposed",
     "a step takes longer than computing and then communicating: WARN",
     "step, compute and communication times of the same ranks", INFORMATIVE,
     fc_rule_exposed},
    {"path.unknown", "what carried the bytes between nodes was not proven",
     "paths of rates from 1M on", INFORMATIVE, fc_rule_path_unknown},
    {"path.differs", "nodes did the same by different paths: WARN",
     "paths of nodes and pairs", INFORMATIVE, fc_rule_path_differs},
    {"peer.unlike",
     "a node is worse than its equals: WARN; beyond doubt over all its tests, with a "
     "retest and an effect, FAIL",
     "the worst rank of each node against the median of nine equal nodes or more; of "
     "five to eight the worst node against the others",
     INFORMATIVE, fc_rule_peers},
    {"peer.spread", "equal nodes spread too much to find what is wanted: info",
     "the spread of equal nodes", INFORMATIVE, fc_rule_spread},
    {"rank.hung", "a rank did not come back from its own work: FAIL",
     "deadline events of local work", REQUIRED, fc_rule_rank_hung},
    {"collective.hung", "an operation of several ranks did not end: FAIL of the group",
     "deadline events of collective operations", REQUIRED, fc_rule_collective_hung},
    {"rank.silent",
     "a rank left no trace when the run ended: FAIL when most others did",
     "silent events", REQUIRED, fc_rule_silent},
    {"rank.waited", "ranks waited in vain for others to agree",
     "deadline events of agreements", REQUIRED, fc_rule_waited},
    {"worker.lost", "a worker process crashed or hung: WARN", "worker events", REQUIRED,
     fc_rule_worker},
    {"run.cut", "the journal has no plan or no end", "plan and end lines", REQUIRED,
     fc_rule_cut},
    {"run.interrupted", "the run did not come to its end", "the end line", REQUIRED,
     fc_rule_interrupted},
    {"journal.trouble", "the journal could not be written where it should be",
     "journal events", REQUIRED, fc_rule_journal},
    {"journal.damaged", "lines are unreadable, cut or contradict each other",
     "lines that are not what their type says", REQUIRED, fc_rule_damaged},
    {"profile.missing", "what was expected is not known", "the profile line", REQUIRED,
     fc_rule_profile},
    {"coverage.probe", "a probe was planned and did not do its work",
     "plan, phase lines, records and facts of each planned probe", REQUIRED,
     fc_rule_probes},
    {"coverage.metric", "a planned probe did not measure what it owes on a rank",
     "records of each rank", REQUIRED, fc_rule_metrics},
    {"coverage.rank", "a rank has fewer measurements than its equals",
     "records of each rank", REQUIRED, fc_rule_ranks},
    {"coverage.status",
     "a measurement was skipped, ran out of time or could not be read",
     "records with another status than ok and failed", REQUIRED, fc_rule_unmeasured},
    {"coverage.nodes", "nodes or ranks of the run are not named in the journal",
     "the run line's numbers and the node lines", REQUIRED, fc_rule_nodes},
    {"value.nan", "a measurement gave no number",
     "records with status ok and no median", REQUIRED, fc_rule_nan},
    {"expect.nodes", "not as many nodes as expected: FAIL",
     "the profile's expect.nodes", REQUIRED, fc_rule_expect_nodes},
    {"expect.gpus", "a node has not as many GPUs as expected: FAIL",
     "the profile's expect.gpus and the nodes' facts", REQUIRED, fc_rule_expect_gpus},
    {"expect.nics", "a node's NICs are fewer or slower than expected: FAIL",
     "the profile's expect.nics and nic_gbps, and ports of the fabric that are up",
     REQUIRED, fc_rule_expect_nics},
    {"topology.link", "a GPU's or NIC's link is narrower than its equals': FAIL",
     "lanes and speeds of functions of one product", REQUIRED, fc_rule_topo_link},
    {"topology.slot", "a link is trained below what card and slot can do: WARN",
     "lanes and speeds of functions, and of the ports above them", INFORMATIVE,
     fc_rule_topo_slot},
    {"topology.port", "a port of the fabric is not up: FAIL when others' are",
     "states of verbs devices' ports", REQUIRED, fc_rule_topo_port},
    {"topology.rate", "a port of the fabric is slower than its equals: FAIL",
     "rates of ports of one link layer", REQUIRED, fc_rule_topo_rate},
    {"topology.firmware", "a card's firmware is unlike its equals': WARN",
     "firmware of cards of one board", INFORMATIVE, fc_rule_topo_firmware},
    {"topology.settings", "a port of the fabric is set up unlike its equals: WARN",
     "MTU, P_Keys, interface and RoCE v2 GID of ports that are up", INFORMATIVE,
     fc_rule_topo_settings},
    {"topology.count", "a node has fewer GPUs or NICs than most: FAIL",
     "what is on the PCI bus of three nodes or more", REQUIRED, fc_rule_topo_count},
    {"topology.locality", "some GPUs have no NIC near them: WARN",
     "distances of GPUs to NICs of the fabric", INFORMATIVE, fc_rule_topo_locality},
    {"topology.ratio", "GPUs of a node have unlike shares of its NICs: WARN",
     "the NICs nearest to each GPU", INFORMATIVE, fc_rule_topo_ratio},
    {"topology.iommu", "the IOMMU translates traffic of GPUs: WARN",
     "the types of GPUs' IOMMU groups", SUBSTITUTABLE, fc_rule_topo_iommu},
    {"topology.acs", "ACS redirects traffic between GPUs: WARN",
     "ACS control words of the bridges above GPUs, as root saw them", SUBSTITUTABLE,
     fc_rule_topo_acs},
    {"topology.odd", "the picture holds what no machine can have: WARN",
     "values of /sys that contradict each other", INFORMATIVE, fc_rule_topo_odd},
    {"topology.flat", "a virtual machine hides its PCIe switches from NCCL: WARN",
     "distances, hypervisor and NCCL_TOPO_FILE", INFORMATIVE, fc_rule_topo_flat},
    {"topology.file", "NCCL's topology file is not of this node: WARN",
     "the file's addresses and the bus's", INFORMATIVE, fc_rule_topo_file},
    {"gpu.xid",
     "the kernel's log says that a GPU is sick: WARN, FAIL when it needs a "
     "reset or a repair",
     "Xids since boot, as root saw them", INFORMATIVE, fc_rule_xid},
    {"setup.memlock", "ranks may lock too little memory for RDMA: WARN",
     "limits of ranks where there are verbs devices", INFORMATIVE,
     fc_rule_setup_memlock},
    {"setup.shm", "/dev/shm is too small for NCCL: WARN",
     "its size where there are GPUs", INFORMATIVE, fc_rule_setup_shm},
    {"setup.balancing", "automatic NUMA balancing disturbs communication: WARN",
     "the kernel's setting where there are GPUs or verbs devices", INFORMATIVE,
     fc_rule_setup_balancing},
    {"setup.nccl", "variables override NCCL's choices: WARN", "environments of ranks",
     INFORMATIVE, fc_rule_setup_nccl},
    {"setup.hca", "NCCL_IB_HCA takes more devices than it seems to: WARN",
     "environments of ranks and names of verbs devices", INFORMATIVE,
     fc_rule_setup_hca},
    {"rdma.counters",
     "error counters of RDMA ports grew while something was measured: WARN, from many "
     "on FAIL",
     "growth of each counter in each stage; never totals since boot", INFORMATIVE,
     fc_rule_counters},
    {"rdma.unlike",
     "ports of one rail differ in what they should share: WARN, where pairs failed "
     "FAIL",
     "link layer, subnet, MTU, kind of GID and P_Key of each rail's ports", INFORMATIVE,
     fc_rule_rdma_unlike},
    {"rdma.doubt",
     "a port's GID or P_Key may not reach its peers: WARN; of all alike info",
     "GIDs and P_Keys as NCCL would choose them", INFORMATIVE, fc_rule_rdma_doubt},
    {"rdma.event", "an RDMA port or device told of an error while it was used: WARN",
     "verbs events", INFORMATIVE, fc_rule_verbs_event},
    {"setup.interface", "a pattern leaves no interface, or no NIC, on a node: WARN",
     "patterns in environments and files of ranks, and addresses of nodes", INFORMATIVE,
     fc_rule_setup_interface},
    {"setup.address", "a pattern takes an address that several machines have: WARN",
     "the same, and the boots of nodes", INFORMATIVE, fc_rule_setup_address},
    {"setup.identity", "a host is not one, or not itself: WARN",
     "host names, boot ids, kernels and machine ids of nodes", INFORMATIVE,
     fc_rule_identity},
    {"setup.ipc", "ranks of one node see unlike /dev/shm: WARN",
     "the device that it is for each rank", INFORMATIVE, fc_rule_setup_ipc},
    {"setup.nps",
     "a node has more or fewer NUMA nodes than most like it: WARN; one a package: info",
     "NUMA nodes and packages of nodes with one processor model", INFORMATIVE,
     fc_rule_setup_nps},
    {"setup.hugepages", "EFA's endpoints have no huge pages: WARN; few: info",
     "pages of 2 MiB where there are EFA NICs", INFORMATIVE, fc_rule_setup_hugepages},
    {"setup.uverbs", "programs cannot open a NIC of the fabric: WARN",
     "files in /dev/infiniband", INFORMATIVE, fc_rule_setup_uverbs},
    {"setup.gpudirect", "NICs cannot reach the memory of GPUs: WARN",
     "kernel modules, the driver's kind and the kernel's version", SUBSTITUTABLE,
     fc_rule_setup_gpudirect},
    {"setup.umad", "NVSwitches cannot be managed without ib_umad: WARN",
     "its files where B200 or B300 are", INFORMATIVE, fc_rule_setup_umad},
    {"setup.ordering", "a NIC may order its writes unlike the others: WARN",
     "PCI Express control words of NICs, as root saw them", SUBSTITUTABLE,
     fc_rule_setup_ordering},
    {"setup.sharing", "ranks share cores while others idle: WARN",
     "affinities of ranks, cores, and CPUs that the control group allows", INFORMATIVE,
     fc_rule_setup_sharing},
    {"setup.cores", "ranks with GPUs have few cores or little time: WARN",
     "the same, and the control group's limit", INFORMATIVE, fc_rule_setup_cores},
    {"setup.far", "ranks run far from GPUs or NICs: WARN",
     "affinities of ranks and CPUs of the packages with GPUs and NICs", INFORMATIVE,
     fc_rule_setup_far},
    {"config.differs", "nodes differ in what should be equal: WARN",
     "facts that are meant to be equal across nodes", INFORMATIVE, fc_rule_differs},
    {"config.foreign_load", "somebody else uses a node: its speed is not judged",
     "facts of other processes' load", REQUIRED, fc_rule_foreign},
    {"config.oversubscribed", "more ranks than CPUs: speed is not judged: info",
     "affinity facts", INFORMATIVE, fc_rule_oversubscribed},
    {"config.unreadable", "a fact could not be read", "the facts' unreadable keys",
     INFORMATIVE, fc_rule_unreadable},
};

const struct fc_rule *fc_rule_at(size_t i)
{
    return i < sizeof rules / sizeof *rules ? &rules[i] : NULL;
}

struct fc_finding fc_finding_of_config(const struct fc_case *c,
                                       enum fc_severity severity, size_t node)
{
    return (struct fc_finding){.severity = severity,
                               .confidence = FC_CONF_HIGH,
                               .check = c->rule->id,
                               .node = node,
                               .rank = -1,
                               .probe = "config"};
}

/* Why speed of a probe cannot be judged on this node (FC_NONE: on any); "": it can. */
static struct fc_load_text spoiled(const struct fc_case *c, size_t node,
                                   const char *probe)
{
    size_t from = node == FC_NONE ? 0 : node,
           end = node == FC_NONE ? c->ev->nodes : node + 1;
    struct fc_load_text text = {""};
    for (size_t i = from; i < end && !text.s[0]; i++) {
        text = fc_nodefacts_load(c->ev, i, probe ? probe : "");
        if (!text.s[0] && c->crowded[i])
            snprintf(text.s, sizeof text.s, "%.200s", c->crowded[i]);
    }
    return text;
}

bool fc_speed_spoiled(const struct fc_case *c, size_t node, const char *probe)
{
    return spoiled(c, node, probe).s[0] != '\0';
}

void fc_find_slow(const struct fc_case *c, const struct fc_finding *f, const char *fmt,
                  ...)
{
    struct fc_finding found = *f;
    struct fc_load_text why = {""};
    char *message = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&message, fmt, args);
    va_end(args);
    if (n < 0) {
        c->out->status = FC_NOMEM;
        return;
    }
    if (f->severity == FC_SEV_FAIL)
        why = spoiled(c, f->node, f->probe);
    if (!why.s[0]) {
        fc_find(c->out, f, "%s", message);
        free(message);
        return;
    }
    struct fc_missing m = {.class = FC_CLASS_REQUIRED,
                           .check = f->check,
                           .probe = f->probe,
                           .what = f->metric,
                           .node = f->node};
    found.severity = FC_SEV_WARN;
    found.confidence = FC_CONF_LOW;
    fc_find(c->out, &found, "%s; not judged, since %s", message, why.s);
    fc_miss(c->out, &m, "too slow, but not judged, since %s", why.s);
    free(message);
}
