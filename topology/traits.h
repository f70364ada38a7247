// SPDX-License-Identifier: BSD-3-Clause
/* A picture as a flat list of what can be compared between nodes, each with a name that
 * the same thing has on its equals. Collective: no. Refuses to know: other pictures.
 */
#ifndef FC_TOPOLOGY_TRAITS_H
#define FC_TOPOLOGY_TRAITS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* In the order in which people want to hear of them. */
enum fc_trait_kind {
    FC_TRAIT_COUNT,
    FC_TRAIT_GPU,
    FC_TRAIT_NIC,
    FC_TRAIT_NUMA,
    FC_TRAIT_NODE, /* of the node itself: its product, hypervisor, container */
    FC_TRAIT_PAIR, /* how near a GPU is to a GPU or a NIC of the fabric */
    FC_TRAIT_FACT,
};

/* All "" where it does not apply; a part without `what` says that it is there. */
struct fc_trait {
    enum fc_trait_kind kind;
    char part[64], what[40], value[104];
    char shown[96]; /* how people call the part */
};

struct fc_traits {
    struct fc_trait *trait; /* in no order */
    size_t count, room;
    bool short_of_memory;
};

/* Of {"facts", "topology"}; what is not of the form of a picture is left out. A device
 * that stands elsewhere in the picture `usual` (may be NULL) gets the name it has
 * there. Freed by fc_traits_free. Collective: no. */
struct fc_traits fc_traits_read(const json_t *picture, const json_t *usual);
void fc_traits_free(struct fc_traits *traits);
/* "GPU", "NIC", "NUMA node", else ""; static. Collective: no. */
const char *fc_trait_word(enum fc_trait_kind kind);

#endif
