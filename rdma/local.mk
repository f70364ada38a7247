# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += rdma/librdma.a
rdma_librdma_a_SOURCES = \
	rdma/choose.c rdma/choose.h \
	rdma/choose_gid.c \
	rdma/choose_wish.c \
	rdma/commands.h \
	rdma/counter_names.def \
	rdma/counters.c rdma/counters.h \
	rdma/counters_prove.c \
	rdma/ethtool.c rdma/ethtool.h \
	rdma/port.c rdma/port.h \
	rdma/port_json.c \
	rdma/port_parts.h \
	rdma/port_sys.c \
	rdma/transfer.h
# Calls of libibverbs; without it, one file that says so.
if HAVE_VERBS
rdma_librdma_a_SOURCES += rdma/port_attr.c rdma/port_attr.h rdma/port_verbs.c
else
rdma_librdma_a_SOURCES += rdma/port_none.c
endif
rdma_librdma_a_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS) $(EFADV_CFLAGS)
FC_LIBS += rdma/librdma.a
