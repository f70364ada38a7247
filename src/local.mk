# SPDX-License-Identifier: BSD-3-Clause
# The program: commands and the runner, as a library so that tests can wrap its devices.
noinst_LIBRARIES += src/libcli.a
src_libcli_a_SOURCES = \
	src/bench.c src/bench.h \
	src/bench_collective.c \
	src/bench_device.c \
	src/bench_options.c src/bench_options.h \
	src/bench_pairs.c \
	src/bench_table.c src/bench_table.h \
	src/bench_training.c \
	src/bench_verbs.c src/bench_verbs.h \
	src/bench_verbs_options.c \
	src/cli.c src/cli.h \
	src/cmd_bench.c \
	src/cmd_facts.c \
	src/cmd_judge.c \
	src/cmd_list.c \
	src/cmd_report.c \
	src/cmd_run.c \
	src/cmd_topo.c \
	src/cmd_worker.c \
	src/commands.h \
	src/finish.c src/finish.h \
	src/focus.c src/focus.h \
	src/leaves.c src/leaves.h \
	src/load.c src/load.h \
	src/probes.c src/probes.h \
	src/rejudge.c src/rejudge.h \
	src/run_options.c src/run_options.h \
	src/runner.c src/runner.h \
	src/session.c src/session.h
bin_PROGRAMS += fabricheck
fabricheck_SOURCES = src/main.c
fabricheck_LDADD = $(FC_LIBS)
FC_LIBS += src/libcli.a
