# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += topology/libtopology.a
topology_libtopology_a_SOURCES = \
	topology/facts.c topology/facts.h \
	topology/facts_cgroup.c \
	topology/facts_host.c \
	topology/facts_io.c \
	topology/facts_load.c topology/facts_load.h \
	topology/facts_parts.h \
	topology/facts_rank.c \
	topology/facts_read.c topology/facts_read.h \
	topology/facts_virt.c \
	topology/probe_config.c topology/probe_config.h
FC_LIBS += topology/libtopology.a
