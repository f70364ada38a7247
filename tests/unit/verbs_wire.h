// SPDX-License-Identifier: BSD-3-Clause
/* A double of libibverbs and efadv in which both ends of each connection live in this
 * process: requests move bytes at once, receives are matched, completions are queued.
 * It holds callers to the rules (states, keys, ranges, depths, what SRD may do) and
 * fails calls, loses, damages and refuses as it is told. Link with
 * tests/unit/verbs_wire.mk's list of wrapped calls. */
#ifndef FC_TESTS_UNIT_VERBS_WIRE_H
#define FC_TESTS_UNIT_VERBS_WIRE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_DEVICES = 3 };

struct wire_device {
    const char *name;
    bool efa;
    uint8_t layer;
    enum ibv_port_state state;
    enum ibv_mtu mtu;
    uint16_t lid, pkey;
    uint32_t gid_type;
    uint8_t gid[16];
};

struct wire {
    struct wire_device device[WIRE_DEVICES];
    int devices; /* listed; -1: the list fails */
    int list_errno;
    /* The n-th call (from 1) of that name fails so. */
    const char *fail;
    int fail_at, fail_errno;
    /* Data messages (not on a connection's first queue pair), counted from 1; 0: none.
     * */
    uint64_t messages;
    uint64_t damage_at, drop_at, fail_message_at, silent_from;
    enum ibv_wc_status fail_status;
    bool dmabuf_fails, pointer_fails;
    bool yields; /* an empty poll lets the other end's thread run */
    int max_inline, srd_caps, max_cqe, reg_errno;
    /* What is open, for tests to see that all is closed. */
    int contexts, pds, mrs, cqs, qps, ahs, lists;
    bool broken; /* a rule was broken; said on stderr */
    int event;   /* one asynchronous event to be had; -1: none */
};
extern struct wire wire;

/* Healthy: "wire0" and "wire1" (RoCE), "efa0" (EFA). */
void wire_reset(void);
bool wire_all_closed(void);

#endif
