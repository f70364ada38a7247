// SPDX-License-Identifier: BSD-3-Clause
/* The groups of a node's facts, each in the file that its comment names; facts_host.c
 * runs them in turn. Each reads its part of facts.def's keys and leaves a gap for what
 * it cannot read. Collective: no. */
#ifndef FC_TOPOLOGY_FACTS_PARTS_H
#define FC_TOPOLOGY_FACTS_PARTS_H

#include "topology/facts.h"

/* facts_host.c: host, os, kernel, cpu, numa, mem, shm, tmp. */
void fc_facts_kernel(const struct fc_source *source, struct fc_facts *out);
void fc_facts_cpu(const struct fc_source *source, struct fc_facts *out);
void fc_facts_topology(const struct fc_source *source, struct fc_facts *out);
void fc_facts_memory(const struct fc_source *source, struct fc_facts *out);
void fc_facts_space(const struct fc_source *source, struct fc_facts *out);

/* facts_virt.c: virt, dmi. */
void fc_facts_virt(const struct fc_source *source, struct fc_facts *out);
/* facts_container.c: of virt, the container and how GPUs came into it. */
void fc_facts_container(const struct fc_source *source, struct fc_facts *out);
/* facts_cgroup.c: cgroup. */
void fc_facts_cgroup(const struct fc_source *source, struct fc_facts *out);
/* facts_pages.c: huge pages, contiguous memory. */
void fc_facts_pages(const struct fc_source *source, struct fc_facts *out);
/* facts_verbs.c: what programs need of RDMA devices. */
void fc_facts_verbs(const struct fc_source *source, struct fc_facts *out);
/* facts_gpudirect.c: what RDMA devices need of GPUs. */
void fc_facts_gpudirect(const struct fc_source *source, struct fc_facts *out);
/* facts_nccl.c: NCCL's files of variables. */
void fc_facts_nccl(const struct fc_source *source, struct fc_facts *out);
/* facts_addresses.c: interfaces' addresses. */
void fc_facts_addresses(const struct fc_source *source, struct fc_facts *out);
struct ifaddrs;
/* The fact's value, of a list as getifaddrs gives it; NULL: out of memory. */
json_t *fc_addresses_json(const struct ifaddrs *list);

/* facts_io.c: gpu, rdma, net. */
void fc_facts_gpu(const struct fc_source *source, struct fc_facts *out);
void fc_facts_rdma(const struct fc_source *source, struct fc_facts *out);
void fc_facts_net(const struct fc_source *source, struct fc_facts *out);

/* facts_topo.c: topo. */
void fc_facts_picture(const struct fc_source *source, struct fc_facts *out);
/* The same facts of a picture that was read elsewhere. */
struct fc_topo;
void fc_facts_of_picture(const struct fc_topo *topo, struct fc_facts *out);
/* facts_topo_file.c: nccl.topo_file. */
void fc_facts_topo_file(const struct fc_source *source, struct fc_facts *out);

/* facts_root.c: root, from the file that `fabricheck facts` wrote. */
void fc_facts_privileged(const struct fc_source *source, struct fc_facts *out);

#endif
