// SPDX-License-Identifier: BSD-3-Clause
/* What the rules about how nodes are set up share: looking things up among a node's
 * facts, and one finding for all nodes that have the same trouble. Collective: no.
 * Refuses to know: which settings are good. */
#ifndef FC_JUDGE_SETUP_H
#define FC_JUDGE_SETUP_H

#include "judge/rules.h"

/* The array or object `key` among the node's own facts, borrowed; NULL: none. */
const json_t *fc_setup_array(const struct fc_evidence *ev, size_t node,
                             const char *key);
const json_t *fc_setup_object(const struct fc_evidence *ev, size_t node,
                              const char *key);
/* A text among the node's own facts, borrowed; "": none. */
const char *fc_setup_text(const struct fc_evidence *ev, size_t node, const char *key);
/* A member's text, borrowed; "": none. */
const char *fc_setup_member(const json_t *object, const char *key);

/* Whether a port of a verbs device belongs to the node's fabric. */
bool fc_setup_has_verbs(const struct fc_evidence *ev, size_t node);
/* GPUs whose IOMMU group's type begins with `iommu` ("": any). */
size_t fc_setup_gpus(const struct fc_evidence *ev, size_t node, const char *iommu);
/* Whether a GPU or NIC of the fabric has this "vendor:device", or begins with it. */
bool fc_setup_has_function(const struct fc_evidence *ev, size_t node, const char *what,
                           const char *id);

/* The word NAME=value of `name` in words that blanks part, borrowed; NULL: none. */
const char *fc_setup_word(const char *words, const char *name);
/* What NCCL takes a variable to be: the environment `rank` (facts of a rank; NULL: an
 * empty one), then ~/.nccl.conf or NCCL_CONF_FILE, then /etc/nccl.conf. The value,
 * which ends at a blank, borrowed; NULL: it is set nowhere. *out_from: where. */
const char *fc_setup_nccl(const struct fc_evidence *ev, size_t node, const json_t *rank,
                          const char *name, const char **out_from);

enum fc_setup_level { FC_SETUP_FINE, FC_SETUP_INFO, FC_SETUP_WARN };
struct fc_setup_why {
    char s[200]; /* the trouble in this node's numbers; "": nothing to add */
};
typedef enum fc_setup_level (*fc_setup_fn)(const struct fc_case *c, size_t node,
                                           struct fc_setup_why *why);
/* One finding for all nodes of which `is_so` says WARN and one for those of INFO, as
 * `base` and "`what`: n[1-3] (n1: why)", of one node "`what`: why"; severity and nodes
 * are set here. */
void fc_setup_report(const struct fc_case *c, const struct fc_finding *base,
                     fc_setup_fn is_so, const char *what);

#endif
