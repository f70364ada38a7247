# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += src/core/libcore.a
src_core_libcore_a_SOURCES = \
	src/core/clock.c src/core/clock.h \
	src/core/commit.c \
	src/core/control.c src/core/control.h \
	src/core/dtype.c src/core/dtype.h \
	src/core/facts.def \
	src/core/hostlist.c src/core/hostlist.h \
	src/core/journal.c src/core/journal.h \
	src/core/journal_parse.c src/core/journal_parse.h \
	src/core/journal_read.c \
	src/core/launch.c src/core/launch.h \
	src/core/leave.c src/core/leave.h \
	src/core/loaded.c src/core/loaded.h \
	src/core/log.c src/core/log.h \
	src/core/matrix.c src/core/matrix.h \
	src/core/metric.c src/core/metric.h src/core/metrics.def \
	src/core/nccl_conf.c src/core/nccl_conf.h \
	src/core/option.c src/core/option.h \
	src/core/pair_steps.c src/core/pair_steps.h \
	src/core/option_help.c \
	src/core/option_internal.h \
	src/core/option_parse.c \
	src/core/record.c src/core/record.h \
	src/core/rng.c src/core/rng.h \
	src/core/rte.c src/core/rte.h \
	src/core/rte_mpi.c src/core/rte_self.c \
	src/core/run.h \
	src/core/sampler.c src/core/sampler.h \
	src/core/schedule.c src/core/schedule.h \
	src/core/sink.c src/core/sink.h \
	src/core/spawner.c src/core/spawner.h \
	src/core/spawner_serve.c \
	src/core/stats.c src/core/stats.h \
	src/core/status.c src/core/status.h \
	src/core/units.c src/core/units.h \
	src/core/watchdog.c src/core/watchdog.h \
	src/core/worker.c src/core/worker.h \
	src/core/worker_call.c \
	src/core/worker_frame.c src/core/worker_frame.h \
	src/core/worker_main.c \
	src/core/worker_note.c src/core/worker_note.h \
	src/core/worker_rank.h \
	src/core/worker_why.c src/core/worker_why.h
src_core_libcore_a_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
FC_LIBS += src/core/libcore.a
