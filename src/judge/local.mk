# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += src/judge/libjudge.a
src_judge_libjudge_a_SOURCES = \
	src/judge/accused.c src/judge/accused.h \
	src/judge/blame.c \
	src/judge/counters.def \
	src/judge/culprit.c \
	src/judge/doubtful.c src/judge/doubtful.h \
	src/judge/evidence.c src/judge/evidence.h \
	src/judge/evidence_lines.c src/judge/evidence_parts.h \
	src/judge/evidence_matrix.c \
	src/judge/evidence_records.c \
	src/judge/evidence_ways.c \
	src/judge/expectation.c src/judge/expectation.h \
	src/judge/findings.c src/judge/findings.h \
	src/judge/findings_json.c \
	src/judge/floors.def \
	src/judge/hints.c src/judge/hints.h \
	src/judge/judge.c src/judge/judge.h \
	src/judge/lists.c src/judge/lists.h \
	src/judge/merge.c src/judge/merge.h \
	src/judge/nodefacts.c src/judge/nodefacts.h \
	src/judge/nodegroup.c src/judge/nodegroup.h \
	src/judge/pairs.c src/judge/pairs.h \
	src/judge/pairs_deeper.c \
	src/judge/pairs_equals.c src/judge/pairs_parts.h \
	src/judge/pairs_leaves.c \
	src/judge/pairs_slow.c \
	src/judge/peers.c src/judge/peers.h \
	src/judge/peers_few.c src/judge/peers_parts.h \
	src/judge/profile.c src/judge/profile.h \
	src/judge/rdma_ports.c src/judge/rdma_ports.h \
	src/judge/rule_affinity.c \
	src/judge/rule_classes.c \
	src/judge/rule_config.c \
	src/judge/rule_counters.c \
	src/judge/rule_coverage.c \
	src/judge/rule_events.c \
	src/judge/rule_expect.c \
	src/judge/rule_identity.c \
	src/judge/rule_limit.c \
	src/judge/rule_locality.c \
	src/judge/rule_memory.c \
	src/judge/rule_nccl.c \
	src/judge/rule_network.c \
	src/judge/rule_pairs.c \
	src/judge/rule_pairs_coverage.c \
	src/judge/rule_path.c \
	src/judge/rule_peers.c \
	src/judge/rule_ports.c \
	src/judge/rule_rdma.c \
	src/judge/rule_right.c \
	src/judge/rule_setup.c \
	src/judge/rule_sweep.c \
	src/judge/rule_topo_file.c \
	src/judge/rule_topology.c \
	src/judge/rule_training.c \
	src/judge/rule_verbs.c \
	src/judge/rule_xid.c \
	src/judge/rules.c src/judge/rules.h \
	src/judge/setup.c src/judge/setup.h \
	src/judge/siblings.c src/judge/siblings.h \
	src/judge/suspects.c \
	src/judge/summary.c src/judge/summary.h
FC_LIBS += src/judge/libjudge.a
