// SPDX-License-Identifier: BSD-3-Clause
/* Descriptions of ports as JSON and back. One table names each field, so that what is
 * written is what is read. */
#include "rdma/port_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, NUMBER, LONG_NUMBER, REAL, BOOL };

/* One member of struct fc_rdma_port; numbers lie between min and max. */
struct field {
    const char *name;
    enum kind kind;
    size_t offset, bytes;
    double min, max;
};

/* clang-format off */
#define AT(member) offsetof(struct fc_rdma_port, member), \
        sizeof ((struct fc_rdma_port *)NULL)->member
static const struct field fields[] = {
    {"device", TEXT, AT(device), 0, 0},
    {"port", NUMBER, AT(port), 1, 255},
    {"usable", BOOL, AT(usable), 0, 0},
    {"unusable", TEXT, AT(unusable), 0, 0},
    {"no_right", BOOL, AT(no_right), 0, 0},
    {"driver", TEXT, AT(driver), 0, 0},
    {"software", BOOL, AT(software), 0, 0},
    {"state", NUMBER, AT(state), -1, 5},
    {"state_name", TEXT, AT(state_name), 0, 0},
    {"phys_state", TEXT, AT(phys_state), 0, 0},
    {"link_layer", TEXT, AT(link_layer), 0, 0},
    {"Gbps", REAL, AT(Gbps), 0, 1e5},
    {"rate_is_nominal", BOOL, AT(rate_is_nominal), 0, 0},
    {"max_Gbps", REAL, AT(max_Gbps), 0, 1e5},
    {"speed", TEXT, AT(speed), 0, 0},
    {"mtu", NUMBER, AT(mtu), 0, 65536},
    {"max_mtu", NUMBER, AT(max_mtu), 0, 65536},
    {"lid", NUMBER, AT(lid), -1, 65535},
    {"sm_lid", NUMBER, AT(sm_lid), -1, 65535},
    {"grh_required", BOOL, AT(grh_required), 0, 0},
    {"gid_slots", NUMBER, AT(gid_slots), -1, 65536},
    {"firmware", TEXT, AT(firmware), 0, 0},
    {"board", TEXT, AT(board), 0, 0},
    {"type", TEXT, AT(type), 0, 0},
    {"node_guid", TEXT, AT(node_guid), 0, 0},
    {"port_guid", TEXT, AT(port_guid), 0, 0},
    {"vendor_id", LONG_NUMBER, AT(vendor_id), -1, 4294967295.},
    {"part_id", LONG_NUMBER, AT(part_id), -1, 4294967295.},
    {"bdf", TEXT, AT(bdf), 0, 0},
    {"pf_bdf", TEXT, AT(pf_bdf), 0, 0},
    {"vf", BOOL, AT(vf), 0, 0},
    {"numa", NUMBER, AT(numa), -1, 4095},
    {"net", TEXT, AT(net), 0, 0},
    {"max_qp", LONG_NUMBER, AT(max_qp), -1, 9.2e18},
    {"max_qp_wr", LONG_NUMBER, AT(max_qp_wr), -1, 9.2e18},
    {"max_sge", LONG_NUMBER, AT(max_sge), -1, 9.2e18},
    {"max_cqe", LONG_NUMBER, AT(max_cqe), -1, 9.2e18},
    {"max_mr_bytes", LONG_NUMBER, AT(max_mr_bytes), -1, 1e19},
    {"max_rd_atomic", LONG_NUMBER, AT(max_rd_atomic), -1, 9.2e18},
    {"max_init_rd_atomic", LONG_NUMBER, AT(max_init_rd_atomic), -1, 9.2e18},
    {"max_message_bytes", LONG_NUMBER, AT(max_message_bytes), -1, 9.2e18},
    {"relaxed_ordering", NUMBER, AT(relaxed_ordering), -1, 1},
    {"srd_max_sq_wr", LONG_NUMBER, AT(srd_max_sq_wr), -1, 9.2e18},
    {"srd_max_rq_wr", LONG_NUMBER, AT(srd_max_rq_wr), -1, 9.2e18},
    {"srd_inline_bytes", LONG_NUMBER, AT(srd_inline_bytes), -1, 9.2e18},
    {"srd_max_rdma_bytes", LONG_NUMBER, AT(srd_max_rdma_bytes), -1, 9.2e18},
    {"srd_read", NUMBER, AT(srd_read), -1, 1},
    {"srd_write", NUMBER, AT(srd_write), -1, 1},
};
/* clang-format on */
enum { FIELDS = sizeof fields / sizeof *fields };

/* ---- writing ---- */

static json_t *field_json(const struct field *field, const struct fc_rdma_port *port)
{
    const void *at = (const char *)port + field->offset;
    switch (field->kind) {
    case TEXT:
        return json_string(at);
    case NUMBER:
        return json_integer(*(const int *)at);
    case LONG_NUMBER:
        return json_integer(*(const int64_t *)at);
    case REAL:
        return json_real(*(const double *)at);
    case BOOL:
        break;
    }
    return json_boolean(*(const bool *)at);
}

static json_t *gid_json(const struct fc_rdma_gid *gid)
{
    char raw[2 * sizeof gid->raw + 1];
    for (size_t i = 0; i < sizeof gid->raw; i++)
        snprintf(raw + 2 * i, 3, "%02x", gid->raw[i]);
    return json_pack("{s:i, s:s, s:s, s:s, s:s}", "index", gid->index, "raw", raw,
                     "kind", fc_rdma_gid_kind_name(gid->kind), "address", gid->address,
                     "net", gid->net);
}

static json_t *port_json(const struct fc_rdma_port *port)
{
    json_t *json = json_object(), *gids = json_array(), *pkeys = json_array();
    bool good = json && gids && pkeys;
    for (size_t i = 0; i < FIELDS && good; i++)
        good = json_object_set_new(json, fields[i].name,
                                   field_json(&fields[i], port)) == 0;
    for (size_t i = 0; i < port->gids && good; i++)
        good = json_array_append_new(gids, gid_json(&port->gid[i])) == 0;
    for (size_t i = 0; i < port->pkeys && good; i++)
        good = json_array_append_new(pkeys, json_pack("[i, i]", port->pkey[i].index,
                                                      (int)port->pkey[i].key)) == 0;
    if (good && json_object_set(json, "gids", gids) == 0 &&
        json_object_set(json, "pkeys", pkeys) == 0 &&
        json_object_set_new(json, "wire", json_string(fc_rdma_wire_name(port->wire))) ==
            0) {
        json_decref(gids);
        json_decref(pkeys);
        return json;
    }
    json_decref(json);
    json_decref(gids);
    json_decref(pkeys);
    return NULL;
}

json_t *fc_rdma_ports_json(const struct fc_rdma_ports *ports)
{
    json_t *list = json_array(), *notes = json_array();
    bool good = list && notes;
    for (size_t i = 0; i < ports->ports && good; i++)
        good = json_array_append_new(list, port_json(&ports->port[i])) == 0;
    for (size_t i = 0; i < ports->notes && good; i++)
        good = json_array_append_new(notes, json_string(ports->note[i].text)) == 0;
    if (good)
        return json_pack("{s:o, s:s, s:o}", "ports", list, "none", ports->none, "notes",
                         notes);
    json_decref(list);
    json_decref(notes);
    return NULL;
}

/* ---- reading ---- */

static bool read_field(const struct field *field, const json_t *value,
                       struct fc_rdma_port *port)
{
    void *at = (char *)port + field->offset;
    double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    bool fits = number >= field->min && number <= field->max;
    switch (field->kind) {
    case TEXT:
        if (!json_is_string(value) || json_string_length(value) >= field->bytes)
            return false;
        fc_rdma_text(at, field->bytes, json_string_value(value));
        return true;
    case NUMBER:
        if (!json_is_integer(value) || !fits)
            return false;
        *(int *)at = (int)json_integer_value(value);
        return true;
    case LONG_NUMBER:
        if (!json_is_integer(value) || !fits)
            return false;
        *(int64_t *)at = json_integer_value(value);
        return true;
    case REAL:
        *(double *)at = number;
        return fits;
    case BOOL:
        break;
    }
    *(bool *)at = json_is_true(value);
    return json_is_boolean(value);
}

static bool read_raw(const char *text, uint8_t raw[16])
{
    if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return false;
    for (size_t i = 0; i < 16; i++) {
        char byte[3] = {text[2 * i], text[2 * i + 1], '\0'};
        raw[i] = (uint8_t)strtoul(byte, NULL, 16);
    }
    return true;
}

static bool read_gid(const json_t *json, struct fc_rdma_gid *gid)
{
    const json_t *index = json_object_get(json, "index");
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const char *net = json_string_value(json_object_get(json, "net"));
    const char *raw = json_string_value(json_object_get(json, "raw"));
    if (!json_is_integer(index) || json_integer_value(index) < 0 ||
        json_integer_value(index) > INT16_MAX || !kind || !read_raw(raw, gid->raw))
        return false;
    gid->index = (int)json_integer_value(index);
    for (enum fc_rdma_gid_kind k = FC_RDMA_GID_IB; k <= FC_RDMA_GID_ROCE_V2; k++)
        if (strcmp(kind, fc_rdma_gid_kind_name(k)) == 0)
            gid->kind = k;
    fc_rdma_text(gid->net, sizeof gid->net, net);
    fc_rdma_gid_describe(gid);
    return true;
}

static bool read_pkey(const json_t *json, struct fc_rdma_pkey *pkey)
{
    const json_t *index = json_array_get(json, 0), *key = json_array_get(json, 1);
    if (!json_is_integer(index) || !json_is_integer(key) ||
        json_integer_value(index) < 0 || json_integer_value(index) > INT16_MAX ||
        json_integer_value(key) < 0 || json_integer_value(key) > 0xffff)
        return false;
    *pkey = (struct fc_rdma_pkey){.index = (int)json_integer_value(index),
                                  .key = (uint16_t)json_integer_value(key)};
    return true;
}

static enum fc_status read_tables(const json_t *json, struct fc_rdma_port *port,
                                  struct fc_error *err)
{
    const json_t *gids = json_object_get(json, "gids");
    const json_t *pkeys = json_object_get(json, "pkeys");
    if (json_array_size(gids) > FC_RDMA_MAX_GIDS ||
        json_array_size(pkeys) > FC_RDMA_MAX_PKEYS)
        return fc_fail(err, FC_FAILED, "RDMA ports: %s has too many GIDs or P_Keys",
                       port->name);
    for (size_t i = 0; i < json_array_size(gids); i++) {
        struct fc_rdma_gid *gid = fc_rdma_port_add_gid(port);
        if (!gid)
            return fc_rdma_full(err);
        if (!read_gid(json_array_get(gids, i), gid))
            return fc_fail(err, FC_FAILED, "RDMA ports: %s: gids[%zu] is malformed",
                           port->name, i);
    }
    for (size_t i = 0; i < json_array_size(pkeys); i++) {
        struct fc_rdma_pkey *pkey = fc_rdma_port_add_pkey(port);
        if (!pkey)
            return fc_rdma_full(err);
        if (!read_pkey(json_array_get(pkeys, i), pkey))
            return fc_fail(err, FC_FAILED, "RDMA ports: %s: pkeys[%zu] is malformed",
                           port->name, i);
    }
    return FC_OK;
}

static enum fc_status read_port(const json_t *json, size_t index,
                                struct fc_rdma_ports *ports, struct fc_error *err)
{
    struct fc_rdma_port *port = fc_rdma_ports_add(ports, "", 1);
    const char *wire = json_string_value(json_object_get(json, "wire"));
    if (!port)
        return fc_rdma_full(err);
    for (size_t i = 0; i < FIELDS; i++)
        if (!read_field(&fields[i], json_object_get(json, fields[i].name), port))
            return fc_fail(err, FC_FAILED, "RDMA ports: ports[%zu].%s is malformed",
                           index, fields[i].name);
    snprintf(port->name, sizeof port->name, "%.60s:%d", port->device, port->port);
    for (enum fc_rdma_wire w = FC_RDMA_IB; w <= FC_RDMA_IWARP; w++)
        if (wire && strcmp(wire, fc_rdma_wire_name(w)) == 0)
            port->wire = w;
    return read_tables(json, port, err);
}

enum fc_status fc_rdma_ports_read(const json_t *json, struct fc_rdma_ports **out_ports,
                                  struct fc_error *err)
{
    const json_t *list = json_object_get(json, "ports");
    const json_t *notes = json_object_get(json, "notes");
    const char *none = json_string_value(json_object_get(json, "none"));
    if (!json_is_array(list) || !none)
        return fc_fail(err, FC_FAILED, "RDMA ports: not a description of ports");
    if (json_array_size(list) > FC_RDMA_MAX_PORTS)
        return fc_fail(err, FC_FAILED, "RDMA ports: %zu ports", json_array_size(list));
    struct fc_rdma_ports *ports = calloc(1, sizeof *ports);
    if (!ports)
        return fc_rdma_full(err);
    enum fc_status status = FC_OK;
    fc_rdma_text(ports->none, sizeof ports->none, none);
    for (size_t i = 0; i < json_array_size(list) && status == FC_OK; i++)
        status = read_port(json_array_get(list, i), i, ports, err);
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const char *text = json_string_value(json_array_get(notes, i));
        fc_rdma_ports_note(ports, "%s", text ? text : "?");
    }
    if (status == FC_OK)
        *out_ports = ports;
    else
        fc_rdma_ports_close(ports);
    return status;
}
