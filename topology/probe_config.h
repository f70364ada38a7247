// SPDX-License-Identifier: BSD-3-Clause
/* The config probe and its worker's command. */
#ifndef FC_TOPOLOGY_PROBE_CONFIG_H
#define FC_TOPOLOGY_PROBE_CONFIG_H

#include "core/run.h"
#include "core/worker.h"

extern const struct fc_probe fc_probe_config;

/* "facts": {"what": "node" or "load", "root": "", "pids": […], "window_ns": n} emits
 * lines {"facts": {key: value}, "unreadable": {key: {"reason", "right"}}}, one for each
 * group of facts, so that a hang loses only what follows it. No reply. */
extern const struct fc_worker_command fc_facts_command;

#endif
