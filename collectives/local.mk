# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += collectives/libcollectives.a
collectives_libcollectives_a_SOURCES = \
	collectives/busbw.c collectives/busbw.h \
	collectives/coll.c collectives/comm.h \
	collectives/coll_records.c collectives/coll_records.h \
	collectives/comm_mpi.c \
	collectives/comm_node_mpi.c \
	collectives/comm_self.c \
	collectives/pairs.c collectives/pairs.h \
	collectives/pairs_plan.c collectives/pairs_plan.h \
	collectives/pairs_rank.c collectives/pairs_rank.h \
	collectives/pairs_report.c collectives/pairs_report.h \
	collectives/parts_mpi.h collectives/types_mpi.c \
	collectives/path.c collectives/path.h \
	collectives/plan.c collectives/plan.h \
	collectives/probe_collectives.c collectives/probe_collectives.h \
	collectives/probe_pairs.c collectives/probe_pairs.h \
	collectives/reduce.c collectives/reduce.h \
	collectives/sweep.c collectives/sweep.h \
	collectives/verify.c collectives/verify.h
collectives_libcollectives_a_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
FC_LIBS += collectives/libcollectives.a
