// SPDX-License-Identifier: BSD-3-Clause
/* The GID that NCCL would use.
 *
 * On InfiniBand it is entry 0, unless the entry for routing between subnets carries a
 * routable identifier. On RoCE, without NCCL_IB_GID_INDEX, NCCL walks the table with
 * entry 0 in hand and changes to a later one of the wanted family and range when the
 * one in hand is of the other family; or when the later one has a real address (neither
 * empty nor link-local) and the wanted RoCE version, and the one in hand another
 * version or no real address. Empty entries count as IPv6. Where nothing fits, entry 0
 * stays, which is how a link-local RoCE v1 address comes to be used.
 */
#include "rdma/choose.h"

#include <string.h>

/* One entry of the table as the rule sees it. */
struct view {
    enum fc_rdma_family family;
    bool real;     /* configured, and not link-local */
    bool in_range; /* of NCCL_IB_ADDR_RANGE */
    int version;   /* of RoCE; 0: no entry */
};

/* Whether the first `bits` of two GIDs are equal; 0: always, -1: never. */
static bool same_prefix(const uint8_t *a, const uint8_t *b, int bits)
{
    if (bits < 0)
        return false;
    size_t whole = (size_t)bits / 8;
    unsigned rest = (unsigned)bits % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    return rest == 0 || ((a[whole] ^ b[whole]) & (0xff00u >> rest) & 0xff) == 0;
}

static struct view view_of(const struct fc_rdma_port *port,
                           const struct fc_rdma_wish *wish, int index)
{
    static const uint8_t nothing[16] = {0}, mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t mapped_multicast[12] = {0xff, 0x0e, [10] = 0xff, [11] = 0xff};
    const struct fc_rdma_gid *gid = fc_rdma_gid_at(port, index);
    const uint8_t *raw = gid ? gid->raw : nothing;
    /* fe80::/64: an address of the link, or with nothing after it not even that */
    bool link_local =
        raw[0] == 0xfe && raw[1] == 0x80 && memcmp(raw + 2, nothing, 6) == 0;
    bool ipv4 = memcmp(raw, mapped, sizeof mapped) == 0 ||
                memcmp(raw, mapped_multicast, sizeof mapped_multicast) == 0;
    /* An IPv4 range is compared with the last four bytes alone. */
    bool v4_range = wish->family == FC_RDMA_IPV4 && wish->range_bits > 96;
    return (struct view){
        .family = ipv4 ? FC_RDMA_IPV4 : FC_RDMA_IPV6,
        .real = memcmp(raw, nothing, sizeof nothing) != 0 && !link_local,
        .in_range = v4_range
                        ? same_prefix(raw + 12, wish->range + 12, wish->range_bits - 96)
                        : same_prefix(raw, wish->range, wish->range_bits),
        .version = !gid                               ? 0
                   : gid->kind == FC_RDMA_GID_ROCE_V2 ? 2
                                                      : 1};
}

static bool is_better(const struct view *best, const struct view *next,
                      const struct fc_rdma_wish *wish)
{
    if (next->family != wish->family || !next->in_range)
        return false;
    if (best->family != next->family)
        return true;
    return next->real && next->version == wish->roce_version &&
           (best->version != next->version || !best->real);
}

static int choose_roce(const struct fc_rdma_port *port, const struct fc_rdma_wish *wish)
{
    int best = 0, slots = port->gid_slots;
    struct view in_hand = view_of(port, wish, 0);
    if (slots < 0) /* not told: up to the last that is there */
        for (size_t i = 0; i < port->gids; i++)
            if (port->gid[i].index >= slots)
                slots = port->gid[i].index + 1;
    for (int i = 1; i < slots; i++) {
        struct view next = view_of(port, wish, i);
        if (!is_better(&in_hand, &next, wish))
            continue;
        best = i;
        in_hand = next;
    }
    return best;
}

int fc_rdma_gid_choose(const struct fc_rdma_port *port, const struct fc_rdma_wish *wish)
{
    if (port->wire == FC_RDMA_IB) {
        const struct fc_rdma_gid *gid = fc_rdma_gid_at(port, wish->routable_gid_index);
        bool routable = gid && (gid->raw[4] || gid->raw[5]);
        return routable ? wish->routable_gid_index : 0;
    }
    if (port->wire != FC_RDMA_ROCE)
        return 0;
    return wish->gid_index >= 0 ? wish->gid_index : choose_roce(port, wish);
}
