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

/* facts_io.c: gpu, rdma, net. */
void fc_facts_gpu(const struct fc_source *source, struct fc_facts *out);
void fc_facts_rdma(const struct fc_source *source, struct fc_facts *out);
void fc_facts_net(const struct fc_source *source, struct fc_facts *out);

/* facts_topo.c: topo. */
void fc_facts_picture(const struct fc_source *source, struct fc_facts *out);

/* facts_root.c: root, from the file that `fabricheck facts` wrote. */
void fc_facts_privileged(const struct fc_source *source, struct fc_facts *out);

#endif
