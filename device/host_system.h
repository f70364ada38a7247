// SPDX-License-Identifier: BSD-3-Clause
/* What Linux says of this machine's cores, caches and memory, as the host device needs
 * it. `sysroot` is "" or the folder of a captured /sys and /proc. Collective: no.
 * Refuses to know: the whole machine's picture (topology's), ranks.
 */
#ifndef FC_DEVICE_HOST_SYSTEM_H
#define FC_DEVICE_HOST_SYSTEM_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* Of the PUs in `mask`, the lowest of each core: all of `mask` where the siblings
 * cannot be read. */
void fc_host_cores(const char *sysroot, const cpu_set_t *mask, cpu_set_t *out);

/* Part `share` of `shares` of the cores: contiguous, disjoint and covering while there
 * are as many cores as shares; else one core, taken in turn. An empty `cores` stays so.
 */
void fc_host_share(const cpu_set_t *cores, int share, int shares, cpu_set_t *out);

/* Bytes of the last-level caches that these cores reach, each counted once; 0 when
 * unreadable. */
uint64_t fc_host_cache_bytes(const char *sysroot, const cpu_set_t *cores);

/* Cores of the machine that are online; 0 when unreadable. */
int fc_host_machine_cores(const char *sysroot);

/* Bytes that a user of `cores` of the machine's `all` cores may fairly allocate now:
 * its part of what is available, at most what the control group leaves. 0 when
 * unreadable, 1 for none. */
uint64_t fc_host_memory_bytes(const char *sysroot, int cores, int all);

/* "AMD EPYC 7763 64-Core Processor", or the machine's type where /proc/cpuinfo has no
 * name. */
void fc_host_cpu_name(const char *sysroot, char *out, size_t out_bytes);

#endif
