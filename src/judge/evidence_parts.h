// SPDX-License-Identifier: BSD-3-Clause
/* What evidence.c and its parsers share; nobody else includes it. */
#ifndef FC_JUDGE_EVIDENCE_PARTS_H
#define FC_JUDGE_EVIDENCE_PARTS_H

#include "judge/evidence.h"

/* Lines of one type, in canonical order, without repeats. */
struct fc_ev_bag {
    json_t **line; /* borrowed */
    size_t count, room;
};

enum fc_ev_type {
    FC_EV_RUN,
    FC_EV_PLAN,
    FC_EV_PROFILE,
    FC_EV_NODE,
    FC_EV_FACT,
    FC_EV_PHASE,
    FC_EV_RECORD,
    FC_EV_MATRIX,
    FC_EV_EVENT,
    FC_EV_END,
    FC_EV_TYPES
};

/* FC_NONE for NULL and for names that may be no node's. */
size_t fc_ev_node_index(const struct fc_evidence *ev, const char *name);
/* Not empty and no longer than a host name can be. */
bool fc_ev_name_ok(const char *name);

enum fc_status fc_ev_read_records(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                  struct fc_error *err) FC_MUST_USE;
enum fc_status fc_ev_read_matrix(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                 struct fc_error *err) FC_MUST_USE;
/* Makes what depends on all pairs: ways, rails, leaves. False without memory. */
bool fc_ev_sort_ways(struct fc_evidence *ev) FC_MUST_USE;
enum fc_status fc_ev_read_plans(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                struct fc_error *err) FC_MUST_USE;
enum fc_status fc_ev_read_phases(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                 struct fc_error *err) FC_MUST_USE;
enum fc_status fc_ev_read_facts(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                struct fc_error *err) FC_MUST_USE;
enum fc_status fc_ev_read_events(struct fc_evidence *ev, const struct fc_ev_bag *bag,
                                 struct fc_error *err) FC_MUST_USE;

#endif
