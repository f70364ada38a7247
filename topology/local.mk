# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += topology/libtopology.a
topology_libtopology_a_SOURCES = \
	topology/cpuset.c topology/cpuset.h \
	topology/differ.c topology/differ.h \
	topology/facts.c topology/facts.h \
	topology/facts_addresses.c \
	topology/facts_cgroup.c \
	topology/facts_gpudirect.c \
	topology/facts_container.c \
	topology/facts_host.c \
	topology/facts_io.c \
	topology/facts_kmsg.c \
	topology/facts_load.c topology/facts_load.h \
	topology/facts_nccl.c \
	topology/facts_pages.c \
	topology/facts_parts.h \
	topology/facts_rank.c \
	topology/facts_read.c topology/facts_read.h \
	topology/facts_root.c topology/facts_root.h \
	topology/facts_topo.c \
	topology/facts_topo_file.c \
	topology/facts_verbs.c \
	topology/facts_virt.c \
	topology/limits.c topology/limits.h \
	topology/model.c topology/model.h \
	topology/model_open.c \
	topology/model_parts.h \
	topology/print.c topology/print.h \
	topology/print_json.c \
	topology/print_matrix.c \
	topology/print_svg.c \
	topology/print_text.c \
	topology/print_xml.c \
	topology/probe_config.c topology/probe_config.h \
	topology/rails.c \
	topology/read_hwloc.c \
	topology/read_nccl.c \
	topology/read_own.c \
	topology/read_xml.h \
	topology/read_sys.c \
	topology/read_sys_cpu.c \
	topology/read_sys_nic.c \
	topology/relate.c \
	topology/svg_layout.c topology/svg_layout.h \
	topology/switches.c topology/switches.h \
	topology/switches_ib.c \
	topology/switches_parts.h \
	topology/switches_slurm.c \
	topology/tier.c topology/tier.h \
	topology/traits.c topology/traits.h \
	topology/tree.c topology/tree.h
FC_LIBS += topology/libtopology.a
