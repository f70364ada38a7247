// SPDX-License-Identifier: BSD-3-Clause
/* Rules: each one question that is asked of the evidence, as one entry of one table.
 * A rule reads evidence and expectations and hands in findings and gaps; rules know
 * nothing of each other. Collective: no. Refuses to know: how anything was measured
 * or is shown. */
#ifndef FC_JUDGE_RULES_H
#define FC_JUDGE_RULES_H

#include "judge/evidence.h"
#include "judge/expectation.h"
#include "judge/findings.h"
#include "judge/pairs.h"

struct fc_case {
    const struct fc_evidence *ev;
    const struct fc_expectation *expect;
    const struct fc_rule *rule; /* the one that is asked */
    bool profile_given;         /* by the caller, not by the journal */
    const char *const *crowded; /* [nodes]: more ranks than CPUs there; NULL: no */
    const struct fc_peers *peers;
    struct fc_pairs_shelf *shelf;
    struct fc_findings *out;
};

struct fc_rule {
    const char *id;       /* "limit.floor": the `check` of its findings */
    const char *title;    /* one sentence: what it says when it fires */
    const char *looks_at; /* what it reads */
    enum fc_class class;  /* of what it finds missing */
    void (*apply)(const struct fc_case *c);
};

/* NULL past the last. */
const struct fc_rule *fc_rule_at(size_t i);

/* rule_right.c: are results right? */
void fc_rule_wrong(const struct fc_case *c);
void fc_rule_failed(const struct fc_case *c);
void fc_rule_unverified(const struct fc_case *c);
/* rule_limit.c: are they near their limits? */
void fc_rule_floor(const struct fc_case *c);
void fc_rule_exceeded(const struct fc_case *c);
void fc_rule_no_limit(const struct fc_case *c);
/* rule_pairs.c, rule_pairs_coverage.c: are pairs right, fast, alike and complete? */
void fc_rule_pair_wrong(const struct fc_case *c);
void fc_rule_pair_failed(const struct fc_case *c);
void fc_rule_pair_floor(const struct fc_case *c);
void fc_rule_pair_slow(const struct fc_case *c);
void fc_rule_pair_latency(const struct fc_case *c);
void fc_rule_pair_missing(const struct fc_case *c);
/* rule_sweep.c: are curves over sizes plausible, and samples alike? */
void fc_rule_monotone(const struct fc_case *c);
void fc_rule_collapse(const struct fc_case *c);
void fc_rule_tail(const struct fc_case *c);
/* rule_training.c: who makes a step late? */
void fc_rule_straggler(const struct fc_case *c);
void fc_rule_exposed(const struct fc_case *c);
/* rule_path.c: what carried the bytes? */
void fc_rule_path_unknown(const struct fc_case *c);
void fc_rule_path_differs(const struct fc_case *c);
/* rule_peers.c: are they like their peers? */
void fc_rule_peers(const struct fc_case *c);
void fc_rule_spread(const struct fc_case *c);
/* rule_coverage.c: was everything measured? */
void fc_rule_cut(const struct fc_case *c);
void fc_rule_interrupted(const struct fc_case *c);
void fc_rule_damaged(const struct fc_case *c);
void fc_rule_probes(const struct fc_case *c);
void fc_rule_metrics(const struct fc_case *c);
void fc_rule_ranks(const struct fc_case *c);
void fc_rule_unmeasured(const struct fc_case *c);
void fc_rule_nan(const struct fc_case *c);
void fc_rule_profile(const struct fc_case *c);
/* rule_events.c: what ended the run? */
void fc_rule_rank_hung(const struct fc_case *c);
void fc_rule_collective_hung(const struct fc_case *c);
void fc_rule_silent(const struct fc_case *c);
void fc_rule_waited(const struct fc_case *c);
void fc_rule_worker(const struct fc_case *c);
void fc_rule_journal(const struct fc_case *c);
/* rule_counters.c: did ports lose or damage anything meanwhile? */
void fc_rule_verbs_event(const struct fc_case *c);
void fc_rule_counters(const struct fc_case *c);
/* rule_rdma.c: do the ports of a rail fit each other? */
void fc_rule_rdma_unlike(const struct fc_case *c);
void fc_rule_rdma_doubt(const struct fc_case *c);
/* rule_classes.c: what nodes of another class have otherwise, as findings of `base`;
 * told[node] becomes true for those that it spoke of. */
void fc_tell_classes(const struct fc_case *c, const struct fc_finding *base,
                     bool *told);
/* rule_config.c: are the nodes set up alike, and ours alone? */
void fc_rule_differs(const struct fc_case *c);
void fc_rule_foreign(const struct fc_case *c);
void fc_rule_oversubscribed(const struct fc_case *c);
void fc_rule_unreadable(const struct fc_case *c);
/* rule_topology.c: is each GPU and NIC there, and connected as its equals are? */
void fc_rule_topo_link(const struct fc_case *c);
void fc_rule_topo_slot(const struct fc_case *c);
void fc_rule_topo_count(const struct fc_case *c);
/* rule_locality.c: has each GPU its NIC near it, and as much of it as others? */
void fc_rule_topo_locality(const struct fc_case *c);
void fc_rule_topo_ratio(const struct fc_case *c);
/* rule_topo_file.c: is NCCL's topology file of this node? */
void fc_rule_topo_file(const struct fc_case *c);
/* rule_xid.c: does the kernel's log say that a GPU is sick? */
void fc_rule_xid(const struct fc_case *c);
/* rule_ports.c: is each port of the fabric up, fast and set up as its equals are? */
void fc_rule_topo_port(const struct fc_case *c);
void fc_rule_topo_rate(const struct fc_case *c);
void fc_rule_topo_firmware(const struct fc_case *c);
void fc_rule_topo_settings(const struct fc_case *c);
/* rule_setup.c: is each node set up for what its hardware is for? */
void fc_rule_topo_iommu(const struct fc_case *c);
void fc_rule_topo_acs(const struct fc_case *c);
void fc_rule_topo_odd(const struct fc_case *c);
void fc_rule_topo_flat(const struct fc_case *c);
void fc_rule_setup_memlock(const struct fc_case *c);
void fc_rule_setup_shm(const struct fc_case *c);
void fc_rule_setup_balancing(const struct fc_case *c);
/* rule_nccl.c, rule_network.c: do variables hurt, or hide the way to the others? */
void fc_rule_setup_nccl(const struct fc_case *c);
void fc_rule_setup_hca(const struct fc_case *c);
void fc_rule_setup_interface(const struct fc_case *c);
void fc_rule_setup_address(const struct fc_case *c);
/* rule_identity.c: is each host one, and itself? */
void fc_rule_identity(const struct fc_case *c);
void fc_rule_setup_ipc(const struct fc_case *c);
/* rule_memory.c, rule_verbs.c: can GPUs and NICs use memory as they should? */
void fc_rule_setup_nps(const struct fc_case *c);
void fc_rule_setup_hugepages(const struct fc_case *c);
void fc_rule_setup_uverbs(const struct fc_case *c);
void fc_rule_setup_gpudirect(const struct fc_case *c);
void fc_rule_setup_umad(const struct fc_case *c);
void fc_rule_setup_ordering(const struct fc_case *c);
/* rule_affinity.c: do ranks run on enough cores, and near what they feed? */
void fc_rule_setup_sharing(const struct fc_case *c);
void fc_rule_setup_cores(const struct fc_case *c);
void fc_rule_setup_far(const struct fc_case *c);
/* rule_expect.c: is all there that should be? */
void fc_rule_nodes(const struct fc_case *c);
void fc_rule_expect_nodes(const struct fc_case *c);
void fc_rule_expect_gpus(const struct fc_case *c);
void fc_rule_expect_nics(const struct fc_case *c);

/* True when other load or a lack of CPUs spoils this probe's speed on the node
 * (FC_NONE: on any). */
bool fc_speed_spoiled(const struct fc_case *c, size_t node, const char *probe);

/* What findings about how a node is made and set up have in common. */
struct fc_finding fc_finding_of_config(const struct fc_case *c,
                                       enum fc_severity severity, size_t node);

/* A finding about speed: FAIL as `f` says, or, when other load spoils the node (for a
 * group: any node), a WARN and a coverage entry instead. */
void fc_find_slow(const struct fc_case *c, const struct fc_finding *f, const char *fmt,
                  ...) FC_PRINTF(3, 4);

/* The judge with one rule left out, so that tests can show that each is needed. */
enum fc_status fc_judge_without(const struct fc_journal_text *journal, json_t *profile,
                                const char *rule, json_t **out_report,
                                struct fc_error *err) FC_MUST_USE;

#endif
