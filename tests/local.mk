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
	tests/unit/control \
	tests/unit/crew \
	tests/unit/device \
	tests/unit/device_probe \
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
	tests/unit/option \
	tests/unit/option_help \
	tests/unit/path \
	tests/unit/pairs \
	tests/unit/pairs_steps \
	tests/unit/peers \
	tests/unit/profile \
	tests/unit/report \
	tests/unit/rng \
	tests/unit/sampler \
	tests/unit/schedule \
	tests/unit/stats \
	tests/unit/suspects \
	tests/unit/switches \
	tests/unit/topo \
	tests/unit/topo_fuzz \
	tests/unit/training \
	tests/unit/units \
	tests/unit/verify \
	tests/unit/watchdog \
	tests/unit/worker \
	tests/unit/worker_life \
	tests/unit/worker_parts

if HAVE_CMOCKA
check_PROGRAMS += $(FC_UNIT)
TESTS += $(FC_UNIT)
endif
LDADD = $(FC_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/mpi/tap.h tests/unit/device_rig.h tests/unit/judge_help.h tests/unit/option_table.h tests/unit/tree.h
# Journals and what the judge must say of them; make.py writes both.
EXTRA_DIST += tests/fixtures/golden tests/fixtures/judge tests/fixtures/topo
tests_unit_worker_SOURCES = tests/unit/worker.c \
	tests/unit/worker_rig.c tests/unit/worker_rig.h tests/unit/worker_table.c
tests_unit_worker_life_SOURCES = tests/unit/worker_life.c \
	tests/unit/worker_rig.c tests/unit/worker_rig.h tests/unit/worker_table.c
tests_unit_journal_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=write

# The program with faulty devices, and the tests that launch several ranks.
check_PROGRAMS += tests/double/fabricheck-double tests/mpi/collectives \
	tests/mpi/pairs_retest tests/mpi/rte tests/topo/hwloc_counts
tests_double_fabricheck_double_SOURCES = \
	tests/double/comm_double.c \
	tests/double/device_double.c tests/double/device_double.h \
	tests/double/fault.c tests/double/fault.h \
	tests/double/main.c
FC_SHELL_TESTS = \
	tests/cli/bench.sh \
	tests/cli/judge.sh \
	tests/cli/luck.sh \
	tests/cli/setup.sh \
	tests/cli/usage.sh \
	tests/fleet/fleet.sh \
	tests/fleet/fuzz.sh \
	tests/lab/vcluster.sh \
	tests/mpi/collectives.sh \
	tests/mpi/faults.sh \
	tests/mpi/pairs.sh \
	tests/mpi/ranks.sh \
	tests/mpi/rte.sh \
	tests/mpi/shaped-link.sh \
	tests/mpi/switches.sh \
	tests/mpi/training.sh \
	tests/topo/corpus.sh \
	tests/topo/own.sh
dist_check_SCRIPTS += $(FC_SHELL_TESTS) tests/on-nodes tests/tap.sh
TESTS += $(FC_SHELL_TESTS)
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
	tests/bench/mpigraph
tests_bench_all_reduce_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_mpigraph_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_bench_mpi_start_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
CLEANFILES += $(EXTRA_PROGRAMS)
EXTRA_DIST += tests/bench/collectives.sh tests/bench/host.sh tests/bench/judge.sh tests/bench/topo.sh
