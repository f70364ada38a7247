// SPDX-License-Identifier: BSD-3-Clause
/* Addresses by which other nodes might reach this one: those of interfaces that are up,
 * but for loopback and for addresses that hold on one link only. The kernel is asked
 * for them, so that a folder that stands for "/" has none. */
#include "topology/facts_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { ADDRESSES_MAX = 128 };

struct address {
    int family;
    unsigned char byte[16], mask[16];
    size_t bytes;
};

/* False for another family than IP. */
static bool read_address(const struct ifaddrs *one, struct address *out)
{
    *out = (struct address){.family = AF_UNSPEC};
    if (!one->ifa_addr || !one->ifa_netmask)
        return false;
    out->family = one->ifa_addr->sa_family;
    if (out->family == AF_INET) {
        struct sockaddr_in address, mask;
        memcpy(&address, one->ifa_addr, sizeof address);
        memcpy(&mask, one->ifa_netmask, sizeof mask);
        out->bytes = 4;
        memcpy(out->byte, &address.sin_addr, 4);
        memcpy(out->mask, &mask.sin_addr, 4);
    } else if (out->family == AF_INET6) {
        struct sockaddr_in6 address, mask;
        memcpy(&address, one->ifa_addr, sizeof address);
        memcpy(&mask, one->ifa_netmask, sizeof mask);
        out->bytes = 16;
        memcpy(out->byte, &address.sin6_addr, 16);
        memcpy(out->mask, &mask.sin6_addr, 16);
    }
    return out->bytes > 0;
}

/* 127/8 and ::1; 169.254/16 and fe80::/10; nothing at all. */
static bool is_local(const struct address *a)
{
    static const unsigned char none[16], last[16] = {[15] = 1};
    if (memcmp(a->byte, none, a->bytes) == 0)
        return true;
    if (a->family == AF_INET)
        return a->byte[0] == 127 || (a->byte[0] == 169 && a->byte[1] == 254);
    return memcmp(a->byte, last, 16) == 0 ||
           (a->byte[0] == 0xfe && (a->byte[1] & 0xc0) == 0x80);
}

static int prefix_of(const struct address *a)
{
    int bits = 0;
    for (size_t i = 0; i < a->bytes; i++)
        bits += __builtin_popcount(a->mask[i]);
    return bits;
}

json_t *fc_addresses_json(const struct ifaddrs *list)
{
    json_t *all = json_array();
    for (; list && json_array_size(all) < ADDRESSES_MAX; list = list->ifa_next) {
        struct address a;
        char text[INET6_ADDRSTRLEN];
        if (!(list->ifa_flags & IFF_UP) || (list->ifa_flags & IFF_LOOPBACK) ||
            !read_address(list, &a) || is_local(&a) ||
            !inet_ntop(a.family, a.byte, text, sizeof text))
            continue;
        json_t *one =
            json_pack("{s:o, s:s, s:i}", "name", fc_facts_string(list->ifa_name),
                      "address", text, "prefix", prefix_of(&a));
        if (json_array_append_new(all, one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

void fc_facts_addresses(const struct fc_source *source, struct fc_facts *out)
{
    struct ifaddrs *list = NULL;
    struct fc_gap gap;
    if (source->root[0]) {
        fc_gap_set(&gap, "unsupported",
                   "no right helps: addresses are the kernel's, not in files");
        fc_facts_gap(out, "net.addresses", &gap);
        return;
    }
    if (source->note)
        source->note(source->arg, "getifaddrs");
    if (getifaddrs(&list) != 0) {
        fc_gap_set(&gap, "error", "no right helps: getifaddrs: %s", strerror(errno));
        fc_facts_gap(out, "net.addresses", &gap);
        return;
    }
    fc_facts_set(out, "net.addresses", fc_addresses_json(list));
    freeifaddrs(list);
}
