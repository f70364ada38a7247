// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/endpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GID_DIGITS = 32, PKEY_BASE = 0x7fff, PKEY_FULL = 0x8000 };

struct hex {
    char text[40];
};

static struct hex hex_of(const uint8_t gid[16])
{
    struct hex hex;
    for (int i = 0; i < GID_DIGITS / 2; i++)
        snprintf(hex.text + 2 * i, 3, "%02x", gid[i]);
    return hex;
}

static bool hex_read(const char *text, uint8_t gid[16])
{
    if (strlen(text) != GID_DIGITS || strspn(text, "0123456789abcdef") != GID_DIGITS)
        return false;
    for (int i = 0; i < GID_DIGITS / 2; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        gid[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

static json_t *qpns(const struct fc_endpoint_info *info)
{
    json_t *list = json_array();
    for (int i = 0; i <= info->qps; i++)
        json_array_append_new(list, json_integer(info->qpn[i]));
    return list;
}

enum fc_status fc_endpoint_write(const struct fc_endpoint_info *info,
                                 struct fc_endpoint *out, struct fc_error *err)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:s, s:b, s:i, s:I, s:I, s:I, s:i, s:o, s:I, s:I, "
        "s:I, s:I, s:I, s:I, s:i}",
        "name", info->name, "transport", info->transport, "layer", info->layer, "kind",
        info->gid_kind, "lid", info->lid, "gid",
        info->has_gid ? hex_of(info->gid).text : "", "ipv4", info->ipv4, "mtu",
        info->mtu, "pkey", (json_int_t)info->pkey, "psn", (json_int_t)info->psn, "qkey",
        (json_int_t)info->qkey, "reads", info->rd_atomic, "qpn", qpns(info), "tag",
        (json_int_t)info->tag, "source", (json_int_t)info->source, "target",
        (json_int_t)info->target, "rkey", (json_int_t)info->rkey, "ring",
        (json_int_t)info->ring_bytes, "ops", (json_int_t)info->ops, "cm",
        info->cm_port);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t bytes = text ? strlen(text) : 0;
    json_decref(json);
    struct fc_endpoint made = {""};
    if (text && bytes < sizeof made.text)
        memcpy(made.text, text, bytes);
    free(text);
    if (!text || bytes >= sizeof made.text)
        return fc_fail(err, FC_FAILED, "%s: its endpoint takes %zu bytes of %zu",
                       info->name, bytes, sizeof made.text);
    *out = made;
    return FC_OK;
}

/* What travels as text, before it is copied. */
struct words {
    const char *name, *transport, *layer, *kind, *gid;
    json_int_t pkey, psn, qkey, tag, source, target, rkey, ring, ops;
    json_t *qpn;
    int ipv4;
};

static bool copy(char *out, size_t bytes, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            return false;
    return snprintf(out, bytes, "%s", text) < (int)bytes;
}

static bool in_32(json_int_t value)
{
    return value >= 0 && value <= UINT32_MAX;
}

static bool take_qpns(const json_t *list, struct fc_endpoint_info *out)
{
    size_t n = json_array_size(list);
    if (n < 2 || n > FC_RDMA_QPS_MAX + 1)
        return false;
    for (size_t i = 0; i < n; i++) {
        json_int_t qpn = json_integer_value(json_array_get(list, i));
        if (!json_is_integer(json_array_get(list, i)) || qpn < 0 || qpn > 0xffffff)
            return false;
        out->qpn[i] = (uint32_t)qpn;
    }
    out->qps = (int)n - 1;
    return true;
}

static bool take(const struct words *w, struct fc_endpoint_info *out)
{
    out->has_gid = w->gid[0] != '\0';
    if (!copy(out->name, sizeof out->name, w->name) ||
        !copy(out->transport, sizeof out->transport, w->transport) ||
        !copy(out->layer, sizeof out->layer, w->layer) ||
        !copy(out->gid_kind, sizeof out->gid_kind, w->kind) ||
        (out->has_gid && !hex_read(w->gid, out->gid)) || !take_qpns(w->qpn, out))
        return false;
    if (!in_32(w->pkey) || w->pkey > UINT16_MAX || !in_32(w->psn) || !in_32(w->qkey) ||
        !in_32(w->rkey) || !in_32(w->ops) || w->ring < 0 || out->lid < 0 ||
        out->lid > UINT16_MAX || out->mtu < 256 || out->mtu > 1 << 16 ||
        out->rd_atomic < 0 || out->rd_atomic > UINT8_MAX || out->cm_port < 0 ||
        out->cm_port > UINT16_MAX)
        return false;
    out->ipv4 = w->ipv4;
    out->pkey = (unsigned)w->pkey;
    out->psn = (uint32_t)w->psn;
    out->qkey = (uint32_t)w->qkey;
    out->tag = (uint64_t)w->tag;
    out->source = (uint64_t)w->source;
    out->target = (uint64_t)w->target;
    out->rkey = (uint32_t)w->rkey;
    out->ring_bytes = (uint64_t)w->ring;
    out->ops = (unsigned)w->ops;
    return true;
}

enum fc_status fc_endpoint_read(const struct fc_endpoint *endpoint,
                                struct fc_endpoint_info *out, struct fc_error *err)
{
    struct fc_endpoint_info info = {.lid = 0};
    struct words w = {.name = NULL};
    size_t bytes = strnlen(endpoint->text, sizeof endpoint->text);
    json_t *json = json_loadb(endpoint->text, bytes, 0, NULL);
    bool good =
        json_unpack(json,
                    "{s:s, s:s, s:s, s:s, s:i, s:s, s:b, s:i, s:I, s:I, s:I, "
                    "s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:i}",
                    "name", &w.name, "transport", &w.transport, "layer", &w.layer,
                    "kind", &w.kind, "lid", &info.lid, "gid", &w.gid, "ipv4", &w.ipv4,
                    "mtu", &info.mtu, "pkey", &w.pkey, "psn", &w.psn, "qkey", &w.qkey,
                    "reads", &info.rd_atomic, "qpn", &w.qpn, "tag", &w.tag, "source",
                    &w.source, "target", &w.target, "rkey", &w.rkey, "ring", &w.ring,
                    "ops", &w.ops, "cm", &info.cm_port) == 0 &&
        take(&w, &info);
    json_decref(json);
    if (!good)
        return fc_fail(err, FC_FAILED, "the peer's endpoint is none: '%.80s'",
                       endpoint->text);
    *out = info;
    return FC_OK;
}

static enum fc_status unlike(const struct fc_endpoint_info *own,
                             const struct fc_endpoint_info *peer, const char *what,
                             const char *mine, const char *others, struct fc_error *err)
{
    return fc_fail(err, FC_USAGE, "%s and %s cannot be joined: %s %s and %s", own->name,
                   peer->name, what, mine, others);
}

/* Of two keys with the same base at least one must be a full member's. */
static bool keys_meet(unsigned a, unsigned b)
{
    return (a & PKEY_BASE) == (b & PKEY_BASE) && ((a | b) & PKEY_FULL);
}

static enum fc_status keys_unlike(const struct fc_endpoint_info *own,
                                  const struct fc_endpoint_info *peer,
                                  struct fc_error *err)
{
    char mine[16], others[16];
    snprintf(mine, sizeof mine, "0x%04x", own->pkey);
    snprintf(others, sizeof others, "0x%04x", peer->pkey);
    return unlike(own, peer,
                  (own->pkey & PKEY_BASE) == (peer->pkey & PKEY_BASE)
                      ? "limited members of one P_Key:"
                      : "P_Keys",
                  mine, others, err);
}

enum fc_status fc_endpoint_meet(const struct fc_endpoint_info *own,
                                const struct fc_endpoint_info *peer,
                                struct fc_lane_link *out, struct fc_error *err)
{
    bool ethernet = strcmp(own->layer, "Ethernet") == 0;
    if (strcmp(own->layer, peer->layer) != 0)
        return unlike(own, peer, "link layers", own->layer, peer->layer, err);
    if (strcmp(own->transport, peer->transport) != 0)
        return unlike(own, peer, "transports", own->transport, peer->transport, err);
    if (!keys_meet(own->pkey, peer->pkey))
        return keys_unlike(own, peer, err);
    if (ethernet && strcmp(own->gid_kind, peer->gid_kind) != 0)
        return unlike(own, peer, "GID kinds", own->gid_kind, peer->gid_kind, err);
    if (ethernet && own->ipv4 != peer->ipv4)
        return unlike(own, peer, "GIDs of", own->ipv4 ? "IPv4" : "IPv6",
                      peer->ipv4 ? "IPv4" : "IPv6", err);
    if (own->lid == 0 && peer->lid == 0 && !(own->has_gid && peer->has_gid))
        return fc_fail(err, FC_USAGE,
                       "%s and %s cannot be joined: they have no LIDs, and not both a "
                       "GID",
                       own->name, peer->name);
    if ((own->cm_port > 0) != (peer->cm_port > 0))
        return unlike(own, peer, "connected", own->cm_port ? "by rdma_cm" : "directly",
                      peer->cm_port ? "by rdma_cm" : "directly", err);
    if (own->qps != peer->qps)
        return fc_fail(err, FC_USAGE,
                       "%s and %s cannot be joined: %d and %d queue pairs", own->name,
                       peer->name, own->qps, peer->qps);
    *out = (struct fc_lane_link){.mtu = own->mtu < peer->mtu ? own->mtu : peer->mtu,
                                 .own_mtu = own->mtu,
                                 .peer_mtu = peer->mtu};
    if (own->mtu != peer->mtu)
        snprintf(out->note, sizeof out->note, "%s has MTU %d and %s %d: %d is used",
                 own->name, own->mtu, peer->name, peer->mtu, out->mtu);
    return FC_OK;
}
