# SPDX-License-Identifier: BSD-3-Clause
# Every test speaks TAP. A new unit test is one line in FC_UNIT (its source is
# tests/unit/NAME.c); a new script is one line in dist_check_SCRIPTS and TESTS.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER_FLAGS = --comments
LOG_COMPILER = $(top_srcdir)/tests/run-unit
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_DRIVER_FLAGS = --comments
SH_LOG_COMPILER = bash
AM_DEFAULT_SOURCE_EXT = .c
dist_check_SCRIPTS += tests/run-unit

# Read by quickstart and by .ci/run; the house's own tests.
EXTRA_DIST += .clang-format .clang-tidy .shellcheckrc \
	tests/allowed-skips tests/lsan.supp tests/results tests/house/common.bash \
	tests/house/distribution.sh
dist_check_SCRIPTS += $(FC_HOUSE) tests/mpi/sanitized-run.sh
TESTS += $(FC_HOUSE) tests/mpi/sanitized-run.sh
FC_HOUSE = \
	tests/house/headers.sh \
	tests/house/include-order.sh \
	tests/house/style.sh \
	tests/house/words.sh
# What a build with sanitizers runs.
FC_SANITIZED = $(FC_UNIT) tests/fleet/fuzz.sh tests/mpi/sanitized-run.sh

AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; \
	LSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/lsan.supp:print_suppressions=0'; \
	LOCPATH='$(abs_top_builddir)/tests/locale'; \
	export top_srcdir top_builddir LSAN_OPTIONS LOCPATH;

# A locale with decimal commas. Without the sources of locales the tests that want one skip.
check_DATA = tests/locale/de_DE.UTF-8
tests/locale/de_DE.UTF-8:
	@$(MKDIR_P) tests/locale
	-$(AM_V_GEN)localedef -i de_DE -f UTF-8 $@
clean-local:
	rm -rf tests/locale

FC_UNIT = \
	tests/unit/bench_table \
	tests/unit/blame \
	tests/unit/config \
	tests/unit/container \
	tests/unit/control \
	tests/unit/crew \
	tests/unit/device \
	tests/unit/device_probe \
	tests/unit/differ \
	tests/unit/facts \
	tests/unit/facts_cgroup \
	tests/unit/facts_load \
	tests/unit/facts_read \
	tests/unit/facts_setup \
	tests/unit/gemm_check \
	tests/unit/host_system \
	tests/unit/hostlist \
	tests/unit/journal \
	tests/unit/journal_parse \
	tests/unit/judge \
	tests/unit/judge_hostile \
	tests/unit/judge_hostile_fleet \
	tests/unit/judge_links \
	tests/unit/judge_pairs \
	tests/unit/launch \
	tests/unit/lists \
	tests/unit/metric \
	tests/unit/nccl_conf \
	tests/unit/option \
	tests/unit/option_help \
	tests/unit/path \
	tests/unit/pairs \
	tests/unit/pair_steps \
	tests/unit/peers \
	tests/unit/profile \
	tests/unit/rdma_choose \
	tests/unit/rdma_counters \
	tests/unit/rdma_endpoint \
	tests/unit/rdma_gid \
	tests/unit/rdma_json \
	tests/unit/rdma_matrix \
	tests/unit/rdma_none \
	tests/unit/report \
	tests/unit/rng \
	tests/unit/sampler \
	tests/unit/schedule \
	tests/unit/stats \
	tests/unit/suspects \
	tests/unit/switches \
	tests/unit/topo \
	tests/unit/topo_file \
	tests/unit/topo_fuzz \
	tests/unit/training \
	tests/unit/units \
	tests/unit/verify \
	tests/unit/watchdog \
	tests/unit/worker \
	tests/unit/worker_life \
	tests/unit/worker_parts \
	tests/unit/xids
if HAVE_VERBS
FC_UNIT += tests/unit/rdma_ports
endif
if HAVE_EFADV
FC_UNIT += tests/unit/rdma_lane tests/unit/rdma_transfer
if HAVE_RDMACM
FC_UNIT += tests/unit/rdma_cm
endif
endif

if HAVE_CMOCKA
check_PROGRAMS += $(FC_UNIT)
TESTS += $(FC_UNIT)
endif
LDADD = $(FC_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/mpi/tap.h tests/unit/device_rig.h tests/unit/facts_rig.h tests/unit/judge_help.h tests/unit/option_table.h tests/unit/rdma_build.h tests/unit/tree.h
# Journals and what the judge must say of them; make.py writes both.
EXTRA_DIST += tests/fixtures/container tests/fixtures/golden tests/fixtures/judge tests/fixtures/topo
EXTRA_DIST += tests/topo/judging.bash
tests_unit_worker_SOURCES = tests/unit/worker.c \
	tests/unit/worker_rig.c tests/unit/worker_rig.h tests/unit/worker_table.c
tests_unit_worker_life_SOURCES = tests/unit/worker_life.c \
	tests/unit/worker_rig.c tests/unit/worker_rig.h tests/unit/worker_table.c
tests_unit_journal_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=write
tests_unit_rdma_counters_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ioctl -Wl,--wrap=socket
tests_unit_rdma_matrix_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fc_rte_gather \
	-Wl,--wrap=fc_rte_agree -Wl,--wrap=fc_sink_add_line
tests_unit_rdma_none_SOURCES = tests/unit/rdma_none.c rdma/port_none.c
# libibverbs and efadv, whose answers the test makes.
tests_unit_rdma_ports_SOURCES = tests/unit/rdma_ports.c \
	tests/unit/rdma_lib.c tests/unit/rdma_lib.h
tests_unit_rdma_ports_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(EFADV_CFLAGS)
tests_unit_rdma_ports_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=ibv_get_device_list -Wl,--wrap=ibv_free_device_list \
	-Wl,--wrap=ibv_open_device -Wl,--wrap=ibv_close_device \
	-Wl,--wrap=ibv_query_device -Wl,--wrap=ibv_query_port \
	-Wl,--wrap=ibv_query_pkey -Wl,--wrap=_ibv_query_gid_table \
	-Wl,--wrap=ibv_alloc_pd -Wl,--wrap=ibv_dealloc_pd \
	-Wl,--wrap=ibv_reg_mr_iova2 -Wl,--wrap=ibv_dereg_mr \
	-Wl,--wrap=efadv_query_device
# The same, and a wire between both ends of each connection.
FC_WIRE = tests/unit/rdma_rig.h tests/unit/verbs_queues.c \
	tests/unit/verbs_wire.c tests/unit/verbs_wire.h tests/unit/verbs_wire_parts.h
FC_WIRE_CALLS = \
	-Wl,--wrap=ibv_get_device_list -Wl,--wrap=ibv_free_device_list \
	-Wl,--wrap=ibv_get_device_name \
	-Wl,--wrap=ibv_open_device -Wl,--wrap=ibv_close_device \
	-Wl,--wrap=ibv_query_device -Wl,--wrap=ibv_query_port \
	-Wl,--wrap=ibv_query_pkey -Wl,--wrap=_ibv_query_gid_ex \
	-Wl,--wrap=ibv_alloc_pd -Wl,--wrap=ibv_dealloc_pd \
	-Wl,--wrap=ibv_reg_mr_iova2 -Wl,--wrap=ibv_reg_dmabuf_mr \
	-Wl,--wrap=ibv_dereg_mr -Wl,--wrap=ibv_create_cq -Wl,--wrap=ibv_destroy_cq \
	-Wl,--wrap=ibv_create_qp -Wl,--wrap=ibv_modify_qp -Wl,--wrap=ibv_destroy_qp \
	-Wl,--wrap=ibv_create_ah -Wl,--wrap=ibv_destroy_ah -Wl,--wrap=ibv_qp_to_qp_ex \
	-Wl,--wrap=ibv_get_async_event -Wl,--wrap=ibv_ack_async_event \
	-Wl,--wrap=efadv_query_device -Wl,--wrap=efadv_create_qp_ex
tests_unit_rdma_cm_SOURCES = tests/unit/rdma_cm.c tests/unit/verbs_cm.c tests/unit/verbs_cm.h \
	$(FC_WIRE)
tests_unit_rdma_cm_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(EFADV_CFLAGS) $(RDMACM_CFLAGS)
tests_unit_rdma_cm_LDFLAGS = $(AM_LDFLAGS) $(FC_WIRE_CALLS) \
	-Wl,--wrap=rdma_create_event_channel -Wl,--wrap=rdma_destroy_event_channel \
	-Wl,--wrap=rdma_create_id -Wl,--wrap=rdma_destroy_id \
	-Wl,--wrap=rdma_bind_addr -Wl,--wrap=rdma_listen -Wl,--wrap=rdma_get_src_port \
	-Wl,--wrap=rdma_resolve_addr -Wl,--wrap=rdma_resolve_route \
	-Wl,--wrap=rdma_connect -Wl,--wrap=rdma_accept -Wl,--wrap=rdma_reject \
	-Wl,--wrap=rdma_establish -Wl,--wrap=rdma_get_cm_event \
	-Wl,--wrap=rdma_ack_cm_event -Wl,--wrap=rdma_init_qp_attr
tests_unit_rdma_lane_SOURCES = tests/unit/rdma_lane.c $(FC_WIRE)
tests_unit_rdma_lane_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(EFADV_CFLAGS)
tests_unit_rdma_lane_LDFLAGS = $(AM_LDFLAGS) $(FC_WIRE_CALLS)
tests_unit_rdma_transfer_SOURCES = tests/unit/rdma_transfer.c $(FC_WIRE)
tests_unit_rdma_transfer_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(EFADV_CFLAGS)
tests_unit_rdma_transfer_LDFLAGS = $(AM_LDFLAGS) $(FC_WIRE_CALLS)

# The program with faulty devices, and the tests that launch several ranks.
check_PROGRAMS += tests/double/fabricheck-double tests/mpi/collectives \
	tests/mpi/pairs_retest tests/mpi/rte tests/topo/hwloc_counts tests/topo/journal_of
tests_double_fabricheck_double_SOURCES = \
	tests/double/comm_double.c \
	tests/double/device_double.c tests/double/device_double.h \
	tests/double/fault.c tests/double/fault.h \
	tests/double/main.c
# The same with RDMA ports of its own making.
check_PROGRAMS += tests/double/fabricheck-rdma
tests_double_fabricheck_rdma_SOURCES = \
	tests/double/rdma_double.h tests/double/rdma_fault.c \
	tests/double/rdma_lanes.c tests/double/rdma_main.c tests/double/rdma_worker.c
tests_double_fabricheck_rdma_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=fc_rdma_present,--wrap=fc_transfer_open,--wrap=fc_transfer_connect \
	-Wl,--wrap=fc_transfer_measure,--wrap=fc_transfer_close \
	-Wl,--wrap=fc_transfer_events
FC_SHELL_TESTS = \
	tests/cli/bench.sh \
	tests/cli/judge.sh \
	tests/cli/luck.sh \
	tests/cli/setup.sh \
	tests/cli/usage.sh \
	tests/fleet/fleet.sh \
	tests/fleet/fuzz.sh \
	tests/mpi/collectives.sh \
	tests/mpi/faults.sh \
	tests/mpi/pairs.sh \
	tests/mpi/ranks.sh \
	tests/mpi/rdma.sh \
	tests/mpi/rte.sh \
	tests/mpi/shaped-link.sh \
	tests/mpi/switches.sh \
	tests/mpi/training.sh \
	tests/mpi/unlike.sh \
	tests/topo/corpus.sh \
	tests/topo/faults.sh \
	tests/topo/judged.sh \
	tests/topo/own.sh \
	tests/topo/traps.sh
dist_check_SCRIPTS += $(FC_SHELL_TESTS) tests/on-nodes tests/tap.sh
TESTS += $(FC_SHELL_TESTS)
# Labs, which "quickstart lab" runs: they take minutes and want a machine of their own.
FC_LABS = tests/lab/verbs-guest.sh tests/lab/vcluster.sh
dist_check_SCRIPTS += $(FC_LABS)
# The guest with RDMA ports (doc/labs.md): new cases of tests/lab/verbs-guest.sh are functions
# in a cases-*.sh.
dist_check_SCRIPTS += tests/lab/verbs-guest/boot tests/lab/verbs-guest/init \
	tests/lab/verbs-guest/on-ports \
	tests/lab/verbs-guest/prepare tests/lab/verbs-guest/rsh-agent
EXTRA_DIST += tests/lab/verbs-guest/cases-bench.sh tests/lab/verbs-guest/cases-lab.sh \
	tests/lab/verbs-guest/cases-matrix.sh tests/lab/verbs-guest/guest.sh \
	tests/lab/verbs-guest/inside.sh
# The virtual cluster (doc/labs.md): new cases of tests/lab/vcluster.sh are functions in a
# cases-*.sh.
dist_check_SCRIPTS += tests/lab/vcluster/head tests/lab/vcluster/node \
	tests/lab/vcluster/vcluster
EXTRA_DIST += tests/lab/vcluster/cases-faults.sh tests/lab/vcluster/cases-lab.sh \
	tests/lab/vcluster/cases-launch.sh tests/lab/vcluster/cases-slurm.sh \
	tests/lab/vcluster/cluster.sh tests/lab/vcluster/inside.sh
# The training step against plain arithmetic; started by tests/mpi/training.sh.
check_PROGRAMS += tests/mpi/training

# Simulated fleets: the generator links nothing of the product.
check_PROGRAMS += tests/fleet/fleet tests/fleet/fuzz tests/fleet/score
tests_fleet_fleet_SOURCES = tests/fleet/main.c \
	tests/fleet/dice.c tests/fleet/dice.h \
	tests/fleet/emit.c tests/fleet/emit_pairs.c tests/fleet/emit_work.c \
	tests/fleet/fleet.c tests/fleet/fleet.h tests/fleet/retest.c
tests_fleet_fleet_LDADD = -lm
tests_fleet_fuzz_SOURCES = tests/fleet/fuzz.c tests/fleet/dice.c tests/fleet/dice.h
tests_fleet_score_SOURCES = tests/fleet/score.c tests/fleet/truth.c tests/fleet/truth.h

# Built by the scripts of tests/bench when they run.
EXTRA_PROGRAMS = tests/bench/all_reduce tests/bench/host_gemm tests/bench/mpi_start \
	tests/bench/mpigraph tests/bench/pictures
tests_bench_all_reduce_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_mpigraph_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_mpi_start_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
CLEANFILES += $(EXTRA_PROGRAMS)
EXTRA_DIST += tests/bench/collectives.sh tests/bench/host.sh tests/bench/judge.sh tests/bench/topo.sh tests/bench/verbs.sh
