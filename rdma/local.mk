# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += rdma/librdma.a
rdma_librdma_a_SOURCES = \
	rdma/effort.c rdma/effort.h \
	rdma/observe.c rdma/observe.h \
	rdma/probe_rdma.c rdma/probe_rdma.h \
	rdma/report.c rdma/report.h \
	rdma/seats.c rdma/seats.h \
	rdma/step.c rdma/step.h \
	rdma/step_counters.c rdma/step_counters.h \
	rdma/step_events.c rdma/step_events.h \
	rdma/choose.c rdma/choose.h \
	rdma/choose_gid.c \
	rdma/choose_wish.c \
	rdma/commands.h \
	rdma/counter_names.def \
	rdma/counters.c rdma/counters.h \
	rdma/counters_prove.c \
	rdma/endpoint.c rdma/endpoint.h \
	rdma/ethtool.c rdma/ethtool.h \
	rdma/memory.c rdma/memory.h \
	rdma/pattern.c rdma/pattern.h \
	rdma/port.c rdma/port.h \
	rdma/port_json.c \
	rdma/port_parts.h \
	rdma/port_sys.c \
	rdma/transfer.c rdma/transfer.h \
	rdma/transfer_json.c rdma/transfer_json.h
# Calls of libibverbs; without it, one file that says so.
if HAVE_VERBS
rdma_librdma_a_SOURCES += rdma/port_attr.c rdma/port_attr.h rdma/port_verbs.c \
	rdma/commands.c \
	rdma/flow.c rdma/flow.h \
	rdma/hca.c rdma/hca.h \
	rdma/lane.c rdma/lane.h \
	rdma/lane_post.c \
	rdma/measure.c rdma/measure.h \
	rdma/ping.c rdma/ping.h \
	rdma/region.c \
	rdma/register.c rdma/register.h \
	rdma/side.c rdma/side.h \
	rdma/ticks.h \
	rdma/transport_rc.c \
	rdma/words.c rdma/words.h
else
rdma_librdma_a_SOURCES += rdma/commands_none.c rdma/port_none.c
endif
if HAVE_RDMACM
rdma_librdma_a_SOURCES += rdma/lane_cm.c rdma/lane_cm.h
else
if HAVE_VERBS
rdma_librdma_a_SOURCES += rdma/lane_cm_none.c
endif
endif
if HAVE_EFADV
rdma_librdma_a_SOURCES += rdma/transport_srd.c
endif
rdma_librdma_a_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS) $(EFADV_CFLAGS)
FC_LIBS += rdma/librdma.a
